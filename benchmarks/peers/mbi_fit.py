"""Fit noisy marginals by mbi's default estimator; run by the peers' own interpreter, which has no hedgerow.

    python mbi_fit.py INPUT.npz OUTPUT.npz

The input holds ``problem``, a JSON text (attributes with their sizes, scopes, standard deviations, total), and the
noisy tables ``y0``, ``y1``, ...; the output ``outcome``, a JSON text (CPU seconds of all threads, of a first fit that
compiles and of a second one; scopes of the log-potentials), the log-potentials ``p0``, ... and the fitted tables
``m0``, ...
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import mbi
import numpy as np


def fitted(domain: mbi.Domain, measurements: list[mbi.LinearMeasurement], total: float) -> tuple[Any, float]:
    """The model, and the CPU seconds that it took."""
    start = time.process_time()
    model = mbi.estimation.MirrorDescent().estimate(domain, measurements, known_total=total)
    for clique in model.marginals.cliques:
        np.asarray(model.marginals[clique].values)  # wait for it
    return model, time.process_time() - start


def main(source: str, target: str) -> None:
    """Fit twice and write what came out."""
    given = np.load(source)
    problem = json.loads(str(given["problem"]))
    domain = mbi.Domain.fromdict(problem["domain"])
    measurements = [
        mbi.LinearMeasurement(given[f"y{i}"], tuple(scope), std)
        for i, (scope, std) in enumerate(zip(problem["scopes"], problem["stds"], strict=True))
    ]
    _, first = fitted(domain, measurements, problem["total"])
    model, second = fitted(domain, measurements, problem["total"])
    cliques = [tuple(clique) for clique in model.potentials.cliques]
    outcome = {
        "first": first,
        "second": second,
        "cliques": cliques,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    tables = {f"p{i}": np.asarray(model.potentials[clique].values) for i, clique in enumerate(cliques)}
    tables |= {f"m{i}": np.asarray(model.project(tuple(s)).values) for i, s in enumerate(problem["scopes"])}
    np.savez(target, outcome=json.dumps(outcome), **tables)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
