"""The data sets that this process answers for.

A statement leads to questions, each of them one of the person's questions.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from hedgerow.algorithms.online_pmw import OnlineSession
from hedgerow.arrays import Floats
from hedgerow.domain import Domain
from hedgerow.errors import (
    ConfigError,
    ConflictError,
    DataError,
    HedgerowError,
    QueryError,
    ServiceError,
    TableError,
)
from hedgerow.privacy import NoiseSource, Register
from hedgerow.queries import Groups, LinearQuery, Neighbours, Selection, query_scope
from hedgerow.release import (
    Estimate,
    Records,
    Release,
    Selected,
    check_confidence,
    check_selection,
    each_of,
    estimates,
    select,
)
from hedgerow.service.sessions.group import Question
from hedgerow.service.sessions.registering import charging, check_registration, keeping_learnt, within_filter
from hedgerow.service.sessions.repository import SessionRepository
from hedgerow.service.sessions.series import check_partition, unit_of, unit_of_series
from hedgerow.service.sessions.tables import PrivateTable, domain_of, earlier_release, read_private
from hedgerow.service.sessions.worker import SessionWorker
from hedgerow.service.store import DataSet, GivenAnswer, Person, Reached, Registration, Store, nowhere


@dataclass
class StatementAnswers:
    """A person's way to a worker, as one who answers counting questions.

    The questions follow from the statement and from earlier answers alone, so that a request that is sent again asks
    the same ones, in the same order, and gets the answers that it was given.

    Attributes:
        worker: The worker.
        statement: The statement.
        person: Number of the person.
        request: Number of the request with an idempotency key, or None.
        asked: Number of questions so far.
        charged: Cost to the person's share of the budget so far.
    """

    worker: SessionWorker
    statement: str
    _: KW_ONLY
    person: int
    request: int | None
    asked: int = field(default=0, init=False)
    charged: float = field(default=0.0, init=False)

    def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
        """The answer of one query, and its source."""
        found = self._answer(query, confidence)
        return Estimate(found.value, found.low, found.high), found.source

    def guess(self, query: LinearQuery) -> float:
        """The hypothesis' own answer."""
        return self.worker.look_at(lambda session: session.guess(query))

    def counts(self, groups: Groups, confidence: float) -> tuple[list[Estimate], str]:
        """The counts of all groups, and their source."""
        found = self._answer(groups.target, confidence)
        told = found.groups or {}
        value, low, high = (None if told[name] is None else np.array(told[name]) for name in ("value", "low", "high"))
        return estimates(np.zeros(0) if value is None else value, low, high)[: groups.size], found.source

    def _answer(self, question: Question, confidence: float) -> GivenAnswer:
        (found,) = self.worker.ask(
            [question],
            person=self.person,
            request=self.request,
            confidence=confidence,
            first=self.asked,
            statement=self.statement,
        )
        self.asked += 1
        self.charged += found.charged
        return found


@dataclass
class KnownAnswers(StatementAnswers):
    """What is known already, as one who answers counting questions: no look at the data, no charge, nothing is kept."""

    def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
        """The answer of one query, and its source."""
        found = self.worker.look_at(lambda session: session.peek(query, confidence, because=_FREE))
        return Estimate(found.value, found.low, found.high), found.source

    def counts(self, groups: Groups, confidence: float) -> tuple[list[Estimate], str]:
        """The counts of all groups, and their source."""
        found = self.worker.look_at(lambda session: session.peek_groups(groups.target, confidence, because=_FREE))
        return estimates(found.values, found.low, found.high)[: groups.size], found.source


_FREE = "nothing was to be looked at"
MOST_CELLS = 100_000
"""Most cells of a table of the hypothesis that is handed out."""
MOST_OF_A_STATEMENT = 500
"""Most questions that one statement leads to."""
MOST_CONFIDENCE = 0.999999999
"""Highest confidence of intervals: the rest is divided over up to a million epochs, and must not vanish in rounding."""
MOST_CONFIDENCE_OF_A_STATEMENT = 0.999999
"""The same of one number of a statement, whose rest is divided over the questions that it needs."""


@dataclass
class _Open:
    """An open data set, and the release of its hypothesis when it was last asked for."""

    worker: SessionWorker
    domain: Domain
    unit: str
    release: Release | None = None
    updates: int = -1
    drawing: threading.Lock = field(default_factory=threading.Lock)


class SessionWorkers:
    r"""The data sets of a store, each with a worker of its own, which starts when it is first needed.

    Args:
        store: The store.
        folder: The only folder that tables are read from.
        noise: Gives the source of noise of a data set; the secure one by default. Seeded noise is not private.
        register: Register that is charged the whole budget of every data set; None if none is kept.
        sources: Addresses of tables that are counted where they are, by name; see `read_private`.
        tick: See `SessionWorker`.
        wait: Seconds to wait for other processes.
        reached: Called at named steps; for harnesses that kill the process there.

    Example:
        >>> import tempfile
        >>> from hedgerow import OnlinePMW, PureDP, parse_predicate
        >>> from hedgerow.service.store.store import Store
        >>> from hedgerow.service.sessions.summaries import summary_of
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = Path(folder.name, "people.csv")
        >>> _ = file.write_text("a\n" + "0\n" * 1_000 + "1\n" * 4_000)
        >>> described = {"domain": {"a": {"min": 0, "max": 1}}, "budget": PureDP(1.0).to_dict()}
        >>> new = Registration("people", "", {"place": file.name}, **described, config=OnlinePMW().parameters())
        >>> store = Store.open(Path(folder.name, "store.db"))
        >>> workers, ada = SessionWorkers(store, Path(folder.name)), store.add_person("ada", "custodian", by=None)
        >>> people = workers.register(new, by=ada)
        >>> (answer,) = workers.ask(people, [parse_predicate("a = 1", workers.domain(people))], person=ada)
        >>> answer.where, answer.low <= answer.value <= answer.high
        ('a = 1', True)
        >>> summary_of(store, people, ada)["spent"] <= 1.0
        True
        >>> workers.close(), store.close(), folder.cleanup()
        (None, None, None)
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        noise: Callable[[str], NoiseSource | None] = lambda _: None,
        register: Register | None = None,
        sources: Mapping[str, str] = MappingProxyType({}),
        tick: float = 0.01,
        wait: float = 5.0,
        reached: Reached = nowhere,
    ) -> None:
        """Open nothing yet."""
        self._store = store
        self.folder = folder
        self._reading = partial(read_private, folder=folder, sources=sources)
        self._noise = noise
        self._register = register
        self._tick = tick
        self._wait = wait
        self._reached = reached
        self._open: dict[int, _Open] = {}
        self._units: dict[str, str] = {}
        self._lock = threading.Lock()

    def register(self, new: Registration, *, by: Person) -> DataSet:
        """Register a data set: its table is read and checked before anything is kept, and its session begins.

        If there is a register, it is charged before any row of the table is read.

        Args:
            new: Description by its custodian.
            by: The custodian.

        Raises:
            DomainError, BudgetError, ConfigError: The description does not fit together.
            DataError: The table cannot be read, or does not fit the domain; nothing was kept.
            ReleaseError: The release to start from cannot be read; nothing was kept.
            ModelTooLargeError: The hypothesis would not fit into memory; nothing was kept.
            ElsewhereError: Another server works for its series, and is to register it; nothing was kept.
            ConflictError: The name is taken, or its series has partitions that are unlike this one.
            RegisterExceededError: The register does not cover the budget; nothing was kept.
            RegisterError: The register cannot be read or written; nothing was kept.
            StoreError: It could not be kept, or its opening could not: see `retry`.
        """
        new = keeping_learnt(within_filter(new), self.folder)
        self._claim(unit_of(new))
        domain, budget = check_registration(new, self.folder)
        if new.name in self._store.points():  # those that were deleted among them
            raise ConflictError(f"there is a data set named {new.name!r} already", remedy="take another name")
        fits = partial(check_partition, new)
        fits(self._store.data_sets())
        with charging(self._register, new.name, domain, budget) as charge:
            read = [self._reading(new.source, domain, before_rows=charge)]
            made = self._store.register(new, by=by.id, fits=fits)
            try:
                self._worker(made, read).worker.look_at(lambda _: None)
            except (ServiceError, DataError):  # what it cost is kept, or nothing: the first question goes on
                raise
            except HedgerowError:  # it would fail again
                if not self._store.events(made.id, limit=1):
                    self.discard(made, by=by)
                raise
        return self._store.data_set(new.name)

    def retry(self, data_set: DataSet, *, by: Person) -> DataSet:
        """Try an opening once more: one that failed at the price of a new one, one that waits for room for nothing.

        Raises:
            ConflictError: The data set is open, or closed.
            DataError, TableError: The private table cannot be read.
            StoreError: The store cannot be read or written.
        """
        worker = self._worker(data_set).worker
        worker.manage(lambda repository: repository.retry(by.id))
        worker.look_at(lambda _: None)
        return self._store.data_set(data_set.name)

    def discard(self, data_set: DataSet, *, by: Person) -> None:
        """Discard a data set that is not open; its ledger stays in the store. See `Store.discard`.

        Raises:
            ConflictError: It is open.
            StoreError: The store cannot be read or written.
        """
        self._worker(data_set).worker.manage(lambda repository: repository.discard(by.id))
        with self._lock:
            opened = self._open.pop(data_set.id)
        opened.worker.close()

    def divide(self, address: str) -> None:
        """Divide the data sets with the other servers of the store, if it can have several.

        Args:
            address: Address at which these reach this one.

        Raises:
            StoreError: The store fails.
        """
        if self._store.leases is not None:
            self._store.leases.divide(address, self._left)

    def check_here(self, name: str, is_series: bool) -> None:
        """Check that no other server works for a data set, or a series, as was known a moment ago.

        Raises:
            ElsewhereError: Another one does.
        """
        leases = self._store.leases
        if leases is not None and (away := leases.elsewhere(self._unit(name, is_series))) is not None:
            raise away

    def claim(self, name: str, is_series: bool) -> None:
        """Work for a data set, or a series, from now on, unless another server does; nothing where there is none.

        Raises:
            ElsewhereError, StoreBusyError: Another one does.
        """
        units = {unit_of(each.registration) for each in self._store.data_sets()}
        if (unit := self._unit(name, is_series)) in units:
            self._claim(unit)

    def warm(self) -> None:
        """Read the tables of all open data sets ahead of the first question, in the background."""
        for each in self._store.data_sets():
            opened = self._worker(each).worker
            threading.Thread(target=_try, args=(opened,), daemon=True).start()

    def ask(
        self,
        data_set: DataSet,
        questions: Sequence[LinearQuery],
        *,
        person: Person,
        request: int | None = None,
        confidence: float = 0.95,
    ) -> list[GivenAnswer]:
        """Answer questions in their order; see `SessionWorker.ask`.

        Raises:
            ConfigError: The confidence is not between 0 and 1, or closer to 1 than `MOST_CONFIDENCE`.
            TableError: The private table cannot be read now; analysts learn no more than that.
        """
        check_confidence(confidence)
        if confidence > MOST_CONFIDENCE:  # to be refused before anything is held: a hold whose answer fails is lost
            raise ConfigError(f"a confidence of at most {MOST_CONFIDENCE:.9f} is supported", remedy="for example 0.99")
        opened = self._worker(data_set)
        try:
            return opened.worker.ask(questions, person=person.id, request=request, confidence=confidence)
        except DataError as error:
            raise self._told(error, person) from None

    def questions_of(self, data_set: DataSet, selection: Selection, *, person: Person) -> int:
        """The most questions that a statement leads to; none is asked.

        Raises:
            QueryError: They are more than `MOST_OF_A_STATEMENT`, or the session answers no such statement.
            TableError: See `ask`.
        """
        number = check_selection(selection, MOST_OF_A_STATEMENT, of_data=True)
        worker = self._worker(data_set).worker
        try:
            if selection.groups.names:
                worker.look_at(lambda session: session.check_group(selection.groups.target))
        except DataError as error:
            raise self._told(error, person) from None
        return number

    def select(
        self,
        data_set: DataSet,
        selection: Selection,
        *,
        person: Person,
        request: int | None = None,
        confidence: float,
        free: bool = False,
    ) -> Selected:
        """Answer a statement: counts by groups, sums, means and quantiles; see `OnlineSession.select`.

        All counts of the groups are one of the person's questions; every other question that it leads to is one too.
        With ``free`` it is answered from what is known: by answers that were given, with their intervals, else by the
        hypothesis alone. Then nothing counts as a question.

        Raises:
            QueryError: It leads to more than `MOST_OF_A_STATEMENT` questions, or the session answers no groups; nothing
                was asked.
            ConfigError: Rows are chosen by their answers, and too high a confidence is asked for all of them together.
            NotAllowedError, QuotaError: See `SessionWorker.ask`; what was answered before stays.
            TableError: See `ask`.
        """
        self.questions_of(data_set, selection, person=person)
        number = selection.groups.size * len(selection.columns)
        if selection.is_chosen and each_of(confidence, number) > MOST_CONFIDENCE_OF_A_STATEMENT:
            raise ConfigError(
                f"rows are chosen by their answers, so all {number:,} intervals are to hold together, and that at a "
                "confidence which is too high",
                remedy="leave LIMIT out, or take a lower confidence",
            )
        worker = self._worker(data_set).worker
        try:
            kind = KnownAnswers if free else StatementAnswers
            answers = kind(worker, selection.text, person=person.id, request=request)
            neighbours = Neighbours.of(data_set.registration.budget["neighbours"])
            return replace(select(selection, answers, confidence, neighbours), charged=answers.charged)
        except DataError as error:
            raise self._told(error, person) from None

    def domain(self, data_set: DataSet) -> Domain:
        """The attributes of a data set."""
        return self._worker(data_set).domain

    def marginal(self, data_set: DataSet, attributes: Sequence[str], *, person: Person) -> Floats:
        """A table of the hypothesis, in counts, shape ``domain.shape_of(attributes)``; free.

        Raises:
            QueryError: An attribute is unknown, repeated or a level of another, or the table has too many cells.
            TableError, StoreError: As `ask`.
        """
        domain = self.domain(data_set)
        clique = query_scope(domain, attributes) if set(attributes) <= set(domain.all_names) else ()
        if len(clique) != len(attributes):
            raise QueryError(
                f"a table of {', '.join(map(repr, attributes))} does not exist",
                remedy=f"name one to three of {', '.join(domain.all_names)}, each once, and no level of another",
            )
        cells = math.prod(domain.shape_of(clique))
        if cells > MOST_CELLS:
            raise QueryError(
                f"the table of {' * '.join(attributes)} has {cells:,} cells",
                remedy=f"ask for at most {MOST_CELLS:,}: fewer attributes, or ones with fewer values",
            )
        opened, release = self._release(data_set, person)
        with opened.drawing:
            (counts,) = release.model.marginals([clique])
        return counts.transpose([clique.index(name) for name in attributes])

    def records(self, data_set: DataSet, n: int | None, *, person: Person) -> Records:
        """Synthetic records of the hypothesis; free.

        Args:
            data_set: The data set.
            n: Number of records; by default the (noisy) number of records of the data set.
            person: The person who asks.

        Raises:
            TableError, StoreError: As `ask`.
        """
        opened, release = self._release(data_set, person)
        with opened.drawing:
            return release.sample(n)

    def waiting(self) -> dict[int, int]:
        """Requests that wait in this process, by the number of each data set that it works for."""
        with self._lock:
            return {number: each.worker.waiting for number, each in self._open.items()}

    def close(self) -> None:
        """Finish what has begun, and end all workers."""
        with self._lock:
            opened = list(self._open.values())
        for each in opened:
            each.worker.close()

    # Internals

    def _unit(self, name: str, is_series: bool) -> str:
        return unit_of_series(name) if is_series else self._units.get(name, name)

    def _claim(self, unit: str) -> None:
        if self._store.leases is not None:
            self._store.leases.claim(unit)

    def _left(self, unit: str) -> None:
        """Another server may work for these data sets now."""
        with self._lock:
            opened = [each for each in self._open.values() if each.unit == unit]
        for each in opened:
            each.worker.leave()

    def _worker(self, data_set: DataSet, at_hand: Sequence[PrivateTable] = ()) -> _Open:
        with self._lock:
            if data_set.id not in self._open:
                self._open[data_set.id] = self._opened(data_set, iter(at_hand))
            return self._open[data_set.id]

    def _opened(self, data_set: DataSet, at_hand: Iterator[PrivateTable]) -> _Open:
        described = data_set.registration.source
        domain = domain_of(data_set.registration.domain, described)

        def read() -> PrivateTable:
            found = next(at_hand, None)
            return self._reading(described, domain) if found is None else found

        repository = SessionRepository(
            data_set,
            domain,
            self._store,
            read,
            warm=lambda: earlier_release(described, self.folder),
            first=described.get("first_release", 0.0),
            noise=self._noise(data_set.name),
            wait=self._wait,
            reached=self._reached,
        )
        unit = self._units[data_set.name] = unit_of(data_set.registration)
        return _Open(SessionWorker(repository, tick=self._tick), domain, unit)

    def _release(self, data_set: DataSet, person: Person) -> tuple[_Open, Release]:
        """The hypothesis as it is now; rebuilt only if it was corrected meanwhile."""
        opened = self._worker(data_set)

        def renewed(session: OnlineSession) -> Release:
            if opened.release is None or opened.updates != session.updates_made:
                opened.release, opened.updates = session.release(), session.updates_made
            return opened.release

        try:
            return opened, opened.worker.look_at(renewed)
        except DataError as error:
            raise self._told(error, person) from None

    def _told(self, error: DataError, person: Person) -> HedgerowError:
        """The error for a table that cannot be read; only the custodian sees why."""
        if person.role == "custodian":
            return error
        return TableError("the private table of this data set cannot be read now", remedy="tell its custodian")


def _try(worker: SessionWorker) -> None:
    """Start a session ahead of the first question, whose asker learns of any failure."""
    with suppress(Exception):  # a thread that ends by one would print what it says
        worker.look_at(lambda _: None)
