"""Sums, means and medians of releases of tables whose truth is known: how often intervals hold it, and their width.

``python -m benchmarks numbers [--seeds N] [--pay FILE]``. For each table a release is made for every seed
(``synthesize`` with its defaults, all pairs, epsilon 1 and delta 1e-9) and asked as anyone would ask it. FILE has the
columns ``pay`` and ``grp``; its first 5,000 rows are taken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from hedgerow import Domain, synthesize
from hedgerow.domain import Binned, Categorical, IntegerRange
from hedgerow.release import select_from

ADULT = Path(__file__).resolve().parents[1] / "examples" / "data" / "adult.csv"
RECORDS = 5_000
STEPS = (0, 15_000, 25_000, 35_000, 50_000, 80_000, 120_000, 2_000_000)
"""Narrow bins where most salaries are and a wide last one, as learning leaves them."""


@dataclass(frozen=True)
class Task:
    """A table with a column of numbers and one of groups.

    Attributes:
        rows: The table.
        domain: Its domain: the numbers first.
    """

    rows: pa.Table
    domain: Domain


def _adult(name: str, numbers: Binned | IntegerRange) -> Task:
    rows = csv.read_csv(ADULT).select([name, "sex"])
    return Task(rows, Domain((numbers, Categorical("sex", ("Female", "Male")))))


def _generated() -> pa.Table:
    rng = np.random.default_rng(0)
    pay = np.minimum(rng.lognormal(10.5, 0.6, RECORDS).round(), 2_000_000).astype(np.int64)
    return pa.table({"pay": pay, "grp": rng.choice(["a", "b"], RECORDS, p=(0.7, 0.3))})


def _pay(rows: pa.Table, numbers: Binned) -> Task:
    return Task(rows, Domain((numbers, Categorical("grp", ("a", "b")))))


def tasks(pay: str | None) -> dict[str, Callable[[], Task]]:
    """The tables by name.

    Args:
        pay: File of salaries, or None for generated ones alone.
    """
    equal = Binned.equal_width("pay", 0, 2_000_000, 20, whole=True)
    uneven = Binned("pay", STEPS, whole=True)
    listed = {
        "hours, one by one": partial(_adult, "hours-per-week", IntegerRange("hours-per-week", 1, 99)),
        "hours, 10 bins": partial(
            _adult, "hours-per-week", Binned.equal_width("hours-per-week", 1, 99, 10, whole=True)
        ),
        "capital-gain, 20 bins": partial(
            _adult, "capital-gain", Binned.equal_width("capital-gain", 0, 99_999, 20, whole=True)
        ),
        "generated pay, 20 equal bins": lambda: _pay(_generated(), equal),
        "generated pay, 7 uneven bins": lambda: _pay(_generated(), uneven),
    }
    if pay is not None:
        salaries = csv.read_csv(pay).slice(0, RECORDS)
        listed |= {
            "pay, 20 equal bins": lambda: _pay(salaries, equal),
            "pay, 7 uneven bins": lambda: _pay(salaries, uneven),
        }
    return listed


def held(task: Task, seed: int) -> Iterator[tuple[str, bool, float]]:
    """Each number of a release: its kind, whether its interval holds the truth, and half its width over the truth."""
    number, group = task.domain.names
    values, groups = task.rows[number].to_numpy(), np.array(task.rows[group].to_pylist())
    release = synthesize(task.rows, epsilon=1.0, delta=1e-9, domain=task.domain, records=1, seed=seed).release
    true = {
        "sum": float(values.sum()),
        "mean": float(values.mean()),
        "median": float(np.sort(values)[(len(values) - 1) // 2]),
    }
    statement = f'SELECT SUM("{number}") AS sum, AVG("{number}") AS mean, MEDIAN("{number}") AS median FROM t'
    (row,) = select_from(release, statement).to_dicts()
    found = [(kind, row, kind, truth) for kind, truth in true.items()]
    rows = select_from(release, f'SELECT "{group}", AVG("{number}") AS mean FROM t GROUP BY "{group}"').to_dicts()
    found += [("mean of a group", each, "mean", float(values[groups == each[group]].mean())) for each in rows]
    for kind, each, name, truth in found:
        low, high = (float(each[f"{name} {end}"] or 0.0) for end in ("low", "high"))
        yield kind, low <= truth <= high, (high - low) / 2.0 / max(abs(truth), 1.0)


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks numbers", description=__doc__)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--pay", help="file of salaries")
    options = parser.parse_args(arguments)
    print(f"{'table':30} {'number':16} {'held':>9} half-width/truth")
    for name, make in tasks(options.pay).items():
        task, seen = make(), dict[str, list[tuple[bool, float]]]()
        for seed in range(options.seeds):
            for kind, holds, width in held(task, seed):
                seen.setdefault(kind, []).append((holds, width))
        for kind, each in seen.items():
            holds, widths = zip(*each, strict=True)
            print(f"{name:30} {kind:16} {sum(holds):4} of {len(holds):2} {np.mean(widths):16.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
