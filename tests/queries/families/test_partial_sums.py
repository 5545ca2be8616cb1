"""Shared partial sums against one sum for each marginal."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.queries import shared_marginals

NAMES = "abcdefgh"


def one_by_one(table: np.ndarray, cliques: list[tuple[str, ...]]) -> list[np.ndarray]:
    axes = NAMES[: table.ndim]
    return [table.sum(axis=tuple(i for i, name in enumerate(axes) if name not in clique)) for clique in cliques]


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=6),
    st.data(),
    st.sampled_from([np.float64, np.int64]),
    st.booleans(),
)
def test_marginals_are_sums(shape: list[int], data: st.DataObject, dtype: type, transposed: bool) -> None:
    table = np.random.default_rng(len(shape)).integers(0, 1000, size=shape[::-1]).astype(dtype).T
    table = table if transposed else np.ascontiguousarray(table)
    subsets = [clique for k in range(len(shape) + 1) for clique in combinations(NAMES[: len(shape)], k)]
    cliques = data.draw(st.lists(st.sampled_from(subsets), max_size=20))
    found = shared_marginals(table, NAMES[: len(shape)], cliques)
    for marginal, expected in zip(found, one_by_one(table, cliques), strict=True):
        assert marginal.dtype == dtype
        assert marginal.shape == expected.shape
        np.testing.assert_array_equal(marginal, expected)


@pytest.mark.parametrize("shape", [(9, 16, 7, 15, 6, 5), (2,) * 10, (3, 2, 400, 2, 2), (2, 1100, 2, 3)])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_all_marginals_of_an_order(shape: tuple[int, ...], order: int) -> None:
    names = "abcdefghij"[: len(shape)]
    table = np.random.default_rng(0).random(shape)
    cliques = list(combinations(names, order))
    for clique, marginal in zip(cliques, shared_marginals(table, names, cliques), strict=True):
        dropped = tuple(i for i, name in enumerate(names) if name not in clique)
        np.testing.assert_allclose(marginal, table.sum(axis=dropped), rtol=1e-12)


def test_results_are_arrays_of_their_own() -> None:
    table = np.ones((2, 3))
    whole, row, again, same = shared_marginals(table, "ab", [("a", "b"), ("a",), ("a",), ("a", "b")])
    for array in (whole, row):
        array[...] = 7
    assert (table == 1).all()
    assert (again == 3).all()
    assert (same == 1).all()


def test_partial_sums_stay_small_beside_the_table() -> None:
    table = np.ones((4, 6, 5, 20, 40))
    cliques = list(combinations("abcde", 2))
    shared_marginals(table, "abcde", cliques)
    tracemalloc.start()
    shared_marginals(table, "abcde", cliques)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < table.nbytes / 3
