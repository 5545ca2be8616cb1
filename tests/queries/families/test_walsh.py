"""The fast Walsh-Hadamard transform against its matrix."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.queries.families.walsh import hadamard, walsh_hadamard


def naive(bits: int) -> np.ndarray:
    return np.array([[(-1.0) ** (row & column).bit_count() for column in range(2**bits)] for row in range(2**bits)])


@pytest.mark.parametrize("bits", range(9))
def test_the_transform_is_the_product_with_the_matrix(bits: int) -> None:
    table = np.random.default_rng(bits).normal(size=(2,) * bits)
    np.testing.assert_array_equal(hadamard(bits), naive(bits))
    np.testing.assert_allclose(walsh_hadamard(table), naive(bits) @ table.reshape(-1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("bits", [10, 13])
def test_twice_gives_the_table_back(bits: int) -> None:
    table = np.random.default_rng(bits).integers(0, 100, size=2**bits).astype(np.float64)
    np.testing.assert_array_equal(walsh_hadamard(walsh_hadamard(table)), table * 2**bits)


def test_the_table_is_left_alone() -> None:
    table = np.ones(8)
    walsh_hadamard(table)
    assert (table == 1).all()
