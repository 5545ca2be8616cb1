"""Commands that need a release and nothing else: ``sample``, ``answer``, ``show``, ``report`` and ``metadata``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any, overload

import typer

from hedgerow.cli import statements
from hedgerow.cli.console import Output, showing_records, showing_steps
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.options import Force, HeadingOptions
from hedgerow.cli.outputs import RECORDS, RecordsPlace, check_outputs, check_report
from hedgerow.cli.statements import Questions, tell_selected
from hedgerow.errors import ConfigError
from hedgerow.quantities import at_most, count_text, spent_of

if TYPE_CHECKING:
    from hedgerow.release import LinkedRelease, LinkedReplicates, Release, Replicates
    from hedgerow.simulation import SimulatedErrors

ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")]


class Method(StrEnum):
    """A way of drawing records."""

    SYSTEMATIC = "systematic"
    INDEPENDENT = "independent"


@dataclass(frozen=True)
class _Drawing(Options):
    """What is drawn.

    Attributes:
        n: Number of records to draw; by default the (noisy) number of records of the table.
        seed: Draw the same records again; harmless here.
        where: Draw records that meet a condition in SQL, and no others.
        given: Complete the rows of a file (.csv, .tsv, .parquet): public values of some columns. With -n, N records
            for each row.
        method: Systematic drawing adds less error than independent draws.
    """

    n: Annotated[int | None, option("-n", "--records", min=0)] = None
    seed: int | None = None
    where: Annotated[str | None, option(metavar="CONDITION")] = None
    given: Annotated[Path | None, option(metavar="FILE")] = None
    method: Method = Method.SYSTEMATIC


class Target(StrEnum):
    """What standard errors from replicates are about."""

    POPULATION = "population"
    FILE = "file"


@dataclass(frozen=True)
class _Replicating(Options):
    """Replicates beside the records.

    Attributes:
        replicates: Also write N replicates, such as 40, from which software for surveys computes standard errors:
            columns 'weight' and 'repweight_1' to 'repweight_N', or files where weights would rest on less than a
            quarter of the records. Costs no budget.
        replicate_for: Standard errors for the population that the table is a random sample of, or for the table itself.
        replicate_files: Write replicates as files of their own beside the records, or as weights.
        clusters: Column of the clusters that a survey was drawn by: they are drawn again for each replicate, within
            --strata, so that standard errors are those of the design.
        strata: Column or level of strata that clusters were drawn in.
    """

    replicates: Annotated[int | None, option(panel="Output", metavar="N", min=2)] = None
    replicate_for: Annotated[Target, option(panel="Output")] = Target.POPULATION
    replicate_files: Annotated[
        bool | None, option("--replicate-files/--replicate-weights", panel="Output", show_default="chosen")
    ] = None
    clusters: Annotated[str | None, option(panel="Output", metavar="COLUMN")] = None
    strata: Annotated[str | None, option(panel="Output", metavar="COLUMN")] = None


@dataclass(frozen=True)
class _Children(Options):
    """The releases of children, and the places of their records.

    Attributes:
        children: The release of the children, where this one is that of their parents ('hedgerow synth-linked'); again
            for each further table, in the order of '--further'.
        children_output: Records of the children; again for each further table.
    """

    children: Annotated[list[Path] | None, option(metavar="RELEASE")] = None
    children_output: Annotated[list[str] | None, option(panel="Output", metavar="PLACE")] = None


@dataclass(frozen=True)
class SimulationOptions(Options):
    """Intervals that are estimated by runs of the mechanism.

    Attributes:
        simulate: Also give intervals that are estimated, not proved, from N runs (such as 20) of the mechanism on
            tables drawn from the release. Costs no budget.
        seed: Simulate the same runs again; harmless here.
    """

    simulate: Annotated[int | None, option(metavar="RUNS", min=2)] = None
    seed: int | None = None

    def errors(self, shown: Output, release: Release) -> SimulatedErrors | None:
        """The simulated errors of a release, with a progress bar; None where nobody asked for them."""
        if self.simulate is None:
            return None
        from hedgerow.simulation import simulate_errors

        with showing_steps(shown, "run", note=f"simulating {self.simulate} runs") as update:
            return simulate_errors(release, self.simulate, seed=self.seed, progress=update)


def sample(
    *,
    release: ReleaseFile,
    output: Annotated[str, option("-o", panel="Output", metavar="PLACE", help=f"Records: {RECORDS}.")],
    drawing: _Drawing,
    replicating: _Replicating,
    linked: _Children,
    force: Force = False,
    shown: Output,
) -> None:
    r"""Draw synthetic records from a release. Costs no budget, however many are drawn; memory does not grow with them.

    Spark draws in parallel. From the same seed it draws other records than without Spark.

    Examples:
      hedgerow sample people.release -o synthetic.csv
      hedgerow sample people.release -n 1000000 -o large.parquet --seed 1
      hedgerow sample people.release -n 1000000 -o duckdb:synthetic.db#people
      hedgerow sample people.release -n 1000000000 -o spark:people
      hedgerow sample people.release --where "age < 15 and sex = 'F'" -o girls.csv
      hedgerow sample people.release --given ages.csv -o completed.csv
      hedgerow sample people.release --replicates 40 -o people.csv
      hedgerow sample homes.release --children people.release \
          -o homes.csv --children-output people.csv
    """
    from hedgerow.domain import read_values

    if drawing.where is not None and drawing.given is not None:
        raise ConfigError("--where and --given exclude each other", remedy="give one of them")
    place = RecordsPlace.of(output)
    loaded = load_release(release)
    if replicating != _Replicating():
        _check_replicating(place, drawing, replicating, linked)
    if linked != _Children():
        _sample_linked(shown, release, place, linked, drawing=drawing, replicating=replicating, force=force)
        return
    rows = drawing.given
    place.check({}, inputs=[release, *([] if rows is None else [rows])], force=force)
    if replicating.replicates is not None:
        _sample_replicates(shown, loaded, place, drawing, replicating, inputs=[release], force=force)
        return
    known = drawing.where if rows is None else read_values(rows)
    with showing_records(shown) as progress:
        drawn = loaded.write_records(
            place.text, drawing.n, seed=drawing.seed, method=drawing.method.value, given=known, progress=progress
        )
    shown.say(f"{drawn:,} synthetic records in {place.text}{_keeping(loaded)}")
    result: dict[str, Any] = {"n_records": drawn, "file": place.text}
    if known is None and drawn and loaded.error is not None:
        from hedgerow.release import as_drawn, drawn_error, drawn_sentence

        added = drawn_error(loaded, as_drawn(loaded, drawn))
        shown.tell(drawn_sentence(loaded, drawn, added))
        result["records_error"] = added.to_dict(loaded)
    shown.result(result)


def _check_replicating(place: RecordsPlace, drawing: _Drawing, replicating: _Replicating, linked: _Children) -> None:
    """Refuse what replicates do not go with.

    Raises:
        ConfigError: There is something of that.
    """
    if replicating.replicates is None:
        remedy = "add --replicates 40"
        raise ConfigError(
            "--replicate-for, --replicate-files and --replicate-weights are about replicates, and --clusters and "
            "--strata too",
            remedy=remedy,
        )
    if replicating.strata is not None and replicating.clusters is None:
        raise ConfigError("strata without clusters", remedy="name the column of clusters too, with --clusters")
    if linked != _Children() and replicating.clusters is not None:
        message = "linked tables have replicates of the files alone, which no design changes"
        raise ConfigError(message, remedy="leave --clusters out")
    if drawing.where is not None or drawing.given is not None:
        raise ConfigError(
            "replicates are of all records: a part of them has no weights of its own",
            remedy="leave --where and --given out, and take the part where you compute: subset() in R's survey",
        )
    if drawing.method is Method.INDEPENDENT or place.folder is not None:
        raise ConfigError(
            "replicates are drawn systematically, and not by Spark", remedy="leave --method out, and name a file"
        )


@overload
def _replicates(shown: Output, release: Release, drawing: _Drawing, replicating: _Replicating) -> Replicates: ...


@overload
def _replicates(
    shown: Output, release: LinkedRelease, drawing: _Drawing, replicating: _Replicating
) -> LinkedReplicates: ...


def _replicates(
    shown: Output, release: Release | LinkedRelease, drawing: _Drawing, replicating: _Replicating
) -> Replicates | LinkedReplicates:
    """Replicates as they are asked for, with a bar of progress."""
    from hedgerow.simulation import Design, replicate

    number, clusters = replicating.replicates or 0, replicating.clusters
    with showing_steps(shown, "replicate", note=f"making {number} replicates") as update:
        return replicate(
            release,
            number,
            target=replicating.replicate_for.value,
            files=replicating.replicate_files,
            n=drawing.n,
            seed=drawing.seed,
            design=None if clusters is None else Design(clusters, replicating.strata),
            progress=update,
        )


def _sample_replicates(
    shown: Output,
    release: Release,
    place: RecordsPlace,
    drawing: _Drawing,
    replicating: _Replicating,
    *,
    inputs: list[Path],
    force: bool,
) -> None:
    """Draw records with replicates, and name the tables that no interval from them holds for."""
    made = _replicates(shown, release, drawing, replicating)
    beside = {f"replicate {number}": Path(each) for number, each in enumerate(made.places(place.text)[1:], 1)}
    check_outputs(beside, inputs=inputs, force=force)
    with shown.busy("writing records"):
        files = made.write(place.text)
    also = f", and {len(files) - 1} replicate files beside it, {files[1]} to {files[-1]}" if len(files) > 1 else ""
    shown.say(f"{len(made.records):,} synthetic records in {place.text}{also}{_keeping(release)}")
    shown.tell(made.says)
    if made.target == "file":
        shown.tell("Counts, shares, sums and means of what was measured have proved intervals: hedgerow answer.")
    shown.tell(
        f"Their design: scale = 1/{made.number}, rscales = 1, mse = TRUE. They know of errors in what was measured."
    )
    measured = dict.fromkeys(pair for each in release.measurements for pair in combinations(each.target.scope, 2))
    noisy = made.traced(list(measured), together=True).thin
    if noisy:
        named = ", ".join(" x ".join(scope) for scope in noisy[:3]) + (", ..." if len(noisy) > 3 else "")
        shown.warn(f"State no interval for what follows from tables with so much noise that fits are biased: {named}.")
    result = {"n_records": len(made.records), "file": place.text, "files": files, "replicates": made.to_dict()}
    shown.result({**result, "mostly_noise": [list(scope) for scope in noisy]})


def _sample_linked(
    shown: Output,
    release: Path,
    place: RecordsPlace,
    linked: _Children,
    *,
    drawing: _Drawing,
    replicating: _Replicating,
    force: bool,
) -> None:
    """Draw records of parents and children, with replicates where these are wanted."""
    from hedgerow.release import LinkedRelease

    children, outputs = linked.children or [], linked.children_output or []
    if not 0 < len(children) == len(outputs) or drawing.where is not None or drawing.given is not None:
        remedy = "give both, and neither --where nor --given"
        raise ConfigError("--children and --children-output go together", remedy=remedy)
    places = [place, *map(RecordsPlace.of, outputs)]
    if any(one.is_same(other) for one, other in combinations(places, 2)) or any(each.folder for each in places):
        remedy = "name files, or tables of DuckDB files"
        raise ConfigError("the records of parents and children need a place each", remedy=remedy)
    for each in places:
        each.check({}, inputs=[release, *children], force=force)
    both = LinkedRelease.from_parts(*map(load_release, (release, *children)))
    first, second, *more = (each.text for each in places)
    if replicating.replicates is not None:
        made = _replicates(shown, both, drawing, replicating)
        _write_linked(shown, made, [each.text for each in places], inputs=[release, *children], force=force)
        return
    with shown.busy("drawing records"):
        options: Any = {"seed": drawing.seed, "method": drawing.method.value}
        numbers = both.write_records(first, second, drawing.n, more=more, **options)
    _tell_linked(shown, numbers, [first, second, *more], {"files": [first, second, *more]})


def _write_linked(shown: Output, made: LinkedReplicates, places: list[str], *, inputs: list[Path], force: bool) -> None:
    """Write records of parents and children with replicates."""
    later = enumerate(made.places(*places)[len(places) :], 1)
    check_outputs({f"replicate file {number}": Path(each) for number, each in later}, inputs=inputs, force=force)
    with shown.busy("writing records"):
        files = made.write(*places)
    numbers = [len(each.records) for each in made.tables]
    _tell_linked(shown, numbers, places, {"files": files, "replicates": made.to_dict()})
    shown.tell(made.says)
    shown.tell("State no interval for what is computed of all children of a parent: what they share was not measured.")


def _tell_linked(shown: Output, numbers: Sequence[int], places: Sequence[str], result: dict[str, Any]) -> None:
    (parents, first), *below = zip(numbers, places, strict=True)
    told = ", ".join(f"{n:,} children in {each}" for n, each in below)
    shown.say(f"{parents:,} synthetic parents in {first}, {told}")
    shown.result({"n_parents": parents, "n_children": numbers[1], "n_more": [*numbers[2:]], **result})


def _keeping(release: Release) -> str:
    """The rules of the domain that its records keep, in words."""
    rules, columns = len(release.domain.constraints), len(release.domain.derived_columns)
    said = [f"none breaks a constraint ({rules:,})"] if rules else []
    said += [f"with {columns:,} derived column{'s' if columns > 1 else ''}"] if columns else []
    return "".join(f"; {each}" for each in said)


@dataclass(frozen=True)
class _Asked(Options):
    """What is asked.

    Attributes:
        conditions: Conditions in SQL, on attributes and levels; or SELECT statements.
        confidence: Confidence of the intervals.
        joint: Make all intervals of a table, or of all conditions, hold together with the confidence. Use it for
            tables that you publish.
    """

    conditions: Annotated[list[str], typer.Argument(metavar="CONDITION...")]
    confidence: float = 0.95
    joint: bool = False


def answer(*, release: ReleaseFile, asking: _Asked, simulating: SimulationOptions, shown: Output) -> None:
    r"""Answer counting queries from a release: a value, and an interval that says what it covers. Costs no budget.

    With --simulate every answer has a second interval, which is estimated, not proved: the mechanism runs again on
    tables drawn from the release, and takes as long as so many runs.

    Examples:
      hedgerow answer people.release "sex = 'Female' and age between 30 and 40"
      hedgerow answer people.release "age > 60 and children = 2 and sex = 'Male'" --simulate 20
      hedgerow answer people.release "income = '>50K'" "not sex = 'Male'" --json
      hedgerow answer people.release "SELECT sex, AVG(age) FROM people GROUP BY sex"
      hedgerow answer people.release --joint \
          "SELECT sex, income, COUNT(*) FROM people GROUP BY sex, income"
    """
    from hedgerow.release import each_of, select_from

    conditions, confidence, joint = asking.conditions, asking.confidence, asking.joint
    loaded = load_release(release)
    asked = Questions.of(conditions, loaded.domain)
    if asked.statements and simulating.simulate is not None:
        raise ConfigError("--simulate is for conditions", remedy="ask for statements without it")
    number = len(asked.conditions) if joint else 1
    answers = [(text, loaded.answer(text, each_of(confidence, number))) for text in asked.conditions]
    if number > 1:
        held = f"; with {100 * confidence:.6g}% confidence all {number:,} hold together"
        answers = [(text, replace(each, covers=each.covers + held * each.has_interval)) for text, each in answers]
    tables = [
        (text, select_from(loaded, statement, confidence, joint=joint)) for text, statement in asked.statements.items()
    ]
    simulated = simulating.errors(shown, loaded)
    estimates = [] if simulated is None else simulated.answers(conditions, confidence)
    for text, table in tables:
        tell_selected(shown, text, table)
    for number, (text, found) in enumerate(answers):
        shown.say(f"{text}\n{indent(str(found), '  ')}")
        for estimate in estimates[number : number + 1]:
            shown.say(f"  {count_text(estimate.low)} to {count_text(estimate.high)} ({estimate.says})")
    if loaded.provenance.stamp:
        shown.warn(loaded.provenance.stamp)
    listed: list[dict[str, Any]] = [{"condition": text, **asdict(found)} for text, found in answers]
    for entry, estimate in zip(listed, estimates, strict=False):
        entry["estimated"] = {
            "low": estimate.low,
            "high": estimate.high,
            "error": estimate.error,
            "says": estimate.says,
        }
    result = {"confidence": confidence, "private": loaded.provenance.secure, "answers": listed}
    if tables:
        result["tables"] = [statements.listed(text, table) for text, table in tables]
    shown.result(result if simulated is None else {**result, "simulated": simulated.to_dict(confidence)})


def show(*, release: ReleaseFile, shown: Output) -> None:
    """Show what a release promises, what it spent and on what.

    Examples:
      hedgerow show people.release
      hedgerow show people.release --json
    """
    from hedgerow.domain import cells_in_words, columns_in_words, ignored_in_words, spellings_in_words
    from hedgerow.release import (
        error_sentence,
        level_uses,
        levels_sentence,
        summary_of,
        tables_sentence,
        verdicts_sentence,
        weights_sentence,
    )

    loaded = load_release(release)
    shown.tell(loaded.guarantee())
    for sentence in filter(None, (weights_sentence(loaded), loaded.provenance.left_out)):
        shown.tell(sentence)
    shown.say()
    shown.tell(error_sentence(loaded))
    if loaded.error is not None:
        shown.say("That is the error of answers; 'hedgerow sample' and 'hedgerow report' tell that of records")
    if loaded.verdicts:
        shown.tell(verdicts_sentence(loaded.verdicts))
        shown.say("\n".join(f"  {verdict.sentence}" for verdict in loaded.verdicts))
    if rule := tables_sentence(loaded):
        shown.tell(rule)
    shown.say(f"Workload: {loaded.workload.spec}")
    names = ", ".join(f"{attribute.name} ({attribute.size})" for attribute in loaded.domain)
    shown.say(f"Domain: {cells_in_words(loaded.domain)}: {names}")
    if normalised := spellings_in_words(loaded.domain):
        shown.say(f"Labels are normalised: {normalised}")
    if loaded.domain.ignored:
        shown.say(ignored_in_words(loaded.domain))
    if loaded.domain.derived_columns:
        shown.say(f"Derived columns: {columns_in_words(loaded.domain)}")
    versions = ", ".join(f"{name} {version}" for name, version in loaded.provenance.versions.items())
    shown.say(f"Made by {loaded.provenance.algorithm} with {versions}")
    uses = level_uses(loaded)
    if uses:
        rows = (
            (use.name, ", ".join(use.sources), f"{use.values:,}", f"{use.measurements:,}", _shown(use.beside))
            for use in uses
        )
        headings = ("level", "of", "values", "measured", "itself measured")
        shown.table(headings, rows, right=headings[2:], title="Levels and derived attributes")
        shown.tell(levels_sentence(loaded))
    unit = loaded.budget.unit
    events = (
        (str(number), event.purpose, event.target, event.mechanism, f"{event.scale:.5g}", at_most(event.charge, 5))
        for number, event in enumerate(loaded.events, start=1)
    )
    shown.table(
        ("#", "for", "what", "mechanism", "noise scale", unit),
        events,
        right=("#", "noise scale", unit),
        title=f"Ledger: {spent_of(loaded.spent, loaded.budget.limit, unit)} spent",
    )
    if loaded.provenance.stamp:
        shown.warn(loaded.provenance.stamp)
    ledger = [event.described() for event in loaded.events]
    shown.result({**summary_of(loaded), "ledger": ledger, "provenance": loaded.provenance.to_dict()})


def report(
    *,
    release: ReleaseFile,
    output: Annotated[Path, option("-o", panel="Output", metavar="FILE", help="HTML file to write.")],
    heading: HeadingOptions,
    simulating: SimulationOptions,
    force: Force = False,
    shown: Output,
) -> None:
    """Write the HTML report of a release: one file that opens offline. Costs no budget.

    Examples:
      hedgerow report people.release -o people.html
      hedgerow report people.release -o people.html --title "Census of 1994" --made-by "Office of statistics"
      hedgerow report people.release -o people.html --simulate 20
    """
    from hedgerow.report import write_report

    check_report("--output", output)
    check_outputs({"--output": output}, inputs=[release], force=force)
    loaded = load_release(release)
    simulated = simulating.errors(shown, loaded)
    with shown.busy("writing the report"):
        write_report(loaded, output, heading=heading.of(release), simulated=simulated)
    shown.say(f"report in {output}")
    shown.result({"file": str(output)})


class Form(StrEnum):
    """A format of metadata."""

    DDI = "ddi"
    CROISSANT = "croissant"
    DCAT = "dcat"
    REGISTRY = "registry"


@dataclass(frozen=True)
class _Describing(Options, panel="Output"):
    """What metadata say that a release does not know.

    Attributes:
        form: ddi (DDI-Codebook 2.5, XML), croissant (1.1, JSON-LD), dcat (3, JSON-LD), or registry: the entry that
            registries of deployments ask for (YAML).
        contact: Address of those who answer for the release.
        url: Where it is published.
        license: Address or name of its licence.
    """

    form: Annotated[Form, option("--format")]
    contact: Annotated[str, option(metavar="TEXT")] = ""
    url: Annotated[str, option(metavar="URL")] = ""
    license: Annotated[str, option(metavar="TEXT")] = ""


def metadata(
    *,
    release: ReleaseFile,
    output: Annotated[Path, option("-o", panel="Output", metavar="FILE", help="File to write.")],
    describing: _Describing,
    heading: HeadingOptions,
    force: Force = False,
    shown: Output,
) -> None:
    r"""Write the metadata of a release for an archive, a catalogue or a registry. Costs no budget.

    Examples:
      hedgerow metadata people.release --format ddi -o people.xml --title "Census of 1994"
      hedgerow metadata people.release --format croissant -o croissant.json \
          --url https://example.org/census --license https://creativecommons.org/licenses/by/4.0/
      hedgerow metadata people.release --format registry -o entry.yaml \
          --made-by "Office of statistics" --contact dp@example.org
    """
    from hedgerow.release import Description, left_open, write_metadata

    check_outputs({"--output": output}, inputs=[release], force=force)
    loaded, above, form = load_release(release), heading.of(release), describing.form.value
    description = Description(
        above.table, above.made_by, describing.contact, describing.url, describing.license, above.day, release
    )
    write_metadata(loaded, form, description, output)
    shown.say(f"metadata in {output}")
    absent = [f"--{name.replace('_', '-')}" for name in left_open(form, description)]
    if absent:
        shown.warn(f"The format asks for more than the release knows: give {', '.join(absent)}")
    if loaded.provenance.stamp:
        shown.warn(loaded.provenance.stamp)
    shown.result({"file": str(output), "format": form, "missing": absent})


def _shown(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def load_release(path: Path) -> Release:
    """Load a release, with the modules that this needs."""
    from hedgerow.release import Release

    return Release.load(path)
