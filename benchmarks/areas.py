"""Tables of areas, counties, states and the nation: MWEM with its defaults against a top-down estimate.

The first table is the one that the shares of levels were chosen on, the second has other shapes: fewer persons, levels
of uneven sizes, and areas that differ very much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from benchmarks.row import Row
from hedgerow import MWEM, PureDP, SeededNoise, Table, Workload
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Derived, Domain, IntegerRange, places_in

EPSILON = 1.0
SEEDS = 2
PARTS: list[list[Clique]] = [
    [("area", "c"), ("county", "a", "b", "c"), ("state", "a", "b", "c"), ("a", "b", "c")],
    [("area", "b"), ("county", "c")],
    [("area", "b"), ("county", "c"), ("state", "a", "b", "c"), ("a", "b", "c")],
    [("area", "a", "b", "c"), ("state", "c")],
    [("area", "a", "b", "c"), ("county", "c"), ("c",)],
    [("area", "a", "c"), ("area", "b"), ("county", "a", "b", "c"), ("state", "a", "b", "c")],
]
"""Workloads that are not whole levels."""


def rows() -> Iterator[Row]:
    """Mean total variation distances of whole levels, and mean errors of other tables; pure epsilon 1, add-remove."""
    for name, domain, columns in tables():
        scopes = _levels(domain)
        exact = {scope: _counts(domain, columns, scope) for scope in (*scopes, *_shown(domain))}
        ours = [_ours(domain, columns, scopes, list(exact), seed) for seed in range(SEEDS)]
        theirs = [_top_down(domain, exact, scopes, seed) for seed in range(SEEDS)]
        for scope, counts in exact.items():
            us, them = (
                float(np.mean([np.abs(found[scope] - counts).sum() / 2.0 / counts.sum() for found in every]))
                for every in (ours, theirs)
            )
            yield Row(f"{name}: {' * '.join(scope)}", us, them, "projected top down", "of N")
        yield from _parts(name, domain, columns)


def _parts(name: str, domain: Domain, columns: Sequence[Ints]) -> Iterator[Row]:
    """Tables that are not whole at every level, beside each of them with an even share of the budget."""
    for asked in PARTS:
        scopes = [domain.clique(each) for each in asked]
        exact = {scope: _counts(domain, columns, scope) for scope in scopes}
        every = [_ours(domain, columns, scopes, scopes, seed) for seed in range(SEEDS)]
        for scope, counts in exact.items():
            error = float(np.mean([np.abs(found[scope] - counts).mean() for found in every]))
            text = f"{name}: {' * '.join(scope)}, beside {len(scopes) - 1} others"
            yield Row(text, error, len(scopes) / EPSILON, "measured directly", "counts")


def tables() -> Iterator[tuple[str, Domain, list[Ints]]]:
    """Names, domains and columns: area, then the others."""
    rng = np.random.default_rng(5)
    n, states, counties, areas = 1_000_000, 20, 20, 50
    size = states * counties * areas
    weights = np.exp(rng.normal(0, 1, size)) * np.repeat(np.exp(rng.normal(0, 0.7, states * counties)), areas)
    area = rng.choice(size, n, p=weights / weights.sum())
    by_county = rng.dirichlet(np.array([0.6, 0.13, 0.01, 0.06, 0.15, 0.05]) * 8, states * counties)
    race = _drawn(
        by_county[area // areas] * rng.dirichlet(np.array([0.6, 0.13, 0.01, 0.06, 0.15, 0.05]) * 30, size)[area], rng
    )
    age = np.minimum(19, (rng.gamma(3, 2.4, n) + (race == 0) * 0.8).astype(np.int64))
    county = np.arange(size) // areas
    yield "even", _domain(county, county // counties, (2, 20, 6)), [area, rng.integers(0, 2, n), age, race]

    rng = np.random.default_rng(77)
    n = 300_000
    sizes = [rng.integers(10, 121, count) for count in rng.integers(5, 41, 6)]
    county = np.repeat(np.arange(sum(map(len, sizes))), np.concatenate(sizes))
    state = np.repeat(np.arange(6), [int(each.sum()) for each in sizes])
    weights = rng.gamma(0.8, 1, len(county))
    area = rng.choice(len(county), n, p=weights / weights.sum())
    columns = [area]
    for size, spread in ((5, 3.0), (3, 4.0)):
        by_county = rng.dirichlet(np.full(size, 0.8), county[-1] + 1)
        by_area = np.array([rng.dirichlet(spread * by_county[each] + 0.03) for each in county])
        columns.append(_drawn(by_area[area], rng))
    columns.append(np.clip(rng.normal(5 - (columns[1] > 1), 2.5, n), 0, 11).astype(np.int64))
    yield "uneven", _domain(county, state, (5, 3, 12)), columns


def _drawn(weights: Floats, rng: np.random.Generator) -> Ints:
    ends = weights.cumsum(1)
    return np.asarray((ends > rng.random(len(weights))[:, None] * ends[:, -1:]).argmax(1))


def _domain(county: Ints, state: Ints, sizes: Sequence[int]) -> Domain:
    """Attributes ``area``, ``a``, ``b``, ``c``, and the levels ``county`` and ``state`` of the first."""
    attributes = [IntegerRange("area", 0, len(county) - 1)]
    attributes += [IntegerRange(name, 0, size - 1) for name, size in zip("abc", sizes, strict=True)]
    levels = [
        Derived(IntegerRange(name, 0, int(codes.max())), ("area",), codes)
        for name, codes in (("county", county), ("state", state))
    ]
    return Domain(attributes, levels)


def _levels(domain: Domain) -> list[Clique]:
    return [domain.clique((*level, "a", "b", "c")) for level in ((), ("state",), ("county",), ("area",))]


def _shown(domain: Domain) -> list[Clique]:
    names = ("state",), ("county",), ("area",), ("c",), ("state", "c"), ("county", "c"), ("area", "c"), ("area", "a")
    return [domain.clique(each) for each in names]


def _counts(domain: Domain, columns: Sequence[Ints], scope: Clique) -> Floats:
    cells = np.bincount(np.ravel_multi_index(tuple(columns), domain.shape), minlength=domain.size)
    return _summed(domain, cells.astype(np.float64), domain.names, scope)


def _summed(domain: Domain, cells: Floats, fine: Clique, coarse: Clique) -> Floats:
    size = int(np.prod(domain.shape_of(coarse)))
    return np.asarray(np.bincount(places_in(domain, fine, coarse).reshape(-1), cells, size))


def _ours(
    domain: Domain, columns: Sequence[Ints], asked: list[Clique], shown: list[Clique], seed: int
) -> dict[Clique, Floats]:
    workload = Workload.marginals(domain, cliques=asked)
    table = Table(domain, np.array(columns, dtype=np.int64))
    release = MWEM().run(table, workload, PureDP(EPSILON), noise=SeededNoise(seed))
    return {scope: each.reshape(-1) for scope, each in zip(shown, release.model.marginals(shown), strict=True)}


def _top_down(domain: Domain, exact: dict[Clique, Floats], levels: Sequence[Clique], seed: int) -> dict[Clique, Floats]:
    """An equal share for each level; then each cell's children are the closest counts that add up to it."""
    rng, scale = np.random.default_rng(seed), len(levels) / EPSILON
    noisy = [exact[level] + rng.laplace(0.0, scale, exact[level].size) for level in levels]
    found = np.maximum(noisy[0], 0.0)
    for (coarse, fine), values in zip(pairwise(levels), noisy[1:], strict=True):
        parents = places_in(domain, fine, coarse).reshape(-1)
        order = np.argsort(parents, kind="stable")
        projected = np.zeros(len(values))
        for inside in np.split(order, np.flatnonzero(np.diff(parents[order])) + 1):
            projected[inside] = _on_simplex(values[inside], found[parents[inside[0]]])
        found = projected
    return {scope: _summed(domain, found, levels[-1], scope) for scope in exact}


def _on_simplex(values: Floats, total: float) -> Floats:
    falling = -np.sort(-values)
    shifts = (falling.cumsum() - total) / np.arange(1, len(values) + 1)
    last = max(int((falling > shifts).sum()) - 1, 0)
    return np.asarray(np.maximum(values - shifts[last], 0.0))
