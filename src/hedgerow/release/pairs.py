"""Pairs of columns: what a release knows about them, and how many people a survey would ask to know as much.

**Knowledge.** A pair that one measurement determines was *measured*, and so was a pair of two-valued columns by its
parity. A pair whose levels were, or about which single questions were asked, was measured in *part*. Measurements and
public rules connect columns, and so do the public data that a run started from: a pair with a path between its columns
is *implied*, as the hypothesis carries relations along the path and knows no other. A pair without one is *unknown*:
the hypothesis takes the two for independent, whatever they are.

**Associations.** The dependence of two columns is the share of the records that would have to change for the two to be
independent, the total variation distance of their table from the product of its margins; columns with an order have
Pearson's correlation too. (Cramer's V is not given: cells where few records are expected decide it, and noise decides
these.) Intervals are estimates from the most precise measurement of a pair. A correlation is that of the hypothesis,
which is smoother than the data, corrected to first order: by the gradient times the difference between measurement and
hypothesis. Its width is the noise along the gradient. Noise in any cell adds to a dependence. So its lower end counts
only cells whose noisy distance from the product exceeds 2.5 deviations of noise, less what noise alone would put there
in so many cells. Its upper end counts all cells. Both ends move out by the noise along the gradient.

**A survey of as many people.** The number of people who, drawn at random from the table without replacement, would
give the marginals of the workload with the same mean error as the released model has: the mean absolute deviation of a
share p among n of N people is about ``sqrt(2 p (1 - p) / (pi n) (N - n) / (N - 1))``, and at most ``2 p (1 - p)``.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from scipy import special

from hedgerow.arrays import Floats
from hedgerow.domain import Binned, IntegerRange, Ordered
from hedgerow.queries import Marginal, Measurable, Measurement, Parity
from hedgerow.release.answer import check_confidence
from hedgerow.release.numbers import Estimate, Numbers
from hedgerow.release.release import Release

MOST_CELLS = 1 << 16
"""A pair of columns with more cells together is not looked at for its association."""
MOST_PAIRS = 1000
"""Pairs whose associations are looked at."""
_BEYOND = 2.5
"""Deviations of noise beyond which the distance of a cell is taken for more than noise."""
_ALONE = math.exp(-_BEYOND * math.sqrt(2.0)) * (_BEYOND + math.sqrt(0.5))
"""Mean distance beyond them that noise alone makes, in deviations, for Laplace noise; Gaussian noise makes less."""
MOST_MARGINALS = 400
"""Marginals of a workload that stand for all of them in a survey."""


class Knowledge(StrEnum):
    """Origin of what a hypothesis says about a pair of columns."""

    MEASURED = "measured"
    PART = "in part"
    IMPLIED = "implied"
    UNKNOWN = "unknown"


def fitted_to(release: Release, measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those measurements of a release, or others in their places, that its hypothesis is fitted to.

    Small tables that were measured for their intervals alone are not, nor are needs, which stand before all others.

    Args:
        release: The release.
        measurements: One for each of its measurements.
    """
    own = measurements[sum(event.label == "need" for event in release.events) :]
    first, end = release.provenance.parameters.get("unfitted", (0, 0))
    return [*own[:first], *own[end:]]


def pair_knowledge(
    release: Release, measurements: Sequence[Measurement] | None = None
) -> dict[tuple[str, str], Knowledge]:
    """Origin of what the hypothesis says about each pair of columns; it costs no budget.

    Args:
        release: The release.
        measurements: Those of its measurements that count; all unless given.

    Returns:
        Pairs of attributes in the order of the domain.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 1) for name in "abc")
        >>> table = hedgerow.Table(domain, [np.arange(100) % 2] * 3)
        >>> workload, budget = hedgerow.Workload.parse("marginals:a*b; marginals:c", domain), hedgerow.PureDP(1.0)
        >>> release = hedgerow.MWEM(rounds=2).run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> {"*".join(pair): str(knowledge) for pair, knowledge in pair_knowledge(release).items()}
        {'a*b': 'measured', 'a*c': 'unknown', 'b*c': 'unknown'}
    """
    domain = release.domain
    known = dict[tuple[str, str], Knowledge]()
    counted = release.measurements if measurements is None else measurements
    for scope, whole in {(m.target.scope, is_whole(m.target)) for m in counted}:
        touched = domain.base(scope)
        exact = {name for name in touched if whole and domain.determines(scope, name)}
        for pair in combinations(touched, 2):
            if known.get(pair) is not Knowledge.MEASURED:
                known[pair] = Knowledge.MEASURED if exact.issuperset(pair) else Knowledge.PART
    ties = [*known, *(pair for rule in domain.constraints for pair in combinations(domain.base(rule.scope), 2))]
    prior = release.provenance.parameters.get("prior")  # the public data that a run started from
    of_prior = [name for name in domain.names if isinstance(prior, Mapping) and name in prior["columns"]]
    root_of = _connected(domain.names, [*ties, *combinations(of_prior, 2)])
    for pair in combinations(domain.names, 2):
        together = root_of[pair[0]] == root_of[pair[1]]
        known.setdefault(pair, Knowledge.IMPLIED if together else Knowledge.UNKNOWN)
    return {pair: known[pair] for pair in combinations(domain.names, 2)}


def is_whole(target: Measurable) -> bool:
    """Whether a target tells how its attributes go together: of one or two columns with two values one number does.

    Args:
        target: What was measured.
    """
    return isinstance(target, Marginal) or (
        isinstance(target, Parity) and len(target.scope) <= 2 and set(target.domain.shape_of(target.scope)) == {2}
    )


def _connected(names: Sequence[str], ties: Sequence[tuple[str, str]]) -> dict[str, str]:
    """For each name the first of those that it is connected with."""
    first = {name: name for name in names}

    def root(name: str) -> str:
        while first[name] != name:
            name = first[name]
        return name

    for one, other in ties:
        first[root(other)] = root(one)
    return {name: root(name) for name in names}


@dataclass(frozen=True)
class Association:
    """The strength with which two columns go together.

    Attributes:
        pair: Their names.
        dependence: Share of the records that would have to change for the two to be independent. The interval is an
            estimate, and there is none where no marginal of the pair was measured.
        correlation: Pearson's correlation of the records with numbers in both, likewise; None unless both columns have
            an order and more than one number. There is no interval where one is in bins: no measurement tells where in
            their bin its members lie.
        knowledge: Origin of what the hypothesis says.
    """

    pair: tuple[str, str]
    dependence: Estimate
    correlation: Estimate | None
    knowledge: Knowledge


def associations(release: Release, confidence: float = 0.95) -> list[Association]:
    """The associations of pairs of columns that the hypothesis relates, the strongest first; they cost no budget.

    Args:
        release: The release.
        confidence: Probability with which an estimated interval is to cover the figure of the private table.

    Returns:
        Associations of the first thousand pairs that are known and have few enough cells.

    Raises:
        ConfigError: The confidence is not between 0 and 1.
    """
    domain = release.domain
    width = -float(special.ndtri(check_confidence(confidence) / 2.0))
    pairs = [
        (pair, knowledge)
        for pair, knowledge in pair_knowledge(release).items()
        if knowledge is not Knowledge.UNKNOWN and domain[pair[0]].size * domain[pair[1]].size <= MOST_CELLS
    ][:MOST_PAIRS]
    tables = release.model.marginals([pair for pair, _ in pairs]) if pairs else []
    listed = [
        _association(release, pair, knowledge, table, width)
        for (pair, knowledge), table in zip(pairs, tables, strict=True)
    ]

    def strength(association: Association) -> float:
        """The dependence that is sure, or that the hypothesis implies."""
        estimate = association.dependence
        return estimate.value if estimate.low is None else estimate.low

    return sorted(listed, key=strength, reverse=True)


def _association(
    release: Release, pair: tuple[str, str], knowledge: Knowledge, table: Floats, width: float
) -> Association:
    one, other = (release.domain[name] for name in pair)
    square, best = np.maximum(table.reshape(one.size, other.size), 0.0), _best(release.measurements, pair)

    apart = Estimate(dependence(square)[0], None, None)
    related = None
    if isinstance(one, IntegerRange | Binned) and isinstance(other, IntegerRange | Binned):
        value, gradient = _correlation(release, one, other, square)
        if math.isfinite(value):
            related = Estimate(value, None, None)
            if best is not None and not (Numbers.of(one).wide or Numbers.of(other).wide):
                centre = value + float((gradient * (best[0] - square)).sum())
                related = _within(value, centre, centre, _radius(gradient, best[1], width), -1.0)
    if best is not None:
        noisy, noise = best
        most, gradient = dependence(noisy)
        # of cells beyond noise, less what noise alone puts there, on average
        alone = noisy.size * _ALONE * noise / max(float(noisy.sum()), 1.0)
        least = dependence(noisy, _BEYOND * noise)[0] - alone / 2.0
        apart = _within(apart.value, least, most, _radius(gradient, noise, width), 0.0)
    return Association(pair, apart, related, knowledge)


def _radius(gradient: Floats, noise: float, width: float) -> float:
    return width * noise * float(np.sqrt(np.square(gradient).sum()))


def _within(value: float, low: float, high: float, radius: float, least: float) -> Estimate:
    """An estimate whose ends move out by a radius, up to what is possible."""
    low, high = min(max(least, low - radius), 1.0), max(min(1.0, high + radius), least)
    return Estimate(min(max(value, low), high), low, high)


def _best(measurements: Sequence[Measurement], pair: tuple[str, str]) -> tuple[Floats, float] | None:
    """Noisy counts of a pair's cells, and their standard deviation, from the measurement that tells them best."""
    with_pair = [
        m
        for m in measurements
        if isinstance(m.target, Marginal) and m.target.within is None and set(pair) <= set(m.target.scope)
    ]

    def deviation(measurement: Measurement) -> float:
        cells = math.prod(measurement.target.domain[name].size for name in pair)
        return measurement.std * math.sqrt(measurement.target.size / cells)

    if not with_pair:
        return None
    best = min(with_pair, key=deviation)
    shape, scope = best.target.domain.shape_of(best.target.scope), best.target.scope
    beside = tuple(axis for axis, name in enumerate(scope) if name not in pair)
    sizes = [best.target.domain[name].size for name in pair]
    return best.values.reshape(shape).sum(axis=beside).reshape(sizes), deviation(best)


def _correlation(release: Release, one: Ordered, other: Ordered, table: Floats) -> tuple[float, Floats]:
    """Pearson's correlation of the records that hold a number in both columns, and its gradient in the cells."""
    x, y = Numbers.of(one, release).at, Numbers.of(other, release).at
    ordinary = table[: one.ordinary, : other.ordinary]
    value, inner = correlation(ordinary, x, y)
    gradient = np.zeros_like(table)
    gradient[: one.ordinary, : other.ordinary] = inner
    return value, gradient


def correlation(table: Floats, x: Floats, y: Floats) -> tuple[float, Floats]:
    """Pearson's correlation of a table of counts, and its gradient in the cells.

    Args:
        table: Counts, shape ``(len(x), len(y))``.
        x: Numbers of the rows.
        y: Numbers of the columns.

    Returns:
        The correlation, not a number where a column is constant, and its gradient, of the table's shape.

    Example:
        >>> correlation(np.array([[3.0, 1.0], [1.0, 3.0]]), np.arange(2.0), np.arange(2.0))[0]
        0.5
    """
    total = table.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        a = x - x @ table.sum(axis=1) / total
        b = y - table.sum(axis=0) @ y / total
        a = a / np.sqrt(np.square(a) @ table.sum(axis=1) / total)
        b = b / np.sqrt(np.square(b) @ table.sum(axis=0) / total)
        value = float(a @ table @ b / total)
        squares = np.add.outer(np.square(a), np.square(b))
        return value, (np.multiply.outer(a, b) - value * squares / 2.0) / total


def dependence(table: Floats, beyond: float = 0.0) -> tuple[float, Floats]:
    """Total variation distance of a table of counts from the product of its margins, and its gradient in the cells.

    Args:
        table: Counts, which may be noisy, two axes.
        beyond: Only cells farther than this from the product are added up, in counts.

    Returns:
        The distance, from 0 to 1 where no count is negative, and its gradient, of the table's shape; a subgradient
        where cells are at the product.

    Example:
        >>> dependence(np.array([[30.0, 10.0], [10.0, 30.0]]))[0]
        0.25
    """
    total = max(float(table.sum()), 1.0)
    rows, columns = table.sum(axis=1) / total, table.sum(axis=0) / total
    apart = table / total - np.multiply.outer(rows, columns)
    side = np.where(np.abs(apart) * total > beyond, np.sign(apart), 0.0)
    value = float((side * apart).sum()) / 2.0
    slope = side - np.add.outer(side @ columns, rows @ side) + rows @ side @ columns
    return value, (slope / 2.0 - value) / total


def survey_size(release: Release, confidence: float = 0.95) -> tuple[float, float] | None:
    """Fewest and most people whose survey errs as much as the release, by the noisy error of its workload.

    Args:
        release: The release.
        confidence: Confidence of the interval of the mean error that decides.

    Returns:
        Numbers of people, at most the number of records; None if no error was estimated, or if the workload is not
        made of whole marginals.

    Raises:
        ConfigError: The confidence is not between 0 and 1.
    """
    check_confidence(confidence)
    families, error = release.workload.families, release.error
    scopes = list(dict.fromkeys(scope for family in families for scope in family.scopes))
    if error is None or not all(family.whole for family in families) or not scopes:
        return None
    scopes = scopes[:: -(-len(scopes) // MOST_MARGINALS)]
    people = max(1.0, release.total)
    shares = [np.clip(table.reshape(-1) / people, 0.0, 1.0) for table in release.model.marginals(scopes)]
    unit = 1.0 if error.unit is None else error.unit
    low, high = (unit * bound / people for bound in error.mean_interval(confidence))
    return _people(shares, high, people), _people(shares, low, people)


def _people(shares: Sequence[Floats], error: float, people: float) -> float:
    """The number of people whose survey has a mean L1 error, by bisection; it falls with their number."""
    low, high = 1.0, people
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if sum(_deviations(shares, middle, people)) / len(shares) > error else (low, middle)
    return high


def _deviations(shares: Sequence[Floats], asked: float, people: float) -> Iterator[float]:
    """Expected L1 error of each marginal, in shares of the records, when some of the people are asked."""
    rest = (people - asked) / max(1.0, people - 1.0)
    for share in shares:
        spread = share * (1.0 - share)
        yield float(np.minimum(np.sqrt(2.0 * spread * rest / (math.pi * asked)), 2.0 * spread).sum())
