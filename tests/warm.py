"""Compiles the kernels into the numba cache of this checkout, before the workers of the test suite start.

``python -m tests.warm`` does small jobs with the public face, half of them in a second process: two workers that start
with an empty cache would compile most kernels twice. With a warm cache it takes a few seconds.
"""

from __future__ import annotations

import multiprocessing

import numpy as np

import hedgerow

SMALL = (5, 4, 2, 2, 2)
LARGE = (300, 40, 16, 16, 16, 8, 2, 2, 2)
BITS = (2,) * 12
BUDGET = hedgerow.ApproxDP(epsilon=1.0, delta=1e-9)
MIXED = "marginals:2; marginals:a*b*c; prefixes:a; ranges:a,b:20:1; parities:{}"
"""One family of each kind."""


def table(sizes: tuple[int, ...], rows: int = 2000) -> hedgerow.Table:
    """Made-up records."""
    names = "abcdefghijkl"[: len(sizes)]
    domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, size - 1) for name, size in zip(names, sizes, strict=True))
    draw = np.random.default_rng(0)
    return hedgerow.Table(domain, [draw.integers(0, size, rows) for size in sizes])


def released(mechanism: object, sizes: tuple[int, ...], text: str, budget: object = BUDGET) -> None:
    """Run a mechanism; ask its release for records, marginals and answers."""
    data = table(sizes)
    workload = hedgerow.Workload.parse(text, data.domain)
    release = mechanism.run(data, workload, budget)  # type: ignore[attr-defined]
    release.sample(300)
    release.model.marginals([("a", "b"), ("a",)])
    workload.answers(release.model)
    release.answer("a = 1 and not (b = 0 or a = 0)")


def trees() -> None:
    """Junction trees, online questions about a tree."""
    released(hedgerow.MWEM(rounds=6), LARGE, MIXED.format("g*h,g*h*i"))
    released(hedgerow.MWEM(rounds=4, refit=hedgerow.Proximal()), LARGE, "marginals:2")
    released(hedgerow.IndependentNoise(), LARGE, "marginals:a*b,b*c,d*e*f")
    asked(LARGE)


def cells() -> None:
    """Histograms, classes of values, counting, DualQuery, the Fourier mechanism."""
    released(hedgerow.MWEM(rounds=6), SMALL, MIXED.format("c*d,c*d*e"))
    released(hedgerow.MWEM(rounds=4, refit=hedgerow.Proximal()), SMALL, "marginals:2")
    released(hedgerow.MWEM(rounds=4, refit=None, output="average"), SMALL, "marginals:2")
    released(hedgerow.FourierMeasurement(), BITS, "marginals:2")
    released(hedgerow.DualQuery(rounds=3, samples=4, step=0.5, seed=1), BITS, "marginals:3", hedgerow.PureDP(5.0))
    released(hedgerow.MWEM(rounds=4), (2**20, 24), "ranges:a:200:1; prefixes:b")
    released(hedgerow.OfflinePMW(alpha=0.3), SMALL, "marginals:2")
    asked(SMALL)


def asked(sizes: tuple[int, ...]) -> None:
    """Questions one by one."""
    session = hedgerow.OnlinePMW(updates=5, threshold=0.02).start(table(sizes), BUDGET)
    session.ask_all(["a = 0", "b = 0 and c = 0", "not (c = 0 and d = 0) or a = 1", "a in (0, 1) and b between 0 and 1"])
    session.release().sample(100)


def main() -> None:
    """Both halves at once."""
    other = multiprocessing.get_context("spawn").Process(target=trees)
    other.start()
    cells()
    other.join()
    if other.exitcode:
        raise SystemExit(other.exitcode)


if __name__ == "__main__":
    main()
