"""Offline PMW over domains too large for a histogram: trees in place of cells, and what its promise needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow import OfflinePMW
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ModelTooLargeError
from hedgerow.models import Histogram, Markov, ValueClasses
from hedgerow.privacy import ZCDP, Curator, PureDP, SeededNoise
from hedgerow.queries import Neighbours, Workload
from tests.algorithms.shared.whole_runs import ModelCounts, losses, without_histograms
from tests.privacy.tables import binary
from tests.reference.dense_tables import DenseTables

DOMAIN = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1), IntegerRange("c", 0, 3), IntegerRange("d", 0, 1)))
WORKLOADS = {
    "cells": Workload.marginals(DOMAIN, cliques=["ab", "bc", "cd"]),
    "conditions": Workload.conjunctions(DOMAIN, ["a = 1 and b = 0", "c < 2 and d = 1", "a in (0, 2)"]),
    "parities": Workload.parities(binary(4), cliques=["ab", "bc", "cd", "d"]),
    "boxes": Workload.parse("prefixes:c", DOMAIN),
}
WIDE = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
REPLACE = Neighbours.REPLACE


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_run_over_trees_gives_what_a_run_over_all_cells_gives(workload: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, config = WORKLOADS[workload], OfflinePMW(alpha=0.02, step="sharp")
    data = DenseTables.random(asked.domain, 2000, seed=1)
    dense = config.run(data, asked, ZCDP(20_000.0), noise=SeededNoise(3))
    without_histograms(monkeypatch)
    sparse = config.run(data, asked, ZCDP(20_000.0), noise=SeededNoise(3))
    assert (type(dense.model), type(sparse.model)) == (Histogram, Markov)
    assert dense.provenance.parameters == sparse.provenance.parameters
    assert dense.provenance.parameters["updates"] > 0
    assert np.abs(dense.workload.answers(dense.model) - sparse.workload.answers(sparse.model)).max() <= 1e-6


def skewed(domain: Domain, records: int) -> ModelCounts:
    """Every attribute on its own; half of the records have code 0 of each."""
    model = Markov(domain, records)
    for attribute in domain:
        model.reweigh((attribute.name,), np.log([attribute.size - 1.0, *[1.0] * (attribute.size - 1)]))
    return ModelCounts(model)


def test_the_promise_holds_over_a_domain_of_any_size() -> None:
    workload = Workload.marginals(WIDE, 1)
    config, budget, records = OfflinePMW(alpha=0.1, step="sharp"), ZCDP(10.0, REPLACE), 10**7
    plan = config.plan(workload, budget, total=records)
    assert plan.fits
    assert plan.facts["promised"]
    assert "junction trees of up to 300 cells; the domain has about 10^30" in dict(plan.lines(1.0))["memory"]
    table = skewed(WIDE, records)
    release = config.run(table, workload, budget, noise=SeededNoise(0))
    assert release.provenance.parameters["updates"] > 0
    assert np.abs(release.workload.answers(release.model) - release.workload.answers(table)).max() <= 0.4 * records


def test_ranges_of_very_many_values_are_held_in_classes() -> None:
    domain = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23)))
    workload = Workload.conjunctions(domain, ["ip < 1 and hour < 1", "ip >= 1073741824", "hour = 0"])
    config, budget, records = OfflinePMW(alpha=0.05, step="sharp"), ZCDP(10.0, REPLACE), 10**7

    class AllInOne:
        def __init__(self) -> None:
            self.domain = domain

        cheap_cells = 0
        filtered = False

        def total(self) -> int:
            return records

        def conjunctions(self, queries: Any) -> Any:
            return np.array([records * all(0 in codes for codes in query.codes) for query in queries], dtype=np.int64)

        def marginals(self, cliques: Any) -> Any:
            raise AssertionError("no table of the values is asked for")

    release = config.run(AllInOne(), workload, budget, noise=SeededNoise(0))
    assert isinstance(release.model, ValueClasses)
    answers = release.workload.answers(release.model) / records
    assert np.abs(answers - [1.0, 0.0, 1.0]).max() <= 0.2


def test_a_workload_that_cannot_be_held_whole_is_refused_before_anything_is_spent() -> None:
    # the promise speaks of all queries, so that none can be left out
    workload = Workload.marginals(WIDE, 2)
    curator = Curator(skewed(WIDE, 1000), PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(ModelTooLargeError, match="take MWEM"):
        OfflinePMW().run_with(curator, workload)
    assert curator.ledger.events == ()
    assert not OfflinePMW().plan(workload, PureDP(1.0), total=1000).fits


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_no_transcript_over_trees_loses_more_than_epsilon(
    relation: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_histograms(monkeypatch)
    workload = Workload.parse("marginals:a*b,b*c", binary(3))
    for epsilon in (0.5, 4.0):
        budget = PureDP(epsilon, relation)
        worst = max(abs(loss) for loss in losses(OfflinePMW(alpha=0.3, step="sharp"), workload, budget, range(1)))
        assert 0.02 * epsilon < worst <= epsilon + 1e-9
