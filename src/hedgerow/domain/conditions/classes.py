"""Conditions over classes of codes that they do not tell apart, so that many values cost no more than a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Bools, Places
from hedgerow.domain.conditions.code_set import CodeSet
from hedgerow.domain.conditions.text import condition
from hedgerow.domain.conditions.tree import Flat, Leaf, leaves_in, true_where
from hedgerow.domain.constraint import check_cells
from hedgerow.domain.derived import Clique, refined
from hedgerow.domain.domain import Domain
from hedgerow.errors import DomainError

MOST_CODES = 1 << 24
"""Codes of an attribute whose classes can be listed."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of codes of some attributes, and where conditions on records are true.

    Attributes:
        scope: Attributes of records, in order.
        classes: For each of them the class of each code.
        masks: For each condition where it is true, shape of the numbers of classes.
    """

    scope: Clique
    classes: tuple[Places, ...]
    masks: tuple[Bools, ...]


def over_classes(domain: Domain, conditions: Sequence[Leaf | Flat], text: str) -> Classes:
    """Conditions over classes of the attributes that they are about; derived ones are led back to their sources.

    Args:
        domain: The domain.
        conditions: Conditions without negations.
        text: Beginning of the errors.

    Raises:
        DomainError: There are too many classes, or an attribute has too many values.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.conditions.parser import parse_condition
        >>> from hedgerow.domain.conditions.tree import simplified
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)))
        >>> adult = simplified(parse_condition('"age.10" >= 20 and sex = 1', domain))
        >>> over_classes(domain, [adult], "adult").masks[0]
        array([[False, False],
               [False,  True]])
    """
    leaves = [leaf for condition in conditions for leaf in leaves_in(condition)]
    scope = domain.base(leaf.name for leaf in leaves)
    _check_scope(domain, scope, text)
    bases = {id(leaf): domain.base([leaf.name]) for leaf in leaves}
    tables = {id(leaf): _table(domain, leaf) for leaf in leaves}
    classes, first = [], {}
    for name in scope:
        rows = [_rows(tables[key], base.index(name)) for key, base in bases.items() if name in base]
        classes.append(refined(rows))
        _, first[name] = np.unique(classes[-1], return_index=True)
    shape = tuple(len(first[name]) for name in scope)
    check_cells(text, shape)

    def of_leaf(leaf: Leaf) -> Bools:
        base = bases[id(leaf)]
        table = tables[id(leaf)][np.ix_(*(first[name] for name in base))]
        return table.reshape([len(first[name]) if name in base else 1 for name in scope])

    masks = tuple(np.broadcast_to(true_where(condition, of_leaf), shape) for condition in conditions)
    return Classes(scope, tuple(classes), masks)


def as_condition(domain: Domain, scope: Clique, classes: Sequence[Places], mask: Bools) -> str:
    """A condition in SQL that is true for exactly the records of some combinations of classes.

    Args:
        domain: The domain.
        scope: Attributes of records.
        classes: For each of them the class of each code.
        mask: Whether it is true for each combination of classes.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)))
        >>> of_age = np.repeat([0, 1], [15, 85]).astype(np.int32)
        >>> as_condition(domain, ("age", "sex"), (of_age, np.arange(2)), np.array([[True, False], [False, False]]))
        'age between 0 and 14 and sex = 0'
    """
    return _any_of(_alternatives(domain, scope, classes, mask)) or "false"


def _any_of(parts: list[str]) -> str:
    return " or ".join(f"({part})" if len(parts) > 1 and " and " in part else part for part in parts)


def _alternatives(domain: Domain, scope: Clique, classes: Sequence[Places], mask: Bools) -> list[str]:
    """Conditions of which one is true where the mask is, without "or" outside of brackets."""
    if not mask.any() or mask.all():
        return ["true"] if mask.any() else []
    rows = mask.reshape(len(mask), -1)
    _, first, inverse = np.unique(np.packbits(rows, axis=1), axis=0, return_index=True, return_inverse=True)
    kinds = inverse.reshape(-1)
    alternatives = []
    for kind in kinds[np.sort(first)].tolist():  # in the order of the classes
        rest = _alternatives(domain, scope[1:], classes[1:], mask[first[kind]])
        if not rest:
            continue
        inside = (kinds == kind)[classes[0]]
        words = [] if inside.all() else [condition(domain[scope[0]], CodeSet.where(inside))]
        if rest != ["true"]:
            words.append(rest[0] if len(rest) == 1 else f"({_any_of(rest)})")
        alternatives.append(" and ".join(words))
    return alternatives


def _check_scope(domain: Domain, scope: Clique, text: str) -> None:
    for name in scope:
        if domain[name].size > MOST_CODES:
            raise DomainError(
                f"{text} is about {name!r}, which has {domain[name].size:,} values",
                remedy=f"at most {MOST_CODES:,} are supported; give it fewer values or bins",
            )


def _table(domain: Domain, leaf: Leaf) -> Bools:
    """Whether it is true, over the attributes of records that it is about."""
    mask = np.zeros(domain[leaf.name].size, dtype=np.bool_)
    for run in leaf.truth.yes.runs:
        mask[run.start : run.stop] = True
    function = domain.function(leaf.name)
    return mask if function is None else np.asarray(mask[function.codes])


def _rows(table: Bools, axis: int) -> Places:
    """A number for each code of an axis, the same for codes that the table does not tell apart."""
    rows = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
    if rows.shape[1] == 1:
        return rows[:, 0].astype(np.int32)
    _, numbers = np.unique(np.packbits(rows, axis=1), axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int32)
