"""Whole runs of MWEM, replayed on every neighbour: the exact privacy loss of a transcript (theory.md section 9)."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.domain import Domain, IntegerRange, width_level
from hedgerow.models import Sweeps
from hedgerow.privacy import ZCDP, PureDP, epsilon_of
from hedgerow.queries import Neighbours, NoiseKind, Workload
from tests.algorithms.shared.whole_runs import every_transcript, losses, run_of
from tests.privacy.replay import log_likelihood, record
from tests.privacy.tables import DenseCounts, binary, neighbours_of

RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
PAIR, TRIPLE = binary(2), binary(3)
CELLS = Workload.marginals(PAIR, 2, whole=False)
PARITIES = Workload.parities(TRIPLE, 3)
WHOLE = Workload.marginals(TRIPLE, 2)
QUARTERS = IntegerRange("a", 0, 3)
LINE = Domain([QUARTERS], [width_level(QUARTERS, 2)])
MIXED = Workload.marginals(TRIPLE, 2).weighted(0.5) + Workload.parities(TRIPLE, 2)
PAPER = MWEM(rounds=2, refit=None, output="average", offsets=False, repeats=True)

VARIANTS = {
    "paper": (PAPER, CELLS),
    "listing": (MWEM(rounds=2, refit=Sweeps(5), offsets=False, error_share=0.0), CELLS),
    "parities": (MWEM(rounds=2), PARITIES),
    "whole marginals": (MWEM(rounds=2), WHOLE),
    "every candidate": (MWEM(rounds=3), WHOLE),
    "mixed": (MWEM(rounds=3), MIXED),
    "sharp": (MWEM(rounds=2, refit=None, step="sharp"), PARITIES),
    "histogram": (MWEM(rounds=2, initial="histogram"), CELLS),
    "one-way": (MWEM(rounds=2, initial="one-way"), WHOLE),
    "adaptive": (MWEM(rounds="adaptive"), WHOLE),
    "bound": (MWEM(rounds="bound"), CELLS),
    "auto": (MWEM(rounds="auto"), PARITIES),
    "levels of a line": (MWEM(), Workload.prefixes(LINE, "a")),
    "permute-and-flip": (MWEM(rounds=2, law="permute-and-flip"), CELLS),
    "mostly selection": (MWEM(rounds=2, selection_share=0.9, error_share=0.2, total_share=0.2), WHOLE),
}


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_no_transcript_loses_more_than_epsilon(name: str, relation: Neighbours) -> None:
    config, workload = VARIANTS[name]
    for epsilon in (0.5, 4.0):
        worst = max(abs(loss) for loss in losses(config, workload, PureDP(epsilon, relation), range(1)))
        assert worst <= epsilon + 1e-9


ONE = binary(1)
ALONE = MWEM(rounds=1, error_share=0.0)
WORST = {
    "one cell": (ALONE, Workload.conjunctions(ONE, ["a = 0"]), [3, 2]),
    "one parity": (ALONE, Workload.parities(ONE, 1), [3, 2]),
    "one marginal": (ALONE, Workload.marginals(ONE, 1), [3, 2]),
    "a cell of the worse half": (MWEM(rounds=1, repeats=True, error_share=0.0), CELLS, [9, 9, 0, 0]),
    "mostly selection": (
        MWEM(rounds=1, error_share=0.0, selection_share=0.9),
        Workload.marginals(PAIR, 1),
        [6, 2, 2, 1],
    ),
}


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", WORST)
def test_worst_cases_come_near_epsilon(name: str, relation: Neighbours) -> None:
    # Without this, a replay that never looked at the table would pass the test above.
    config, workload, histogram = WORST[name]
    run, source = run_of(config, workload, PureDP(2.0, relation)), DenseCounts(workload.domain, histogram)
    found = []
    for seed in range(8):
        transcript = record(run, source, seed)
        here = log_likelihood(run, source, transcript)
        found += [abs(here - log_likelihood(run, there, transcript)) for there in neighbours_of(source, relation)]
    assert 0.5 * 2.0 < max(found) <= 2.0 + 1e-9


@pytest.mark.audit
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_no_transcript_loses_more_than_epsilon_at_length(name: str, relation: Neighbours) -> None:
    config, workload = VARIANTS[name]
    for epsilon in (0.1, 8.0):
        worst = max(abs(loss) for loss in losses(config, workload, PureDP(epsilon, relation), range(8)))
        assert worst <= epsilon + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2])
def test_the_renyi_divergence_of_all_transcripts_is_at_most_alpha_rho(rounds: int) -> None:
    # One binary attribute, its two cells as candidates: few enough transcripts to enumerate them all.
    workload = Workload.marginals(binary(1), 1, whole=False)
    budget = ZCDP(1.5 * rounds, Neighbours.REPLACE)
    config = MWEM(rounds=rounds, repeats=True, error_share=0.0, refit=Sweeps(3), selection_share=0.3)
    run = run_of(config, workload, budget)
    source, neighbour = DenseCounts(workload.domain, [3, 1]), DenseCounts(workload.domain, [2, 2])
    pairs = [
        (log_likelihood(run, source, transcript), log_likelihood(run, neighbour, transcript))
        for transcript in every_transcript(run, source)
    ]
    here, there = np.array(pairs).T
    assert np.exp(here).sum() == pytest.approx(1.0, abs=1e-9)
    largest = 0.0
    for alpha in (1.01, 1.5, 2.0, 4.0):
        for p, q in ((here, there), (there, here)):
            divergence = float(np.log(np.sum(np.exp(alpha * p + (1 - alpha) * q)))) / (alpha - 1)
            assert divergence <= alpha * budget.rho + 1e-6
            largest = max(largest, divergence / (alpha * budget.rho))
    assert largest > 0.5


ZCDP_VARIANTS = {
    "paper": (PAPER, CELLS),
    "whole marginals": (MWEM(rounds=2), WHOLE),
    "parities with Laplace noise": (MWEM(rounds=2, noise=NoiseKind.LAPLACE), PARITIES),
    "adaptive": (MWEM(rounds="adaptive"), WHOLE),
    "histogram": (MWEM(rounds=2, initial="histogram"), CELLS),
}


@pytest.mark.audit
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ZCDP_VARIANTS)
def test_replayed_transcripts_stay_below_delta(name: str, relation: Neighbours) -> None:
    # E_D (1 - exp(epsilon - loss))_+ is the smallest delta; its average over transcripts, values in [0, 1], passes the
    # delta of the rho-curve by Hoeffding's sqrt(ln(1 / p) / (2 N)) with probability p = 1e-6 at most.
    config, workload = ZCDP_VARIANTS[name]
    budget, runs = ZCDP(0.5, relation), 1000
    run, source = run_of(config, workload, budget), DenseCounts(workload.domain, [2] + [1] * (workload.domain.size - 1))
    transcripts = [record(run, source, seed) for seed in range(runs)]
    here = np.array([log_likelihood(run, source, transcript) for transcript in transcripts])
    slack = math.sqrt(math.log(1e6) / (2 * runs))
    for neighbour in islice(neighbours_of(source, relation), 6):
        loss = here - np.array([log_likelihood(run, neighbour, transcript) for transcript in transcripts])
        for delta in (0.2, 0.1, 0.05, 0.01):
            epsilon = epsilon_of(budget.rho, delta)
            assert float(np.mean(np.maximum(0.0, -np.expm1(epsilon - loss)))) <= delta + slack
