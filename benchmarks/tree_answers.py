"""Junction trees: all candidates answered at once against one elimination each, and what a next measurement costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from benchmarks.row import Row, cpu_seconds
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.models import Growth, JunctionTree, Markov, plan
from hedgerow.queries import parity_scopes

SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
"""Adult's 14 attributes: 6e17 cells."""
SAMPLE = 20
"""Eliminations that stand for all of them."""


def rows() -> Iterator[Row]:
    """Tables first, then parities, then the growth of the trees."""
    domain = Domain(IntegerRange(f"x{i}", 1, size) for i, size in enumerate(SIZES))
    for count, cells in ((20, 3e5), (30, 1e6)):
        yield from _tables(domain, count, cells)
    yield _apart(300, 40)
    for attributes, order in ((1000, 2), (100, 3)):
        yield _parities(attributes, order)
    yield _growth(domain)
    yield _pair_growth()


def _chosen(domain: Domain, count: int, cells: float) -> list[Clique]:
    """Random pairs that keep the tree small."""
    draw = np.random.default_rng(1)
    pairs, scopes = list(combinations(domain.names, 2)), []
    for i in draw.permutation(len(pairs)):
        if len(scopes) < count and JunctionTree.of(domain, [*scopes, pairs[i]]).cells <= cells:
            scopes.append(pairs[i])
    return scopes


def _model(domain: Domain, scopes: Sequence[Clique]) -> Markov:
    draw = np.random.default_rng(2)
    model = Markov(domain, 48_842.0, scopes)
    for scope in scopes:
        model.reweigh(scope, draw.normal(size=domain.shape_of(scope)))
    model.marginals([(name,) for scope in scopes for name in scope])
    return model


def _forget(model: Markov) -> None:
    for part in model.forest:
        part.forget(more_than=-1)


def _eliminated(model: Markov, cliques: Sequence[Clique]) -> None:
    """One after the other, as if no other was asked for."""
    for part in model.forest:
        names = {name for clique in part.tree.cliques for name in clique}
        for clique in cliques:
            inside = tuple(name for name in clique if name in names)
            if inside:
                part.table(plan(part.tree, inside), inside, {})


def _sampled(model: Markov, cliques: Sequence[Clique]) -> float:
    """Seconds of all eliminations, from a few."""
    few = [cliques[i] for i in np.random.default_rng(3).choice(len(cliques), min(SAMPLE, len(cliques)), replace=False)]
    return cpu_seconds(partial(_eliminated, model, few), 1) * len(cliques) / len(few)


def _tables(domain: Domain, count: int, cells: float) -> Iterator[Row]:
    model = _model(domain, _chosen(domain, count, cells))
    triples = list(combinations(domain.names, 3))
    narrow = [clique for clique in triples if math.prod(domain.shape_of(clique)) <= 1e5]

    def anew(cliques: Sequence[Clique]) -> None:
        _forget(model)
        model.marginals(cliques)

    for what, cliques in (
        ("all 91 two-way marginals", list(combinations(domain.names, 2))),
        (f"{len(narrow)} three-way marginals of up to 100,000 cells", narrow),
        ("all 364 three-way marginals", triples),
    ):
        out = sum(math.prod(domain.shape_of(clique)) for clique in cliques)
        note = f"one elimination each, {SAMPLE} of them; {model.cells:,} cells in the tree, {out:,} in the tables"
        yield Row(f"{what}, {count} measured", cpu_seconds(partial(anew, cliques), 2), _sampled(model, cliques), note)


def _apart(attributes: int, measured: int) -> Row:
    """All pairs where most lie in two parts, or none."""
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(attributes))
    pairs, draw = list(combinations(domain.names, 2)), np.random.default_rng(7)
    model = _model(domain, [pairs[i] for i in draw.choice(len(pairs), measured, replace=False)])
    few = [pairs[i] for i in draw.choice(len(pairs), 50 * SAMPLE, replace=False)]

    def one_by_one() -> None:
        for pair in few:
            model.marginals([pair])

    reference = cpu_seconds(one_by_one, 1) * len(pairs) / len(few)
    what = f"all {len(pairs):,} pairs of {attributes} attributes, {measured} measured"
    return Row(what, cpu_seconds(lambda: model.marginals(pairs), 3), reference, f"one by one, {len(few):,} of them")


def _tree_of(attributes: int) -> tuple[Domain, list[Clique]]:
    """Pairs of binary attributes that form one tree with long paths."""
    draw = np.random.default_rng(5)
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(attributes))
    names = [domain.names[i] for i in draw.permutation(attributes)]
    return domain, [domain.clique((names[k], names[draw.integers(max(0, k - 30), k)])) for k in range(1, attributes)]


def _parities(attributes: int, order: int) -> Row:
    domain, scopes = _tree_of(attributes)
    model = _model(domain, scopes)
    axes = parity_scopes(domain, order)
    draw, table = np.random.default_rng(6), np.zeros((2, 2))
    table[0, 0] = 1e-9

    def changed() -> None:
        model.reweigh(scopes[0], table)
        model.parities(axes)

    model.marginals([scopes[-1]])
    chosen = axes[draw.choice(len(axes), SAMPLE, replace=False)]
    few = [tuple(domain.names[place] for place in row if place >= 0) for row in chosen.tolist()]
    reference = cpu_seconds(partial(_eliminated, model, few), 1) * len(axes) / len(few)
    what = f"{len(axes):,} parities of up to {order} of {attributes:,} attributes in one tree"
    return Row(what, cpu_seconds(changed, 2), reference, f"one elimination each, {SAMPLE} of them")


def _growth(domain: Domain) -> Row:
    held, triples = _chosen(domain, 20, 3e5), list(combinations(domain.names, 3))

    def trees() -> None:
        for clique in triples:
            JunctionTree.of(domain, [*held, clique])

    ours = cpu_seconds(lambda: Growth(domain, triples).cells(held))
    return Row("cells of the trees with each of 364 triples", ours, cpu_seconds(trees, 1), "one tree each")


def _pair_growth() -> Row:
    domain, scopes = _tree_of(1000)
    trees = [JunctionTree.of(domain, scopes)]
    pairs = list(combinations(domain.names, 2))
    growth = Growth(domain, pairs)

    def few() -> None:
        for pair in pairs[:: len(pairs) // SAMPLE]:
            JunctionTree.of(domain, [*scopes, pair])

    reference = cpu_seconds(few, 1) * len(pairs) / (SAMPLE + 1)
    ours = cpu_seconds(lambda: growth.cells(scopes, trees))
    return Row("a bound for each of 499,500 pairs of 1,000", ours, reference, f"one tree each, {SAMPLE} of them")
