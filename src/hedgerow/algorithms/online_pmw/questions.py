"""Questions to a session: texts and queries in one form, so that the same question is known again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, final

from hedgerow.errors import QueryError
from hedgerow.queries import LinearQuery, canonical, parse_predicate, query_key

if TYPE_CHECKING:
    from hedgerow.domain import Domain

_MOST_PARSED = 1 << 16
"""Texts of conditions that are remembered."""


@final
class Questions:
    """Reads questions; texts that were read before are not parsed again.

    Args:
        domain: What they are about.
        bounds: Between which the values of their queries lie.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> questions = Questions(Domain((IntegerRange("a", 0, 9),)), (0.0, 1.0))
        >>> one, other = questions.read("a > 7"), questions.read("not a < 8")
        >>> one[0] == other[0], one[1].text
        (True, 'a between 8 and 9')
    """

    def __init__(self, domain: Domain, bounds: tuple[float, float]) -> None:
        """Remember no text yet."""
        self._domain = domain
        self._bounds = bounds
        self._parsed: dict[str, tuple[Hashable, LinearQuery]] = {}

    def read(self, query: str | LinearQuery) -> tuple[Hashable, LinearQuery]:
        """The key of a query, equal for all ways to write it, and its canonical form.

        Args:
            query: A condition in SQL, or a linear query.

        Raises:
            QueryError: The text is not understood, it is no linear query over the domain, or its values leave the
                bounds.
        """
        if isinstance(query, str):
            return self._of_text(query)
        self._check(query)
        reduced = canonical(query)
        return query_key(reduced), reduced

    def _of_text(self, text: str) -> tuple[Hashable, LinearQuery]:
        found = self._parsed.get(text)
        if found is None:
            found = self.read(parse_predicate(text, self._domain))
            if len(self._parsed) >= _MOST_PARSED:  # nobody should fill the memory by asking
                self._parsed.clear()
            self._parsed[text] = found
        return found

    def _check(self, query: LinearQuery) -> None:
        if not isinstance(query, LinearQuery) or (query.domain is not self._domain and query.domain != self._domain):
            named = getattr(query, "text", f"a {type(query).__name__}")
            raise QueryError(
                f"{named} is not one linear query over the domain of the session",
                remedy="ask for a condition; for all cells of a marginal ask for each of them",
            )
        low, high = self._bounds
        least, largest = query.bounds
        if least < low or largest > high:
            raise QueryError(
                f"the values of {query.text!r} lie in {query.bounds}, beyond the bounds {low:g} and {high:g} of this "
                "session",
                remedy=f"scale the query, or start the session with OnlinePMW(bounds={query.bounds})",
            )
