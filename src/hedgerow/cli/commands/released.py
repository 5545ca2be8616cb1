"""Commands that need a release and nothing else: ``sample``, ``answer``, ``show`` and ``report``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli.console import showing_records
from hedgerow.cli.options import AsJson, Force, Quiet, output_option, prepare
from hedgerow.cli.outputs import RECORDS, RecordsPlace, check_outputs, check_report
from hedgerow.errors import DomainError, QueryError
from hedgerow.quantities import human

if TYPE_CHECKING:
    from hedgerow.release import Release

ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")]


class Method(StrEnum):
    """A way of drawing records."""

    SYSTEMATIC = "systematic"
    INDEPENDENT = "independent"


def sample(
    ctx: typer.Context,
    *,
    release: ReleaseFile,
    output: Annotated[str, output_option("--output", "-o", metavar="PLACE", help=f"Records: {RECORDS}.")],
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--records",
            min=0,
            help="Number of records to draw; by default the (noisy) number of records of the table.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Draw the same records again; harmless here.")] = None,
    method: Annotated[
        Method, typer.Option("--method", help="Systematic drawing adds less error than independent draws.")
    ] = Method.SYSTEMATIC,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw synthetic records from a release. Costs no budget, however many are drawn; memory does not grow with them.

    Spark draws them in parallel, and others than without it from the same seed.

    Examples:
      hedgerow sample people.release -o synthetic.csv
      hedgerow sample people.release -n 1000000 -o large.parquet --seed 1
      hedgerow sample people.release -n 1000000 -o duckdb:synthetic.db#people
      hedgerow sample people.release -n 1000000000 -o spark:people
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    place = RecordsPlace.of(output)
    loaded = load_release(release)
    place.check({}, inputs=[release], force=force)
    with showing_records(shown) as progress:
        drawn = loaded.write_records(place.text, n, seed=seed, method=method.value, progress=progress)
    shown.say(f"{drawn:,} synthetic records in {place.text}")
    shown.result({"n_records": drawn, "file": place.text})


def answer(
    ctx: typer.Context,
    *,
    release: ReleaseFile,
    conditions: Annotated[list[str], typer.Argument(metavar="CONDITION...", help="Conditions in SQL.")],
    confidence: Annotated[float, typer.Option("--confidence", help="Confidence of the intervals.")] = 0.95,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Answer counting queries from a release: a value, and an interval that says what it covers. Costs no budget.

    Examples:
      hedgerow answer people.release "sex = 'Female' and age between 30 and 40"
      hedgerow answer people.release "income = '>50K'" "not sex = 'Male'" --json
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    loaded = load_release(release)
    answers = []
    for number, text in enumerate(conditions, start=1):
        with naming_condition(number, text, conditions):
            answers.append((text, loaded.answer(text, confidence)))
    for text, found in answers:
        interval = "no interval" if found.low is None else f"{_count(found.low)} to {_count(found.high or 0.0)}"
        shown.say(f"{text}\n  {_count(found.value)}   ({interval})\n  covers {found.covers}")
    if loaded.provenance.stamp:
        shown.warn(loaded.provenance.stamp)
    listed = [{"condition": text, **asdict(found)} for text, found in answers]
    shown.result({"confidence": confidence, "private": loaded.provenance.secure, "answers": listed})


@contextmanager
def naming_condition(number: int, condition: str, asked: Sequence[str]) -> Iterator[None]:
    """Let an error name the condition that is wrong, if several are asked."""
    try:
        yield
    except (QueryError, DomainError) as error:
        if len(asked) == 1:
            raise
        raise QueryError(f"condition {number}, {condition!r}: {error.message}", remedy=error.remedy) from error


def show(ctx: typer.Context, *, release: ReleaseFile, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Show what a release promises, what it spent and on what.

    Examples:
      hedgerow show people.release
      hedgerow show people.release --json
    """
    from hedgerow.release import error_sentence, summary_of

    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    loaded = load_release(release)
    shown.tell(loaded.guarantee())
    shown.say()
    shown.tell(error_sentence(loaded))
    shown.say(f"Workload: {loaded.workload.spec}")
    names = ", ".join(f"{attribute.name} ({attribute.size})" for attribute in loaded.domain)
    shown.say(f"Domain: {human(loaded.domain.size)} cells: {names}")
    versions = ", ".join(f"{name} {version}" for name, version in loaded.provenance.versions.items())
    shown.say(f"Made by {loaded.provenance.algorithm} with {versions}")
    unit = loaded.budget.unit
    events = (
        (str(number), event.label, event.target, event.mechanism, f"{event.scale:.5g}", f"{event.charge:.5g}")
        for number, event in enumerate(loaded.events, start=1)
    )
    shown.table(
        ("#", "for", "what", "mechanism", "noise scale", unit),
        events,
        right=("#", "noise scale", unit),
        title=f"Ledger: {loaded.spent:.6g} of {loaded.budget.limit:.6g} {unit} spent",
    )
    if loaded.provenance.stamp:
        shown.warn(loaded.provenance.stamp)
    ledger = [event.to_dict() for event in loaded.events]
    shown.result({**summary_of(loaded), "ledger": ledger, "provenance": loaded.provenance.to_dict()})


def report(
    ctx: typer.Context,
    *,
    release: ReleaseFile,
    output: Annotated[Path, output_option("--output", "-o", metavar="FILE", help="HTML file to write.")],
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write the HTML report of a release: one file that opens offline. Costs no budget.

    Example:
      hedgerow report people.release -o people.html
    """
    from hedgerow.report import write_report

    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    check_report("--output", output)
    check_outputs({"--output": output}, inputs=[release], force=force)
    loaded = load_release(release)
    with shown.busy("writing the report"):
        write_report(loaded, output)
    shown.say(f"report in {output}")
    shown.result({"file": str(output)})


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def load_release(path: Path) -> Release:
    """Load a release, with the modules that this needs."""
    from hedgerow.release import Release

    return Release.load(path)
