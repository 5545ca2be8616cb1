"""Ratios of sums: the sets of all ratios that the noise allows, be they intervals, two rays, or all numbers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow import MWEM, ZCDP, IndependentNoise, PureDP, Release, SeededNoise
from hedgerow.data import read_table
from hedgerow.domain import Binned, Categorical, Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.queries import Groups, Workload, parse_predicate, parse_select
from hedgerow.release import Estimate, Evidence, Noises, RatioSet, ratio_set, select_from
from tests.privacy.mutants import Mutant, killed

SIZES = (0, 5, 60, 2_000)
DOMAIN = Domain((Categorical("g", tuple("pqrs")), IntegerRange("x", 0, 9), IntegerRange("y", -3, 6)))
_GROUP = np.repeat(np.arange(4), SIZES)
_RNG = np.random.default_rng(4)
X, Y = _RNG.binomial(9, 0.3, len(_GROUP)), _RNG.integers(-3, 7, len(_GROUP))
TABLE = read_table(pa.table({"g": np.array(list("pqrs"))[_GROUP], "x": X, "y": Y}), DOMAIN)
STATEMENT = "SELECT g, AVG(x) AS a, AVG(x > 6) AS s, SUM(x) / SUM(y) AS r FROM t GROUP BY g"


def made(budget: Any, seed: int) -> Release:
    """A release of which all pairs are measured by one run."""
    return IndependentNoise().run(TABLE, Workload.marginals(DOMAIN, 2), budget, noise=SeededNoise(seed))


def truths(group: int) -> tuple[float, float, float]:
    """What the statement asks for, in a group that is not empty."""
    x, y = X[group == _GROUP], Y[group == _GROUP]
    return float(x.mean()), float((x > 6).mean()), float(x.sum() / y.sum())


def holds(cell: Estimate, number: float) -> bool:
    """Whether a set holds a number."""
    low, high = -math.inf if cell.low is None else cell.low, math.inf if cell.high is None else cell.high
    return low <= number <= high if low <= high else number <= high or number >= low


def bound_of(top: float, bottom: float, cov: Any) -> Callable[[float, float], tuple[float, float, Evidence]]:
    """Intervals of x top - y bottom with normal noise."""

    def bound(x: float, y: float) -> tuple[float, float, Evidence]:
        factors = np.array([x, -y])
        told = Evidence.of_noises(x * top - y * bottom, Noises(float(factors @ cov @ factors)), "measurement of a, b")
        return *told.ends(0.05), told

    return bound


def fieller(top: float, bottom: float, cov: Any) -> tuple[float, float] | None:
    """The roots of (top - t bottom)^2 = z^2 (its variance), in order of the set; None where all t are in it."""
    square = Noises(1.0).bound(0.05) ** 2
    a, b, c = (
        v - square * w
        for v, w in zip((bottom**2, top * bottom, top**2), (cov[1, 1], cov[0, 1], cov[0, 0]), strict=True)
    )
    if b * b - a * c <= 0.0:
        return None
    ends = sorted((b + sign * math.sqrt(b * b - a * c)) / a for sign in (-1.0, 1.0))
    return (ends[0], ends[1]) if a > 0.0 else (ends[1], ends[0])


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-100.0, 100.0), st.floats(-100.0, 100.0), st.floats(0.5, 60.0), st.floats(0.5, 60.0), st.floats(-0.9, 0.9)
)
def test_sets_of_normal_noise_are_fiellers(top: float, bottom: float, s: float, t: float, r: float) -> None:
    """Ends lie outward by at most a fifth of a percent of their distance from the estimate, as angles."""
    cov = np.array([[s * s, r * s * t], [r * s * t, t * t]])
    found, exact = ratio_set(bound_of(top, bottom, cov)), fieller(top, bottom, cov)
    assert found is not None
    if exact is None or found.high == math.inf:
        assert exact is None or abs(math.sin(math.atan(exact[0]) - math.atan(exact[1]))) < 1e-3  # hardly anything out
        return
    assert (found.low <= found.high) == (exact[0] <= exact[1])
    for end, root, outward in ((found.low, exact[0], -1.0), (found.high, exact[1], 1.0)):
        apart = outward * math.sin(math.atan(end) - math.atan(root))
        assert -1e-9 <= apart <= 2e-3


def test_sets_that_are_no_interval_are_told_as_they_are() -> None:
    cov = np.eye(2) * 100.0
    (rays, everything) = ratio_set(bound_of(50.0, 5.0, cov)), ratio_set(bound_of(5.0, 5.0, cov))
    assert rays is not None
    assert everything == RatioSet(-math.inf, math.inf)
    assert rays.high < 0.0
    assert rays.low > 1.0
    assert rays.within(-math.inf, math.inf) == (rays.low, rays.high)
    assert rays.within(0.0, math.inf) == (rays.low, math.inf)
    assert rays.within(-50.0, 50.0) == (-50.0, 50.0)
    assert RatioSet(2.0, 5.0).within(0.0, 1.0) == (0.0, 1.0)
    assert RatioSet(2.0, 5.0).estimate(3.0, 0.4, 1.0, (0.0, 1.0)) == Estimate(0.4, 0.0, 1.0)
    assert RatioSet(0.5, 5.0).estimate(3.0, 0.0, 1.0, (0.0, 1.0)) == Estimate(1.0, 0.5, 1.0)
    assert rays.estimate(0.0, 0.0, 1.0, (-math.inf, math.inf)).value in (rays.low, rays.high)
    assert rays.estimate(9.0, 0.0, 1.0, (0.0, math.inf)) == Estimate(9.0, rays.low, None)
    assert everything is not None
    assert everything.estimate(1.0, 0.0, 1.0, (-math.inf, math.inf)) == Estimate(1.0, None, None)
    assert rays.estimate(9.0, 0.0, 1.0, (-math.inf, math.inf)).halved is None


def sets_are_those_whose_intervals_hold_0() -> None:
    """Of a mean t is in the interval if and only if 0 is in that of the sum of x - t, at the ends of a fine grid."""
    for budget in (ZCDP(0.02), PureDP(2.0)):
        release = made(budget, 3)
        groups = Groups(DOMAIN, ("g",), parse_predicate("", DOMAIN))
        found = select_from(release, STATEMENT)
        for row, (mean, share, _) in enumerate(found.cells):
            for cell, most, values in ((mean, 9.0, np.arange(10.0)), (share, 1.0, np.arange(10) > 6)):
                assert cell.low is not None
                assert cell.high is not None
                for t in np.linspace(0.0, most, 60):
                    asked = release.combinations(groups.sum(row, "x", values - t))
                    told = asked.bound((1.0,), None, 0.05 if most == 1.0 else 0.0495)
                    assert told is not None
                    near = 0.02 * (cell.high - cell.low) + 1e-3 * most
                    if told[0] <= 0.0 <= told[1]:
                        assert cell.low - 1e-9 <= t <= cell.high + 1e-9
                    elif t < cell.low + near or t > cell.high - near:
                        assert not cell.low + near < t < cell.high - near


@pytest.mark.slow
def test_ratios_hold_as_often_as_they_say() -> None:
    """In 20 releases of either noise sets of 90 % hold as often as they say, of groups of 5 to 2,000 records."""
    held, number = np.zeros((3, 3)), 0
    for seed in range(20):
        for budget in (ZCDP(0.05), PureDP(0.6)):
            cells = select_from(made(budget, seed), STATEMENT, 0.9).cells
            number += 1
            for group in (1, 2, 3):
                held[group - 1] += [holds(cell, true) for cell, true in zip(cells[group], truths(group), strict=True)]
    assert (held >= 0.8 * number).all()
    assert held.sum() <= 0.985 * 9 * number


def test_means_and_shares_are_all_numbers_that_are_allowed() -> None:
    sets_are_those_whose_intervals_hold_0()


def test_sums_that_no_run_tells_together_have_sets_from_their_own_intervals() -> None:
    """Only the error of the workload speaks of y."""
    release = MWEM(rounds=2).run(TABLE, Workload.marginals(DOMAIN, 1), PureDP(20.0), noise=SeededNoise(2))
    assert {each.target.scope for each in release.measurements} == {("g",), ("x",)}
    (cell, first, second) = select_from(release, "SELECT SUM(x) / SUM(y) AS r, SUM(x), SUM(y) FROM t").cells[0]
    assert None not in (cell.low, cell.high, first.low, first.high, second.low, second.high)
    assert holds(cell, float(X.sum() / Y.sum()))
    corners = [a / b for a in (first.low, first.high) for b in (second.low, second.high)]  # type: ignore[operator]
    assert cell.low == pytest.approx(min(corners), rel=0.05)
    assert cell.high == pytest.approx(max(corners), rel=0.05)


def test_shares_and_ratios_are_read_and_refused() -> None:
    found = parse_select("select avg(x in (1, 2) and (g = 'p')) as s, sum(x) / sum(y) from t", DOMAIN)
    share, ratio = found.columns
    assert (share.kind, share.about, share.heading) == ("share", ("g", "x"), "s")
    assert (ratio.kind, ratio.about, ratio.heading) == ("ratio", ("x", "y"), "SUM(x) / SUM(y)")
    assert found.scopes == (("g", "x"), ("x", "y"))
    for text, message in (
        ("avg(x = 1", "is not understood"),
        ("avg()", "says nothing of any column"),
        ("sum(x) / 3", "does not follow /"),
        ("sum(x) / sum(x)", "to itself"),
        ("sum(x) / sum(g)", "has no numbers"),
    ):
        with pytest.raises(QueryError, match=message):
            parse_select(f"select {text} from t", DOMAIN)


def rays_stay_what_they_are() -> None:
    """Of a group that may be empty nothing is told, of another no number that is allowed is left out."""
    cells = select_from(made(ZCDP(0.02), 1), STATEMENT).cells
    assert (cells[0][0].low, cells[0][0].high) == (0.0, 9.0)
    assert (cells[0][1].low, cells[0][1].high) == (0.0, 1.0)
    assert (cells[0][2].low, cells[0][2].high) == (None, None)
    (cell,) = select_from(made(ZCDP(2.0), 1), "SELECT SUM(x) / SUM(y) FROM t").cells[0]
    assert None not in (cell.low, cell.high)


def ratios_of_bins_hold_wherever_values_lie() -> None:
    """Whatever bins are divided by, the smallest and the largest numbers in all of them are allowed."""
    domain = Domain((Binned("pay", (1, 10, 100), whole=True), IntegerRange("x", 0, 9)))
    pay = np.arange(900) % 2
    table = read_table(pa.table({"pay": np.array([5, 50])[pay], "x": np.arange(900) % 10}), domain)
    release = MWEM(rounds=1).run(table, Workload.marginals(domain, 2), PureDP(20.0), noise=SeededNoise(0))
    (top, bottom) = select_from(release, "SELECT SUM(pay) / SUM(x) AS a, SUM(x) / SUM(pay) AS b FROM t").cells[0]
    for numbers in (np.array([1, 10]), np.array([9, 100])):
        ratio = float(numbers[pay].sum() / (np.arange(900) % 10).sum())
        assert holds(top, ratio)
        assert holds(bottom, 1.0 / ratio)


def test_rays_and_bins() -> None:
    rays_stay_what_they_are()
    ratios_of_bins_hold_wherever_values_lie()


def _halfway(monkeypatch: pytest.MonkeyPatch) -> None:
    circle: Any = inspect.getmodule(ratio_set)._Circle  # type: ignore[union-attr]
    edge = circle.edge

    def halfway(self: Any, outside: float, guess: float, side: float) -> float:
        found: float = edge(self, outside, guess, side)
        inside = self.inside + math.pi * round((found - self.inside) / math.pi)
        return float(found + inside) / 2.0

    monkeypatch.setattr(circle, "edge", halfway)


def _lower_ends(self: Any, factor: float) -> Any:
    return ((factor, 0.0),) * 2


MUTANTS = [
    Mutant("ends lie halfway to the estimate", _halfway, sets_are_those_whose_intervals_hold_0),
    Mutant(
        "two rays are shown as what is between them",
        lambda monkeypatch: monkeypatch.setattr(RatioSet, "within", lambda self, *_: sorted((self.low, self.high))),
        rays_stay_what_they_are,
    ),
    Mutant(
        "what is divided by lies at the lower ends of bins",
        lambda monkeypatch: monkeypatch.setattr("hedgerow.release.quotients.Summands.factors", _lower_ends),
        ratios_of_bins_hold_wherever_values_lie,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_ratio_that_leaves_something_out_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
