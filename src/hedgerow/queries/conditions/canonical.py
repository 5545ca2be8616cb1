"""The canonical form of a query, which is the same however the query was written."""

import hashlib
import math
from collections.abc import Hashable

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import CodeSet
from hedgerow.queries.core import Conjunction, Explicit, LinearQuery, Marginal, Measurable, Parity
from hedgerow.queries.core.blocks import Blocks

_COMPARED_CELLS = 1 << 16
"""Parities over more cells are told apart by their attributes alone."""


def canonical(query: LinearQuery) -> LinearQuery:
    """The same query over as few attributes as it depends on; a conjunction wherever it is one.

    A condition that no record meets becomes one without codes on the first attribute. A query that is the same for
    all records has no attribute left. A query of a class that is not ours becomes an explicit one, as sessions can save
    it; values are copied, so that it cannot change behind a session's back.

    Args:
        query: Any linear query.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> canonical(Conjunction.where(domain, {"a": [0, 1], "b": [2]})).text
        'b = 2'
        >>> canonical(Explicit.of(domain, ["a", "b"], [[0, 0, 1], [0, 0, 1]])).text
        'b = 2'
    """
    if isinstance(query, Conjunction):
        return _conjunction(query)
    if isinstance(query, Parity):
        return query if query.scope else Conjunction(query.domain, (), ())  # the parity of no attribute is 1
    return _explicit(query)


def query_key(query: Measurable) -> Hashable:
    """A key that two queries in canonical form over the same attributes share if and only if they have the same values.

    A condition on a level and the same condition on its attribute are queries of their own. Groups of counts have keys
    that no query has.

    Args:
        query: A query that ``canonical`` returned, a marginal, or blocks.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> query_key(canonical(Explicit.of(domain, ["a"], [0, 1]))) == query_key(Conjunction.where(domain, {"a": [1]}))
        True
    """
    if isinstance(query, Conjunction):
        return query.scope, query.codes
    if isinstance(query, Marginal):
        return "marginal", query.scope, None if query.within is None else query_key(query.within)
    if isinstance(query, Blocks):
        return "blocks", query.scope, _digest(query.places)
    if isinstance(query, Parity) and math.prod(query.domain.shape_of(query.scope)) > _COMPARED_CELLS:
        return "parity", query.scope
    if not isinstance(query, LinearQuery):
        raise TypeError(f"a {type(query).__name__} is neither a query nor a group of counts")
    return query.scope, _digest(query.values() + 0.0)  # + 0.0: no negative zeros


def _digest(values: Floats | Ints) -> bytes:
    """In place of megabytes."""
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=32).digest()


def _conjunction(query: Conjunction) -> Conjunction:
    if not all(query.codes):
        return Conjunction(query.domain, query.domain.names[:1], (CodeSet(()),))
    if not any(codes.cuts[0] == 0 and len(codes.cuts) == 2 for codes in query.codes):
        return query  # no set starts at 0 without a gap, as all codes of an attribute do: quick to see
    sizes = query.domain.shape_of(query.scope)
    kept = [axis for axis, size in enumerate(sizes) if len(query.codes[axis]) < size]
    if len(kept) == len(sizes):
        return query
    scope = tuple(query.scope[axis] for axis in kept)
    return Conjunction(query.domain, scope, tuple(query.codes[axis] for axis in kept))


def _explicit(query: LinearQuery) -> LinearQuery:
    table = np.array(query.values(), dtype=np.float64)
    needed = [axis for axis in range(table.ndim) if not (table == table.take([0], axis=axis)).all()]
    index = tuple(slice(None) if axis in needed else 0 for axis in range(table.ndim))
    reduced, scope = np.asarray(table[index]), tuple(query.scope[axis] for axis in needed)
    if not table.any():
        return Conjunction(query.domain, query.domain.names[:1], (CodeSet(()),))
    codes = _product_of_sets(reduced)
    if codes is not None:
        return _conjunction(Conjunction(query.domain, scope, codes))
    return Explicit(query.domain, scope, query.text, reduced, query.bounds)


def _product_of_sets(table: Floats) -> tuple[CodeSet, ...] | None:
    """The codes of each axis, if the table is 1 where all axes have one of theirs and 0 elsewhere."""
    if not ((table == 0.0) | (table == 1.0)).all():
        return None
    axes = range(table.ndim)
    codes = tuple(CodeSet.where(table.any(axis=tuple(other for other in axes if other != axis))) for axis in axes)
    return codes if math.prod(map(len, codes)) == int(table.sum()) else None
