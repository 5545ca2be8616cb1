"""Parities of packed attributes against products of signs, record by record."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from hedgerow.data import Table, count_parities
from hedgerow.data.counting import bits, marginals as counting
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.queries import filled_axes

Ints = NDArray[np.int64]


def reference(columns: Sequence[NDArray[np.uint8]], weights: Ints | None, sets: Sequence[Sequence[int]]) -> list[int]:
    signs = [1 - 2 * column.astype(object) for column in columns]
    ones = np.ones(len(columns[0]), dtype=object) if weights is None else weights.astype(object)
    return [int(np.sum(np.prod([ones, *(signs[axis] for axis in axes)], axis=0))) for axes in sets]


def random_columns(n: int, m: int, seed: int) -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(seed)
    return [(rng.random(n) < share).astype(np.uint8) for share in rng.random(m)]


@given(
    n=st.integers(1, 200),
    m=st.integers(1, 7),
    largest=st.sampled_from([None, 0, 1, 6, 2**40]),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_parities_are_sums_of_products_of_signs(
    n: int, m: int, largest: int | None, seed: int, data: st.DataObject
) -> None:
    columns = random_columns(n, m, seed)
    weights = None if largest is None else np.random.default_rng(seed).integers(0, largest, n, endpoint=True)
    sets = data.draw(st.lists(st.sets(st.integers(0, m - 1)).map(sorted), max_size=12))
    assert count_parities(columns, weights, filled_axes(sets)).tolist() == reference(columns, weights, sets)


@pytest.mark.many(quick=8)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (64 * 16, 5), (40_000, 3), (70_001, 37)])
def test_all_sets_in_order_and_out_of_it(
    monkeypatch: pytest.MonkeyPatch, n: int, m: int, threads: int, weighted: bool
) -> None:
    """Several tiles of words, several runs of attributes, several threads."""
    monkeypatch.setattr(bits, "_WORDS_PER_THREAD", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(threads)))
    columns = random_columns(n, m, seed=n)
    weights = np.random.default_rng(1).integers(0, 5, n) if weighted else None
    order = min(m, 4 if m < 10 else 3)
    sets = list(chain.from_iterable(combinations(range(m), k) for k in range(1, order + 1)))
    found = count_parities(columns, weights, filled_axes(sets))
    some = np.random.default_rng(2).permutation(len(sets))[:60]
    assert found[some].tolist() == reference(columns, weights, [sets[i] for i in some])
    assert found[some].tolist() == count_parities(columns, weights, filled_axes([sets[i] for i in some])).tolist()
    assert found[:-1].tolist() == count_parities(columns, weights, filled_axes(sets[:-1])).tolist()


@pytest.mark.parametrize("weights", [[], [0, 0, 0], [2, 4, 6], [1, 4, 8], [0, 2**31, 0]], ids=repr)
@pytest.mark.parametrize("m", [2, 5])
def test_no_row_counts_an_odd_number_of_times_or_there_is_no_row(
    monkeypatch: pytest.MonkeyPatch, weights: list[int], m: int
) -> None:
    """A binary digit that no weight has leaves no words to count: what memory held before must not show."""
    monkeypatch.setattr(np, "empty", lambda shape, dtype=np.float64: np.full(shape, 77, dtype))
    columns = random_columns(len(weights), m, seed=1)
    given, sets = np.array(weights, dtype=np.int64), list(combinations(range(m), 2)) + list(combinations(range(m), 3))
    for each in (given, None) if not weights else (given,):
        assert count_parities(columns, each, filled_axes(sets)).tolist() == reference(columns, each, sets)


def test_pairs_of_a_thousand_attributes_equal_the_matrix_product() -> None:
    columns = random_columns(1_000, 1_000, seed=0)
    signs = np.array([1 - 2 * column.astype(np.float64) for column in columns])
    found = count_parities(columns, None, filled_axes(combinations(range(1_000), 2)))
    np.testing.assert_array_equal(found, (signs @ signs.T)[np.triu_indices(1_000, 1)])


def test_a_table_answers_by_name_and_by_position() -> None:
    domain = Domain(IntegerRange(name, 0, top) for name, top in zip("abcd", (1, 2, 1, 1), strict=True))
    table = Table(domain, [[0, 1, 1], [2, 0, 1], [1, 1, 0], [1, 0, 0]], [1, 2, 5])
    assert table.parities([("a", "c"), (), ("a",)]).tolist() == [-1 + 2 - 5, 8, 1 - 2 - 5]
    assert table.parities(np.array([[0, 2], [3, -1]])).tolist() == [-1 + 2 - 5, -1 + 2 + 5]
    assert table.parities([]).shape == (0,)
    with pytest.raises(QueryError, match="2 codes; 'b' has 3"):
        table.parities([("a", "b")])


@pytest.mark.parametrize("weighted", [False, True])
def test_marginals_of_binary_attributes_come_from_bits_and_equal_those_of_blocks(
    monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    """All cliques of up to three of 20 binary attributes, in any order and twice, with others among them."""
    columns = random_columns(500, 20, seed=4)
    domain = Domain(
        [IntegerRange("x", 0, 2), *(IntegerRange(f"b{i}", 0, 1) for i in range(20)), IntegerRange("y", 0, 8)]
    )
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 7, 500) if weighted else None
    table = Table(domain, [rng.integers(0, 3, 500), *columns, rng.integers(0, 9, 500)], weights)
    cliques = [clique for k in range(4) for clique in combinations(domain.names, k)]
    cliques = [cliques[i] for i in rng.permutation(len(cliques))] + [("b3", "b7"), ("b1", "b2", "b3", "b4")]
    axes = [domain.axes(clique) for clique in cliques]
    packed = counting._packed(domain, weights, axes)
    assert len(packed) == sum(math.comb(20, k) for k in range(4)) + 1
    found = table.marginals(cliques)
    monkeypatch.setattr(counting, "_CLIQUES_PER_PACKED", 1000)
    assert not counting._packed(domain, weights, axes)
    for clique, own, other in zip(cliques, found, table.marginals(cliques), strict=True):
        assert own.shape == domain.shape_of(clique)
        np.testing.assert_array_equal(own, other)


def test_large_totals_are_not_transformed() -> None:
    """Sums of eight parities would not be exact."""
    domain = Domain(IntegerRange(f"b{i}", 0, 1) for i in range(16))
    total = 2**53 - 1
    table = Table(domain, [[0, 1]] * 16, [1, total - 1])
    triples = list(combinations(domain.names, 3))
    assert not counting._packed(domain, table.weights, list(combinations(range(16), 3)))
    assert {tuple(table[[0, 1], [0, 1], [0, 1]].tolist()) for table in table.marginals(triples)} == {(1.0, total - 1.0)}
    assert table.parities([("b0", "b1"), ("b0", "b1", "b2")]).tolist() == [total, 2 - total]
