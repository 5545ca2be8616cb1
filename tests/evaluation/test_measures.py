"""Every measure against a slow one, and against values that are known."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hedgerow import Categorical, Domain, IntegerRange, evaluate, if_then
from hedgerow.evaluation import Evaluation
from hedgerow.evaluation.columns import joined
from hedgerow.evaluation.dependence import SHARES, correlations, quantiles, rank_distance
from hedgerow.evaluation.grid import BINS, Grid, axis_of
from hedgerow.evaluation.tables import Curve, curves_of, distances, families_of, score_of
from tests.reference import evaluation as slow


def labels(seed: int, n: int, skew: float = 0.0) -> pa.Table:
    """Three columns of letters that hang together."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 4, n)
    found = {
        "a": base,
        "b": (base + (rng.random(n) < 0.3 + skew)) % 4,
        "c": rng.integers(0, 3, n),
    }
    return pa.table({name: [f"{name}{code}" for code in codes.tolist()] for name, codes in found.items()})


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def found_of(real: pa.Table, synthetic: pa.Table, **options: object) -> Evaluation:
    return evaluate(real, {"s": synthetic}, models=False, **options)  # type: ignore[arg-type]


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 60))
def test_total_variation_score_and_cramers_v_are_those_of_the_slow_reference(seed: int, n: int, m: int) -> None:
    real, synthetic = labels(seed, n), labels(seed + 1, m, 0.2)
    found = found_of(real, synthetic)
    exact, guess = rows_of(real), rows_of(synthetic)
    for order in (1, 2, 3):
        assert found.value("score", f"{order}-way") == pytest.approx(slow.k_marginal(exact, guess, order), abs=1e-9)
        for each in combinations(range(3), order):
            subject = " x ".join("abc"[place] for place in each)
            expected = slow.total_variation(exact, guess, each)
            assert found.value(f"total variation, {order}-way", subject) == pytest.approx(expected, abs=1e-12)
    for each in found.of("Cramer's V"):
        one, other = ("abc".index(name) for name in each.subject.split(" x "))
        assert each.value == pytest.approx(slow.cramers_v(guess, one, other), abs=1e-10)
        assert each.real == pytest.approx(slow.cramers_v(exact, one, other), abs=1e-10)


@given(st.integers(0, 10_000))
def test_numbers_are_compared_as_the_slow_reference_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [
        pa.table({name: np.where(rng.random(n) < 0.1, np.nan, np.round(rng.normal(size=n), 2)) for name in "xy"})
        for n in (80, 50)
    ]
    columns = [joined(name, [table[name] for table in tables]) for name in "xy"]
    for table, read in enumerate(tables):
        values = [read[name].to_pylist() for name in "xy"]
        expected = slow.pearson(list(zip(*values, strict=True)))
        assert correlations(columns, table)[0, 1] == pytest.approx(expected, abs=1e-10)
        held = [value for value in values[0] if not math.isnan(value)]
        assert quantiles(columns[0], table).tolist() == [slow.quantile(held, share) for share in SHARES]
    first, second = ([x for x in read["x"].to_pylist() if not math.isnan(x)] for read in tables)
    assert rank_distance(columns[0], 1) == pytest.approx(slow.kolmogorov(first, second), abs=1e-12)


def test_the_same_table_is_perfect_and_a_disjoint_one_worthless() -> None:
    real = labels(0, 200)
    same = found_of(real, real)
    other = found_of(real, pa.table({name: ["z"] * 10 for name in "abc"}))
    for order in ("1-way", "2-way", "3-way"):
        assert (same.value("score", order), other.value("score", order)) == (1000.0, 0.0)
        assert same.value("subsample", order) == 1.0
        assert math.isnan(other.value("subsample", order))
    assert same.value("exact matches", "any real record") == 1.0
    assert other.value("exact matches", "any real record") == 0.0
    assert same.value("difference of correlations", "Cramer's V, largest") == 0.0


def test_a_large_table_is_counted_over_the_records_alone() -> None:
    rng = np.random.default_rng(0)
    domain = Domain([IntegerRange(name, 0, 299) for name in "abc"])
    tables = [[rng.integers(0, 300, n) for _ in "abc"] for n in (500, 700)]
    tables[1][0][:400], tables[1][1][:400], tables[1][2][:400] = (each[:400] for each in tables[0])
    rows = [list(zip(*(column.tolist() for column in table), strict=True)) for table in tables]
    found = distances(domain, tables[0], tables[1:], [("a", "b", "c"), ("a",)])
    for value, places in zip(found[0], [(0, 1, 2), (0,)], strict=True):
        assert value == pytest.approx(slow.total_variation(*rows, places), abs=1e-12)


def test_exact_matches_are_those_of_sets_however_long_the_records_are() -> None:
    rng = np.random.default_rng(0)
    real = rng.integers(0, 2, (400, 90))
    synthetic = np.concatenate([real[:30], rng.integers(0, 2, (70, 90))])
    tables = [pa.table({f"c{place}": column for place, column in enumerate(each.T)}) for each in (real, synthetic)]
    found = found_of(*tables, most_tables=10)
    known = set(map(tuple, real.tolist()))
    expected = sum(tuple(row) in known for row in synthetic.tolist()) / len(synthetic)
    assert found.value("exact matches", "any real record") == expected == 0.3
    (half,) = [each for each in found.of("exact matches") if "half" in each.subject]
    assert half.real == 0.0
    assert 0.0 < half.value < 0.3


def test_numbers_are_cut_where_equally_many_real_records_are() -> None:
    column = joined("x", [pa.chunked_array([np.arange(1000)]), pa.chunked_array([[-5, 2000, None]])])
    axis = axis_of(column)
    assert np.bincount(axis.codes(0)).tolist() == [50 - 1, *[50] * 18, 51]
    assert axis.codes(1).tolist() == [0, BINS - 1, BINS]
    assert axis.labels[-1] == "missing"


def test_a_top_code_is_a_cell_of_its_own() -> None:
    cells = [*range(100), *[501] * 50]
    axis = axis_of(joined("x", [pa.chunked_array([cells]), pa.chunked_array([[501, 99]])]))
    one, other = axis.codes(1).tolist()
    assert one != other
    assert (axis.codes(0) == one).sum() == 50


@pytest.mark.parametrize(
    ("real", "synthetic"),
    [
        (["1", "2", ""], [1.0, 2.0, None]),
        ([1, 2, None], ["1", "2.0", ""]),
        ([True, False, None], ["True", "False", ""]),
        (["x", "y", None], ["x", "y", ""]),
    ],
)
def test_cells_that_are_written_differently_are_one_value(real: list[object], synthetic: list[object]) -> None:
    one, other = joined("x", [pa.chunked_array([real]), pa.chunked_array([synthetic])]).places
    assert one.tolist() == other.tolist()


def test_codes_with_leading_zeros_stay_apart() -> None:
    column = joined("x", [pa.chunked_array([["01", "1"]]), pa.chunked_array([["1", "01"]])])
    assert column.texts == ("01", "1")


def test_whole_numbers_beyond_those_of_floats_stay_apart() -> None:
    ids = np.arange(2**62, 2**62 + 300)
    column = joined("id", [pa.chunked_array([ids]), pa.chunked_array([ids[:3].astype(str)])])
    assert (len(column.numbers), len(column.texts), column.numeric) == (0, 300, False)
    assert column.places[1].tolist() == column.places[0][:3].tolist()


def test_dates_are_numbers_and_are_shown_as_dates() -> None:
    days = [f"2020-01-{day:02}" for day in range(1, 31)]
    column = joined("day", [pa.chunked_array([days]), pa.chunked_array([pa.array(days).cast(pa.date32())])])
    assert column.numeric
    assert column.places[0].tolist() == column.places[1].tolist()
    assert column.text(float(quantiles(column, 0)[2])) == "2020-01-15"


def test_of_many_labels_the_frequent_ones_are_told_apart() -> None:
    real = pa.table({"id": [f"p{i}" for i in range(700)], "b": ["u", "v"] * 350})
    found = found_of(real, real)
    assert found.notes == ("rare labels are one value in: id",)
    assert found.value("score", "2-way") == 1000.0


def test_a_curve_rises_and_gives_back_the_share_of_a_sample() -> None:
    domain = Domain([IntegerRange(name, 0, 9) for name in "abc"])
    rng = np.random.default_rng(3)
    real = [rng.integers(0, 10, 4000) for _ in "abc"]
    families = families_of(domain)
    curve = curves_of(domain, real, families)["3-way"]
    assert list(curve.scores) == sorted(curve.scores)
    part = rng.permutation(4000)[: 4000 * 3 // 10]
    score = score_of(distances(domain, real, [[column[part] for column in real]], families["3-way"])[0])
    assert curve.equivalent(score) == pytest.approx(0.3, rel=0.1)


def test_a_table_drawn_anew_is_as_close_as_a_sample_of_a_third() -> None:
    domain = Domain([IntegerRange(name, 0, 9) for name in "abc"])
    rng = np.random.default_rng(5)
    real, fresh = ([rng.integers(0, 10, 4000) for _ in "abc"] for _ in range(2))
    families = families_of(domain)
    curve = curves_of(domain, real, families)["3-way"]
    share = curve.equivalent(score_of(distances(domain, real, [fresh], families["3-way"])[0]))
    assert share == pytest.approx(1.0 / 3.0, rel=0.06)


def test_a_flat_curve_has_equivalents() -> None:
    assert Curve((0.5,), (1000.0,)).equivalent(1000.0) is not None


def test_of_many_tables_some_are_drawn_and_always_the_same() -> None:
    domain = Domain([IntegerRange(f"x{place}", 0, 1) for place in range(12)])
    found = families_of(domain, "x3", most=20, seed=1)
    assert [len(tables) for tables in found.values()] == [12, 20, 20, 20]
    assert all(len(set(tables)) == len(tables) for tables in found.values())
    assert found == families_of(domain, "x3", most=20, seed=1)
    assert found != families_of(domain, "x3", most=20, seed=2)
    assert all("x3" in table and len(table) == 3 for table in found["x3 with pairs"])


def test_subgroups_are_those_of_the_records_of_each() -> None:
    real, synthetic = labels(0, 300), labels(1, 200, 0.3)
    found = found_of(real, synthetic, by="c")
    for name in ("c0", "c1", "c2"):
        inside = [[row[:2] for row in rows_of(table) if row[2] == name] for table in (real, synthetic)]
        assert found.value("score of the subgroup", f"c = {name}") == pytest.approx(slow.k_marginal(*inside, 2))
        (share,) = [each for each in found.of("share of the records") if each.subject == f"c = {name}"]
        assert (share.value, share.real) == (len(inside[1]) / 200, len(inside[0]) / 300)
    assert found.value("score", "c with pairs") == found.value("score", "3-way")


def test_impossible_records_are_counted_by_rule() -> None:
    base = Domain([IntegerRange("age", 0, 99), Categorical("state", ("single", "married"))])
    rule = if_then(base, "age < 15", "state = 'single'")
    domain = Domain(base.attributes, constraints=[rule])
    real = pa.table({"age": ["5", "40"], "state": ["single", "married"]})
    synthetic = pa.table({"age": [5, 5, 120, 40], "state": ["married", "single", "single", "divorced"]})
    found = found_of(real, synthetic, domain=domain)
    shares = {each.subject: (each.value, each.real) for each in found.of("impossible records")}
    assert shares == {
        "any rule": (0.75, 0.0),
        "a value outside the domain": (0.5, 0.0),
        rule.text: (0.25, 0.0),
    }


def test_labels_are_spelled_as_the_domain_says() -> None:
    domain = Domain([Categorical("state", ("single", "married"), missing="N"), IntegerRange("n", 0, 1)])
    real = pa.table({"state": ["single", "N"], "n": [0, 1]})
    found = found_of(real, pa.table({"state": ["single", None], "n": [0, 1]}), domain=domain)
    assert found.value("score", "2-way") == 1000.0


def test_a_grid_holds_every_cell_of_every_table() -> None:
    tables = [labels(0, 50), pa.table({name: ["new", None] for name in "abc"})]
    grid = Grid.of([joined(name, [table[name] for table in tables]) for name in "abc"])
    assert [axis.labels[-2:] for axis in grid.axes] == [("new", "missing")] * 3
    for table in (0, 1):
        assert all(codes.max() < size for codes, size in zip(grid.codes(table), grid.domain.shape, strict=True))


def test_a_column_of_which_nearly_all_are_the_smallest_has_two_cells() -> None:
    """No quantile of it is larger."""
    numbers = pa.chunked_array([[0] * 980 + list(range(1, 21))])
    axis = axis_of(joined("a", [numbers, pa.chunked_array([[0, 1, 9]])]), bins=10)
    assert axis.labels == ("< 1", "\u2265 1")
    assert [np.bincount(axis.codes(table)).tolist() for table in (0, 1)] == [[980, 20], [1, 2]]
