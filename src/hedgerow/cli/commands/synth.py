"""``hedgerow synth``: from a private table to a release, synthetic records and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import options
from hedgerow.cli.commands.preparing import offer_draft
from hedgerow.cli.console import Output, showing_records
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.lists import split_names
from hedgerow.cli.mechanisms import AnyMechanismOptions, PriorFile, prior_of
from hedgerow.cli.outputs import RECORDS, RecordsPlace, check_public, check_report
from hedgerow.cli.reading import DataPlace, Reading, inputs_of
from hedgerow.cli.running import prepare_run, run_accounted, save_first, signing_key, tell_thresholds
from hedgerow.cli.spending import Registered, accounted, open_register
from hedgerow.errors import ConfigError, ReleaseError
from hedgerow.quantities import spent_of

if TYPE_CHECKING:
    from hedgerow.data import ScannedTable, Table
    from hedgerow.models import Model
    from hedgerow.privacy import ExactErrors
    from hedgerow.release import Release


@dataclass(frozen=True)
class _Files(Options, panel="Output"):
    """What is written.

    Attributes:
        release: The release, from which everything else can be made again; by default beside the records, with the
            ending .release: next to the database file it is named after the table, next to Spark's folder after that.
        report: HTML report.
        records: Number of records to draw; by default the (noisy) number of records, with --weight 100,000 at most. The
            exact number of rows of a private table is itself private.
        sign: Private Ed25519 key, PEM or OpenSSH, that the release is signed with; 'hedgerow key' makes one.
    """

    output: Annotated[str, option("-o", metavar="PLACE", help=f"Synthetic records: {RECORDS}.")]
    release: Annotated[Path | None, option(metavar="FILE")] = None
    report: Annotated[Path | None, option(metavar="FILE")] = None
    records: Annotated[int | None, option(metavar="N", min=1)] = None
    sign: Annotated[Path | None, option(metavar="KEY")] = None
    force: options.Force = False

    def checked(self, inputs: Sequence[Path], data: str) -> tuple[RecordsPlace, Path]:
        """The places of the records and of the release, which can be written.

        Args:
            inputs: Files that nothing may be written over.
            data: Place of the private table.

        Raises:
            ConfigError: One cannot be written.
        """
        place = RecordsPlace.of(self.output)
        release = self.release or place.release
        if release is None:
            raise ConfigError(
                "there is no place for the release beside the records", remedy="name its file: --release FILE"
            )
        place.check({"--release": release, "--report": self.report}, inputs=inputs, force=self.force, source=data)
        check_report("--report", self.report)
        return place, release


@dataclass(frozen=True)
class _Tests(Options, panel="Algorithm"):
    """Options for public data and tests, after which nothing is private.

    Attributes:
        evaluate: NOT PRIVATE: print exact errors, and label the report. For public or test data only.
        seed: NOT PRIVATE: noise that can be drawn again, for tests. The release is stamped.
    """

    evaluate: bool = False
    seed: int | None = None


def synth(
    ctx: typer.Context,
    *,
    data: DataPlace,
    files: _Files,
    heading: options.HeadingOptions,
    described: options.DomainOptions,
    facts: options.PublicFacts,
    budgeted: options.SampledBudgetOptions,
    registering: options.LearningRegisterOptions,
    questions: options.QuestionOptions,
    configured: AnyMechanismOptions,
    prior: PriorFile = None,
    chosen: options.TableOptions,
    testing: _Tests,
    show_values: options.ShowValues = False,
    shown: Output,
) -> None:
    r"""Make synthetic records of a private table.

    Reads and encodes the table, runs the algorithm under the budget, saves the release, draws records and writes
    the report. Spent budget does not come back, so run 'hedgerow plan' first. Budgets of several releases of one
    table add up. A register keeps the sum and refuses a release that would pass its limit.

    Examples:
      hedgerow synth people.csv --domain people.yaml --epsilon 1 -o synthetic.csv
      hedgerow synth people.parquet --auto-domain --bounds age=0..120 \
          --epsilon 1 --delta 1e-9 -o synthetic.parquet
      hedgerow synth people.csv --domain people.yaml --columns age,sex,income \
          --epsilon 1 --delta 1e-9 --workload "marginals:2; prefixes:age" \
          --means "income by sex" \
          -o synthetic.parquet --release people.release --report people.html
      hedgerow synth people.csv --domain people.yaml --epsilon 1 --delta 1e-9 \
          --target income -o synthetic.csv
      hedgerow synth people.csv --domain people.yaml --epsilon 1 \
          --workload "marginals:2 @levels" --violations drop -o synthetic.csv
      hedgerow synth 'people/*.parquet' --domain people.yaml --epsilon 1 \
          --where "region = 'north'" -o synthetic.csv
      hedgerow synth cells.csv --count-column count --domain cells.json \
          --rho 0.1 --neighbours replace -o synthetic.csv
      hedgerow synth visits.csv --domain visits.yaml --epsilon 1 --delta 1e-9 \
          --person patient --at-most 5 -o synthetic.csv
      hedgerow synth survey.csv --domain survey.yaml --epsilon 1 --delta 1e-9 \
          --weight PWGTP --largest-weight 200 --known population_by_sex.csv \
          -o synthetic.csv
      hedgerow synth duckdb:census.db#people --domain people.yaml --epsilon 1 \
          -o duckdb:synthetic.db#people
      hedgerow synth people.csv --domain people.yaml --epsilon 1 \
          --register people.register --limit 3 -o synthetic.csv
      hedgerow synth people.csv --domain people.yaml --epsilon 1 \
          --known region_by_sex.csv --known households.csv -o synthetic.csv
      hedgerow synth people.csv --domain people.yaml --epsilon 0.1 --delta 1e-9 \
          --prior another-region.csv -o synthetic.csv
    """
    from hedgerow.domain import Domain
    from hedgerow.runs import for_questions, noise_of

    how = chosen.reading(show_values=show_values)
    if not (described.domain or described.auto_domain):
        offer_draft(shown, data, split_names(chosen.columns), how.apart)
    between = budgeted.between(how.persons)
    check_public(prior, inputs_of(data))
    totals = [Path(each) for each in described.known or () if not each.removeprefix("population=").isdecimal()]
    beside = (described.domain, registering.register, prior, *questions.files, *totals)
    place, release = files.checked([*inputs_of(data), *(each for each in beside if each is not None)], data)
    key = signing_key(shown, files.sign)
    wanted = described.wanted(data, chosen.columns, how.apart, facts)
    outline = wanted if isinstance(wanted, Domain) else wanted.outline
    if outline is not wanted and (prior is not None or how.coded):
        raise typer.BadParameter("--prior and --coded need a domain file of which nothing is to be learnt")
    options.warn_of_domain(shown, outline)
    questions = questions.over(outline, alone=configured == AnyMechanismOptions() and prior is None)
    configured_as = configured.algorithm(prior_of(prior, outline, how))
    algorithm = for_questions(configured_as, questions.text, questions.target)
    budget, noise = budgeted.budget(between), noise_of(testing.seed)
    spec = questions.spec(wanted, algorithm, budget, how, noise)
    prepare_run(ctx, shown, algorithm, spec.asked, spec.budget)
    if registering.register is not None and (testing.evaluate or testing.seed is not None):
        raise typer.BadParameter("a register adds up guarantees, and a run with --evaluate or --seed has none")
    kept = open_register(registering.register, registering.bound(between))
    if kept is None:
        spec = spec.accounted()
    tell_thresholds(shown, wanted, spec.budget)
    registered = Registered(shown, kept, spec.budget, "release", release.name, outline.names)
    with registered.staying():
        reading = Reading(outline, how)
        readers = partial(reading.read, shown, data), partial(reading.read_labels, shown, data)
        opened = spec.opened(*readers, registered.charge, partial(accounted, shown))
        made = run_accounted(shown, algorithm, opened, spec.noise)
        save_first(shown, made, release, key)
    complete = f"the release is complete, in {release}: 'hedgerow sample' and 'hedgerow report' continue from it"
    with shown.warning_if_it_stops(lambda: ({"release": str(release)}, complete)):
        registered.add_digest(release)
        written = {"records": place.text, "release": release, "report": files.report}
        table = opened.table if testing.evaluate else None
        _write(shown, made, table, n_records=files.records, files=written, heading=heading, registered=registered)


def _write(
    output: Output,
    release: Release,
    table: Table | ScannedTable | None,
    *,
    n_records: int | None,
    files: Mapping[str, Any],
    heading: options.HeadingOptions,
    registered: Registered,
) -> None:
    """Draw the records, write the report, and say what was made."""
    _tell_verdicts(output, release, files["release"])
    exact = None if table is None else _exact_errors(table, release, release.model)
    with showing_records(output) as progress:
        drawn = release.write_records(files["records"], n_records, progress=progress)
    if files["report"] is not None:
        from hedgerow.report import write_report

        with output.busy("writing the report"):
            write_report(release, files["report"], heading=heading.of(files["release"]), exact=exact)
    _tell(output, release, drawn, table, exact=exact, files=files, registered=registered)


def _tell_verdicts(output: Output, release: Release, path: Path) -> None:
    """The verdicts on criteria, if there are some.

    Raises:
        ReleaseError: One is not held: no records are drawn.
    """
    from hedgerow.release import all_held, verdicts_sentence

    if not release.verdicts:
        return
    output.tell(verdicts_sentence(release.verdicts))
    for verdict in release.verdicts:
        output.say(f"  {verdict.sentence}")
    if not all_held(release.verdicts):
        unmet = [verdict.criterion.text for verdict in release.verdicts if verdict.outcome != "held"]
        raise ReleaseError(
            f"criteria that are not known to hold: {'; '.join(unmet)}. No records were written",
            remedy=f"what was spent stays spent. {path} holds the release with its verdicts: 'hedgerow sample' draws "
            "from it all the same. A new run, with a larger budget or another workload, is charged anew",
        )


def _exact_errors(table: Table | ScannedTable, release: Release, model: Model) -> ExactErrors:
    from hedgerow.privacy import exact_errors

    return exact_errors(table, release.workload, release.workload.answers(model))


def _joined(release: Release) -> str:
    """Sentences about tables that joined or were found where no workload was given."""
    from hedgerow.runs import unasked_in_words

    parameters = release.provenance.parameters
    if not parameters.get("higher_orders"):
        return ""
    otherwise = "; '--workload marginals:2' asks for pairs alone."
    return unasked_in_words(release.workload, otherwise, parameters.get("found", ()))


def _tell(
    output: Output,
    release: Release,
    n_records: int,
    table: Table | ScannedTable | None,
    *,
    exact: ExactErrors | None,
    files: Mapping[str, object],
    registered: Registered,
) -> None:
    """The result, for people and for programs."""
    from hedgerow.domain import ignored_in_words
    from hedgerow.release import (
        as_drawn,
        distinct_records,
        drawn_error,
        drawn_sentence,
        error_sentence,
        release_warnings,
        summary_of,
        tables_sentence,
        weights_sentence,
    )

    paths = output.say_files(files)
    distinct = distinct_records(release)
    copies = "" if distinct is None else f" from {distinct:,} distinct {'ones' if distinct > 1 else 'one'}"
    output.say(f"drawn    {n_records:,} synthetic records{copies}{_stands_for(release, n_records)}")
    output.say(f"spent    {spent_of(release.spent, release.budget.limit, release.budget.unit)}")
    left = registered.tell()
    output.tell(release.guarantee())
    sentences = weights_sentence(release), release.provenance.left_out, ignored_in_words(release.domain)
    for sentence in filter(None, (*sentences, _joined(release))):
        output.tell(sentence)
    summary = summary_of(release)
    if release.error is not None:
        output.tell(error_sentence(release))
    filed = None
    if n_records and (release.error is not None or table is not None):
        filed = as_drawn(release, n_records)
        added = drawn_error(release, filed)
        summary["records_error"] = added.to_dict(release)
        if sentence := drawn_sentence(release, n_records, added):
            output.tell(sentence)
    if rule := tables_sentence(release):
        output.tell(rule)
    for warning in release_warnings(release):
        output.warn(warning)
    options.warn_of_budget(output, release.budget, release.total)
    if not release.provenance.secure:
        output.warn(f"{release.provenance.stamp}: anyone who knows the seed can subtract the noise")
    if exact is not None:
        output.warn(f"NOT PRIVATE: exact errors: mean {exact.mean:.6g}, largest {exact.maximum:.6g} counts")
        summary["not_private_evaluation"] = exact.to_dict()
    if table is not None and filed is not None:
        found = _exact_errors(table, release, filed)
        said = f"mean {found.mean:.6g}, largest {found.maximum:.6g} counts"
        output.warn(f"NOT PRIVATE: exact errors of a file of records: {said}")
        summary["not_private_evaluation_of_records"] = found.to_dict()
    output.result({**summary, "n_records": n_records, "distinct_records": distinct, "files": paths, **left})


def _stands_for(release: Release, n_records: int) -> str:
    """People of the population that a record stands for, where the records of the table had weights."""
    return "" if release.weight is None else f", each of which stands for {release.stands_for / n_records:,.4g}"
