"""Random best-response problems, and the obvious way to value their records."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.algorithms import BestResponseProblem
from hedgerow.domain import Domain, IntegerRange
from hedgerow.queries import Conjunction


def domain_of(*sizes: int) -> Domain:
    return Domain(IntegerRange(f"x{i}", 0, size - 1) for i, size in enumerate(sizes))


@dataclass(frozen=True)
class Instance:
    """A problem in plain words."""

    domain: Domain
    conjunctions: list[Conjunction]
    weights: list[float]
    constant: float = 0.0

    @property
    def problem(self) -> BestResponseProblem:
        return BestResponseProblem(self.domain, self.conjunctions, self.weights, self.constant)

    def value(self, record: Sequence[int]) -> float:
        """Conjunction by conjunction, attribute by attribute."""
        total = self.constant
        for conjunction, weight in zip(self.conjunctions, self.weights, strict=True):
            places = self.domain.axes(conjunction.scope)
            if all(record[i] in codes for i, codes in zip(places, conjunction.codes, strict=True)):
                total += weight
        return total

    def values(self) -> list[float]:
        """Of every record."""
        return [self.value(record) for record in itertools.product(*map(range, self.domain.shape))]


def whole_weights(rng: np.random.Generator, n: int) -> list[float]:
    return [float(w) for w in rng.integers(-3, 4, n)]


def any_weights(rng: np.random.Generator, n: int) -> list[float]:
    return [float(w) for w in rng.normal(size=n) * 10.0 ** rng.integers(-8, 8)]


def random_instance(seed: int) -> Instance:
    """Small: mixed sizes, widths from 0, sets from empty to full, repetitions, weights of both signs and zero."""
    rng = np.random.default_rng(seed)
    domain = domain_of(*rng.integers(2, 5, rng.integers(1, 6)).tolist())
    conjunctions = [_random_conjunction(rng, domain) for _ in range(rng.integers(0, 25))]
    conjunctions += [conjunctions[i] for i in rng.integers(0, max(1, len(conjunctions)), 3) if conjunctions]
    weights = (whole_weights if rng.random() < 0.6 else any_weights)(rng, len(conjunctions))
    return Instance(domain, conjunctions, weights, float(rng.integers(-2, 3)))


def _random_conjunction(rng: np.random.Generator, domain: Domain) -> Conjunction:
    names = rng.choice(domain.names, rng.integers(0, min(4, len(domain)) + 1), replace=False)
    return Conjunction.where(domain, {str(name): _random_codes(rng, domain[str(name)].size) for name in names})


def _random_codes(rng: np.random.Generator, size: int) -> list[int]:
    if rng.random() < 0.5:
        return [int(rng.integers(size))]
    return [code for code in range(size) if rng.random() < 0.6]


def cells(rng: np.random.Generator, domain: Domain, n: int, width: int = 3) -> list[Conjunction]:
    """Random cells of marginals."""
    chosen = (sorted(rng.choice(len(domain), width, replace=False).tolist()) for _ in range(n))
    return [
        Conjunction.where(domain, {domain.names[a]: [int(rng.integers(domain.shape[a]))] for a in scope})
        for scope in chosen
    ]
