"""Whole runs drawn at random, over everything that can be combined, and what must hold of each.

A `Run` is drawn from one number: an algorithm of the registry with options, or an online session with questions that
is saved and restored on the way; a domain, a workload of several families with odd weights; a budget of any regime
under either relation, with a filter (a condition, or a rule that rows are left out by) or without; a place for the
table; and noise that is as it comes, or as unlikely as can be. `check` takes it, holds its calls against its ledger,
and takes it again on neighbouring tables (`accountant`).

To see one again: ``check(drawn(number), Places(folder))``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.algorithms.dual_query.dual_query import DualQuery
from hedgerow.algorithms.independent.independent_noise import IndependentNoise
from hedgerow.algorithms.offline_pmw.offline_pmw import OfflinePMW
from hedgerow.algorithms.online_pmw.online_pmw import OnlinePMW
from hedgerow.algorithms.online_pmw.session import OnlineSession
from hedgerow.algorithms.registry import ENTRIES
from hedgerow.algorithms.shared.algorithm import Algorithm
from hedgerow.arrays import Floats, Ints
from hedgerow.domain.attribute import IntegerRange
from hedgerow.domain.domain import Domain
from hedgerow.errors import HedgerowError
from hedgerow.privacy.budgets.budget import GDP, ZCDP, ApproxDP, Budget, PureDP
from hedgerow.privacy.budgets.regime import Regime
from hedgerow.privacy.budgets.subsampling import Subsampled
from hedgerow.privacy.randomness.source import NoiseSource, SeededNoise
from hedgerow.queries.core.query import Conjunction, Explicit, LinearQuery
from hedgerow.queries.core.sensitivity import Neighbours
from hedgerow.queries.workload import Workload
from hedgerow.release import Release
from tests.audit.places import PLACES, Places, is_ruled, ruled
from tests.privacy.accountant import Witness, listening, moved_within, settle

SHAPES = ((2, 2, 2), (2, 3), (5, 2), (7,), (3, 2, 2), (2, 2, 2, 2))
WEIGHTS = (1.0, 39.0, 0.37, 1e-3, 1000.1)
RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
SESSIONS = 3
"""Online sessions are drawn so many times as often as each algorithm of the registry."""
NEIGHBOURS = 4
"""So many of each run, drawn at random."""


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        number: What it was drawn from.
        algorithm: What is run.
        workload: What it is run on; what a session is asked about.
        budget: What may be spent, under a relation.
        place: Where the table lies.
        is_filtered: Whether rows are left out.
        counts: Records in each cell of the domain and of ``kept``, flat.
        whims: Whether noise is as unlikely as can be.
        questions: Of a session; none for another algorithm.
        earlier: What an earlier release was made with, which the session starts from.
    """

    number: int
    algorithm: Algorithm | OnlinePMW
    workload: Workload
    budget: Budget
    place: str
    is_filtered: bool
    counts: np.ndarray
    whims: bool
    questions: tuple[LinearQuery, ...] = ()
    earlier: Budget | None = None

    @property
    def is_sampled(self) -> bool:
        """Whether it is run on a secret sample: of which records, is not replayed."""
        return isinstance(self.budget, Subsampled)

    @property
    def is_ruled(self) -> bool:
        """Whether its domain has a rule, which rows are left out by if they are."""
        return is_ruled(self.workload.domain)

    def __str__(self) -> str:
        """All that is needed to see what it is."""
        filtered = f", filtered by a {'rule' if self.is_ruled else 'condition'}" if self.is_filtered else ""
        asked = f", {len(self.questions)} questions" if self.questions else ""
        asked += f", from a release with {self.earlier}" if self.earlier else ""
        return (
            f"run {self.number}: {self.algorithm} on {self.workload.spec or self.workload} over "
            f"{dict(zip(self.workload.domain.names, self.workload.domain.shape, strict=True))}, {self.budget}, "
            f"{self.place}{filtered}{asked}, counts {self.counts.tolist()}"
        )

    def noise(self) -> NoiseSource:
        return Whims(self.number) if self.whims else SeededNoise(self.number)

    def release(self, places: Places) -> Release | None:
        """The earlier release."""
        if self.earlier is None:
            return None
        source = places.open(self.place, self.counts, self.workload.domain, is_filtered=self.is_filtered)
        workload = Workload.marginals(self.workload.domain, 1)
        return IndependentNoise().run(source, workload, self.earlier, noise=SeededNoise(self.number))

    def take(self, counts: np.ndarray, places: Places, noise: NoiseSource, warm: Release | None = None) -> list[Any]:
        """Everything that the run shows; an error is shown too."""
        source = places.open(self.place, counts, self.workload.domain, is_filtered=self.is_filtered)
        try:
            if isinstance(self.algorithm, OnlinePMW):
                return self._asked(
                    self.algorithm.start(source, self.budget, noise=noise, warm=warm), source, noise, places
                )
            return shown(self.algorithm.run(source, self.workload, self.budget, noise=noise))
        except HedgerowError as error:
            return [type(error).__name__, str(error)]

    def _asked(self, session: OnlineSession, source: Any, noise: NoiseSource, places: Places) -> list[Any]:
        """Answers of a session that is saved and restored in the middle."""
        told: list[Any] = []
        for at, question in enumerate(self.questions):
            if at == len(self.questions) // 2:
                path = places.folder / f"session-{self.number}"
                session.save(path)
                session = OnlineSession.restore(path, source, noise=noise)
            with suppress(HedgerowError):
                told.append(session.ask(question))
        return told


def shown(release: Release) -> list[Any]:
    """What a release holds, but for when it was made."""
    cells = release.model.marginals([release.domain.names])[0]
    measured = [(each.target.text, each.values.tolist(), each.scale) for each in release.measurements]
    return [release.total, cells.tolist(), [event.to_dict() for event in release.events], measured, release.error]


class Whims:
    """Noise of no law: any outputs, so that a run is taken through corners that are hardly ever met.

    What it shows of privacy does not depend on how likely an output is: the cost of a draw is the largest over all.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._inner = SeededNoise(seed)

    @property
    def secure(self) -> bool:
        return False

    def laplace(self, values: Ints, scale: float) -> Ints:
        wild = self._generator.standard_cauchy(len(values)) * min(scale, 2.0**40) * self._generator.choice([0, 1, 30])
        return values + np.clip(np.rint(wild), -(2.0**50), 2.0**50).astype(np.int64)

    gaussian = laplace

    def choose(self, scores: Floats, scale: float) -> int:
        return int(self._generator.integers(len(scores)))

    permute_and_flip = choose

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        return self._generator.integers(len(scores), size=size)

    def random_bytes(self, size: int) -> bytes:
        return self._generator.bytes(size)

    def secret(self, scale: float) -> int:
        return int(self.laplace(np.zeros(1, dtype=np.int64), scale)[0])

    def exceeds(self, margin: int, scale: float) -> bool:
        return bool(self._generator.random() < 0.4)


# ---- drawing one -----------------------------------------------------------------------------------------------------


def drawn(number: int, places: Sequence[str] = ("dense", *PLACES)) -> Run:
    """The run of a number; those that are refused before any data are drawn anew."""
    rng = np.random.default_rng(number)
    which = int(rng.integers(len(ENTRIES) + SESSIONS))
    while True:
        run = _drawn(number, which, rng, places)
        if isinstance(run.algorithm, OnlinePMW):
            return run
        with suppress(HedgerowError):
            run.algorithm.check(run.workload, run.budget.regime)
            return run


def _drawn(number: int, which: int, rng: np.random.Generator, places: Sequence[str]) -> Run:
    shape = SHAPES[rng.integers(len(SHAPES))]
    domain = Domain(IntegerRange("abcd"[i], 0, size - 1) for i, size in enumerate(shape))
    domain = ruled(domain) if number % 2 else domain
    workload = _family(domain, rng)
    for _ in range(rng.integers(3)):
        workload += _family(domain, rng)
    algorithm = _session(rng) if which >= len(ENTRIES) else ENTRIES[which].make(_options(ENTRIES[which].name, rng))
    if rng.random() < 0.5:
        workload = workload.by_query()
    if isinstance(algorithm, OfflinePMW):
        workload = Workload(workload.families)  # its promise is the same for all queries
    counts = rng.choice([0, 0, 1, 2, 6, 40], 2 * domain.size)
    counts[:2] += 1
    budget, place, is_filtered = _budget(rng), str(rng.choice(list(places))), bool(rng.random() < 0.4)
    whims, more = bool(rng.random() < 0.5), rng.random() < 0.3
    run = Run(number, algorithm, workload, budget, place, is_filtered, counts, whims)
    if isinstance(algorithm, OnlinePMW):
        asked = tuple(_question(domain, rng) for _ in range(rng.integers(4, 14)))
        return replace(run, questions=asked, earlier=_part_of(budget, rng) if more else None)
    if isinstance(algorithm, DualQuery) and more and budget.neighbours.public_total and not is_filtered:
        total = int(counts.sum())
        place = ("memory", "weights")[rng.integers(2)]  # others cannot be sampled
        return replace(run, budget=Subsampled(budget, max(1, total // 2), total, 1e-6), place=place)
    return run


def _budget(rng: np.random.Generator) -> Budget:
    relation = RELATIONS[rng.integers(2)]
    amount = float(rng.choice([1e-3, 0.3, 1.0, 30.0]))
    approximate = ApproxDP(amount, 1e-6, relation, list(Regime)[rng.integers(3)])
    return (PureDP(amount, relation), ZCDP(amount, relation), GDP(amount, relation), approximate)[rng.integers(4)]


def _part_of(budget: Budget, rng: np.random.Generator) -> Budget:
    """A smaller budget, pure or in the same unit: a pure release can be charged to either kind of ledger."""
    if rng.random() < 0.5 or budget.unit == "epsilon":
        return PureDP(0.3 * budget.limit, budget.neighbours)
    return (GDP if budget.regime is Regime.GDP else ZCDP)(0.3 * budget.limit, budget.neighbours)


def _family(domain: Domain, rng: np.random.Generator) -> Workload:
    order = int(rng.integers(1, min(3, len(domain)) + 1))
    name = domain.names[rng.integers(len(domain))]
    size = domain[name].size
    rows = rng.choice([0.0, 1.0, 0.25, 1 / 3, -0.7, 3.0], (3, size))
    rows[:, 0] += 0.5
    kinds = [
        lambda: Workload.marginals(domain, order),
        lambda: Workload.marginals(domain, order, whole=False),
        lambda: Workload.prefixes(domain, name),
        lambda: Workload.ranges(domain, [name], 4, seed=int(rng.integers(99))),
        lambda: Workload.conjunctions(domain, [_condition(domain, rng) for _ in range(4)]),
        lambda: Workload.explicit(domain, (name,), rows),
        lambda: Workload.parities(domain, order),
    ]
    is_binary = set(domain.shape) == {2}
    return kinds[int(rng.integers(len(kinds) - (not is_binary)))]().weighted(float(rng.choice(WEIGHTS)))


def _condition(domain: Domain, rng: np.random.Generator) -> Conjunction:
    chosen = [each for each in domain if rng.random() < 0.6] or [domain.attributes[0]]
    return Conjunction.where(
        domain, {each.name: np.flatnonzero(rng.random(each.size) < 0.6).tolist() or [0] for each in chosen}
    )


def _question(domain: Domain, rng: np.random.Generator) -> LinearQuery:
    if rng.random() < 0.7:
        return _condition(domain, rng)
    return Explicit.of(domain, domain.names, rng.random(domain.size))


def _options(name: str, rng: np.random.Generator) -> dict[str, Any]:
    """Options by which an algorithm ends soon."""
    some: dict[str, dict[str, list[Any]]] = {
        "mwem": {
            "rounds": ["annealed", "adaptive", "auto", 1, 3],
            "selection_share": [None, 0.3, 0.9],
            "output": ["last", "average"],
            "initial": ["uniform", "one-way"],
            "law": ["exponential", "permute-and-flip"],
            "largest_tree": [4, 16, 10_000],
        },
        "pmw": {"rounds": [12, 20]},
        "dual-query": {"rounds": [3, 6], "samples": [1, 4], "step": [0.5, 2.0], "seed": [5]},
        "small-db": {"size": [1, 2]},
        "laplace": {"by": ["candidate", "query"], "error_share": [0.0, 0.3]},
        "gaussian": {"by": ["candidate", "query"], "error_share": [0.0, 0.3]},
        "fourier": {"error_share": [0.0, 0.3]},
    }
    return {option: values[rng.integers(len(values))] for option, values in some[name].items()}


def _session(rng: np.random.Generator) -> OnlinePMW:
    variant = ("4b", "4c", "pay-as-you-go")[rng.integers(3)]
    return OnlinePMW(
        variant=variant,  # type: ignore[arg-type]
        updates=int(rng.integers(1, 5)),
        threshold=float(rng.choice([0.05, 0.3])),
        queries=int(rng.choice([5, 1000])),
        step=("residual", "refit")[rng.integers(2)],  # type: ignore[arg-type]
    )


# ---- checking it -----------------------------------------------------------------------------------------------------


def neighbours(run: Run) -> Iterator[np.ndarray]:
    """Some neighbours of its whole table, before the filter."""
    rng = np.random.default_rng([run.number, 1])
    for _ in range(NEIGHBOURS):
        counts = run.counts.copy()
        leaves, comes = (True, True) if run.budget.neighbours is Neighbours.REPLACE else rng.permutation([True, False])
        if leaves:
            counts[rng.choice(np.flatnonzero(counts))] -= 1
        if comes:
            counts[rng.integers(counts.size)] += 1
        yield counts


def check(run: Run, places: Places) -> int:
    """Take a run and hold it against its ledger and its neighbours; how many draws it made.

    Raises:
        AssertionError: Something is unpaid, or one record moves something by more than was paid for.
    """
    warm = run.release(places)
    with listening(Witness(run.noise())) as here:
        told = run.take(run.counts, places, here, warm)
    if not here.ledgers:
        return 0
    ledger = here.ledgers[-1]
    payers = settle(here.calls, ledger.events, ledger.limit)
    for counts in neighbours(run) if not run.is_sampled else ():
        with listening(Witness(script=here.calls)) as there:
            told_there = run.take(counts, places, there, warm)
        moved_within(here.calls, there.calls, payers)
        assert there.ledgers[-1].events == ledger.events, "the ledger depends on the table"
        assert told_there == told, "what is shown depends on the table"
    return len(here.calls)
