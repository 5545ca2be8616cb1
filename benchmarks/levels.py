"""Random ranges of one attribute from noisy counts on several levels, against Laplace noise per cell and against Hb."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.row import Row
from hedgerow import MWEM, PureDP, SeededNoise, Table, Workload
from hedgerow.arrays import Floats, Ints
from hedgerow.data import read_table
from hedgerow.domain import Clique, Derived, Domain, IntegerRange, summed, width_level
from hedgerow.models.fit.agreement import agreed

N = 48_842
RANGES = 2_000
SEEDS = 3
BRANCHING = 16
ADULT = Path(__file__).resolve().parent.parent / "examples" / "data" / "adult.csv"

Estimate = Callable[[Ints, float, np.random.Generator], Floats]


def rows() -> Iterator[Row]:
    """Mean errors as fractions of the records: MWEM and its references, pure epsilon."""
    for name, counts in histograms():
        for epsilon in (0.1, 1.0):
            errors = {each.__name__: error(counts, epsilon, each) for each in (mwem, levels, per_cell, hb, hb_alone)}
            what = f"{name}, {len(counts):,} values, epsilon {epsilon:g}"
            yield Row(what, errors["mwem"], errors["per_cell"], "Laplace noise per cell", "of N")
            yield Row(what, errors["mwem"], errors["hb"], "Hb, branching 16, consistent, N known", "of N")
            yield Row(what, errors["mwem"], errors["hb_alone"], "Hb, branching 16, consistent", "of N")
            yield Row(what, errors["mwem"], errors["levels"], "levels averaged and projected, N known", "of N")


def histograms() -> Iterator[tuple[str, Ints]]:
    """Counts: four shapes on 4,096 and 2^20 values, and the capital gains and losses of Adult."""
    for size in (1 << 12, 1 << 20):
        rng = np.random.default_rng(7)
        yield "dense", rng.multinomial(N, _normed(rng.uniform(0.5, 1.5, size)))
        middle, widths = np.array([[0.3], [0.6]]), np.array([[0.05], [0.15]])
        bells = np.exp(-(((np.arange(size) / size - middle) / widths) ** 2) / 2.0).sum(axis=0)
        yield "smooth", rng.multinomial(N, _normed(bells))
        occupied = np.zeros(size)
        occupied[rng.choice(size, 100, replace=False)] = 1.0 / np.arange(1, 101)
        yield "sparse", rng.multinomial(N, _normed(occupied))
        spike = np.full(size, 0.05 / size)
        spike[size // 3] += 0.95
        yield "one spike", rng.multinomial(N, _normed(spike))
    for column, highest in (("capital-gain", 99_999), ("capital-loss", 4_999)):
        domain = Domain([IntegerRange(column, 0, highest)])
        (exact,) = read_table(ADULT, domain, extra_columns="ignore").marginals([(column,)])
        yield column, exact.astype(np.int64)


def _normed(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum())


def error(counts: Ints, epsilon: float, estimate: Estimate) -> float:
    """Mean absolute error of random ranges, as a fraction of the records."""
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        ends = np.sort(rng.integers(0, len(counts) + 1, (2, RANGES)), axis=0)
        missed = np.concatenate([[0.0], np.cumsum(estimate(counts, epsilon, rng) - counts)])
        found.append(np.abs(missed[ends[1]] - missed[ends[0]]).mean())
    return float(np.mean(found) / counts.sum())


# References


def per_cell(counts: Ints, epsilon: float, rng: np.random.Generator) -> Floats:
    """Each count with noise of its own."""
    return np.asarray(counts + rng.laplace(0.0, 1.0 / epsilon, len(counts)))


def hb(counts: Ints, epsilon: float, rng: np.random.Generator) -> Floats:
    """A tree of counts of branching 16 with equal shares, averaged, may be negative (Qardaji, Yang and Li, 2013)."""
    tree = _Tree(len(counts), BRANCHING)
    return tree.averaged(counts, np.full(tree.height, epsilon / tree.height), rng)[-1]


def hb_alone(counts: Ints, epsilon: float, rng: np.random.Generator) -> Floats:
    """The same tree that is not told the number of records."""
    tree = _Tree(len(counts), BRANCHING)
    return tree.averaged(counts, np.full(tree.height, epsilon / tree.height), rng, told=False)[-1]


# What measurements of levels give


def mwem(counts: Ints, epsilon: float, rng: np.random.Generator) -> Floats:
    """MWEM with its defaults, asked for ranges; it pays for the number of records and for an estimate of its error."""
    domain = Domain([IntegerRange("x", 0, len(counts) - 1)])
    table = Table(domain, np.repeat(np.arange(len(counts)), counts)[None])
    workload = Workload.parse(f"ranges:x:{RANGES}:0", domain)
    release = MWEM().run(table, workload, PureDP(epsilon), noise=SeededNoise(int(rng.integers(2**31))))
    return release.model.marginals([("x",)])[0]


def levels(counts: Ints, epsilon: float, rng: np.random.Generator, power: float = 0.0) -> Floats:
    """Tables over the values and their default levels, averaged, and projected top down on what is not negative.

    Args:
        counts: The histogram.
        epsilon: Of all levels together.
        rng: Source of noise.
        power: Shares of epsilon are in proportion to this power of the number of cells; equal ones by default.
    """
    steps = math.ceil(math.log(len(counts), BRANCHING) - 1e-9)
    tree = _Tree(len(counts), math.ceil(len(counts) ** (1.0 / steps) - 1e-9))
    shares = np.array(tree.sizes, dtype=np.float64) ** power
    found = tree.averaged(counts, epsilon * shares / shares.sum(), rng)
    masses = np.array([float(counts.sum())])
    for estimates in found:
        masses = _projected(estimates, masses, tree.branching)
    return masses


class _Tree:
    """The levels of a range of whole numbers, coarsest first, down to the values."""

    def __init__(self, size: int, branching: int) -> None:
        values, widths = IntegerRange("x", 0, size - 1), [branching]
        while widths[-1] * branching < size:
            widths.append(widths[-1] * branching)
        declared: list[Derived] = [width_level(values, width) for width in widths if width < size]
        self.branching = branching
        self.height = len(declared) + 1
        self._domain = Domain([values], declared)
        self._scopes: list[Clique] = [*((each.name,) for each in reversed(declared)), ("x",)]
        self.sizes = [self._domain.shape_of(scope)[0] for scope in self._scopes]

    def averaged(self, counts: Ints, epsilons: Floats, rng: np.random.Generator, *, told: bool = True) -> list[Floats]:
        """Best linear unbiased estimates of the counts on each level, given their sum or not."""
        tables, variances = [], []
        for scope, epsilon in zip(self._scopes, epsilons, strict=True):
            exact = summed(self._domain, counts, ("x",), scope)
            tables.append(exact + rng.laplace(0.0, 1.0 / epsilon, len(exact)))
            variances.append(np.full(len(exact), 2.0 / epsilon**2))
        total = float(counts.sum())
        if not told:
            weights = [1.0 / each.sum() for each in variances]
            total = float(np.average([table.sum() for table in tables], weights=weights))
        shares = agreed(
            self._domain, self._scopes, [each / total for each in tables], [each / total**2 for each in variances]
        )
        return [total * share for share in shares]


def _projected(estimates: Floats, masses: Floats, branching: int) -> Floats:
    """The nearest numbers that are not negative and sum, block by block, to given masses."""
    padded = np.full(len(masses) * branching, -np.inf)
    padded[: len(estimates)] = estimates
    blocks = padded.reshape(len(masses), branching)
    falling = -np.sort(-blocks, axis=1)
    steps = np.arange(1, branching + 1)
    cuts = (np.cumsum(falling, axis=1) - masses[:, None]) / steps
    kept = np.maximum(1, (falling > cuts).sum(axis=1))
    cut = cuts[np.arange(len(masses)), kept - 1]
    return np.maximum(blocks - cut[:, None], 0.0).reshape(-1)[: len(estimates)]
