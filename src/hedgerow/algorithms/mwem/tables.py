"""The tables that a workload is answered from, and the tables below these: what automatic rounds choose from.

A workload may ask for whole marginals, cells, parities, ranges or conditions. All of them are read off tables, and a
table costs one look, whatever is read off it: so tables are the candidates, and the workload says what each is worth.
Where a table would have far more cells than the queries that are read off it, these are candidates one by one.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, product

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.models import LARGEST_TREE, wants_classes
from hedgerow.queries import Family, Marginals, Workload

MOST_BELOW = 1 << 13
"""Largest number of tables that a closure may have."""

_FEW_CELLS = 16
"""Cells of a table that is measured even for the sake of one query."""

_CELLS_PER_QUERY = 4
"""Cells that a table may have for each query that is read off it: with more, noise on the queries would be smaller."""


class Asked:
    """The tables that the queries of a workload are read off, with what they are worth, and all other queries.

    The worth of a table is the error of the workload per count of its own error: 1 for a whole marginal. Single errors
    count twice, as shares of the records beside total variation distances, and are as much smaller than that of the
    table as their `Family.spread` says.

    Attributes:
        tables: Worth by scope.
        others: Families of queries that are measured one by one, with weights in the same unit.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 2) for name in "abc")
        >>> Asked(Workload.parse("marginals:a*b; prefixes:a", domain)).tables
        {('a', 'b'): 1.0, ('a',): 0.75}
    """

    def __init__(self, workload: Workload) -> None:
        """Look at the families."""
        self.domain = workload.domain
        self._least = min(workload.weights)
        self.others: list[tuple[Family, float]] = []
        in_classes = wants_classes(workload) and not _is_one_table(workload)
        tables: Counter[Clique] = Counter()
        for family, weight in zip(workload.families, workload.weights, strict=True):
            if in_classes or not _in_tables(workload, family):
                self.others.append((family, 2.0 * weight))
            else:
                tables.update(_worth(family, weight))
        self.tables = dict(tables)

    def candidates(self, weights: Mapping[Clique, float]) -> Workload:
        """Some tables, those of nearly equal weights as one family, and all other queries.

        Ratios of weights matter alone. None is below the least of the workload: an audit knows that one, and that no
        choice is less sensitive.
        """
        groups: dict[float, list[Clique]] = {}
        for clique, weight in weights.items():
            groups.setdefault(float(f"{weight:.2g}"), []).append(clique)
        families = [*(Marginals(self.domain, each) for each in groups.values()), *(family for family, _ in self.others)]
        found = [*groups, *(weight for _, weight in self.others)]
        scale = max(1.0, self._least / min(found))
        return Workload(families, [scale * weight for weight in found])

    def alone(self, names: Sequence[str]) -> Floats:
        """The worth of tables of single attributes: equal parts of that of each table they are below.

        Args:
            names: Attributes, or levels of these.

        Returns:
            Positive, shape ``(len(names),)``.

        Example:
            >>> from hedgerow import IntegerRange
            >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 63)))
            >>> Asked(Workload.parse("marginals:2; prefixes:age", domain)).alone(["sex", "age"])
            array([ 0.5, 16.5])
        """
        parts = dict.fromkeys(self.domain.names, 0.0)
        others = (scopes for family, weight in self.others for scopes in _worth(family, weight / 2.0).items())
        for scope, value in chain(self.tables.items(), others):
            base = self.domain.base(scope)
            for name in base:
                parts[name] += value / len(base)
        return np.array([sum(parts[base] for base in self.domain.base((name,))) for name in names])

    def overlaps(self, below: Sequence[Clique]) -> Mapping[Clique, float]:
        """For each table, the number of attributes that it shares with those that are asked for, weighted by worth.

        McKenna, Mullins, Sheldon and Miklau, "AIM", VLDB 2022, section 4.1. Tables of single attributes are measured
        before anything is selected, so those that are asked for do not count, unless nothing else is.

        Args:
            below: Tables below those that are asked for.
        """
        wide = {scope: value for scope, value in self.tables.items() if len(self.domain.base(scope)) > 1}
        shares = dict.fromkeys(self.domain.names, 0.0)
        for scope, value in (wide or self.tables).items():
            for name in self.domain.base(scope):
                shares[name] += value
        least = min(value for value in shares.values() if value > 0.0)
        return {each: sum(shares[name] for name in self.domain.base(each)) or least for each in below}


def tables_of(workload: Workload) -> Workload | None:
    """The tables that a workload is answered from, weighted by worth, and queries that are better asked one by one.

    Returns:
        None where there are no such tables.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcde")
        >>> text = "parities:a*b,c; where: a = 0 and b = 0 and c = 0 and d = 0 and e = 0"
        >>> tables_of(Workload.parse(text, domain)).spec
        'marginals:a*b,c; where: a = 0 and b = 0 and c = 0 and d = 0 and e = 0 @ 8.0'
    """
    asked = Asked(workload)
    return asked.candidates(asked.tables) if asked.tables else None


def closure(workload: Workload, *, levels: bool = False, widest: int | None = None) -> Workload | None:
    """The tables that a workload is answered from and all tables below them, weighted by their overlap with it.

    Queries that are better asked one by one stay as they are. Ranges are answered from the marginals of their
    attributes, at every level of these.

    Args:
        workload: Queries whose tables are wanted.
        levels: Whether tables over levels are below the others too.
        widest: Largest number of attributes of a table; any number by default.

    Returns:
        None where there are no such tables, or too many.

    Example:
        >>> from hedgerow import IntegerRange
        >>> closure(Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)).spec
        'marginals:1 @ 2.0; marginals:2 @ 4.0'
        >>> closure(Workload.prefixes(Domain((IntegerRange("age", 0, 99),)), "age")).families[0].spec
        'marginals:1 @levels'
    """
    asked, domain, found = Asked(workload), workload.domain, set[Clique]()
    ordered = {scope for family in workload.families if family.ordered for scope in family.scopes}
    for scope in asked.tables:
        grains = [(name, *(domain.coarser(name) if levels or scope in ordered else ())) for name in scope]
        size = len(scope) if widest is None else min(widest, len(scope))
        if len(found) + _number_below(grains, size) > 8.0 * MOST_BELOW:
            return None
        found.update(each for each in _below(domain, grains, size) if scope not in ordered or _is_small(domain, each))
    if not 0 < len(found) <= MOST_BELOW:
        return None
    return asked.candidates(asked.overlaps(sorted(found, key=lambda each: (len(each), each))))


def _worth(family: Family, weight: float) -> dict[Clique, float]:
    """The worth of the tables of a family."""
    each = np.ones(family.n_candidates) if family.whole else np.ones(family.n_candidates) / family.spread
    sums = np.bincount(family.scope_of, weights=weight * each, minlength=len(family.scopes))
    return {scope: value for scope, value in zip(family.scopes, sums.tolist(), strict=True) if scope}


def _in_tables(workload: Workload, family: Family) -> bool:
    """Whether the queries of a family are better read off whole tables than measured one by one."""
    domain = workload.domain
    if family.whole or family.tabular:
        return True
    if family.ordered:
        return all(_is_small(domain, (name,)) for scope in family.scopes for name in scope)
    numbers = np.bincount(family.scope_of, minlength=len(family.scopes)).tolist()
    sizes = [math.prod(domain.shape_of(scope)) for scope in family.scopes]
    return all(
        bool(scope) and (size <= max(_FEW_CELLS, _CELLS_PER_QUERY * number) or workload.covers(scope))
        for scope, size, number in zip(family.scopes, sizes, numbers, strict=True)
    )


def _is_one_table(workload: Workload) -> bool:
    """Whether it asks for boxes of one table, however many values its attributes have."""
    boxes = all(family.ordered for family in workload.families) and len(set(workload.scopes)) == 1
    return boxes and _is_small(workload.domain, workload.scopes[0])


def _is_small(domain: Domain, clique: Clique) -> bool:
    return math.prod(domain.shape_of(clique)) <= LARGEST_TREE


def _number_below(grains: Sequence[Clique], widest: int) -> float:
    """Number of subsets of some attributes with all their grains."""
    of_size = [1.0, *[0.0] * widest]
    for each in grains:
        for size in range(widest, 0, -1):
            of_size[size] += len(each) * of_size[size - 1]
    return sum(of_size)


def _below(domain: Domain, grains: Sequence[Clique], widest: int) -> Iterator[Clique]:
    """Every subset of some attributes, each at every level that is given for it."""
    subsets = chain.from_iterable(combinations(grains, size) for size in range(1, widest + 1))
    return (domain.clique(each) for each in chain.from_iterable(product(*subset) for subset in subsets))
