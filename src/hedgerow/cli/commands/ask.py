"""``hedgerow ask``: questions about a private table, one call after the other, out of one budget."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.algorithms.registry import read_options, session_entry
from hedgerow.cli import options
from hedgerow.cli.commands.released import load_release
from hedgerow.cli.console import Output
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.lists import listed_lines
from hedgerow.cli.outputs import check_outputs
from hedgerow.cli.reading import DataPlace, Reading, inputs_of
from hedgerow.cli.spending import Registered, check_session, open_register
from hedgerow.cli.statements import Questions, listed, tell_selected, write_selected
from hedgerow.errors import ConfigError, SessionError, WeakGuaranteeWarning
from hedgerow.quantities import at_most, spent_of
from hedgerow.queries import Neighbours, Relation
from hedgerow.system import replacing

if TYPE_CHECKING:
    from hedgerow.algorithms.online_pmw import OnlineAnswer, OnlinePMW, Opening, SessionFile
    from hedgerow.data import ScannedTable, Table
    from hedgerow.domain import Domain
    from hedgerow.privacy import Budget, NoiseSource
    from hedgerow.release import Release, Selected

_OPTIONS = {"queries": "--queries-planned", "updates": "--updates", "threshold": "--threshold"}
_COLUMNS = ("condition", "answer", "low", "high", "source", "charged", "covers")


@dataclass(frozen=True)
class _Wishes:
    """The session that the options ask for; None where they say nothing."""

    budget: Budget | None
    neighbours: Neighbours | None
    config: dict[str, Any]
    warm: Path | None
    seed: int | None

    @property
    def noise(self) -> NoiseSource | None:
        from hedgerow.runs import noise_of

        return noise_of(self.seed)

    @property
    def algorithm(self) -> OnlinePMW:
        from hedgerow.algorithms.online_pmw import OnlinePMW

        return OnlinePMW(**self.config)

    @property
    def earlier(self) -> Release | None:
        return None if self.warm is None else load_release(self.warm)

    def check(self, confidence: float) -> None:
        """Refuse a number that is out of its range, before anything is read or spent."""
        from hedgerow.release import check_confidence

        check_confidence(confidence)
        _ = self.algorithm

    def changed(self, budget: Budget) -> list[str]:
        """The options that contradict the budget of a session."""
        from hedgerow.privacy import ApproxDP

        plain = replace(budget, thresholds=0.0) if isinstance(budget, ApproxDP) else budget  # see with_learnt
        changed = ["budget"] if self.budget not in (None, budget, plain) else []
        return changed + (["--neighbours"] if self.neighbours not in (None, budget.neighbours) else [])

    def check_new(self, domain: Domain) -> None:
        """Refuse what cannot be begun, before a register is charged for it."""
        from hedgerow.algorithms.online_pmw import check_start

        if self.seed is not None:
            raise typer.BadParameter("a register adds up guarantees, and a run with --seed has none")
        if self.budget is not None:
            check_start(self.algorithm, domain, self.budget, self.earlier)


@dataclass(frozen=True)
class _SessionTable(options.TableOptions):
    violations: Annotated[options.Violations | None, option(show_default=options.Violations.REFUSE.value)] = None


@dataclass(frozen=True)
class _SessionBudget(options.BudgetOptions):
    neighbours: Annotated[Relation | None, option(show_default=Relation.ADD_REMOVE.value)] = None


@dataclass(frozen=True)
class _SessionFile(Options, panel="Table"):
    """The session, and the domain that it begins with.

    Attributes:
        session: File of the session, SECRET: the first call makes it, later ones continue it.
    """

    session: Annotated[Path, option(metavar="FILE")]
    domain: Annotated[
        Path | None,
        option(
            metavar="FILE",
            help=f"{options.DOMAIN_FILE} Later calls find it in the session file, as well as the columns.",
        ),
    ] = None
    accept_draft: options.AcceptDraft = False


@dataclass(frozen=True)
class _SessionStart(Options, panel="Algorithm"):
    """How a session begins.

    Attributes:
        mechanism: online-pmw with options, as in online-pmw:variant=4a,alpha=0.1 or online-pmw:step=theorem,
            which take a theorem's numbers. 'hedgerow mechanisms online-pmw' lists them.
        queries_planned: Number of questions that may look at the data; a generous number costs nothing.
        updates: Number of corrections that the budget is divided over. A correction is a noisy answer of the data,
            bought where the session's own guess is too far off, and known to the session from then on.
        threshold: Error that calls for a correction, as a share of the records: a guess that is off by less is given as
            the answer and costs nothing.
        warm: An earlier release of the same table to start from; what it spent is charged to the budget.
        seed: NOT PRIVATE: noise that can be drawn again, for tests.
    """

    mechanism: Annotated[str | None, option(metavar="NAME", show_default="online-pmw")] = None
    queries_planned: Annotated[int | None, option(metavar="K", min=1, show_default="10000")] = None
    updates: Annotated[int | None, option(metavar="C", min=1)] = None
    threshold: Annotated[float | None, option(metavar="SHARE")] = None
    warm: Annotated[Path | None, option(metavar="RELEASE")] = None
    seed: int | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The settings of `OnlinePMW` that are named.

        Raises:
            typer.BadParameter: One is named twice.
            ConfigError: There is no such mechanism or option, or a value is none of its type.
        """
        written = {} if self.mechanism is None else read_options(self.mechanism, session_entry)[1]
        settings = {"queries": self.queries_planned, "updates": self.updates, "threshold": self.threshold}
        given = {name: value for name, value in settings.items() if value is not None}
        for name in given.keys() & written.keys():
            raise typer.BadParameter(f"{_OPTIONS[name]} is given beside {name} in --mechanism; leave one out")
        return written | given


@dataclass(frozen=True)
class _Asked(Options):
    """What is asked, and where the answers go.

    Attributes:
        conditions: Conditions in SQL, on attributes and levels; or SELECT statements.
        queries: A text file with one condition per line.
        confidence: Confidence of each interval.
        output: The answers as .csv.
    """

    conditions: Annotated[list[str] | None, typer.Argument(metavar="[CONDITION]...")] = None
    queries: Annotated[Path | None, option(metavar="FILE")] = None
    confidence: float = 0.95
    output: Annotated[Path | None, option("-o", panel="Output", metavar="FILE")] = None
    force: options.Force = False

    @property
    def texts(self) -> list[str]:
        """The conditions and statements."""
        return [*(self.conditions or ()), *listed_lines("--queries", self.queries)]


def ask(
    *,
    data: DataPlace,
    asked: _Asked,
    kept_in: _SessionFile,
    budgeted: _SessionBudget,
    registering: options.RegisterOptions,
    starting: _SessionStart,
    chosen: _SessionTable,
    shown: Output,
) -> None:
    r"""Answer questions about a private table as they come, over weeks if need be, out of one budget.

    The first call names domain and budget and makes the session file; later calls continue it. The session keeps a
    model of the table, its hypothesis, which answers most questions at no cost; where it is off by more than the
    threshold, a noisy answer of the data is bought, which corrects it. The session file holds a secret, and belongs
    where the table is; never continue from an old copy of it, which would spend the same budget twice.

    Examples:
      hedgerow ask people.csv --domain people.yaml --session people.session \
          --epsilon 1 "sex = 'Female' and age < 30"
      hedgerow ask people.csv --session people.session \
          "age between 30 and 39" "income = '>50K'"
      hedgerow ask people.csv --session people.session --queries questions.txt \
          -o answers.csv
      hedgerow ask people.csv --session people.session \
          "SELECT sex, COUNT(*), AVG(age) FROM people WHERE age < 60 GROUP BY sex"
      hedgerow ask people.csv --domain people.yaml --session people.session \
          --epsilon 1 --register people.register --limit 3 "sex = 'Female'"
      hedgerow ask people.csv --domain people.yaml --session people.session \
          --epsilon 1 --mechanism online-pmw:variant=4a,alpha=0.1 "sex = 'Female'"
    """
    from hedgerow.domain import caveats_in_words

    session = kept_in.session
    named = (*inputs_of(data), kept_in.domain, session, asked.queries, starting.warm, registering.register)
    check_outputs({"--output": asked.output}, inputs=[path for path in named if path is not None], force=asked.force)
    texts = asked.texts
    reading = Reading.of_session(session, kept_in.domain, chosen, accept_draft=kept_in.accept_draft)
    questions = Questions.of(texts, reading.domain)
    questions.check_output(asked.output)
    between = budgeted.between(reading.how.persons, filtered=reading.filtered)
    wishes = _Wishes(
        budget=_budget(budgeted, between, begun=session.exists(), warm=starting.warm),
        neighbours=None if budgeted.neighbours is None else between,
        config=starting.config,
        warm=starting.warm,
        seed=starting.seed,
    )
    wishes.check(asked.confidence)
    table_register = open_register(registering.register, registering.bound(between))
    with _alone(session) as kept:
        if kept.is_new and table_register is not None:
            wishes.check_new(reading.domain)
        due = wishes.budget if kept.is_new else None
        registered = Registered(shown, table_register, due, "session", session.name, reading.domain.names)
        with registered.staying():
            opened = reading.read_data(shown, data, questions.workload, before_rows=registered.charge)
            with shown.busy("opening the session"):
                is_new = _opened(kept, session, wishes, reading, table=opened, charged=registered.notes())
                check_session(table_register, kept.notes, session)
        if is_new:
            shown.tell(f"Of all that this session will ever say, taken together: {kept.budget.statement()}")
        if caveats := caveats_in_words(reading.domain).strip():
            shown.tell(caveats)
        of_conditions = kept.ask_all(questions.conditions, asked.confidence)
        tables = [(text, kept.select(each, asked.confidence)) for text, each in questions.statements.items()]
        answers = list(zip(questions.conditions, of_conditions, strict=True))
        _write(asked.output, answers, tables)
        _tell(shown, session, kept, answers, tables, registered=registered)


def _budget(budgeted: _SessionBudget, neighbours: Neighbours, *, begun: bool, warm: Path | None) -> Budget | None:
    """The budget that the options name; None if a session is continued and they name none."""
    from hedgerow.algorithms.online_pmw import with_learnt

    if begun and replace(budgeted, neighbours=None) == _SessionBudget():
        return None
    earlier = None if warm is None else load_release(warm)
    return with_learnt(budgeted.budget(neighbours), earlier)


def _alone(session: Path) -> SessionFile:
    """The file of a session, to be kept from other calls: both would spend the same budget."""
    from hedgerow.algorithms.online_pmw import SessionFile

    if not session.parent.is_dir():
        raise ConfigError(f"--session: the folder {session.parent} does not exist", remedy="make it")
    return SessionFile(session)


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
    kept.restore(table, noise=wishes.noise)
    begun = kept.config.parameters()
    changed = [_OPTIONS.get(name, name) for name, value in wishes.config.items() if value != begun[name]]
    changed += wishes.changed(kept.budget)
    changed += ["--warm"] if wishes.warm is not None else []
    changed += reading.departs(kept.notes)
    _refuse(path, changed)
    kept.notes.update(reading.notes())
    return False


def _start(
    kept: SessionFile, path: Path, wishes: _Wishes, table: Table | ScannedTable, notes: Mapping[str, Any]
) -> None:
    """A new session, with its file."""
    if wishes.budget is None:  # the file has gone since the options were read
        raise SessionError(f"{path}: there is no such session", remedy="name a budget to start one")
    earlier = wishes.earlier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGuaranteeWarning)  # told at the end, with all else
        kept.start(wishes.algorithm, table, wishes.budget, noise=wishes.noise, warm=earlier, notes=notes)


def _anew(path: Path, opening: Opening, wishes: _Wishes, reading: Reading) -> _Wishes:
    """The session to start after a first call died before it had begun; some of its options may have changed."""
    if opening.warm and wishes.warm is None:
        raise SessionError(
            f"{path}: the first call was interrupted as it started from an earlier release",
            remedy="name it again with --warm",
        )
    _refuse(path, [*wishes.changed(opening.budget), *reading.departs(opening.notes)])
    return replace(wishes, budget=opening.budget, config={**opening.config.parameters(), **wishes.config})


def _refuse(path: Path, changed: Sequence[str]) -> None:
    if changed:
        raise SessionError(
            f"{path}: the session was started with other values of: {', '.join(changed)}",
            remedy="leave these options out to continue it, or name another --session file to start a new "
            "one, with its own budget",
        )


def _write(
    path: Path | None, answers: Sequence[tuple[str, OnlineAnswer]], tables: Sequence[tuple[str, Selected]]
) -> None:
    if path is None:
        return
    if tables:
        write_selected(path, tables[0][1])
        return
    with replacing(path) as beside, beside.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(_COLUMNS)
        for text, answer in answers:
            writer.writerow([text, answer.value, *_ends(answer), answer.source, answer.charged, answer.covers])


def _ends(answer: OnlineAnswer, form: str = "") -> list[str]:
    """The ends of an interval as texts, empty where there is none."""
    return ["" if end is None else format(end, form) for end in (answer.low, answer.high)]


def _tell(
    output: Output,
    path: Path,
    kept: SessionFile,
    answers: Sequence[tuple[str, OnlineAnswer]],
    tables: Sequence[tuple[str, Selected]],
    *,
    registered: Registered,
) -> None:
    from hedgerow.algorithms.shared import says_nothing

    summary = kept.summary()
    if answers:
        headings = ("condition", "answer", "from", "to", "answered by")
        rows = (
            (text or "(all records)", f"{each.value:,.0f}", *_ends(each, ",.0f"), each.source) for text, each in answers
        )
        output.table(headings, rows, right=("answer", "from", "to"))
    for text, table in tables:
        tell_selected(output, text, table)
    alone = [each for _, each in answers if each.source == "hypothesis only"]
    if alone and not summary["closed"]:
        output.warn(f"{len(alone)} of {len(answers)} answers have no interval. The first covers {alone[0].covers}")
    left = "no more answers of the data" if summary["closed"] else f"{summary['updates_left']} of {summary['updates']}"
    output.say(f"updates left  {left}{_because(summary['closed'])}")
    if not summary["closed"]:
        output.say(f"threshold     {summary['threshold']:,.0f} records: answers that are off by less are not corrected")
    if summary["theorem"] and not summary["closed"]:
        output.say(
            f"promise       of the first {kept.config.queries:,} questions no answer is off by more than "
            f"{summary['error_bound']:,.0f} records, except with probability {kept.config.beta:g}"
            f"{says_nothing(summary['error_bound'], summary['total'])}"
        )
    output.say(f"spent         {spent_of(summary['spent'], summary['limit'], summary['unit'])}")
    in_register = registered.tell(13)
    output.say(f"session       {path}   (secret: keep it where the table is)")
    for lost in kept.forfeited:
        output.warn(f"FORFEITED: {at_most(lost.charge)} {lost.unit}, {lost.target}, of a call that did not end")
    options.warn_of_budget(output, kept.budget, summary["total"])
    if not summary["private"]:
        output.warn("NOT PRIVATE: seeded: anyone who knows the seed can subtract the noise")
    result: dict[str, Any] = {"answers": [{"condition": text, **asdict(answer)} for text, answer in answers]}
    if tables:
        result["tables"] = [listed(text, table) for text, table in tables]
    forfeited = [lost.described() for lost in kept.forfeited]
    output.result(
        {"answers": answers, **result, "session": {"file": str(path), **summary}, "forfeited": forfeited, **in_register}
    )


def _because(reason: str) -> str:
    return f" ({reason}); from now on the hypothesis answers alone, without intervals" if reason else ""
