"""Fits of junction trees in compiled sweeps, against the same steps one by one and against a histogram."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.row import Row, cpu_seconds
from hedgerow.domain import Clique, Domain, IntegerRange, width_level
from hedgerow.models import Histogram, JunctionTree, Markov, Proximal, refit
from hedgerow.queries import Marginal, Measurement, NoiseKind, Parity

N = 48_842
ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
"""Codes of the fourteen attributes of Adult."""


class StepByStep:
    """Everything that a model can do, but for being known as a product over junction trees."""

    def __init__(self, model: Markov) -> None:
        """Hide a model."""
        self._model = model

    def __getattr__(self, name: str) -> object:
        """What it does."""
        return getattr(self._model, name)


def rows() -> Iterator[Row]:
    """Large cliques, many small ones, and domains that a histogram holds too."""
    adult = _domain(ADULT)
    yield _against_steps("30 marginals of 14 attributes", _marginals(adult, _narrow(adult, 30, 1_000_000), 100.0))
    coded = _coded(adult)
    scopes = [("code",), *(coded.clique((name, "code.1000")) for name in adult.names), ("x001", "code.100")]
    yield _against_steps("16 marginals over levels of 10,000 codes", _marginals(coded, scopes, 100.0))
    binary = _domain((2,) * 1000)
    rng = np.random.default_rng(5)
    pairs = list(dict.fromkeys(binary.clique(rng.choice(binary.names, 2, replace=False)) for _ in range(500)))
    yield _against_steps("500 pairs of 1,000 binary attributes", _marginals(binary, pairs, 100.0))
    parities = [Measurement(Parity(binary, s), rng.uniform(-N, N, 1) / 2, NoiseKind.GAUSSIAN, 100.0) for s in pairs]
    yield _against_steps("the same: parities", parities)
    sixteen = _domain((2,) * 16)
    triples = list(itertools.combinations(sixteen.names, 3))
    some = [triples[i] for i in rng.permutation(len(triples))[:30]]
    yield _against_histogram("30 3-way marginals, 2^16 cells", _marginals(sixteen, some, 30.0))
    wide = _domain((10,) * 6)
    every = list(itertools.combinations(wide.names, 2))
    yield _against_histogram("all 15 2-way marginals, 10^6 cells", _marginals(wide, every, 100.0))


def _domain(sizes: Sequence[int]) -> Domain:
    return Domain(IntegerRange(f"x{i:03d}", 1, size) for i, size in enumerate(sizes))


def _coded(domain: Domain) -> Domain:
    """The domain and a column of codes in three levels."""
    code = IntegerRange("code", 0, 9_999)
    return Domain([code, *domain], [width_level(code, width) for width in (10, 100, 1000)])


def _narrow(domain: Domain, count: int, limit: int) -> list[Clique]:
    """Random scopes of two and three attributes whose trees have few cells."""
    rng = np.random.default_rng(2)
    found: list[Clique] = []
    while len(found) < count:
        scope = domain.clique(rng.choice(domain.names, rng.integers(2, 4), replace=False))
        cells = JunctionTree.of(domain, [*found, scope]).cells
        if scope not in found and math.prod(domain.shape_of(scope)) <= 20_000 and cells <= limit:
            found.append(scope)
    return found


def _marginals(domain: Domain, scopes: Sequence[Clique], sigma: float) -> list[Measurement]:
    rng = np.random.default_rng(0)
    made = []
    for scope in scopes:
        cells = math.prod(domain.shape_of(scope))
        values = N * rng.dirichlet(np.full(cells, 0.3)) + rng.normal(0.0, sigma, cells)
        made.append(Measurement(Marginal(domain, scope), values, NoiseKind.GAUSSIAN, sigma))
    return made


def _fit(known: Sequence[Measurement]) -> Markov:
    model = Markov(known[0].target.domain, float(N))
    refit(model, known, Proximal())
    return model


def _against_steps(name: str, known: Sequence[Measurement]) -> Row:
    domain = known[0].target.domain
    cells = _fit(known).cells
    ours = cpu_seconds(lambda: _fit(known), 3)
    model = Markov(domain, float(N), [m.target.scope for m in known])
    plain = cpu_seconds(lambda: refit(StepByStep(model), known, Proximal()), 1)
    return Row(f"fit {name}, {cells:,} cells of trees", ours, plain, "the same steps one by one, trees made before")


def _against_histogram(name: str, known: Sequence[Measurement]) -> Row:
    dense = Histogram(known[0].target.domain, float(N))
    cells = _fit(known).cells
    ours = cpu_seconds(lambda: _fit(known), 3)
    plain = cpu_seconds(lambda: refit(dense, known, Proximal()), 1)
    return Row(f"fit {name}, {cells:,} cells of trees", ours, plain, "histogram")
