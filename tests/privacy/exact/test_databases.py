"""The choice of a database through the curator: its law over all neighbours of all tiny tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from hedgerow.arrays import Floats
from hedgerow.errors import BudgetExceededError, ConfigError, QueryError
from hedgerow.privacy import ZCDP, Budget, Curator, PureDP, SeededNoise
from hedgerow.queries import Neighbours, Workload
from tests.privacy.randomness.laws import exponential_log_law
from tests.privacy.randomness.test_laws import pairs
from tests.privacy.replay import ExplodingNoise
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(2)
WORKLOADS = {
    "parities": Workload.parities(DOMAIN, 2).by_query(),
    "cells": Workload.marginals(DOMAIN, 2).by_query(),
    "rows": Workload.explicit(DOMAIN, ("a", "b"), [[0.1, -0.7, 1 / 3, 0.25], [0, 0, 3.0, -5.5]]).by_query(),
}


class LawNoise(SeededNoise):
    """Writes down the law of the choice."""

    log_law: Floats

    def __init__(self) -> None:
        super().__init__(0)

    def choose(self, scores: Floats, scale: float) -> int:
        self.log_law = exponential_log_law(scores, scale)
        return super().choose(scores, scale)


def law(source: DenseCounts, workload: Workload, answers: Floats, budget: Budget) -> tuple[Floats, float]:
    noise = LawNoise()
    made = Curator(source, budget, noise=noise)
    assert 0 <= made.select_database(workload, answers, budget.limit) < len(answers)
    return noise.log_law, made.ledger.spent


def databases(workload: Workload) -> Floats:
    """One that fits in all queries, one that errs far in the first, and random ones."""
    generator = np.random.default_rng(3)
    answers = generator.normal(size=(6, workload.n_queries)) * 2.0
    answers[0], answers[1] = 0.0, 0.0
    answers[1, 0] = 40.0
    return np.concatenate([answers, -answers])


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_choice_of_a_database_loses_at_most_its_charge(name: str, relation: Neighbours) -> None:
    workload, worst = WORKLOADS[name], 0.0
    for source, neighbour in pairs(relation, 2):
        here, spent = law(source, workload, databases(workload), PureDP(1.0, relation))
        there, _ = law(neighbour, workload, databases(workload), PureDP(1.0, relation))
        worst = max(worst, float(np.abs(here - there).max()))
        assert worst <= spent + 1e-9
        rho_here, rho = law(source, workload, databases(workload), ZCDP(0.3, relation))
        rho_there, _ = law(neighbour, workload, databases(workload), ZCDP(0.3, relation))
        for order in (1.001, 2.0, 16.0):
            divergence = float(logsumexp(order * rho_here - (order - 1) * rho_there)) / (order - 1)
            assert divergence <= order * rho + 1e-9
    assert worst > 0.4


def test_scores_are_the_largest_errors() -> None:
    workload, source = WORKLOADS["parities"], DenseCounts(DOMAIN, [3, 0, 1, 2])
    answers = databases(workload)
    found, _ = law(source, workload, answers, PureDP(0.5))
    scores = -np.abs(workload.answers(source) - answers).max(axis=1) * 0.5 / 2
    assert np.allclose(found, scores - logsumexp(scores), atol=1e-3)


REFUSED: dict[str, tuple[Any, ...]] = {
    "whole marginals": (Workload.marginals(DOMAIN, 2), np.zeros((2, 4)), 0.5, QueryError, "single queries"),
    "one row": (WORKLOADS["parities"], np.zeros(3), 0.5, QueryError, "one row"),
    "no rows": (WORKLOADS["parities"], np.zeros((0, 3)), 0.5, QueryError, "one row"),
    "too few": (WORKLOADS["parities"], np.zeros((2, 2)), 0.5, QueryError, "one row"),
    "not a number": (WORKLOADS["parities"], np.full((2, 3), np.nan), 0.5, QueryError, "not finite"),
    "huge": (WORKLOADS["parities"], np.full((2, 3), 2.0**32), 0.5, QueryError, "2\\^31"),
    "another domain": (Workload.parities(binary(3), 1).by_query(), np.zeros((2, 3)), 0.5, QueryError, "domains"),
    "no charge": (WORKLOADS["parities"], np.zeros((2, 3)), 0.0, ConfigError, "charge"),
    "too dear": (WORKLOADS["parities"], np.zeros((2, 3)), 1.5, BudgetExceededError, "does not cover"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_come_before_anything_is_read_or_charged(case: str) -> None:
    workload, answers, charge, error, words = REFUSED[case]
    source = DenseCounts(DOMAIN, [3, 0, 1, 2])
    made = Curator(source, PureDP(1.0), noise=ExplodingNoise())
    with pytest.raises(error, match=words):
        made.select_database(workload, answers, charge)
    assert (source.reads, made.ledger.events) == (0, ())


def test_a_failure_is_paid() -> None:
    made = Curator(DenseCounts(DOMAIN, [3, 0, 1, 2]), PureDP(1.0), noise=ExplodingNoise())
    with pytest.raises(RuntimeError, match="drawn"):
        made.select_database(WORKLOADS["parities"], np.zeros((2, 3)), 0.5)
    assert made.ledger.spent == pytest.approx(0.5)
