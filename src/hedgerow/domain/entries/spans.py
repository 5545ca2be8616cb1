"""Entries of domain files for durations that lie between two columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow.domain.attribute import attribute_error
from hedgerow.domain.domain import Domain
from hedgerow.domain.entries.options import SPAN
from hedgerow.domain.measures import measure_of
from hedgerow.domain.spans import Span

_REMEDY = "write 'from: admitted' and 'to: discharged', and 'column: true' where the data have the duration too"


def spans_of(domain: Domain, entries: Mapping[str, Any]) -> tuple[Span, ...]:
    """The spans that entries describe.

    Args:
        domain: The attributes.
        entries: Their entries, by name.

    Raises:
        DomainError: One is not fully described, or is no duration from days or times on.

    Example:
        >>> from hedgerow.domain.file import domain_from_mapping
        >>> days = {"min": "2020-01-01", "max": "2020-12-31"}
        >>> stay = {"from": "day", "to": "left", "min": 0, "max": 9, "unit": "d"}
        >>> domain_from_mapping({"day": days, "stay": stay}).spans
        (Span(length='stay', start='day', end='left', column=False),)
    """
    spans = []
    for name, entry in entries.items():
        given = {option: entry[option] for option in SPAN if option in entry} if isinstance(entry, Mapping) else {}
        if not given:
            continue
        ends = given.get("from"), given.get("to")
        column = given.get("column", False)
        if not all(isinstance(end, str) for end in ends) or not isinstance(column, bool):
            raise attribute_error(str(name), "its 'from', 'to' or 'column' is not understood", _REMEDY)
        span = Span(str(name), str(ends[0]), str(ends[1]), column)
        if span.start not in domain.names or span.start == span.length:
            raise attribute_error(span.length, f"it begins at {span.start!r}, which is no attribute", _REMEDY)
        measure_of(span, domain[span.start], domain[span.length])
        spans.append(span)
    return tuple(spans)


def span_entry(span: Span) -> dict[str, Any]:
    """The options that describe a span.

    Example:
        >>> span_entry(Span("stay", "admitted", "discharged"))
        {'from': 'admitted', 'to': 'discharged'}
    """
    return {"from": span.start, "to": span.end} | ({"column": True} if span.column else {})
