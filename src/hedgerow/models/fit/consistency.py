"""Best linear unbiased answers from overlapping noisy marginals, before anything is fitted.

Two marginals that share attributes both measure the marginal of these, and their noises differ. Every table is split
into orthogonal components (``residual_basis.py``), one for each set of its attributes. Their noise is independent, so
that each component is averaged over the tables that hold it, with the inverse variances as weights, and the averages
are put together again. No estimate that is linear and unbiased for all
distributions has less variance (Gauss and Markov; for marginals: Hay, Rastogi, Miklau and Suciu, "Boosting the
Accuracy of Differentially Private Histograms Through Consistency", VLDB 2010; Ding, Winslett, Han and Li,
"Differentially Private Data Cubes", SIGMOD 2011).

Cells that no record can have are known to be 0, and lose their noise first. Where they leave blocks of cells uneven, or
tables are over levels, components are no longer independent: ``agreement.py`` finds the same estimate otherwise.

A function of noisy answers, so it costs no privacy. Answers may be negative; sums of tables, all of which measure the
number of records, are averaged too, or become 1 among uneven ones.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from hedgerow.arrays import Bools, Floats
from hedgerow.domain import possible_cells, spread_over, summed
from hedgerow.models.fit.agreement import agreed
from hedgerow.models.fit.chains import deviation
from hedgerow.models.fit.residual_basis import ResidualBasis
from hedgerow.queries import Marginal, Measurable, Measurement

_WIDEST = 6
"""Marginals of more attributes stay as they are: they have too many components."""


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
    even = [position for position, each in enumerate(measurements) if _is_narrow(each) and position not in uneven]
    if even:
        _average(measurements, even, answers, total)
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
        variance = np.full(answers[position].size, deviation(measurements[position], total) ** 2)
        if position in possible:
            variance[~possible[position]] = 0.0
        variances.append(variance.reshape(shape))
    tables = [answers[position].reshape(shape) for position, shape in zip(members, shapes, strict=True)]
    for position, table in zip(members, agreed(domain, scopes, tables, variances), strict=True):
        answers[position] = table.reshape(-1)


def _average(measurements: Sequence[Measurement], members: Sequence[int], answers: list[Floats], total: float) -> None:
    """Replace the components that several tables hold by their averages; what one of them holds alone stays."""
    scopes = [measurements[position].target.scope for position in members]
    domain, owners = measurements[members[0]].target.domain, Counter(name for scope in scopes for name in scope)
    tables = [answers[at].reshape(domain.shape_of(scope)) for at, scope in zip(members, scopes, strict=True)]
    inner = [tuple(name for name in scope if owners[name] > 1) for scope in scopes]
    sums = [summed(domain, *each).reshape(-1) for each in zip(tables, scopes, inner, strict=True)]
    added = np.array([table.size / each.size for table, each in zip(tables, sums, strict=True)])
    weights = np.array([deviation(measurements[at], total) for at in members]) ** -2.0 / added
    basis = ResidualBasis(domain, inner)
    stacks = basis.stacks(inner)
    noisy = [np.stack([sums[row] for row in stack.rows.tolist()]) for stack in stacks]
    weighted, precisions = basis.weighted_sums(stacks, noisy, [weights[stack.rows] for stack in stacks])
    means = weighted / precisions
    shared = np.sum([stack.added(np.ones(()), basis.size) for stack in stacks], axis=0) > 1.0
    for stack, own in zip(stacks, noisy, strict=True):
        missing = np.where(shared[stack.places], means[stack.places] - stack.coefficients(own), 0.0)
        for row, change in zip(stack.rows.tolist(), stack.tables(missing), strict=True):
            even = spread_over(domain, change.reshape(stack.shape) / added[row], inner[row], scopes[row])
            answers[members[row]] = (tables[row] + even).reshape(-1)
