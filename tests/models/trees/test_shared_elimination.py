"""Many marginals at once: the same as one elimination each, and as the dense reference."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.domain import Clique, Domain
from hedgerow.errors import MarginalTooLargeError
from hedgerow.models import Beliefs, JunctionTree, Markov, plan, width
from hedgerow.models.core import memory
from hedgerow.models.trees import placing, shared_elimination
from hedgerow.models.trees.shared_elimination import SharedElimination
from tests.examples import examples
from tests.models.strategies import domain_of
from tests.reference.dense_model import DenseModel


@st.composite
def instances(draw: st.DrawFn) -> tuple[Domain, list[tuple[Clique, int]]]:
    """A domain, and updates by their scopes and seeds."""
    domain = domain_of(*draw(st.lists(st.integers(2, 3), min_size=2, max_size=9)))
    scopes = st.sets(st.sampled_from(domain.names), min_size=1, max_size=3).map(domain.clique)
    return domain, draw(st.lists(st.tuples(scopes, st.integers(0, 1000)), min_size=1, max_size=9))


def factors(domain: Domain, scope: Clique, seed: int) -> np.ndarray:
    """Of all sizes; a few cells are driven to nothing, or to what floating point cannot tell from it."""
    rng = np.random.default_rng(seed)
    table = rng.normal(0.0, 2.0, domain.shape_of(scope))
    table[rng.random(table.shape) < 0.1] -= rng.choice([50.0, 800.0, 3000.0])
    return table


def subsets(names: Clique, order: int) -> list[Clique]:
    return [clique for size in range(order + 1) for clique in itertools.combinations(names, size)]


@pytest.mark.slow
@settings(max_examples=examples(80))
@given(instances(), st.integers(0, 2**32 - 1))
def test_equals_the_dense_reference_between_updates(
    instance: tuple[Domain, list[tuple[Clique, int]]], seed: int
) -> None:
    """All marginals of up to four attributes, and some of them after every update, from what was kept."""
    domain, updates = instance
    model, reference = Markov(domain, 20.0), DenseModel(domain, 20.0)
    asked, rng = subsets(domain.names, 4), np.random.default_rng(seed)
    for place, (scope, each) in enumerate(updates):
        table = factors(domain, scope, each)
        model.reweigh(scope, table)
        reference.reweigh(scope, table)
        last = place == len(updates) - 1
        wanted = asked if last else [asked[i] for i in rng.integers(0, len(asked), 6)]
        for clique, found in zip(wanted, model.marginals(wanted), strict=True):
            np.testing.assert_allclose(found, reference.marginal(clique), rtol=1e-10, atol=1e-10)
            assert found.flags.writeable


def wide_model(seed: int) -> tuple[Markov, list[Clique]]:
    """Fourteen attributes of up to 12 codes, 20 random pairs."""
    rng = np.random.default_rng(seed)
    domain = domain_of(*rng.integers(2, 13, 14).tolist())
    pairs = list(itertools.combinations(domain.names, 2))
    scopes: list[Clique] = [pairs[i] for i in rng.choice(len(pairs), 18, replace=False)]
    model = Markov(domain, 1000.0, scopes)
    for scope in scopes:
        model.reweigh(scope, rng.normal(size=domain.shape_of(scope)))
    return model, scopes


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("room", [1 << 22, 1 << 9])
def test_equals_one_elimination_each(seed: int, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in small batches, and where the order of the products is compared for all of them."""
    monkeypatch.setattr(shared_elimination, "_ROOM", room)
    monkeypatch.setattr(placing, "_LONG", 1e6 if room > 1 << 9 else 0.0)
    model, _ = wide_model(seed)
    (part,) = model.forest
    names = sorted({name for clique in part.tree.cliques for name in clique}, key=model.domain.index)
    asked = [clique for clique in subsets(tuple(names), 3) if clique]
    found = dict(SharedElimination(part).tables(asked))
    assert set(found) == set(asked)
    for clique, table in found.items():
        expected = part.table(plan(part.tree, clique), clique, {})
        np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-14)


def test_only_what_an_update_touches_is_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of 30 attributes, changed at one end: conditionals of what is behind other edges are kept."""
    domain = domain_of(*[3] * 30)
    model = Markov(domain, 1.0, [(f"x{i}", f"x{i + 1}") for i in range(29)])
    made: list[tuple[int, int]] = []
    conditionals = SharedElimination._conditionals

    def counted(elimination: SharedElimination, i: int, j: int, names: Clique) -> object:
        made.append((i, j))
        return conditionals(elimination, i, j, names)

    monkeypatch.setattr(SharedElimination, "_conditionals", counted)
    far = [("x0", f"x{i}") for i in range(2, 30)]
    rng = np.random.default_rng(0)
    model.reweigh(("x0", "x1"), rng.normal(size=(3, 3)))
    model.marginals(far)
    assert len(made) == 28
    model.marginals(far)
    model.reweigh(("x0", "x1"), rng.normal(size=(3, 3)))
    model.marginals(far)
    assert len(made) == 28
    model.reweigh(("x10", "x11"), rng.normal(size=(3, 3)))
    model.marginals(far)
    assert len(made) == 28 + 10


def test_a_copy_keeps_nothing_of_the_original() -> None:
    model, scopes = wide_model(7)
    asked = [("x0", "x5"), ("x2", "x7", "x11")]
    before = model.marginals(asked)
    twin = model.copy()
    model.reweigh(scopes[0], np.random.default_rng(1).normal(size=model.domain.shape_of(scopes[0])))
    model.marginals(asked)
    for table, expected in zip(twin.marginals(asked), before, strict=True):
        np.testing.assert_allclose(table, expected, rtol=1e-12)


def test_what_is_kept_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_elimination, "KEPT_CELLS", 100)
    model, _ = wide_model(3)
    emptied = 0
    for clique in itertools.combinations(model.domain.names, 3):
        model.marginals([clique])
        (part,) = model.forest
        kept = sum(table.size for edge in part._behind.values() for table in edge.values())
        assert kept <= max(part.tree.cells, 100)
        emptied += kept == 0
    assert emptied < 364 / 2


def test_tables_on_the_way_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three branches of a hub of 40 codes: 40 * 9**2 cells are made on the way to 9**3."""
    domain = domain_of(40, 9, 9, 9)
    model = Markov(domain, 1.0, [("x0", "x1"), ("x0", "x2"), ("x0", "x3")])
    asked = [("x1", "x2", "x3")]
    model.marginals(asked)
    monkeypatch.setattr(memory, "_ALWAYS_FITS", 0)
    monkeypatch.setattr(memory, "usable_bytes", lambda: 24 * (40 * 81 - 1))
    with pytest.raises(MarginalTooLargeError) as caught:
        model.marginals(asked)
    assert caught.value.cells == 40 * 81
    monkeypatch.setattr(memory, "usable_bytes", lambda: 24 * 40 * 81)
    assert model.marginals(asked)[0].sum() == pytest.approx(1.0)


def test_conditionals_are_carried_from_where_they_depend_on_least() -> None:
    """x4 depends on x0 alone: the large separator on the way is not looked at."""
    domain = domain_of(3, 8, 8, 8, 5)
    tree = JunctionTree.of(domain, [("x0", "x1", "x2"), ("x0", "x1", "x2", "x3"), ("x0", "x4")])
    beliefs = Beliefs(tree)
    rng = np.random.default_rng(0)
    for clique in tree.cliques:
        beliefs.add(clique, rng.normal(size=domain.shape_of(clique)))
    found = dict(SharedElimination(beliefs).tables([("x3", "x4")]))["x3", "x4"]
    assert found.sum() == pytest.approx(1.0)
    kept = [table.shape for edge in beliefs._behind.values() for table in edge.values()]
    assert all(math.prod(shape) <= 3 * 8 for shape in kept)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parts", [1, 16])
def test_where_conditionals_would_be_too_many_they_are_held_in_turns(
    seed: int, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that are too large alone an elimination of its own makes each."""
    model, _ = wide_model(seed)
    asked = [clique for clique in subsets(model.domain.names, 3) if clique]
    expected = model.marginals(asked)
    sizes = dict(zip(model.domain.names, model.domain.shape, strict=True))
    (tree,) = model.trees
    inside = [tuple(name for name in clique if any(name in each for each in tree.cliques)) for clique in asked]
    room = max(width(plan(tree, clique), sizes, clique) for clique in inside if clique) // parts
    monkeypatch.setattr(placing, "HELD_CELLS", room)
    alone: list[Clique] = []
    held: list[int] = []
    eliminate, forget = SharedElimination._alone, Beliefs.forget

    def counted(elimination: SharedElimination, clique: Clique) -> object:
        alone.append(clique)
        return eliminate(elimination, clique)

    def looked_at(part: Beliefs, more_than: int) -> None:
        held.append(sum({id(table): table.size for edge in part._behind.values() for table in edge.values()}.values()))
        forget(part, more_than)

    for part in model.forest:
        part.forget(more_than=-1)
    monkeypatch.setattr(SharedElimination, "_alone", counted)
    monkeypatch.setattr(Beliefs, "forget", looked_at)
    for table, right in zip(model.marginals(asked), expected, strict=True):
        np.testing.assert_allclose(table, right, rtol=1e-9, atol=1e-12)
    assert (len(alone) < len(asked) / 20) if parts == 1 else (0 < len(alone) < len(asked))
    assert max(held) <= room
    assert np.count_nonzero(held) > 1


def test_the_way_of_an_answer_does_not_depend_on_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = wide_model(0)
    asked = [clique for clique in subsets(model.domain.names, 3) if clique]
    ways: list[list[Clique]] = []
    eliminate = SharedElimination._alone

    def counted(elimination: SharedElimination, clique: Clique) -> object:
        ways[-1].append(clique)
        return eliminate(elimination, clique)

    monkeypatch.setattr(SharedElimination, "_alone", counted)
    monkeypatch.setattr(memory, "_ALWAYS_FITS", 0)
    least = 3 * 8 * max(math.prod(model.domain.shape_of(clique)) for part in model.trees for clique in part.cliques)
    for usable in (2**40, 3 * least):
        ways.append([])
        monkeypatch.setattr(memory, "usable_bytes", lambda usable=usable: usable)
        for part in model.forest:
            part.forget(more_than=-1)
        try:
            model.marginals(asked)
        except MarginalTooLargeError:
            continue
    assert ways[0] == ways[1]
