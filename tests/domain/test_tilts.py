"""Densities inside bins: the formula on plain lists, draws beside their distribution, and what does not lean."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

from hedgerow import MWEM, PureDP, SeededNoise, Workload
from hedgerow.data import read_table
from hedgerow.domain import Binned, Domain, OpenDomain
from hedgerow.domain.tilts import leaning, tilts_of, tilts_of_positions
from hedgerow.release import Records


def slow(attribute: Binned, counts: list[float]) -> list[float]:
    bins = []
    for code in range(attribute.ordinary):
        low, high = attribute.edges[code], attribute.edges[code + 1]
        if attribute.whole:
            least, most = attribute.whole_bounds(code)
            low, high = least, most + 1
        bins.append((low, high, max(counts[code], 0.0) / (high - low)))
    found = []
    for code, (low, high, density) in enumerate(bins):
        beside = []
        for other in (code - 1, code + 1):
            if not 0 <= other < len(bins):
                continue
            first, last, there = bins[other]
            if attribute.whole and 1.0 in {last - first, high - low}:
                continue
            beside.append((there - density) / ((first + last) / 2 - (low + high) / 2))
        slope = 0.0
        if len(beside) == 1:
            slope = beside[0]
        elif (beside and min(beside) > 0) or (beside and max(beside) < 0):
            size = min(2 * min(map(abs, beside)), abs(sum(beside)) / 2)
            slope = size if beside[0] > 0 else -size
        if density == 0.0 or slope == 0.0:
            found.append(float(np.sign(slope)))
        else:
            found.append(min(1.0, max(-1.0, slope * (high - low) / 2 / density)))
    return found


@example(counts=[0.0, 0.0, 1.3e-296], whole=False, seed=0)  # the product of two slopes is lost
@given(
    counts=st.lists(st.floats(-2, 100) | st.just(0.0), min_size=3, max_size=12),
    whole=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_tilts_are_those_of_the_plain_formula(counts: list[float], whole: bool, seed: int) -> None:
    widths = np.random.default_rng(seed).integers(1, 5, len(counts))
    attribute = Binned("x", np.append(0, np.cumsum(widths)).tolist(), whole=whole, missing="?")
    assert np.allclose(tilts_of(attribute, np.array([*counts, 7.0])), slow(attribute, counts), atol=1e-9)


@given(tilt=st.floats(-1, 1), part=st.floats(0, 1, exclude_max=True))
def test_draws_reach_their_part_of_the_distribution(tilt: float, part: float) -> None:
    (at,) = leaning(np.array([part]), np.array([tilt]))
    assert 0.0 <= at < 1.0
    assert abs(at + tilt * (at * at - at) - part) < 1e-9


@given(position=st.floats(-0.48, 0.48), width=st.sampled_from([0.5, 1, 2, 3, 7, 100]), whole=st.booleans())
def test_numbers_are_drawn_with_the_mean_position_that_was_measured(position: float, width: float, whole: bool) -> None:
    """At 100,000 evenly spread parts, so that nothing is random."""
    whole = whole and width >= 1
    attribute = Binned("x", (0, width + whole, 2 * width + 2), whole=whole)
    (tilt, even) = tilts_of_positions(attribute, np.array([position, 0.0]))
    parts = leaning((np.arange(100_000) + 0.5) / 100_000, np.full(100_000, tilt))
    numbers = np.floor(parts * (width + 1)) if whole else parts * width
    assert even == 0.0
    assert numbers.mean() / width - 0.5 == pytest.approx(position, abs=2e-3)
    assert 0.0 <= parts.min() <= parts.max() < 1.0


def test_points_and_their_neighbours() -> None:
    attribute = Binned("cost", (0, 1, 11, 21, 31, 31.5), whole=True)
    tilts = tilts_of(attribute, np.array([500.0, 30.0, 20.0, 10.0, 900.0]))
    assert tilts[[0, 4]].tolist() == [0.0, 0.0]
    assert np.allclose(tilts[1:4], [-1 / 6, -1 / 4, -1 / 2])


def test_numbers_follow_their_tilts_and_stay_in_their_bins() -> None:
    """20,000 draws a bin; a mean 6 standard errors off comes by chance once in 5e8 runs, and the seed is fixed."""
    domain = Domain([Binned("x", (0, 10, 30)), Binned("w", (0, 10, 30), whole=True)])
    codes = np.repeat([[0, 0], [1, 1]], 20_000, axis=0)
    tilts = {name: np.array([0.6, -1.0]) for name in domain.names}
    records = Records(codes, domain, seed=3, tilts=tilts)
    table = records.to_arrow()
    for name, shift in (("x", 0.0), ("w", 0.5)):
        found = table.column(name).to_numpy().reshape(2, -1)
        wide = 21 if name == "w" else 20
        expected = [10 * (0.5 + 0.6 / 6) - shift, 10 + wide * (0.5 - 1 / 6) - shift]
        assert np.allclose(found.mean(axis=1), expected, atol=6 * wide / 12**0.5 / 20_000**0.5)
    assert np.array_equal(np.stack(read_table(table, domain).columns, axis=1), codes)


def test_records_of_a_release_lean_as_its_hypothesis_does() -> None:
    """The quartiles of a skewed column in wide bins are nearer than those of flat bins."""
    rng = np.random.default_rng(1)
    values = np.minimum(rng.exponential(15.0, 20_000), 99.9)
    domain = Domain([Binned("cost", range(0, 101, 10)), Binned("y", (0, 1, 2))])
    table = read_table(pa.table({"cost": values, "y": np.zeros(20_000)}), domain)
    release = MWEM(rounds=1).run(table, Workload.parse("marginals:cost", domain), PureDP(10.0), noise=SeededNoise(1))
    records = release.sample(20_000, seed=1)
    flat = Records(records.codes, domain, seed=1)
    true, leant, plain = (
        np.quantile(each, [0.25, 0.5, 0.75])
        for each in (values, *(made.to_arrow().column("cost").to_numpy() for made in (records, flat)))
    )
    assert np.abs(leant - true).sum() < 0.5 * np.abs(plain - true).sum()


def test_learnt_bins_lean_by_the_same_rule_and_points_come_back_exactly() -> None:
    entry = {"min": 0, "max": 999, "step": 0.5, "points": [0, 100], "bins": {"learn": 4}}
    wanted = OpenDomain({"x": entry, "y": 2})
    cuts = [wanted.fine["x"].edges.index(start) for start in (20, 60, 400)]  # type: ignore[attr-defined]
    learnt = wanted.with_bins({"x": cuts})["x"]
    assert isinstance(learnt, Binned)
    assert learnt.learnt
    assert learnt.edges == (0, 1, 20, 60, 200, 201, 400, 1998)
    counts = np.array([900.0, 190.0, 200.0, 140.0, 500.0, 199.0, 700.0])
    tilts = tilts_of(learnt, counts)
    assert np.allclose(tilts, slow(learnt, counts.tolist()))
    assert tilts[[0, 4]].tolist() == [0.0, 0.0]
    codes = np.repeat(np.arange(7), 5_000)[:, None]
    found = Records(codes, Domain([learnt]), seed=2, tilts={"x": tilts}).to_arrow().column("x").to_numpy()
    assert set(found[codes[:, 0] == 0]) == {0.0}
    assert set(found[codes[:, 0] == 4]) == {100.0}
    assert np.array_equal(np.searchsorted(learnt.edges, found * 2, side="right") - 1, codes[:, 0])
    for code in (1, 2, 3, 5, 6):
        low, high = learnt.whole_bounds(code)
        numbers, steps = found[codes[:, 0] == code] * 2, np.arange(low, high + 2)
        parts = (steps - low) / (high + 1 - low)
        expected = parts + tilts[code] * (parts * parts - parts)  # the distribution of the tilt, at the ends of steps
        reached = np.searchsorted(np.sort(numbers), steps, side="left") / 5_000
        assert np.abs(reached - expected).max() < 3.1 / 5_000**0.5  # a chance of 2 exp(-2 3.1^2), and the seed is fixed
