"""Priors over domains that only trees hold, and budgets of any size."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.algorithms.mwem.mwem import MWEM
from hedgerow.data.table import Table
from hedgerow.domain.attribute import IntegerRange
from hedgerow.domain.domain import Domain
from hedgerow.privacy.budgets.budget import ZCDP, Budget, PureDP
from hedgerow.privacy.randomness.source import SeededNoise
from hedgerow.queries.workload import Workload
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


@pytest.mark.parametrize("budget", [PureDP(400.0), PureDP(800.0), ZCDP(1000.0)], ids=repr)
def test_budgets_without_noise_leave_nothing_unspent(budget: Budget) -> None:
    domain = Domain((IntegerRange("age", 0, 99),))
    table = Table(domain, [np.arange(1000) % 100])
    workload = Workload.prefixes(domain, "age")
    release = MWEM().run(table, workload, budget, noise=SeededNoise(0))
    assert np.allclose(workload.answers(release.model), np.arange(10, 1001, 10), atol=1.0)
