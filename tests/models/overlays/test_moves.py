"""Records that are moved towards tables: against plain Python, and against the law that they are to have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Constraint, Derived, Domain, IntegerRange
from hedgerow.models import Codes, Markov, Overlay, Proximal, overlaid
from hedgerow.models.overlays import moves as module
from hedgerow.models.overlays.moves import Moves
from hedgerow.models.overlays.moves_kernels import count, sweep
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind
from tests.examples import examples
from tests.models.strategies import domain_of, leveled_domains
from tests.reference.moved_records import energy, swept

SIZES = (2, 3, 4, 3, 2, 3)


def hidden(n: int, seed: int = 0) -> Ints:
    """Records of three kinds, which no small tree says."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n)
    laws = [rng.dirichlet(np.full(size, 0.7), 3) for size in SIZES]
    ends = [np.cumsum(law, axis=1)[kinds] for law in laws]
    return np.stack([(rng.random(n)[:, None] > each[:, :-1]).sum(axis=1) for each in ends], axis=1)


def table_of(codes: Ints | Codes, domain: Domain, scope: Clique) -> Floats:
    shape = domain.shape_of(scope)
    flat = np.ravel_multi_index([codes[:, axis].astype(np.int64) for axis in domain.axes(scope)], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape) / len(codes)


def hard(domain: Domain | None = None, codes: Ints | None = None, cells: int = 40) -> Overlay:
    """All pairs of records of hidden kinds, over a tree that holds few of them."""
    domain = domain_of(*SIZES) if domain is None else domain
    codes = hidden(20_000) if codes is None else codes
    pairs = list(combinations(domain.names, 2))
    told = [
        Measurement(
            Marginal(domain, pair), len(codes) * table_of(codes, domain, pair).reshape(-1), NoiseKind.GAUSSIAN, 1.0
        )
        for pair in pairs
    ]
    return overlaid(domain, float(len(codes)), told, Proximal(), cells)


def distance(codes: Codes, model: Overlay) -> float:
    """Mean total variation distance of the pairs of records from the tables."""
    pairs = list(combinations(model.domain.names, 2))
    tables = [each / model.total for each in model.marginals(pairs)]
    return float(
        np.mean([0.5 * np.abs(t - table_of(codes, model.domain, p)).sum() for t, p in zip(tables, pairs, strict=True)])
    )


def test_records_have_the_tables_that_the_tree_does_not_hold() -> None:
    model = hard()
    n = 20_000
    drawn = np.mean(
        [
            np.sqrt(t * (1 - t) / (2 * np.pi * n)).sum()
            for t in (m / model.total for m in model.marginals(list(combinations(model.domain.names, 2))))
        ]
    )
    assert distance(model.tree.sample(n, 1), model) > 0.02
    assert distance(model.sample(n, 1), model) < 0.5 * drawn
    assert distance(model.sample(n, 1, "independent"), model) < 2.0 * drawn


def test_records_meet_a_condition_and_have_the_tables_given_it() -> None:
    codes = hidden(20_000)
    model = hard(codes=codes)
    condition = Conjunction.where(model.domain, {"x1": [0, 2], "x2": [1]})
    real = codes[np.isin(codes[:, 1], [0, 2]) & (codes[:, 2] == 1)]
    pairs = list(combinations(model.domain.names, 2))

    def apart(found: Codes) -> float:
        return float(
            np.mean([np.abs(table_of(found, model.domain, p) - table_of(real, model.domain, p)).sum() for p in pairs])
        )

    found = model.sample(5_000, 1, given=condition)
    assert set(found[:, 1].tolist()) <= {0, 2}
    assert set(found[:, 2].tolist()) == {1}
    assert apart(found) < 0.7 * apart(model.tree.sample(5_000, 1, given=condition))


def test_rows_are_completed_by_the_moved_law() -> None:
    codes = hidden(20_000)
    model = hard(codes=codes)
    rows = {"x0": codes[:, 0], "x2": codes[:, 2]}
    found = model.sample(1, 1, given=rows)
    assert np.array_equal(found[:, [0, 2]], codes[:, [0, 2]])
    assert distance(found, model) < 0.5 * distance(model.tree.sample(1, 1, given=rows), model)


@pytest.mark.parametrize("method", ["systematic", "independent"])
def test_the_same_seed_gives_the_same_records_on_any_number_of_cores(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    model = hard()
    monkeypatch.setattr("hedgerow.models.core.records._MOST_ROWS", 700)
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(module, "usable_cores", lambda cores=cores: cores)
        found.append(model.sample(5_000, 9, method))
    assert np.array_equal(*found)
    assert not np.array_equal(found[0], model.sample(5_000, 8, method))


def test_no_more_blocks_are_held_than_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hard()
    drawn = 0

    def blocks() -> Iterator[Codes]:
        nonlocal drawn
        for seed in range(10):
            drawn += 1
            yield model.tree.sample(50, seed)

    monkeypatch.setattr(module, "usable_cores", lambda: 2)
    assert model.moves is not None
    moved = model.moves.together(blocks(), np.random.default_rng(0))
    for taken in range(1, 11):
        assert len(next(moved)) == 50
        assert drawn == taken + taken % 2


@pytest.mark.slow
@given(leveled_domains(), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(30), deadline=None)
def test_no_record_breaks_a_rule_or_leaves_what_the_tree_knows_of_levels(domain: Domain, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = Markov(domain, 100.0)
    for name in domain.all_names[:4]:
        tree.reweigh((name,), rng.normal(0.0, 1.0, domain.shape_of((name,))))
    first = domain.names[:2]
    other = Markov(domain, 1.0)
    other.reweigh(first, rng.normal(0.0, 1.0, domain.shape_of(first)))
    moves = Moves.of(tree, {first: other.marginals([first])[0]})
    assert moves is not None
    n = 3_000
    law = np.stack([each for each in np.ndindex(*domain.shape)])
    possible = np.ones(len(law), dtype=np.bool_)
    for rule in domain.constraints:
        possible &= rule.holds([law[:, axis] for axis in domain.axes(rule.scope)])
    legal = {tuple(each) for each in law[possible].tolist()}
    for block in (*moves.together(tree.sample_blocks(n, 1), rng), *moves.settled.apart(tree.sample_blocks(n, 1), rng)):
        assert {tuple(each) for each in block.tolist()} <= legal


def test_the_law_of_a_tree_over_levels_and_steps_stays_as_it_is() -> None:
    """Without tables, moved records have the law of the tree: 40,000 records, five standard deviations a cell."""
    level = Derived(IntegerRange("x0.half", 0, 1), ("x0",), np.array([0, 0, 1, 1]))
    plain = domain_of(4, 3)
    rule = Constraint(
        "x1 is not 2 where x0 is 3", ("x0", "x1"), [np.arange(4), np.arange(3)], np.arange(12).reshape(4, 3) < 11
    )
    domain = Domain(plain.attributes, [level], [rule])
    tree = Markov(domain, 1.0)
    tree.reweigh(domain.clique(("x0.half", "x1")), np.array([[0.3, -1.0], [1.2, 0.0], [0.0, -0.6]]))
    tree.update(Conjunction.where(domain, {"x0": [1, 3], "x1": [0]}), 0.8)
    moves = Moves.of(tree, {})
    assert moves is not None
    n = 40_000
    (block,) = moves.apart(tree.sample_blocks(n, 3, "independent"), np.random.default_rng(4))
    law = tree.marginals([("x0", "x1")])[0]
    assert law[3, 2] == 0.0
    assert (np.abs(table_of(block, domain, ("x0", "x1")) - law) <= 5.0 * np.sqrt(law / n)).all()


def test_too_many_cells_leave_the_records_of_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_READ", 10)
    model = hard()
    assert model.moves is None
    condition = Conjunction.where(model.domain, {"x1": [0]})
    for known in (None, condition, {"x0": np.array([1, 0])}):
        assert np.array_equal(model.sample(300, 5, given=known), model.tree.sample(300, 5, given=known))


def test_pairs_are_taken_where_wider_tables_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, codes = domain_of(*SIZES), hidden(20_000)
    triples = list(combinations(domain.names, 3))
    told = [
        Measurement(
            Marginal(domain, each), len(codes) * table_of(codes, domain, each).reshape(-1), NoiseKind.GAUSSIAN, 1.0
        )
        for each in triples
    ]
    model = overlaid(domain, float(len(codes)), told, Proximal(), 40)
    monkeypatch.setattr(module, "MOST_READ", 200)
    before = distance(model.tree.sample(20_000, 1), model)
    assert distance(model.sample(20_000, 1), model) < 0.2 * before


def test_pairs_that_the_tree_misses_most_are_taken_where_all_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hard()
    monkeypatch.setattr(module, "MOST_READ", 90)
    assert not module.can_move(model.domain, model.parts.scopes)
    pairs = list(combinations(model.domain.names, 2))
    far = [
        np.abs(one - other).sum()
        for one, other in zip(model.marginals(pairs), model.tree.marginals(pairs), strict=True)
    ]
    order = [pairs[place] for place in np.argsort(far)[::-1]]
    taken = module.as_many(model.tree, order)
    assert 2 < len(taken) < len(pairs)
    assert taken == order[: len(taken)]
    moved, before = (table.sample(20_000, 1) for table in (model, model.tree))
    of_model = {pair: table / model.total for pair, table in zip(pairs, model.marginals(pairs), strict=True)}

    def off(codes: Codes, scopes: list[Clique]) -> float:
        return float(np.mean([np.abs(table_of(codes, model.domain, pair) - of_model[pair]).sum() for pair in scopes]))

    assert off(moved, taken) < 0.2 * off(before, taken)
    assert off(moved, pairs) < off(before, pairs)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(25), deadline=None)
def test_a_pass_is_the_plain_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, 3).tolist()
    domain = domain_of(*sizes)
    scopes: list[Clique] = [("x0", "x1"), ("x1", "x2"), ("x2",)]
    n = 7
    records = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    by_column = {domain.axes(scope): scope for scope in scopes}
    logs, gains, targets = (
        {axes: law(domain.shape_of(scope)) for axes, scope in by_column.items()}
        for law in (
            lambda shape: rng.normal(0.0, 1.0, shape),
            lambda shape: rng.uniform(0.0, 1.0, shape),
            lambda shape: rng.uniform(0.0, 3.0, shape),
        )
    )
    uniforms = rng.random((n, 3))
    layout, size = module._layout(domain, scopes, domain.names)
    flat = [np.concatenate([each[axes].reshape(-1) for axes in by_column]) for each in (logs, gains, targets)]
    counts, codes = np.zeros(size), np.ascontiguousarray(records.T)
    count(codes, layout, counts)
    state = flat[0] + flat[1] * (flat[2] - counts)
    room = np.empty(3, dtype=np.int64), np.empty(3)
    sweep(codes, np.array(sizes), np.arange(3), layout, state, flat[1], uniforms, *room)
    assert np.array_equal(codes.T, swept(records, sizes, logs, gains, targets, uniforms))
    after = np.zeros(size)
    count(codes, layout, after)
    np.testing.assert_allclose(state, flat[0] + flat[1] * (flat[2] - after), atol=1e-12)


def test_passes_leave_the_law_of_all_records_as_it_is() -> None:
    """Two records of two binary columns: 20,000 chains from the exact law have it still after a pass.

    The largest of 16 frequencies is within 5 standard deviations of its probability but for a probability of 1e-5.
    """
    rng = np.random.default_rng(5)
    scope = (0, 1)
    logs, gains, targets = (
        {scope: rng.normal(0, 1, (2, 2))},
        {scope: np.full((2, 2), 0.7)},
        {scope: rng.uniform(0, 1, (2, 2))},
    )
    states = [np.array(each).reshape(2, 2) for each in product((0, 1), repeat=4)]
    law = np.exp([energy(each, logs, gains, targets) for each in states])
    law /= law.sum()
    moved = Counter[tuple[int, ...]]()
    n = 20_000
    for start in rng.choice(16, n, p=law).tolist():
        found = swept(states[start], [2, 2], logs, gains, targets, rng.random((2, 2)))
        moved[tuple(found.reshape(-1).tolist())] += 1
    frequency = np.array([moved[tuple(each.reshape(-1).tolist())] for each in states]) / n
    assert (np.abs(frequency - law) <= 5.0 * np.sqrt(law * (1.0 - law) / n)).all()
