"""``python -m experiments``: runs the papers' experiments, on public data."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from experiments.datasets import DataSets, find_data
from experiments.experiment import Claim, Experiment, Size
from experiments.page import page_file, page_text, svgs_of
from experiments.pinned import compared, table_of, write_table
from experiments.registry import find, names as known
from experiments.runner import run, words_of
from hedgerow.cli.console import Output, quiet_interrupts, showing_steps
from hedgerow.cli.declaring import help_of, spelled_out
from hedgerow.system import replacing, usable_cores

if TYPE_CHECKING:
    from experiments.results import Results

ALL = "all"
_MOST_SHOWN = 10

app = typer.Typer(
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def experiment(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names of experiments, or 'all'; without a name they are listed."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small grid, in a minute or so each.")] = False,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for values, tables and drawings; made if need be."),
    ] = Path("experiments-output"),
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Folder of the public data sets; examples/data.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure everything again, also what --output holds already.")
    ] = False,
    processes: Annotated[
        int | None,
        typer.Option("--processes", metavar="N", min=1, help="Cells measured at the same time.", show_default="cores"),
    ] = None,
    pin: Annotated[
        bool,
        typer.Option(
            "--pin",
            help="Replace the pinned tables, the drawings and the page of the documentation; of a small grid its own.",
        ),
    ] = False,
    shown: Output,
) -> None:
    r"""Run the experiments of the papers on public data. NOT PRIVATE: it prints exact errors.

    Runs the grid of each experiment, from where an interrupted run stopped; says which claims the figures bear out,
    draws them, and compares them with the pinned table, which holds the published figures.

    Examples:
      python -m experiments
      python -m experiments mwem-figure-2
      python -m experiments all --quick -o small

    Exit codes: 0 done, 1 a figure lies outside its tolerance, or an error that is explained, 2 wrong usage,
    130 interrupted.
    """
    with shown.explaining():
        if not names:
            _list(shown, [find(name) for name in known()])
            return
        from hedgerow.report import require_extra

        named = [find(name) for name in dict.fromkeys(names) if name != ALL]
        asked = [find(name) for name in known()] if ALL in names else named
        require_extra()
        sets = find_data(data)
        output.mkdir(parents=True, exist_ok=True)
        size = Size.QUICK if quick else Size.FULL
        told = [_run(shown, each, sets, size, output, fresh=fresh, processes=processes, pin=pin) for each in asked]
        if pin and not quick:
            _write_text(page_file(), page_text())
            shown.say(f"  {page_file()}")
        shown.result({"label": "not private", "size": size.value, "experiments": told})
        if any(each["outside"] for each in told) and not pin:
            raise typer.Exit(1)


app.command(help=help_of(experiment))(spelled_out(experiment))


def _list(shown: Output, experiments: list[Experiment]) -> None:
    listed = [{"name": each.name, "title": each.title, "source": each.source} for each in experiments]
    shown.table(("name", "what it shows", "source"), (each.values() for each in listed))
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
    mark = ".quick" if size is Size.QUICK else ""
    rows = folder / f"{experiment.name}{mark}.runs.csv"
    started = time.monotonic()
    kept = {"values": str(rows)}, f"the cells that were over are in {rows}: give the same command to continue"
    with (
        shown.warning_if_it_stops(lambda: kept, KeyboardInterrupt),
        showing_steps(shown, experiment.name, f"running {experiment.name}") as progress,
    ):
        found = run(
            experiment, data, size, rows, resume=not fresh, processes=processes or usable_cores(), progress=progress
        )
    shown.say(f"{experiment.name}: {experiment.title} ({time.monotonic() - started:.0f} s)")
    claims = experiment.claims(found)
    _show_claims(shown, claims)
    files = _write(experiment, found, folder, mark)
    number, outside = compared(experiment, found, size)
    if number:
        shown.say(f"  {number - len(outside):,} of {number:,} averages agree with the pinned table")
    elif not pin:
        shown.warn("  nothing was compared: no average of this grid is pinned")
    for each in outside[:_MOST_SHOWN]:
        shown.warn(f"  {words_of(each.where)}: {each.quantity} {each.found:.6g}, pinned {each.pinned:.6g}")
    if len(outside) > _MOST_SHOWN:
        shown.warn(f"  and {len(outside) - _MOST_SHOWN:,} more")
    if pin and size is Size.FULL:
        files += _write(experiment, found, table_of(experiment).parent)
    elif pin:
        write_table(found, table_of(experiment, size))
        files.append(table_of(experiment, size))
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
    rows = ((claim.text, "yes" if claim.holds else Text("no", "bold"), claim.figures) for claim in claims)
    shown.table(("claim", "holds", "figures"), rows)


def _write(experiment: Experiment, found: Results, folder: Path, mark: str = "") -> list[Path]:
    table = folder / f"{experiment.name}{mark}.csv"
    write_table(found, table)
    drawings = {folder / f"{name}{mark}.svg": text for name, text in svgs_of(experiment, found).items()}
    for path, text in drawings.items():
        _write_text(path, text)
    return [table, *drawings]


def _write_text(path: Path, text: str) -> None:
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with quiet_interrupts():
        app(prog_name="python -m experiments")
