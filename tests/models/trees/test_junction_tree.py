"""Triangulation and spanning trees, against what defines them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError, DomainError
from hedgerow.models import JunctionTree, components, plan, width
from tests.models.strategies import domain_of


@st.composite
def instances(draw: st.DrawFn) -> tuple[Domain, list[Clique]]:
    domain = domain_of(*draw(st.lists(st.integers(2, 5), min_size=1, max_size=9)))
    scopes = st.lists(st.sampled_from(domain.names), max_size=3).map(tuple)
    return domain, draw(st.lists(scopes, max_size=12))


def connected(nodes: set[int], edges: list[tuple[int, int]]) -> bool:
    """By definition: everything can be reached from one node."""
    reached = set(list(nodes)[:1])
    for _ in nodes:
        reached |= {b for a, b in [*edges, *((j, i) for i, j in edges)] if a in reached and b in nodes}
    return reached == nodes


def chain(length: int, size: int = 2) -> tuple[Domain, list[Clique]]:
    domain = domain_of(*[size] * (length + 1))
    return domain, [(f"x{i}", f"x{i + 1}") for i in range(length)]


@given(instances())
def test_holds_every_scope_in_maximal_cliques_with_running_intersections(instance: tuple[Domain, list[Clique]]) -> None:
    domain, scopes = instance
    tree = JunctionTree.of(domain, scopes)
    members = [set(clique) for clique in tree.cliques]
    assert all(any(set(scope) <= clique for clique in members) for scope in scopes if scope)
    assert not any(a < b or (a == b and i != j) for i, a in enumerate(members) for j, b in enumerate(members))
    assert all(clique == domain.clique(clique) for clique in tree.cliques)
    assert set().union(*members) == {name for scope in scopes for name in scope}
    for name in domain.names:
        assert connected({i for i, clique in enumerate(members) if name in clique}, list(tree.edges))
    for i, j in tree.edges:
        assert tree.separator(i, j) == domain.clique(members[i] & members[j])


@given(instances())
def test_disjoint_parts_are_components(instance: tuple[Domain, list[Clique]]) -> None:
    domain, scopes = instance
    tree = JunctionTree.of(domain, scopes)
    groups = components(domain, scopes)
    assert len(tree.edges) == len(tree.cliques) - len(groups)
    assert all(tree.separator(i, j) for i, j in tree.edges)
    assert components(domain, tree.cliques) == groups
    assert sorted(tree.ordered) == list(range(len(tree.cliques)))


@given(instances())
def test_trees_of_cliques_need_no_filling(instance: tuple[Domain, list[Clique]]) -> None:
    """The cliques of a triangulated graph are those of the graph itself."""
    domain, scopes = instance
    tree = JunctionTree.of(domain, scopes)
    assert JunctionTree.of(domain, tree.cliques).cliques == tree.cliques


@given(instances(), st.data())
def test_the_subtree_for_some_attributes_is_the_smallest(
    instance: tuple[Domain, list[Clique]], data: st.DataObject
) -> None:
    domain, scopes = instance
    groups = components(domain, scopes)
    if not groups:
        return
    tree = JunctionTree.of(domain, scopes)
    names = domain.clique(data.draw(st.sets(st.sampled_from(data.draw(st.sampled_from(groups))), min_size=1)))
    found = tree.spanning(names)
    nodes = [node for node, _ in found]
    assert found[0][1] is None
    assert all(
        parent in nodes[:place] and parent in tree.neighbours[node]
        for place, (node, parent) in enumerate(found)
        if place
    )
    assert set(names) <= {name for node in nodes for name in tree.cliques[node]}
    smaller = itertools.combinations(range(len(tree.cliques)), len(nodes) - 1)
    for fewer in itertools.islice(smaller, 200):
        covers = set(names) <= {name for node in fewer for name in tree.cliques[node]}
        assert not (covers and connected(set(fewer), list(tree.edges)))


def eliminated(domain: Domain, scopes: list[Clique]) -> set[Clique]:
    """The documented rule, with all costs taken anew before every elimination."""
    near = {
        name: {b for scope in scopes if name in scope for b in scope} - {name} for scope in scopes for name in scope
    }
    cliques: list[set[str]] = []

    def cost(name: str) -> tuple[int, int, int]:
        missing = [(a, b) for a, b in itertools.combinations(near[name], 2) if b not in near[a]]
        fill = sum(domain[a].size * domain[b].size for a, b in missing)
        return fill, math.prod(domain.shape_of((name, *near[name]))), domain.index(name)

    while near:
        name = min(near, key=cost)
        others = near.pop(name)
        cliques.append({name} | others)
        for other in others:
            near[other] = (near[other] | others) - {name, other}
    return {domain.clique(clique) for clique in cliques if not any(clique < other for other in cliques)}


@given(instances())
def test_eliminates_in_the_documented_order(instance: tuple[Domain, list[Clique]]) -> None:
    domain, scopes = instance
    assert set(JunctionTree.of(domain, scopes).cliques) == eliminated(domain, scopes)


@pytest.mark.parametrize("seed", range(5))
def test_eliminates_dense_graphs_in_the_documented_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = domain_of(*rng.integers(2, 30, 14).tolist())
    pairs = list(itertools.combinations(domain.names, 2))
    scopes: list[Clique] = [pairs[i] for i in rng.choice(len(pairs), 25, replace=False)]
    assert set(JunctionTree.of(domain, scopes).cliques) == eliminated(domain, scopes)


def test_a_subtree_sheds_all_cliques_that_only_lead_on() -> None:
    """The hub is in every clique but the last: only the two at the end are needed."""
    domain = domain_of(*[2] * 12)
    scopes = [("x0", f"x{i}", f"x{i + 1}") for i in range(1, 10)]
    tree = JunctionTree.of(domain, [*scopes, ("x10", "x11")])
    assert {tree.cliques[node] for node, _ in tree.spanning(("x0", "x11"))} == {scopes[-1], ("x10", "x11")}


def test_a_circle_is_cut_where_its_tables_are_small() -> None:
    """Four attributes in a circle need one diagonal: the one of few cells."""
    domain = domain_of(2, 50, 3, 40)
    tree = JunctionTree.of(domain, [("x0", "x1"), ("x1", "x2"), ("x2", "x3"), ("x3", "x0")])
    assert tree.cliques == (("x0", "x1", "x2"), ("x0", "x2", "x3"))
    assert tree.cells == 2 * 50 * 3 + 2 * 3 * 40


def test_a_chain_is_its_own_tree() -> None:
    domain, scopes = chain(300)
    tree = JunctionTree.of(domain, scopes)
    assert tree.cliques == tuple(scopes)
    assert tree.edges == tuple((i, i + 1) for i in range(299))
    assert tree.find(("x7", "x8")) == 7
    assert tree.find(("x7", "x9")) is None
    assert sorted(node for node, _ in tree.spanning(("x10", "x20"))) == list(range(10, 20))


def test_elimination_on_a_chain_stays_narrow() -> None:
    domain, scopes = chain(300, size=3)
    steps = plan(JunctionTree.of(domain, scopes), ("x0", "x300"))
    assert len(steps) == 300
    assert width(steps, dict.fromkeys(domain.names, 3), ("x0", "x300")) == 9


def test_elimination_multiplies_in_an_order_of_few_cells() -> None:
    """The child that shares most goes first; the other way round 48,000 cells would be made."""
    domain = domain_of(4, 4, 30, 5, 3, 20)
    tree = JunctionTree.of(domain, [("x0", "x1", "x2", "x3"), ("x0", "x1", "x2", "x4"), ("x0", "x1", "x5")])
    wanted = ("x3", "x4", "x5")
    steps = plan(tree, wanted)
    assert len(steps) == 3
    assert width(steps, dict(zip(domain.names, domain.shape, strict=True)), wanted) == 4 * 4 * 30 * 5


def test_no_scope_at_all_is_an_empty_forest() -> None:
    tree = JunctionTree.of(domain_of(2, 2), [()])
    assert (tree.cliques, tree.edges, tree.cells) == ((), (), 0)


def test_wrong_trees_are_refused() -> None:
    domain = domain_of(2, 2, 2, 2)
    with pytest.raises(ConfigError, match="circle"):
        JunctionTree(domain, (("x0", "x1"), ("x1", "x2")), ((0, 1), (1, 0)))
    with pytest.raises(ConfigError, match="'x1'"):
        JunctionTree(domain, (("x0", "x1"), ("x2",), ("x1", "x3")), ((0, 1), (1, 2)))
    with pytest.raises(DomainError):
        JunctionTree.of(domain, [("x0", "nobody")])


def test_attributes_of_several_components_have_no_subtree() -> None:
    tree = JunctionTree.of(domain_of(2, 2, 2, 2), [("x0", "x1"), ("x2", "x3")])
    with pytest.raises(ConfigError, match="components"):
        tree.spanning(("x0", "x3"))
