"""Groups of questions: charged, looked at, committed together, and only then answered.

A group takes questions in the order in which they came. Those that are known already, or public, cost nothing. At the
first one that needs a look at the data the most that a look can cost is committed as a *hold*, whether or not its test
will fire: what a crash leaves behind does not depend on the data. A test fires if the hypothesis is off by more than
the threshold. The first one that does ends the group, so that one hold covers it and a crash costs one answer at most.

What a person's share of the budget pays is the same for every correction: the answer, and a part of the sparse vector
that found the need for it. The ledger has the charges as they were made.
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field, replace

from hedgerow.algorithms.online_pmw import (
    OnlineAnswer,
    OnlineGroups,
    OnlineSession,
    finding_about,
    held_with,
    step_since,
)
from hedgerow.errors import HedgerowError, MarginalTooLargeError, NotAllowedError, QuotaError
from hedgerow.queries import Blocks, LinearQuery, Marginal
from hedgerow.service.sessions.repository import SessionRepository
from hedgerow.service.store import GivenAnswer, Grant, to_json

MOST_TOGETHER = 256
"""Most questions of one group."""
MOST_OF_ONE = 32
"""Most questions of one request in a group while others wait."""

MOST_REMEMBERED = 1 << 27
"""Most cells of a data set's remembered groups, and conditions that are not a simple "and": a gigabyte, kept while it
lives."""

Question = LinearQuery | Marginal | Blocks
"""A query in canonical form, or a group of counts that is answered at one look."""

CLOSED = "the data set was closed, by its custodian or with an older store that was accepted"
_USED_UP = "your share of the budget is used up"
_FULL = "this data set already remembers as many groups and conditions with 'or' or 'not' as it can"


@dataclass(eq=False)
class PendingRequest:
    """Questions that a person waits for.

    Attributes:
        questions: Queries over the domain of the data set, in canonical form.
        person: Number of the person who asks.
        number: Number of the request with an idempotency key, or None.
        confidence: Confidence of each interval.
        sizes: Bytes that each question may add to the store at most.
        first: Position of the first question in the request, whose others were answered before.
        statement: The SQL statement that leads to them; empty if they are asked by themselves.
        given: The answers so far, by position; all of them are committed.
        failure: Reason why there will be no more.
        known_at: Time of the last look-up of its earlier answers, in ``SessionRepository.changes``.
        done: Future that the person's thread waits for.
    """

    questions: Sequence[Question]
    person: int
    number: int | None
    confidence: float
    sizes: Sequence[int]
    first: int = 0
    statement: str = ""
    given: dict[int, GivenAnswer] = field(default_factory=dict)
    failure: BaseException | None = None
    known_at: int = 0
    done: Future[list[GivenAnswer]] = field(default_factory=Future)

    @property
    def open(self) -> list[int]:
        """Positions that are to be answered."""
        return [] if self.failure else [at for at in self._positions if at not in self.given]

    @property
    def _positions(self) -> range:
        return range(self.first, self.first + len(self.questions))

    def question(self, at: int) -> Question:
        """The question at a position of the request."""
        return self.questions[at - self.first]

    def size(self, at: int) -> int:
        """The bytes that it may add to the store at most."""
        return self.sizes[at - self.first]

    def leave(self) -> None:
        """Hand over the answers, or the failure."""
        if self.failure is None:
            self.done.set_result(_with_later_totals([self.given[at] for at in self._positions]))
        else:
            self.done.set_exception(self.failure)


def _with_later_totals(answers: Sequence[GivenAnswer]) -> list[GivenAnswer]:
    """Repeated answers of a request state what is spent after the questions before them; they were looked up first."""
    told: list[GivenAnswer] = []
    for answer in answers:
        totals = max(told[-1], answer, key=lambda each: each.spent) if told and answer.source == "cache" else answer
        told.append(replace(answer, spent=totals.spent, updates_left=totals.updates_left))
    return told


def answer_group(repository: SessionRepository, waiting: Sequence[PendingRequest]) -> bool:
    """Answer some of what is waiting, up to the commit. The caller must hold the data set alone.

    Args:
        repository: SessionRepository of the data set.
        waiting: Waiting requests in the order of arrival; they get answers and failures once these are committed.

    Returns:
        Whether the data were looked at.

    Raises:
        HedgerowError: Nothing of the group was committed except, perhaps, the hold. The repository must forget its
            session.
    """
    session = repository.current()
    _look_up(repository, waiting)
    return _Group(repository, session, _lines(waiting)).run()


def _look_up(repository: SessionRepository, waiting: Sequence[PendingRequest]) -> None:
    """Look up earlier answers, given here or by other processes, of requests that were sent more than once."""
    twins: dict[int, dict[int, GivenAnswer]] = {}
    for each in waiting:
        if each.number is None:
            continue
        if each.known_at != repository.changes:
            each.given |= repository.store.answered(each.number)
            each.known_at = repository.changes
        shared = twins.setdefault(each.number, each.given)
        shared |= each.given
        each.given = shared


def _lines(waiting: Sequence[PendingRequest]) -> list[tuple[PendingRequest, int]]:
    """The questions of a group: some of each request, so that a long one does not keep the others waiting."""
    most = MOST_TOGETHER if len(waiting) == 1 else MOST_OF_ONE
    twins: set[int] = set()
    listed: list[tuple[PendingRequest, int]] = []
    for each in waiting:
        if each.number not in twins:  # else it is the same request, sent once more
            listed += [(each, at) for at in each.open[:most]]
        if each.number is not None:
            twins.add(each.number)
    return listed[:MOST_TOGETHER]


@dataclass
class _Group:
    """One group while it is answered."""

    repository: SessionRepository
    session: OnlineSession
    lines: Sequence[tuple[PendingRequest, int]]
    grants: dict[int, Grant] = field(default_factory=dict)
    held: bool = False
    answers: list[tuple[PendingRequest, GivenAnswer]] = field(default_factory=list)
    failures: dict[PendingRequest, HedgerowError] = field(default_factory=dict)

    def run(self) -> bool:
        self._hold()
        for request, at in self.lines:
            if not self._answer(request, at):
                break
        if self.held:
            self.repository.reached("looked")
        if self.held or self.answers:
            kept = self.repository.keep(self.session, [answer for _, answer in self.answers])
            for (request, _), answer in zip(self.answers, kept, strict=True):
                request.given[answer.position] = answer
        for request, failure in self.failures.items():
            request.failure = request.failure or failure
        return self.held

    def _hold(self) -> None:
        """Find the first question that looks at the data, and commit what that can cost."""
        before: Counter[int] = Counter()
        stored: Counter[int] = Counter()
        full: set[PendingRequest] = set()
        for request, at in self.lines:
            person, size = request.person, request.size(at)
            if request in full or not self._has_room(person, stored[person] + size):
                full.add(request)
                continue
            if self._may_ask(person, before[person]) and self._reason_against(request.question(at), person) is None:
                self._take_hold(person)
                return
            before[person] += 1
            stored[person] += size

    def _reason_against(self, question: Question, person: int) -> str | None:
        """Reason why a question is answered without a look at the data: "" if it needs none, None if it may look."""
        if self.repository.is_closed:
            return CLOSED
        if not self.session.looks(question):
            return ""
        held = held_with(question)  # decided by what was asked alone
        if held and self.session.remembered + held > MOST_REMEMBERED:
            return _FULL
        return None if self._pays(person) else _USED_UP

    def _take_hold(self, person: int) -> None:
        session, marked = self.session, self.repository.mark
        opens = session.epoch_charge > 0.0
        if session.prepare():  # if not, nothing is left for a look, for good, and the group commits that
            step = step_since(session, marked) if opens else None
            self.repository.hold(session.rules.answer_charge, person, step)
            self.held = True

    def _answer(self, request: PendingRequest, at: int) -> bool:
        """Answer one question, and tell whether the next one may follow."""
        if request in self.failures:
            return True
        tested = self.session.tested
        try:
            self._check_number(request)
            self._check_room(request.person, request.size(at))
            found = self._asked(request.question(at), request)
        except (NotAllowedError, MarginalTooLargeError) as failure:
            if self.session.tested != tested:
                raise  # in the middle of a test or of a correction
            self.failures[request] = failure
            return True
        if found is None:
            return False
        charged = self.session.price if found.source == "data" else 0.0
        self.answers.append((request, _given(request, at, found, charged)))
        grant = self._grant(request.person)
        asked, spent, stored = grant.asked + 1, grant.spent + charged, grant.stored + request.size(at)
        self.grants[request.person] = replace(grant, asked=asked, spent=spent, stored=stored)
        return found.source != "data"

    def _asked(self, question: Question, request: PendingRequest) -> OnlineAnswer | OnlineGroups | None:
        """The answer; None if it needs a look at the data and nothing is held: the next group begins with it."""
        session, because = self.session, self._reason_against(question, request.person)
        if not (because or self.held or because is not None):
            return None
        if isinstance(question, LinearQuery):
            if because:
                return session.peek(question, request.confidence, because=because)
            return session.ask(question, request.confidence)
        if because:
            return session.peek_groups(question, request.confidence, because=because)
        return session.ask_groups(question, request.confidence)

    # Limits of people

    def _grant(self, person: int) -> Grant:
        if person not in self.grants:
            self.grants[person] = self.repository.store.grant(self.repository.data_set, person)
        return self.grants[person]

    def _pays(self, person: int) -> bool:
        """Whether a person's share of the budget covers one more correction."""
        grant = self._grant(person)
        return grant.budget is None or grant.spent + self.session.price <= grant.budget

    def _may_ask(self, person: int, before: int = 0) -> bool:
        grant = self._grant(person)
        return grant.queries is None or grant.asked + before < grant.queries

    def _check_number(self, request: PendingRequest) -> None:
        if not self._may_ask(request.person):
            before = len(request.given) + sum(each is request for each, _ in self.answers)
            allowed = self._grant(request.person).queries
            told = f"you have asked all {allowed:,} questions that you may ask of this data set"
            if before:
                told += f"; {before:,} of this request came before that, and stand in the list of your answers"
            raise NotAllowedError(
                told,
                remedy="ask its custodian for more; the hypothesis (pictures, synthetic records) stays free",
            )

    def _has_room(self, person: int, size: int) -> bool:
        return size <= self.repository.store.room(self._grant(person))

    def _check_room(self, person: int, size: int) -> None:
        if not self._has_room(person, size):
            grant = self._grant(person)
            raise QuotaError(stored=grant.stored, room=self.repository.store.room(grant), needed=size)


def _given(request: PendingRequest, at: int, found: OnlineAnswer | OnlineGroups, charged: float) -> GivenAnswer:
    told = asdict(found) | {"where": request.question(at).text, "confidence": request.confidence, "charged": charged}
    if isinstance(found, OnlineGroups):
        arrays = {name: told.pop(name + "s" * (name == "value")) for name in ("value", "low", "high")}
        told["groups"] = {name: None if array is None else array.tolist() for name, array in arrays.items()}
        told |= {"value": float(arrays["value"].sum()), "low": None, "high": None}
    told["statement"] = request.statement
    return GivenAnswer(person=request.person, request=request.number, position=at, **told)


_REST = 2048
"""Bytes that hold everything but the condition: numbers and words of the answer, of what was found out about it, and of
three events: an epoch, a noisy answer, and a hold that was lost."""


_OF_A_COUNT = 120
"""Bytes that hold a count of a group three times: with the ends of its interval, and as it was found out."""


def most_bytes(query: Question) -> int:
    """Bytes that a question adds to the store at most: its answer, what was found out about it, and its events.

    Args:
        query: The query in canonical form, or a group of counts.

    Example:
        >>> from hedgerow import Categorical, Domain, parse_predicate
        >>> domain = Domain((Categorical("a", [str(number) for number in range(60_000)]),))
        >>> most_bytes(parse_predicate("a not in ('7', '8')", domain)) < 3_000
        True
    """
    kept = finding_about(query)
    condition = len(to_json(query.text))
    told = 0 if isinstance(query, LinearQuery) else _OF_A_COUNT * query.size
    return 2 * condition + len(to_json(dict(kept.entry))) + len(kept.vector) + told + _REST
