"""Entries of domain files for how files and columns are written, and for durations between two columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from hedgerow.domain.attribute import attribute_error
from hedgerow.domain.domain import Domain
from hedgerow.domain.entries.options import FILE, SPAN, WRITTEN
from hedgerow.domain.layout import PLAIN, USUAL_FILE, FileFormat, NumberFormat, Written, is_numeric
from hedgerow.domain.layout_check import check_written
from hedgerow.domain.measures import measure_of
from hedgerow.domain.spans import Span
from hedgerow.errors import DomainError


def file_format_of(entry: object) -> FileFormat:
    """The format of a file that an entry declares.

    Args:
        entry: What a domain file has under ``format``; None if it has nothing there.

    Raises:
        DomainError: An option is not known, or is not of its kind.

    Example:
        >>> file_format_of({"separator": ";", "decimal": ","}).decimal
        ','
    """
    if entry is None:
        return FileFormat()
    if not isinstance(entry, Mapping):
        raise DomainError("'format' is no mapping", remedy='write \'format: {separator: ";", decimal: ","}\'')
    for option, value in entry.items():
        if option not in FILE:
            raise DomainError(f"'format' has no option {option!r}", remedy=f"it has {', '.join(FILE)}")
        kind = FILE[option]["type"]
        kinds = {"string": str, "integer": int, "boolean": bool}
        allowed = tuple(kinds[each] for each in ([kind] if isinstance(kind, str) else kind) if each in kinds)
        empty = value is None and "null" in kind
        if not empty and (not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed)):
            written = " or ".join([kind] if isinstance(kind, str) else kind)
            raise DomainError(f"{option!r} under 'format' is {value!r}", remedy=f"give a value of type {written}")
    return FileFormat(**entry)


def written_of(
    domain: Domain, entries: Mapping[str, Any], spans: Iterable[Span] = (), file: FileFormat = USUAL_FILE
) -> dict[str, Written]:
    """Forms of columns that entries declare.

    Args:
        domain: The domain that the entries describe.
        entries: Entries of attributes and of derived ones, by name.
        spans: Durations between two columns, of which the later one has the form of the earlier one.
        file: Format of the file, whose marks numbers are written with.

    Raises:
        DomainError: An option is not understood, or does not fit the values of the column.

    Example:
        >>> from hedgerow import IntegerRange
        >>> written_of(Domain([IntegerRange("age", 0, 99)]), {"age": {"min": 0, "max": 99, "type": "int8"}})
        {'age': Written(type='int8', null=None, digits=None, pattern=None, decimal=None, thousands=None, missing=())}
    """
    columns = {}
    for name, entry in entries.items():
        given = {option: entry[option] for option in WRITTEN if option in entry} if isinstance(entry, Mapping) else {}
        spellings = entry.get("missing") if isinstance(entry, Mapping) else None
        numeric = is_numeric(domain[str(name)])
        marked = numeric and (file.decimal, file.thousands) != (".", None)
        if given or isinstance(spellings, list) or marked:
            columns[str(name)] = _written(str(name), given, spellings, file, numeric=numeric)
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


def _written(name: str, given: Mapping[str, Any], spellings: object, file: FileFormat, *, numeric: bool) -> Written:
    for option in ("type", "null", "pattern", "decimal", "thousands"):
        if not isinstance(given.get(option, ""), str):
            raise attribute_error(name, f"{option!r} is no text", f"write it in quotes, as in '{option}: \"NA\"'")
    digits = given.get("digits")
    if digits is not None and (isinstance(digits, bool) or not isinstance(digits, int)):
        raise attribute_error(name, "'digits' is no whole number", "write 'digits: 2'")
    pattern = given.get("pattern")
    missing = tuple(map(str, spellings)) if isinstance(spellings, list) else ()
    decimal, thousands = given.get("decimal"), given.get("thousands")
    marks = FileFormat(decimal=decimal or file.decimal, thousands=file.thousands if decimal is None else None)
    marks = marks if thousands is None else replace(marks, thousands=thousands)
    number = NumberFormat.of(pattern, marks.decimal, marks.thousands) if numeric else PLAIN
    return Written(given.get("type"), given.get("null"), digits, pattern, decimal, thousands, missing, number)


def written_entry(written: Written) -> dict[str, Any]:
    """The options that say how a column is written.

    Example:
        >>> written_entry(Written("int8", null=""))
        {'type': 'int8', 'null': ''}
    """
    options = {option: value for option, value in asdict(written).items() if option in WRITTEN and value is not None}
    return options | ({"missing": list(written.missing)} if written.missing else {})


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
