"""MST on mbi's estimators; run by the peers' own interpreter, which has no hedgerow.

    python mbi_mst.py INPUT.npz OUTPUT.npz

MST is that of McKenna, Miklau and Sheldon, "Winning the NIST Contest: A scalable and general approach to differentially
private synthetic data" (Journal of Privacy and Confidentiality 11, 2021), written from the paper: mbi's package has
no mechanisms. A third of rho each for all single attributes, for a spanning tree of pairs that are worst fitted, and
for these pairs; values whose noisy count is below three standard deviations are one value. Noise is Gaussian in
floating point, fits are as long as those of its authors.

The input holds ``problem``, a JSON text (attributes with their sizes, rho, seed), and the records' ``codes``, shape
``(n, attributes)``; the output ``outcome``, a JSON text (CPU seconds of all threads, peak memory in MB, the pairs),
and the synthetic records' ``codes``.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from itertools import combinations
from typing import Any

import mbi
import networkx as nx
import numpy as np

BEFORE, AFTER = 1_000, 5_000
"""Iterations of the fit that pairs are selected by, and of the last one."""
RARE = 3.0
"""Standard deviations."""

Scope = tuple[str, ...]


def measured(data: mbi.Dataset, scopes: list[Scope], rho: float, rng: np.random.Generator) -> list[Any]:
    """Noisy counts of marginals, each with an equal part of rho."""
    std = float(np.sqrt(len(scopes) / (2.0 * rho)))
    exact = [np.asarray(data.project(scope).datavector(), dtype=float) for scope in scopes]
    return [
        mbi.LinearMeasurement(counts + rng.normal(0.0, std, counts.size), scope, std)
        for counts, scope in zip(exact, scopes, strict=True)
    ]


def merged(known: mbi.LinearMeasurement) -> np.ndarray[Any, Any]:
    """The new code of each value: rare ones are one, the last."""
    often = np.asarray(known.noisy_measurement) >= RARE * known.stddev
    return np.where(often, np.cumsum(often) - 1, often.sum()).astype(np.int64)


def selected(data: mbi.Dataset, model: mbi.Model, rho: float, rng: np.random.Generator) -> list[Scope]:
    """A spanning tree, edge by edge by the exponential mechanism; scores are L1 distances, of sensitivity 1."""
    attributes = list(data.domain)
    epsilon = float(np.sqrt(8.0 * rho / (len(attributes) - 1)))
    scores = {
        pair: float(np.abs(data.project(pair).datavector() - model.project(pair).datavector()).sum())
        for pair in combinations(attributes, 2)
    }
    tree = nx.Graph()
    tree.add_nodes_from(attributes)
    while tree.number_of_edges() < len(attributes) - 1:
        pairs = [pair for pair in scores if not nx.has_path(tree, *pair)]
        gumbel = rng.gumbel(size=len(pairs))
        noisy = [0.5 * epsilon * scores[pair] + noise for pair, noise in zip(pairs, gumbel, strict=True)]
        tree.add_edge(*pairs[int(np.argmax(noisy))])
    return list(tree.edges)


def mst(data: mbi.Dataset, rho: float, seed: int) -> tuple[mbi.Dataset, list[Scope]]:
    """Synthetic records, and the pairs that were measured."""
    np.random.seed(seed)  # noqa: NPY002  # mbi draws records with it
    rng = np.random.default_rng(seed)
    ones = measured(data, [(name,) for name in data.domain], rho / 3.0, rng)
    mapping = {known.clique[0]: merged(known) for known in ones}
    small = data.compress(mapping)
    ones = [known.compress(mapping, data.domain) for known in ones]
    fit = mbi.estimation.MirrorDescent().estimate
    pairs = selected(small, fit(small.domain, ones, iters=BEFORE), rho / 3.0, rng)
    model = fit(small.domain, ones + measured(small, pairs, rho / 3.0, rng), iters=AFTER)
    return model.synthetic_data().decompress(mapping), pairs


def main(source: str, target: str) -> None:
    """Run MST once."""
    given = np.load(source)
    problem = json.loads(str(given["problem"]))
    names = list(problem["domain"])
    columns = dict(zip(names, given["codes"].T, strict=True))
    data = mbi.Dataset(columns, mbi.Domain.fromdict(problem["domain"]))
    start = time.process_time()
    records, pairs = mst(data, problem["rho"], problem["seed"])
    outcome = {
        "seconds": time.process_time() - start,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "pairs": pairs,
    }
    codes = np.stack([np.asarray(records.data[name], dtype=np.int64) for name in names], axis=1)
    np.savez(target, outcome=json.dumps(outcome), codes=codes)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
