"""What is held as consistent tables over a tree: which tables, and how many cells of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from hedgerow.domain import Clique, Domain
from hedgerow.models.fit.residual_basis import largest
from hedgerow.queries import Marginal, Measurable, Parity

LARGEST_OVERLAY = 1 << 24
"""Cells of the largest tables that are held together."""
_WIDEST = 6
"""Tables of more attributes have too many components."""
_LARGEST_ATTRIBUTE = 1 << 10
"""Attributes of more codes are left to trees."""
_CELL_BYTES = 96
"""Work on a cell: tables, multipliers, places, and copies of these."""


def can_hold(target: Measurable) -> bool:
    """Whether a measurement is of the tables that are held: a whole marginal, or a parity, of few attributes.

    Args:
        target: Query or marginal.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)))
        >>> can_hold(Marginal(domain, ("age", "sex"))), can_hold(Marginal(domain, ("age.10", "sex")))
        (True, False)
    """
    whole = isinstance(target, Parity) or (isinstance(target, Marginal) and target.within is None)
    return whole and can_hold_table(target.domain, target.scope)


def can_hold_table(domain: Domain, scope: Clique) -> bool:
    """Whether the table of a scope can be held: few attributes of few codes, and no levels.

    Args:
        domain: The domain.
        scope: In domain order.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> can_hold_table(Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23))), ("ip", "hour"))
        False
    """
    return 0 < len(scope) <= _WIDEST and _holdable(domain).issuperset(scope)


@lru_cache(maxsize=4)
def _holdable(domain: Domain) -> frozenset[str]:
    return frozenset(attribute.name for attribute in domain if attribute.size <= _LARGEST_ATTRIBUTE)


def overlay_bytes(cells: int) -> int:
    """Estimate of the memory that tables and the work on them take.

    Args:
        cells: Cells of the largest tables together.

    Example:
        >>> overlay_bytes(1000)
        96000
    """
    return _CELL_BYTES * cells


def table_cells(domain: Domain, scopes: Iterable[Clique]) -> int:
    """Cells of the largest tables among some scopes.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> table_cells(Domain(IntegerRange(name, 0, 1) for name in "abc"), [("a", "b"), ("b", "c"), ("b",)])
        8
    """
    return sum(math.prod(domain.shape_of(scope)) for scope in largest(scopes))
