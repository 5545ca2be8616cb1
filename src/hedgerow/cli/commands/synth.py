"""``hedgerow synth``: from a private table to a release, synthetic records and a report."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, final

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.options import (
    ALGORITHM,
    OUTPUT,
    TABLE,
    Alpha,
    AsJson,
    Coded,
    Columns,
    CountColumn,
    Delta,
    DomainFile,
    Epsilon,
    Force,
    MechanismOption,
    NeighboursOption,
    Quiet,
    Rho,
    Rounds,
    WorkloadText,
    algorithm_of,
    budget_of,
    prepare,
    split_names,
    warn_of_budget,
    workload_of,
)
from hedgerow.cli.outputs import check_report_ending
from hedgerow.cli.progress import showing_progress, showing_records
from hedgerow.cli.reading import DataPlace, Where, inputs_of, read_data
from hedgerow.cli.records_place import RECORDS, RecordsPlace
from hedgerow.cli.registering import (
    LimitDelta,
    LimitEpsilon,
    LimitRho,
    Registered,
    RegisterFile,
    limit_of,
    open_register,
)
from hedgerow.cli.signing import Sign, signing_key
from hedgerow.cli.spending import accounted
from hedgerow.errors import ConfigError, HedgerowError
from hedgerow.queries import Neighbours

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm
    from hedgerow.data import ScannedTable, Table
    from hedgerow.privacy import Budget, ExactErrors
    from hedgerow.queries import Workload
    from hedgerow.release import Release
    from hedgerow.system import SigningKey


@final
@dataclass(frozen=True)
class _Files:
    data: str
    domain: Path
    records: RecordsPlace
    release: Path
    report: Path | None

    def check(self, register: Path | None, *, force: bool) -> None:
        others = {"--release": self.release, "--report": self.report}
        inputs = [*inputs_of(self.data), self.domain, *([] if register is None else [register])]
        self.records.check(others, inputs=inputs, force=force, source=self.data)
        if self.report is not None:
            check_report_ending("--report", self.report)
            from hedgerow.report import require_extra

            require_extra()


def _files(data: str, domain: Path, output: str, release: Path | None, report: Path | None) -> _Files:
    records = RecordsPlace.of(output)
    kept = release or records.release
    if kept is None:
        raise ConfigError("the release has no place beside the records", remedy="say where it goes: --release FILE")
    return _Files(data, domain, records, kept, report)


def synth(
    ctx: typer.Context,
    *,
    data: DataPlace,
    domain: DomainFile,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="PLACE", help=f"Synthetic records: {RECORDS}.", rich_help_panel=OUTPUT),
    ],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    neighbours: NeighboursOption = Neighbours.ADD_REMOVE,
    register: RegisterFile = None,
    limit: LimitEpsilon = None,
    limit_delta: LimitDelta = None,
    limit_rho: LimitRho = None,
    workload: WorkloadText = None,
    mechanism: MechanismOption = "mwem",
    rounds: Rounds = None,
    alpha: Alpha = None,
    columns: Columns = None,
    count_column: CountColumn = None,
    where: Where = None,
    coded: Coded = False,
    records: Annotated[
        int | None,
        typer.Option(
            "--records",
            metavar="N",
            min=1,
            rich_help_panel=OUTPUT,
            help="How many records to draw; by default the (noisy) number of records. The exact number of rows "
            "of a private table is itself private.",
        ),
    ] = None,
    release: Annotated[
        Path | None,
        typer.Option(
            "--release",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="The release, from which everything else can be made again; by default beside the records, with "
            "the ending .release: next to the database file it is named after the table, next to Spark's folder after "
            "that.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="HTML report.", rich_help_panel=OUTPUT),
    ] = None,
    evaluate: Annotated[
        bool,
        typer.Option(
            "--evaluate",
            rich_help_panel=ALGORITHM,
            help="NOT PRIVATE: print exact errors, and label the report. For public or test data only.",
        ),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            rich_help_panel=ALGORITHM,
            help="NOT PRIVATE: noise that can be drawn again, for tests. The release is stamped.",
        ),
    ] = None,
    sign: Sign = None,
    show_values: Annotated[
        bool,
        typer.Option("--show-values", help="Let messages about bad cells show their values.", rich_help_panel=TABLE),
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    r"""Make synthetic records of a private table.

    Reads and encodes the table, runs the algorithm under the budget, saves the release, draws records and writes
    the report. Spent budget does not come back: look with 'hedgerow plan' first. Budgets of several releases of one
    table add up: keep a register, which does the sum and refuses what would pass its limit.

    Examples:
      hedgerow synth people.csv --domain people.yaml --epsilon 1 -o synthetic.csv
      hedgerow synth people.csv --domain people.yaml --columns age,sex,income \
          --epsilon 1 --delta 1e-9 --workload "marginals:2; prefixes:age" \
          -o synthetic.parquet --release people.release --report people.html
      hedgerow synth 'people/*.parquet' --domain people.yaml --epsilon 1 \
          --where "region = 'north'" -o synthetic.csv
      hedgerow synth cells.csv --count-column count --domain cells.json \
          --rho 0.1 --neighbours replace -o synthetic.csv
      hedgerow synth duckdb:census.db#people --domain people.yaml --epsilon 1 \
          -o duckdb:synthetic.db#people
      hedgerow synth people.csv --domain people.yaml --epsilon 1 \
          --register people.register --limit 3 -o synthetic.csv
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    files = _files(data, domain, output, release, report)
    budget = budget_of(epsilon, delta, rho, neighbours)
    algorithm = algorithm_of(mechanism, rounds, alpha)
    files.check(register, force=force)
    key = signing_key(shown, sign)
    names = split_names(columns)
    asked = workload_of(files.domain, names, workload)
    algorithm.check(asked, budget.regime)  # before a large table is read for nothing
    if register is not None and (evaluate or seed is not None):
        raise typer.BadParameter("a register adds up guarantees: there is none with --evaluate or --seed")
    kept = open_register(register, limit_of(limit, limit_delta, limit_rho, neighbours))
    registered = Registered.checked(
        shown, kept, budget, kind="release", name=files.release.name, attributes=asked.domain.names
    )
    extra = "error" if names is None else "ignore"
    with registered.staying():
        table = read_data(
            shown, data, asked.domain,
            where=where, workload=asked, before_rows=registered.charge,
            count_column=count_column, extra_columns=extra, coded=coded, show_values=show_values,
        )  # fmt: skip
        made = _run(shown, algorithm, table, workload=asked, budget=budget, seed=seed)
        _save(shown, made, files.release, key)
    with _keeping(shown, files.release):
        registered.add_digest(files.release)
        _write(shown, files, made, records, _exact_errors(table, made) if evaluate else None, registered=registered)


def _run(
    output: Output,
    algorithm: Algorithm,
    table: Table | ScannedTable,
    *,
    workload: Workload,
    budget: Budget,
    seed: int | None,
) -> Release:
    from hedgerow.privacy import Curator, SeededNoise

    curator = Curator(table, budget, noise=None if seed is None else SeededNoise(seed))
    with accounted(output, curator), showing_progress(output) as progress:
        return algorithm.run_with(curator, workload, progress=progress)


def _save(output: Output, release: Release, path: Path, key: SigningKey | None) -> None:
    """Save the release first: everything else can be made again from it, and it cannot."""
    try:
        release.save(path, sign=key)
    except (HedgerowError, OSError, KeyboardInterrupt):
        rescue = Path(tempfile.mkdtemp(prefix="hedgerow-")) / path.name
        release.save(rescue, sign=key)
        output.warn(f"{path} could not be written; the release is saved in {rescue}")
        raise


def _exact_errors(table: Table | ScannedTable, release: Release) -> ExactErrors:
    from hedgerow.privacy import exact_errors

    return exact_errors(table, release.workload, release.workload.answers(release.model))


def _write(
    output: Output,
    files: _Files,
    release: Release,
    records: int | None,
    exact: ExactErrors | None,
    *,
    registered: Registered,
) -> None:
    with showing_records(output) as progress:
        drawn = release.write_records(files.records.text, records, progress=progress)
    if files.report is not None:
        from hedgerow.report import write_report

        with output.busy("writing the report"):
            write_report(release, files.report, exact=exact)
    _tell(output, files, release, drawn, exact, registered=registered)


def _tell(
    output: Output,
    files: _Files,
    release: Release,
    n_records: int,
    exact: ExactErrors | None,
    *,
    registered: Registered,
) -> None:
    """The result, for people and for programs."""
    from hedgerow.release import distinct_records, error_sentence, summary_of

    for name, path in (("records", files.records.text), ("release", files.release), ("report", files.report)):
        if path is not None:
            output.say(f"{name:8} {path}")
    distinct = distinct_records(release)
    output.say(f"drawn    {n_records:,} synthetic records{'' if distinct is None else _copies(distinct)}")
    output.say(f"spent    {release.spent:.6g} of {release.budget.limit:.6g} {release.budget.unit}")
    left = registered.tell()
    output.tell(release.guarantee())
    summary = summary_of(release)
    if release.error is not None:
        output.tell(error_sentence(release))
    warn_of_budget(output, release.budget, release.total)
    if not release.provenance.secure:
        output.warn(f"{release.provenance.stamp}: whoever knows the seed can subtract the noise")
    if exact is not None:
        output.warn(f"NOT PRIVATE: exact errors: mean {exact.mean:.6g}, largest {exact.maximum:.6g} counts")
        summary["not_private_evaluation"] = exact.to_dict()
    paths = {"records": files.records.text, "release": str(files.release)}
    if files.report is not None:
        paths["report"] = str(files.report)
    output.result({**summary, "n_records": n_records, "distinct_records": distinct, "files": paths, **left})


def _copies(distinct: int) -> str:
    return f" from {distinct:,} distinct {'ones' if distinct > 1 else 'one'}"


@contextmanager
def _keeping(output: Output, release: Path) -> Iterator[None]:
    """Say where the release is if a later step fails: the budget is spent, and the release is what it bought."""
    try:
        yield
    except BaseException:
        output.facts |= {"release": str(release)}
        output.warn(f"the release is complete, in {release}: 'hedgerow sample' and 'hedgerow report' go on from it")
        raise
