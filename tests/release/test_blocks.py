"""Measurements of blocks in files: what is written is read back, and what is no numbering is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow.domain import Domain, IntegerRange
from hedgerow.queries import Blocks, Measurement, NoiseKind
from hedgerow.release import measurements_from_list, measurements_to_list

DOMAIN = Domain((IntegerRange("age", 0, 5),))
PLACES = np.array([0, 0, 1, 1, 1, 2])


def stored() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    blocks = Blocks(DOMAIN, ("age",), PLACES)
    return measurements_to_list([Measurement(blocks, np.array([10.0, 20.0, 40.0]), NoiseKind.LAPLACE, 2.0)])


def test_blocks_are_read_back() -> None:
    (found,) = measurements_from_list(*stored(), DOMAIN)
    assert isinstance(found.target, Blocks)
    assert found.target.places.tolist() == PLACES.tolist()


@pytest.mark.parametrize("place", [-1.0, 0.5, 3.0, 6.0, 1e18, float("nan"), float("inf")])
def test_forged_blocks_are_refused(place: float) -> None:
    entries, arrays = stored()
    (name,) = (name for name, array in arrays.items() if array.size == PLACES.size)
    arrays[name][1] = place
    with pytest.raises(ValueError, match=r"block|finite"):
        measurements_from_list(entries, arrays, DOMAIN)


def test_a_forged_number_of_blocks_is_refused() -> None:
    entries, arrays = stored()
    entries[0]["target"]["cells"] = 6
    with pytest.raises(ValueError, match="6 blocks has 3"):
        measurements_from_list(entries, arrays, DOMAIN)
