"""How large trees become: against the trees themselves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Clique, Constraint, Derived, Domain, IntegerRange
from hedgerow.errors import DomainError
from hedgerow.models import Growth, JunctionTree, Markov
from hedgerow.models.trees import growth
from hedgerow.queries import filled_axes
from tests.models.strategies import domain_of


@st.composite
def instances(draw: st.DrawFn) -> tuple[Domain, list[Clique], list[Clique]]:
    """A domain, scopes that are held, and candidates of one order or of several."""
    domain = domain_of(*draw(st.lists(st.integers(2, 5), min_size=2, max_size=12)))
    pairs = st.sets(st.sampled_from(domain.names), min_size=1, max_size=3).map(domain.clique)
    held = draw(st.lists(pairs, max_size=14))
    orders = draw(st.sampled_from([(2, 2), (3, 3), (0, 4)]))
    candidates = st.sets(st.sampled_from(domain.names), min_size=min(orders[0], len(domain)), max_size=orders[1])
    return domain, held, draw(st.lists(candidates.map(domain.clique), max_size=8))


def trees_of(domain: Domain, held: list[Clique]) -> list[JunctionTree]:
    """One for each component, in which order ever."""
    whole = JunctionTree.of(domain, held)
    found: list[list[Clique]] = []
    for clique in whole.cliques:
        joined = [each for each in found if any(set(clique) & set(other) for other in each)]
        found = [each for each in found if each not in joined] + [[clique, *itertools.chain.from_iterable(joined)]]
    return [JunctionTree.of(domain, each) for each in found]


@given(instances())
def test_equals_the_cells_of_the_trees(instance: tuple[Domain, list[Clique], list[Clique]]) -> None:
    domain, held, candidates = instance
    tree = JunctionTree.of(domain, held)
    inside = [not each or tree.find(each) is not None for each in candidates]
    expected = [
        tree.cells if there else JunctionTree.of(domain, [*held, each]).cells
        for each, there in zip(candidates, inside, strict=True)
    ]
    assert Growth(domain, candidates).cells(held).tolist() == expected
    assert Growth(domain, filled_axes(map(domain.axes, candidates))).cells(held).tolist() == expected


@given(instances())
def test_bounds_are_those_of_trees_that_exist(instance: tuple[Domain, list[Clique], list[Clique]]) -> None:
    """The tree holds everything, is a junction tree by its definition, and has no more cells than the bound says."""
    domain, held, candidates = instance
    trees = trees_of(domain, held)
    now = sum(tree.cells for tree in trees)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "_EXACT", -1)
        bounds = Growth(domain, candidates).cells(held, trees)
    for scope, bound in zip(candidates, bounds.tolist(), strict=True):
        if not scope or any(tree.find(scope) is not None for tree in trees):
            assert bound == now
            continue
        grown = growth.grown_tree(domain, trees, scope)
        JunctionTree(domain, grown.cliques, grown.edges)
        assert all(grown.find(each) is not None for each in [scope, *held])
        assert grown.cells <= bound
        assert bound <= now * math.prod(domain.shape_of(scope)) + now + math.prod(domain.shape_of(scope))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_bounds_over_random_sparse_graphs(order: int) -> None:
    """Long paths, as among hundreds of attributes; half of the bounds are what triangulation finds, or nearly."""
    rng = np.random.default_rng(order)
    domain = domain_of(*rng.integers(2, 5, 60).tolist())
    pairs = list(itertools.combinations(domain.names, 2))
    held: list[Clique] = [pairs[i] for i in rng.choice(len(pairs), 45, replace=False)]
    candidates = [domain.clique(rng.choice(domain.names, order, replace=False)) for _ in range(60)]
    trees = trees_of(domain, held)
    exact = Growth(domain, candidates).cells(held, trees)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "_EXACT", -1)
        bounds = Growth(domain, candidates).cells(held, trees)
    for scope, bound in zip(candidates, bounds, strict=True):
        grown = growth.grown_tree(domain, trees, scope)
        assert grown.find(scope) is not None
        assert grown.cells <= bound
    assert np.median(bounds / exact) < 1.05


@pytest.mark.parametrize("order", [1, 2, 3])
def test_within_agrees_with_the_cells_on_both_sides_of_the_shortcut(order: int) -> None:
    rng = np.random.default_rng(3)
    domain = domain_of(*[2] * (12 if order == 3 else 40))
    pairs: list[Clique] = list(itertools.combinations(domain.names, 2))
    held = [pairs[i] for i in rng.choice(len(pairs), len(domain), replace=False)]
    asked = Growth(domain, list(itertools.combinations(domain.names, order)))
    cells = asked.cells(held)
    for limit in [*np.quantile(cells, [0.0, 0.2, 0.5, 0.9]), 1e9]:
        for trees in (None, trees_of(domain, held)):
            assert (asked.within(limit, held, trees) == (cells <= limit)).all()


def test_cells_beyond_all_floats_are_infinite() -> None:
    domain = domain_of(*[2**30] * 40)
    found = Growth(domain, [domain.names, ("x0", "x1")]).cells([])
    assert found.tolist() == [math.inf, 2.0**60]


def test_a_clique_of_too_many_attributes_has_no_bound_but_infinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_EXACT", -1)
    domain = domain_of(*[2] * 70)
    asked = Growth(domain, [("x0", "x1"), ("x0", "x69")])
    assert asked.cells([domain.names[:65]]).tolist() == [2.0**65, math.inf]


def test_candidates_without_attributes_add_nothing() -> None:
    domain = domain_of(2, 3)
    for _ in range(100):  # reads beyond an array go unnoticed most of the time
        assert Growth(domain, filled_axes([(), ()])).cells([("x0", "x1")]).tolist() == [6.0, 6.0]


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(DomainError, match="nobody"):
        Growth(domain_of(2), [("nobody",)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("exact", [True, False])
def test_a_model_holds_no_more_than_was_said(seed: int, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scopes are measured one by one; before each the growth by all candidates is asked for."""
    monkeypatch.setattr(growth, "_EXACT", 1 << 30 if exact else -1)
    rng = np.random.default_rng(seed)
    domain = domain_of(*rng.integers(2, 4, 16).tolist())
    candidates: list[Clique] = list(itertools.combinations(domain.names, 2 + seed % 2))
    model, asked, held = Markov(domain, 1.0), Growth(domain, candidates), list[Clique]()
    for _ in range(12):
        cells = asked.cells(held, model.trees)
        for i in rng.choice(len(candidates), 8, replace=False):
            twin = model.copy()
            twin.cover([candidates[i]])
            assert twin.cells <= cells[i]
        chosen = candidates[rng.choice(np.flatnonzero(cells <= np.quantile(cells, 0.3)))]
        held.append(chosen)
        model.cover([chosen])


def leveled(seed: int) -> tuple[Domain, list[Clique]]:
    """Twelve attributes with default levels and one with another that does not nest; all pairs at all mixes."""
    rng = np.random.default_rng(seed)
    plain = domain_of(*rng.choice([3, 20, 40, 300], 12).tolist())
    large = next(each for each in plain if each.size > 16)
    levels = [each for each in plain.derived if each.sources == (large.name,)]
    other = Derived(IntegerRange("other", 0, 4), (large.name,), rng.integers(0, 5, large.size))
    rule = Constraint("r", ("x0", "x1"), [rng.integers(0, 2, size) for size in plain.shape[:2]], [[1, 0], [1, 1]])
    domain = Domain(plain.attributes, [*levels, other], [rule])
    names = [*domain.names, *(each.name for each in domain.derived)]
    pairs = (domain.reduced(pair) for pair in itertools.combinations(names, 2))
    return domain, [pair for pair in dict.fromkeys(pairs) if len(pair) == 2]


@pytest.mark.many(quick=4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("few", [0, 1 << 20])
@pytest.mark.parametrize("exact", [-1, 1 << 30])
def test_a_model_over_levels_holds_no_more_than_was_said(
    seed: int, few: int, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "_FEW", few)
    monkeypatch.setattr(growth, "_EXACT", exact)
    domain, candidates = leveled(seed)
    rng = np.random.default_rng(seed)
    candidates = [candidates[i] for i in rng.choice(len(candidates), 150, replace=False)]
    model, asked, held = Markov(domain, 1.0), Growth(domain, candidates), list[Clique]()
    for _ in range(8):
        cells = asked.cells(held, model.trees)
        for i in rng.choice(len(candidates), 6, replace=False):
            twin = model.copy()
            twin.cover([candidates[i]])
            assert twin.cells <= cells[i] * (1 + 1e-3)
            tied = sum(domain.shape)
            assert few or exact < 0 or cells[i] <= 1.5 * twin.cells + tied
        chosen = candidates[rng.choice(np.flatnonzero(cells <= np.quantile(cells, 0.3)))]
        held.append(chosen)
        model.cover([chosen])
