"""MST and AIM on mbi's estimators; run by the peers' own interpreter, which has no hedgerow.

    python mbi_mechanisms.py mst|aim INPUT.npz OUTPUT.npz

Both are written from their papers: mbi's package has no mechanisms. Noise is Gaussian in floating point.

*MST*: McKenna, Miklau and Sheldon, "Winning the NIST Contest: A scalable and general approach to differentially private
synthetic data" (Journal of Privacy and Confidentiality 11, 2021). A third of rho each for all single attributes, for a
spanning tree of pairs that are worst fitted, and for these pairs; values whose noisy count is below three standard
deviations are one value. Fits are as long as those of its authors.

*AIM*: McKenna, Mullins, Sheldon and Miklau, "AIM: An Adaptive and Iterative Mechanism for Differentially Private
Synthetic Data" (VLDB 2022), algorithm 2, for all pairs: rounds that select a pair or an attribute by the exponential
mechanism, weighted by what it shares with the workload and less the expected noise, measure it, and halve the noise
where that taught nothing; a tenth of each round's charge is for selection, and models may have 80 MB by the end.

The input holds ``problem``, a JSON text (attributes with their sizes, rho, seed), and the records' ``codes``, shape
``(n, attributes)``; the output ``outcome``, a JSON text (CPU seconds of all threads, peak memory in MB, the measured
marginals), and the synthetic records' ``codes``.
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
ROUNDS, SELECTING = 16, 0.1
"""AIM: most rounds for each attribute; share of a round for selection."""
WITHIN, LAST = 1_000, 5_000
"""AIM: iterations of the fits between rounds, and of the last one."""
MEGABYTES = 80.0
"""AIM: most memory of the tables of the model."""

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


def aim(data: mbi.Dataset, rho: float, seed: int) -> tuple[mbi.Dataset, list[Scope]]:
    """Synthetic records, and what was measured."""
    np.random.seed(seed)  # noqa: NPY002  # mbi draws records with it
    rng = np.random.default_rng(seed)
    names = list(data.domain)
    pairs: list[Scope] = list(combinations(names, 2))
    closure: list[Scope] = [*((name,) for name in names), *pairs]
    weights = {each: float(sum(len({*each} & {*pair}) for pair in pairs)) for each in closure}
    exact = {each: np.asarray(data.project(each).datavector(), dtype=float) for each in closure}
    rounds = ROUNDS * len(names)
    sigma = float(np.sqrt(rounds / (2.0 * (1.0 - SELECTING) * rho)))
    epsilon = float(np.sqrt(8.0 * SELECTING * rho / rounds))
    fit = mbi.estimation.MirrorDescent().estimate

    def noisy(scope: Scope) -> Any:
        return mbi.LinearMeasurement(exact[scope] + rng.normal(0.0, sigma, exact[scope].size), scope, sigma)

    known = [noisy((name,)) for name in names]
    spent = len(names) / (2.0 * sigma**2)
    model = fit(data.domain, known, iters=WITHIN)
    last = False
    while not last:
        left = rho - spent
        if last := left < 2.0 * (0.5 / sigma**2 + epsilon**2 / 8.0):
            sigma = float(np.sqrt(1.0 / (2.0 * (1.0 - SELECTING) * left)))
            epsilon = float(np.sqrt(8.0 * SELECTING * left))
        spent += 0.5 / sigma**2 + epsilon**2 / 8.0
        allowed = [each for each in closure if _megabytes(data.domain, known, each) <= spent / rho * MEGABYTES]
        before = {each: np.asarray(model.project(each).datavector(), dtype=float) for each in allowed}
        noise = float(np.sqrt(2.0 / np.pi)) * sigma
        scores = [weights[r] * (np.abs(exact[r] - before[r]).sum() - noise * exact[r].size) for r in allowed]
        scale = 0.5 * epsilon / max(weights[each] for each in allowed)
        chosen = allowed[int(np.argmax(scale * np.array(scores) + rng.gumbel(size=len(allowed))))]
        known.append(noisy(chosen))
        model = fit(data.domain, known, iters=LAST if last else WITHIN)
        moved = float(np.abs(np.asarray(model.project(chosen).datavector()) - before[chosen]).sum())
        if moved <= noise * exact[chosen].size:
            sigma, epsilon = 0.5 * sigma, 2.0 * epsilon
    return model.synthetic_data(), [each.clique for each in known]


def _megabytes(domain: mbi.Domain, known: list[Any], scope: Scope) -> float:
    """Memory of a junction tree's tables if one more is measured."""
    graph = nx.Graph()
    graph.add_nodes_from(domain)
    for each in (*(measured.clique for measured in known), scope):
        graph.add_edges_from(combinations(each, 2))
    cliques = nx.chordal_graph_cliques(nx.complete_to_chordal_graph(graph)[0])
    return sum(float(np.prod([domain[name] for name in clique])) for clique in cliques) * 8.0 / 2.0**20


MECHANISMS = {"mst": mst, "aim": aim}


def main(name: str, source: str, target: str) -> None:
    """Run a mechanism once."""
    given = np.load(source)
    problem = json.loads(str(given["problem"]))
    names = list(problem["domain"])
    columns = dict(zip(names, given["codes"].T, strict=True))
    data = mbi.Dataset(columns, mbi.Domain.fromdict(problem["domain"]))
    start = time.process_time()
    records, scopes = MECHANISMS[name](data, problem["rho"], problem["seed"])
    outcome = {
        "seconds": time.process_time() - start,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "measured": [list(scope) for scope in scopes],
    }
    codes = np.stack([np.asarray(records.data[name], dtype=np.int64) for name in names], axis=1)
    np.savez(target, outcome=json.dumps(outcome), codes=codes)


if __name__ == "__main__":
    main(*sys.argv[1:])
