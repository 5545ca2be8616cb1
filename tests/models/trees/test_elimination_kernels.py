"""Compiled products against numpy's, at the edges of their tiles; separators of a tree by definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.models import Forest, JunctionTree
from hedgerow.models.trees.elimination_kernels import _add_products, products, separator_maps
from tests.models.strategies import domain_of


@given(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
def test_products_of_small_matrices(stack: int, rows: int, inner: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.random((stack, rows, inner)), rng.random((stack, inner, columns))
    np.testing.assert_allclose(products(left, right), left @ right, rtol=1e-13)


def test_arrays_that_cannot_be_written_to_are_not_compiled_for_again() -> None:
    left = np.ones((1, 2, 2))
    expected = products(left, left)
    known = list(_add_products.signatures)  # type: ignore[attr-defined]
    left.flags.writeable = False
    np.testing.assert_array_equal(products(left, left), expected)
    assert list(_add_products.signatures) == known  # type: ignore[attr-defined]


@pytest.mark.parametrize("rows", [3, 4, 5])
@pytest.mark.parametrize("inner", [63, 64, 66, 131])
@pytest.mark.parametrize("columns", [255, 256, 257])
def test_products_at_the_edges_of_tiles(rows: int, inner: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    left, right = rng.normal(size=(2, rows, inner)), rng.normal(size=(2, inner, columns))
    np.testing.assert_allclose(products(left, right), left @ right, rtol=1e-11, atol=1e-12)


def test_maps_lead_from_cliques_to_separators() -> None:
    domain = domain_of(2, 3, 4, 2, 5)
    tree = JunctionTree.of(domain, [("x0", "x1", "x2"), ("x1", "x2", "x3"), ("x2", "x4")])
    forest = Forest.of(domain, [tree])
    starts, members, slots, other, _, shared, cells = forest.flat
    firsts = np.concatenate([[0], np.cumsum(cells.astype(np.int64))])
    places = np.concatenate([[0], np.cumsum(np.repeat(cells.astype(np.int64), np.diff(slots)))])
    maps = np.empty(places[-1], dtype=np.int32)
    counts = separator_maps(starts, members, slots, shared, forest.sizes, firsts, places, maps)
    strides = forest.strides
    for i, clique in enumerate(tree.cliques):
        codes = np.indices(tree.shapes[i]).reshape(len(clique), -1)
        assert (strides[starts[i] : starts[i + 1]] @ codes).tolist() == list(range(tree.sizes[i]))
        for e in range(slots[i], slots[i + 1]):
            names = tree.separator(i, int(other[e]))
            shape = domain.shape_of(names)
            expected = np.ravel_multi_index([codes[clique.index(name)] for name in names], shape)
            assert counts[e] == np.prod(shape)
            assert maps[places[e] : places[e + 1]].tolist() == expected.tolist()
