"""Parities by the million: sets of attributes as arrays, and answers in one go where they can be had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.queries import (
    AnswersParities,
    Conjunction,
    Marginals,
    Parities,
    Parity,
    Workload,
    hadamard,
    parity_scopes,
    walsh_hadamard,
)
from tests.reference.dense_tables import DenseTables


def bits(n: int) -> Domain:
    return Domain(IntegerRange(f"x{i}", 0, 1) for i in range(n))


@pytest.mark.parametrize(("n", "order"), [(1, 1), (5, 1), (5, 2), (6, 3), (4, 4)])
def test_all_sets_stand_in_order_of_size(n: int, order: int) -> None:
    domain = bits(n)
    named = list(chain.from_iterable(combinations(domain.names, k) for k in range(1, order + 1)))
    family = Parities(domain, parity_scopes(domain, order))
    assert list(family.scopes) == named
    assert family == Parities(domain, named)
    assert hash(family) == hash(Parities(domain, named))
    assert family.spec == f"parities:{order}"
    assert [family.candidate(i) for i in range(family.n_candidates)] == [Parity(domain, each) for each in named]
    assert Workload.parse(family.spec, domain) == Workload.parities(domain, order) == Workload((family,))


sets_of = st.sets(st.sets(st.integers(0, 6), min_size=1).map(lambda each: tuple(sorted(each))), min_size=1, max_size=9)


@given(sets_of, st.randoms(use_true_random=False))
def test_sets_by_name_and_by_position_are_the_same_family(found: set[tuple[int, ...]], random: object) -> None:
    domain, rows = bits(7), sorted(found)
    random.shuffle(rows)  # type: ignore[attr-defined]
    named = [tuple(domain.names[axis] for axis in row) for row in rows]
    width = max(map(len, rows)) + 2
    axes = np.array([[*row, *[-1] * (width - len(row))] for row in rows])
    family = Parities(domain, axes)
    assert family == Parities(domain, named)
    assert family.scopes == tuple(named)
    assert family.axes.shape[1] == width - 2
    assert (family.scope_axes == family.axes).all()
    assert family.scope_of.tolist() == list(range(len(rows)))
    parsed = Workload.parse(family.spec, domain).families[0]
    assert parsed == family


def test_families_differ_by_their_sets_their_order_and_their_domain() -> None:
    domain = bits(3)
    family = Parities(domain, [("x0",), ("x1",)])
    others = [Parities(domain, [("x1",), ("x0",)]), Parities(domain, [("x0",)]), Parities(bits(4), [("x0",), ("x1",)])]
    assert all(family != other for other in (*others, Marginals(domain, [("x0",), ("x1",)])))
    assert repr(family) == "Parities('parities:x0,x1')"


@pytest.mark.parametrize(
    "rows",
    [[], [[1, 0]], [[0, 0]], [[-1, 0]], [[-1, -1]], [[0, -1, 1]], [[0, 3]], [[0, -2]], [[0, 1], [0, 1]], [0, 1]],
    ids=repr,
)
def test_rows_that_are_no_sets_are_refused(rows: list[list[int]]) -> None:
    with pytest.raises(QueryError):
        Parities(bits(3), np.array(rows, dtype=np.int64))


def test_a_set_that_is_there_twice_is_found_among_long_ones() -> None:
    """More attributes than one number can tell apart."""
    rows = np.tile(np.arange(40), (2, 1))
    with pytest.raises(QueryError, match="twice"):
        Parities(bits(60), rows)
    rows[1, -1] = 50
    assert Parities(bits(60), rows).n_queries == 2


def test_the_sets_cannot_be_changed() -> None:
    given_rows = np.array([[0, 1]])
    family = Parities(bits(3), given_rows)
    given_rows[0, 0] = 1
    assert family.candidate(0).scope == ("x0", "x1")
    with pytest.raises(ValueError, match="read-only"):
        family.axes[0, 0] = 1


def test_more_parities_than_a_selection_can_look_at_are_refused_before_they_are_listed() -> None:
    with pytest.raises(QueryError, match="166,667,500"):
        Workload.parities(bits(1000), 3)
    with pytest.raises(QueryError, match="no parities of 4"):
        Workload.parities(bits(3), 4)


def test_half_a_million_pairs() -> None:
    domain = bits(1000)
    workload = Workload.parities(domain, 2)
    assert workload.n_candidates == 500_500
    assert workload.candidate(500_499).scope == ("x998", "x999")
    assert workload.candidate(1_000).scope == ("x0", "x1")
    assert workload.scope_axes.shape == (500_500, 2)
    assert workload.spec == "parities:2"


# ---- answers in one go ----------------------------------------------------------------------------------------------


class Bulk:
    """Dense tables that answer parities themselves, and say what they were asked."""

    cheap_cells = 0

    def __init__(self, tables: DenseTables) -> None:
        self.domain = tables.domain
        self.tables = tables
        self.asked: list[object] = []

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        self.asked.append(tuple(cliques))
        return self.tables.marginals(cliques)

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        return self.tables.conjunctions(queries)

    def parities(self, scopes: object) -> Floats:
        self.asked.append("parities")
        assert isinstance(scopes, np.ndarray)
        named = [tuple(self.domain.names[axis] for axis in row if axis >= 0) for row in scopes.tolist()]
        found = zip(named, self.tables.marginals(named), strict=True)
        return np.array([Parity(self.domain, each).of_table(table)[0] for each, table in found])


def test_answers_come_in_one_go_where_they_can_be_had() -> None:
    domain = bits(5)
    dense = np.random.default_rng(1).random(domain.shape)
    workload = Workload.parities(domain, 3) + Workload.marginals(domain, 2)
    plain = DenseTables(domain, dense, 0)
    bulk = Bulk(plain)
    assert isinstance(bulk, AnswersParities)
    assert not isinstance(plain, AnswersParities)
    np.testing.assert_allclose(workload.answers(bulk), workload.answers(plain), rtol=0, atol=1e-12)
    assert bulk.asked.count("parities") == 1
    assert bulk.asked[0] == workload.families[1].scopes
    np.testing.assert_allclose(workload.families[0].answers(bulk), workload.families[0].answers(plain), atol=1e-12)


def test_records_and_dense_tables_agree() -> None:
    domain = bits(6)
    codes = np.random.default_rng(2).integers(0, 2, size=(300, 6), dtype=np.uint8)
    table = Table(domain, list(codes.T))
    counts = np.zeros(domain.shape)
    np.add.at(counts, tuple(codes.T.astype(np.intp)), 1.0)
    workload = Workload.parities(domain, 4)
    assert isinstance(table, AnswersParities)
    assert workload.answers(table).tolist() == workload.answers(DenseTables(domain, counts, 0)).tolist()


# ---- the fast Walsh-Hadamard transform against its matrix ------------------------------------------------------------


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


def parities_that_move(n: int, order: int) -> int:
    """The most parities of up to so many attributes that one replaced record moves: all pairs of records are tried."""
    scopes = parity_scopes(Domain(IntegerRange(f"x{i}", 0, 1) for i in range(n)), order)
    masks = np.array([sum(1 << axis for axis in scope if axis >= 0) for scope in scopes.tolist()])
    signs = np.array([[(-1) ** int(record & mask).bit_count() for mask in masks] for record in range(2**n)])
    return int(max((signs != signs[record]).sum(axis=1).max() for record in range(2**n)))


@pytest.mark.parametrize(("n", "order"), [(3, 1), (5, 2), (6, 2), (6, 3), (7, 7)])
def test_a_replaced_record_moves_the_parities_that_meet_it_oddly(n: int, order: int) -> None:
    """Theory section 13: the closed form for all sets of up to so many attributes, and one transform for any sets."""
    closed = max(
        sum(
            math.comb(d, j) * math.comb(n - d, k - j)
            for k in range(1, order + 1)
            for j in range(1, min(k, d) + 1, 2)
            if k - j <= n - d
        )
        for d in range(1, n + 1)
    )
    prices = np.zeros(2**n)
    for scope in parity_scopes(Domain(IntegerRange(f"x{i}", 0, 1) for i in range(n)), order).tolist():
        prices[sum(1 << axis for axis in scope if axis >= 0)] = 1.0
    transformed = walsh_hadamard(prices)
    assert parities_that_move(n, order) == closed == ((transformed[0] - transformed) / 2.0).max()
    if order == 2:
        assert closed == (n + 1) ** 2 // 4
