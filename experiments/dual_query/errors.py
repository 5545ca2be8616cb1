"""Errors of DualQuery by three accountings, beside MWEM, independent noise, and no look at the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from experiments.datasets import DataSets
from experiments.dual_query.conjunctions import ATTRIBUTES, all_cells, drawn, whole_marginals
from experiments.dual_query.error_findings import (
    ALL,
    AVERAGE,
    DELTA,
    EPSILON_OF_SIZES,
    GAUSSIAN,
    LAPLACE,
    LARGEST,
    MIDDLE,
    MWEM_CELLS,
    MWEM_WHOLE,
    NEW,
    ORIGINAL,
    UNIFORM,
    WHOLE_GAUSSIAN,
    WHOLE_LAPLACE,
    ZERO,
    claims_of,
    drawings_of,
)
from experiments.dual_query.plays import play_of
from experiments.experiment import Cell, Claim, Drawing, Experiment, Measured, Size, Tolerance, seed_of
from experiments.results import Results
from hedgerow.algorithms.dual_query import ANY_ZCDP, PAPER, TIGHT_ZCDP, DualQuery, Game
from hedgerow.algorithms.independent import IndependentNoise, noisy_answers
from hedgerow.algorithms.mwem import MWEM
from hedgerow.arrays import Floats
from hedgerow.comparison import LARGEST as WORST, MEAN, Yardstick
from hedgerow.privacy import ApproxDP, PureDP, SeededNoise, exact_total
from hedgerow.queries import Neighbours

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm
    from hedgerow.data import Table
    from hedgerow.queries import Workload

STATEMENTS = {NEW: TIGHT_ZCDP, MIDDLE: ANY_ZCDP, ORIGINAL: PAPER}
"""The theorem by which each series of DualQuery spends epsilon."""

WHOLE = (MWEM_WHOLE, WHOLE_LAPLACE, WHOLE_GAUSSIAN)
"""Mechanisms that measure all cells of a marginal at once."""

GUESSES = (UNIFORM, ZERO)
"""Guesses that need no look at the data."""

OVER_ALL = (*STATEMENTS, MWEM_CELLS, *WHOLE, *GUESSES)
OVER_DRAWN = (NEW, MWEM_CELLS, LAPLACE, GAUSSIAN, *GUESSES)

MOST_FOR_MWEM: Mapping[Size, int] = {Size.FULL: 300, Size.QUICK: 100, Size.TINY: 0}
"""Drawn conjunctions that MWEM is run on: of 1,000 a run takes from ten seconds to more than a minute."""

EPSILONS: Mapping[Size, tuple[float, ...]] = {
    Size.FULL: (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0),
    Size.QUICK: (0.1, 0.5, 2.0),
    Size.TINY: (0.05,),
}
NUMBERS: Mapping[Size, tuple[int, ...]] = {
    Size.FULL: (100, 300, 1_000, 3_000, 10_000),
    Size.QUICK: (100, 1_000),
    Size.TINY: (20, 50),
}
REPETITIONS: Mapping[Size, int] = {Size.FULL: 5, Size.QUICK: 3, Size.TINY: 1}


class DualQueryErrors(Experiment):
    """Average and largest errors of 3-way conjunctions on eight attributes of Adult."""

    name: ClassVar[str] = "dual-query-errors"
    title: ClassVar[str] = "Errors of DualQuery by its accounting, and of its rivals"
    source: ClassVar[str] = "M. Gaboardi and others 2014, and its zCDP analysis; theory.md section 5"
    grid: ClassVar[tuple[str, ...]] = ("queries", "mechanism", "epsilon", "repetition")
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        AVERAGE: Tolerance(relative=0.15),
        LARGEST: Tolerance(relative=0.3),
        "rounds": Tolerance(relative=1e-6),
        "samples": Tolerance(relative=1e-6),
        "step": Tolerance(relative=1e-3),
    }

    def cells(self, size: Size) -> Sequence[Cell]:
        """All conjunctions at every epsilon, then numbers of drawn ones at one epsilon."""
        return [
            {"queries": queries, "mechanism": mechanism, "epsilon": epsilon, "repetition": repetition}
            for repetition in range(1, REPETITIONS[size] + 1)
            for queries, epsilon, mechanisms in _settings(size)
            for mechanism in mechanisms
        ]

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """Run a mechanism, or guess, and compare with the exact answers."""
        table = data.table("adult", ATTRIBUTES)
        workload = _workload(cell, table)
        yardstick = Yardstick(table, workload)
        if cell["mechanism"] == UNIFORM:
            return _errors(yardstick.uniform())
        if cell["mechanism"] == ZERO:
            return _errors(yardstick.errors(np.zeros(workload.n_queries), 1.0))
        algorithm = _algorithm(cell, table, workload)
        answers = _answers(algorithm, cell, table, workload)
        return [*_errors(yardstick.errors(answers, exact_total(table))), *_parameters(algorithm)]

    def claims(self, found: Results) -> list[Claim]:
        """Compare the accountings, and DualQuery with its rivals."""
        return claims_of(found)

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Errors against epsilon, and against the number of conjunctions."""
        return drawings_of(found)


def _settings(size: Size) -> Iterable[tuple[int, float, Sequence[str]]]:
    for epsilon in EPSILONS[size]:
        yield ALL, epsilon, [name for name in OVER_ALL if name not in GUESSES or epsilon == EPSILONS[size][0]]
    for number in NUMBERS[size]:
        rivals = [name for name in OVER_DRAWN if name != MWEM_CELLS or number <= MOST_FOR_MWEM[size]]
        yield number, EPSILON_OF_SIZES, rivals


def _workload(cell: Cell, table: Table) -> Workload:
    """All conjunctions, or those of the repetition, the same for every mechanism."""
    if cell["queries"] == ALL:
        return all_cells(table.domain)
    seed = seed_of("conjunctions", {"repetition": cell["repetition"]})
    return drawn(table.domain, int(cell["queries"]), seed)


def _algorithm(cell: Cell, table: Table, workload: Workload) -> Algorithm:
    """Everything by the library's defaults, but that no error is estimated: it is measured."""
    mechanism, epsilon = str(cell["mechanism"]), float(cell["epsilon"])
    if mechanism in (MWEM_CELLS, MWEM_WHOLE):
        return MWEM(error_share=0.0)
    if mechanism not in STATEMENTS:
        return IndependentNoise(fit=None, error_share=0.0)
    budget = ApproxDP(epsilon, DELTA, Neighbours.REPLACE)
    game = Game.of(workload.by_query(), budget, float(exact_total(table)), DualQuery().beta)
    play = play_of(STATEMENTS[mechanism], epsilon, DELTA, game)
    seed = seed_of(DualQueryErrors.name, cell)
    return DualQuery(rounds=play.rounds, step=play.step, samples=play.samples, error_share=0.0, seed=seed)


def _answers(algorithm: Algorithm, cell: Cell, table: Table, workload: Workload) -> Floats:
    """Counts: of the released model, or noisy answers as they were bought."""
    mechanism, epsilon = str(cell["mechanism"]), float(cell["epsilon"])
    pure = mechanism in (LAPLACE, WHOLE_LAPLACE)
    budget = PureDP(epsilon, Neighbours.REPLACE) if pure else ApproxDP(epsilon, DELTA, Neighbours.REPLACE)
    asked = whole_marginals(table.domain) if mechanism in WHOLE else workload
    noise = SeededNoise(seed_of(DualQueryErrors.name, cell))
    release = algorithm.run(table, asked, budget, noise=noise)
    return noisy_answers(release) if isinstance(algorithm, IndependentNoise) else workload.answers(release.model)


def _errors(found: Mapping[str, float]) -> list[Measured]:
    return [Measured(AVERAGE, found[MEAN]), Measured(LARGEST, found[WORST])]


def _parameters(algorithm: Algorithm) -> list[Measured]:
    """The choice of the rule."""
    if not isinstance(algorithm, DualQuery):
        return []
    return [Measured(name, float(getattr(algorithm, name))) for name in ("rounds", "samples", "step")]
