"""ResidualBasis of tables: the same in every table that holds them, and enough to make each again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import ResidualBasis, can_hold, can_hold_table, table_cells
from hedgerow.models.fit.residual_basis import helmert, largest
from hedgerow.queries import Conjunction, Marginal, Parity
from tests.models.strategies import domain_of


@pytest.mark.parametrize("size", [2, 3, 7, 30])
def test_bases_are_orthonormal_and_begin_with_a_constant(size: int) -> None:
    basis = helmert(np.eye(size), back=False)
    np.testing.assert_allclose(basis.T @ basis, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(basis[:, 0], size**-0.5)
    np.testing.assert_allclose(helmert(basis, back=True), np.eye(size), atol=1e-12)


@st.composite
def held(draw: st.DrawFn) -> ResidualBasis:
    domain = domain_of(*draw(st.lists(st.integers(2, 9), min_size=2, max_size=5)))
    chosen = draw(st.lists(st.sets(st.sampled_from(domain.names), min_size=1, max_size=3), min_size=1, max_size=4))
    return ResidualBasis(domain, [domain.clique(names) for names in chosen])


@given(held(), st.integers(0, 1000))
def test_tables_of_parts_agree_wherever_they_overlap(parts: ResidualBasis, seed: int) -> None:
    domain, coefficients = parts.domain, np.random.default_rng(seed).normal(0.0, 1.0, parts.size)
    tables = dict(zip(parts.sets, parts.tables(parts.sets, coefficients), strict=True))
    for scope in parts.scopes:
        for inner in parts.sets:
            if set(inner) <= set(scope):
                beside = tuple(axis for axis, name in enumerate(scope) if name not in inner)
                np.testing.assert_allclose(tables[scope].sum(axis=beside), tables[inner], atol=1e-10)
    assert tables[()] == pytest.approx(coefficients[0])
    assert all(tables[scope].shape == domain.shape_of(scope) for scope in parts.scopes)


@given(held(), st.integers(0, 1000))
def test_sums_are_the_transpose_of_tables(parts: ResidualBasis, seed: int) -> None:
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(0.0, 1.0, parts.size)
    for stack in parts.stacks(parts.scopes):
        other = rng.normal(0.0, 1.0, stack.places.shape)
        left, right = np.vdot(stack.tables(coefficients), other), np.vdot(stack.sums(other, parts.size), coefficients)
        assert left == pytest.approx(right, rel=1e-9, abs=1e-9)


@given(held())
def test_every_coefficient_has_a_place_of_its_own(parts: ResidualBasis) -> None:
    for stack in parts.stacks(parts.scopes):
        assert all(len(set(row)) == len(row) for row in stack.places.tolist())
    every = {place for stack in parts.stacks(parts.scopes) for place in stack.places.reshape(-1).tolist()}
    assert every == set(range(parts.size))


def test_a_parity_is_a_coefficient() -> None:
    domain = domain_of(2, 2, 2)
    table = np.arange(8.0).reshape(2, 2, 2)
    parts = ResidualBasis(domain, [domain.names])
    (stack,) = parts.stacks([domain.names])
    # of one table of all attributes the factors are undone by the number of cells that were summed
    coefficients = stack.sums(table.reshape(1, -1), parts.size) / stack.sums(
        stack.tables(np.ones(parts.size)), parts.size
    )
    for scope in parts.sets:
        expected = float(Parity(domain, scope).of_table(parts.tables([scope], coefficients)[0])[0]) if scope else 28.0
        assert coefficients[parts.start(scope)] * 2.0 ** (len(scope) / 2) == pytest.approx(expected)


def test_only_tables_of_few_attributes_and_codes_are_held() -> None:
    domain = Domain((IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1), IntegerRange("ip", 0, 2**20)))
    assert can_hold_table(domain, ("age", "sex"))
    assert not can_hold_table(domain, ("age", "ip"))
    assert not can_hold_table(domain, ("sex", "age.10"))
    assert not can_hold_table(domain, ())
    assert not can_hold(Conjunction.where(domain, {"age": [3]}))
    assert not can_hold(Marginal(domain, ("age",), Conjunction.where(domain, {"age": [1]})))
    wide = domain_of(*[2] * 7)
    assert can_hold(Parity(wide, wide.names[:6]))
    assert not can_hold(Parity(wide, wide.names))


def test_only_largest_tables_count() -> None:
    domain = domain_of(2, 3, 4)
    scopes = [("x0",), ("x0", "x1"), ("x2",), ("x0", "x1")]
    assert largest(scopes) == (("x0", "x1"), ("x2",))
    assert table_cells(domain, scopes) == 10 == ResidualBasis(domain, scopes).cells
