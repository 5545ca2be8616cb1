"""The tables of estimated intervals and of predicted errors, on the smallest of their tables."""

from __future__ import annotations

import math

from benchmarks.intervals import TASKS, conditions, rows
from benchmarks.regret.tables import half_of, table_of


def test_rows_are_shares_and_ratios() -> None:
    found = list(rows("czech", 0, 2))
    assert [row.what for row in found] == ["workload", "1 attributes", "2 attributes", "3 attributes"]
    for row in found:
        assert 0.0 <= row.coverage <= 1.0
        assert row.number >= 100
        assert math.isfinite(row.width)
        assert row.width > 0.0
        assert row.predicted > 0.0


def test_conditions_leave_something_out() -> None:
    domain = table_of("small8").domain
    asked = conditions(domain, 60, 3)
    assert {len(query.scope) for query in asked} == {1, 2, 3}
    assert all(
        len(codes) < domain[name].size for query in asked for name, codes in zip(query.scope, query.codes, strict=True)
    )


def test_tables_of_both_halves_are_there() -> None:
    halves = [half_of(name) for name in TASKS]
    assert halves.count("tuning") >= 3
    assert halves.count("reported") >= 3
