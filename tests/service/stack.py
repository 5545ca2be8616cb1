"""The parts below the API put together: a store in a folder, a small private table, and a worker for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow import OnlinePMW
from hedgerow.algorithms import START, Transcript, step_since
from hedgerow.algorithms.online_pmw import Step
from hedgerow.domain import Domain, IntegerRange, domain_to_mapping
from hedgerow.privacy import Budget, NoiseSource, PureDP, SeededNoise
from hedgerow.queries import LinearQuery, Marginal, Neighbours, parse_predicate
from hedgerow.service import (
    Anchor,
    DataSet,
    GivenAnswer,
    LedgerEntry,
    Person,
    Registration,
    SessionRepository,
    SessionWorker,
    Store,
)
from hedgerow.service.store.people import QUOTA
from tests.privacy.tables import DenseCounts
from tests.service.stores import open_store

DOMAIN = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 3), IntegerRange("c", 0, 4)])
REPLACE = Neighbours.REPLACE
ENOUGH = PureDP(8.0, REPLACE)
CONFIG = OnlinePMW(variant="4c", updates=6, threshold=0.02, step="residual")


def skewed(records: int = 20_000, seed: int = 0) -> DenseCounts:
    """Most records in a few cells: the uniform hypothesis is wrong about almost everything."""
    shares = np.random.default_rng(seed).dirichlet(np.full(DOMAIN.size, 0.15))
    return DenseCounts(DOMAIN, np.floor(records * shares))


def write_table(path: Path, source: DenseCounts) -> None:
    """As a CSV file with one row for each record."""
    cells = np.argwhere(source.histogram >= 0)
    rows = np.repeat(cells, source.histogram.reshape(-1).astype(int), axis=0)
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=",".join(source.domain.names), comments="")


def registration(
    name: str = "people",
    *,
    domain: Domain = DOMAIN,
    budget: Budget = ENOUGH,
    config: OnlinePMW = CONFIG,
    place: str = "people.csv",
    first: float = 0.0,
) -> Registration:
    source = {"place": place, "first_release": first} if first else {"place": place}
    return Registration(name, name.title(), source, domain_to_mapping(domain), budget.to_dict(), config.parameters())


def question(text: str, domain: Domain = DOMAIN) -> LinearQuery | Marginal:
    """A condition; or all counts by some attributes, as in ``by a,b``."""
    return Marginal(domain, tuple(text[3:].split(","))) if text.startswith("by ") else condition(text, domain)


def condition(text: str, domain: Domain = DOMAIN) -> LinearQuery:
    return parse_predicate(text, domain)


@dataclass
class Lens:
    """A private table that has something done each time that it is looked at."""

    source: Any
    looked: Callable[[], None]

    def marginals(self, cliques: Any) -> Any:
        self.looked()
        return self.source.marginals(cliques)

    def conjunctions(self, queries: Any) -> Any:
        self.looked()
        return self.source.conjunctions(queries)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)


@dataclass
class Drawing:
    """A source of noise that has something done before each draw of a noisy value."""

    inner: NoiseSource
    drawn: Callable[[], None]

    def laplace(self, values: Any, scale: float) -> Any:
        self.drawn()
        return self.inner.laplace(values, scale)

    def gaussian(self, values: Any, sigma: float) -> Any:
        self.drawn()
        return self.inner.gaussian(values, sigma)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@dataclass
class AtWorker:
    """One data set at one worker.

    Attributes:
        reads: How often the private table was read from where it lies.
        steps: Names of the steps that were passed, in order.
    """

    store: Store
    ada: Person
    bob: Person
    data_set: DataSet
    source: Any
    reads: int = 0
    steps: list[str] = field(default_factory=list)
    repository: SessionRepository = field(init=False)
    worker: SessionWorker = field(init=False)

    def ask(
        self, *texts: str, by: Person | None = None, key: str | None = None, confidence: float = 0.95
    ) -> list[GivenAnswer]:
        person = by or self.bob
        number = None if key is None else self.number_of(person, key, texts)
        questions = [question(text, self.domain) for text in texts]
        return self.worker.ask(questions, person=person.id, request=number, confidence=confidence)

    def number_of(self, person: Person, key: str, texts: Sequence[str]) -> int:
        digest = repr(tuple(texts)).encode()
        return self.store.request(data_set=self.data_set.id, person=person.id, key=key, digest=digest)

    def together(self, *requests: Sequence[str] | tuple[Person, Sequence[str]]) -> list[list[GivenAnswer] | Exception]:
        """Ask all at once, as one group: the worker is kept busy until all are in the queue, in this order."""
        held, free = threading.Event(), threading.Event()

        def busy(_: object) -> None:
            held.set()
            free.wait(10)

        blocker = threading.Thread(target=lambda: self.worker.look_at(busy))
        blocker.start()
        assert held.wait(10)
        found: list[Any] = [None] * len(requests)
        threads = []
        for number, each in enumerate(requests):
            person, texts = each if isinstance(each[0], Person) else (self.bob, each)

            def run(number: int = number, person: Any = person, texts: Any = texts) -> None:
                try:
                    found[number] = self.ask(*texts, by=person)
                except Exception as error:  # noqa: BLE001 - handed to the test
                    found[number] = error

            before = self.worker._inbox.qsize()
            threads.append(threading.Thread(target=run))
            threads[-1].start()
            while self.worker._inbox.qsize() == before and threads[-1].is_alive():
                pass
        free.set()
        for thread in [blocker, *threads]:
            thread.join(20)
        return found

    @property
    def domain(self) -> Domain:
        domain: Domain = self.source.domain
        return domain

    def events(self) -> list[LedgerEntry]:
        """What was charged, oldest first; under "replace" the public number of records is an event without charge."""
        return [each for each in ledger(self.store, self.data_set.id) if each.event.charge > 0.0]

    def labels(self) -> list[str]:
        return [each.event.label for each in self.events()]

    def answers(self) -> list[GivenAnswer]:
        return self.store.answers(self.data_set.id, limit=100_000)[::-1]

    def hold(self) -> float | None:
        found = self.store.progress(self.data_set.id).hold
        return None if found is None else found.charge


def ledger(store: Store, data_set: int) -> list[LedgerEntry]:
    """All events, oldest first."""
    return store.events(data_set, limit=100_000)[::-1]


def charges(store: Store, data_set: int) -> Fraction:
    """Exactly what was charged, and what is held."""
    hold = store.progress(data_set).hold
    spent = sum((Fraction(each.event.charge) for each in ledger(store, data_set)), Fraction(0))
    return spent + (Fraction(hold.charge) if hold else 0)


def transcript(store: Store, data_set: int, domain: Domain = DOMAIN) -> Transcript:
    """What a server that knows nothing learns from the store."""
    learnt = Transcript(domain)
    learnt.add(store.progress(data_set).step or Step())
    return learnt


def whole(store: Store, data_set: int, source: Any) -> Step:
    """The session as the store has it, as one step; SECRET, but for a test."""
    return step_since(transcript(store, data_set, source.domain).session(source), START, first=True)


def plain(answer: GivenAnswer) -> dict[str, Any]:
    """An answer without what differs between two runs."""
    return {name: value for name, value in asdict(answer).items() if name not in ("id", "at")}


def without_times(rows: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Rows of tables without what clocks and generators of secrets put there, as the chain of the audit log."""
    return {
        name: [
            tuple(value for value in (row[:-1] if name == "audit" else row) if not isinstance(value, datetime))
            for row in found
        ]
        for name, found in rows.items()
        if name not in ("secrets", "tokens", "chains")
    }


@contextmanager
def at_worker(
    folder: Path,
    *,
    source: Any = None,
    budget: Budget = ENOUGH,
    config: OnlinePMW = CONFIG,
    noise: NoiseSource | None = None,
    read: Callable[[], Any] | None = None,
    address: str | None = None,
    join: AtWorker | None = None,
    wait: float = 5.0,
    reached: Callable[[str], None] = lambda _: None,
    store_reached: Callable[[str], None] = lambda _: None,
    anchor: Anchor | None = None,
    quota: int = QUOTA,
    first: float = 0.0,
) -> Iterator[AtWorker]:
    """A store in a folder with one data set and its worker; with ``join``, another process's worker for it."""
    store = open_store(address or folder / "store.db", wait=wait, reached=store_reached, anchor=anchor, quota=quota)
    if join is None:
        people = store.add_person("ada", "custodian", by=None), store.add_person("bob", "analyst", by=None)
        data_set = store.register(registration(budget=budget, config=config), by=people[0].id)
        made = AtWorker(store, *people, data_set, skewed() if source is None else source)
    else:
        made = AtWorker(store, join.ada, join.bob, join.data_set, join.source if source is None else source)

    def reading() -> Any:
        made.reads += 1
        return made.source if read is None else read()

    def passed(step: str) -> None:
        made.steps.append(step)
        reached(step)

    drawn = SeededNoise(1) if noise is None else noise
    made.repository = SessionRepository(
        made.data_set, made.domain, store, reading, first=first, noise=drawn, wait=wait, reached=passed
    )
    made.worker = SessionWorker(made.repository, tick=0.0)
    try:
        yield made
    finally:
        made.worker.close()
        store.close()
