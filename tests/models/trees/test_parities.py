"""Parities of junction trees in bulk: against the dense reference and against tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.models import Histogram, Markov
from hedgerow.models.trees import parities as tree_parities
from hedgerow.queries import Parity, parity_scopes
from tests.examples import examples
from tests.models.strategies import domain_of


def expected(model: Histogram, axes: np.ndarray) -> Floats:
    names = model.domain.names
    queries = [Parity(model.domain, tuple(names[place] for place in row if place >= 0)) for row in axes.tolist()]
    tables = model.marginals([query.scope for query in queries])
    return np.array([query.of_table(table)[0] for query, table in zip(queries, tables, strict=True)])


def random_factors(rng: np.random.Generator, domain: Domain, scope: Clique) -> Floats:
    table = rng.normal(0.0, 1.5, domain.shape_of(scope))
    table[rng.random(table.shape) < 0.15] -= rng.choice([60.0, 3000.0])  # next to nothing, and nothing
    return table


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32 - 1), st.integers(2, 10), st.integers(1, 3), st.integers(1, 9))
def test_equals_the_histogram_after_every_update(seed: int, count: int, order: int, updates: int) -> None:
    """The same array is asked again and again, so that only what changed is computed anew."""
    rng = np.random.default_rng(seed)
    domain = domain_of(*[2] * count)
    axes = parity_scopes(domain, min(order, count))
    axes = axes[rng.permutation(len(axes))] if seed % 2 else axes
    model, dense = Markov(domain, 7.0), Histogram(domain, 7.0)
    for _ in range(updates):
        scope = domain.clique(rng.choice(domain.names, rng.integers(1, 4).clip(max=count), replace=False))
        table = random_factors(rng, domain, scope)
        model.reweigh(scope, table)
        dense.reweigh(scope, table)
        np.testing.assert_allclose(model.parities(axes), expected(dense, axes), rtol=1e-10, atol=1e-10)
    model.reset()
    assert model.parities(axes).tolist() == [0.0] * len(axes)


@given(st.integers(0, 2**32 - 1))
def test_cliques_may_hold_other_attributes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = domain_of(2, 3, 2, 5, 2, 2)
    model, dense = Markov(domain, 3.0), Histogram(domain, 3.0)
    for _ in range(5):
        scope = domain.clique(rng.choice(domain.names, 2, replace=False))
        table = random_factors(rng, domain, scope)
        model.reweigh(scope, table)
        dense.reweigh(scope, table)
    binary = [0, 2, 4, 5]
    rows = [list(each) for size in range(1, 4) for each in itertools.combinations(binary, size)]
    axes = np.array([each + [-1] * (3 - len(each)) for each in rows])
    np.testing.assert_allclose(model.parities(axes), expected(dense, axes), rtol=1e-10, atol=1e-10)


def test_names_and_sets_of_many_attributes() -> None:
    rng = np.random.default_rng(0)
    domain = domain_of(*[2] * 7)
    model, dense = Markov(domain, 10.0), Histogram(domain, 10.0)
    for i in range(6):
        table = rng.normal(size=(2, 2))
        model.reweigh((f"x{i}", f"x{i + 1}"), table)
        dense.reweigh((f"x{i}", f"x{i + 1}"), table)
    scopes: list[Clique] = [("x0", "x2", "x3", "x6"), ("x1",), ("x0", "x1", "x2", "x3", "x4"), ("x5", "x6")]
    found = np.array([Parity(domain, scope).of_table(dense.marginals([scope])[0])[0] for scope in scopes])
    np.testing.assert_allclose(model.parities(scopes), found, rtol=1e-10, atol=1e-10)


def test_large_cliques_are_left_to_their_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    domain = domain_of(*[2] * 7)
    model = Markov(domain, 10.0)
    for i in range(6):
        model.reweigh((f"x{i}", f"x{i + 1}"), rng.normal(size=(2, 2)))
    axes = parity_scopes(domain, 3)
    found = model.parities(axes)
    twin = model.copy()
    monkeypatch.setattr(tree_parities, "_MAP_CELLS", 3)
    np.testing.assert_allclose(twin.parities(axes), found, rtol=1e-10, atol=1e-10)


def test_a_copy_goes_its_own_way() -> None:
    domain = domain_of(2, 2, 2)
    model = Markov(domain, 4.0)
    axes = parity_scopes(domain, 2)
    model.reweigh(("x0", "x1"), np.log([[3.0, 1.0], [1.0, 3.0]]))
    before = model.parities(axes)
    twin = model.copy()
    twin.reweigh(("x0", "x1"), np.log([[1.0, 3.0], [3.0, 1.0]]))
    assert twin.parities(axes).round(12).tolist() == [0.0] * 6
    assert model.parities(axes).tolist() == before.tolist()


def test_attributes_with_more_codes_are_refused() -> None:
    domain = domain_of(2, 3)
    with pytest.raises(QueryError, match="x1"):
        Markov(domain, 1.0).parities(np.array([[0, 1]]))
