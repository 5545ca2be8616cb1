"""Intervals of quiet answers, exactly: their risk covers the largest threshold noise of all epochs, not that of one.

An analyst who waits for the epoch with the largest threshold noise meets the maximum of all of them. A query that is
off by more than the interval's reach is then told to be close with a probability that is summed here over the lattice;
nothing is drawn.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hedgerow.algorithms import Known, Rules
from hedgerow.algorithms.online_pmw.answer import Basis
from hedgerow.arrays import Floats
from hedgerow.privacy import SparseVector
from tests.algorithms.online_pmw.cases import BUDGETS, cells, skewed, start
from tests.privacy.mutants import Mutant, killed

GRID = 2.0**-10
RISKS = (0.5, 0.2, 0.05, 1e-3, 1e-6)
WATCHES = ((0.3, 0.3), (0.3, 0.015), (0.015, 0.3), (0.1, 0.2))
"""Scales of threshold and tests, in counts: small, as sums over the lattice are; a larger unit changes nothing."""


def at_least(gaps: Floats, scale: float) -> Floats:
    """Pr(discrete Laplace noise >= gap), for whole gaps, by its closed form."""
    ratio = math.exp(-1.0 / scale)
    with np.errstate(under="ignore"):
        above, below = (ratio ** np.maximum(tail, 0) / (1 + ratio) for tail in (gaps, 1 - gaps))
    return np.where(gaps >= 1, above, 1 - below)


def miss(rules: Rules, beyond: float) -> float:
    """Pr(the largest of all thresholds' noises, less the noise of a test, passes so many counts)."""
    secret, test = rules.watch.threshold_scale / GRID, rules.watch.test_scale / GRID
    places = np.arange(-math.ceil(50 * secret), math.ceil(60 * secret))
    below = 1.0 - at_least(places + 1.0, secret)
    largest = np.diff(below**rules.draws, prepend=0.0)
    return float(largest @ at_least(math.floor(beyond / GRID) + 1.0 - places, test))


def quiet_intervals_cover_the_largest_of_all_epochs() -> None:
    """For every rule of division of the risk: half of it is for answers from data."""
    for epochs in (1, 4, 20, 150):
        for threshold, test in WATCHES:
            basis = made(SparseVector(threshold, test), epochs)
            known = Known(next(iter(cells())), 0.0, 7.0)
            for risk in RISKS:
                beyond = basis.radius(known)(risk) - 7.0
                assert miss(basis.rules, beyond) <= risk / 2.0


def made(watch: SparseVector, epochs: int) -> Basis:
    """What a session with so many epochs rests on."""
    session = start(*BUDGETS[-2], skewed(1000))
    rules = replace(session.rules, watch=watch, updates=epochs * watch.fires)
    assert rules.draws == epochs
    return replace(session._basis, rules=rules)


def test_an_interval_covers_all_epochs() -> None:
    quiet_intervals_cover_the_largest_of_all_epochs()


@pytest.mark.parametrize(("variant", "budget"), BUDGETS)
def test_intervals_of_real_sessions_cover_all_epochs(variant: str, budget: object) -> None:
    session = start(variant, budget, skewed(100_000))  # type: ignore[arg-type]
    watch, unit = session.rules.watch, 0.2 / session.rules.watch.threshold_scale
    small = replace(watch, threshold_scale=unit * watch.threshold_scale, test_scale=unit * watch.test_scale)
    rules = replace(session.rules, watch=small)
    known = Known(next(iter(cells())), 0.0, rules.threshold)
    for risk in RISKS:
        beyond = replace(session._basis, rules=rules).radius(known)(risk) - rules.threshold
        assert miss(rules, beyond) <= risk / 2.0


@pytest.mark.parametrize("epochs", [1, 20])
def test_the_bound_is_not_idle(epochs: int) -> None:
    """Where one noise outweighs the other nearly the whole share of the risk is used."""
    basis = made(SparseVector(0.3, 0.015), epochs)
    beyond = basis.radius(Known(next(iter(cells())), 0.0, 7.0))(0.05) - 7.0
    assert 0.25 * 0.025 < miss(basis.rules, beyond) <= 0.025


def one_epoch(patch: pytest.MonkeyPatch) -> None:
    """The threshold's noise bounded as if there were one epoch."""
    radius = Basis.radius

    def narrow(self: Basis, known: Known) -> object:
        def bound(risk: float) -> float:
            with pytest.MonkeyPatch.context() as within:
                within.setattr(Rules, "draws", property(lambda self: 1))
                return radius(self, known)(risk)

        return bound

    patch.setattr(Basis, "radius", narrow)


def without_the_threshold(patch: pytest.MonkeyPatch) -> None:
    """Its noise not bounded at all."""
    patch.setattr(SparseVector, "threshold_quantile", lambda self, confidence, values=1: 0.0)


def one_sided(patch: pytest.MonkeyPatch) -> None:
    """The noise of a test at four times the risk that was given to it."""
    quantile = SparseVector.test_quantile

    def narrow(self: SparseVector, confidence: float, values: int = 1) -> float:
        return quantile(self, max(1e-9, 1.0 - 4.0 * (1.0 - confidence)), values)

    patch.setattr(SparseVector, "test_quantile", narrow)


MUTANTS = (
    Mutant("the interval of one epoch", one_epoch, quiet_intervals_cover_the_largest_of_all_epochs),
    Mutant("an interval without the threshold's noise", without_the_threshold,
           quiet_intervals_cover_the_largest_of_all_epochs),
    Mutant("a test's noise at four times its risk", one_sided, quiet_intervals_cover_the_largest_of_all_epochs),
)  # fmt: skip


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
