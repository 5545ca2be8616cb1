"""Sums, means and quantiles by group from counts: exact where counts are, and covered wherever counts are covered."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow import MWEM
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Binned, Categorical, Decimals, Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.queries import Groups, LinearQuery, Neighbours, Workload, parse_select
from hedgerow.release import Estimate, select, select_from
from tests.privacy.tables import DenseCounts

DOMAIN = Domain(
    (
        Categorical("g", ("p", "q")),
        IntegerRange("x", -7, 12),
        Binned("y", (0, 10, 20, 50), missing="?"),
        IntegerRange("z", 355, 369, scale=Decimals(Decimal("0.1"))),
    )
)
NUMBERS = {"x": np.arange(-7.0, 13.0), "y": np.array([5.0, 15.0, 35.0]), "z": np.arange(355, 370) * 0.1}


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


def truth_of(histogram: Floats, name: str, row: int) -> tuple[float, float, Floats]:
    """Sum, mean and counts of the numbers of a column in group ``row`` of g."""
    axes = tuple(axis for axis in range(1, 4) if DOMAIN.names[axis] != name)
    counts = histogram[row].sum(axis=tuple(axis - 1 for axis in axes))[: len(NUMBERS[name])]
    total = float(counts @ NUMBERS[name])
    return total, total / max(counts.sum(), 1.0), counts


def drawn(seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.3, 1.0, DOMAIN.shape)).astype(np.float64)


STATEMENT = (
    "SELECT g, COUNT(*), SUM({0}) AS s, AVG({0}) AS a, MEDIAN({0}) AS m, QUANTILE({0}, 0.9) AS q FROM t GROUP BY g"
)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["x", "y", "z"]), st.integers(0, 10**6))
def test_with_exact_counts_all_numbers_are_exact(name: str, seed: int) -> None:
    histogram = drawn(seed)
    found = select(parse_select(STATEMENT.format(name), DOMAIN), Oracle(histogram, 0.0, seed), 0.95)
    for row, each in enumerate(found.to_dicts()):
        total, mean, counts = truth_of(histogram, name, row)
        slack = 2.0**-19 * (1.0 + histogram.sum()) * np.ptp(NUMBERS[name])
        assert each["COUNT(*)"] == histogram[row].sum()
        assert each["s"] == pytest.approx(total, abs=slack)
        if not counts.sum():
            continue
        assert each["a"] == pytest.approx(mean, abs=slack)
        at = np.searchsorted(np.cumsum(counts), 0.5 * counts.sum() * (1.0 - 1e-12))
        assert each["m"] == pytest.approx(NUMBERS[name][at])
        at = np.searchsorted(np.cumsum(counts), 0.9 * counts.sum() * (1.0 - 1e-12))
        assert each["q"] == pytest.approx(NUMBERS[name][at])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["x", "y", "z"]), st.sampled_from([1.0, 15.0, 200.0]), st.integers(0, 10**6))
def test_where_all_counts_are_covered_all_numbers_are(name: str, spread: float, seed: int) -> None:
    histogram = drawn(seed)
    oracle = Oracle(histogram, spread, seed)
    found = select(parse_select(STATEMENT.format(name), DOMAIN), oracle, 0.9)
    for row, each in enumerate(found.to_dicts()):
        total, mean, counts = truth_of(histogram, name, row)
        if not counts.sum():
            continue
        numbers = NUMBERS[name]
        places = [np.searchsorted(np.cumsum(counts), share * counts.sum() * (1 - 1e-12)) for share in (0.5, 0.9)]
        true = {"s": total, "a": mean, "m": numbers[places[0]], "q": numbers[places[1]]}
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


def test_without_intervals_there_are_values_alone() -> None:
    class Silent(Oracle):
        def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
            return Estimate(super().count(query, confidence)[0].value, None, None), "oracle"

    histogram = drawn(4)
    found = select(parse_select(STATEMENT.format("x"), DOMAIN), Silent(histogram, 0.0, 0), 0.95)
    (row, _) = found.to_dicts()
    assert {row[f"{name}{end}"] for name in "samq" for end in (" low", " high")} == {None}
    assert row["a"] == pytest.approx(truth_of(histogram, "x", 0)[1], abs=0.01)
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


def _table(domain: Domain) -> Table:
    rng = np.random.default_rng(0)
    return Table(domain, [rng.binomial(each.size - 1, 0.4, 4000).astype(np.uint16) for each in domain])


def _release(domain: Domain):  # type: ignore[no-untyped-def]
    budget = PureDP(8.0, Neighbours.ADD_REMOVE)
    return MWEM(rounds=1).run(_table(domain), Workload.marginals(domain, 2), budget, noise=SeededNoise(0))
