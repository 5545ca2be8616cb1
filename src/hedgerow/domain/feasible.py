"""The records that can exist: those of the domain that break no constraint, counted exactly.

Constraints are over classes of codes, so that a sum over records is one over small tables, taken variable by variable
(Koller and Friedman, "Probabilistic Graphical Models" (2009), chapter 9) in whole numbers, or in bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Ints
from hedgerow.domain.derived import Clique
from hedgerow.domain.domain import Domain
from hedgerow.domain.tables import spread_over, summed

MOST_CELLS = 1 << 22
"""Cells of the largest table on the way; where more are needed, records are not counted."""

_Factor = tuple[Clique, NDArray[Any]]


def feasible_records(domain: Domain, given: Mapping[str, Bools] | None = None) -> int | None:
    """Number of records of a domain that break no constraint.

    Args:
        domain: The domain.
        given: For some attributes the codes that count, shape ``(domain[name].size,)`` each.

    Returns:
        The number, exact however large; None where that takes a table of more than ``MOST_CELLS`` (4,194,304) cells:
        for constraints that hang together too much, and for one about an attribute of more values.

    Example:
        >>> from hedgerow.domain import Constraint, IntegerRange
        >>> ages = [0] * 15 + [1] * 85
        >>> rule = Constraint("children have no income", ("age", "income"), [ages, [0, 1]], [[1, 0], [1, 1]])
        >>> feasible_records(Domain((IntegerRange("age", 0, 99), IntegerRange("income", 0, 1)), (), (rule,)))
        185
    """
    number = _counted(domain, (), _whole(domain), given or {})
    return None if number is None else int(number)


def feasible_cells(domain: Domain, clique: Clique) -> NDArray[Any] | None:
    """Number of records that break no constraint in each cell of a marginal.

    Args:
        domain: The domain.
        clique: Variables, derived ones too, in the order of the domain.

    Returns:
        Shape ``domain.shape_of(clique)``, of Python's whole numbers where the domain has too many records for 64 bits;
        None where they cannot be counted.

    Example:
        >>> from hedgerow.domain import Constraint, IntegerRange
        >>> ages = [0] * 15 + [1] * 85
        >>> rule = Constraint("children have no income", ("age", "income"), [ages, [0, 1]], [[1, 0], [1, 1]])
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("income", 0, 1)), (), (rule,))
        >>> feasible_cells(domain, ("income", "age.10"))
        array([[10, 10, 10, 10, 10, 10, 10, 10, 10, 10],
               [ 0,  5, 10, 10, 10, 10, 10, 10, 10, 10]])
    """
    return _counted(domain, clique, _whole(domain), {})


def possible_cells(domain: Domain, clique: Clique) -> Bools | None:
    """Whether any record that breaks no constraint is in each cell of a marginal.

    Args:
        domain: The domain.
        clique: Variables, derived ones too, in the order of the domain.

    Returns:
        Shape ``domain.shape_of(clique)``, not to be changed; None where it cannot be told.
    """
    small = math.prod(domain.shape_of(clique)) <= _KEPT_CELLS
    return _kept_possible(domain, clique) if small else _possible(domain, clique)


def _possible(domain: Domain, clique: Clique) -> Bools | None:
    possible = _counted(domain, clique, np.dtype(np.bool_), {})
    if possible is not None:
        possible.setflags(write=False)
    return possible


_KEPT_CELLS = 1 << 14
_kept_possible = lru_cache(maxsize=1024)(_possible)


def _whole(domain: Domain) -> np.dtype[Any]:
    return np.dtype(np.int64 if domain.size < 2**62 else object)


def _counted(domain: Domain, clique: Clique, kind: np.dtype[Any], given: Mapping[str, Bools]) -> NDArray[Any] | None:
    """Records in each cell of a clique; whether there is any for the type of bits, where sums are unions."""
    shape, ruled = domain.shape_of(clique), _ruled(domain)
    if math.prod(shape) > MOST_CELLS:
        return None
    blocks = _blocks(domain, (*clique, *given))
    inside = set(chain.from_iterable(blocks))
    others = _others(domain, frozenset(inside & ruled.keys()), kind)
    if others is None:
        return None
    free = math.prod(a.size for a in domain if a.name not in inside and a.name not in ruled)
    factors = [*others, ((), np.asarray(free, dtype=kind))]
    for block in blocks:
        hidden = {ruled[name] for name in block if name in ruled}
        wanted = [name for name in clique if set(domain.base([name])) <= set(block)]
        scope = domain.clique([*wanted, *(name for name in hidden if not domain.determines(clique, name))])
        if scope == block and not set(block) & set(given):
            continue
        if math.prod(domain.shape_of(block)) > MOST_CELLS or math.prod(domain.shape_of(scope)) > MOST_CELLS:
            return None
        codes = np.ones((1,) * len(block), dtype=kind)
        for axis, name in enumerate(block):
            mask = given.get(name, np.ones(domain[name].size, dtype=np.bool_)).astype(kind)
            codes = codes * mask.reshape([-1 if other == axis else 1 for other in range(len(block))])
        factors.append((scope, summed(domain, codes, block, scope)))
    left = _eliminated(domain, clique, factors)
    if left is None:
        return None
    counts = np.ones(shape, dtype=kind)
    for scope, table in left:
        counts *= spread_over(domain, table, scope, clique)
    return counts


@lru_cache(maxsize=64)
def _others(domain: Domain, inside: frozenset[str], kind: np.dtype[Any]) -> list[_Factor] | None:
    """The constraints, with all attributes summed out that are not inside; many cliques have the same inside.

    Args:
        domain: The domain.
        inside: Attributes that constraints are about.
        kind: Type of the numbers.
    """
    ruled = _ruled(domain)
    if any(domain[name].size > MOST_CELLS for name in ruled.keys() - inside):
        return None
    factors = [(scope, table.astype(kind)) for scope, table in domain.zeros]
    for name, variable in ruled.items():
        if name not in inside and name != variable:
            codes = np.ones(domain[name].size, dtype=kind)
            factors.append(((variable,), summed(domain, codes, (name,), (variable,))))
    return _eliminated(domain, domain.clique(ruled[name] for name in inside), factors)


@lru_cache(maxsize=256)
def _ruled(domain: Domain) -> dict[str, str]:
    """The attributes that constraints are about, and the variable that stands for each there."""
    names = dict.fromkeys(name for scope, _ in domain.zeros for name in scope)
    return {domain.base([name])[0]: name for name in names}


def _blocks(domain: Domain, names: Iterable[str]) -> list[Clique]:
    """The attributes that variables depend on, those together that one of them is a function of."""
    blocks: list[set[str]] = []
    for name in names:
        sources = set(domain.base([name]))
        touched = [block for block in blocks if block & sources]
        blocks = [block for block in blocks if not block & sources]
        blocks.append(sources.union(*touched))
    return sorted(map(domain.clique, blocks), key=domain.axes)


def _eliminated(domain: Domain, clique: Clique, factors: Iterable[_Factor]) -> list[_Factor] | None:
    """Tables over variables that a clique determines, with all others summed out."""
    left = list(factors)
    while True:
        names = dict.fromkeys(name for scope, _ in left for name in scope if not domain.determines(clique, name))
        if not names:
            return left
        unions = {name: domain.clique(n for scope, _ in left if name in scope for n in scope) for name in names}
        cells = {name: math.prod(domain.shape_of(union)) for name, union in unions.items()}
        name = min(cells, key=cells.__getitem__)
        if cells[name] > MOST_CELLS:
            return None
        touched = [each for each in left if name in each[0]]
        left = [each for each in left if name not in each[0]]
        left.append(_without(name, unions[name], touched))


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
        product = product * table.reshape([next(sizes) if name in scope else 1 for name in union])
    rest = tuple(other for other in union if other != name)
    return rest, np.asarray(product.sum(axis=union.index(name), dtype=product.dtype), dtype=product.dtype)
