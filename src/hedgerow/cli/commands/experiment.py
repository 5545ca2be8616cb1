"""``hedgerow experiment``: the papers' experiments, on public data."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from hedgerow.cli.console import Output
from hedgerow.cli.options import AsJson, Quiet, prepare
from hedgerow.cli.progress import showing_cells
from hedgerow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from experiments.datasets import DataSets
    from experiments.experiment import Claim, Experiment, Size
    from experiments.pinned import Difference
    from experiments.results import Results

ALL = "all"
_MOST_SHOWN = 10


def experiment(
    ctx: typer.Context,
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Which experiments, or 'all'; without a name they are listed."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small grid, in a minute or so each.")] = False,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Where values, tables and drawings go; made if need be."),
    ] = Path("experiments-output"),
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="The public data sets; examples/data of the source code."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure everything anew, also what --output holds already.")
    ] = False,
    processes: Annotated[
        int | None,
        typer.Option("--processes", metavar="N", min=1, help="Cells measured at the same time.", show_default="cores"),
    ] = None,
    pin: Annotated[
        bool,
        typer.Option("--pin", help="Replace the pinned tables, the drawings and the page of the source code."),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    r"""Run the experiments of the papers on public data. NOT PRIVATE: it prints exact errors.

    Runs the grid of each experiment, going on from what an interrupted run left, says which claims the figures bear
    out, draws them, and compares them with the pinned table that came with the package.

    Examples:
      hedgerow experiment
      hedgerow experiment mwem-figure-2
      hedgerow experiment all --quick -o small
    """
    from experiments.registry import find, names as known

    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    if not names:
        _list(shown, [find(name) for name in known()])
        return
    from experiments.datasets import find_data
    from experiments.experiment import Size

    from hedgerow.report import require_extra

    named = [find(name) for name in dict.fromkeys(names) if name != ALL]
    asked = [find(name) for name in known()] if ALL in names else named
    if pin and quick:
        raise ConfigError("a small grid is not pinned", remedy="leave --quick or --pin out")
    require_extra()
    sets = find_data(data)
    output.mkdir(parents=True, exist_ok=True)
    size = Size.QUICK if quick else Size.FULL
    told = [_run(shown, each, sets, size, output, fresh=fresh, processes=processes, pin=pin) for each in asked]
    if pin:
        _write_page(shown)
    shown.result({"label": "not private", "size": size.value, "experiments": told})
    outside = sum(len(each["outside"]) for each in told)
    if outside and not pin:
        raise typer.Exit(1)


def _list(shown: Output, experiments: list[Experiment]) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("name", "what it shows", "source"):
        table.add_column(heading, overflow="fold")
    for each in experiments:
        table.add_row(*map(escape, (each.name, each.title, each.source)))
    shown.table(table)
    listed = [{"name": each.name, "title": each.title, "source": each.source} for each in experiments]
    shown.result({"experiments": listed})


def _run(
    shown: Output,
    experiment: Experiment,
    data: DataSets,
    size: Size,
    folder: Path,
    *,
    fresh: bool,
    processes: int | None,
    pin: bool,
) -> dict[str, Any]:
    from experiments.experiment import Size
    from experiments.runner import run

    from hedgerow.system import usable_cores

    mark = ".quick" if size is Size.QUICK else ""
    rows = folder / f"{experiment.name}{mark}.runs.csv"
    started = time.monotonic()
    with _keeping(shown, rows), showing_cells(shown, experiment.name) as progress:
        found = run(
            experiment, data, size, rows,
            resume=not fresh, processes=processes or usable_cores(), progress=progress,
        )  # fmt: skip
    shown.say(f"{experiment.name}: {experiment.title} ({time.monotonic() - started:.0f} s)")
    claims = experiment.claims(found)
    _show_claims(shown, claims)
    files = _write(experiment, found, folder, mark)
    number, outside = _compare(shown, experiment, found)
    if pin:
        from experiments.pinned import table_of

        files += _write(experiment, found, table_of(experiment).parent)
    for path in files:
        shown.say(f"  {path}")
    shown.say()
    return {
        "name": experiment.name,
        "claims": [asdict(claim) for claim in claims],
        "compared": number,
        "outside": [asdict(each) for each in outside],
        "files": [str(rows), *map(str, files)],
    }


def _show_claims(shown: Output, claims: list[Claim]) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("claim", "holds", "figures"):
        table.add_column(heading, overflow="fold")
    for claim in claims:
        table.add_row(escape(claim.text), "yes" if claim.holds else "[bold]no[/]", escape(claim.figures))
    shown.table(table)


def _write(experiment: Experiment, found: Results, folder: Path, mark: str = "") -> list[Path]:
    from experiments.drawing import svgs_of
    from experiments.pinned import write_table

    from hedgerow.system import replacing

    table = folder / f"{experiment.name}{mark}.csv"
    write_table(found, table)
    drawings = {folder / f"{name}{mark}.svg": text for name, text in svgs_of(experiment, found).items()}
    for path, text in drawings.items():
        with replacing(path) as beside:
            beside.write_text(text, encoding="utf-8")
    return [table, *drawings]


def _compare(shown: Output, experiment: Experiment, found: Results) -> tuple[int, list[Difference]]:
    from experiments.pinned import compared
    from experiments.runner import words_of

    number, outside = compared(experiment, found)
    if number:
        within = number - len(outside)
        shown.say(f"  {within:,} of {number:,} averages agree with the pinned table")
    for each in outside[:_MOST_SHOWN]:
        shown.warn(f"  {words_of(each.where)}: {each.quantity} {each.found:.6g}, pinned {each.pinned:.6g}")
    if len(outside) > _MOST_SHOWN:
        shown.warn(f"  and {len(outside) - _MOST_SHOWN:,} more")
    return number, outside


def _write_page(shown: Output) -> None:
    """The page of a checkout; an installed package has none."""
    from experiments.page import page_file, page_text

    from hedgerow.system import replacing

    page = page_file()
    if page is None:
        shown.warn("no checkout of the source code: the page of the documentation was not written")
        return
    with replacing(page) as beside:
        beside.write_text(page_text(), encoding="utf-8")
    shown.say(f"  {page}")


@contextmanager
def _keeping(shown: Output, rows: Path) -> Iterator[None]:
    """Say where the values are if a run does not end well."""
    try:
        yield
    except KeyboardInterrupt:
        shown.facts |= {"values": str(rows)}
        shown.warn(f"the cells that were over are in {rows}: give the same command to go on")
        raise
