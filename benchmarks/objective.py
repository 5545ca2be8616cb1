"""Logistic coefficients: noisy tables against a private objective, at the same budget.

``python -m benchmarks objective [--releases N]``. Samples of 8,000 records of the tables of `benchmarks.replicates`;
the whole budget goes to one model, delta 1e-9. ``tables`` releases its table (``logistic:``) and takes coefficients
from measured sums (`hedgerow.regress`, for the file). ``objective`` is objective perturbation with Gaussian noise
(D. Kifer, A. Smith and A. Thakurta, "Private Convex Empirical Risk Minimization", COLT 2012,
algorithm 1): rows of a constant and columns on [0, 1], over the root of their number, so that norms are at most 1.
Errors are root mean squares over releases of the distance from maximum likelihood on the sample, over the standard
errors of the sample, in quadratic mean over coefficients. Noise is drawn with NumPy: nothing here is private.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

import numpy as np
from scipy import optimize, special

from benchmarks.replicates import EPSILONS, RECORDS, TASKS, Task, _logistic
from hedgerow import MWEM, ApproxDP, Domain, SeededNoise, Table, Workload, regress

DELTA = 1e-9
_CURVATURE = 0.25
"""The largest second derivative of the logistic loss, for rows of norm 1."""


def objective(left: np.ndarray, right: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Coefficients of rows of norm at most 1 by objective perturbation, with the noise of the paper."""
    deviation = math.sqrt(8.0 * math.log(2.0 / DELTA) + 4.0 * epsilon) / epsilon
    noise = rng.normal(0.0, deviation, left.shape[1])
    ridge = 2.0 * _CURVATURE / epsilon

    def perturbed(b: np.ndarray) -> tuple[float, np.ndarray]:
        predictor = left @ b
        loss = np.logaddexp(0.0, predictor).sum() - right @ predictor + noise @ b + ridge / 2.0 * b @ b
        return float(loss), left.T @ (special.expit(predictor) - right) + noise + ridge * b

    return np.asarray(optimize.minimize(perturbed, np.zeros(left.shape[1]), jac=True, method="BFGS").x)


def errors(task: Task, by: Sequence[str], epsilon: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances from maximum likelihood over its standard errors: by tables (none: not a number), by the objective."""
    rng = np.random.default_rng(seed)
    drawn = task.rows.iloc[rng.integers(0, len(task.rows), RECORDS)]
    columns = [task.outcome, *by]
    domain = Domain(task.domain[name] for name in columns)
    right = drawn[task.outcome].to_numpy()
    left = np.column_stack([np.ones(RECORDS), *(drawn[name].to_numpy() for name in by)])
    truth, own = _logistic(left, right, np.ones(RECORDS))
    table = Table(domain, [drawn[name].to_numpy() for name in domain.names])
    formula = f"{task.outcome} ~ {' + '.join(by)}"
    workload = Workload.parse(f"logistic: {formula}", domain)
    release = MWEM().run(table, workload, ApproxDP(epsilon, DELTA), noise=SeededNoise(seed))
    found = regress(release, formula, "logistic", target="file", replicates=2, seed=seed)
    tables = np.where(found.source == "moments", found.estimate.value, np.nan)
    scale = np.array([1.0, *(float(task.rows[name].max()) for name in by)]) * math.sqrt(1 + len(by))
    other = objective(left / scale, right, epsilon, rng) / scale
    return (tables - truth) / own, (other - truth) / own


def main(arguments: Sequence[str]) -> None:
    """Print a line for each table, model and epsilon."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks objective", description=__doc__)
    parser.add_argument("--releases", type=int, default=12)
    options = parser.parse_args(arguments)
    for name, make in TASKS.items():
        task = make()
        for by in (task.by[:2], task.by):
            for epsilon in EPSILONS:
                made = np.array([errors(task, by, epsilon, seed) for seed in range(options.releases)])
                size = np.sqrt(np.nanmean(np.square(made), axis=(0, 2)))
                without = int(np.isnan(made[:, 0, 0]).sum())
                print(
                    f"{name} {len(by)} columns, epsilon {epsilon:g}: tables {size[0]:.2f} ({without} without), "
                    f"objective {size[1]:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
