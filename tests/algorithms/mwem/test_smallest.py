"""Budgets too small for noise to be drawn, and tables that do not fit into memory: refused before anything is spent."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.algorithms.mwem import candidates
from hedgerow.algorithms.mwem.mwem import MWEM
from hedgerow.algorithms.mwem.settings import Rounds
from hedgerow.algorithms.mwem.smallest import check_drawable
from hedgerow.data.table import Table
from hedgerow.domain.attribute import IntegerRange
from hedgerow.domain.domain import Domain
from hedgerow.errors import ConfigError, ModelTooLargeError
from hedgerow.models import choice
from hedgerow.models.core import memory
from hedgerow.privacy.budgets.budget import GDP, ZCDP, ApproxDP, Budget, PureDP
from hedgerow.privacy.budgets.regime import Regime
from hedgerow.privacy.curator import Curator
from hedgerow.privacy.randomness.source import SeededNoise
from hedgerow.queries.workload import Workload

BITS = Domain(IntegerRange(f"x{place}", 0, 1) for place in range(6))
TABLE = Table(BITS, np.random.default_rng(0).integers(0, 2, (6, 300)))
TASKS = ("marginals:1", "marginals:2", "marginals:3", "parities:2", "prefixes:x0", "cells:3", "where: x0 = 1")
SMALL = (PureDP(1e-16), GDP(1e-16), ZCDP(1e-30), PureDP(1e-13), PureDP(1e-12), ZCDP(1e-16), GDP(1e-13))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("rounds", ["auto", "annealed", "adaptive", 1])
def test_a_run_that_begins_is_not_refused_later(task: str, rounds: Rounds) -> None:
    workload, refused = Workload.parse(task, BITS), 0
    config = MWEM(rounds=rounds)
    for budget in SMALL:
        curator = Curator(TABLE, budget, noise=SeededNoise(1))
        try:
            config.run_with(curator, workload)
        except ConfigError:
            refused += 1
            assert curator.ledger.spent == 0.0
            assert not curator.ledger.events
            with pytest.raises(ConfigError, match="cannot be drawn"):
                config.plan(workload, budget, 300.0)
    assert 0 < refused < len(SMALL)


@pytest.mark.parametrize("budget", [PureDP(1e-6), ZCDP(1e-12), ApproxDP(1e-3, 1e-9)])
def test_budgets_that_are_small_but_can_be_drawn_are_allowed(budget: Budget) -> None:
    for task in TASKS:
        check_drawable(MWEM(), Workload.parse(task, BITS), budget, budget.limit)


def test_what_is_left_of_a_budget_counts() -> None:
    workload = Workload.parse("marginals:1", BITS)
    check_drawable(MWEM(), workload, PureDP(1.0), 1.0)
    with pytest.raises(ConfigError, match="cannot be drawn"):
        check_drawable(MWEM(), workload, PureDP(1.0), 1e-16)


def test_tables_over_a_tree_count_as_memory_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Domain(IntegerRange(f"x{place}", 0, 7) for place in range(60))
    workload = Workload.marginals(wide, 2)
    config = MWEM(largest_tree=1 << 12)
    plan = config.plan(workload, ApproxDP(10.0, 1e-9), 1e9)
    assert plan.decision is not None
    assert plan.decision.takes_fixed
    held = choice.Footprint.of_fit(workload, 1 << 12)
    assert plan.required_bytes == held.required_bytes
    trees = choice.Footprint.up_to(wide, 1 << 12).required_bytes
    assert trees < held.required_bytes
    config.check(workload, Regime.GDP)
    for module in (memory, candidates):
        monkeypatch.setattr(module, "usable_bytes", lambda: held.required_bytes - 1)
    with pytest.raises(ModelTooLargeError):
        config.check(workload, Regime.GDP)
    MWEM(rounds=5, largest_tree=1 << 12).check(workload, Regime.GDP)
