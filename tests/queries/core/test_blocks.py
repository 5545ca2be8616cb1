"""Blocks of cells: sums, sensitivities over all neighbours, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.arrays import Ints
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.queries import Blocks, Neighbours
from tests.queries.core.test_sensitivities import neighbouring, tables

DOMAIN = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1)))
PLACES = np.array([[0, 1], [2, 1], [0, 0]])


def test_values_are_sums_over_blocks() -> None:
    table = np.random.default_rng(1).integers(0, 50, (3, 2)).astype(np.float64)
    expected = [table[block == PLACES].sum() for block in range(3)]
    blocks = Blocks(DOMAIN, ("a", "b"), PLACES)
    assert blocks.of_table(table).tolist() == expected
    np.testing.assert_array_equal(blocks.to_table(np.array([5.0, 6.0, 7.0])), np.array([5.0, 6.0, 7.0])[PLACES])


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_sensitivities_are_the_largest_changes_over_all_neighbours(relation: Neighbours) -> None:
    blocks = Blocks(DOMAIN, ("a", "b"), PLACES)
    l1 = l2 = 0.0
    for one, two in neighbouring(DOMAIN, relation):
        change = blocks.of_table(tables(DOMAIN)[one]) - blocks.of_table(tables(DOMAIN)[two])
        l1, l2 = max(l1, float(np.abs(change).sum())), max(l2, float(np.linalg.norm(change)))
    claimed = blocks.sensitivity(relation)
    assert (claimed.l1, claimed.l2) == pytest.approx((l1, l2), abs=1e-12)


@pytest.mark.parametrize(
    ("scope", "places"),
    [
        (("b", "a"), PLACES.T),
        ((), np.zeros(())),
        (("a",), PLACES),
        (("a",), np.array([0, 2, 0])),
        (("a",), np.array([-1, 0, 1])),
        (("a",), np.array([0, 1, 2**60])),
    ],
)
def test_other_blocks_are_refused(scope: tuple[str, ...], places: Ints) -> None:
    with pytest.raises(QueryError):
        Blocks(DOMAIN, scope, places)
