"""Cells inside bins: they tile the bins, and tell positions to half of a cell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, strategies as st

from hedgerow.data import read_table
from hedgerow.domain import BinCells, Binned, Categorical, Domain, domain_from_mapping, ends_of, with_bin_cells


@given(
    widths=st.lists(st.integers(1, 40) | st.just(100_000), min_size=2, max_size=8),
    low=st.integers(-1000, 1000),
    whole=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_number_is_in_a_cell_of_its_bin_and_half_a_cell_from_its_position(
    widths: list[int], low: int, whole: bool, seed: int
) -> None:
    column = Binned("x", np.append(low, low + np.cumsum(widths)).tolist(), whole=whole, missing="?")
    cells = BinCells.of(column)
    rng = np.random.default_rng(seed)
    first, last = ends_of(column)
    numbers = rng.uniform(first[0], last[-1], 200)
    numbers = np.append(np.floor(numbers) if whole else numbers, [first[0], last[-1]])
    table = pa.table({"x": numbers.astype(np.int64) if whole else numbers})
    coarse = np.asarray(read_table(table, Domain([column])).columns[0], dtype=np.intp)
    fine = np.asarray(read_table(table, Domain([cells.column])).columns[0], dtype=np.intp)
    assert np.array_equal(cells.bins[fine], coarse)
    middles, spans = (first + last)[coarse] / 2.0, (last - first)[coarse]
    apart = np.abs(numbers - middles - cells.positions[fine] * spans)
    assert (apart <= cells.half[coarse] * (1.0 + 1e-9) + 1e-9).all()
    assert np.abs(cells.positions).max() <= 0.5
    if whole and max(widths) < 1000:
        assert cells.half.max() == 0.0


def test_only_columns_with_bins_of_several_numbers_are_read_again() -> None:
    domain = Domain(
        [
            Binned("pay", [0, 1000, 5000], whole=True, other="more"),
            Binned("single", [0, 1, 1.5], whole=True),
            Categorical("sex", ("F", "M")),
        ]
    )
    cells = with_bin_cells(domain)
    assert cells is not None
    assert cells.names == ("pay",)
    assert set(cells.ignored) == {"single", "sex"} | {name for name in domain.all_names if name.startswith("pay.")}
    assert cells["pay"].other == "more"
    assert with_bin_cells(Domain([Categorical("sex", ("F", "M"))])) is None


def test_lengths_of_time_and_their_ends_are_left_out() -> None:
    content = {
        "admitted": {"min": "2020-01-01", "max": "2020-12-31", "format": "%Y-%m-%d", "bins": 12},
        "stay": {"from": "admitted", "to": "left", "min": 0, "max": 60, "unit": "d", "bins": 4},
        "cost": {"min": 0, "max": 1000, "bins": 4},
    }
    cells = with_bin_cells(domain_from_mapping({"attributes": content}))
    assert cells is not None
    assert cells.names == ("cost",)
    assert {"admitted", "stay", "left"} <= set(cells.ignored)


def test_many_columns_have_fewer_cells_each() -> None:
    domain = Domain(Binned.equal_width(f"x{number}", 0, 1e6, 4) for number in range(1000))
    cells = with_bin_cells(domain)
    assert cells is not None
    assert 2**20 < sum(cells.shape) <= 2**21
    assert max(cells.shape) == min(cells.shape)
