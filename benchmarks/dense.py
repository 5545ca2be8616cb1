"""The dense hypothesis: passes, slices, refits and samples against plain numpy on the same cells."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.row import Row, cpu_seconds
from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.models import Histogram, Proximal, Sweeps, refit
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind

N = 48_842
SIZES = (9, 16, 7, 15, 6, 5, 2, 42)
"""Eight attributes of Adult: 38 million cells."""


def rows() -> Iterator[Row]:
    """Single operations first, then whole fits."""
    domain = Domain(IntegerRange(name, 1, size) for name, size in zip("abcdefgh", SIZES, strict=True))
    model = Histogram(domain, float(N))
    yield from _passes(model)
    yield from _slices(model)
    yield _sampling(model)
    yield _proximal(model)
    yield _paper()


def _broadcast(domain: Domain, clique: Clique, table: Floats) -> Floats:
    return table.reshape([attribute.size if attribute.name in clique else 1 for attribute in domain])


def _others(domain: Domain, clique: Clique) -> tuple[int, ...]:
    return tuple(i for i, name in enumerate(domain.names) if name not in clique)


def _passes(model: Histogram) -> Iterator[Row]:
    domain = model.domain
    cells = np.ones(domain.shape)
    scale = cpu_seconds(lambda: np.multiply(cells, 1.0000001, out=cells), 3)
    for first, second in ((("a", "b"), ("c", "d")), (("b", "h"), ("a", "d")), (("d", "h"), ("b", "h"))):
        factors = np.full(domain.shape_of(first), 1e-9)

        def fused(first: Clique = first, second: Clique = second, factors: Floats = factors) -> None:
            model.reweigh(first, factors)
            model.marginals([second])

        ours = cpu_seconds(fused, 3)
        speed = 16e-9 * domain.size / ours
        note = f"numpy scale in place; fused {speed:.0f} GB/s per core, scale {16e-9 * domain.size / scale:.0f}"
        yield Row(f"multiply {'*'.join(first)} and sum {'*'.join(second)}, {domain.size:,} cells", ours, scale, note)
    pairs = list(itertools.combinations(domain.names, 2))
    plain = cpu_seconds(lambda: [cells.sum(axis=_others(domain, pair)) for pair in pairs[:4]], 1) * len(pairs) / 4
    yield Row("all 28 2-way marginals", cpu_seconds(lambda: model.marginals(pairs), 3), plain, "numpy sums, one by one")


def _slices(model: Histogram) -> Iterator[Row]:
    domain = model.domain
    query = Conjunction.where(domain, {"a": [1], "d": [3]})

    def step() -> None:
        model.conjunctions([query])
        model.update(query, 1e-9)

    cells = np.full(domain.shape, N / domain.size)
    values = _broadcast(domain, query.scope, query.values())

    def naive() -> None:
        total = cells.sum()
        answer = (values * cells).sum()
        np.multiply(cells, np.exp(values * (1e-9 + 0.0 * answer)), out=cells)
        np.multiply(cells, total / cells.sum(), out=cells)

    yield Row("answer and update a 2-way cell", cpu_seconds(step), cpu_seconds(naive, 1), "numpy over all cells")


def _sampling(model: Histogram) -> Row:
    n = 1_000_000
    p = np.full(model.domain.size, 1.0 / model.domain.size)
    draw = np.random.default_rng(0)

    def naive() -> list[Floats]:
        found = np.searchsorted(np.cumsum(p), draw.random(n))
        return list(np.unravel_index(found, model.domain.shape))

    return Row("a million records", cpu_seconds(lambda: model.sample(n, 1), 3), cpu_seconds(naive, 1), "numpy search")


def _measured(domain: Domain, scopes: Sequence[Clique], sigma: float) -> list[Measurement]:
    rng = np.random.default_rng(0)
    made = []
    for scope in scopes:
        shape = domain.shape_of(scope)
        values = N * rng.dirichlet(np.full(int(np.prod(shape)), 0.3)) + rng.normal(0.0, sigma, int(np.prod(shape)))
        made.append(Measurement(Marginal(domain, scope), values, NoiseKind.GAUSSIAN, sigma))
    return made


def _proximal(model: Histogram) -> Row:
    """The paper's rule, plain: 100 sweeps of broadcast multiplications; one of them is timed."""
    domain = model.domain
    pairs = list(itertools.combinations(domain.names, 2))
    measured = _measured(domain, [pairs[i] for i in np.random.default_rng(1).permutation(28)[:15]], 60.0)
    cells = np.full(domain.shape, 1.0 / domain.size)

    def sweep() -> None:
        for m in measured:
            scope = m.target.scope
            mu = cells.sum(axis=_others(domain, scope))
            step = (m.values / N - mu.reshape(-1)) / 2
            np.multiply(cells, _broadcast(domain, scope, np.exp(step)), out=cells)
            np.multiply(cells, 1.0 / cells.sum(), out=cells)

    ours = cpu_seconds(lambda: refit(model, measured, Proximal()), 1)
    return Row("refit 15 2-way marginals", ours, 100 * cpu_seconds(sweep, 1), "100 sweeps in numpy, from 1")


def _paper() -> Row:
    """NLTCS's domain: 30 rounds, after each 100 sweeps over all 3-way cells measured so far."""
    domain = Domain(IntegerRange(f"x{i:02d}", 0, 1) for i in range(16))
    rng = np.random.default_rng(2)
    triples = list(itertools.combinations(domain.names, 3))
    queries = [
        Conjunction.where(domain, {name: [int(rng.integers(2))] for name in triples[i]})
        for i in rng.permutation(len(triples))[:30]
    ]
    known = [Measurement(query, np.array([rng.uniform(0, N / 2)]), NoiseKind.LAPLACE, 60.0) for query in queries]
    updates = sum(100 * i for i in range(1, 31))
    cells = np.full(domain.size, N / domain.size)
    vector = np.broadcast_to(_broadcast(domain, queries[0].scope, queries[0].values()), domain.shape).reshape(-1)

    def naive() -> None:
        step = (known[0].values[0] - vector @ cells) / (2 * N)
        np.multiply(cells, np.exp(vector * step), out=cells)
        np.multiply(cells, N / cells.sum(), out=cells)

    reference = updates * cpu_seconds(_repeated(naive, 20)) / 20

    def rounds() -> None:
        model = Histogram(domain, float(N))
        for i in range(1, 31):
            refit(model, known[:i], Sweeps(100))

    return Row("30 rounds of 100 sweeps, 2^16 cells", cpu_seconds(rounds, 2), reference, "numpy on all cells, from 20")


def _repeated(work: Callable[[], None], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            work()

    return run
