"""Conditions on derived attributes, and what constraints rule out, as disjoint boxes of codes of attributes.

Oracles change one attribute of a record at a time, so that they are asked about attributes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice, product

import numpy as np

from hedgerow.arrays import Bools
from hedgerow.domain import CodeSet, Derived, Domain
from hedgerow.errors import ConfigError
from hedgerow.queries import Conjunction, attribute_codes

MOST_BOXES = 1 << 12
"""Most boxes of all constraints together, and of one condition."""

_Box = Mapping[str, CodeSet]


def over_attributes(query: Conjunction) -> Iterator[Conjunction]:
    """The disjoint conjunctions over attributes that a conjunction comes down to; one that names no other is left.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99),))
        >>> [each.text for each in over_attributes(Conjunction.where(domain, {"age.10": [2, 3]}))]
        ['age between 20 and 39']
    """
    domain = query.domain
    if domain.base(query.scope) == query.scope:
        yield query
        return
    codes, others = attribute_codes(domain, query)
    parts = [_met(function, wanted) for name, wanted in others.items() if (function := domain.function(name))]
    for boxes in product(*parts):
        codes_of = dict(codes)
        for name, wanted in chain.from_iterable(box.items() for box in boxes):
            codes_of[name] = codes_of[name] & wanted if name in codes_of else wanted
        yield Conjunction.where(domain, codes_of)


@lru_cache(maxsize=16)
def forbidden(domain: Domain) -> tuple[Conjunction, ...]:
    """Conjunctions that no record meets, and one of which each record meets that breaks a constraint.

    Raises:
        ConfigError: There are more than ``MOST_BOXES``.

    Example:
        >>> from hedgerow import IntegerRange
        >>> from hedgerow.domain import impossible
        >>> free = Domain((IntegerRange("age", 0, 99), IntegerRange("married", 0, 1)))
        >>> ruled = Domain(free.attributes, (), [impossible(free, "age < 15 and married = 1")])
        >>> [each.text for each in forbidden(ruled)]
        ['age between 0 and 14 and married = 1']
    """
    boxes = tuple(islice(_ruled_out(domain), MOST_BOXES + 1))
    if len(boxes) > MOST_BOXES:
        raise ConfigError(
            f"the constraints rule out more than {MOST_BOXES:,} combinations of values, too many for a best response",
            remedy="declare columns that others determine as derived ones, or use MWEM",
        )
    return boxes


def _ruled_out(domain: Domain) -> Iterator[Conjunction]:
    for rule in domain.constraints:
        classes = dict(zip(rule.scope, rule.classes, strict=True))
        for box in _boxes(rule.scope, ~rule.allowed):
            codes = {name: CodeSet.where(wanted.holds(classes[name])) for name, wanted in box.items()}
            yield Conjunction.where(domain, codes)


def check_boxes(domain: Domain, scope: tuple[str, ...]) -> None:
    """Refuse conditions on functions of several attributes that come down to too many boxes.

    Raises:
        ConfigError: There may be more than ``MOST_BOXES``.

    Example:
        >>> from hedgerow import IntegerRange
        >>> check_boxes(Domain((IntegerRange("age", 0, 99),)), ("age.10",))
    """
    number = 1
    for function in filter(None, map(domain.function, scope)):
        number *= function.codes.size // max(function.codes.shape) if len(function.sources) > 1 else 1
    if number > MOST_BOXES:
        raise ConfigError(
            f"a condition on {' * '.join(scope)} may come down to {number:,} conditions on the attributes that it is "
            "made from, too many for a best response",
            remedy="ask about these attributes themselves, or use MWEM",
        )


@lru_cache(maxsize=1024)
def _met(function: Derived, wanted: CodeSet) -> tuple[_Box, ...]:
    """The boxes of sources where a function has a wanted value."""
    return tuple(_boxes(function.sources, wanted.holds(function.codes)))


def _boxes(names: tuple[str, ...], table: Bools) -> Iterator[_Box]:
    """The boxes of codes where a table is true, row by row; equal rows are one, and the longest axis is joined."""
    order = np.argsort(table.shape, kind="stable")
    for box in _joined(table.transpose(order)):
        yield {names[axis]: codes for axis, codes in zip(order.tolist(), box, strict=True)}


def _joined(table: Bools) -> Iterator[tuple[CodeSet, ...]]:
    if table.ndim == 1:
        yield from [(CodeSet.where(table),)] if table.any() else []
        return
    rows = np.packbits(table.reshape(len(table), -1), axis=1)
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    for number, row in enumerate(first.tolist()):
        codes = CodeSet.where(which.reshape(-1) == number)
        yield from ((codes, *rest) for rest in _joined(table[row]))
