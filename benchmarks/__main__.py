"""Run all benchmarks, or those named: ``python -m benchmarks [NAME ...]``; prints ratios, not times to trust.

Every row compares our code with a reference in the same process, one after the other, because the machine may
be shared and its speed may change from minute to minute. ``python -m benchmarks regret`` is of another kind, with
options of its own and hours of work: see `benchmarks.regret`. So are ``prior`` (`benchmarks.prior`), ``intervals``,
``numbers``, ``replicates``, ``objective`` and ``targets``, which compare estimates with the truth,
``records_at_size``, ``sequences`` and ``trees``, which measure files, and ``utility``, which trains models.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.row import Row

_PROGRAMS = {
    "regret": "benchmarks.regret.__main__",
    "performance": "benchmarks.performance.__main__",
    "prior": "benchmarks.prior.__main__",
    "intervals": "benchmarks.intervals",
    "numbers": "benchmarks.numbers.__main__",
    "replicates": "benchmarks.replicates",
    "objective": "benchmarks.objective",
    "targets": "benchmarks.targets",
    "records_at_size": "benchmarks.records_at_size",
    "sequences": "benchmarks.sequences",
    "trees": "benchmarks.trees",
    "utility": "benchmarks.utility",
    "interactions": "benchmarks.interactions",
}
"""Modules with options of their own."""
_NOT_A_BENCHMARK = {"__main__", "row", *_PROGRAMS}


def main(names: list[str]) -> None:
    """Run the benchmarks of the given modules, by default all of them."""
    modules = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.ispkg]
    found = [name for name in modules if name not in _NOT_A_BENCHMARK]
    unknown = sorted(set(names) - set(found))
    if unknown:
        sys.exit(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(found)}")
    console = Console()
    for name in names or found:
        rows: list[Row] = []
        with console.status(f"{name} ..."):
            for row in importlib.import_module(f"benchmarks.{name}").rows():
                rows.append(row)
                console.log(f"{name}: {row.name} done")
        console.print(_table(name, rows))


def _table(name: str, rows: list[Row]) -> Table:
    table = Table(title=name, title_justify="left")
    table.add_column("what")
    for column in ("ours", "reference", "ratio"):
        table.add_column(column, justify="right")
    table.add_column("note")
    for row in rows:
        ours, reference = (f"{number:.4g} {row.unit}" for number in (row.ours_seconds, row.reference_seconds))
        table.add_row(row.name, ours, reference, f"{row.ratio:.1f}", row.note)
    return table


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in _PROGRAMS:
        importlib.import_module(_PROGRAMS[sys.argv[1]]).main(sys.argv[2:])
    else:
        main(sys.argv[1:])
