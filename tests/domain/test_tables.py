"""Tables over variables of a domain, seen over coarser ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hedgerow.domain import Clique, Domain, IntegerRange, codes_at, summed

DOMAIN = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99), IntegerRange("hours", 0, 49)))


def slowly_summed(table: np.ndarray, clique: Clique, wanted: Clique) -> np.ndarray:
    """Every cell by itself."""
    found = np.zeros(DOMAIN.shape_of(wanted))
    for cell in np.ndindex(table.shape):
        columns = {name: np.array([code]) for name, code in zip(clique, cell, strict=True)}
        found[tuple(int(codes_at(DOMAIN, name, columns)[0]) for name in wanted)] += table[cell]
    return found


@pytest.mark.parametrize("names", [("age", "hours"), ("sex", "age", "hours")])
def test_sums_over_levels_agree_with_a_sum_cell_by_cell(names: Clique) -> None:
    table = np.random.default_rng(5).integers(0, 9, DOMAIN.shape_of(names)).astype(float)
    for ages, hours in product(("age", "age.10"), ("hours", "hours.8")):
        for wanted in [(ages, hours), (hours, ages), (ages,), ("sex", ages) if "sex" in names else (hours,)]:
            expected = slowly_summed(table, names, wanted)
            for given in (table, np.asfortranarray(table), table.astype(int)):  # large floats are summed by a kernel
                assert (summed(DOMAIN, given, names, wanted) == expected).all()
