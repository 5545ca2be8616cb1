"""Best linear unbiased answers from overlapping noisy marginals, before anything is fitted.

Two marginals that share attributes both measure the marginal of these, and their noises differ. Split every table
into orthogonal components, one for each set of its attributes: what that set adds to all smaller ones. The noise of
the components is independent, so that each component is averaged over the tables that hold it, with the inverse
variances as weights, and the averages are put together again. No estimate that is linear and unbiased for all
distributions has less variance (Gauss and Markov; for marginals: Hay, Rastogi, Miklau and Suciu, "Boosting the
Accuracy of Differentially Private Histograms Through Consistency", VLDB 2010; Ding, Winslett, Han and Li,
"Differentially Private Data Cubes", SIGMOD 2011).

Cells that no record can have are known to be 0, and lose their noise first. Where they leave blocks of cells uneven, or
tables are over levels, components are no longer independent: ``agreement.py`` finds the same estimate otherwise.

A function of noisy answers, so it costs no privacy. Answers may be negative; sums of tables, all of which measure the
number of records, are averaged too, or become 1 among uneven ones.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, possible_cells
from hedgerow.models.fit.agreement import agreed
from hedgerow.queries import Marginal, Measurable, Measurement

_WIDEST = 6
"""Marginals of more attributes stay as they are: they have too many components."""
_EXACT = 1e-12
"""Standard deviation, as a fraction of the total, of answers without noise."""
_NOTHING = 1e6
"""The same of answers that say nothing: more noise is counted as so much, so that its square is a number."""


def consistent(measurements: Sequence[Measurement], total: float) -> list[Floats]:
    """Noisy answers in fractions, those of marginals averaged over all that measure the same.

    Args:
        measurements: Measurements over one domain. Single queries stay as they are, and change no other; wide marginals
            change no other and lose the noise of impossible cells alone.
        total: In counts.

    Returns:
        For each measurement its answers, shape ``(size,)``.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> noisy = [Measurement(Marginal(domain, "a"), np.array([70.0, 30.0]), NoiseKind.GAUSSIAN, 5.0),
        ...          Measurement(Marginal(domain, "ab"), np.array([40.0, 40.0, 10.0, 10.0]), NoiseKind.GAUSSIAN, 5.0)]
        >>> [answers.round(3).tolist() for answers in consistent(noisy, 100.0)]
        [[0.733, 0.267], [0.367, 0.367, 0.133, 0.133]]
    """
    answers = [measured.values / total for measured in measurements]
    possible = {position: found for position, m in enumerate(measurements) if (found := _possible(m)) is not None}
    for position, found in possible.items():
        answers[position][~found] = 0.0
    uneven = _touching(measurements, possible)
    stacks = list(_stacks(measurements, set(range(len(measurements))) - uneven, answers, total))
    for components in _shared(stacks):
        _average(components)
    for stack in stacks:
        for position, table in zip(stack.members, stack.tables, strict=True):
            answers[position] = table.reshape(-1)
    if uneven:
        _agree(measurements, sorted(uneven), answers, possible, total)
    return answers


def _possible(measured: Measurement) -> Bools | None:
    """The cells that a record can have, if some are not, or if blocks may be uneven; None where it cannot be told."""
    target = measured.target
    if not isinstance(target, Marginal) or (_over_attributes(target) and not target.domain.constraints):
        return None
    possible = possible_cells(target.domain, target.scope)
    return None if possible is None or (_over_attributes(target) and possible.all()) else possible.reshape(-1)


def _touching(measurements: Sequence[Measurement], possible: Mapping[int, Bools]) -> set[int]:
    """Uneven marginals, and those that share attributes with them, or with others that do."""
    bases = {
        position: set(measurement.target.domain.base(measurement.target.scope))
        for position, measurement in enumerate(measurements if possible else ())
        if _is_narrow(measurement) and (position in possible or _over_attributes(measurement.target))
    }
    touching = {position for position in possible if position in bases}
    while True:
        reached = set[str]().union(*(bases[position] for position in touching))
        more = {position for position, base in bases.items() if base & reached}
        if more == touching:
            return touching
        touching = more


def _is_narrow(measured: Measurement) -> bool:
    return isinstance(measured.target, Marginal) and len(measured.target.scope) <= _WIDEST


def _over_attributes(target: Measurable) -> bool:
    return all(target.domain.index(name) < len(target.domain) for name in target.scope)


def _deviation(measured: Measurement, total: float) -> float:
    return min(max(measured.std / total, _EXACT), _NOTHING)


def _agree(
    measurements: Sequence[Measurement],
    members: Sequence[int],
    answers: list[Floats],
    possible: Mapping[int, Bools],
    total: float,
) -> None:
    domain = measurements[members[0]].target.domain
    scopes = [measurements[position].target.scope for position in members]
    shapes = [domain.shape_of(scope) for scope in scopes]
    variances = []
    for position, shape in zip(members, shapes, strict=True):
        variance = np.full(answers[position].size, _deviation(measurements[position], total) ** 2)
        if position in possible:
            variance[~possible[position]] = 0.0
        variances.append(variance.reshape(shape))
    tables = [answers[position].reshape(shape) for position, shape in zip(members, shapes, strict=True)]
    for position, table in zip(members, agreed(domain, scopes, tables, variances), strict=True):
        answers[position] = table.reshape(-1)


@dataclass(frozen=True, eq=False)
class _Stack:
    """Marginals of equal shape.

    Attributes:
        tables: Their answers, the first axis for the marginals; corrected in place.
        variances: Variance of one cell, shape ``(marginals,)``.
    """

    members: list[int]
    scopes: list[Clique]
    tables: Floats
    variances: Floats


@dataclass(frozen=True, eq=False)
class _Components:
    """Components of some tables of a stack, over the same axes.

    Attributes:
        rows: Positions of the tables in the stack.
        places: For each table the number of its component among those that are averaged together.
        axes: The axes of a table that the component does not depend on.
        values: Components, with one entry on these axes.
        variances: Variance of one value, before it is centred.
    """

    stack: _Stack
    rows: Ints
    places: Ints
    axes: tuple[int, ...]
    values: Floats
    variances: Floats


def _stacks(
    measurements: Sequence[Measurement], even: Collection[int], answers: Sequence[Floats], total: float
) -> Iterator[_Stack]:
    shapes: dict[tuple[int, ...], list[int]] = {}
    for position, measured in enumerate(measurements):
        if position in even and _is_narrow(measured):
            shapes.setdefault(measured.target.domain.shape_of(measured.target.scope), []).append(position)
    for shape, members in shapes.items():
        tables = np.stack([answers[position].reshape(shape) for position in members])
        deviations = np.array([_deviation(measurements[position], total) for position in members])
        yield _Stack(members, [measurements[position].target.scope for position in members], tables, deviations**2)


def _shared(stacks: Sequence[_Stack]) -> list[list[_Components]]:
    """Components that several tables hold, those of equal shape together."""
    holders: dict[Clique, int] = {}
    for stack in stacks:
        for scope in stack.scopes:
            for kept in _subsets(len(scope)):
                subset = tuple(scope[axis] for axis in kept)
                holders[subset] = holders.get(subset, 0) + 1
    places: dict[tuple[int, ...], dict[Clique, int]] = {}
    shared: dict[tuple[int, ...], list[_Components]] = {}
    for stack in stacks:
        shape = stack.tables.shape[1:]
        for kept in _subsets(len(shape)):
            subsets = [tuple(scope[axis] for axis in kept) for scope in stack.scopes]
            rows = [row for row, subset in enumerate(subsets) if holders[subset] > 1]
            if rows:
                sizes = tuple(shape[axis] for axis in kept)
                known = places.setdefault(sizes, {})
                numbers = [known.setdefault(subsets[row], len(known)) for row in rows]
                shared.setdefault(sizes, []).append(_components(stack, rows, numbers, kept))
    return list(shared.values())


def _subsets(count: int) -> list[tuple[int, ...]]:
    """All of them; the empty one is that of the sum of a table."""
    return [subset for size in range(count + 1) for subset in combinations(range(count), size)]


def _components(stack: _Stack, rows: list[int], places: list[int], kept: tuple[int, ...]) -> _Components:
    axes = tuple(axis + 1 for axis in range(stack.tables.ndim - 1) if axis not in kept)
    values = stack.tables[rows].sum(axis=axes, keepdims=True)
    for axis in kept:
        values = values - values.mean(axis=axis + 1, keepdims=True)
    summed = math.prod(stack.tables.shape[axis] for axis in axes)
    return _Components(stack, np.array(rows), np.array(places), axes, values, stack.variances[rows] * summed)


def _average(components: Sequence[_Components]) -> None:
    """Replace components of one shape by their averages, in all tables."""
    count = 1 + max(int(component.places.max()) for component in components)
    weights, sums = np.zeros(count), np.zeros((count, math.prod(components[0].values.shape[1:])))
    for component in components:
        np.add.at(weights, component.places, 1.0 / component.variances)
        np.add.at(
            sums, component.places, component.values.reshape(len(component.rows), -1) / component.variances[:, None]
        )
    means = sums / weights[:, None]
    for component in components:
        summed = math.prod(component.stack.tables.shape[axis] for axis in component.axes)
        component.stack.tables[component.rows] += (
            means[component.places].reshape(component.values.shape) - component.values
        ) / summed
