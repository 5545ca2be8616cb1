"""Ranges and boxes on attributes of many values: classes of values against passes over all cells; their counts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.row import Row, cpu_seconds
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Histogram, Proximal, Sweeps, ValueClasses, refit
from hedgerow.queries import Conjunction, Measurement, NoiseKind, Workload

N = 100_000
MEASURED = 50
SWEEPS = 100
ASKED = 2_000


def rows() -> Iterator[Row]:
    """Single rounds, the paper's sweeps, fits as they are made today, and answers to many conditions."""
    yield from _rounds()
    for sizes in ((2**20,), (2**10, 2**10), (2**32,), (2**32, 2**20)):
        yield from _fits(_domain(*sizes))
    yield from _answers()


def _domain(*sizes: int) -> Domain:
    return Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abc", sizes, strict=False))


def _boxes(domain: Domain, count: int, seed: int) -> list[Conjunction]:
    rng = np.random.default_rng(seed)
    sides = [np.sort(rng.integers(0, size, (count, 2)), axis=1).tolist() for size in domain.shape]
    return [
        Conjunction.where(
            domain, {name: range(low, high + 1) for name, (low, high) in zip(domain.names, box, strict=True)}
        )
        for box in zip(*sides, strict=True)
    ]


def _title(domain: Domain) -> str:
    return " x ".join(f"2^{math.log2(size):.0f}" for size in domain.shape)


def _noisy(domain: Domain) -> list[Measurement]:
    """Boxes, of records that are not uniform: so that there is something to fit."""
    boxes, rng = _boxes(domain, MEASURED, seed=0), np.random.default_rng(1)
    shares = [
        math.prod((len(codes) / size) ** 1.5 for codes, size in zip(box.codes, domain.shape, strict=True))
        for box in boxes
    ]
    return [
        Measurement(box, np.array([N * share + rng.normal(0.0, 100.0)]), NoiseKind.GAUSSIAN, 100.0)
        for box, share in zip(boxes, shares, strict=True)
    ]


def _plain_step(domain: Domain) -> float:
    """CPU seconds of an answer and an update by numpy over all cells, as in the paper's listing."""
    cells, (box,) = np.full(domain.shape, N / domain.size), _boxes(domain, 1, seed=2)
    values = box.values()

    def step() -> None:
        answer = (values * cells).sum()
        np.multiply(cells, np.exp(values * (1e-9 + 0.0 * answer)), out=cells)
        np.multiply(cells, N / cells.sum(), out=cells)

    return cpu_seconds(step, 3)


def _rounds() -> Iterator[Row]:
    for sizes in ((2**20,), (2**10, 2**10), (2**32,)):
        domain = _domain(*sizes)
        boxes = _boxes(domain, MEASURED, seed=0)
        model = ValueClasses(domain, float(N), boxes)

        def rounds(model: ValueClasses = model, boxes: list[Conjunction] = boxes) -> None:
            for box in boxes:
                model.conjunctions([box])
                model.update(box, 1e-9)

        plain, note = _scaled(domain)
        ours = cpu_seconds(rounds) / MEASURED
        yield Row(
            f"answer and update one of {MEASURED} boxes, {_title(domain)}",
            ours,
            plain,
            f"{note}; {model.cells:,} cells",
        )


def _scaled(domain: Domain) -> tuple[float, str]:
    """A plain step, measured on a smaller domain where this one has no room."""
    small = _domain(2**20) if len(domain) == 1 else _domain(2**10, 2**10)
    plain = _plain_step(small) * (domain.size / small.size)
    return plain, "numpy over all cells" + ("" if domain.size == small.size else ", scaled up")


def _fits(domain: Domain) -> Iterator[Row]:
    noisy = _noisy(domain)
    plain, note = _scaled(domain)

    def swept() -> None:
        refit(ValueClasses(domain, float(N)), noisy, Sweeps(sweeps=SWEEPS))

    title = f"{MEASURED} boxes, {_title(domain)}"
    yield Row(f"the paper's {SWEEPS} sweeps of {title}", cpu_seconds(swept, 3), SWEEPS * MEASURED * plain, note)
    if domain.size > 2**20:
        return

    def fitted() -> None:
        refit(ValueClasses(domain, float(N)), noisy, Proximal())

    def dense() -> None:
        refit(Histogram(domain, float(N)), noisy, Proximal())

    yield Row(f"a proximal fit to {title}", cpu_seconds(fitted, 3), cpu_seconds(dense, 1), "our histogram")


def _answers() -> Iterator[Row]:
    domain = _domain(2**32, 2**20)
    rng = np.random.default_rng(3)
    table = Table(domain, [rng.integers(0, size, N) for size in domain.shape], None)
    for names in (("a",), ("a", "b")):
        boxes = [
            Conjunction.where(domain, dict(zip(q.scope, q.codes, strict=True)))
            for q in _boxes(domain.project(names), ASKED, 4)
        ]
        workload = Workload.conjunctions(domain, boxes)

        def plain(boxes: list[Conjunction] = boxes[:100]) -> None:
            for box in boxes:
                inside = np.ones(N, dtype=np.bool_)
                for name, codes in zip(box.scope, box.codes, strict=True):
                    column = table.columns[domain.index(name)]
                    inside &= (column >= codes[0]) & (column <= codes[-1])
                np.count_nonzero(inside)

        reference = cpu_seconds(plain, 2) * ASKED / 100
        ours = cpu_seconds(lambda workload=workload: workload.answers(table), 3)  # type: ignore[misc]
        yield Row(f"{ASKED:,} boxes on {len(names)} attributes of {N:,} records", ours, reference, "numpy, one by one")
