"""The theorem of DualQuery on seeded runs with exact best responses (theory.md section 5)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from hedgerow import DualQuery
from hedgerow.algorithms import BruteForce, Game, theorem
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.queries import Neighbours, Workload
from tests.privacy.tables import DenseCounts, binary

BETA, RUNS = 0.05, 200
TRIPLE = binary(3)


def worst_error(constants: str, alpha: float, workload: Workload, seed: int) -> float:
    """Of a query scaled to width 1, as a fraction of the records."""
    rng = np.random.default_rng(seed)
    source = DenseCounts(TRIPLE, rng.multinomial(400, rng.dirichlet(np.full(8, 0.3))))
    config = DualQuery(
        alpha=alpha,
        constants=constants,
        beta=BETA,
        oracle=BruteForce(),
        seed=seed,
        error_share=0.0,  # type: ignore[arg-type]
    )
    release = config.run(source, workload, PureDP(1e6, Neighbours.REPLACE), noise=SeededNoise(seed))
    lows, highs = workload.limits
    gap = (workload.answers(release.model) - workload.answers(source)) / (highs - lows)
    return float(np.abs(gap).max()) / 400


@pytest.mark.audit
@pytest.mark.parametrize(
    ("constants", "alpha", "workload"),
    [("optimised", 0.6, Workload.marginals(TRIPLE, 2, whole=False)), ("source", 0.9, Workload.parities(TRIPLE, 3))],
)
def test_errors_stay_below_the_bound(constants: str, alpha: float, workload: Workload) -> None:
    # If the bound failed with probability 0.05 in each run, this many failures would have probability 1e-6.
    game = Game.of(workload, PureDP(1.0, Neighbours.REPLACE), 400.0, BETA)
    bound = theorem(constants, alpha, game).bound(game)  # type: ignore[arg-type]
    assert bound <= alpha
    errors = np.array([worst_error(constants, alpha, workload, seed) for seed in range(RUNS)])
    assert int((errors > bound).sum()) <= binom.isf(1e-6, RUNS, BETA)


def test_a_few_runs_stay_below_the_bound() -> None:
    # Each is above with probability 0.05 at most by the theorem; in truth the errors are a tenth of it.
    workload = Workload.marginals(TRIPLE, 2, whole=False)
    game = Game.of(workload, PureDP(1.0, Neighbours.REPLACE), 400.0, BETA)
    bound = theorem("optimised", 0.6, game).bound(game)
    assert max(worst_error("optimised", 0.6, workload, seed) for seed in range(3)) <= bound
