"""The domain of classes of values: what is left of a domain where queries tell values apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.queries.classes.classes import Classes
from hedgerow.queries.core import CodeSet, Conjunction


@final
@dataclass(frozen=True, eq=False)
class Coarsening:
    """The domain of the classes of some attributes; the others, which no query names, are left out.

    Attributes:
        fine: The domain.
        classes: The classes, at least two, of each attribute that queries tell apart.
        coarse: The domain of these attributes, in the same order, with one code per class.
        told: Whether a query tells codes apart. If none does, the first attribute is cut after its first code: a
            domain needs an attribute.

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

    @classmethod
    def of(cls, domain: Domain, queries: Iterable[Conjunction] = ()) -> Coarsening:
        """The classes of some conjunctions over a domain."""
        first = domain.names[0]
        least = {first: Classes.whole(domain[first].size).split([CodeSet((0, 1))])}
        return cls(domain, least, _coarse(domain, least), told=False).split(queries)

    def classes_in_order(self) -> list[tuple[str, Classes]]:
        """Attributes that are told apart and their classes, in the order of the coarse domain."""
        return [(name, self.classes[name]) for name in self.coarse.names]

    def split(
        self, queries: Iterable[Conjunction] = (), tables: Iterable[tuple[Clique, NDArray[Any]]] = ()
    ) -> Coarsening:
        """Refine the classes by more queries; the same object where these are known already.

        Args:
            queries: Conjunctions over the fine domain.
            tables: Values on the cells of cliques, shape ``fine.shape_of(clique)``; where two codes have the same
                values throughout they are not told apart.
        """
        known = self.classes if self.told else {}
        found = _split(self.fine, known, queries, tables)
        same = all(name in known and each.count == known[name].count for name, each in found.items())
        return self if same else Coarsening(self.fine, found, _coarse(self.fine, found))

    def apart(self, names: Iterable[str]) -> Coarsening:
        """Every code of some attributes in a class of its own."""
        each = {name: np.arange(self.fine[name].size) for name in names}
        return self.split(tables=[((name,), codes) for name, codes in each.items()])

    def conjunctions(self, queries: Sequence[Conjunction]) -> list[Conjunction]:
        """The same conjunctions over classes.

        Args:
            queries: Conjunctions that some record can meet; their sets are unions of classes. Sets of all codes are
                left out.
        """
        found = {name: self._over_classes(name, list(each)) for name, each in _sets(queries).items()}
        return [
            Conjunction.where(
                self.coarse,
                {
                    name: found[name][codes]
                    for name, codes in zip(query.scope, query.codes, strict=True)
                    if len(codes) < self.fine[name].size
                },
            )
            for query in queries
        ]

    def _over_classes(self, name: str, sets: Sequence[CodeSet]) -> dict[CodeSet, CodeSet]:
        if name not in self.classes:
            return {}
        return dict(zip(sets, self.classes[name].classes_of(sets), strict=True))

    def fine_conjunction(self, query: Conjunction) -> Conjunction:
        """A conjunction over classes as one over the fine domain."""
        codes = (self.classes[name].codes_of(chosen) for name, chosen in zip(query.scope, query.codes, strict=True))
        return Conjunction(self.fine, query.scope, tuple(codes))

    def coarse_table(self, clique: Clique, table: NDArray[Any]) -> tuple[Clique, NDArray[Any]]:
        """Values on the cells of a clique over classes, and the attributes that are told apart.

        Args:
            clique: In the order of the domain.
            table: The same for all codes of a class, shape ``fine.shape_of(clique)``.
        """
        for axis, name in enumerate(clique):
            chosen = self.classes[name].first_codes() if name in self.classes else np.zeros(1, dtype=np.int64)
            table = table.take(chosen, axis=axis)
        kept = tuple(name for name in clique if name in self.classes)
        return kept, table.reshape(self.coarse.shape_of(kept))

    def fine_table(self, clique: Clique, table: Floats) -> Floats:
        """Values on the cells of a clique over classes, for every cell of the fine domain."""
        for axis, name in enumerate(clique):
            table = table.take(self.classes[name].labels(), axis=axis)
        return table


def _sets(queries: Iterable[Conjunction]) -> dict[str, dict[CodeSet, None]]:
    """The distinct sets of codes that queries name, by attribute, in their order."""
    sets: dict[str, dict[CodeSet, None]] = {}
    for query in queries:
        for name, codes in zip(query.scope, query.codes, strict=True):
            sets.setdefault(name, {})[codes] = None
    return sets


def _split(
    domain: Domain,
    classes: Mapping[str, Classes],
    queries: Iterable[Conjunction],
    tables: Iterable[tuple[Clique, NDArray[Any]]],
) -> dict[str, Classes]:
    sets = _sets(queries)
    labels: dict[str, list[NDArray[Any]]] = {}
    for clique, table in tables:
        for axis, name in enumerate(clique):
            rows = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
            labels.setdefault(name, []).append(np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1))
    found = dict(classes)
    for name in {**sets, **labels}:
        before = classes.get(name) or Classes.whole(domain[name].size)
        after = before.split(sets.get(name, ()), labels.get(name, ()))
        if after.count > 1:
            found[name] = after
    return found


def _coarse(domain: Domain, classes: Mapping[str, Classes]) -> Domain:
    return Domain(IntegerRange(name, 0, classes[name].count - 1) for name in domain.names if name in classes)
