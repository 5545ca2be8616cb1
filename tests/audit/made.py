"""Releases and sessions with secure noise, from every algorithm, on tiny tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow import MWEM, DualQuery, FourierMeasurement, IndependentNoise, OfflinePMW, SmallDB
from hedgerow.algorithms import Algorithm
from hedgerow.data import Table
from hedgerow.domain import Binned, Categorical, Domain, IntegerRange
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, Regime, Subsampled
from hedgerow.queries import NoiseKind, Workload
from hedgerow.release import Release

BINARY = Domain(IntegerRange(name, 0, 1) for name in "abc")
MIXED = Domain(
    (
        Categorical("job", ("clerk", "nurse"), missing="?", other="else"),
        IntegerRange("age", 0, 3, missing="?"),
        Binned("income", (0, 10, 20, 50)),
    )
)
BUDGETS: Mapping[str, Budget] = {
    "pure": PureDP(1.0),
    "pure, replace": PureDP(1.0, "replace"),
    "zcdp": ZCDP(0.1),
    "gdp": GDP(0.4),
    "approximate": ApproxDP(1.0, 1e-9),
    "approximate, gdp": ApproxDP(1.0, 1e-9, regime=Regime.GDP),
    "approximate, pure": ApproxDP(1.0, 1e-9, regime=Regime.PURE),
    "approximate, replace": ApproxDP(1.0, 1e-6, "replace"),
}
ALGORITHMS: Mapping[str, Callable[[], Algorithm]] = {
    "mwem": lambda: MWEM(rounds=3),
    "mwem, annealed": lambda: MWEM(rounds="annealed"),
    "mwem, histogram": lambda: MWEM(rounds=2, initial="histogram"),
    "mwem, one-way": lambda: MWEM(rounds=2, initial="one-way", output="last"),
    "mwem, laplace": lambda: MWEM(rounds=2, noise=NoiseKind.LAPLACE),
    "independent": IndependentNoise,
    "independent, by query": lambda: IndependentNoise(by="query"),
    "fourier": FourierMeasurement,
    "pmw": lambda: OfflinePMW(rounds=20),
    "dual query": DualQuery,
    "small-db": lambda: SmallDB(size=3),
}
WORKLOADS = ("marginals:2", "cells:2; parities:2")


def table_of(domain: Domain, records: int = 300, seed: int = 1) -> Table:
    drawing = np.random.default_rng(seed)
    return Table(domain, [drawing.integers(attribute.size, size=records) for attribute in domain])


def run(algorithm: Algorithm, budget: Budget, workload: str = WORKLOADS[0], domain: Domain = BINARY) -> Release:
    asked = Workload.parse(workload, domain)
    return algorithm.run(table_of(domain), asked, budget)


def sampled() -> Release:
    """Of a secret sample, which DualQuery alone runs on."""
    budget = Subsampled(ApproxDP(1.0, 1e-6, "replace"), sampled=100, population=300)
    return run(DualQuery(), budget)


def saved(release: Release, folder: Path, **options: Any) -> Path:
    path = folder / "people.release"
    release.save(path, **options)
    return path
