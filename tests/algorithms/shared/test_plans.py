"""Plans that are read by people."""

from __future__ import annotations

import pytest

from hedgerow.algorithms import memory_line


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (3 * 2**20, "3.0 MiB"),
        (9_999 * 2**20, "9,999.0 MiB"),
        (20 * 2**30, "20.0 GiB"),
        (20 * 2**40, "20.0 TiB"),
        (10**30, "more than 10,000 TiB"),
    ],
)
def test_memory_is_told_in_a_unit_that_people_can_read(amount: int, told: str) -> None:
    line = memory_line(amount, 2**30, "all cells", process=amount)[1]
    assert line.startswith(f"about {told} for the process, {told} for all cells;")
