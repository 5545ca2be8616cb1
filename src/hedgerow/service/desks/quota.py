"""What a question may take of the store, known before anything of it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.algorithms.online_pmw import finding_about
from hedgerow.service.store import to_json

if TYPE_CHECKING:
    from hedgerow.queries import LinearQuery

_REST = 2048
"""Bytes that hold everything but the condition: numbers and words of the answer, of what was found out about it, and of
three events: an epoch, a noisy answer, and a hold that was lost."""


def most_bytes(query: LinearQuery) -> int:
    """Bytes that a question adds to the store at most: its answer, what was found out about it, and its events.

    Args:
        query: The query in canonical form.

    Example:
        >>> from hedgerow.domain.attribute import Categorical
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.conditions.predicate import parse_predicate
        >>> domain = Domain((Categorical("a", [str(number) for number in range(60_000)]),))
        >>> most_bytes(parse_predicate("a not in ('7', '8')", domain)) < 3_000
        True
    """
    kept = finding_about(query)
    condition = len(to_json(query.text))
    return 2 * condition + len(to_json(dict(kept.entry))) + len(kept.vector) + _REST
