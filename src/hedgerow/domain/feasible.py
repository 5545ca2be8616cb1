"""The number of records that can exist: those of the domain that break no constraint, counted exactly.

Constraints are over classes of codes, so that the sum over all records is one over small tables, taken variable by
variable (Koller and Friedman, "Probabilistic Graphical Models" (2009), chapter 9) in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Ints
from hedgerow.domain.derived import Clique
from hedgerow.domain.domain import Domain

MOST_CELLS = 1 << 22
"""Cells of the largest table on the way; where constraints need more, records are not counted."""

_Factor = tuple[Clique, NDArray[Any]]


def feasible_records(domain: Domain, given: Mapping[str, Bools] | None = None) -> int | None:
    """Number of records of a domain that break no constraint.

    Args:
        domain: The domain.
        given: For some attributes the codes that count, shape ``(domain[name].size,)`` each.

    Returns:
        The number, exact however large; None where constraints hang together too much for it to be counted.

    Example:
        >>> from hedgerow.domain import Constraint, IntegerRange
        >>> ages = [0] * 15 + [1] * 85
        >>> rule = Constraint("children have no income", ("age", "income"), [ages, [0, 1]], [[1, 0], [1, 1]])
        >>> feasible_records(Domain((IntegerRange("age", 0, 99), IntegerRange("income", 0, 1)), (), (rule,)))
        185
    """
    counted: dict[str, Bools] = dict(given or {})
    grains = {each.sources[0]: each for each in domain.grains}
    involved = dict.fromkeys(name for each in domain.constraints for name in each.scope)
    kind: type[Any] = np.int64 if domain.size < 2**62 else object
    total, factors = 1, list[_Factor]()
    for attribute in domain:
        codes = counted.get(attribute.name, np.ones(attribute.size, dtype=np.bool_))
        if attribute.name not in involved:
            total *= int(codes.sum())
        elif attribute.name in grains:
            grain = grains[attribute.name]
            sizes = np.bincount(grain.codes[codes], minlength=grain.attribute.size)
            factors.append(((grain.name,), sizes.astype(kind)))
        else:
            factors.append(((attribute.name,), codes.astype(kind)))
    factors += [(scope, table.astype(kind)) for scope, table in domain.zeros]
    while any(scope for scope, _ in factors):
        names = dict.fromkeys(name for scope, _ in factors for name in scope)
        unions = {name: domain.clique(n for scope, _ in factors if name in scope for n in scope) for name in names}
        cells = {name: math.prod(domain.shape_of(union)) for name, union in unions.items()}
        name = min(cells, key=cells.__getitem__)
        if cells[name] > MOST_CELLS:
            return None
        touched = [each for each in factors if name in each[0]]
        factors = [each for each in factors if name not in each[0]]
        factors.append(_without(name, unions[name], touched))
    return total * math.prod(int(table) for _, table in factors)


@lru_cache(maxsize=256)
def possible_records(domain: Domain) -> int:
    """Number of records that can exist, exact or, where they cannot be counted, an upper bound: all of the domain.

    This is |X'|, which bounds of multiplicative weights depend on (theory.md section 11).

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> possible_records(Domain((IntegerRange("age", 0, 99), IntegerRange("income", 0, 1))))
        200
    """
    return feasible_records(domain) or domain.size


def listed_records(domain: Domain) -> Ints:
    """All records of a small domain that break no constraint, in the order of their cells; shape ``(records, d)``.

    Example:
        >>> from hedgerow.domain import Constraint, IntegerRange
        >>> rule = Constraint("not both", ("a", "b"), [[0, 1], [0, 1]], [[1, 1], [1, 0]])
        >>> listed_records(Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)), (), (rule,))).tolist()
        [[0, 0], [0, 1], [1, 0]]
    """
    records = np.indices(domain.shape).reshape(len(domain), -1).T
    kept = np.ones(len(records), dtype=np.bool_)
    for constraint in domain.constraints:
        kept &= constraint.holds([records[:, domain.index(name)] for name in constraint.scope])
    return np.ascontiguousarray(records[kept])


def _without(name: str, union: Clique, factors: list[_Factor]) -> _Factor:
    """The product of tables, summed over one variable."""
    product: NDArray[Any] = np.ones((1,) * len(union), dtype=factors[0][1].dtype)
    for scope, table in factors:
        sizes = iter(table.shape)
        product = product * table.reshape([next(sizes) if each in scope else 1 for each in union])
    return tuple(each for each in union if each != name), product.sum(axis=union.index(name))
