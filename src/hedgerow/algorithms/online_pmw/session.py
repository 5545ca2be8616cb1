"""One session of online private multiplicative weights: questions one by one, for as long as someone asks.

**Privacy.** The private table is reached through the curator alone: a noisy number of records, sparse vectors (charged
when an epoch starts, whatever its length) and noisy answers, each charged before it is drawn. Everything else is a
function of what these returned, and queries may be chosen after looking at all earlier answers.

After the last correction, or when the budget or the number of queries is used up, the hypothesis answers alone,
without intervals, and the private table is never touched again. Where intervals come from is in ``answer.py``.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from hedgerow.algorithms.online_pmw.answer import (
    Asking,
    Basis,
    Interval,
    Known,
    OnlineAnswer,
    OnlineGroups,
    Questions,
    Source,
    held_with,
)
from hedgerow.algorithms.online_pmw.hold import Hold
from hedgerow.algorithms.online_pmw.hypothesis import OnlineHypothesis
from hedgerow.algorithms.online_pmw.rules import Rules
from hedgerow.algorithms.online_pmw.settings import OnlineSettings
from hedgerow.algorithms.online_pmw.state import History, SessionState, explaining, read_session, save_session
from hedgerow.algorithms.shared import make_release
from hedgerow.arrays import Floats
from hedgerow.domain import Domain
from hedgerow.errors import QueryError, QuestionTooLargeError
from hedgerow.models import Hypothesis
from hedgerow.privacy import GRID, Budget, Curator, Event, NoiseSource, Watch
from hedgerow.queries import (
    MOST_GROUPS,
    Blocks,
    Conjunction,
    LinearQuery,
    Marginal,
    Measurable,
    Selection,
    Workload,
    parse_select,
    query_key,
)
from hedgerow.release import Release, Selected, check_confidence, select

WATCH = "watch"
"""Label of the session's epochs in the ledger."""
MOST_LEARNT = 1 << 22
"""Cells of all counts of a group under a condition: each is fitted as a query over all cells that the group is about,
and others wait meanwhile."""
Group = Marginal | Blocks
"""Disjoint counts: a record is in one of them at most."""


class OnlineSession:
    """A running session; made by `OnlinePMW.start`, and by `OnlineSession.restore` from a file.

    Not for several threads at once. It lives in memory: a session that is to outlast its process belongs into a
    `SessionFile`.

    Attributes:
        notes: Public values for the session's keeper, which JSON can hold; they are restored with it.

    Example:
        >>> import hedgerow
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1), hedgerow.IntegerRange("b", 0, 3)))
        >>> people = pa.table({"a": [0, 1, 1, 1] * 5_000, "b": [0, 1, 2, 2] * 5_000})
        >>> table = hedgerow.read_table(people, domain)
        >>> online = hedgerow.OnlinePMW(updates=5, threshold=0.05)
        >>> session = online.start(table, hedgerow.PureDP(1.0), noise=hedgerow.SeededNoise(1))
        >>> [session.ask(text).source for text in ("a = 1", "a = 0", "a = 1", "b in (0, 1, 2, 3)")]
        ['data', 'hypothesis', 'cache', 'public']
        >>> session.updates_left, len(session.release().sample(100))
        (4, 100)
    """

    def __init__(
        self, curator: Curator, basis: Basis, model: Hypothesis, history: History, watch: Watch | None
    ) -> None:
        """Continue from a state.

        Args:
            curator: Stands before the private table.
            basis: Configuration, rules and number of records.
            model: The hypothesis, exactly as it is put together when it is restored.
            history: Counters, findings and noisy answers so far.
            watch: The running epoch, if there is one.
        """
        self._curator = curator
        self._domain = curator.domain
        self._basis = basis
        self._history = history
        self._watch = watch
        self._hypothesis = OnlineHypothesis(model)
        self._questions = Questions(curator.domain, basis.config.bounds)
        self._spent = curator.ledger.spent
        self._remembered = sum(held_with(known.query) for known in history.known.values())
        self.notes: dict[str, Any] = {}

    # What is known of the session

    @property
    def domain(self) -> Domain:
        """The public domain."""
        return self._domain

    @property
    def budget(self) -> Budget:
        """The budget of the session."""
        return self._curator.budget

    @property
    def config(self) -> OnlineSettings:
        """The configuration."""
        return self._basis.config

    @property
    def rules(self) -> Rules:
        """The numbers that it goes by."""
        return self._basis.rules

    @property
    def model(self) -> Hypothesis:
        """A copy of the hypothesis, made again: its last bits do not depend on what it was asked."""
        return self._hypothesis.anew()

    @property
    def spent(self) -> float:
        """Sum of the charges in the ledger."""
        return self._spent

    @property
    def is_open(self) -> bool:
        """Whether a new query would be tested against the data."""
        return not self._end()

    @property
    def updates_left(self) -> int:
        """Number of corrections that are left."""
        rules = self._basis.rules
        running = 0 if self._watch is None else self._watch.fires_left
        return (rules.draws - self._history.epochs) * rules.watch.fires + running

    @property
    def updates_made(self) -> int:
        """Number of corrections that were made: as long as there are no more, the hypothesis is the same."""
        return len(self._history.measurements)

    @property
    def tested(self) -> int:
        """Number of queries that were tested against the data."""
        return self._history.tests

    @property
    def remembered(self) -> int:
        """Cells of all explicit queries and groups that it remembers: they take memory for as long as it lives."""
        return self._remembered

    def summary(self) -> dict[str, Any]:
        """The session as plain values that JSON can hold; all public."""
        rules, ledger = self._basis.rules, self._curator.ledger
        return {
            "variant": rules.variant,
            "theorem": rules.error is not None,
            "error_bound": rules.error,
            "updates": rules.updates,
            "updates_left": self.updates_left,
            "price": self.price,
            "threshold": rules.threshold_at(max(1, self._history.tests)),
            "tested": self._history.tests,
            "queries": rules.queries,
            "answers": dict(self._history.sources),
            "closed": self._end(),
            "total": self._basis.total,
            "spent": ledger.spent,
            "limit": ledger.limit,
            "unit": ledger.unit,
            "private": self._basis.secure and self._curator.secure,
        }

    # Questions

    def ask(self, query: str | LinearQuery, confidence: float = 0.95) -> OnlineAnswer:
        """Answer a query.

        Args:
            query: A condition in SQL (see ``parse_predicate``), or a linear query.
            confidence: Probability that the interval covers the true answer, over the noise of the session.

        Returns:
            The answer, in counts. It is that of the hypothesis alone, without an interval, where the hypothesis would
            outgrow ``largest_tree`` cells if it learnt the answer: ``covers`` says so, and nothing is read or spent.

        Raises:
            QueryError: The text is not understood, or the query's values leave the ``bounds`` of the session; nothing
                was read.
            ConfigError: The confidence is not between 0 and 1.
        """
        check_confidence(confidence)
        return cast("OnlineAnswer", self._ask(*self._questions.read(query), confidence))

    def ask_all(self, queries: Iterable[str | LinearQuery], confidence: float = 0.95) -> list[OnlineAnswer]:
        """Answer many queries in their order; the same answers as one by one, and faster.

        Args:
            queries: Conditions in SQL, or linear queries.
            confidence: Confidence of each interval on its own.

        Raises:
            QueryError: A query is not understood; none was answered.
            ConfigError: See `ask`.
        """
        check_confidence(confidence)
        listed = [self._questions.read(query) for query in queries]
        answers: list[OnlineAnswer] = []
        for _, query in listed:
            if self._history.closed:
                break
            answers.append(self.ask(query, confidence))
        rest = listed[len(answers) :]
        values = self._hypothesis.values([query for _, query in rest]).tolist()
        for (key, query), value in zip(rest, values, strict=True):
            told = self._tell_known(key, query, confidence)
            answers.append(cast("OnlineAnswer", told or self._tell_alone(value)))
        return answers

    def ask_groups(self, group: Group, confidence: float = 0.95) -> OnlineGroups:
        """Answer all counts of a group at one look: it costs what a single question costs.

        The largest error of the hypothesis' counts is tested against the threshold; if that fires, all counts are
        measured together, as one marginal (theory.md section 17).

        Args:
            group: A marginal, or blocks of one: disjoint counts.
            confidence: Confidence of each interval; of all of them at once where the hypothesis answers.

        Returns:
            The counts.

        Raises:
            QueryError: It is no group over the domain, has more than ``MOST_GROUPS`` counts, or the session does not
                learn from groups; nothing was read.
            ConfigError: See `ask`.

        Example:
            >>> import hedgerow
            >>> from hedgerow.queries import Marginal
            >>> import pyarrow as pa
            >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1), hedgerow.IntegerRange("b", 0, 3)))
            >>> people = pa.table({"a": [0, 1, 1, 1] * 5_000, "b": [0, 1, 2, 2] * 5_000})
            >>> table = hedgerow.read_table(people, domain)
            >>> online = hedgerow.OnlinePMW(updates=5, threshold=0.05)
            >>> session = online.start(table, hedgerow.PureDP(1.0), noise=hedgerow.SeededNoise(1))
            >>> found = session.ask_groups(Marginal(domain, ("a", "b")))
            >>> found.source, session.ask_groups(Marginal(domain, ("b", "a"))).source, session.updates_left
            ('data', 'cache', 4)
        """
        check_confidence(confidence)
        return cast("OnlineGroups", self._ask(self.check_group(group), group, confidence))

    def _ask(self, key: Hashable, query: Measurable, confidence: float) -> OnlineAnswer | OnlineGroups:
        """Answer a query or all counts of a group: from what is known, by a test, or by a look at the data."""
        told = self._tell_known(key, query, confidence)
        if told is not None:
            return told
        self._history.closed = self._end()
        if self._history.closed:
            return self._tell_alone(self._hypothesis.value(query))
        if reason := self._too_large(query):
            return self._tell_alone(self._hypothesis.value(query), reason)
        before = self._spent
        known = self._history.known[key] = self._test(query, _on_grid(self._hypothesis.value(query)))
        self._remembered += held_with(known.query)
        origin: Source = "hypothesis" if known.threshold is not None else "data"
        return self._tell(self._basis.answer(known, confidence), origin, self._spent - before)

    def select(self, statement: str | Selection, confidence: float = 0.95) -> Selected:
        """Answer a statement: counts by groups, sums, means and quantiles, from as few questions as it needs.

        All counts of the groups are one question; a sum or a mean is one more for each group, a quantile a search of
        some. Those that a session knows already, or answers from its hypothesis, cost nothing.

        Args:
            statement: ``SELECT ... FROM table ...`` (see ``parse_select``), about a table of any
                name; or what was read from one.
            confidence: Confidence of each interval on its own.

        Raises:
            QueryError: The statement is not supported (the error names what is), or leads to too many questions.
            ConfigError: See `ask`.

        Example:
            >>> import hedgerow
            >>> import pyarrow as pa
            >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1), hedgerow.IntegerRange("b", 0, 3)))
            >>> people = pa.table({"a": [0, 1, 1, 1] * 5_000, "b": [0, 1, 2, 2] * 5_000})
            >>> table = hedgerow.read_table(people, domain)
            >>> online = hedgerow.OnlinePMW(updates=5, threshold=0.02)
            >>> session = online.start(table, hedgerow.PureDP(2.0), noise=hedgerow.SeededNoise(1))
            >>> found = session.select("SELECT a, COUNT(*), AVG(b) FROM people GROUP BY a")
            >>> [(row["a"], round(row["AVG(b)"], 1)) for row in found.to_dicts()]
            [('0', 0.0), ('1', 1.7)]
        """
        check_confidence(confidence)
        before = self._spent
        selected = select(
            self.read(statement), Asking(self.ask, self.ask_groups, self.guess), confidence, self.budget.neighbours
        )
        return replace(selected, charged=self._spent - before)

    def read(self, statement: str | Selection) -> Selection:
        """Read a statement, and refuse it before anything is asked if one of its questions would be.

        Raises:
            QueryError: See `select`.
        """
        read = parse_select(statement, self._domain) if isinstance(statement, str) else statement
        if read.groups.names:
            self.check_group(read.groups.target)
        return read

    def peek(self, query: str | LinearQuery, confidence: float = 0.95, *, because: str = "") -> OnlineAnswer:
        """Answer a query from what is known already: no look at the data, and never a charge.

        Args:
            query: A condition in SQL, or a linear query.
            confidence: Confidence of the interval, if there is one: where the query was asked before, or is public.
            because: Reason why the data are not looked at, for ``covers``.

        Returns:
            The answer, in counts; that of the hypothesis alone, without an interval, if the query is new.

        Raises:
            QueryError: See `ask`.
            ConfigError: See `ask`.
        """
        check_confidence(confidence)
        return cast("OnlineAnswer", self._peek(*self._questions.read(query), confidence, because))

    def guess(self, query: LinearQuery) -> float:
        """The hypothesis' own answer, in counts, whatever else is known: it costs nothing, and agrees with all others.

        Raises:
            QueryError: It is no linear query over the domain.
        """
        return float(_on_grid(self._hypothesis.value(self._questions.read(query)[1])))

    def peek_groups(self, group: Group, confidence: float = 0.95, *, because: str = "") -> OnlineGroups:
        """Answer the counts of a group from what is known already; see `peek`.

        Raises:
            QueryError: See `ask_groups`.
            ConfigError: See `ask`.
        """
        check_confidence(confidence)
        return cast("OnlineGroups", self._peek(self.check_group(group), group, confidence, because))

    def _peek(self, key: Hashable, query: Measurable, confidence: float, because: str) -> OnlineAnswer | OnlineGroups:
        told = self._tell_known(key, query, confidence)
        return told or self._tell_alone(self._hypothesis.value(query), because)

    # Looking at the data

    def looks(self, query: str | LinearQuery | Group) -> bool:
        """Whether `ask` or `ask_groups` would test it against the data, as far as budget is left.

        Args:
            query: A condition in SQL, a linear query, or a group of counts.

        Raises:
            QueryError: See `ask`.
        """
        if isinstance(query, Marginal | Blocks):
            return self._looks(self.check_group(query), query)
        return self._looks(*self._questions.read(query))

    def _looks(self, key: Hashable, query: Measurable) -> bool:
        if self._history.closed or key in self._history.known or _is_public(query):
            return False
        return not self._too_large(query)

    def _too_large(self, query: Measurable) -> str:
        """Why the hypothesis cannot learn the answer to a query, in public numbers; empty if it can."""
        try:
            self._hypothesis.check_room(query, self._history.measurements, self.config.largest_tree)
        except QuestionTooLargeError as error:
            return error.message
        return ""

    @property
    def price(self) -> float:
        """Price of a correction: its answer, and its part of the sparse vector that found the need for it."""
        return self._basis.rules.price(self.budget.regime)

    @property
    def epoch_charge(self) -> float:
        """The charge that `prepare` would make now."""
        return 0.0 if self._is_watching else self._basis.rules.watch.charge(self.budget.regime)

    def prepare(self) -> bool:
        """Prepare for one more look at the data: start the next epoch, which is charged, if none is running.

        Until the next correction a question then costs at most ``rules.answer_charge``. `ask` does the same by itself;
        a keeper who must write down what may be spent before the data are looked at calls it first.

        Returns:
            Whether a question may be tested; if not, the session is closed for good, and nothing was charged.
        """
        self._history.closed = self._end()
        if self._history.closed:
            return False
        if not self._is_watching:
            self._open_epoch()
        return True

    @property
    def _is_watching(self) -> bool:
        return self._watch is not None and self._watch.fires_left > 0

    def _open_epoch(self) -> Watch:
        self._watch = None
        self._history.epochs += 1
        self._watch = watch = self._curator.watch(self._basis.rules.watch, label=WATCH)
        self._spent = self._curator.ledger.spent
        return watch

    def _end(self) -> str:
        """Reason why the session is closed, or why the next new query would close it; empty if neither."""
        history, rules, ledger = self._history, self._basis.rules, self._curator.ledger
        needed = [rules.answer_charge] + ([] if self._is_watching else [self.epoch_charge])
        if history.closed:
            return history.closed
        if rules.queries is not None and history.tests >= rules.queries:
            return "the planned number of queries was asked"
        if self.updates_left < 1:
            return "the corrections are used up"
        return "" if ledger.covers(*needed) else "the budget is spent"

    def check_group(self, group: Group) -> Hashable:
        """Refuse what `ask_groups` refuses, and give the key of the others.

        Raises:
            QueryError: See `ask_groups`.
        """
        if not isinstance(group, Marginal | Blocks) or group.domain != self._domain:
            named = group.text if isinstance(group, Measurable) else f"a {type(group).__name__}"
            raise QueryError(
                f"{named} is not a group of counts over the domain of the session",
                remedy="give a Marginal or Blocks over it",
            )
        if group.size > MOST_GROUPS:
            raise QueryError(
                f"{group.text} has {group.size:,} counts, and at most {MOST_GROUPS:,} are answered together",
                remedy="name fewer columns, or coarser levels of them",
            )
        if isinstance(group, Blocks) and group.held * group.size > MOST_LEARNT:
            raise QueryError(
                f"{group.size:,} counts over {group.held:,} cells of {', '.join(group.scope)} take too long to learn",
                remedy="name fewer columns, coarser levels of them, or leave the condition out",
            )
        if self.rules.step != "refit" or not self._questions.allow(group):
            raise QueryError(
                "this session learns from one query at a time, by the steps of a theorem, or from queries with other "
                "bounds; groups need a refit and counts",
                remedy="start the session with step='refit' and bounds that include (0, 1)",
            )
        return query_key(group)

    def _test(self, query: Measurable, value: float | Floats) -> Known:
        """One query or group against the data: a test, and if it fires an answer and a correction."""
        history, rules = self._history, self._basis.rules
        watch = self._watch if self._watch is not None and self._is_watching else self._open_epoch()
        history.tests += 1
        threshold = rules.threshold_at(history.tests)
        if not _fires(watch, query, value, threshold, two_sided=rules.variant == "4a"):
            return Known(query, _plain(value), threshold)
        measured = self._curator.measure(query, rules.answer_charge, kind=rules.answer_kind, label="answer")
        self._spent = self._curator.ledger.spent
        history.measurements.append(measured)
        self._hypothesis.correct(history.measurements, np.atleast_1d(value), self._basis)
        return Known(query, _plain(measured.values if isinstance(value, np.ndarray) else measured.values[0]), None)

    # Answers

    def _tell_known(self, key: Hashable, query: Measurable, confidence: float) -> OnlineAnswer | OnlineGroups | None:
        """Answer what was asked before, or is public; None for anything else."""
        known = self._history.known.get(key)
        if known is not None:
            return self._tell(self._basis.answer(known, confidence), "cache")
        if isinstance(query, LinearQuery) and _is_public(query):
            return self._tell(self._basis.public_answer(query, confidence), "public")
        return None

    def _tell_alone(self, value: float | Floats, because: str = "") -> OnlineAnswer | OnlineGroups:
        covers = f"nothing: {self._history.closed or because or 'the data were not looked at'}"
        return self._tell((_on_grid(value), None, None, covers), "hypothesis only")

    def _tell(self, answer: Interval, origin: Source, charged: float = 0.0) -> OnlineAnswer | OnlineGroups:
        self._history.sources[origin] = self._history.sources.get(origin, 0) + 1
        kind: Any = OnlineGroups if isinstance(answer[0], np.ndarray) else OnlineAnswer
        told: OnlineAnswer | OnlineGroups = kind(*answer, origin, charged, self._spent, self.updates_left)
        return told

    # What is left of a session

    def release(self) -> Release:
        """The hypothesis as it is now, as a release: synthetic records, answers and reports cost nothing more.

        Its workload are the conditions that were corrected; where there were none, the marginals of single attributes.
        """
        asked = [m.target for m in self._history.measurements if isinstance(m.target, Conjunction)]
        workload = Workload.conjunctions(self.domain, asked) if asked else Workload.marginals(self.domain, 1)
        return make_release(
            self._curator,
            workload,
            self.model,
            name="OnlinePMW",
            parameters={**self._basis.config.parameters(), "rules": self._basis.rules.to_dict()},
            measurements=self._history.measurements,
            secure=self._basis.secure,
        )

    def save(self, path: str | os.PathLike[str], *, secret: bool = True, hold: Hold | None = None) -> None:
        """Write the session to a file that only its owner may read, to continue with it later.

        The file holds the *secret* noise of the running epoch's threshold. Anyone who learns it and the answers
        learns more about the data than the ledger says: keep the file where the data are.

        **The order.** A session that is saved after it was asked says nothing of a question that its process did not
        survive: a process that continues from the file can ask again, with the same threshold noise, unpaid for.
        `SessionFile` writes the file in the order that outlasts that; use it for private data.

        **Forks.** The file remembers what was spent, but not that it was restored. Going on twice from one file spends
        the same budget twice; keep one file per session.

        Args:
            path: Target; its folder must exist.
            secret: Whether the secret noise is written. Without it restoring must start a new epoch, which is charged
                (and with one threshold draw for all corrections, variant 4c, means that the data are not looked at
                again unless budget is left).
            hold: The most that the next look at the data can cost: anyone who restores the file forfeits it.

        Raises:
            SessionError: The file cannot be written.
        """
        state = self.state(settled=True)
        state = state if secret else replace(state, watch=None)
        save_session(path, state, noise=self._curator.noise_source, notes=self.notes, hold=hold)

    def state(self, *, settled: bool = False) -> SessionState:
        """Everything that is needed to go on later. SECRET: it holds the noise of the running threshold.

        Args:
            settled: Whether the session takes the very bits that one has which is restored from the state.
        """
        if settled:
            self._hypothesis.settle()
        curator, watch = self._curator, None if self._watch is None else self._watch.state()
        basis = replace(self._basis, secure=self._basis.secure and curator.secure)
        return SessionState(basis, self._hypothesis.model, self._history, curator.ledger.events, watch)

    @classmethod
    def restore(cls, path: str | os.PathLike[str], source: Any, *, noise: NoiseSource | None = None) -> OnlineSession:
        """Continue with a saved session about the *same* private table.

        If its process died after it had held something, that is forfeited: the ledger has an event ``lost`` more.
        `SessionFile.restore` does the same, keeps other processes away, and writes what comes in the order that
        outlasts a death.

        Args:
            path: The file that `save` wrote.
            source: The private table, as ``read_table`` gives it.
            noise: Source of noise; the secure one unless given.

        Raises:
            SessionError: There is no such file, its session had not begun when its process died, or the table has
                another domain.
            DamagedSessionError: It is not a session, is truncated, or was changed.
        """
        return restore_session(path, source, noise)[0]

    def __repr__(self) -> str:
        """Public facts only."""
        return (
            f"<OnlineSession, variant {self.rules.variant}, {self.updates_left} of {self.rules.updates} updates left>"
        )


def resume_session(state: SessionState, source: Any, noise: NoiseSource | None) -> OnlineSession:
    """Continue from a state, about the same private table.

    Args:
        state: The state.
        source: The private table, as ``read_table`` gives it.
        noise: Source of noise; the secure one unless given.

    Raises:
        BudgetError: The events do not fit the budget.
    """
    curator = Curator(source, state.basis.budget, noise=noise, events=state.events)
    watch = None if state.watch is None else curator.resume_watch(state.watch, label=WATCH)
    return OnlineSession(curator, state.basis, state.model, state.history, watch)


def restore_session(
    path: str | os.PathLike[str], source: Any, noise: NoiseSource | None
) -> tuple[OnlineSession, Event | None]:
    """Continue with the session in a file, as `OnlineSession.restore` does; and name what became of its hold.

    Returns:
        The session; and the event that the hold of a process that died at a question became, if there was one.
    """
    state, notes, lost = read_session(path, source.domain)
    with explaining(path):
        session = resume_session(state, source, noise)
    session.notes.update(notes)
    return session, lost


def _fires(watch: Watch, query: Measurable, value: float | Floats, threshold: float, *, two_sided: bool) -> bool:
    """Whether the hypothesis' answer seems to be off by the threshold; the second side only if the first did not."""
    if not two_sided:
        return watch.test(query, value, threshold)
    return watch.test(query, value, threshold, "above") or watch.test(query, value, threshold, "below")


def _on_grid(value: float | Floats) -> float | Floats:
    """Without the last bits, which depend on what was asked before, and on whether the session was restored."""
    return round(value / GRID) * GRID if isinstance(value, float) else np.rint(value / GRID) * GRID


def _plain(value: float | Floats) -> float | tuple[float, ...]:
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else float(value)


def _is_public(query: Measurable) -> bool:
    """Whether a query in canonical form is the same for all records."""
    return not query.scope or (isinstance(query, Conjunction) and not all(query.codes))
