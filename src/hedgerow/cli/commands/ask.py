"""``hedgerow ask``: questions about a private table, one call after the other, out of one budget."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from hedgerow.cli.commands.released import naming_condition
from hedgerow.cli.console import Output
from hedgerow.cli.options import (
    ALGORITHM,
    BUDGET,
    OUTPUT,
    TABLE,
    AsJson,
    Coded,
    Columns,
    CountColumn,
    Delta,
    Epsilon,
    Force,
    Quiet,
    Rho,
    budget_of,
    prepare,
    warn_of_budget,
)
from hedgerow.cli.outputs import check_outputs
from hedgerow.cli.reading import DataPlace, Where, inputs_of
from hedgerow.cli.registering import (
    LimitDelta,
    LimitEpsilon,
    LimitRho,
    Registered,
    RegisterFile,
    check_session,
    limit_of,
    open_register,
)
from hedgerow.cli.session_table import Reading
from hedgerow.errors import ConfigError, SessionError, WeakGuaranteeWarning
from hedgerow.queries import Neighbours
from hedgerow.system import replacing

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from hedgerow.algorithms.online_pmw import OnlineAnswer, Opening, SessionFile
    from hedgerow.data import ScannedTable, Table
    from hedgerow.domain import Domain
    from hedgerow.privacy import Budget, NoiseSource
    from hedgerow.queries import Workload
    from hedgerow.release import Release

_OPTIONS = {"queries": "--queries-planned", "updates": "--updates", "threshold": "--threshold"}
_COLUMNS = ("condition", "answer", "low", "high", "source", "charged", "covers")


@final
@dataclass(frozen=True)
class _Wishes:
    """What the options ask of a session; None where they say nothing."""

    budget: Budget | None
    neighbours: Neighbours | None
    config: dict[str, Any]
    warm: Path | None
    seed: int | None

    @property
    def noise(self) -> NoiseSource | None:
        from hedgerow.privacy import SeededNoise

        return None if self.seed is None else SeededNoise(self.seed)

    def check(self, confidence: float) -> None:
        """Refuse a number that is out of its range, before anything is read or spent."""
        from hedgerow.algorithms.online_pmw import OnlinePMW
        from hedgerow.release import check_confidence

        check_confidence(confidence)
        OnlinePMW(**self.config)

    def changed(self, budget: Budget) -> list[str]:
        """The options that contradict the budget of a session."""
        changed = ["budget"] if self.budget not in (None, budget) else []
        return changed + (["--neighbours"] if self.neighbours not in (None, budget.neighbours) else [])

    def check_new(self, domain: Domain) -> None:
        """Refuse what cannot be begun, before a register is charged for it."""
        from hedgerow.algorithms.online_pmw import OnlinePMW, check_start

        if self.seed is not None:
            raise typer.BadParameter("a register adds up guarantees: there is none with --seed")
        if self.budget is not None:
            warm = None if self.warm is None else _release(self.warm)
            check_start(OnlinePMW(**self.config), domain, self.budget, warm)


def ask(
    ctx: typer.Context,
    *,
    data: DataPlace,
    conditions: Annotated[list[str] | None, typer.Argument(metavar="[CONDITION]...", help="Conditions in SQL.")] = None,
    session: Annotated[
        Path,
        typer.Option(
            "--session",
            metavar="FILE",
            help="Where the session is kept, SECRET: the first call makes it, later ones continue it.",
            rich_help_panel=TABLE,
        ),
    ],
    domain: Annotated[
        Path | None,
        typer.Option(
            "--domain",
            metavar="FILE",
            help="Domain file (YAML or JSON): what records could exist. Later calls find it in the session file, as "
            "well as the columns.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    neighbours: Annotated[
        Neighbours | None,
        typer.Option(
            "--neighbours",
            help="What one person can change: add or remove a record (the number of records is private), or "
            "replace one (it is public; after a filter, only that of the whole table is).",
            show_default=Neighbours.ADD_REMOVE.value,
            rich_help_panel=BUDGET,
        ),
    ] = None,
    register: RegisterFile = None,
    limit: LimitEpsilon = None,
    limit_delta: LimitDelta = None,
    limit_rho: LimitRho = None,
    queries_planned: Annotated[
        int | None,
        typer.Option(
            "--queries-planned",
            metavar="K",
            min=1,
            help="How many questions may look at the data; a generous number costs nothing.",
            show_default="10000",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    updates: Annotated[
        int | None,
        typer.Option(
            "--updates",
            metavar="C",
            min=1,
            help="How many answers of the data the budget is divided over.",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="SHARE",
            help="Errors of about this share of the records are to be corrected.",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    warm: Annotated[
        Path | None,
        typer.Option(
            "--warm",
            metavar="RELEASE",
            help="An earlier release of the same table to start from; what it spent is charged to the budget.",
            rich_help_panel=ALGORITHM,
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option("--queries", metavar="FILE", help="A text file with one condition per line."),
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of each interval.")] = 0.95,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The answers as .csv.", rich_help_panel=OUTPUT),
    ] = None,
    columns: Columns = None,
    count_column: CountColumn = None,
    where: Where = None,
    coded: Coded = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", help="NOT PRIVATE: noise that can be drawn again, for tests.", rich_help_panel=ALGORITHM
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    r"""Answer questions about a private table as they come, over weeks if need be, out of one budget.

    The first call names domain and budget and makes the session file; later calls go on with it. Most questions are
    answered by what is known already and cost nothing. The session file holds a secret, and belongs where the table
    is; never go on from an old copy of it, which would spend the same budget twice.

    Examples:
      hedgerow ask people.csv --domain people.yaml --session people.session \
          --epsilon 1 "sex = 'Female' and age < 30"
      hedgerow ask people.csv --session people.session \
          "age between 30 and 39" "income = '>50K'"
      hedgerow ask people.csv --session people.session --queries questions.txt \
          -o answers.csv
      hedgerow ask people.csv --domain people.yaml --session people.session \
          --epsilon 1 --register people.register --limit 3 "sex = 'Female'"
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    inputs = [path for path in (*inputs_of(data), domain, session, queries, warm, register) if path is not None]
    check_outputs({"--output": output}, inputs=inputs, force=force)
    asked = [*(conditions or ()), *(_listed(queries) if queries is not None else ())]
    reading = Reading.of_options(session, domain, columns=columns, count_column=count_column, coded=coded, where=where)
    workload = _checked_conditions(asked, reading.domain)
    neighbours = neighbours.filtered if neighbours is not None and reading.where is not None else neighbours
    options = {"queries": queries_planned, "updates": updates, "threshold": threshold}
    wishes = _Wishes(
        budget=_budget(epsilon, delta, rho, neighbours, begun=session.exists()),
        neighbours=neighbours,
        config={name: value for name, value in options.items() if value is not None},
        warm=warm,
        seed=seed,
    )
    wishes.check(confidence)
    table_register = open_register(
        register, limit_of(limit, limit_delta, limit_rho, neighbours or Neighbours.ADD_REMOVE)
    )
    with _alone(session) as kept:
        if kept.is_new and table_register is not None:
            wishes.check_new(reading.domain)
        registered = Registered.checked(
            shown,
            table_register,
            wishes.budget if kept.is_new else None,
            kind="session",
            name=session.name,
            attributes=reading.domain.names,
        )
        with registered.staying():
            table = reading.read(shown, data, workload, before_rows=registered.charge)
            with shown.busy("opening the session"):
                is_new = _opened(kept, session, wishes, reading, table=table, charged=registered.notes())
                check_session(table_register, kept.notes, session)
        if is_new:
            shown.tell(f"Of all that this session will ever say, taken together: {kept.budget.statement()}")
        found = kept.ask_all(asked, confidence)
        _write(output, asked, found)
        _tell(shown, session, kept, asked, found, registered=registered)


def _listed(path: Path) -> list[str]:
    """The lines of a file but the empty ones and comments."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"--queries: {path} is not a text in UTF-8", remedy="one condition per line") from error
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _checked_conditions(asked: Sequence[str], domain: Domain) -> Workload | None:
    """Refuse a wrong condition before the table is read; those that are conjunctions as one workload."""
    from hedgerow.queries import Conjunction, Workload, parse_predicate

    parsed = []
    for number, text in enumerate(asked, start=1):
        with naming_condition(number, text) if len(asked) > 1 else nullcontext():
            parsed.append(parse_predicate(text, domain))
    conjunctions = [query for query in parsed if isinstance(query, Conjunction)]
    return Workload.conjunctions(domain, conjunctions) if conjunctions else None


def _budget(
    epsilon: float | None, delta: float | None, rho: float | None, neighbours: Neighbours | None, *, begun: bool
) -> Budget | None:
    """The budget that the options name; None if a session goes on and they name none."""
    if begun and epsilon is None and delta is None and rho is None:
        return None
    return budget_of(epsilon, delta, rho, neighbours or Neighbours.ADD_REMOVE)


def _alone(session: Path) -> SessionFile:
    """The file of a session, to be kept from other calls: both would spend the same budget."""
    from hedgerow.algorithms.online_pmw import SessionFile

    if not session.parent.is_dir():
        raise ConfigError(f"--session: the folder {session.parent} does not exist", remedy="make it")
    return SessionFile(session)


def _release(path: Path) -> Release:
    from hedgerow.release import Release

    return Release.load(path)


def _opened(
    kept: SessionFile,
    path: Path,
    wishes: _Wishes,
    reading: Reading,
    *,
    table: Table | ScannedTable,
    charged: Mapping[str, Any],
) -> bool:
    """Start the session of a file, or restore it; whether it was started."""
    opening = None if kept.is_new else kept.opening()
    if kept.is_new or opening is not None:
        before = {} if opening is None else opening.notes
        chosen = wishes if opening is None else _anew(path, opening, wishes, reading)
        _start(kept, path, chosen, table, {**before, **reading.notes(), **charged})
        return True
    _restore(kept, path, wishes, reading, table)
    return False


def _start(
    kept: SessionFile, path: Path, wishes: _Wishes, table: Table | ScannedTable, notes: Mapping[str, Any]
) -> None:
    """A new session, with its file."""
    from hedgerow.algorithms.online_pmw import OnlinePMW

    if wishes.budget is None:  # the file has gone since the options were read
        raise SessionError(f"{path}: there is no such session", remedy="name a budget to start one")
    warm = None if wishes.warm is None else _release(wishes.warm)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGuaranteeWarning)  # told at the end, with all else
        kept.start(OnlinePMW(**wishes.config), table, wishes.budget, noise=wishes.noise, warm=warm, notes=notes)


def _anew(path: Path, opening: Opening, wishes: _Wishes, reading: Reading) -> _Wishes:
    """What to start after a first call died before the session had begun; of its options some may be others now."""
    if opening.warm and wishes.warm is None:
        raise SessionError(
            f"{path}: the first call was interrupted as it started from an earlier release",
            remedy="name it once more with --warm",
        )
    _refuse(path, [*wishes.changed(opening.budget), *reading.departs(opening.notes)])
    return replace(wishes, budget=opening.budget, config={**opening.config.parameters(), **wishes.config})


def _restore(kept: SessionFile, path: Path, wishes: _Wishes, reading: Reading, table: Table | ScannedTable) -> None:
    """The session in the file, which keeps what it was started with."""
    kept.restore(table, noise=wishes.noise)
    changed = [_OPTIONS[name] for name, value in wishes.config.items() if value != getattr(kept.config, name)]
    changed += wishes.changed(kept.budget)
    changed += ["--warm"] if wishes.warm is not None else []
    changed += reading.departs(kept.notes)
    _refuse(path, changed)
    kept.notes.update(reading.notes())


def _refuse(path: Path, changed: Sequence[str]) -> None:
    if changed:
        raise SessionError(
            f"{path}: the session was started otherwise: {', '.join(changed)}",
            remedy="leave these options out to go on with it, or name another --session file to start anew, with "
            "a budget of its own",
        )


def _write(path: Path | None, asked: Sequence[str], found: Sequence[OnlineAnswer]) -> None:
    if path is None:
        return
    with replacing(path) as beside, beside.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(_COLUMNS)
        for text, answer in zip(asked, found, strict=True):
            ends = ("" if end is None else end for end in (answer.low, answer.high))
            writer.writerow([text, answer.value, *ends, answer.source, answer.charged, answer.covers])


def _tell(
    output: Output,
    path: Path,
    kept: SessionFile,
    asked: Sequence[str],
    found: Sequence[OnlineAnswer],
    *,
    registered: Registered,
) -> None:
    summary = kept.summary()
    if found:
        output.table(_grid(asked, found))
    left = "no more answers of the data" if summary["closed"] else f"{summary['updates_left']} of {summary['updates']}"
    output.say(f"updates left  {left}{_because(summary['closed'])}")
    if not summary["closed"]:
        output.say(f"threshold     {summary['threshold']:,.0f} records: answers that are off by less are not corrected")
    output.say(f"spent         {summary['spent']:.6g} of {summary['limit']:.6g} {summary['unit']}")
    in_register = registered.tell(13)
    output.say(f"session       {path}   (secret: keep it where the table is)")
    for lost in kept.forfeited:
        output.warn(f"FORFEITED: {lost.charge:.6g} {lost.unit}, {lost.target}, of a call that did not end")
    warn_of_budget(output, kept.budget, summary["total"])
    if not summary["private"]:
        output.warn("NOT PRIVATE: seeded: whoever knows the seed can subtract the noise")
    listed = [{"condition": text, **asdict(answer)} for text, answer in zip(asked, found, strict=True)]
    forfeited = [lost.to_dict() for lost in kept.forfeited]
    output.result({"answers": listed, "session": {"file": str(path), **summary}, "forfeited": forfeited, **in_register})


def _because(reason: str) -> str:
    return f" ({reason}); the hypothesis answers alone, without intervals" if reason else ""


def _grid(asked: Sequence[str], found: Sequence[OnlineAnswer]) -> Grid:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    grid = Table(box=SIMPLE_HEAD, pad_edge=False)
    grid.add_column("condition", overflow="fold")
    for heading in ("answer", "from", "to"):
        grid.add_column(heading, justify="right")
    grid.add_column("answered by")
    for text, answer in zip(asked, found, strict=True):
        ends = ("" if end is None else f"{end:,.0f}" for end in (answer.low, answer.high))
        grid.add_row(escape(text or "(all records)"), f"{answer.value:,.0f}", *ends, answer.source)
    return grid
