"""Budgets too small for noise to be drawn, and tables that do not fit into memory: refused before anything is spent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.algorithms import Rounds
from hedgerow.algorithms.mwem.opening import first_charges
from hedgerow.algorithms.mwem.plan import check_drawable
from hedgerow.algorithms.strategies import candidates
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, ModelTooLargeError
from hedgerow.models import choice
from hedgerow.models.core import memory
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, Curator, PureDP, Regime, Register, SeededNoise
from hedgerow.queries import Workload

BITS = Domain(IntegerRange(f"x{place}", 0, 1) for place in range(6))
TABLE = Table(BITS, np.random.default_rng(0).integers(0, 2, (6, 300)))
TASKS = ("marginals:1", "marginals:2", "marginals:3", "parities:2", "prefixes:x0", "cells:3", "where: x0 = 1")
SMALL = (PureDP(1e-16), GDP(1e-16), ZCDP(1e-30), PureDP(1e-13), PureDP(1e-12), ZCDP(1e-16), GDP(1e-13))


@pytest.mark.many(quick=8)
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


@pytest.mark.parametrize("budget", [PureDP(1e-16), ZCDP(1e-30)], ids=["pure", "zcdp"])
def test_a_register_is_not_charged_for_noise_that_cannot_be_drawn(budget: Budget, tmp_path: Path) -> None:
    register = Register(tmp_path / "bits.register", limit=type(budget)(1.0))
    with pytest.raises(ConfigError, match="cannot be drawn"):
        MWEM().run(TABLE, Workload.marginals(BITS, 2), budget, register=register)
    assert register.entries == ()
    assert register.spent == 0.0


@pytest.mark.parametrize("budget", [PureDP(1.0), ApproxDP(1.0, 1e-9)], ids=["pure", "approximate"])
def test_weights_of_next_to_nothing_leave_charges_that_can_be_drawn(budget: Budget) -> None:
    """Attributes of the light family get a thousandth of the mean share, not 1e-20 of it."""
    workload = Workload.parse("marginals:x0*x1,x1*x2,x2*x3; marginals:x4*x5 @ 1e-40", BITS)
    counted = MWEM(rounds="annealed").accounted(workload, budget)
    names = workload.domain.names
    light, heavy = (
        first_charges(workload, counted, [*names[:4], *light], counted.limit, each=0.01, total=300.0)
        for light in (names[4:], ())
    )
    assert light.min() == pytest.approx(1e-3 * light[:4].sum() / 6.0, rel=1e-2)
    assert light[:4] / light[:4].sum() == pytest.approx(heavy / heavy.sum(), rel=1e-12)
    release = MWEM(rounds="annealed").run(TABLE, workload, budget, noise=SeededNoise(0))
    assert sum(event.charge for event in release.events) <= release.budget.limit
