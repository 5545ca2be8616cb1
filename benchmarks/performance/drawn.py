"""Shapes that are drawn at random by a seed: tables and workloads that nobody chose, to judge what `plan` says by."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.performance.shapes import Shape, generated

SEED = 2027
"""The shapes that the page reports, all of them; rates were looked at with another seed."""

NUMBER = 12

_WORKLOADS = ("marginals:1", "marginals:2", "marginals:3", "cells:2", "marginals:2<=1000")
_MOST_TABLES, _MOST_CELLS, _MOST_VALUES = 20_000, 1_000_000, 6_000_000
"""What keeps a shape under a minute or so: others are drawn anew, before anything is run."""


def drawn_shapes(seed: int = SEED, number: int = NUMBER) -> Iterator[Shape]:
    """Tables of 10^3 to 10^6 records and 2 to 100 columns of 2 to 10,000 values, even on a scale of logarithms.

    Args:
        seed: Seed of the draw.
        number: Number of shapes.
    """
    draw, made = np.random.default_rng(seed), 0
    while made < number:
        rows, columns = int(10 ** draw.uniform(3, 6)), int(2 * 50 ** draw.random())
        most = 10 ** draw.uniform(0.5, 4)
        sizes = [int(2 * (most / 2) ** draw.random()) for _ in range(columns)]
        workload = str(draw.choice(_WORKLOADS))
        order = int(workload.split(":")[1][0])
        if rows * columns > _MOST_VALUES or math.comb(columns, order) > _MOST_TABLES or order > columns:
            continue
        if _cells(sizes, order) > _MOST_CELLS:
            continue
        made += 1
        values = f"{min(sizes)} to {max(sizes):,} values"
        name = f"{rows:,} records x {columns} columns of {values}, {workload}"
        yield generated(name, rows, sizes, workload=workload, drawn=True, listed=False, stem=f"drawn-{seed}-{made}")


def _cells(sizes: list[int], order: int) -> float:
    """Cells of all tables of an order: a symmetric polynomial of the sizes."""
    sums = [1.0] + [0.0] * order
    for size in sizes:
        for k in range(order, 0, -1):
            sums[k] += size * sums[k - 1]
    return sums[order]
