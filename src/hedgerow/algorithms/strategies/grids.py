"""Boxes from a chain of tables, each the sums of the next finer one: levels of a line, grids on a plane.

The tables are a tree of sums, as in ``trees.py``; here all counts of a level have the same noise, and its nodes nearly
the same number n of children. So the best estimate follows an error in the count of a node by the part f of the node's
cells that a box covers. With U_l the variance of a node of level l from its subtree alone,

    variance = sum over levels l of U_l (sum of f^2 over level l - sum of n f^2 over level l + 1),
    1 / U_(l+1) = x_(l+1) + 1 / (n U_l),

where x is the precision of what is measured, and the last level is one node with all records, whose number is taken as
known. Parts of boxes are products of those of their ranges, and the sums are products of a sum for each attribute.

Counts are not negative, so something is known of each without measuring: most are no farther from their mean than some
times the mean. Tables that are mostly noise then say little. Where records crowd in a few places they say more, so half
of the budget is divided as if this were not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import numpy as np

from hedgerow.algorithms.strategies.division import divided
from hedgerow.algorithms.strategies.strategy import Step
from hedgerow.algorithms.strategies.sub_strategy import AnsweredQueries, Goal, Measurements
from hedgerow.algorithms.strategies.trees import Numbers, complex_slopes, tree_levels
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.models import coarse_first, levels_of
from hedgerow.privacy import Budget
from hedgerow.queries import Boxes, Marginal, Workload

Grid = tuple[int, ...]
"""A mix of levels: for each attribute the place of its level, 0 for the finest, and after the last for all values."""


_TUNED = 256
"""Most boxes that a chain is chosen for."""

_FAR = 4.0
"""Standard deviation of a count about the mean count, as a multiple of it."""

_LIKELY = 2.0
"""The same where errors are predicted: from fits to blocks of cells they are smaller."""

_ADDED = (0.2, 0.35, 0.5)
"""Shares of the budget that a further table is tried with."""

_WORTH = 0.99
"""A further table must lower the predicted error to this part of it."""

_LITTLE = 0.01
"""Tables with a smaller share are left out."""

_COARSE = 0.1
"""Share of the coarser table where the cells of a table are lost in the noise."""

_ALONE = 0.4
"""Share of the tables of single attributes beside it: within its cells, records are spread as these say."""

_BESIDE = {0.5: 0.1, 1.0: 0.2}
"""The same where no attribute is in order, by the least noise of a cell that they pay for, in mean counts."""

_OF_SUMS = 0.05
"""Share, of that of a level, for the sums of its cells over all that every level has; half of it for the finest."""

_TELL_MORE = 0.25
"""Precision of these sums, for that of what the cells tell of them, from which on they are measured."""

_LEAST_NOISE = 1e-9
"""Least standard deviation that shares are computed with, in counts."""

_LOST = 0.5
"""Noise of the coarsest table, the root of its sum of squares as a part of all records, above which a coarse table of
one attribute is all that is measured."""

_NOTHING = 0.75
"""The same of that table, above which nothing is fitted."""

_BELOW = 1.0 - 2.0**-40
"""Shares are rounded: their sum must not pass the charge."""


@dataclass(frozen=True, eq=False)
class Grids:
    """Variances of boxes from a chain of grids; fits the protocol `Estimate`.

    Attributes:
        covered: Sum of f^2 over each grid, finest first, shape ``(boxes, grids)``.
        above: Sum of n f^2 over the next coarser one, or over the one node of all records, of the same shape.
        children: Mean number of children of a node of the next coarser grid.
        known: Precision of the knowledge of a count of each grid before anything is measured.

    Example:
        >>> three_of_four = np.array([[3.0, 1.25]]), np.array([[2.5, 1.125]])
        >>> grids = Grids(*three_of_four, children=np.array([2.0, 2.0]), known=np.zeros(2))
        >>> grids.variances(np.array([1.0, 1.0])).round(6)
        array([0.583333])
    """

    covered: Floats
    above: Floats
    children: Floats
    known: Floats

    def variances(self, inverse_variances: Floats) -> Floats:
        """Variance of each box in squared counts.

        Args:
            inverse_variances: 1 over the variance of one count of each grid, finest first.
        """
        return np.asarray(self._variances(inverse_variances), dtype=np.float64)

    def variances_and_slopes(self, inverse_variances: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """The variances, and a function from weights of these to their derivatives by the precisions, with sign -1."""
        return self.variances(inverse_variances), partial(complex_slopes, self._variances, inverse_variances)

    def _variances(self, precisions: Numbers) -> Numbers:
        lefts = []
        below: Numbers = np.zeros((), dtype=precisions.dtype)
        for precision, known, children in zip(precisions, self.known, self.children, strict=True):
            lefts.append(1.0 / (precision + known + below))
            below = 1.0 / (children * lefts[-1])
        return np.asarray(np.maximum(self.covered - self.above, 0.0) @ np.array(lefts))


@dataclass(frozen=True, eq=False)
class _Choice:
    """The boxes, the levels and the budget that a chain is chosen for.

    Attributes:
        sums: For each attribute the sums of n f^2 over a level, n being the values of a finer level (or of the same)
            in each of its values, by the places of both; the place after the last is the one node of all records.
        sizes: Number of values of each level of each attribute, and 1 for all values.
        weights: Weight of each box.
        power: Power of its variance that is summed.
        growth: Power of the charge that precision grows with.
        bought: Precision that a share of the charge buys. Noise on a lattice that is next to none falls faster than
            the power says, so that a share of it may be far more than none.
        total: Number of records.
    """

    sums: tuple[Mapping[tuple[int, int], Floats], ...]
    sizes: tuple[Floats, ...]
    weights: Floats
    power: float
    growth: float
    bought: Callable[[float], float]
    total: float

    @property
    def grids(self) -> list[Grid]:
        """All mixes of levels of all attributes."""
        return list(product(*(range(last) for last in self.root)))

    @property
    def root(self) -> Grid:
        """The one node of all records."""
        return tuple(len(sizes) - 1 for sizes in self.sizes)

    @property
    def one_attribute(self) -> Grid:
        """The coarsest level of the attribute for which it is smallest."""
        axis = min(range(len(self.sizes)), key=lambda each: float(self.sizes[each][-2]))
        return (*self.root[:axis], self.root[axis] - 1, *self.root[axis + 1 :])

    @property
    def coarsest(self) -> Grid:
        """The coarsest table of all attributes."""
        return tuple(last - 1 for last in self.root)

    def noise(self, grid: Grid) -> float:
        """Noise of a table that gets the whole budget, the root of its sum of squares as a part of all records."""
        return math.sqrt(self.cells(grid) / self.bought(1.0)) / self.total

    def cells(self, grid: Grid) -> float:
        """Number of cells."""
        return float(np.prod([sizes[at] for sizes, at in zip(self.sizes, grid, strict=True)]))

    def estimate(self, chain: Sequence[Grid], far: float) -> Grids:
        """The variances that a chain leads to, finest grid first.

        Args:
            chain: Grids, finest first.
            far: Standard deviation of a count about the mean, as a multiple of it.
        """
        cells = np.array([self.cells(grid) for grid in chain])
        return Grids(
            np.stack([self._sums(grid, grid) for grid in chain], axis=1),
            np.stack([self._sums(*pair) for pair in zip(chain, [*chain[1:], self.root], strict=True)], axis=1),
            cells / np.append(cells[1:], 1.0),
            (cells / (far * self.total)) ** 2,
        )

    def _sums(self, fine: Grid, coarse: Grid) -> Floats:
        chosen = [sums[places] for sums, places in zip(self.sums, zip(fine, coarse, strict=True), strict=True)]
        return np.asarray(np.prod(chosen, axis=0))

    def error(self, shares: Mapping[Grid, float]) -> float:
        """The predicted error of a chain, if nothing is known of the counts."""
        chain = sorted(shares, key=sum)
        precisions = np.array([self.bought(shares[grid]) for grid in chain])
        variances = self.estimate(chain, math.inf).variances(precisions)
        return float(((self.weights * variances) ** self.power).sum())

    def divided(self, shares: Mapping[Grid, float]) -> dict[Grid, float]:
        """Better shares of the same grids, coarsest first."""
        chain = sorted(shares, key=sum)
        precisions, start = np.full(len(chain), self.bought(1.0)), np.array([shares[grid] for grid in chain])
        divide = partial(divided, weights=self.weights, power=self.power, growth=self.growth, starts=[start])
        ways = [divide(self.estimate(chain, far), precisions) for far in (_FAR, math.inf)]
        middle = (ways[0] + ways[1]) / 2.0
        if not middle.sum() > 0.0:  # next to no noise: every share is as good
            return {min(shares): 1.0}
        middle = np.where(middle > _LITTLE, middle, 0.0)
        pairs = zip(chain, (middle / middle.sum()).tolist(), strict=True)
        return {grid: share for grid, share in reversed(list(pairs)) if share > 0.0}


def has_levels(workload: Workload) -> bool:
    """Whether a workload is one whole table over attributes with levels, several of them in order.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99), IntegerRange("hours", 0, 99)))
        >>> [has_levels(Workload.parse(text, domain)) for text in ("marginals:sex*age", "marginals:age*hours")]
        [False, True]
    """
    if not all(family.whole for family in workload.families) or workload.n_candidates != 1:
        return False
    return sum(len(tree_levels(workload.domain, name)) > 1 for name in workload.scopes[0]) > 1


def grid_steps(workload: Workload, budget: Budget, charge: float, total: float) -> list[Step]:
    """Measurements for one table, or boxes over it: it, and tables over levels of its attributes, coarsest first.

    For boxes, tables are added to the finest one by one while the predicted error falls; then the charge is divided
    among them. Where records are so few that even the coarsest table would be noise, a table of one attribute is all.
    A table that is asked for itself is measured alone, unless its cells are lost in the noise: then a coarser one shows
    where the records are, and those of single attributes how they are spread in there.

    Args:
        workload: Boxes over one clique, or one table that ``has_levels``.
        budget: Budget of the run; its regime and neighbours matter.
        charge: epsilon, rho or mu^2/2 of all of them together.
        total: Number of records (noisy), in counts.

    Example:
        >>> from hedgerow import IntegerRange, PureDP
        >>> workload = Workload.prefixes(Domain((IntegerRange("income", 0, 4095),)), "income")
        >>> for total in (1e4, 1e6):
        ...     steps = grid_steps(workload, PureDP(0.1), 0.1, total)
        ...     print([(step.target.text, round(step.charge, 3)) for step in steps])
        [('income.256', 0.045), ('income.16', 0.037), ('income', 0.018)]
        [('income.256', 0.032), ('income.16', 0.033), ('income', 0.036)]
    """
    domain = workload.domain
    levels = [tree_levels(domain, name) for name in workload.scopes[0]]
    divide = _of_boxes if isinstance(workload.families[0], Boxes) else _of_table
    return _steps(domain, levels, charge, divide(workload, levels, budget, charge, total))


def grids_tell(workload: Workload, budget: Budget, charge: float, total: float) -> bool:
    """Whether a fit to `grid_steps` is expected to err less than the uniform table; so for a table asked for itself.

    It is not where even the coarsest table of one attribute would be noise, if the whole charge were its.

    Args:
        workload: Boxes over one clique, or one table that ``has_levels``.
        budget: Budget of the run; its regime and neighbours matter.
        charge: epsilon, rho or mu^2/2 of all measurements together.
        total: Number of records (noisy), in counts.

    Example:
        >>> from hedgerow import IntegerRange, PureDP
        >>> workload = Workload.prefixes(Domain((IntegerRange("age", 0, 99),)), "age")
        >>> [grids_tell(workload, PureDP(0.1), 0.1, total) for total in (50.0, 500.0)]
        [False, True]
    """
    if not isinstance(workload.families[0], Boxes):
        return True
    levels = [tree_levels(workload.domain, name) for name in workload.scopes[0]]
    choice = _choice(workload, levels, budget, charge, total)
    return choice.noise(choice.one_attribute) <= _NOTHING


def grid_error(workload: Workload, budget: Budget, steps: Sequence[Step], total: float) -> float | None:
    """The mean error that is predicted for boxes from tables of `grid_steps`; a heuristic.

    Errors are those of unbiased estimates from these tables and from a guess of what counts are like. Of joined cells
    (`cutting.py`) nothing is known beforehand.

    Args:
        workload: Boxes over one clique.
        budget: Budget of the run; its regime and neighbours matter.
        steps: The tables with their charges, coarsest first.
        total: Number of records (noisy), in counts.

    Returns:
        Absolute error of a box as a share of the records; None where a table is asked for itself.

    Example:
        >>> from hedgerow import IntegerRange, PureDP
        >>> workload = Workload.prefixes(Domain((IntegerRange("income", 0, 4095),)), "income")
        >>> steps = grid_steps(workload, PureDP(0.1), 0.1, 1e5)
        >>> round(grid_error(workload, PureDP(0.1), steps, 1e5), 5)
        0.00083
    """
    if not isinstance(workload.families[0], Boxes):
        return None
    levels = [tree_levels(workload.domain, name) for name in workload.scopes[0]]
    choice = _choice(workload, levels, budget, sum(step.charge for step in steps), total)
    scopes = [step.target.scope for step in reversed(steps) if step.target is not None]
    chain = [tuple(_place(level, scope) for level in levels) for scope in scopes]
    charges = np.array([step.charge for step in reversed(steps)])
    noises = Measurements.of_marginals(workload.domain, scopes, budget).noises(budget, charges)[0]
    variances = choice.estimate(chain, _LIKELY).variances(np.maximum(noises, _LEAST_NOISE) ** -2.0)
    return float(np.sqrt(2.0 / math.pi * variances).mean()) / total


def table_steps(target: Marginal, budget: Budget, charge: float, total: float) -> list[Step]:
    """Measurements for one table: it alone, or tables of its single attributes before it.

    Where the noise of a cell is half of a mean count and more, single attributes tell what is even in the noise: on
    generated tables they lowered the error in the mean by a sixth, and by most where few cells hold all records.

    Args:
        target: A whole table.
        budget: Budget of the run; its regime and neighbours matter.
        charge: epsilon, rho or mu^2/2 of all of them together.
        total: Number of records (noisy), in counts.

    Example:
        >>> from hedgerow import IntegerRange, PureDP
        >>> target = Marginal(Domain(IntegerRange(name, 0, 9) for name in "abc"), ("a", "b", "c"))
        >>> for total in (1e3, 1e4):
        ...     steps = table_steps(target, PureDP(1.0), 1.0, total)
        ...     print([(step.target.text, round(step.charge, 3)) for step in steps])
        [('a', 0.067), ('b', 0.067), ('c', 0.067), ('a * b * c', 0.8)]
        [('a * b * c', 1.0)]
    """
    workload = Workload.marginals(target.domain, cliques=[target.scope])
    levels = [(name,) for name in target.scope]
    return _steps(target.domain, levels, charge, _of_table(workload, levels, budget, charge, total))


def level_steps(workload: Workload, budget: Budget, charge: float, total: float) -> list[Step]:
    """Measurements for tables over levels, see `coarse_first`, where the cells of the finest hold few records.

    Tables get shares in proportion to their weights: these make the product of their errors, each to the power of its
    weight, the least, whatever the sizes of the tables. A part of each goes to the sums of its cells over the
    attributes that all levels have, as to how many persons an area has: they tell by themselves what many noisy cells
    tell together. Of the finest, whose cells are mostly noise, they get half. Where levels are not whole, only the
    finest table gives a part.

    Args:
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        charge: epsilon, rho or mu^2/2 of all of them together.
        total: Number of records (noisy), in counts.

    Returns:
        Steps, the coarsest level first; none where tables have no such levels, or the finest is not mostly noise.

    Example:
        >>> from hedgerow import IntegerRange, PureDP
        >>> domain = Domain((IntegerRange("age", 0, 999), IntegerRange("sex", 0, 1)))
        >>> workload = Workload.marginals(domain, cliques=[("age", "sex"), ("sex", "age.100"), ("sex",)])
        >>> [(step.target.text, round(step.charge, 3)) for step in level_steps(workload, PureDP(1.0), 1.0, 5e3)]
        [('sex', 0.333), ('sex * age.100', 0.333), ('age', 0.167), ('age * sex', 0.167)]
        >>> level_steps(workload, PureDP(1.0), 1.0, 5e4)
        []
    """
    domain, scopes = workload.domain, workload.scopes
    if not coarse_first(domain, scopes) or not all(family.whole for family in workload.families):
        return []
    weights = dict(zip(scopes, np.bincount(workload.scope_of, workload.candidate_weights).tolist(), strict=True))
    tables = sorted(scopes, key=domain.cells)
    shares = charge * _BELOW * np.array([weights[table] for table in tables]) / sum(weights.values())
    noises, _ = Measurements.of_marginals(domain, tables, budget).noises(budget, shares)
    if noises[-1] < min(_BESIDE) * total / domain.cells(tables[-1]):
        return []
    whole, growth, steps = levels_of(domain, scopes) == tables, Goal(workload, budget, charge).growth, list[Step]()
    for place, (table, share) in enumerate(zip(tables, shares.tolist(), strict=True)):
        new = _added(domain, table, tables[:place])
        part = 0.5 if table == tables[-1] else _OF_SUMS if whole else 0.0
        if not new or part**growth * domain.cells(table) < _TELL_MORE * domain.cells(new):
            part = 0.0
        else:
            steps.append(Step(Marginal(domain, new), part * share))
        steps.append(Step(Marginal(domain, table), (1.0 - part) * share))
    return steps


def _added(domain: Domain, table: Clique, others: Collection[Clique]) -> Clique:
    """The levels that a table adds to the coarser ones among others; nothing where it adds other attributes too."""
    above = {name for other in others if all(domain.determines(table, name) for name in other) for name in other}
    new = tuple(name for name in table if name not in above)
    levels = {domain.base((name,)) for other in (table, *others) for name in other if domain.function(name) is not None}
    return new if above and levels.issuperset(domain.base((name,)) for name in new) else ()


def _steps(domain: Domain, levels: Sequence[Clique], charge: float, shares: Mapping[Grid, float]) -> list[Step]:
    return [Step(Marginal(domain, _names(levels, grid)), charge * _BELOW * share) for grid, share in shares.items()]


def _of_table(
    workload: Workload, levels: Sequence[Clique], budget: Budget, charge: float, total: float
) -> dict[Grid, float]:
    finest, coarser = (0,) * len(levels), tuple(min(1, len(level) - 1) for level in levels)
    size = workload.domain.cells(workload.scopes[0])
    noise = _noise(workload, budget, charge) * size / total
    if noise >= 1.0 and coarser != finest:
        return {**_singles(levels, _ALONE), coarser: _COARSE, finest: 1.0 - _ALONE - _COARSE}
    share = max((share for least, share in _BESIDE.items() if noise >= least), default=0.0)
    return {**_singles(levels, share), finest: 1.0 - share} if share and len(levels) > 1 else {finest: 1.0}


def _singles(levels: Sequence[Clique], share: float) -> dict[Grid, float]:
    """The finest tables of single attributes, with equal parts of a share."""
    root = [len(level) for level in levels]
    return {(*root[:axis], 0, *root[axis + 1 :]): share / len(root) for axis in range(len(root))}


def _of_boxes(
    workload: Workload, levels: Sequence[Clique], budget: Budget, charge: float, total: float
) -> dict[Grid, float]:
    choice = _choice(workload, levels, budget, charge, total)
    if len(levels) > 1 and choice.noise(choice.coarsest) > _LOST:
        return {choice.one_attribute: 1.0}
    shares = {(0,) * len(levels): 1.0}
    error = choice.error(shares)
    while longer := list(_longer(shares, choice.grids)):
        best = min(longer, key=choice.error)
        if choice.error(best) > _WORTH * error:
            break
        shares, error = best, choice.error(best)
    return choice.divided(shares)


def _noise(workload: Workload, budget: Budget, charge: float) -> float:
    """Standard deviation of a count of the table, if the whole charge goes to it."""
    table = Measurements.of_marginals(workload.domain, [workload.scopes[0]], budget)
    return float(table.noises(budget, np.array([charge]))[0][0])


def _longer(shares: Mapping[Grid, float], grids: Sequence[Grid]) -> Iterator[dict[Grid, float]]:
    """The chains with one more grid, each with several shares."""
    for grid in grids:
        if grid not in shares and all(_is_finer(grid, other) or _is_finer(other, grid) for other in shares):
            for added in _ADDED:
                yield {**{each: (1.0 - added) * share for each, share in shares.items()}, grid: added}


def _is_finer(one: Grid, other: Grid) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _names(levels: Sequence[Clique], grid: Grid) -> Clique:
    return tuple(level[at] for level, at in zip(levels, grid, strict=True) if at < len(level))


def _place(levels: Clique, scope: Clique) -> int:
    """The place of the level of an attribute that a scope names, after the last if it names none."""
    return next((place for place, name in enumerate(levels) if name in scope), len(levels))


def _choice(workload: Workload, levels: Sequence[Clique], budget: Budget, charge: float, total: float) -> _Choice:
    families = [family for family in workload.families if isinstance(family, Boxes)]
    domain, goal = workload.domain, Goal(workload, budget, charge)
    queries = AnsweredQueries.of(workload, range(len(families)), np.arange(workload.n_candidates))
    power, weights = queries.division(goal.aim)
    count = min(_TUNED, workload.n_candidates)
    some = np.linspace(0, workload.n_candidates - 1, count).astype(np.int64)
    lows, highs = (np.concatenate([getattr(family, end) for family in families])[some] for end in ("lows", "highs"))
    return _Choice(
        tuple(_sums(domain, level, lows[:, axis], highs[:, axis]) for axis, level in enumerate(levels)),
        tuple(np.array([*(float(domain[name].size) for name in level), 1.0]) for level in levels),
        weights[some],
        power,
        goal.growth,
        cache(lambda share: max(_noise(workload, budget, share * charge), _LEAST_NOISE) ** -2.0),
        total,
    )


def _sums(domain: Domain, levels: Clique, lows: Ints, highs: Ints) -> dict[tuple[int, int], Floats]:
    """Sums of n f^2 over the values of a level, by the places of a finer level and of this one, for each range."""
    codes = [np.asarray(domain.lookup(levels[0], level)) for level in levels]
    codes.append(np.zeros(len(codes[0]), dtype=np.int64))
    sums = {}
    for coarse, above in enumerate(codes):
        counts = np.bincount(above)
        ends, first, last = np.cumsum(counts), above[lows], above[highs]
        one = first == last
        lower = np.where(one, highs + 1, ends[first]) - lows
        upper = np.where(one, 0, highs + 1 - ends[last] + counts[last])
        for fine in range(coarse + 1):
            parents = np.zeros(codes[fine].max() + 1, dtype=np.int64)
            parents[codes[fine]] = above
            children = np.bincount(parents)
            before = np.cumsum(children)
            inside = np.where(one, 0, before[last] - children[last] - before[first])
            outside = children[first] * (lower / counts[first]) ** 2 + children[last] * (upper / counts[last]) ** 2
            sums[fine, coarse] = inside + outside
    return sums
