"""Priors over domains that only trees hold, and budgets of any size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.algorithms import holds, predicted
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.privacy import ZCDP, ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.queries import Workload
from tests.algorithms.shared.priors import prior_of

WIDE = Domain(IntegerRange(f"x{place}", 0, 1) for place in range(60))
LOOPS = [(f"x{i}", f"x{i + j}") for j in (1, 2, 3) for i in range(0, 60 - j, 2)]


def walks(n: int, seed: int) -> Table:
    """Columns that follow one another."""
    rng = np.random.default_rng(seed)
    turns = rng.random((60, n)) < 0.2
    return Table(WIDE, list(np.bitwise_xor.accumulate(turns.astype(np.int64), axis=0)))


@pytest.mark.parametrize(
    "workload",
    [Workload.marginals(WIDE, cliques=LOOPS), pytest.param(Workload.marginals(WIDE, 2), marks=pytest.mark.slow)],
)
def test_a_prior_over_a_wide_domain_is_fitted_to_the_end(workload: Workload) -> None:
    prior = prior_of(walks(500, 0))
    release = MWEM(prior=prior).run(walks(2000, 1), workload, ZCDP(0.1), noise=SeededNoise(2))
    assert release.spent == pytest.approx(0.1, rel=1e-6)
    assert np.isfinite(workload.answers(release.model)).all()


def test_a_misleading_prior_over_trees_costs_nothing() -> None:
    """The same fixed strategy is taken with a prior, and once that is given up the run is one without."""
    domain = Domain(IntegerRange(f"x{place}", 0, 7) for place in range(12))
    rng = np.random.default_rng(0)
    columns = [rng.geometric(0.5, 800).clip(1, 8) - 1 for _ in domain]
    table, names = Table(domain, columns), domain.names
    workload = Workload.marginals(domain, cliques=[*pairwise(names), *zip(names, names[2:], strict=False)])
    mirrored = prior_of(Table(domain, [7 - column for column in columns]))
    runs = [
        MWEM(prior=prior).run(table, workload, ApproxDP(0.1, 1e-9), noise=SeededNoise(3)) for prior in (None, mirrored)
    ]
    assert [run.provenance.parameters["decided"]["taken"] for run in runs] == ["fixed", "fixed"]
    np.testing.assert_array_equal(*(workload.answers(run.model) for run in runs))


def test_a_fixed_strategy_leaves_room_for_public_factors() -> None:
    config = MWEM(prior=prior_of(walks(500, 0)), largest_tree=2_000)
    (singly, *_) = predicted(Workload.marginals(WIDE, 1), PureDP(1.0))
    small, large = [WIDE.names[:10]], [WIDE.names[:10], WIDE.names[9:19]]
    assert [holds(config, singly, factors) for factors in ((), small, large)] == [True, True, False]
    assert holds(config, singly, [*small, ("x0", "x1")])


@pytest.mark.parametrize("budget", [PureDP(400.0), PureDP(800.0), ZCDP(1000.0)], ids=repr)
def test_budgets_without_noise_leave_nothing_unspent(budget: Budget) -> None:
    domain = Domain((IntegerRange("age", 0, 99),))
    table = Table(domain, [np.arange(1000) % 100])
    workload = Workload.prefixes(domain, "age")
    release = MWEM().run(table, workload, budget, noise=SeededNoise(0))
    assert np.allclose(workload.answers(release.model), np.arange(10, 1001, 10), atol=1.0)
