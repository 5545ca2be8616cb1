"""MWEM about attributes of 2**32 values: ranges that are listed, boxes, limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hedgerow
from hedgerow.algorithms import Limit
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError
from hedgerow.models import ValueClasses
from hedgerow.privacy import Curator
from hedgerow.queries import Conjunction, Workload

DOMAIN = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("port", 0, 2**20 - 1), IntegerRange("hour", 0, 23)))


@pytest.fixture(scope="module")
def table() -> Table:
    """A hundred thousand records, most of them in a sixteenth of the values."""
    rng, n = np.random.default_rng(0), 100_000
    ip = rng.integers(2**31, 2**31 + 2**28, n)
    ip[::4] = rng.integers(0, 2**32, n)[::4]
    return Table(DOMAIN, [ip, (ip >> 12) % 2**20, rng.integers(0, 24, n)], None)


def mean_error(table: Table, workload: Workload, release: hedgerow.Release) -> float:
    return float(np.abs(workload.answers(table) - workload.answers(release.model)).mean())


def uniform_error(table: Table, workload: Workload) -> float:
    return float(np.abs(workload.answers(table) - workload.answers(ValueClasses(DOMAIN, 1e5))).mean())


@pytest.mark.slow
@pytest.mark.parametrize("names", [["ip"], ["ip", "port"], ["hour", "ip"]], ids="*".join)
def test_two_thousand_boxes(table: Table, names: list[str]) -> None:
    workload = Workload.ranges(DOMAIN, names, 2000, seed=5)
    mechanism = hedgerow.MWEM(rounds=20)
    assert mechanism.plan(workload, hedgerow.PureDP(1.0), total=100_000).fits
    release = mechanism.run(table, workload, hedgerow.PureDP(1.0), noise=hedgerow.SeededNoise(1))
    assert isinstance(release.model, ValueClasses)
    assert release.spent == pytest.approx(1.0)
    assert release.model.cells <= 41 ** len(names)
    assert mean_error(table, workload, release) < 0.2 * uniform_error(table, workload)
    assert len(release.sample(1000)) == 1000


def test_listed_conditions_beside_a_marginal(table: Table) -> None:
    listed = Workload.conjunctions(
        DOMAIN, [f"ip < {2**32 * i // 9} and hour between 3 and {3 + i}" for i in range(1, 9)]
    )
    workload = listed + Workload.marginals(DOMAIN, cliques=[("hour",)])
    release = hedgerow.MWEM(rounds=6).run(table, workload, hedgerow.ZCDP(0.5), noise=hedgerow.SeededNoise(2))
    assert isinstance(release.model, ValueClasses)
    assert mean_error(table, workload, release) < 0.5 * uniform_error(table, workload)


def test_boxes_that_would_make_too_many_classes_are_left_out() -> None:
    wide = Domain(IntegerRange(f"x{i}", 0, 2**40) for i in range(4))
    queries = [
        Conjunction.where(wide, {"x0": range(2**30, 2**35)}),
        Conjunction.where(wide, {name: range(2**30, 2**35) for name in wide.names}),
    ]
    workload = Workload.conjunctions(wide, queries)
    assert Limit(workload, 10_000).allows([], spent=1.0).tolist() == [True, True]
    several = dict.fromkeys(wide.names, 31)
    assert Limit(workload, 10_000).allows([("x0",)], 1.0, classes=several).tolist() == [True, False]
    assert Limit(workload, 10_000).allows_all()
    with pytest.raises(hedgerow.errors.HedgerowError):
        Limit(Workload.conjunctions(wide, queries[1:]), 60).check()


def test_the_smallest_range_of_all_values_is_found() -> None:
    """One value holds half of the records; binary search over prefixes finds it within the noise."""
    rng = np.random.default_rng(3)
    ip = rng.integers(0, 2**32, 20_000)
    ip[::2] = 123_456_789
    table = Table(DOMAIN, [ip, np.zeros(20_000, dtype=int), np.zeros(20_000, dtype=int)], None)
    cuts = [123_456_789 + offset for offset in (-(2**20), -1000, -1, 0, 1, 1000, 2**20)]
    workload = Workload.conjunctions(DOMAIN, [f"ip <= {cut}" for cut in cuts])
    release = hedgerow.MWEM(rounds=7).run(table, workload, hedgerow.PureDP(2.0), noise=hedgerow.SeededNoise(4))
    found = release.model.conjunctions([Conjunction.where(DOMAIN, {"ip": [123_456_789]})])[0]
    assert math.isclose(found, 10_000, rel_tol=0.1)


@pytest.mark.parametrize("rounds", [12, "adaptive", "annealed"])
def test_runs_whose_limit_is_reached_measure_again_what_they_measured(table: Table, rounds: Any) -> None:
    workload = Workload.ranges(DOMAIN, ["ip"], 50, seed=1)
    config = hedgerow.MWEM(rounds=rounds, largest_tree=16)
    release = config.run(table, workload, hedgerow.ZCDP(0.5), noise=hedgerow.SeededNoise(2))
    assert release.spent == pytest.approx(0.5, rel=1e-6)
    assert isinstance(release.model, ValueClasses)
    assert release.model.cells <= 16


def test_single_attributes_of_too_many_values_are_refused_before_anything_is_spent(table: Table) -> None:
    keeper = Curator(table, hedgerow.PureDP(1.0), noise=hedgerow.SeededNoise(0))
    workload = Workload.ranges(DOMAIN, ["ip"], 50, seed=1)
    config = hedgerow.MWEM(initial="one-way")
    with pytest.raises(ConfigError, match="4,294,967,296 cells in all"):
        config.run_with(keeper, workload)
    assert keeper.ledger.events == ()
    with pytest.raises(ConfigError, match="start uniform"):
        config.plan(workload, hedgerow.PureDP(1.0), total=100_000)
