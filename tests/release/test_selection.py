"""Sums, means and quantiles by group from counts: exact where counts are, and covered wherever counts are covered."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow import MWEM
from hedgerow.arrays import Floats
from hedgerow.data import Table, read_table
from hedgerow.domain import Binned, Categorical, Decimals, Domain, IntegerRange, ends_of
from hedgerow.errors import QueryError
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.queries import Explicit, Groups, LinearQuery, Neighbours, Workload, parse_select
from hedgerow.release import CountAnswerer, Estimate, column_summaries, group_numbers, select, select_from
from tests.privacy.mutants import Mutant, Patch, killed
from tests.privacy.tables import DenseCounts

DOMAIN = Domain(
    (
        Categorical("g", ("p", "q")),
        IntegerRange("x", -7, 12),
        Binned("y", (0, 10, 20, 50), missing="?"),
        IntegerRange("z", 355, 369, scale=Decimals(Decimal("0.1"))),
    )
)
LOW = {"x": np.arange(-7.0, 13.0), "y": np.array([0.0, 10.0, 20.0]), "z": np.arange(355, 370) * 0.1}
HIGH = {**LOW, "y": np.array([10.0, 20.0, 50.0])}


class Oracle:
    """Exact counts, moved by errors that stay within their intervals; the hypothesis is another table."""

    def __init__(self, histogram: Floats, spread: float, seed: int) -> None:
        self.truth = DenseCounts(DOMAIN, histogram)
        self.rng = np.random.default_rng(seed)
        self.other = DenseCounts(DOMAIN, self.rng.integers(0, 5, DOMAIN.shape) if spread else histogram)
        self.spread = spread
        self.asked: list[float] = []

    def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
        assert 0.0 <= query.bounds[0] <= query.bounds[1] <= 1.0
        self.asked.append(1.0 - confidence)
        true = float(query.on(self.truth)[0])
        middle = true + self.rng.uniform(-1.0, 1.0) * self.spread
        return Estimate(middle, max(0.0, middle - self.spread), middle + self.spread), "oracle"

    def guess(self, query: LinearQuery) -> float:
        return float(query.on(self.other)[0])

    def counts(self, groups: Groups, confidence: float) -> tuple[list[Estimate], str]:
        return [self.count(groups.cell(row), confidence)[0] for row in range(groups.size)], "oracle"


def counts_of(histogram: Floats, name: str, row: int) -> Floats:
    """Counts of the numbers, or bins, of a column in group ``row`` of g."""
    axes = tuple(axis for axis in range(1, 4) if DOMAIN.names[axis] != name)
    counts: Floats = histogram[row].sum(axis=tuple(axis - 1 for axis in axes))[: len(LOW[name])]
    return counts


def drawn(seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.3, 1.0, DOMAIN.shape)).astype(np.float64)


STATEMENT = (
    "SELECT g, COUNT(*), SUM({0}) AS s, AVG({0}) AS a, MEDIAN({0}) AS m, QUANTILE({0}, 0.9) AS q FROM t GROUP BY g"
)


def test_a_sum_of_a_release_is_one_question() -> None:
    """As narrow as the sum of weights of cells that it is, with no risk for the number of records beside it."""
    domain = Domain((IntegerRange("x", 1000, 1010),))
    table = Table(domain, [np.arange(3000) % 11])
    release = MWEM(rounds=1).run(table, Workload.marginals(domain, 1), PureDP(1.0), noise=SeededNoise(0))
    expected = release.half_width(Explicit.of(domain, ("x",), np.arange(1000, 1011) / 1010.0))
    (cell,) = select_from(release, "SELECT SUM(x) FROM t").cells[0]
    assert expected is not None
    assert cell.halved == pytest.approx(1010.0 * expected, rel=0.03)
    assert cell.low <= 3000 // 11 * 11055 + sum(range(1000, 1000 + 3000 % 11)) <= cell.high


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["x", "y", "z"]), st.integers(0, 10**6))
def test_with_exact_counts_all_numbers_are_exact(name: str, seed: int) -> None:
    histogram = drawn(seed)
    found = select(parse_select(STATEMENT.format(name), DOMAIN), Oracle(histogram, 0.0, seed), 0.95)
    for row, each in enumerate(found.to_dicts()):
        low, high, counts = LOW[name], HIGH[name], counts_of(histogram, name, row)
        slack = 2.0**-18 * (1.0 + histogram.sum()) * (high[-1] - low[0])
        assert each["COUNT(*)"] == histogram[row].sum()
        for end, numbers in (("", (low + high) / 2.0), (" low", low), (" high", high)):
            assert each[f"s{end}"] == pytest.approx(float(counts @ numbers), abs=slack)
            if counts.sum():
                assert each[f"a{end}"] == pytest.approx(float(counts @ numbers) / counts.sum(), abs=slack)
        for heading, share in (("m", 0.5), ("q", 0.9)) if counts.sum() else ():
            at = np.searchsorted(np.cumsum(counts), share * counts.sum() * (1.0 - 1e-12))
            part = (share * counts.sum() - counts[:at].sum()) / counts[at]
            assert each[heading] == pytest.approx(low[at] + part * (high[at] - low[at]), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from([1.0, 15.0, 200.0]),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_where_all_counts_are_covered_all_numbers_are(name: str, spread: float, seed: int, part: float) -> None:
    """Wherever in their bins the records lie."""
    histogram = drawn(seed)
    oracle = Oracle(histogram, spread, seed)
    found = select(parse_select(STATEMENT.format(name), DOMAIN), oracle, 0.9)
    for row, each in enumerate(found.to_dicts()):
        counts = counts_of(histogram, name, row)
        if not counts.sum():
            continue
        numbers = LOW[name] + part * (HIGH[name] - LOW[name])
        total = float(counts @ numbers)
        places = [np.searchsorted(np.cumsum(counts), share * counts.sum() * (1 - 1e-12)) for share in (0.5, 0.9)]
        true = {"s": total, "a": total / counts.sum(), "m": numbers[places[0]], "q": numbers[places[1]]}
        for heading, value in true.items():
            low, here, high = (each[f"{heading}{end}"] for end in (" low", "", " high"))
            assert low - 1e-9 <= value <= high + 1e-9  # type: ignore[operator]
            assert low <= here <= high  # type: ignore[operator]


@pytest.mark.parametrize(
    ("statement", "most"), [("SUM(x)", 0.1), ("AVG(y)", 0.1), ("MEDIAN(x)", 0.1), ("COUNT(*)", 0.1)]
)
def test_the_risks_of_all_questions_of_a_number_add_up_to_its_own(statement: str, most: float) -> None:
    oracle = Oracle(drawn(1), 40.0, 1)
    select(parse_select(f"SELECT {statement} FROM t", DOMAIN), oracle, 1.0 - most)
    assert sum(oracle.asked) <= most + 1e-12
    assert sum(oracle.asked) > 0.5 * most


@pytest.mark.parametrize("spread", [0.0, 3.0, 40.0])
def test_both_ends_of_a_quantile_are_searched_among_all_values(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the places of the upper search would depend on the noise of the lower one, and no union bound would hold."""
    begun = []

    def recorded(low: int, high: int, holds: Callable[[int], bool]) -> int:
        begun.append((low, high))
        return int(first(low, high, holds))

    room: Any = inspect.getmodule(CountAnswerer)
    first = room._first
    monkeypatch.setattr(room, "_first", recorded)
    select(parse_select("SELECT QUANTILE(x, 0.9) FROM t", DOMAIN), Oracle(drawn(2), spread, 1), 0.95)
    assert set(begun) == {(0, 19)}


def test_without_intervals_there_are_values_alone() -> None:
    class Silent(Oracle):
        def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
            return Estimate(super().count(query, confidence)[0].value, None, None), "oracle"

    histogram = drawn(4)
    found = select(parse_select(STATEMENT.format("x"), DOMAIN), Silent(histogram, 0.0, 0), 0.95)
    (row, _) = found.to_dicts()
    assert {row[f"{name}{end}"] for name in "samq" for end in (" low", " high")} == {None}
    counts = counts_of(histogram, "x", 0)
    assert row["a"] == pytest.approx(float(counts @ LOW["x"]) / counts.sum(), abs=0.01)
    assert found.covers.startswith("nothing")
    assert set(found.sources) == {"oracle"}


def test_too_many_questions_are_refused_before_any_is_asked() -> None:
    wide = Domain((IntegerRange("k", 0, 499), IntegerRange("v", 0, 255)))
    with pytest.raises(QueryError, match="leads to 12,001 questions"):
        select_from(_release(wide), "SELECT k, MEDIAN(v) FROM t GROUP BY k")


def test_a_question_that_is_too_large_is_refused_before_any_is_asked() -> None:
    wide = Domain((IntegerRange("k", 0, 499), IntegerRange("v", 0, 9_999)))
    oracle = Oracle(drawn(0), 0.0, 0)
    with pytest.raises(QueryError, match="cells of k, v"):
        select(parse_select("SELECT COUNT(*), AVG(v) FROM t WHERE k = 1", wide), oracle, 0.95)
    assert oracle.asked == []


def test_a_release_answers_statements_within_their_intervals() -> None:
    domain = Domain((Categorical("g", ("p", "q")), IntegerRange("x", 0, 19)))
    release = _release(domain)
    table = _table(domain)
    (counts,) = table.marginals([("g", "x")])
    found = select_from(release, "SELECT g, COUNT(*), AVG(x), MEDIAN(x) FROM t GROUP BY g").to_dicts()
    for row, each in enumerate(found):
        mean = float(counts[row] @ np.arange(20.0)) / counts[row].sum()
        assert each["COUNT(*) low"] <= counts[row].sum() <= each["COUNT(*) high"]  # type: ignore[operator]
        assert each["AVG(x) low"] <= mean <= each["AVG(x) high"]  # type: ignore[operator]
        assert abs(each["AVG(x)"] - mean) < 0.5  # type: ignore[operator]
    arrow = select_from(release, "SELECT g, COUNT(*) FROM t GROUP BY g").to_arrow()
    assert arrow.column_names == ["g", "COUNT(*)", "COUNT(*) low", "COUNT(*) high"]
    assert arrow.num_rows == 2


def test_rows_are_ordered_and_those_that_are_chosen_have_joint_intervals() -> None:
    domain = Domain((Categorical("g", ("p", "q", "a")), IntegerRange("x", 0, 19)))
    release = _release(domain)
    text = "SELECT g AS part, COUNT(*) AS n, AVG(x) FROM t GROUP BY part"
    whole = select_from(release, text)
    assert (whole.names, [row[0] for row in whole.rows]) == (("part",), ["p", "q", "a"])
    down = select_from(release, f"{text} ORDER BY n DESC")
    assert down.rows == sorted(whole.rows, key=lambda row: -row[1])  # type: ignore[operator]
    assert [row[0] for row in select_from(release, f"{text} ORDER BY part DESC").rows] == ["a", "q", "p"]
    least = select_from(release, f"{text} ORDER BY AVG(x) LIMIT 2")
    joint = select_from(release, text, joint=True)
    assert least.rows == sorted(joint.rows, key=lambda row: row[4])[:2]  # type: ignore[arg-type, return-value]
    assert least.covers == joint.covers
    assert "for all 6 together" in least.covers
    first = select_from(release, f"{text} ORDER BY part LIMIT 1")  # by no answer
    assert (first.rows, first.covers) == (whole.rows[:1], whole.covers)


def test_joint_intervals_of_a_table_hold_together() -> None:
    """Of 12 tables with 90 % confidence fewer than 8 hold once in 200 times; those whose cells hold alone do not."""
    domain = Domain((Categorical("g", tuple("abcdefghij")), Categorical("h", tuple("uvw"))))
    table = Table(domain, [np.arange(3000) % 10, np.arange(3000) % 3])
    (counts,) = table.marginals([("g", "h")])
    workload, held, statement = Workload.marginals(domain, 2), {True: 0, False: 0}, "SELECT g, h, COUNT(*) FROM t "
    for seed in range(12):
        release = MWEM(rounds=1).run(table, workload, PureDP(1.0), noise=SeededNoise(seed))
        for joint in held:
            found = select_from(release, f"{statement} GROUP BY g, h", 0.9, joint=joint)
            ends = [(cell.low or 0.0, cell.high or 0.0) for (cell,) in found.cells]
            held[joint] += all(low <= n <= high for n, (low, high) in zip(counts.reshape(-1), ends, strict=True))
    assert held[True] >= 8
    assert held[False] <= 7
    assert (
        "90% confidence for all 30 together"
        in select_from(release, f"{statement} GROUP BY g, h", 0.9, joint=True).covers
    )


def bins_are_as_wide_as_they_are() -> None:
    """Sums and means of two tables of the same bins, one of lower and one of upper ends, hold; so does the report's."""
    domain = Domain((Categorical("g", ("p", "q")), Binned("pay", (0, 10, 100), whole=True)))
    release = _release(domain)
    counts = _table(domain).marginals([("pay",)])[0]
    found = select_from(release, "SELECT SUM(pay), AVG(pay), MEDIAN(pay) FROM t")
    (row,) = found.to_dicts()
    (summary,) = column_summaries(release, ["pay"])
    assert summary.mean is not None
    assert (summary.mean.value, summary.mean.low, summary.mean.high) == (
        row["AVG(pay)"],
        row["AVG(pay) low"],
        row["AVG(pay) high"],
    )
    assert summary.quartiles[1].value == row["MEDIAN(pay)"]
    for numbers in (np.array([0.0, 10.0]), np.array([9.0, 100.0])):
        total = float(counts @ numbers)
        assert row["SUM(pay) low"] <= total <= row["SUM(pay) high"]  # type: ignore[operator]
        assert row["AVG(pay) low"] <= total / counts.sum() <= row["AVG(pay) high"]  # type: ignore[operator]
    assert "of pay bins are known, and no places in them" in found.covers


def _patched_ends(of: Callable[[Floats, Floats], tuple[Floats, Floats]]) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr("hedgerow.release.numbers.ends_of", lambda each: of(*ends_of(each)))


MUTANTS = [
    Mutant(
        "members of a bin are in its middle",
        _patched_ends(lambda low, high: ((low + high) / 2.0, (low + high) / 2.0)),
        bins_are_as_wide_as_they_are,
    ),
    Mutant(
        "members of a bin are at its lower end",
        _patched_ends(lambda low, high: (low, low)),
        bins_are_as_wide_as_they_are,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_bin_without_its_width_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_numbers_beyond_a_bound_on_persons_are_told_to_be_left_out() -> None:
    domain = Domain((IntegerRange("x", 0, 9),))
    people = pa.table({"x": np.arange(400) % 10, "who": np.arange(400) % 50})
    table = read_table(people, domain, person="who", at_most=2)
    release = MWEM(rounds=1).run(table, Workload.marginals(domain, 1), PureDP(8.0), noise=SeededNoise(0))
    said = "; counted are persons (who), at most 2 records, and nothing beyond that"
    assert release.answer("x < 3").covers.endswith(said)
    assert select_from(release, "SELECT SUM(x) FROM t").covers.endswith(said)


def test_numbers_beyond_the_bounds_are_told_to_be_left_out() -> None:
    domain = Domain((Categorical("g", ("p", "q")), IntegerRange("x", 0, 9, other="beyond")))
    said = select_from(_release(domain), "SELECT g, AVG(x) FROM t GROUP BY g").covers
    assert said.endswith("confidence each; values of x beyond the bounds are left out")


def _table(domain: Domain) -> Table:
    rng = np.random.default_rng(0)
    return Table(domain, [rng.binomial(each.size - 1, 0.4, 4000).astype(np.uint16) for each in domain])


def _release(domain: Domain):  # type: ignore[no-untyped-def]
    budget = PureDP(8.0, Neighbours.ADD_REMOVE)
    return MWEM(rounds=1).run(_table(domain), Workload.marginals(domain, 2), budget, noise=SeededNoise(0))


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(-9.0, -2.0, (0.0, 1.0)), (2.0, 3.0, (0.0, 1.0)), (0.5, 3.0, (0.5, 1.0))]
)
def test_an_interval_beside_what_is_possible_says_no_more_than_that(
    low: float, high: float, expected: tuple[float, float]
) -> None:
    """Noise was larger than intervals allow for; an end of the range with no width would be a lie."""
    found = group_numbers._within(0.25, low, high, (0.0, 1.0))
    assert (found.low, found.high) == expected
    assert found.value == max(0.25, expected[0])
