"""The domain of classes of values: what is left of a domain where queries tell values apart."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, CodeSet, Derived, Domain, IntegerRange, places_in
from hedgerow.queries.classes.classes import Classes
from hedgerow.queries.core import Conjunction, attribute_codes


@dataclass(frozen=True, eq=False)
class Coarsening:
    """The domain of the classes of some attributes; the others, which no query names, are left out.

    A table over a level, or another derived attribute, tells its values apart: it is a function of the classes then,
    and a derived attribute of their domain. A condition on a level is one on its attribute.

    Attributes:
        fine: The domain.
        classes: The classes, at least two, of each attribute that queries tell apart.
        coarse: The domain of these attributes, in the same order, with one code per class, and of the derived ones that
            tables are over.
        told: Whether a query tells codes apart. If none does, the first attribute is cut after its first code: a
            domain needs an attribute.
        constrained: Whether the classes tell what the constraints of the domain are about; the coarse one has them too.

    Example:
        >>> fine = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("port", 0, 2**16 - 1)))
        >>> query = Conjunction.where(fine, {"ip": range(2**31)})
        >>> coarsening = Coarsening.of(fine, [query])
        >>> coarsening.coarse.shape, coarsening.conjunctions([query])[0].text
        ((2,), 'ip = 0')
    """

    fine: Domain
    classes: Mapping[str, Classes]
    coarse: Domain
    told: bool = True
    constrained: bool = False

    @classmethod
    def of(cls, domain: Domain, queries: Iterable[Conjunction] = (), *, constrained: bool = False) -> Coarsening:
        """The classes of some conjunctions over a domain, and of its constraints if these are to be told."""
        first = domain.names[0]
        least = {first: Classes.whole(domain[first].size).split([CodeSet((0, 1))])}
        if not (constrained and domain.constraints):
            return cls(domain, least, _coarse(domain, least), told=False).split(queries)
        pairs = [pair for rule in domain.constraints for pair in zip(rule.scope, rule.classes, strict=True)]
        split = _split(domain, {}, {}, {name: [each for n, each in pairs if n == name] for name, _ in pairs})
        return cls(domain, split, _coarse(domain, split, constrained=True), constrained=True).split(queries)

    @cached_property
    def functions(self) -> frozenset[str]:
        """Derived attributes that tables are over."""
        return frozenset(function.name for function in self.coarse.declared)

    def classes_in_order(self) -> list[tuple[str, Classes]]:
        """Attributes that are told apart and their classes, in the order of the coarse domain."""
        return [(name, self.classes[name]) for name in self.coarse.names]

    def split(
        self, queries: Iterable[Conjunction] = (), tables: Iterable[tuple[Clique, NDArray[Any]]] = ()
    ) -> Coarsening:
        """Refine the classes by more queries; the same object where these are known already.

        Args:
            queries: Conjunctions over attributes and levels of the fine domain.
            tables: Values on the cells of cliques, shape ``fine.shape_of(clique)``; where two codes of an attribute
                have the same values throughout they are not told apart, codes of derived attributes always are.
        """
        known = self.classes if self.told else {}
        sets = _sets(self.conditions(query) for query in queries)
        labels, functions = _labels(self.fine, tables)
        found = _split(self.fine, known, sets, labels)
        for name in self.fine.base(functions):
            whole = found.get(name, Classes.whole(self.fine[name].size))
            found[name] = whole if whole.count > 1 else whole.split([CodeSet((0, 1))])
        wanted = self.functions.union(functions)
        same = all(name in known and each.count == known[name].count for name, each in found.items())
        if same and wanted == self.functions:
            return self
        coarse = _coarse(self.fine, found, wanted, constrained=self.constrained)
        return Coarsening(self.fine, found, coarse, constrained=self.constrained)

    def apart(self, names: Iterable[str]) -> Coarsening:
        """Every code of some attributes, derived or not, in a class of its own."""
        each = {name: np.arange(self.fine[name].size) for name in names}
        return self.split(tables=[((name,), codes) for name, codes in each.items()])

    def told_by(self, clique: Clique) -> Clique:
        """The variables of the coarse domain that say what is told about a clique of the fine one."""
        functions = self.functions
        base = self.fine.base(name for name in clique if name not in functions)
        kept = [*(name for name in clique if name in functions), *(name for name in base if name in self.classes)]
        return self.coarse.reduced(kept)

    def conditions(self, query: Conjunction) -> dict[str, CodeSet]:
        """A conjunction as sets of codes of attributes, and of derived ones that are told.

        Args:
            query: Over attributes and levels.
        """
        kept: dict[str, CodeSet] = {}
        if self.functions and len(self.fine.base(query.scope)) == len(query.scope):
            kept = {n: codes for n, codes in zip(query.scope, query.codes, strict=True) if n in self.functions}
        code_sets, _ = attribute_codes(self.fine, _without(query, kept) if kept else query)
        return code_sets | kept

    def conjunctions(self, queries: Sequence[Conjunction]) -> list[Conjunction]:
        """The same conjunctions over classes.

        Args:
            queries: Conjunctions that some record can meet, over attributes and levels; the sets of attributes that
                they come down to are unions of classes. Sets of all codes are left out.
        """
        conditions = [self.conditions(query) for query in queries]
        over_classes = {name: self._over_classes(name, list(code_set)) for name, code_set in _sets(conditions).items()}
        return [
            Conjunction.where(
                self.coarse,
                {
                    name: over_classes[name][codes]
                    for name, codes in condition.items()
                    if len(codes) < self.fine[name].size
                },
            )
            for condition in conditions
        ]

    def over_levels(self, table: Floats, attribute: str, levels: Clique) -> Floats:
        """Masses of classes of an attribute as masses of values of its levels; evenly inside each class.

        Args:
            table: Any shape, the classes of the attribute along the last axis; a single one if it is not told apart.
            attribute: An attribute.
            levels: Levels of it.

        Returns:
            The levels along new last axes in place of the attribute.

        Example:
            >>> domain = Domain((IntegerRange("age", 0, 99),))
            >>> children = Conjunction.where(domain, {"age": range(15)})
            >>> Coarsening.of(domain, [children]).over_levels(np.array([30.0, 85.0]), "age", ("age.10",))[:4]
            array([20., 15., 10., 10.])
        """
        shape = self.fine.shape_of(levels)
        key = (attribute, levels)
        if key not in self._overlaps:
            held = self.classes.get(attribute) or Classes.whole(self.fine[attribute].size)
            places = places_in(self.fine, (attribute,), levels)
            both, counts = np.unique(places * held.count + held.labels(), return_counts=True)
            label = both % held.count
            self._overlaps[key] = label, both // held.count, counts / held.sizes[label]
        classes, cells, shares = self._overlaps[key]
        sums = np.zeros((*table.shape[:-1], math.prod(shape)))
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        sums[..., cells[starts]] = np.add.reduceat(table[..., classes] * shares, starts, axis=-1)
        return sums.reshape(*table.shape[:-1], *shape)

    @cached_property
    def _overlaps(self) -> dict[tuple[str, Clique], tuple[Ints, Ints, Floats]]:
        """Classes, cells and shares of the classes where a class and a cell of some levels have codes in common."""
        return {}

    def _over_classes(self, name: str, sets: Sequence[CodeSet]) -> dict[CodeSet, CodeSet]:
        if name in self.functions:
            return dict(zip(sets, sets, strict=True))
        if name not in self.classes:
            return {}
        return dict(zip(sets, self.classes[name].classes_of(sets), strict=True))

    def fine_conjunction(self, query: Conjunction) -> Conjunction:
        """A conjunction over classes as one over the fine domain."""
        pairs = zip(query.scope, query.codes, strict=True)
        codes = (self.classes[name].codes_of(chosen) if name in self.classes else chosen for name, chosen in pairs)
        return Conjunction(self.fine, query.scope, tuple(codes))

    def coarse_table(self, clique: Clique, table: NDArray[Any]) -> tuple[Clique, NDArray[Any]]:
        """Values on the cells of a clique over classes, and the variables that are told apart.

        Args:
            clique: In the order of the domain; derived attributes in it are told.
            table: The same for all codes of a class, shape ``fine.shape_of(clique)``.
        """
        for axis, name in enumerate(clique):
            if name not in self.functions:
                table = table.take(_first_codes(self.classes, name), axis=axis)
        kept = tuple(name for name in clique if name in self.classes or name in self.functions)
        return kept, table.reshape(self.coarse.shape_of(kept))

    def fine_table(self, clique: Clique, table: Floats) -> Floats:
        """Values on the cells of a clique over classes, for every cell of the fine domain."""
        for axis, name in enumerate(clique):
            if name in self.classes:
                table = table.take(self.classes[name].labels(), axis=axis)
        return table


def _without(query: Conjunction, names: Collection[str]) -> Conjunction:
    pairs = [pair for pair in zip(query.scope, query.codes, strict=True) if pair[0] not in names]
    return Conjunction(query.domain, tuple(name for name, _ in pairs), tuple(codes for _, codes in pairs))


def _sets(conditions: Iterable[Mapping[str, CodeSet]]) -> dict[str, dict[CodeSet, None]]:
    """The distinct sets of codes that conditions name, by variable, in their order."""
    sets: dict[str, dict[CodeSet, None]] = {}
    for condition in conditions:
        for name, codes in condition.items():
            sets.setdefault(name, {})[codes] = None
    return sets


_Labels = dict[str, list[NDArray[Any]]]


def _labels(domain: Domain, tables: Iterable[tuple[Clique, NDArray[Any]]]) -> tuple[_Labels, set[str]]:
    """Numbers that tell apart the codes of attributes that tables do, and the derived attributes of these tables."""
    labels: _Labels = {}
    functions: set[str] = set()
    for clique, table in tables:
        for axis, name in enumerate(clique):
            function = domain.function(name)
            if function is None:
                labels.setdefault(name, []).append(_rows_apart(table, axis))
            elif name not in functions:
                functions.add(name)
                for place, attribute in enumerate(function.sources):
                    labels.setdefault(attribute, []).append(_rows_apart(function.codes, place))
    return labels, functions


def _rows_apart(table: NDArray[Any], axis: int) -> NDArray[Any]:
    """A number for each code of an axis, equal where all values of the table are."""
    rows = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)


def _split(
    domain: Domain,
    classes: Mapping[str, Classes],
    sets: Mapping[str, Iterable[CodeSet]],
    labels: Mapping[str, Sequence[NDArray[Any]]],
) -> dict[str, Classes]:
    split = dict(classes)
    for name in {**sets, **labels}:
        if name in domain.names:
            before = classes.get(name) or Classes.whole(domain[name].size)
            after = before.split(sets.get(name, ()), labels.get(name, ()))
            if after.count > 1:
                split[name] = after
    return split


def _first_codes(classes: Mapping[str, Classes], name: str) -> Ints:
    """A code of each class of an attribute; one of a single class where nothing is told apart."""
    return classes[name].first_codes() if name in classes else np.zeros(1, dtype=np.int64)


def _coarse(
    domain: Domain, classes: Mapping[str, Classes], functions: Collection[str] = (), *, constrained: bool = False
) -> Domain:
    derived = [
        Derived(f.attribute, f.sources, f.codes[np.ix_(*(_first_codes(classes, n) for n in f.sources))])
        for f in (domain.derived if functions else ())
        if f.name in functions
    ]
    rules = [
        rule.among({name: _first_codes(classes, name) for name in rule.scope})
        for rule in (domain.constraints if constrained else ())
    ]
    attributes = [IntegerRange(name, 0, classes[name].count - 1) for name in domain.names if name in classes]
    return Domain(attributes, derived, rules)
