"""Draws from a softmax: their law by exact arithmetic, the bound on rounding, random bits, and the curator's draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

import hedgerow.privacy.randomness.draws as draws_module
from hedgerow.arrays import Floats, Ints
from hedgerow.errors import BudgetExceededError, ConfigError, QueryError
from hedgerow.privacy import (
    SLACK,
    ZCDP,
    Budget,
    Curator,
    IndependentDraws,
    NoiseSource,
    OpenDPNoise,
    PureDP,
    Regime,
    SeededNoise,
    softmax_draws,
)
from hedgerow.queries import Neighbours, Workload
from tests.privacy.randomness.laws import exponential_log_law
from tests.privacy.randomness.test_laws import pairs
from tests.privacy.randomness.test_source import fits
from tests.privacy.replay import ExplodingNoise
from tests.privacy.tables import DenseCounts, binary, neighbours_of

DOMAIN = binary(2)


# ---- the law of the integer arithmetic -------------------------------------------------------------------------------


class RejectedError(Exception):
    """Other bytes are asked for than the script holds: what was drawn last was rejected."""


def scripted(*values: tuple[int, int]) -> Callable[[int], bytes]:
    """A source of random bytes that gives these integers, each of so many bytes, and nothing else."""
    chunks = [value.to_bytes(width, "little") for value, width in values]

    def random_bytes(size: int) -> bytes:
        if not chunks or len(chunks[0]) != size:
            raise RejectedError
        return chunks.pop(0)

    return random_bytes


def drawn(weights: Floats, group: tuple[int, int], member: int, coin: int) -> int | None:
    """The index drawn with these three random integers, or None if they are rejected."""
    source = scripted(group, (member << 2, 8), (coin << 11, 8))
    try:
        return int(draws_module._weighted_draws(weights, 1, source)[0])
    except RejectedError:
        return None


def accepted_coins(weights: Floats, group: tuple[int, int], member: int) -> tuple[int, int]:
    """The index that these integers propose, and for how many of all 2^53 coins it is accepted."""
    index = drawn(weights, group, member, 0)
    assert index is not None
    low, high = 0, 2**53  # accepted at low, rejected from high on
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if drawn(weights, group, member, middle) == index else (low, middle)
    return index, high


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("few", [0, 4], ids=["sorted", "looked for"])
@pytest.mark.parametrize(
    "weights",
    [
        [1.0],
        [1.0, 1.0, 1.0],
        [1.0, 0.75, 0.5, 0.3125, 0.3125],
        [0.1, 1.0, 0.3, 0.05, 1.0, 0.6],
        [1.0, 2.0**-4, 0.99 * 2.0**-3, 0.7, 0.7],
        [1.0, np.nextafter(1.0, 0.0), np.nextafter(0.5, 0.0), 0.5],
    ],
)
def test_the_enumerated_law_of_a_draw_is_exactly_proportional_to_the_weights(
    weights: list[float], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All outcomes of the first integer, all residues of the second, and the exact acceptance probability."""
    monkeypatch.setattr(draws_module, "_FEW", few)
    given = np.array(weights)
    _, exponents = np.frexp(given)
    total = sum(1 << int(exponent - exponents.min()) for exponent in exponents)
    bits = total.bit_length()
    width = (bits + 7) // 8
    law = [Fraction(0)] * len(given)
    for value in range(2**bits):
        group = (value << (8 * width - bits), width)
        if value >= total:
            assert drawn(given, group, 0, 0) is None
            continue
        proposed = [accepted_coins(given, group, member) for member in range(len(given))]
        period = next(k for k in range(1, len(given) + 1) if proposed[k:] == proposed[: len(proposed) - k])
        for index, coins in proposed[:period]:
            law[index] += Fraction(coins, 2**53) / period
    exact = [Fraction(weight) for weight in weights]
    assert [part / sum(law) for part in law] == [weight / sum(exact) for weight in exact]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 128, 200, 255, 256, 257, 1000, 40_000])
def test_integers_below_a_limit_are_uniform_over_all_bytes(limit: int) -> None:
    """Every content of the bytes of one attempt, once: each integer comes up equally often."""
    width = (limit.bit_length() + 7) // 8
    counts = np.zeros(limit, dtype=int)
    for content in range(256**width):
        try:
            (value,) = draws_module._below(limit, 1, scripted((content, width)))
        except RejectedError:
            continue
        counts[value] += 1
    assert counts.min() == counts.max() == 2 ** (8 * width - limit.bit_length())


def test_rejected_integers_are_drawn_again_from_fresh_bytes() -> None:
    assert draws_module._below(5, 3, scripted((0b111_00000_001_00000_110_00000, 3), (0b100_00000_000_00000, 2))) == [
        1,
        0,
        4,
    ]


@pytest.mark.parametrize("limit", [1, 2, 3, 1000, 2**31 - 1, 2**31])
def test_members_are_uniform(limit: int) -> None:
    """Whole periods of residues are kept and the rest is rejected, so each residue has as many of 2^62 numbers."""
    cut = 2**62 // limit * limit

    def member(number: int) -> int:
        return int(draws_module.uniform_below(np.array([limit]), scripted((number << 2, 8)))[0])

    for number in (0, 1, limit - 1, limit, cut // 2, cut - 1):
        assert member(number) == number % limit
    for number in range(cut, min(2**62, cut + 3)):
        with pytest.raises(RejectedError):
            member(number)


def test_bits_are_the_highest_of_each_word() -> None:
    words = [(2**64 - 1, 8), (1 << 11, 8), ((1 << 11) - 1, 8), (1 << 63, 8)]
    content = b"".join(value.to_bytes(width, "little") for value, width in words)
    assert draws_module._bits(4, 53, lambda size: content[:size]).tolist() == [2**53 - 1, 1, 0, 2**52]


# ---- rounding --------------------------------------------------------------------------------------------------------


def weights_of(scores: Floats, scale: float, monkeypatch: pytest.MonkeyPatch) -> Floats:
    """The floating-point weights whose law is drawn exactly."""
    caught: list[Floats] = []

    def catch(weights: Floats, size: int, random_bytes: object) -> Ints:
        caught.append(weights)
        return np.zeros(size, dtype=np.int64)

    with monkeypatch.context() as patched:
        patched.setattr(draws_module, "_weighted_draws", catch)
        softmax_draws(scores, scale, 1, bytes)
    return caught[0]


def adversarial_scores() -> Iterator[tuple[Floats, float]]:
    """On the grid of the curator: ties, far and near the cut, huge and tiny scales."""
    generator = np.random.default_rng(11)
    for scale in (2.0**-30, 1e-3, 0.1, 1 / 3, 1.0, 7.7, 1e3, 1e9, 2.0**59):
        near = np.array([0.0, -699.999, -700.0, -700.001, -1400.0, -1e-9, -1.0]) * scale
        yield np.round(near * 1024) / 1024, scale
        for spread in (3.0, 700.0, 1e9 / scale):
            scores = generator.normal(size=12) * min(spread * scale, 2e9)
            scores = np.round(scores * 1024) / 1024
            yield np.concatenate([scores, scores[:3], -scores[:3]]), scale
    yield np.array([1e9, -1e9, 1e9 - 2.0**-10, 0.0]), 1.0
    yield np.array([2.0**31, -(2.0**31)]), 2.0**31 / 350


def test_every_log_weight_is_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^-40, hence 2^-39 for log-probabilities and 2^-38 for ratios, against 50 digits."""
    worst = 0.0
    with mpmath.workdps(50):
        for scores, scale in adversarial_scores():
            largest = mpmath.mpf(float(scores.max()))
            for score, weight in zip(scores, weights_of(scores, scale, monkeypatch), strict=True):
                ideal = max((mpmath.mpf(float(score)) - largest) / mpmath.mpf(scale), mpmath.mpf(-700))
                worst = max(worst, float(abs(mpmath.log(mpmath.mpf(float(weight))) - ideal)))
    assert 2.0**-60 < worst <= SLACK / 4


def test_neighbouring_laws_differ_by_epsilon_and_the_slack_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that move by up to 1, also across the cut and where the largest one moves; 50 digits."""
    generator, widest = np.random.default_rng(12), 0.0
    with mpmath.workdps(50):
        for scores, scale in adversarial_scores():
            if scale < 0.05:  # epsilon above 40: nothing to test
                continue
            for moves in (generator.integers(-1, 2, size=len(scores)), np.where(scores == scores.max(), 1.0, -1.0)):
                here, there = (
                    [mpmath.mpf(float(weight)) for weight in weights_of(table, scale, monkeypatch)]
                    for table in (scores, scores + moves)
                )
                totals = mpmath.fsum(here), mpmath.fsum(there)
                ratios = [mpmath.log(p / totals[0] / (q / totals[1])) for p, q in zip(here, there, strict=True)]
                epsilon = mpmath.mpf(2) / mpmath.mpf(scale)
                assert max(map(abs, ratios)) <= epsilon + SLACK
                assert max(ratios) - min(ratios) <= epsilon + SLACK  # the bounded range that rho rests on
                widest = max(widest, float((max(ratios) - min(ratios)) / epsilon))
    assert widest > 0.99


# ---- samplers --------------------------------------------------------------------------------------------------------

SOURCES = [SeededNoise(21), OpenDPNoise()]
SCORES = np.array([0.0, 1.5, 3.25, 3.5, -2.0, 6.0, 6.0, -900.0])


@pytest.mark.parametrize("source", SOURCES, ids=["seeded", "secure"])
def test_draws_have_their_law_and_another_scale_is_told_apart(source: NoiseSource) -> None:
    """Chi-square at 1e-6; a tenth more or less is missed with probability below 1e-9."""
    mass = np.exp(exponential_log_law(SCORES, 2.0))
    for factor, right in ((1.0, True), (0.9, False), (1.1, False)):
        draws = source.draw(SCORES, 2.0 * factor, 60_000)
        assert draws.shape == (60_000,)
        assert draws.dtype == np.int64
        assert fits(draws, np.arange(len(SCORES)), mass) == right


@pytest.mark.parametrize("source", SOURCES, ids=["seeded", "secure"])
def test_draws_are_independent(source: NoiseSource) -> None:
    """Chi-square at 1e-6 over pairs: neighbours in one call, and the same place in two calls."""
    mass = np.exp(exponential_log_law(SCORES, 4.0))
    first, second = (source.draw(SCORES, 4.0, 30_000) for _ in range(2))
    support, both = np.arange(len(SCORES) ** 2), np.multiply.outer(mass, mass).reshape(-1)
    assert fits(first * len(SCORES) + second, support, both)
    assert fits(first[::2] * len(SCORES) + first[1::2], support, both)
    assert not fits(first * len(SCORES) + first, support, both)


@pytest.mark.parametrize("source", SOURCES, ids=["seeded", "secure"])
def test_draws_among_many_groups_of_close_scores(source: NoiseSource) -> None:
    scores = np.concatenate([np.arange(300) / 1024.0, np.full(700, -4.0), np.full(9, 1.0)])
    draws = source.draw(scores, 0.5, 60_000)
    assert fits(draws, np.arange(len(scores)), np.exp(exponential_log_law(scores, 0.5)))


def test_extreme_scores_are_drawn() -> None:
    for source in SOURCES:
        assert set(source.draw(np.array([2.0**31, -(2.0**31), 2.0**31]), 1e-3, 200).tolist()) == {0, 2}
        assert source.draw(np.array([3.0]), 1.0, 5).tolist() == [0] * 5
        assert source.draw(np.zeros(3), 1.0, 0).tolist() == []


# ---- through the curator ---------------------------------------------------------------------------------------------


class LawNoise(SeededNoise):
    """Writes down the law of the draws."""

    log_law: Floats

    def __init__(self) -> None:
        super().__init__(0)

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        self.log_law = exponential_log_law(scores, scale)
        return super().draw(scores, scale, size)


WORKLOADS = {
    "parities": Workload.parities(DOMAIN, 2).by_query(),
    "conjunctions": Workload.conjunctions(DOMAIN, ["a = 0", "a = 1 and b = 0", "b = 1"]).by_query(),
    "cells": Workload.marginals(DOMAIN, 2).by_query(),
    "rows": Workload.explicit(
        DOMAIN, ("a", "b"), [[0.1, -0.7, 1 / 3, 0.25], [100.0, 0.0, 3.0, -50.5], [0.0, 0.02, 0.0, 0.01], [5, 6, 5, 5]]
    ).by_query(),
}


def draw_law(
    source: DenseCounts, workload: Workload, answers: Floats, budget: Budget, scale: float, size: int = 3
) -> tuple[Floats, float]:
    """ln Pr of every query and complement in one draw, and what the ledger charged for all draws."""
    noise = LawNoise()
    made = Curator(source, budget, noise=noise)
    found = made.draw(workload, answers, scale, size)
    assert found.shape == (size,)
    assert (found < 2 * workload.n_queries).all()
    return noise.log_law, made.ledger.spent


def widths(workload: Workload) -> Floats:
    lows, highs = workload.limits
    return highs - lows


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_draw_never_loses_more_than_its_share_of_the_charge(name: str, relation: Neighbours) -> None:
    workload, worst = WORKLOADS[name], 0.0
    far = np.where(np.arange(workload.n_queries) % 2, 30.0, -30.0) * widths(workload)
    for answers in (np.zeros(workload.n_queries), 0.37 * widths(workload), far, -far):
        for source, neighbour in pairs(relation, 2):
            here, spent = draw_law(source, workload, answers, PureDP(99.0, relation), 4.0)
            there, _ = draw_law(neighbour, workload, answers, PureDP(99.0, relation), 4.0)
            loss = float(np.abs(here - there).max())
            assert loss <= spent / 3 + 1e-9
            worst = max(worst, loss / (spent / 3))
    # A row with values of 5 and 6 moves by up to 6 widths under add-remove, which no other row can show.
    assert worst > (0.05 if name == "rows" else 0.5)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("name", ["parities", "conjunctions"])
def test_renyi_divergence_of_a_draw_is_at_most_order_times_rho(name: str, relation: Neighbours) -> None:
    workload, worst = WORKLOADS[name], 0.0
    for source, neighbour in pairs(relation, 2):
        here, spent = draw_law(source, workload, np.zeros(workload.n_queries), ZCDP(99.0, relation), 2.0)
        there, _ = draw_law(neighbour, workload, np.zeros(workload.n_queries), ZCDP(99.0, relation), 2.0)
        for order in (1.001, 1.5, 2.0, 8.0, 64.0):
            divergence = float(logsumexp(order * here - (order - 1) * there)) / (order - 1)
            assert divergence <= order * spent / 3 + 1e-9
            worst = max(worst, divergence / (order * spent / 3))
    assert worst > 0.3


@pytest.mark.parametrize("name", WORKLOADS)
def test_scores_are_differences_in_widths_and_complements_have_the_negative(name: str) -> None:
    """Written out from the queries' values; 10 significant bits of 1 / width are kept."""
    workload, source = WORKLOADS[name], DenseCounts(DOMAIN, [3, 0, 1, 2])
    answers = np.round(0.37 * widths(workload) * 1024) / 1024
    law, _ = draw_law(source, workload, answers, PureDP(99.0), 4.0)
    scores = (workload.answers(source) - answers) / widths(workload)
    both = np.concatenate([scores, -scores]) / 4.0
    assert np.allclose(law, both - logsumexp(both), atol=0.02 if name == "rows" else 1e-12)


def test_the_complement_of_a_query_is_drawn_like_the_query_of_the_mirrored_hypothesis() -> None:
    workload, source = WORKLOADS["parities"], DenseCounts(DOMAIN, [3, 0, 1, 2])
    answers, exact = np.array([1.5, -2.0, 0.25]), workload.answers(source)
    law, _ = draw_law(source, workload, answers, PureDP(99.0), 4.0)
    mirrored, _ = draw_law(source, workload, 2 * exact - answers, PureDP(99.0), 4.0)
    assert np.array_equal(law[:3], mirrored[3:])
    assert np.array_equal(law[3:], mirrored[:3])


@pytest.mark.parametrize("budget", [PureDP(9.0), ZCDP(9.0), PureDP(9.0, Neighbours.REPLACE)])
def test_the_charge_of_draws_has_its_closed_form(budget: Budget) -> None:
    workload, made = WORKLOADS["conjunctions"], Curator(DenseCounts(DOMAIN, [3, 0, 1, 2]), budget, noise=SeededNoise(0))
    for size, scale in ((1, 2.0), (40, 700.0), (5, 1e7)):
        before = made.ledger.spent
        made.draw(workload, np.zeros(3), scale, size, label="mine")
        event, epsilon = made.ledger.events[-1], 2.0 / scale + SLACK
        charge = size * (epsilon if budget.regime is Regime.PURE else epsilon**2 / 8)
        assert event.charge == pytest.approx(charge, rel=1e-14)
        assert event.charge >= charge
        assert made.ledger.spent == pytest.approx(before + charge, rel=1e-12)
        assert (event.label, event.scale, event.sensitivity, event.values) == ("mine", scale, 1.0, size)


def test_a_refused_draw_reads_and_draws_nothing_and_a_failed_one_is_paid() -> None:
    workload, source = WORKLOADS["conjunctions"], DenseCounts(DOMAIN, [3, 0, 1, 2])
    made = Curator(source, PureDP(1.0), noise=ExplodingNoise())
    with pytest.raises(BudgetExceededError):
        made.draw(workload, np.zeros(3), 2.0, 2)
    assert (source.reads, made.ledger.events) == (0, ())
    with pytest.raises(RuntimeError, match="drawn"):
        made.draw(workload, np.zeros(3), 4.0, 1)
    assert made.ledger.spent == IndependentDraws(4.0, 1.0, 1).charge(Regime.PURE)


CONSTANT = Workload.explicit(DOMAIN, ("a",), [[2.0, 2.0], [0.0, 1.0]]).by_query()
REFUSED: dict[str, tuple[Any, ...]] = {
    "whole marginals": (Workload.marginals(DOMAIN, 2), np.zeros(4), 4.0, 2, QueryError, "single queries"),
    "a constant": (CONSTANT, np.zeros(2), 4.0, 2, QueryError, "same value everywhere"),
    "too few answers": (WORKLOADS["conjunctions"], np.zeros(2), 4.0, 2, QueryError, "answers are needed"),
    "not a number": (WORKLOADS["conjunctions"], np.full(3, np.nan), 4.0, 2, QueryError, "not finite"),
    "huge": (WORKLOADS["conjunctions"], np.full(3, 2.0**32), 4.0, 2, QueryError, "passes"),
    "another domain": (Workload.parities(binary(3), 1).by_query(), np.zeros(3), 4.0, 2, QueryError, "domains"),
    "no scale": (WORKLOADS["conjunctions"], np.zeros(3), 0.0, 2, ConfigError, "scale"),
    "scale not a number": (WORKLOADS["conjunctions"], np.zeros(3), np.nan, 2, ConfigError, "scale"),
    "no draws": (WORKLOADS["conjunctions"], np.zeros(3), 4.0, 0, ConfigError, "at least one draw"),
    "half a draw": (WORKLOADS["conjunctions"], np.zeros(3), 4.0, 1.5, ConfigError, "at least one draw"),
    "a truth": (WORKLOADS["conjunctions"], np.zeros(3), 4.0, True, ConfigError, "at least one draw"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_senseless_draws_are_refused_before_anything_is_read_or_charged(case: str) -> None:
    workload, answers, scale, size, error, words = REFUSED[case]
    source = DenseCounts(DOMAIN, [3, 0, 1, 2])
    made = Curator(source, PureDP(9.0), noise=ExplodingNoise())
    with pytest.raises(error, match=words):
        made.draw(workload, answers, scale, size)
    assert (source.reads, made.ledger.events) == (0, ())


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_one_record_moves_a_score_by_at_most_the_sensitivity(relation: Neighbours) -> None:
    """Random rows of widths from a thousandth to a hundred."""

    class ScoreNoise(SeededNoise):
        scores: Floats

        def draw(self, scores: Floats, scale: float, size: int) -> Ints:
            self.scores = scores
            return np.zeros(size, dtype=np.int64)

    generator, reached = np.random.default_rng(13), 0.0
    for _ in range(40):
        rows = generator.normal(size=(3, 4)) * 10.0 ** generator.uniform(-3, 2, size=(3, 1))
        workload = Workload.explicit(DOMAIN, ("a", "b"), rows.tolist()).by_query()
        source = DenseCounts(DOMAIN, generator.integers(0, 4, size=4) + 1)
        answers = generator.normal(size=3)

        def scores(
            table: DenseCounts, workload: Workload = workload, answers: Floats = answers
        ) -> tuple[Floats, float]:
            noise = ScoreNoise(0)
            made = Curator(table, PureDP(1e12, relation), noise=noise)
            made.draw(workload, answers, 1.0, 1)
            return noise.scores, made.ledger.events[0].sensitivity

        here, sensitivity = scores(source)
        for there in neighbours_of(source, relation):
            moved = float(np.abs(here - scores(there)[0]).max())
            assert moved <= sensitivity
            reached = max(reached, moved / sensitivity)
    assert reached > 0.95
