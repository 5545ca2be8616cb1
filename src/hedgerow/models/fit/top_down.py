"""Tables over levels and the tables below them, fitted from the top down: coarse ones first, each within the last.

A table of areas, one of their counties and one of their states are noisy counts of the same records. Each count of a
coarse table is divided among its children in the next finer one. What is known of the children before is the start of
the hypothesis in proportion; it is corrected by what was measured, first by sums over most attributes (how many records
an area has), then by sums over fewer (of which races), last by the cells, each with the weight that it deserves.

How far the children stray from what is known beforehand shows in the noisy counts: the mean square of the differences,
less the variance of the noise, is the variance of the counts themselves (empirical Bayes: Morris, JASA 1983), of the
form ``a m + b m^2`` for a mean m. The counts minimise a relative entropy with this variance and the square of the
noise. Where records are few and noise is large the hypothesis stays with what is known beforehand, where
records are many it takes what was measured, and no count becomes negative (theory.md section 13.3).

Tables need not be whole at every level: some columns by county and others by area are fitted one table after the other,
each within all that the tables before it say of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, Domain, places_in
from hedgerow.models.core import Model
from hedgerow.models.core.steps import FLOOR
from hedgerow.models.fit.chains import sums_of
from hedgerow.models.fit.raking import matched
from hedgerow.models.fit.top_down_kernels import children_of, dispersion, spread, subtrees
from hedgerow.models.trees import JunctionTree
from hedgerow.queries import Marginal, Measurement, Moment
from hedgerow.system import each_done, in_slices, usable_cores

_LEAST = 1e-9
"""Least variance of a noisy count, which is divided by."""
_MANY = 2**16
"""Children of all parents from which on they are divided side by side."""
_SUBTREES = 2**18
"""Children that are divided at a time, or those of one parent, or of parents that lie between each other."""
_EXACT, _NEAR, _SWEEPS = 1e-2, 1e-2, 50
"""Largest variance of a count that is known without noise, and distance from it in records that is near enough, or else
so many times of proportional fitting; what is left of it is small beside the noise of coarser counts."""
_MOST_TABLES = 64
"""Most tables that are looked at for levels: of more, some would not be levels of each other."""
_MOSTLY_NOISE = 0.25
"""Noise of a cell of the finest table, in mean counts, from which on it is called so."""
_ORDERS = 2
"""Most attributes beside those of the level whose tables are fitted before its cells."""


@dataclass(frozen=True, eq=False)
class _Counts:
    """Noisy counts of a table, and the variance of each, shape ``(size,)``."""

    values: Floats
    variances: Floats

    @classmethod
    def of(cls, measured: Measurement, possible: Bools) -> _Counts:
        """What was measured of a table; cells that no record can have are known to be 0."""
        values = measured.values if possible.all() else np.asarray(possible * measured.values)
        return cls(values, np.asarray(possible * max(measured.std**2, _LEAST)))

    @property
    def exact(self) -> bool:
        """Whether noise moves none of them by a noticeable part of a record: they are known totals."""
        return bool(self.variances.max(initial=0.0) <= _EXACT)

    def summed(self, places: Ints, size: int) -> _Counts:
        """Sums over the cells of a coarser table, given the place of each cell there."""
        return _Counts(sums_of(self.values, places, size), sums_of(self.variances, places, size))

    def averaged(self, other: _Counts | None) -> _Counts:
        """The average with others of the same table, by their variances."""
        if other is None:
            return self
        both = self.variances + other.variances
        share = np.divide(self.variances, both, out=np.zeros_like(both), where=both > 0.0)
        return _Counts(self.values + share * (other.values - self.values), share * other.variances)

    def with_sums(self, sums: _Counts, places: Ints) -> _Counts:
        """The same, moved in proportion to their variances until they add up to the average of their sums and others.

        Args:
            sums: What else was measured of the sums.
            places: The sum that each count belongs to.
        """
        mine = self.summed(places, len(sums.values))
        missing = mine.averaged(sums).values - mine.values
        each = np.divide(missing, mine.variances, out=np.zeros_like(missing), where=mine.variances > 0.0)
        moved = each[places]
        moved *= self.variances
        moved += self.values
        return _Counts(moved, self.variances)


def levels_of(domain: Domain, scopes: Collection[Clique]) -> list[Clique]:
    """The levels that whole tables are fitted through from the top down, the coarsest first; none if they are not so.

    They are so if the largest has some attributes that others have coarser levels of, or leave out; if these levels
    follow each other, each the sums of the next; and if each table either has all other attributes too, or is only over
    what its level adds to the next coarser one (how many persons an area has).

    Args:
        domain: The domain.
        scopes: Names of each table.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 19)))
        >>> levels_of(domain, [("sex", "age"), ("sex", "age.5"), ("sex",), ("age",)])
        [('sex',), ('sex', 'age.5'), ('sex', 'age')]
        >>> levels_of(domain, [("sex", "age"), ("age",)])
        []
    """
    if not 1 < len(scopes) <= _MOST_TABLES:
        return []
    finest = max(scopes, key=lambda scope: math.prod(domain.shape_of(scope)))
    coarse = {name for scope in scopes for name in scope if name not in finest}
    if not coarse or not all(domain.determines(finest, name) for name in coarse):
        return []
    bases = set(domain.base(coarse))
    others = [name for name in finest if bases.isdisjoint(domain.base((name,)))]
    parts = dict.fromkeys(tuple(name for name in scope if name not in others) for scope in scopes)
    levels = [domain.clique((*part, *others)) for part in parts]
    levels.sort(key=lambda level: math.prod(domain.shape_of(level)))
    follow = all(domain.determines(fine, name) for above, fine in pairwise(levels) for name in above)
    known = {*levels, *(added_names(*pair) for pair in pairwise(levels))}
    return levels if follow and others and known.issuperset(map(domain.clique, scopes)) else []


def added_names(coarse: Clique, fine: Clique) -> Clique:
    """The names of a level that the next coarser one does not have."""
    return tuple(name for name in fine if name not in coarse)


def coarse_first(domain: Domain, scopes: Collection[Clique]) -> list[Clique]:
    """The tables that a fit from the top down goes through, the coarsest first; none if tables are not for it.

    Those of whole levels, see `levels_of`; or else the tables and what any of them have in common, if they are over
    levels of one attribute with declared ones, as areas, and those of a level hang together like a tree (else nothing
    has all of them exactly).

    Args:
        domain: The domain.
        scopes: Names of each table.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange, width_level
        >>> areas = IntegerRange("area", 0, 99)
        >>> others = IntegerRange("sex", 0, 1), IntegerRange("race", 0, 5)
        >>> domain = Domain((areas, *others), [width_level(areas, 10)])
        >>> coarse_first(domain, [("area", "sex"), ("race", "area.10")])
        [('area.10',), ('race', 'area.10'), ('area', 'sex')]
        >>> coarse_first(domain, [("area", "sex"), ("area", "race")])
        []
    """
    if levels := levels_of(domain, scopes):
        return levels
    scopes = [domain.clique(scope) for scope in scopes]
    names = domain.clique(name for scope in scopes for name in scope)
    coarse = [name for name in names if any(name != fine and domain.determines((fine,), name) for fine in names)]
    area = domain.base(coarse)
    declared = any(domain.base((function.name,)) == area for function in domain.declared)
    if not (len(area) == 1 and declared and 1 < len(scopes) <= _MOST_TABLES):
        return []
    by_level: dict[Clique, list[Clique]] = {}
    for scope in scopes:
        level = tuple(name for name in scope if domain.base((name,)) == area)
        by_level.setdefault(level, []).append(scope)
    if all(set(scope) <= set(level) for level, inside in by_level.items() for scope in inside):
        return []  # a line, which has a fit of its own
    for inside in by_level.values():
        if not all(
            any(set(each) <= set(scope) for scope in inside) for each in JunctionTree.of(domain, inside).cliques
        ):
            return []
    return _with_common(domain, scopes, names)


def _with_common(domain: Domain, scopes: Collection[Clique], names: Clique) -> list[Clique]:
    """Tables, and over and over what two of them both determine, the coarsest first."""
    found = dict.fromkeys(scopes)
    left = list(found)
    while left:
        one = [name for name in names if domain.determines(left[-1], name)]
        del left[-1]
        for other in list(found):
            common = domain.reduced(name for name in one if domain.determines(other, name))
            if common and common not in found:
                found[common] = None
                left.append(common)
    return sorted(found, key=domain.cells)


def measured_levels(measurements: Sequence[Measurement]) -> list[Clique]:
    """The tables that measurements are fitted through from the top down, see `coarse_first`; none if they are not.

    Tables that are not whole levels are where the finest is mostly noise: where it is not, fits of all tables together
    do as well.

    Args:
        measurements: Measurements over one domain; moments beside tables do not matter.
    """
    tables = [each for each in measurements if not isinstance(each.target, Moment)]
    if not all(isinstance(each.target, Marginal) and each.target.within is None for each in tables):
        return []
    scopes = dict.fromkeys(each.target.scope for each in tables)
    order = coarse_first(tables[0].target.domain, scopes) if len(scopes) > 1 else []
    finest = max(tables, key=lambda each: each.target.size, default=None)
    if not order or finest is None or set(order) == set(levels_of(finest.target.domain, scopes)):
        return order
    return order if finest.std * finest.target.size >= _MOSTLY_NOISE * abs(finest.values.sum()) else []


def fit_top_down(model: Model, measurements: Sequence[Measurement], levels: Sequence[Clique]) -> None:
    """Divide the counts of each level among those of the next finer one, from the model as it is, in place.

    Args:
        model: The hypothesis.
        measurements: Whole tables.
        levels: What they are fitted through, see `measured_levels`.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.models.dense import Histogram
        >>> from hedgerow.queries import NoiseKind
        >>> domain = Domain((IntegerRange("age", 0, 19), IntegerRange("sex", 0, 1)))
        >>> model = Histogram(domain, total=100)
        >>> fives, ages = Marginal(domain, ("sex", "age.5")), Marginal(domain, ("sex", "age"))
        >>> counts = np.array([60.0, 0.0, 10.0, 10.0, 10.0, 0.0, 10.0, 0.0])
        >>> noisy = [Measurement(fives, counts, NoiseKind.LAPLACE, 1.0),
        ...          Measurement(ages, np.full(40, 2.5), NoiseKind.LAPLACE, 10.0)]
        >>> fit_top_down(model, noisy, measured_levels(noisy))
        >>> model.marginals([("sex", "age.5")])[0].round()
        array([[60.,  0., 10., 10.],
               [10.,  0.,  9.,  1.]])
    """
    if not levels_of(model.domain, {measured.target.scope for measured in measurements}):
        _fit_tables(model, measurements, levels)
        return
    scope, last = levels[-1], len(levels) - 1
    masses = model.marginals([scope])[0].reshape(-1)
    tree = _Levels(model.domain, levels, masses > 0.0)
    starts = [tree.summed(masses, level) for level in range(last)]
    counts, parents = np.array([model.total]), np.array([masses.sum()])
    for level, told in enumerate(_told(tree, measurements)):
        held = starts[level] if level < last else masses
        means = held.copy() if level < last else masses
        _multiplied(means, np.divide(counts, parents, out=np.zeros_like(counts), where=parents > 0.0), tree.up(level))
        exact = None
        while told:  # each is as large as its table, and needed once
            names, noisy_of = told.pop(0)
            noisy = noisy_of()
            if names == tree.added(level) and noisy.exact:
                exact = noisy.values
            means = tree.corrected(level, names, noisy, means, counts)
            del noisy, noisy_of
        counts, parents = tree.restored(level, means, counts, exact), held
    del means, masses, held, parents  # the start of the finest cells, which take its place, is asked for again
    start = model.marginals([scope])[0]
    masses, ratio = start.reshape(-1), np.ones_like(counts)
    np.divide(counts, masses, out=ratio, where=masses > 0.0)
    np.log(np.maximum(ratio, FLOOR, out=ratio), out=ratio)
    model.reweigh(scope, ratio.reshape(start.shape))


def _fit_tables(model: Model, measurements: Sequence[Measurement], tables: Sequence[Clique]) -> None:
    """Divide the counts of the largest coarser table among the cells of each, and keep those of all coarser ones.

    Args:
        model: The hypothesis, changed in place.
        measurements: Whole tables.
        tables: Theirs and what they have in common, the coarsest first.
    """
    domain, kept = model.domain, dict[Clique, Floats]()
    said = [(each.target.scope, _Counts.of(each, _possible(model, each.target.scope))) for each in measurements]
    for scope in tables:
        possible = _possible(model, scope)
        above = [coarse for coarse in kept if all(domain.determines(scope, name) for name in coarse)]
        parents = above[-1] if above else ()
        tree, counts = _Levels(domain, [parents, scope], possible), kept.get(parents, np.array([model.total]))
        noisy: _Counts | None = None
        for names, each in said:
            if all(domain.determines(names, name) for name in scope):
                noisy = each.summed(tree.places(names, scope), tree.size(scope)).averaged(noisy)
        means = model.marginals([scope])[0].reshape(-1)
        if noisy is not None:
            for below in tree.below(1):
                means = tree.corrected(1, below, tree.part(noisy, scope, below), means, counts)
        kept[scope] = _fitted(means, [(tree.places(scope, coarse), kept[coarse]) for coarse in above])
        matched(model, scope, kept[scope].reshape(domain.shape_of(scope)))
    for _ in range(_SWEEPS):  # tables that hang together like a tree are all met already
        off = [matched(model, scope, kept[scope].reshape(domain.shape_of(scope))) for scope in reversed(tables)]
        if max(off) <= _NEAR:
            break


def _possible(model: Model, scope: Clique) -> Bools:
    """The cells of a table that records can have."""
    return np.asarray(model.marginals([scope])[0].reshape(-1) > 0.0)


def _fitted(cells: Floats, sums: Sequence[tuple[Ints, Floats]]) -> Floats:
    """The cells in proportion, in place, with wanted sums at places: the last first, in turn until all hold."""
    for _ in range(_SWEEPS):
        off = 0.0
        for places, wanted in reversed(sums):
            off = max(off, float(np.abs(sums_of(cells, places, len(wanted)) - wanted).max()))
            cells = _scaled(cells, places, wanted)
        if off <= _NEAR:
            break
    return cells


@dataclass(frozen=True, eq=False)
class _Levels:
    """Which cell of which table lies in which.

    Attributes:
        levels: Names of the table of each level, the coarsest first.
        possible: Cells of the finest that records can have.
    """

    domain: Domain
    levels: Sequence[Clique]
    possible: Bools

    def size(self, names: Clique) -> int:
        return math.prod(self.domain.shape_of(names))

    def places(self, fine: Clique, coarse: Clique) -> Ints:
        """The cell of a coarse table of each of a fine one, flat; 0 for cells that no record has."""
        places = places_in(self.domain, fine, coarse).reshape(-1)
        return places if places.min(initial=0) == 0 else np.maximum(places, 0)

    def above(self, names: Clique, level: int) -> Clique:
        """The part of the next coarser level that a table of a level tells; nothing above the coarsest."""
        if level == 0:
            return ()
        return tuple(name for name in self.levels[level - 1] if self.domain.determines(names, name))

    def up(self, level: int) -> Ints:
        """The cell of the next coarser level of each cell of a level."""
        fine = self.levels[level]
        return self.places(fine, self.above(fine, level))

    def added(self, level: int) -> Clique:
        """What a level adds to the next coarser one; nothing for the coarsest."""
        return added_names(self.levels[level - 1], self.levels[level]) if level else ()

    def summed(self, finest: Floats, level: int) -> Floats:
        """Sums of the finest cells over those of a level."""
        if level == len(self.levels) - 1:
            return finest
        return sums_of(finest, self.places(self.levels[-1], self.levels[level]), self.size(self.levels[level]))

    def below(self, level: int) -> Iterator[Clique]:
        """The tables of a level that are fitted, those with few names first, its cells last."""
        names, added = self.levels[level], self.added(level)
        others = [name for name in names if name not in added]
        for order in range(min(_ORDERS, len(others) - 1) + 1):
            for some in combinations(others, order):
                if below := tuple(name for name in names if name in added or name in some):
                    yield below
        yield names

    def part(self, cells: _Counts, names: Clique, below: Clique) -> _Counts:
        """What counts of the cells of a level say of a table below it."""
        return cells if below == names else cells.summed(self.places(names, below), self.size(below))

    def corrected(self, level: int, names: Clique, noisy: _Counts, means: Floats, counts: Floats) -> Floats:
        """The cells of a level, multiplied so that a table below it is what it should be by its noisy counts; in place.

        Args:
            level: Place of the level.
            names: Names of the table.
            noisy: What was measured of it.
            means: Counts of the cells that are known so far.
            counts: Counts of the next coarser level, which the table keeps to.
        """
        whole = names == self.levels[level]
        before = means if whole else sums_of(means, self.places(self.levels[level], names), self.size(names))
        above, sums = self.above(names, level), counts
        if level:
            sums = sums_of(counts, self.places(self.levels[level - 1], above), self.size(above))
        variances = noisy.variances
        if variances.min(initial=_LEAST) < _LEAST:
            variances = np.maximum(variances, _LEAST)
        dispersed = dispersion(noisy.values, before, variances)
        if whole:
            _divided(self.places(names, above), sums, means, (noisy.values, variances), dispersed)
            return means
        ratios = np.ones_like(before)
        _divided(self.places(names, above), sums, before, (noisy.values, variances), dispersed, ratios=ratios)
        return _multiplied(means, ratios, self.places(self.levels[level], names))

    def restored(self, level: int, means: Floats, counts: Floats, exact: Floats | None = None) -> Floats:
        """The cells of a level, in proportion, with the counts of the next coarser one; in place.

        Args:
            level: Place of the level.
            means: Its cells.
            counts: Counts of the next coarser level.
            exact: Sums that are known without noise, of what the level adds; both are kept, by proportional fitting. If
                the coarser counts alone were, those sums would be moved last, and the coarser counts with them.
        """
        up = self.up(level)
        kept = _scaled(means, up, counts)
        if exact is None:
            return kept
        places = self.places(self.levels[level], self.added(level))
        for _ in range(_SWEEPS):
            if np.abs(sums_of(kept, places, len(exact)) - exact).max() <= _NEAR:
                break
            kept = _scaled(_scaled(kept, places, exact), up, counts)
        return kept


def _divided(
    parents: Ints,
    sums: Floats,
    means: Floats,
    told: tuple[Floats, Floats],
    dispersed: tuple[float, float],
    *,
    ratios: Floats | None = None,
) -> None:
    """Multiply each child's mean, in place, so that the children of each parent add up to its count.

    Subtree by subtree: what the division needs beside its result is as large as some subtrees, not as all.

    Args:
        parents: The parent of each child.
        sums: Counts of all parents.
        means: What is known of each child.
        told: Noisy counts of the children, and the variances of their noise.
        dispersed: See `dispersion`.
        ratios: What is multiplied in place of the means, where these are needed as they are.
    """
    cuts = list(pairwise([0, *subtrees(parents, len(sums), _SUBTREES).tolist()]))
    parts = (
        _Part.of(parents[start:stop], sums, means[start:stop], (told[0][start:stop], told[1][start:stop]), dispersed)
        for start, stop in cuts
    )
    of, done = means if ratios is None else ratios, map if len(cuts) == 1 else each_done
    for (start, stop), found in zip(cuts, done(_part_divided, parts), strict=True):
        mine = means[start:stop]
        of[start:stop] *= np.divide(found, mine, out=np.zeros_like(mine), where=mine > 0.0)


@dataclass(frozen=True, eq=False)
class _Part:
    """Children that are divided at a time; all numbers are public.

    Attributes:
        parents: The parent of each child, counted from the first that has one here.
        sums: Counts of the parents.
        means: What is known of each child.
        noisy: Noisy counts of the children, and variances of their noise.
        dispersed: See `dispersion`.
    """

    parents: Ints
    sums: Floats
    means: Floats
    noisy: tuple[Floats, Floats]
    dispersed: tuple[float, float]

    @classmethod
    def of(
        cls, parents: Ints, sums: Floats, means: Floats, noisy: tuple[Floats, Floats], dispersed: tuple[float, float]
    ) -> _Part:
        """The part of some children, given the sums of all parents."""
        first, last = parents.min(), parents.max()
        return cls(parents - first, sums[first : last + 1], means, noisy, dispersed)


def _part_divided(part: _Part) -> Floats:
    """Counts of the children of a part, which depend on nothing else: on one machine, or in a task of a cluster."""
    children, found, (a, b) = children_of(part.parents, len(part.sums)), np.zeros_like(part.means), part.dispersed
    told = *part.noisy, a + b * part.means

    def spreads(first: int, last: int) -> None:
        spread(first, last, children, part.sums, part.means, told, found)

    in_slices(spreads, len(part.sums), usable_cores() if len(found) >= _MANY else 1)
    return found


def _scaled(cells: Floats, places: Ints, wanted: Floats) -> Floats:
    """The cells in proportion, with sums that are wanted; in place."""
    sums = sums_of(cells, places, len(wanted))
    return _multiplied(cells, np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0.0), places)


def _multiplied(cells: Floats, ratios: Floats, places: Ints | None) -> Floats:
    """The cells, in place, times the ratios at so many places; at their own where there are none."""
    if places is None:
        cells *= ratios
        return cells
    for start in range(0, len(cells), _SUBTREES):
        cells[start : start + _SUBTREES] *= ratios[places[start : start + _SUBTREES]]
    return cells


def _told(tree: _Levels, measurements: Sequence[Measurement]) -> list[list[tuple[Clique, Callable[[], _Counts]]]]:
    """For each level the tables that are fitted, with what was measured of them and sums of what was of finer ones.

    These are summed up when they are asked for.
    """
    known = dict[Clique, _Counts]()
    for measured in measurements:
        scope = measured.target.scope
        some = tree.possible if scope == tree.levels[-1] else np.ones(measured.target.size, dtype=np.bool_)
        known[scope] = _Counts.of(measured, some).averaged(known.get(scope))
    fitted = list[list[tuple[Clique, Callable[[], _Counts]]]]()
    whole, sums = None, None
    for level in reversed(range(len(tree.levels))):
        names, new = tree.levels[level], tree.added(level)
        if whole is not None:  # of the next finer level
            whole = whole.summed(tree.up(level + 1), tree.size(names))
        whole = known[names].averaged(whole) if names in known else whole
        sums = known[new].averaged(sums) if new in known else sums
        cells, mine = whole, list[tuple[Clique, Callable[[], _Counts]]]()
        if whole is not None and sums is not None:
            cells = whole.with_sums(sums, tree.places(names, new))
        for below in tree.below(level):
            if below == new and sums is not None:
                told = sums if whole is None else whole.summed(tree.places(names, new), tree.size(new)).averaged(sums)
                mine.append((below, partial(told.averaged, None)))
            elif cells is not None:
                mine.append((below, partial(tree.part, cells, names, below)))
        fitted.append(mine)
        above = tree.above(new, level)
        sums = sums.summed(tree.places(new, above), tree.size(above)) if above and sums is not None else None
    return fitted[::-1]
