"""Theorem 2.3 on seeded runs: it fails at most as often as it says (theory.md section 9, statistical)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from hedgerow import MWEM
from hedgerow.algorithms import BETA, Bound
from hedgerow.domain import Domain, IntegerRange
from hedgerow.privacy import ZCDP, Budget, PureDP, SeededNoise
from hedgerow.queries import Neighbours, Workload
from tests.reference.dense_tables import DenseTables

DOMAIN = Domain(IntegerRange(name, 0, 1) for name in "abcde")
WORKLOADS = {
    "cells": Workload.marginals(DOMAIN, 2, whole=False),
    "parities": Workload.parities(DOMAIN, 3),
    "marginals": Workload.marginals(DOMAIN, 2),
}
BUDGETS: tuple[Budget, ...] = (PureDP(1.0, Neighbours.REPLACE), ZCDP(0.05, Neighbours.REPLACE))


def failures(name: str, budget: Budget, runs: int, *, part: str) -> int:
    """How many of the runs pass the bound, or the part of it that speaks of noise (which is nearly attained)."""
    workload, count = WORKLOADS[name], 0
    config = MWEM(rounds=6, refit=None, output="average", offsets=False, repeats=True, error_share=0.0)
    bound: Bound = config.plan(workload, budget, total=3000).bound
    assert bound.caveats == ()
    for seed in range(runs):
        data = DenseTables.random(DOMAIN, 3000, seed)
        release = config.run(data, workload, budget, noise=SeededNoise(seed))
        if part == "noise":
            exact = [m.target.of_table(data.marginals([m.target.scope])[0]) for m in release.measurements]
            noise = [np.abs(m.values - true).sum() for m, true in zip(release.measurements, exact, strict=True)]
            count += max(noise) > bound.noise
        else:
            answers = workload.answers(release.model) - workload.answers(data)
            count += workload.candidate_errors(answers).max() > bound.error
    return count


def allowed(runs: int, beta: float) -> int:
    """As many failures as a failure rate of ``beta`` passes with probability 1e-6 only."""
    return int(binom.isf(1e-6, runs, beta))


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_theorem_holds(name: str, budget: Budget) -> None:
    assert failures(name, budget, 20, part="error") <= allowed(20, BETA)
    assert failures(name, budget, 20, part="noise") <= allowed(20, BETA / 2)


@pytest.mark.audit
@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_theorem_holds_at_length(name: str, budget: Budget) -> None:
    assert failures(name, budget, 200, part="error") <= allowed(200, BETA)
    assert failures(name, budget, 200, part="noise") <= allowed(200, BETA / 2)


def test_the_noise_part_is_not_vacuous() -> None:
    # Twice the noise passes it often: 6 Laplace values within ln(2 T / beta) = 5.48 scales, now 2.74.
    budget = PureDP(1.0, Neighbours.REPLACE)
    bound = MWEM(rounds=6, refit=None, error_share=0.0, repeats=True).plan(WORKLOADS["cells"], budget, 3000).bound
    lattice = math.log(2 / (1 + math.exp(-1 / 12)))  # of noise of scale 12 on whole counts
    assert bound.noise == pytest.approx(2 * 6 * (math.log(2 * 6 / BETA) + lattice))
    generator = np.random.default_rng(0)
    noise = np.abs(generator.laplace(scale=2 * 12.0, size=(2000, 6))).max(axis=1)
    assert float(np.mean(noise > bound.noise)) > 0.2
