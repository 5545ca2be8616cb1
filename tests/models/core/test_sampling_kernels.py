"""Compiled passes of sampling: the mean over every offset is exact, and every assignment is as likely."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from hedgerow.arrays import Floats
from hedgerow.models.core import sampling_kernels as kernels

WORD = 2**64


def state_before(offset: float) -> np.ndarray:
    """The state whose next uniform number is an offset: SplitMix64, backwards."""
    word = int(offset * 2**53) << 11
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9)):
        word = _unshifted(word, shift) * pow(factor, -1, WORD) % WORD
    return np.array([(_unshifted(word, 30) - 0x9E3779B97F4A7C15) % WORD], dtype=np.uint64)


def _unshifted(word: int, shift: int) -> int:
    """The x of ``x ^ (x >> shift)``."""
    found = word
    for _ in range(64 // shift):
        found = word ^ (found >> shift)
    return found


def rounded(rows: Floats, sizes: list[int], state: np.ndarray, least: float = 1e-290) -> np.ndarray:
    """Whole counts of all cells."""
    groups, cells = rows.shape
    starts = np.empty(groups + 1, dtype=np.int64)
    found, counts = np.empty(rows.size, dtype=np.int32), np.empty(rows.size, dtype=np.int64)
    places = (cells * np.arange(groups), np.arange(cells))
    kernels.round_rows(rows.reshape(-1), *places, np.array(sizes), least, state, (starts, found, counts))
    table = np.zeros(rows.shape, dtype=np.int64)
    for g in range(groups):
        assert (counts[starts[g] : starts[g + 1]] > 0).all()
        table[g, found[starts[g] : starts[g + 1]]] = counts[starts[g] : starts[g + 1]]
    return table


def taken(counts: list[int], wanted: int, state: np.ndarray) -> np.ndarray:
    """How much one row gives."""
    left, total = np.array(counts), np.array([sum(counts)])
    slots, firsts = np.full(wanted, -1, dtype=np.int32), np.empty(1, dtype=np.int64)
    starts = np.array([0, len(counts)])
    entries = starts, np.arange(len(counts), dtype=np.int32), left
    kernels.take(np.array([wanted]), entries, total, state, firsts, slots)
    given_up = np.array(counts) - left
    assert total[0] == left.sum()
    assert np.array_equal(np.bincount(slots, minlength=len(counts)), given_up)
    return given_up


def test_the_generator_is_run_backwards() -> None:
    for offset in (0.0, 0.25, 0.7):
        assert taken([1, 1, 1, 1], 1, state_before(offset)).argmax() == 3 - int(4 * offset)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any), st.integers(1, 9))
def test_rounding_is_exact_on_average_over_all_offsets(weights: list[int], wanted: int) -> None:
    """Counts change at multiples of 1 / (sum of the weights) alone, so the middles between them stand for all."""
    total = sum(weights)
    runs = [
        rounded(np.array([weights], dtype=np.float64), [wanted], state_before((j + 0.5) / total))[0]
        for j in range(total)
    ]
    assert np.array_equal(np.sum(runs, axis=0), wanted * np.array(weights))
    assert all(run.sum() == wanted for run in runs)
    assert all((np.abs(run - wanted * np.array(weights) / total) < 1.0).all() for run in runs)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8).filter(any), st.data())
def test_taking_is_exact_on_average_over_all_offsets(counts: list[int], data: st.DataObject) -> None:
    total = sum(counts)
    wanted = data.draw(st.integers(1, total))
    runs = [taken(counts, wanted, state_before((j + 0.5) / total)) for j in range(total)]
    assert np.array_equal(np.sum(runs, axis=0), wanted * np.array(counts))
    for run in runs:
        assert run.sum() == wanted
        assert (np.abs(run - wanted * np.array(counts) / total) < 1.0).all()


@given(st.integers(0, 2**32), st.integers(0, 10**12), st.floats(0.0, 100.0))
def test_counts_have_their_sum_whatever_the_weights(seed: int, wanted: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    rows = np.exp(rng.normal(0.0, scale, (1, 30))) * (rng.random((1, 30)) < 0.7)
    rows[0, 3] = 1.0
    counts = rounded(rows, [wanted], np.array([seed], dtype=np.uint64))[0]
    assert counts.sum() == wanted
    assert (counts[rows[0] == 0.0] == 0).all()
    assert np.abs(counts - wanted * rows[0] / rows[0].sum()).max() < 1.0 + 1e-14 * wanted


def test_groups_are_rounded_independently_of_each_other() -> None:
    """4,000 seeded runs of two even groups; a correlation beyond 6 standard errors comes by chance at 2e-9."""
    rows = np.ones((2, 2))
    first = [rounded(rows, [1, 1], np.array([seed], dtype=np.uint64))[:, 0] for seed in range(4000)]
    assert abs(np.corrcoef(np.array(first).T)[0, 1]) < 6 / 4000**0.5


def test_a_group_too_unlikely_to_have_a_law_is_even() -> None:
    for row in (np.zeros((1, 3)), np.full((1, 3), 1e-300)):
        assert sorted(rounded(row, [5], state_before(0.3))[0]) == [1, 2, 2]


@pytest.mark.parametrize("kind", ["deal", "shuffle"])
def test_every_order_is_as_likely(kind: str) -> None:
    """24 orders of 4 different slots, 24,000 seeded runs: chi-square at 1e-6."""
    state = np.array([5], dtype=np.uint64)
    orders: Counter[tuple[int, ...]] = Counter()
    for _ in range(24_000):
        found, slots = np.empty(4, dtype=np.int32), np.arange(4, dtype=np.int32)
        if kind == "shuffle":
            found = np.arange(4)
            kernels.shuffle(found, state)
        else:
            groups, one = np.zeros(4, dtype=np.int32), np.zeros(1, dtype=np.int64)
            kernels.deal(groups, np.array([4]), one, slots, state, found)
        orders[tuple(found.tolist())] += 1
    assert set(orders) == set(itertools.permutations(range(4)))
    assert stats.chisquare(list(orders.values())).pvalue > 1e-6


def test_dealing_keeps_to_the_groups() -> None:
    groups = np.array([1, 0, 1, 2, 1], dtype=np.int32)
    slots, found = np.array([7, 4, 5, 5, 9], dtype=np.int32), np.empty(5, dtype=np.int32)
    kernels.deal(groups, np.array([1, 3, 1]), np.array([0, 1, 4]), slots, np.array([3], dtype=np.uint64), found)
    assert found[1] == 7
    assert found[3] == 9
    assert sorted(found[[0, 2, 4]]) == [4, 5, 5]


def test_draws_from_rows_follow_them() -> None:
    """60,000 seeded draws from two rows: chi-square at 1e-6; cells without weight are never drawn."""
    rows = np.array([[1.0, 0.0, 3.0, 0.0], [0.0, 2.0, 2.0, 1.0]])
    groups = np.tile(np.array([0, 1], dtype=np.int32), 30_000)
    found = np.empty_like(groups)
    kernels.draw_rows(np.cumsum(rows, axis=1), groups, np.array([8], dtype=np.uint64), found)
    for g, row in enumerate(rows):
        counts = np.bincount(found[groups == g], minlength=4)
        assert counts[row == 0.0].sum() == 0
        assert stats.chisquare(counts[row > 0], 30_000 * row[row > 0] / row.sum()).pvalue > 1e-6


@given(st.lists(st.integers(2, 40), min_size=1, max_size=5), st.integers(0, 99))
def test_cells_are_split_into_codes(shape: list[int], seed: int) -> None:
    cells = np.random.default_rng(seed).integers(0, np.prod(shape), 50)
    codes = np.empty((len(shape), 50), dtype=np.uint8)
    kernels.unravel(cells.copy(), np.arange(len(shape)), np.array(shape), codes)
    assert np.array_equal(codes, np.unravel_index(cells, shape))


def test_the_largest_cells_are_split_exactly() -> None:
    sizes = (3, 715_827_882)
    cells = np.array([2**31 - 3, 715_827_882, 715_827_881], dtype=np.int32)
    codes = np.empty((2, 3), dtype=np.uint32)
    kernels.unravel(cells.copy(), np.arange(2), np.array(sizes), codes)
    assert np.array_equal(codes, np.unravel_index(cells, sizes))
