"""Entries of domain files for how columns are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hedgerow.domain.attribute import attribute_error
from hedgerow.domain.domain import Domain
from hedgerow.domain.entries.options import WRITTEN
from hedgerow.domain.layout import Written, check_written
from hedgerow.domain.measures import measure_of
from hedgerow.domain.spans import Span


def written_of(domain: Domain, entries: Mapping[str, Any], spans: Iterable[Span] = ()) -> dict[str, Written]:
    """Forms of columns that entries declare.

    Args:
        domain: The domain that the entries describe.
        entries: Entries of attributes and of derived ones, by name.
        spans: Durations between two columns, of which the later one has the form of the earlier one.

    Raises:
        DomainError: An option is not understood, or does not fit the values of the column.

    Example:
        >>> from hedgerow import IntegerRange
        >>> written_of(Domain([IntegerRange("age", 0, 99)]), {"age": {"min": 0, "max": 99, "type": "int8"}})
        {'age': Written(type='int8', null=None, digits=None)}
    """
    columns = {}
    for name, entry in entries.items():
        given = {option: entry[option] for option in WRITTEN if option in entry} if isinstance(entry, Mapping) else {}
        if given:
            columns[str(name)] = _written(str(name), given)
            check_written(domain[str(name)], columns[str(name)])
    for span in spans:
        if span.start in columns:
            _check_span(span, columns[span.start])
            check_written(measure_of(span, domain[span.start], domain[span.length]).end, columns[span.start])
    return columns


def _check_span(span: Span, written: Written) -> None:
    """Refuse moments in a zone whose clocks skip hours: one of these would move, and its duration not add up."""
    if written.type is not None and ", tz=" in written.type and not written.type.endswith(", tz=UTC]"):
        raise attribute_error(
            span.start,
            f"the type {written.type} has no hours that its clocks skip, so that {span.length!r} would not add up",
            "name a type without a zone, as in timestamp[us], or delete 'type'",
        )


def _written(name: str, given: Mapping[str, Any]) -> Written:
    for option in ("type", "null"):
        if not isinstance(given.get(option, ""), str):
            raise attribute_error(name, f"{option!r} is no text", f"write it in quotes, as in '{option}: \"NA\"'")
    digits = given.get("digits")
    if digits is not None and (isinstance(digits, bool) or not isinstance(digits, int)):
        raise attribute_error(name, "'digits' is no whole number", "write 'digits: 2'")
    return Written(given.get("type"), given.get("null"), digits)


def written_entry(written: Written) -> dict[str, Any]:
    """The options that say how a column is written.

    Example:
        >>> written_entry(Written("int8", null=""))
        {'type': 'int8', 'null': ''}
    """
    options = {"type": written.type, "null": written.null, "digits": written.digits}
    return {option: value for option, value in options.items() if value is not None}
