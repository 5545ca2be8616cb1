"""Best linear unbiased estimates of a question from tables that were chosen before any of them was measured.

Write S for the attributes of a question q. A table T that was measured says something about q through the attributes U
that it shares with S: its sums over the others. Split the sums by the subsets A of U, as the residual basis does
(theory section 13): the part of A has mean 0 along each attribute of A and is the same for all tables over A and more,
so that it is averaged over these with inverse variances as weights. With ``q_A`` the part of q (the mean over S without
A, centred along A),

    estimate = sum over A of <q_A, mean part of A>,

which is a weighted sum of measured cells whose weights are public: unbiased, of least variance among such sums
(Gauss-Markov), with noise of a known law. The number of records is the part of no attribute; where it is public, it has
no noise.

The weights must not depend on the noise that they multiply. That is so for tables between which the ledger has no
selection, as none of them was chosen by the noise of another one (`runs`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, spread_over
from hedgerow.privacy import step_of
from hedgerow.queries import LinearQuery, Marginal, Measurement
from hedgerow.release.noise_sums import Noises

if TYPE_CHECKING:
    from hedgerow.privacy import Event

_WIDEST = 6
"""Questions over more attributes have too many parts."""
_LARGEST = 1 << 16
"""Cells of the largest table of a question that is split."""
_NOTHING = 1e-12
"""Part of a question, as a share of its largest value, that is rounding."""


def runs(events: Sequence[Event], measurements: Sequence[Measurement]) -> Iterator[Sequence[Measurement]]:
    """The measurements in runs: no table of a run was chosen by the noise of another one.

    Between two measurements of a run there is no selection. Blocks are chosen by the noisy counts of coarser tables,
    so that each is a run of its own.

    Args:
        events: The ledger.
        measurements: The noisy answers of the run of the algorithm, in order.

    Example:
        >>> list(runs([], []))
        []
    """
    own = (place for place, event in enumerate(events) if not event.earlier and event.question.kind == "query")
    places = list(own)[-len(measurements) :]  # what the domain was learnt by, and positions in bins, come before
    if len(places) != len(measurements):
        yield from ([each] for each in measurements)
        return
    run = list[Measurement]()
    for number, each in enumerate(measurements):
        follows = number > 0 and places[number] == places[number - 1] + 1
        if run and not (follows and isinstance(each.target, Marginal) and isinstance(run[-1].target, Marginal)):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


@dataclass(frozen=True)
class Estimated:
    """An unbiased estimate.

    Attributes:
        value: In counts.
        noises: The noise that it has.
        tables: Texts of the tables that it was made of.
    """

    value: float
    noises: Noises
    tables: tuple[str, ...]


def estimated(query: LinearQuery, measurements: Sequence[Measurement], total: float | None) -> Estimated | None:
    """The best linear unbiased estimate of a question from whole tables over attributes.

    Args:
        query: The question.
        measurements: Measurements of one of `runs`; others than whole tables over attributes are left out.
        total: The number of records, if it is public.

    Returns:
        The estimate; None where the tables do not tell all of the question.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.queries import Conjunction, NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> noisy = [Measurement(Marginal(domain, "a"), np.array([70.0, 30.0]), NoiseKind.GAUSSIAN, 5.0),
        ...          Measurement(Marginal(domain, "ab"), np.array([40.0, 40.0, 10.0, 10.0]), NoiseKind.GAUSSIAN, 5.0)]
        >>> found = estimated(Conjunction.where(domain, {"a": [1]}), noisy, None)
        >>> round(found.value, 2), round(found.noises.std, 2)
        (26.67, 4.08)
    """
    domain = query.domain
    scope = domain.base(query.scope)
    shape = domain.shape_of(scope)
    if not scope or len(scope) > _WIDEST or math.prod(shape) > _LARGEST:
        return None
    values = np.broadcast_to(spread_over(domain, query.values(), query.scope, scope), shape)
    sums = _sums(domain, scope, measurements)
    weights = {shared: np.zeros(domain.shape_of(shared)) for shared in sums}
    value = 0.0
    for names, part in _parts(scope, values):
        if not names and total is not None:
            value += float(part) * total
            continue
        over = [shared for shared in sums if set(names) <= set(shared)]
        if not over:
            return None
        precisions = [sums[shared].precision / weights[shared].size for shared in over]
        for shared, precision in zip(over, precisions, strict=True):
            weights[shared] += precision / sum(precisions) * _spread(part, names, shared, weights[shared].shape)
    noises, tables = Noises(), list[str]()
    for shared, weight in weights.items():
        if weight.any():
            value += float((weight * sums[shared].mean).sum())
            noises = noises.with_all(_noises(sums[shared], weight))
            tables += [each.target.text for each in sums[shared].measurements]
    return Estimated(value, noises, tuple(tables))


@dataclass
class _Sums:
    """Tables that share the same attributes with a question, each summed over its others.

    Attributes:
        measurements: The tables.
        variances: Variance of one cell of each sum.
        weighted: Sum of the sums, each divided by its variance.
    """

    measurements: list[Measurement]
    variances: list[float]
    weighted: Floats

    @property
    def precision(self) -> float:
        """1 over the variance of one cell of the mean."""
        return sum(1.0 / variance for variance in self.variances)

    @property
    def mean(self) -> Floats:
        """The sums, averaged with inverse variances as weights."""
        return self.weighted / self.precision


def _sums(domain: Domain, scope: Clique, measurements: Sequence[Measurement]) -> dict[Clique, _Sums]:
    found: dict[Clique, _Sums] = {}
    for each in measurements:
        target = each.target
        if not isinstance(target, Marginal) or target.within is not None or target.scope != domain.base(target.scope):
            continue
        shared = tuple(name for name in target.scope if name in scope)
        beside = tuple(axis for axis, name in enumerate(target.scope) if name not in scope)
        table = each.values.reshape(domain.shape_of(target.scope)).sum(axis=beside)
        variance = each.std**2 * target.size / table.size
        sums = found.setdefault(shared, _Sums([], [], np.zeros(table.shape)))
        sums.measurements.append(each)
        sums.variances.append(variance)
        sums.weighted += table / variance
    return found


def _noises(sums: _Sums, weight: Floats) -> Iterable[Noises]:
    """The noise of a weighted sum of the cells of a mean, table by table."""
    for each, variance in zip(sums.measurements, sums.variances, strict=True):
        share = 1.0 / (variance * sums.precision)
        copies = each.target.size // weight.size
        yield Noises.of(each.noise, each.scale, share * weight, copies=copies, step=step_of(each.target))


def _parts(scope: Clique, values: Floats) -> Iterator[tuple[Clique, Floats]]:
    """The parts of a question that are not 0: for each subset of attributes the mean over the others, centred."""
    least = _NOTHING * float(np.abs(values).max(initial=0.0))
    for kept in (subset for size in range(len(scope) + 1) for subset in combinations(range(len(scope)), size)):
        part = values.mean(axis=tuple(axis for axis in range(len(scope)) if axis not in kept))
        for axis in range(len(kept)):
            part = part - part.mean(axis=axis, keepdims=True)
        if float(np.abs(part).max(initial=0.0)) > least:
            yield tuple(scope[axis] for axis in kept), part


def _spread(part: Floats, names: Clique, shared: Clique, shape: tuple[int, ...]) -> Floats:
    """A part as a table over more attributes."""
    sizes = (size if name in names else 1 for name, size in zip(shared, shape, strict=True))
    return np.broadcast_to(part.reshape(tuple(sizes)), shape)
