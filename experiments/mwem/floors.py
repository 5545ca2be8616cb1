"""The closest that a model of all k-way marginals can come to a table: the distribution of most entropy. NOT PRIVATE.

The distribution of most entropy among those with the marginals of a table is also the log-linear model of all
interactions of up to k attributes that fits it best, and twice the number of records times its relative entropy is the
deviance of that model. Iterative proportional fitting finds it: each marginal in turn is made that of the table, until
all agree. It starts where Newton's method on the parities of the attributes ends. Parities of up to k attributes and
k-way marginals span the same log-linear models, so that the limit is that of a uniform start; from there tables with
empty cells would take thousands of sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Domain
from hedgerow.models import Histogram, Newton
from hedgerow.privacy import exact_answers, exact_total, relative_entropy
from hedgerow.queries import Measurement, NoiseKind, Parity, Workload

AGREED = 1e-6
"""Largest difference of a marginal from that of the table with which a fit is over, in fractions."""
MOST_SWEEPS = 300
_CERTAIN = 1e-9
"""Noise of answers that are exact, in counts."""


@dataclass(frozen=True)
class Floor:
    """The distribution of most entropy, as far as it was found.

    Attributes:
        relative_entropy: KL of the table to it, in nats; falls with every sweep, so it is never too small.
        gap: Largest difference of a cell of a k-way marginal from that of the table, in fractions.
        sweeps: Passes of proportional fitting through all marginals.
    """

    relative_entropy: float
    gap: float
    sweeps: int


def floor_of(table: Table, order: int, *, from_uniform: bool = False) -> Floor:
    """The relative entropy that a model of all marginals of so many attributes cannot fall below. NOT PRIVATE.

    Args:
        table: Table of binary attributes.
        order: k; 0 for the uniform distribution.
        from_uniform: Whether proportional fitting starts there, and has all the work to do.

    Example:
        >>> import hedgerow, pyarrow
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1), hedgerow.IntegerRange("b", 0, 1)))
        >>> table = hedgerow.read_table(pyarrow.table({"a": [0, 1, 1, 1], "b": [0, 1, 1, 0]}), domain)
        >>> [round(floor_of(table, order).relative_entropy, 4) for order in (0, 1, 2)]
        [0.3466, 0.2158, 0.0]
    """
    domain, total = table.domain, exact_total(table)
    if order == 0:
        return Floor(relative_entropy(table, Histogram(domain, total)), 0.0, 0)
    start = Histogram(domain, total) if from_uniform else _start(table, order)
    cells, gap, sweeps = _fitted(start.marginals([domain.names])[0], list(_targets(table, order)), AGREED * total)
    return Floor(relative_entropy(table, Histogram(domain, total, cells)), gap / total, sweeps)


def _start(table: Table, order: int) -> Histogram:
    """By Newton's method, which holds back what is infinite: multipliers of empty cells of marginals."""
    workload = Workload.parities(table.domain, order)
    exact = zip(workload.scopes, exact_answers(table, workload), strict=True)
    model = Histogram(table.domain, exact_total(table))
    targets = [
        Measurement(Parity(table.domain, scope), np.array([value]), NoiseKind.GAUSSIAN, _CERTAIN)
        for scope, value in exact
    ]
    Newton().fit(model, targets)
    return model


def _targets(table: Table, order: int) -> Iterator[tuple[tuple[int, ...], Floats]]:
    """For each marginal the shape in which every other axis is one of its attributes, and the exact marginal."""
    domain = table.domain
    workload = Workload.marginals(domain, order)
    marginals = np.split(exact_answers(table, workload), workload.n_candidates)  # binary: all have as many cells
    for scope, marginal in zip(workload.scopes, marginals, strict=True):
        axes = domain.axes(scope)
        yield _unfolded(domain, axes), marginal.reshape(domain.shape_of(scope))


def _unfolded(domain: Domain, axes: Sequence[int]) -> tuple[int, ...]:
    ends = [-1, *axes, len(domain)]
    between = [2 ** (after - before - 1) for before, after in pairwise(ends)]
    return (*chain.from_iterable((gap, 2) for gap in between[:-1]), between[-1])


def _fitted(start: Floats, targets: Sequence[tuple[tuple[int, ...], Floats]], near: float) -> tuple[Floats, float, int]:
    """The cells, the largest difference that the last sweep found, and the number of sweeps."""
    cells, gap, sweeps = np.array(start, dtype=np.float64), math.inf, 0
    while gap > near and sweeps < MOST_SWEEPS:
        gap = max(_agree(cells.reshape(shape), marginal) for shape, marginal in targets)
        sweeps += 1
    return cells, gap, sweeps


def _agree(cells: Floats, marginal: Floats) -> float:
    """Scale cells to a marginal over every other axis, in place; the largest difference before."""
    others = tuple(range(0, cells.ndim, 2))
    wanted = np.expand_dims(marginal, others)
    found = cells.sum(axis=others, keepdims=True)
    cells *= np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0.0)
    return float(np.abs(wanted - found).max())
