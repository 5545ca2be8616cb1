"""The same noisy marginals of Adult, fitted by ours and by mbi's default estimator: time at equal or lower error.

CPU seconds are those of all threads, on the same cores, one after the other. mbi compiles for every new structure of
cliques, so it is timed twice: the first fit of a process, and a second one of the same structure. Ours is the least of
three fits after one, for its kernels are compiled once per installation; each begins with the choice of a structure.
Errors are mean L1 distances from the truth, as fractions of the records. mbi lives in an environment of its own
(`peers/setup.py`).
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.peers import setup
from benchmarks.peers.tasks import EIGHT, adult
from benchmarks.row import Row, cpu_seconds
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Clique, Domain
from hedgerow.models import JunctionTree, Markov, Potentials, Proximal, refit
from hedgerow.queries import Marginal, Measurement, NoiseKind, Tables

SCRIPT = Path(__file__).parent / "peers" / "mbi_fit.py"
RHO = 0.0115
"""What all measurements cost together, in zCDP: about epsilon = 1 with delta = 1e-9."""
LARGEST_SCOPE = 10_000
AGREE = 1e-3
"""Largest distance between two ways to compute mbi's fitted marginals, in single precision as mbi computes them."""


@dataclass(frozen=True)
class Problem:
    """Noisy marginals of a table.

    Attributes:
        name: In the output.
        table: The records.
        measurements: What is known of them.
        cells: Of the junction tree over the scopes.
    """

    name: str
    table: Table
    measurements: tuple[Measurement, ...]
    cells: int

    @property
    def scopes(self) -> list[Clique]:
        """Of the measurements."""
        return [measured.target.scope for measured in self.measurements]

    def errors(self, tables: Tables) -> tuple[float, float]:
        """Mean L1 distance from the truth over the measured marginals, and over all 2-way marginals."""
        pairs = list(combinations(self.table.domain.names, 2))
        return self._error(tables, self.scopes), self._error(tables, pairs)

    def _error(self, tables: Tables, cliques: Sequence[Clique]) -> float:
        total = self.table.total()
        true, found = self.table.marginals(cliques), tables.marginals(cliques)
        return float(np.mean([np.abs(a - b).sum() / total for a, b in zip(true, found, strict=True)]))


def scopes(domain: Domain, count: int, cells: int, seed: int) -> list[Clique]:
    """Random scopes of two or three attributes, each taken if the junction tree stays within so many cells."""
    found = [clique for order in (2, 3) for clique in combinations(domain.names, order)]
    found = [clique for clique in found if math.prod(domain.shape_of(clique)) <= LARGEST_SCOPE]
    chosen: list[Clique] = []
    for i in np.random.default_rng(seed).permutation(len(found)):
        if len(chosen) < count and JunctionTree.of(domain, [*chosen, found[i]]).cells <= cells:
            chosen.append(found[i])
    return chosen


def problem(name: str, table: Table, count: int, cells: int, *, rho: float = RHO, seed: int = 1) -> Problem:
    """Measure random marginals with Gaussian noise, the budget being shared equally."""
    chosen = scopes(table.domain, count, cells, seed)
    sigma, rng = math.sqrt(count / (2.0 * rho)), np.random.default_rng(seed)
    known = [
        Measurement(
            Marginal(table.domain, scope), exact.ravel() + rng.normal(0.0, sigma, exact.size), NoiseKind.GAUSSIAN, sigma
        )
        for scope, exact in zip(chosen, table.marginals(chosen), strict=True)
    ]
    return Problem(name, table, tuple(known), JunctionTree.of(table.domain, chosen).cells)


def fitted(given: Problem) -> Markov:
    """Our fit, from nothing: structure, steps and all."""
    model = Markov(given.table.domain, float(given.table.total()), given.scopes)
    refit(model, given.measurements, Proximal())
    return model


@dataclass(frozen=True)
class PeerFit:
    """mbi's fit.

    Attributes:
        model: Its model in our form.
        first: CPU seconds with compilation.
        second: CPU seconds without.
        megabytes: Peak memory.
    """

    model: Markov
    first: float
    second: float
    megabytes: float


def fitted_by_mbi(given: Problem) -> PeerFit:
    """Run mbi in its own environment.

    Raises:
        RuntimeError: Its marginals are not those of its potentials.
    """
    domain, total = given.table.domain, float(given.table.total())
    asked = {
        "domain": dict(zip(domain.names, domain.shape, strict=True)),
        "scopes": given.scopes,
        "stds": [measured.std for measured in given.measurements],
        "total": total,
    }
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "outcome.npz")
        noisy = {f"y{i}": measured.values for i, measured in enumerate(given.measurements)}
        np.savez(source, problem=json.dumps(asked), **noisy)
        subprocess.run([setup.PYTHON, "-W", "ignore", SCRIPT, source, target], check=True)
        found = dict(np.load(target))
    outcome = json.loads(str(found["outcome"]))
    tables = {tuple(clique): _table(found[f"p{i}"]) for i, clique in enumerate(outcome["cliques"])}
    model = Markov.from_potentials(domain, total, Potentials(tables=tables))
    for i, table in enumerate(model.marginals(given.scopes)):
        if np.abs(table - found[f"m{i}"]).sum() > AGREE * total:
            raise RuntimeError(f"mbi's marginal of {given.scopes[i]} is not that of its potentials")
    return PeerFit(model, outcome["first"], outcome["second"], outcome["megabytes"])


def _table(values: Floats) -> Floats:
    return values.astype(np.float64)


def _compared(given: Problem, peer: PeerFit | None) -> Iterator[Row]:
    model = fitted(given)
    ours = cpu_seconds(lambda: fitted(given), 3)
    sigma = given.measurements[0].std
    note = "{} cells, noise {:.0f}; error {:.4f} (all 2-way {:.4f})".format(
        f"{given.cells:,}", sigma, *given.errors(model)
    )
    if peer is None:
        yield Row(given.name, ours, float("nan"), f"{note}; mbi is not installed: {setup.HOW}")
        return
    theirs = "mbi {:.4f} ({:.4f}), {:.0f} MB".format(*given.errors(peer.model), peer.megabytes)
    yield Row(f"{given.name}; mbi compiling", ours, peer.first, f"{note}; {theirs}")
    yield Row(f"{given.name}; mbi compiled", ours, peer.second, "mbi's second fit in the same process")


def rows() -> Iterator[Row]:
    """Eight attributes, and 14 with less and more noise; against mbi with compilation and without."""
    eight, all_of_them = adult((*EIGHT[:2], "education-num", *EIGHT[2:6], "age")), adult()
    problems = (
        problem("8 attributes, 12 marginals", eight, 12, 266_000),
        problem("14 attributes, 30 marginals", all_of_them, 30, 1_000_000),
        problem("the same, twice the noise", all_of_them, 30, 1_000_000, rho=RHO / 4),
    )
    there = setup.installed()
    for given in problems:
        yield from _compared(given, fitted_by_mbi(given) if there else None)
