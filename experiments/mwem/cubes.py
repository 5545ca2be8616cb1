"""MWEM, figure 5: the cuboids of a data cube, by average and maximum error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from experiments.datasets import DataSets
from experiments.experiment import Cell, Claim, Drawing, Experiment, Measured, Size, Tolerance, seed_of
from experiments.mwem.advance import chosen_in_advance
from experiments.mwem.cubes_findings import (
    ADVANCE,
    ANNEALED,
    AUTOMATIC,
    AVERAGE,
    AVERAGE_TV,
    CHOSEN,
    FIXED,
    LAPLACE,
    MAXIMUM,
    MAXIMUM_TV,
    ROUNDS,
    UNIFORM,
    WIDER,
    claims_of,
    drawings_of,
)
from experiments.mwem.cuboids import Cuboids
from experiments.results import Results
from hedgerow.algorithms.independent import IndependentNoise, noisy_answers
from hedgerow.algorithms.mwem import MWEM
from hedgerow.arrays import Floats
from hedgerow.models import Sweeps, hypothesis
from hedgerow.privacy import PureDP, SeededNoise, exact_errors, exact_total, noise_of
from hedgerow.queries import Neighbours, of_marginal
from hedgerow.release import Release

DATA = "adult8_mwem"
FOUR = ("sex", "race", "relationship", "workclass")
PAIRS, TRIPLES, EVERY, OF_FOUR = "2-way", "3-way", "all", "small-cube"
ORDERS = {PAIRS: (2,), TRIPLES: (3,), EVERY: tuple(range(1, 9)), OF_FOUR: tuple(range(1, 5))}
"""Number of attributes of the cuboids, by their name."""
CUBES = (EVERY, OF_FOUR)
"""Sets that hold all cuboids of their table."""

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0)
TS = (2, 4, 8, 16)
REPETITIONS = 5

PRIVATE = {AUTOMATIC: MWEM(), ANNEALED: MWEM(rounds="annealed")}
"""Ours, where no exact error decides anything."""

LARGEST_PART = 0.5
"""Candidates have at most this many cells per record. What noise is expected to add to larger ones is about ``2 n`` or
more, the largest error there is, if T is at least 2 and epsilon at most 2: less that, no score would be positive."""


class Cubes(Experiment):
    """Adult's eight categorical attributes: which cuboids MWEM measures, and how far all of them lie off."""

    name: ClassVar[str] = "mwem-figure-5"
    title: ClassVar[str] = "MWEM on data cubes"
    source: ClassVar[str] = "M. Hardt, K. Ligett, F. McSherry 2012, figure 5"
    grid: ClassVar[tuple[str, ...]] = ("cuboids", "mechanism", "epsilon", "rounds", "repetition")
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        AVERAGE: Tolerance(relative=0.3),
        MAXIMUM: Tolerance(relative=0.6),
        AVERAGE_TV: Tolerance(relative=0.15),
        MAXIMUM_TV: Tolerance(relative=0.3),
        ROUNDS: Tolerance(relative=0.1, absolute=1.0),
        CHOSEN[3]: Tolerance(absolute=2.0),
    }

    def cells(self, size: Size) -> Sequence[Cell]:
        """Every mechanism at every epsilon; 0 stands for rounds that are not given, and where nothing is spent."""
        if size is Size.TINY:
            return list(_cells((PAIRS, OF_FOUR), (0.1, 0.2), (2, 4), 1))
        if size is Size.QUICK:
            return list(_cells((PAIRS, TRIPLES, EVERY), (0.1, 1.0), (4, 16), 2))
        return list(_cells((PAIRS, TRIPLES, EVERY), EPSILONS, TS, REPETITIONS))

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """Errors of all cuboids, and what was chosen."""
        cuboids, mechanism, epsilon = cuboids_of(str(cell["cuboids"]), data), str(cell["mechanism"]), cell["epsilon"]
        if mechanism == ADVANCE:
            return _advance_errors(cuboids, float(epsilon))
        noise = SeededNoise(seed_of(self.name, cell))
        if mechanism == UNIFORM:
            uniform = hypothesis(cuboids.table.domain, exact_total(cuboids.table))
            return _told(cuboids, cuboids.errors(uniform))
        if mechanism == LAPLACE:
            return _told(cuboids, laplace_errors(cuboids, float(epsilon), noise))
        config = PRIVATE.get(mechanism) or as_in_paper(int(cell["rounds"]))
        candidates = cuboids.first(LARGEST_PART * exact_total(cuboids.table))
        release = config.run(cuboids.table, candidates, PureDP(float(epsilon), Neighbours.REPLACE), noise=noise)
        return [*_told(cuboids, cuboids.errors(release.model)), *_choices(release)]

    def claims(self, found: Results) -> list[Claim]:
        """The comparisons of the paper, as far as they can be made, and questions of our own."""
        return claims_of(found)

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Errors against epsilon; what was chosen; total variation distances."""
        return drawings_of(found)


def cuboids_of(name: str, data: DataSets) -> Cuboids:
    """The cuboids of a name of ``ORDERS``."""
    return Cuboids.of_orders(data.table(DATA, FOUR if name == OF_FOUR else None), ORDERS[name])


def as_in_paper(rounds: int) -> MWEM:
    """MWEM with reuse as published: 100 sweeps over all measurements, the last hypothesis, nothing spent besides."""
    return MWEM(rounds=rounds, refit=Sweeps(100), error_share=0.0)


def laplace_errors(cuboids: Cuboids, epsilon: float, noise: SeededNoise) -> Floats:
    """Errors of Laplace noise on every cell of every cuboid, each cuboid with an equal share of epsilon.

    What is as large as no candidate of MWEM is not drawn: the mean of so many independent errors is its expectation.

    Returns:
        Sums over the cells of each cuboid, in counts, shape ``(cuboids,)``.
    """
    drawn = cuboids.first(LARGEST_PART * exact_total(cuboids.table))
    budget = PureDP(epsilon, Neighbours.REPLACE)
    share = epsilon / len(cuboids.cliques)
    release = IndependentNoise(fit=None).run(
        cuboids.table, drawn, PureDP(share * drawn.n_candidates, Neighbours.REPLACE), noise=noise
    )
    found = exact_errors(cuboids.table, drawn, noisy_answers(release)).errors
    expected = noise_of(drawn.candidate(0), budget, share, None).expected_abs
    return np.concatenate([found, expected * cuboids.sizes[drawn.n_candidates :]])


def _advance_errors(cuboids: Cuboids, epsilon: float) -> list[Measured]:
    domain = cuboids.table.domain
    cells = chosen_in_advance(domain.shape).expected_errors(epsilon, of_marginal(Neighbours.REPLACE).l1)
    return [Measured(AVERAGE, float(cells.mean())), Measured(MAXIMUM, float(cells.max()))]


def _cells(sets: Sequence[str], epsilons: Sequence[float], ts: Sequence[int], repetitions: int) -> Iterator[Cell]:
    """Repetitions outermost; what is not random has one."""
    for repetition in range(1, repetitions + 1):
        for cuboids in sets:
            for mechanism, epsilon, rounds in _runs(cuboids, epsilons, ts, first=repetition == 1):
                yield {
                    "cuboids": cuboids,
                    "mechanism": mechanism,
                    "epsilon": epsilon,
                    "rounds": rounds,
                    "repetition": repetition,
                }


def _runs(
    cuboids: str, epsilons: Sequence[float], ts: Sequence[int], *, first: bool
) -> Iterator[tuple[str, float, int]]:
    if first:
        yield UNIFORM, 0.0, 0
    for epsilon in epsilons:
        if first and cuboids in CUBES:
            yield ADVANCE, epsilon, 0
        yield from ((mechanism, epsilon, 0) for mechanism in (LAPLACE, *PRIVATE))
        yield from ((FIXED, epsilon, rounds) for rounds in ts)


def _told(cuboids: Cuboids, errors: Floats) -> list[Measured]:
    cells, shares = errors / cuboids.sizes, 0.5 * errors / exact_total(cuboids.table)
    return [
        Measured(AVERAGE, float(cells.mean())),
        Measured(MAXIMUM, float(cells.max())),
        Measured(AVERAGE_TV, float(shares.mean())),
        Measured(MAXIMUM_TV, float(shares.max())),
    ]


def _choices(release: Release) -> list[Measured]:
    orders = Counter(len(measured.target.scope) for measured in release.measurements)
    narrow = [Measured(quantity, float(orders[order])) for order, quantity in CHOSEN.items()]
    wider = sum(number for order, number in orders.items() if order not in CHOSEN)
    return [Measured(ROUNDS, float(orders.total())), *narrow, Measured(WIDER, float(wider))]
