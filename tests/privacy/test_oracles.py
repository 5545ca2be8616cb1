"""What is charged and promised, against two accountants of others (`loss_distributions`).

Each mechanism is there with the two laws that are worst for it, written out apart from the code. Its charges, added up
and converted, must never promise a smaller epsilon than those laws have, in any regime and however mechanisms are
mixed; nor may they be looser than the factors that stand here, which were measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import hedgerow.privacy.budgets.regime as regime_module
import hedgerow.privacy.mechanisms.selection as selection_module
import hedgerow.privacy.mechanisms.thresholds as thresholds_module
from hedgerow.privacy import (
    GRID,
    ApproxDP,
    ExponentialMechanism,
    GaussianNoise,
    IndependentDraws,
    LaplaceNoise,
    PermuteAndFlip,
    Regime,
    Selection,
    SparseVector,
    ThresholdedCounts,
    epsilon_of,
    epsilon_of_half_square,
)
from hedgerow.privacy.budgets import limits
from tests.examples import examples
from tests.privacy.mechanisms.watch_law import watch_log_law
from tests.privacy.mutants import Mutant, killed
from tests.privacy.randomness.laws import (
    exponential_log_law,
    gaussian_log_pmf,
    laplace_log_pmf,
    permute_and_flip_log_law,
)
from tests.reference.loss_distributions import OPAKE, Pair, epsilons, least_delta, opake_epsilon

DELTAS = (1e-3, 1e-6, 1e-9)
NEVER = -math.inf


# ---- the laws --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Use:
    """One use of a mechanism.

    Attributes:
        mechanism: As it is charged.
        pairs: Its values one by one: the laws of each on two neighbouring tables.
        delta: What it adds to delta.
    """

    mechanism: Any
    pairs: tuple[Pair, ...]
    delta: float = 0.0

    def fits(self, regime: Regime) -> bool:
        if isinstance(self.mechanism, PermuteAndFlip):
            return regime is Regime.PURE
        noise = getattr(self.mechanism, "noise", self.mechanism)
        return regime is not Regime.PURE or not isinstance(noise, GaussianNoise)


@cache
def shifted(kind: str, scale: float, shift: int = 1) -> Pair:
    """Noise on a whole number, and on one so far from it."""
    reach = math.ceil({"laplace": 80.0, "gaussian": 14.0}[kind] * scale) + 3
    law = {"laplace": laplace_log_pmf, "gaussian": gaussian_log_pmf}[kind]
    values = np.arange(-reach, reach + shift + 1)
    return Pair.of(law(values, scale), law(values - shift, scale))


def laplace(scale: float) -> Use:
    return Use(LaplaceNoise(scale), (shifted("laplace", scale),))


def laplace_of_a_replaced_record(scale: float) -> Use:
    return Use(LaplaceNoise(scale, 2.0), (shifted("laplace", scale), shifted("laplace", scale)))


def gaussian(sigma: float) -> Use:
    return Use(GaussianNoise(sigma), (shifted("gaussian", sigma),))


def gaussian_of_a_replaced_record(sigma: float) -> Use:
    return Use(GaussianNoise(sigma, math.nextafter(2.0**0.5, 2.0)), (shifted("gaussian", sigma),) * 2)


def scores(share: float) -> tuple[list[float], list[float]]:
    """Some scores that move up together, and all others that move down: the log-weights move as far as they can."""
    rises = max(1, round(share * 8))
    return [0.0] * rises + [1.0] * (8 - rises), [1.0] * rises + [0.0] * (8 - rises)


def selected(mechanism: Selection, law: Callable[..., Any], share: float, draws: int = 1) -> Use:
    one, other = scores(share)
    return Use(mechanism, (Pair.of(law(one, mechanism.scale), law(other, mechanism.scale)),) * draws)


def exponential(scale: float) -> Use:
    return selected(ExponentialMechanism(scale), exponential_log_law, 0.5)


def exponential_of_a_rare_candidate(scale: float) -> Use:
    return selected(ExponentialMechanism(scale), exponential_log_law, 0.1)


def permuting(scale: float) -> Use:
    return selected(PermuteAndFlip(scale), permute_and_flip_log_law, 0.1)


def draws(scale: float) -> Use:
    return selected(IndependentDraws(scale, 1.0, 5), exponential_log_law, 0.5, 5)


def sparse_vector(scale: float, fires: int = 1, tests: int = 8) -> Use:
    """All transcripts of values above the threshold that move together, and of one far below it that moves apart."""
    mechanism = SparseVector(scale, 2.0 * scale, 1.0, fires)
    laws = []
    for sign in (-1, 1):
        margins = [round((scale + sign / 2.0) / GRID)] * (tests - fires)
        margins += [round((-4.0 * scale - sign / 2.0) / GRID)] * fires
        laws.append([_transcript(scale, margins, said) for said in _transcripts(tests, fires)])
    return Use(mechanism, (Pair.of(*laws),))


def sparse_vector_of_two_fires(scale: float) -> Use:
    return sparse_vector(scale, 2)


def _transcripts(tests: int, fires: int) -> list[tuple[bool, ...]]:
    found = []
    for said in itertools.product([False, True], repeat=tests):
        ends = [at for at in range(1, tests + 1) if sum(said[:at]) == fires]
        found.append(said[: ends[0]] if ends else said)
    return list(dict.fromkeys(found))


def _transcript(scale: float, margins: Sequence[int], said: tuple[bool, ...]) -> float:
    scales = [2.0 * scale / GRID] * len(said)
    return float(watch_log_law(scale / GRID, margins[: len(said)], scales, said))


def label_that_one_table_has(scale: float) -> Use:
    """A label of one record, which is told if its noisy count reaches the threshold; without it there is nothing."""
    told = ThresholdedCounts(GaussianNoise(scale), math.ceil(4 * scale))
    values = np.arange(told.threshold, told.threshold + math.ceil(14 * scale))
    above = gaussian_log_pmf(values - 1, scale)
    nothing = math.log1p(-float(np.exp(above).sum()))
    return Use(told, (Pair.of([nothing, *above], [0.0, *([NEVER] * len(values))]),), told.delta(1))


def label_that_both_have(scale: float) -> Use:
    told = ThresholdedCounts(LaplaceNoise(scale), math.ceil(12 * scale))
    return Use(told, (shifted("laplace", scale),), told.delta(1))


USES: dict[str, Callable[[float], Use]] = {
    use.__name__.replace("_", " "): use
    for use in (
        *(laplace, laplace_of_a_replaced_record, gaussian, gaussian_of_a_replaced_record),
        *(exponential, exponential_of_a_rare_candidate, permuting, draws, sparse_vector, sparse_vector_of_two_fires),
        *(label_that_one_table_has, label_that_both_have),
    )
}
SCALES = (1.0, 10.0)


@cache
def use_of(name: str, scale: float) -> Use:
    return USES[name](scale)


# ---- what is promised ------------------------------------------------------------------------------------------------


def promised(regime: Regime, uses: Sequence[tuple[Use, int]], delta: float) -> tuple[float, float]:
    """The (epsilon, delta) of all charges together."""
    spent = float(sum((times * Fraction(use.mechanism.charge(regime)) for use, times in uses), Fraction(0)))
    converted = {
        Regime.PURE: lambda: spent,
        Regime.ZCDP: lambda: epsilon_of(math.nextafter(spent, math.inf), delta),
        Regime.GDP: lambda: epsilon_of_half_square(math.nextafter(spent, math.inf), delta),
    }[regime]()
    return converted, (0.0 if regime is Regime.PURE else delta) + sum(times * use.delta for use, times in uses)


def pairs_of(uses: Sequence[tuple[Use, int]]) -> list[tuple[Pair, int]]:
    return [(pair, times) for use, times in uses for pair in use.pairs]


def is_never_too_small(regime: Regime, uses: Sequence[tuple[Use, int]], delta: float) -> None:
    """No epsilon that is promised is below that of the laws, at the delta that is promised with it."""
    epsilon, in_all = promised(regime, uses, delta)
    if in_all > 0.0:
        low, _ = epsilons(pairs_of(uses), in_all)
        assert epsilon >= low * (1.0 - 1e-9), f"{epsilon} is promised, and the laws have {low}"
    else:
        assert least_delta(pairs_of(uses), epsilon) <= 1e-12


MIXES: dict[str, tuple[tuple[str, float, int], ...]] = {
    "noise": (("laplace", 10.0, 20), ("gaussian", 10.0, 20)),
    "rounds of a selection and noise": (("exponential", 10.0, 12), ("gaussian", 3.0, 12)),
    "a domain that is learnt, then rounds": (
        *(("label that one table has", 10.0, 1), ("exponential", 10.0, 6)),
        *(("draws", 10.0, 2), ("gaussian of a replaced record", 10.0, 8)),
    ),
    "a session": (("sparse vector", 10.0, 6), ("laplace", 10.0, 6), ("sparse vector of two fires", 10.0, 2)),
    "all of pure cost": (
        *(("laplace", 3.0, 2), ("laplace of a replaced record", 10.0, 3), ("exponential of a rare candidate", 3.0, 2)),
        *(("draws", 10.0, 1), ("sparse vector", 3.0, 1), ("label that both have", 3.0, 2)),
    ),
}


def of_a_mix(name: str) -> list[tuple[Use, int]]:
    return [(use_of(each, scale), times) for each, scale, times in MIXES[name]]


def no_mechanism_is_too_cheap() -> None:
    for regime, name, scale, delta in itertools.product(Regime, USES, SCALES, DELTAS):
        if (use := use_of(name, scale)).fits(regime):
            is_never_too_small(regime, [(use, 1)], delta)
            is_never_too_small(regime, [(use, 16)], delta)


def no_mix_is_too_cheap() -> None:
    for regime, name, delta in itertools.product(Regime, MIXES, DELTAS):
        if all(use.fits(regime) for use, _ in of_a_mix(name)):
            is_never_too_small(regime, of_a_mix(name), delta)


def no_limit_is_too_high() -> None:
    """What an (epsilon, delta) budget lets through, all of it spent on one thing, has no more than its delta."""
    for regime, epsilon, delta, times in itertools.product(Regime, (0.3, 2.0), (1e-3, 1e-9), (1, 8)):
        limit = ApproxDP(epsilon, delta, regime=regime).limit / times
        uses = [laplace(LaplaceNoise.for_charge(regime, limit).scale)]
        chosen = ExponentialMechanism.for_charge(regime, limit)
        assert chosen.charge(regime) <= limit
        uses.append(exponential(chosen.scale))
        if regime is not Regime.PURE:
            uses.append(gaussian(GaussianNoise.for_charge(regime, limit).sigma))
        for use in uses:
            assert use.mechanism.charge(regime) <= limit * 1.03  # choices here by epsilon^2 / 8
            low, _ = epsilons(pairs_of([(use, times)]), delta)
            assert low <= epsilon


@pytest.mark.slow
def test_every_mechanism() -> None:
    no_mechanism_is_too_cheap()


def test_every_mix() -> None:
    no_mix_is_too_cheap()


def test_every_limit() -> None:
    no_limit_is_too_high()


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(
    st.sampled_from(Regime),
    st.lists(
        st.tuples(st.sampled_from(list(USES)), st.sampled_from(SCALES), st.integers(1, 30)), min_size=1, max_size=5
    ),
    st.sampled_from(DELTAS),
)
def test_any_mix(regime: Regime, listed: list[tuple[str, float, int]], delta: float) -> None:
    uses = [(use_of(name, scale), times) for name, scale, times in listed]
    is_never_too_small(regime, [each for each in uses if each[0].fits(regime)] or [(laplace(3.0), 1)], delta)


# ---- how loose it is -------------------------------------------------------------------------------------------------

LOOSE = {Regime.ZCDP: 1.35, Regime.GDP: 1.6}
"""What is promised of forty uses of noise, or of rounds of a selection and noise, at most, in epsilons of the laws."""


@pytest.mark.parametrize("regime", LOOSE)
@pytest.mark.parametrize("name", ["noise", "rounds of a selection and noise"])
@pytest.mark.parametrize("delta", DELTAS)
def test_what_is_promised_of_many_uses_is_not_far_off(regime: Regime, name: str, delta: float) -> None:
    epsilon, in_all = promised(regime, of_a_mix(name), delta)
    _, high = epsilons(pairs_of(of_a_mix(name)), in_all)
    assert high <= epsilon <= LOOSE[regime] * high


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("sigma", [1.0, 3.0, 10.0])
def test_gaussian_noise_costs_what_it_must(sigma: float, delta: float) -> None:
    """Under GDP next to nothing is given away but what the lattice costs, under zCDP a fifth at most."""
    uses = [(gaussian(sigma), 16)]
    low, high = epsilons(pairs_of(uses), delta)
    lattice = 1.0 + 1.0 / (12.0 * sigma**2)
    assert low <= promised(Regime.GDP, uses, delta)[0] <= 1.001 * lattice * high
    assert low <= promised(Regime.ZCDP, uses, delta)[0] <= 1.2 * high


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("laplace", 1.0),
        ("laplace of a replaced record", 1.0),
        ("exponential", 2.0),
        ("exponential of a rare candidate", 1.3),
        ("permuting", 1.3),
        ("sparse vector", 1.01),
        ("sparse vector of two fires", 1.1),
    ],
)
@pytest.mark.parametrize("scale", SCALES)
def test_pure_epsilons_are_attained(name: str, factor: float, scale: float) -> None:
    """At a small delta. Where as many scores rise by one as fall by one, half of the epsilon that is paid is lost."""
    uses = [(use_of(name, scale), 1)]
    _, high = epsilons(pairs_of(uses), 1e-12)
    assert promised(Regime.PURE, uses, 0.0)[0] <= factor * (high + 1e-9)


# ---- the other engine ------------------------------------------------------------------------------------------------

sigmas = st.lists(st.sampled_from([2.0, 3.0, 7.5, 20.0, 100.0]), min_size=1, max_size=12)


@settings(max_examples=examples(40))
@given(sigmas, st.sampled_from(DELTAS))
def test_a_ledger_of_gaussian_noise_has_the_epsilon_of_the_other_engine(found: list[float], delta: float) -> None:
    mus = [1.0 / sigma for sigma in found]
    cost = sum(mu * mu / 2.0 for mu in mus)
    theirs = opake_epsilon(delta, mus)
    assert epsilon_of_half_square(cost, delta) == pytest.approx(theirs, rel=OPAKE, abs=1e-6)
    assert theirs * (1.0 - OPAKE) - 1e-6 <= epsilon_of(cost, delta) <= 1.5 * theirs


@settings(max_examples=examples(40))
@given(sigmas, st.sampled_from(DELTAS), st.lists(st.sampled_from([1e-12, 1e-10, 3e-10]), max_size=3))
def test_thresholds_take_from_delta_what_they_do_there(found: list[float], delta: float, kept: list[float]) -> None:
    """Our charges of discrete noise, and the deltas of thresholds, against continuous noise and the same deltas."""
    uses = [(GaussianNoise(sigma), sigma) for sigma in found]
    theirs = opake_epsilon(delta, [1.0 / sigma for _, sigma in uses], [(0.0, each) for each in kept])
    for regime, convert in ((Regime.ZCDP, epsilon_of), (Regime.GDP, epsilon_of_half_square)):
        spent = sum(noise.charge(regime) for noise, _ in uses)
        assert convert(spent, delta - sum(kept)) >= theirs * (1.0 - OPAKE) - 1e-6  # its grid rounds up


@settings(max_examples=examples(20))
@given(
    st.lists(st.sampled_from(["laplace", "exponential", "draws", "sparse vector"]), min_size=1, max_size=4),
    st.lists(st.sampled_from([3.0, 7.5, 20.0]), min_size=1, max_size=3),
)
def test_pure_events_beside_noise_are_within_what_the_other_engine_adds_up(
    names: list[str], found: list[float]
) -> None:
    """Its epsilon of a mix is an upper bound: pure epsilons are added to that of the noise. The laws stay below it."""
    uses = [(use_of(name, 10.0), 1) for name in names]
    noise = [1.0 / sigma for sigma in found]
    theirs = opake_epsilon(1e-6, noise, [(promised(Regime.PURE, [each], 0.0)[0], 0.0) for each in uses])
    pure = promised(Regime.PURE, uses, 0.0)[0]
    assert theirs == pytest.approx(pure + opake_epsilon(1e-6, noise), abs=2e-4 * (len(names) + len(found)))
    low, _ = epsilons([*pairs_of(uses), *((shifted("gaussian", sigma), 1) for sigma in found)], 1e-6)
    assert low <= theirs * (1.0 + OPAKE) + 2e-4


# ---- what the oracles notice -----------------------------------------------------------------------------------------


def half_a_rho(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(regime_module, "pure_rho", lambda epsilon: epsilon * math.tanh(epsilon / 2.0) / 2.0)


def a_sixteenth_for_a_range(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(selection_module, "square_range_rho", lambda epsilon: epsilon**2 / 16.0)


def a_narrow_range(patch: pytest.MonkeyPatch) -> None:
    """One sensitivity in place of two: right for scores that all move one way."""
    patch.setattr(Selection, "epsilon", property(lambda self: self.sensitivity / self.scale))


def half_the_price_of_tests(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        SparseVector,
        "epsilon",
        property(
            lambda self: self.sensitivity / self.threshold_scale + self.fires * self.sensitivity / self.test_scale
        ),
    )


def thresholds_for_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(thresholds_module, "tail_of", lambda noise, least: 1e-300)
    use_of.cache_clear()


def the_conversion_of_continuous_noise(patch: pytest.MonkeyPatch) -> None:
    """A conversion that is off by the delta of the conversion: Mironov's, without its logarithm of the order."""
    patch.setitem(globals(), "epsilon_of", lambda rho, delta: rho + math.sqrt(rho * math.log(1.0 / delta)))


def a_rho_of_twice_the_limit(patch: pytest.MonkeyPatch) -> None:
    kept = limits.rho_of
    patch.setattr(limits, "rho_of", lambda epsilon, delta: 2.0 * kept(epsilon, delta))


MUTANTS = (
    Mutant("an oracle: half a rho for pure noise", half_a_rho, no_mechanism_is_too_cheap),
    Mutant("an oracle: epsilon^2 / 16 for a range", a_sixteenth_for_a_range, no_mechanism_is_too_cheap),
    Mutant("an oracle: half an epsilon for a selection", a_narrow_range, no_mechanism_is_too_cheap),
    Mutant(
        "an oracle: tests of a sparse vector at half their price", half_the_price_of_tests, no_mechanism_is_too_cheap
    ),
    Mutant("an oracle: thresholds for nothing", thresholds_for_nothing, no_mechanism_is_too_cheap),
    Mutant("an oracle: half of the conversion's root", the_conversion_of_continuous_noise, no_mix_is_too_cheap),
    Mutant("an oracle: a limit of twice the rho", a_rho_of_twice_the_limit, no_limit_is_too_high),
)


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    yield
    use_of.cache_clear()


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
