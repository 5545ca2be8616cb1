"""Simulated runs done by hand: records counted one by one, queries evaluated cell by cell."""

from __future__ import annotations

from itertools import product

import numpy as np

from hedgerow.algorithms import Algorithm
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique
from hedgerow.privacy import Curator, SeededNoise
from hedgerow.queries import Workload
from hedgerow.release import Release
from tests.reference.dense_tables import DenseTables

Condition = dict[str, list[int]]


def simulated(release: Release, config: Algorithm, runs: int, seed: int) -> list[tuple[Ints, Floats]]:
    """Records of each run, shape ``(n, attributes)``, and the cells of the model that was fitted to them."""
    domain, found = release.domain, []
    for number in range(runs):
        drawing = np.random.default_rng((seed, 2 * number))
        codes = release.model.sample(round(release.total), drawing, "independent").astype(np.int64)
        cells = np.zeros(domain.shape)
        for record in codes:
            cells[tuple(record)] += 1.0
        noise = SeededNoise(np.random.default_rng((seed, 2 * number + 1)))
        made = config.run_with(Curator(DenseTables(domain, cells), release.budget, noise=noise), release.workload)
        found.append((codes, made.model.marginals([domain.names])[0]))
    return found


def missed(release: Release, run: tuple[Ints, Floats], condition: Condition) -> float:
    """Answer minus truth of one simulated run."""
    codes, cells = run
    names = release.domain.names
    held = [all(int(record[names.index(name)]) in kept for name, kept in condition.items()) for record in codes]
    answer = sum(
        float(cells[cell])
        for cell in product(*map(range, release.domain.shape))
        if all(cell[names.index(name)] in kept for name, kept in condition.items())
    )
    return answer - sum(held)


def cells_of(workload: Workload, scope: Clique) -> list[Condition]:
    """The cells of a marginal, in the order of its answers."""
    sizes = workload.domain.shape_of(scope)
    return [dict(zip(scope, ([code] for code in cell), strict=True)) for cell in product(*map(range, sizes))]
