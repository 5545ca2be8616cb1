"""Runs of DualQuery replayed on every neighbour, the law of every round enumerated, and bugs that this must notice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

import hedgerow.privacy.mechanisms.selection as selection_module
from hedgerow import DualQuery
from hedgerow.algorithms import BruteForce
from hedgerow.algorithms.dual_query.run import DualQueryRun
from hedgerow.arrays import Floats, Ints
from hedgerow.privacy import ZCDP, Budget, NoiseSource, PureDP, SeededNoise, epsilon_of
from hedgerow.queries import Neighbours, Workload
from hedgerow.release import Release
from tests.privacy.mutants import Mutant, killed
from tests.privacy.randomness.laws import exponential_log_law
from tests.privacy.replay import Output, RecordingNoise, ReplayNoise, log_likelihood, record
from tests.privacy.tables import DenseCounts, binary, neighbours_of

RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
PAIR = binary(2)
CELLS = Workload.marginals(PAIR, 2, whole=False)
PARITIES = Workload.parities(PAIR, 2)
SIGNED = Workload.explicit(PAIR, ["a", "b"], [[0.0, 0.5, -1.0, 2.0], [3.0, 0.0, 0.0, 1.0]])
WHOLE = Workload.marginals(PAIR, 1)
SHORT = DualQuery(rounds=3, samples=2, seed=0, oracle=BruteForce(), error_share=0.0)

VARIANTS = {
    "cells": (SHORT, CELLS),
    "parities": (replace(SHORT, samples=1), PARITIES),
    "signed values": (SHORT, SIGNED),
    "whole marginals": (replace(SHORT, rounds=4, error_share=0.1), WHOLE),
    "everything": (replace(SHORT, rounds=2), CELLS + PARITIES + SIGNED),
    "auto": (DualQuery(seed=0, oracle=BruteForce()), CELLS),
    "fixed step": (DualQuery(seed=0, oracle=BruteForce(), step=0.5, error_share=0.0), PARITIES),
}


def run_of(config: DualQuery, workload: Workload, budget: Budget) -> Callable[[DenseCounts, NoiseSource], Release]:
    return lambda source, noise: config.run(source, workload, budget, noise=noise)


def tables(workload: Workload) -> Iterator[DenseCounts]:
    cells = workload.domain.size
    yield DenseCounts(workload.domain, [8] + [0] * (cells - 1))
    yield DenseCounts(workload.domain, [0] * (cells - 1) + [1])
    yield DenseCounts(workload.domain, np.arange(cells) % 3)


class UnlikelyNoise(SeededNoise):
    """Draws the least likely query every time: transcripts that lose most."""

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        return np.full(size, int(np.argmin(scores)), dtype=np.int64)


def unlikely(run: Callable[[DenseCounts, NoiseSource], Release], source: DenseCounts) -> tuple[Output, ...]:
    noise = RecordingNoise(UnlikelyNoise(0))
    run(source, noise)
    return tuple(noise.transcript)


def losses(config: DualQuery, workload: Workload, budget: Budget, seeds: range) -> Iterator[float]:
    """Exact privacy losses of drawn and of unlikely transcripts, for all neighbours."""
    run = run_of(config, workload, budget)
    for source in tables(workload):
        for transcript in [unlikely(run, source), *(record(run, source, seed) for seed in seeds)]:
            here = log_likelihood(run, source, transcript)
            for neighbour in neighbours_of(source, budget.neighbours):
                yield here - log_likelihood(run, neighbour, transcript)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_no_transcript_loses_more_than_epsilon(name: str, relation: Neighbours) -> None:
    config, workload = VARIANTS[name]
    for epsilon in (0.5, 6.0):
        worst = max(abs(loss) for loss in losses(config, workload, PureDP(epsilon, relation), range(2)))
        assert worst <= epsilon + 1e-9


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["cells", "parities"])
def test_some_transcripts_lose_most_of_epsilon(name: str, relation: Neighbours) -> None:
    # Without this, a replay that never looked at the table would pass the test above.
    config, workload = VARIANTS[name]
    worst = max(abs(loss) for loss in losses(config, workload, PureDP(12.0, relation), range(1)))
    assert 0.5 * 12.0 < worst <= 12.0 + 1e-9


class LawsAlong(ReplayNoise):
    """Replays a transcript, and writes down the law of every draw."""

    def __init__(self, transcript: tuple[Output, ...]) -> None:
        super().__init__(transcript)
        self.laws: list[Floats] = []

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        self.laws.append(exponential_log_law(scores, scale))
        return super().draw(scores, scale, size)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["cells", "parities", "signed values"])
def test_the_law_of_each_round_moves_by_at_most_its_epsilon(name: str, relation: Neighbours) -> None:
    """Enumerated over all queries and neighbours: |log-ratio| <= epsilon_t, and Renyi <= alpha epsilon_t^2 / 8."""
    config, workload = VARIANTS[name]
    step = 0.7
    config = replace(config, rounds=4, step=step, samples=2)
    run, largest = run_of(config, workload, PureDP(100.0, relation)), 0.0
    for source in tables(workload):
        transcript = record(run, source, 1)

        def laws(table: DenseCounts, replayed: tuple[Output, ...] = transcript) -> tuple[list[Floats], float]:
            noise = LawsAlong(replayed)
            release = run(table, noise)
            return noise.laws, release.total

        here, total = laws(source)
        sensitivity = 0.5 if workload is PARITIES and relation is Neighbours.ADD_REMOVE else 1.0
        for neighbour in neighbours_of(source, relation):
            there, same_total = laws(neighbour)
            assert same_total == total
            for t, (p, q) in enumerate(zip(here, there, strict=True), start=2):
                epsilon = 2 * step * (t - 1) * sensitivity / total * (1 + 1e-3)  # widths are rounded to 10 bits
                assert np.abs(p - q).max() <= epsilon + 1e-9
                largest = max(largest, float(np.abs(p - q).max()) / epsilon)
                for alpha in (1.01, 2.0, 8.0):
                    divergence = float(logsumexp(alpha * p - (alpha - 1) * q)) / (alpha - 1)
                    assert divergence <= alpha * epsilon**2 / 8 + 1e-9
    assert largest > 0.5


@pytest.mark.audit
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["cells", "parities", "whole marginals"])
def test_replayed_transcripts_stay_below_delta(name: str, relation: Neighbours) -> None:
    # E_D (1 - exp(epsilon - loss))_+ is the smallest delta; its average over transcripts, values in [0, 1], passes the
    # delta of the rho-curve by Hoeffding's sqrt(ln(1 / p) / (2 N)) with probability p = 1e-6 at most.
    config, workload = VARIANTS[name]
    budget, runs = ZCDP(0.5, relation), 600
    run, source = run_of(config, workload, budget), DenseCounts(workload.domain, [3, 1, 1, 0])
    transcripts = [record(run, source, seed) for seed in range(runs)]
    here = np.array([log_likelihood(run, source, transcript) for transcript in transcripts])
    slack = math.sqrt(math.log(1e6) / (2 * runs))
    for neighbour in list(neighbours_of(source, relation))[:4]:
        loss = here - np.array([log_likelihood(run, neighbour, transcript) for transcript in transcripts])
        for delta in (0.2, 0.1, 0.05, 0.01):
            epsilon = epsilon_of(budget.rho, delta)
            assert float(np.mean(np.maximum(0.0, -np.expm1(epsilon - loss)))) <= delta + slack


# ---- bugs ------------------------------------------------------------------------------------------------------------


def no_transcript_loses_more_than_its_charges() -> None:
    """Exact losses against the sum of the ledger, whatever budget was given."""
    for relation in RELATIONS:
        for workload in (CELLS, PARITIES):
            config = replace(SHORT, samples=3, rounds=2)
            run = run_of(config, workload, PureDP(9.0, relation))
            for source in tables(workload):
                transcript = unlikely(run, source)
                here = ReplayNoise(transcript)
                spent = run(source, here).spent
                for neighbour in neighbours_of(source, relation):
                    loss = here.log_probability - log_likelihood(run, neighbour, transcript)
                    assert abs(loss) <= spent + 1e-9


def a_run_learns() -> None:
    """Nearly without noise the largest error is small; a wrong sign leaves it above 0.3."""
    source = DenseCounts(PAIR, np.array([60, 25, 10, 5]) * 10_000)
    release = DualQuery(rounds=100, samples=100, seed=0, oracle=BruteForce()).run(
        source, CELLS, PureDP(50.0), noise=SeededNoise(0)
    )
    error = np.abs(CELLS.answers(release.model) - CELLS.answers(source)).max() / source.total()
    assert error < 0.1


def wrong_sign(patched: pytest.MonkeyPatch) -> None:
    drawn = DualQueryRun._drawn

    def complements(session: DualQueryRun) -> np.ndarray:
        n = session._queries.n_queries
        found = drawn(session)
        return (found + n) % (2 * n) if session.records else found

    patched.setattr(DualQueryRun, "_drawn", complements)


def one_sample_charged(patched: pytest.MonkeyPatch) -> None:
    charge = selection_module.IndependentDraws.charge
    patched.setattr(selection_module.IndependentDraws, "charge", lambda self, regime: charge(self, regime) / self.draws)


def twice_the_step(patched: pytest.MonkeyPatch) -> None:
    """Draws at twice the learning rate that is charged."""
    charge = selection_module.IndependentDraws.charge
    patched.setattr(
        selection_module.IndependentDraws,
        "charge",
        lambda self, regime: charge(replace(self, scale=2.0 * self.scale), regime),
    )


MUTANTS = [
    Mutant("DualQuery: sign of the draws", wrong_sign, a_run_learns),
    Mutant("DualQuery: s samples charged as one", one_sample_charged, no_transcript_loses_more_than_its_charges),
    Mutant("DualQuery: draws with twice eta", twice_the_step, no_transcript_loses_more_than_its_charges),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_bugs_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
