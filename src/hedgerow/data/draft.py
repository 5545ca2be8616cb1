"""A first draft of a domain file from a table; for a person to read and correct, never to be used unread."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.data.kinds import Spellings, decimal_options, digits_of
from hedgerow.data.reading import COUNT_NAMES, open_table
from hedgerow.domain import UnsupportedTypeError, plain, value_text
from hedgerow.errors import ColumnError, UnreadableTableError

if TYPE_CHECKING:
    from hedgerow.data.table import Source

HEADER = """\
# Draft of a domain file for {file}.
#
# Everything below was read off the data. Values and ranges that are seen in private data are themselves private
# until someone decides that they are public: nobody but you should see this file until you have made it say what
# is publicly known about each column (a code book, a law, common knowledge), whatever this table happens to hold.
# Using it as it stands would let the release depend on the data outside the privacy budget.
#
# Check each entry, delete its comment when you are done, and delete this text.
"""

MISSING_TEXTS = ("?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-")
"""Texts that are taken for the missing value; where several occur, the first, and the others are listed."""

_INDEX = re.compile(r"|__index_level_\d+__|Unnamed: 0")

_LONGEST_RANGE = 100
"""Whole numbers that span no more than this get one code each."""

_BINS = 20
_RARE = 10
_TRACKED = 10_000
"""With more distinct values than this a column is not a list of categories."""


def draft_domain(
    source: Source, *, columns: Iterable[str] | None = None, max_values: int = 50, name: str | None = None
) -> str:
    """Propose a domain file.

    Texts become lists of values, whole numbers ranges or bins, other numbers bins, decimals with few digits and dates
    and times ranges or bins on their scale, with rounded bounds. What looks
    like an identifier, is constant or has no values at all is commented out.

    Args:
        source: See ``read_table``.
        columns: Columns to draft; None for all.
        max_values: Texts with more distinct values than this are not listed.
        name: Name of the table in the header; its path by default.

    Returns:
        YAML, which ``read_domain`` reads, with comments on what to check. It is as private as the data.

    Raises:
        UnreadableTableError: The table cannot be read, or has no rows.
        ColumnError: A column is not there, or is there twice.

    Example:
        >>> print(draft_domain(pa.table({"sex": ["F", "M", "?"], "age": [20, 31, 47]}), name="t").split("text.")[-1])
        <BLANKLINE>
        attributes:
          # 2 values. Are these all values that could occur? Fewer than 10 rows each: "F", "M"; consider
          # leaving such values out and declaring 'other: true'.
          "sex": {"values": ["F", "M"], "missing": "?"}
          # Whole numbers; bounds rounded outward. Which bounds are publicly known?
          "age": {"min": 20, "max": 50}
        <BLANKLINE>
    """
    reader = open_table(source)
    wanted = list(reader.names if columns is None else columns)
    for column in wanted:
        if reader.names.count(column) != 1:
            problem = "it is there more than once" if column in reader.names else "the table has no such column"
            raise ColumnError(problem, file=reader.file, column=column, remedy="correct the name of the column")
    summaries = {column: _Summary() for column in wanted}
    n_rows = 0
    for batch in reader.batches(wanted, wanted):
        n_rows += batch.num_rows
        for column, summary in summaries.items():
            summary.add(batch.column(column))
    if not n_rows:
        raise UnreadableTableError("the table has no rows", file=reader.file, remedy="check how it was made")
    entries = [line for column, summary in summaries.items() for line in _entry(column, summary, max_values)]
    file = os.path.basename(reader.file) if name is None else name
    return "\n".join([HEADER.format(file=file) + "attributes:", *entries, ""])


@final
@dataclass
class _Summary:
    """Summary of a column.

    Attributes:
        counts: Distinct values with their numbers of rows; None once there are too many.
        empty: Whether there is an empty cell.
        missing: Texts that stand for a missing value.
        low: Smallest number.
        high: Largest number.
        whole: Whether all numbers are whole.
        digits: Most digits after the point; None where a number is written with a power of ten.
        numeric: Whether all values are numbers.
        supported: Whether the column holds texts or numbers.
        spellings: Forms of dates and times that all values have.
    """

    counts: Counter[str] | None = field(default_factory=Counter)
    empty: bool = False
    missing: set[str] = field(default_factory=set)
    low: float = math.inf
    high: float = -math.inf
    whole: bool = True
    digits: int | None = 0
    numeric: bool = True
    supported: bool = True
    spellings: Spellings = field(default_factory=Spellings)

    def add(self, column: pa.Array[Any]) -> None:
        """Take a batch in."""
        try:
            values: Any = plain(column)
        except UnsupportedTypeError:
            self.supported = False
            return
        counted = pc.value_counts(values)
        texts = _texts(counted.field("values"))
        for text, count in zip(texts, counted.field("counts").to_pylist(), strict=True):
            if not text:
                self.empty = True
            elif text in MISSING_TEXTS:
                self.missing.add(text)
            else:
                self._add_value(text, count)

    def _add_value(self, text: str, count: int) -> None:
        if self.counts is not None:
            self.counts[text] += count
            if len(self.counts) > _TRACKED:
                self.counts = None
        self.spellings.add(text)
        if not self.numeric:
            return
        number = _number(text)
        if math.isfinite(number):
            self.low, self.high = min(self.low, number), max(self.high, number)
            self.whole = self.whole and number.is_integer()
            digits = digits_of(text)
            self.digits = None if digits is None or self.digits is None else max(digits, self.digits)
        else:
            self.numeric = False

    @property
    def missing_text(self) -> str | None:
        """Text of the missing value to declare."""
        found = [text for text in MISSING_TEXTS if text in self.missing]
        return found[0] if found else MISSING_TEXTS[0] if self.empty else None


def _texts(values: Any) -> list[str | None]:
    listed = values.to_pylist()
    return [None if value is None or value != value else value_text(value) for value in listed]  # noqa: PLR0124


def _number(text: str) -> float:
    if text.strip() != text or "_" in text:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def _entry(name: str, summary: _Summary, max_values: int) -> list[str]:
    """The comment and the entry of a column."""
    distinct = _TRACKED + 1 if summary.counts is None else len(summary.counts)
    options, comment = _options(name, summary, distinct, max_values)
    missing = summary.missing_text
    if missing is not None:
        others = sorted(summary.missing - {missing})
        options |= {"missing": missing}
        if others:
            options |= {"other": "other"}
            comment += f" The texts {', '.join(map(json.dumps, others))} look missing too and would be read as 'other'."
    if name.lower() in COUNT_NAMES and not comment.startswith("-"):
        comment += " If it says how often each row counts, delete the entry and name it as the column of counts."
    entry = f"{_flow(name)}: {_flow(options)}"
    if not comment.startswith("-"):
        return [*_wrapped(comment), f"  {entry}"]
    return _wrapped(f"{_flow(name)}: {comment[1:].lstrip()}")


def _options(name: str, summary: _Summary, distinct: int, max_values: int) -> tuple[dict[str, Any], str]:
    """Options of the entry and the comment above it; a comment that starts with "-" takes the entry's place."""
    useless = _why_useless(name, summary, distinct)
    if useless:
        return {}, f"- {useless}"
    if summary.numeric and summary.high > summary.low:
        return _numeric(summary)
    if (dated := summary.spellings.options()) is not None:
        return dated[0], _about_dates(dated[0], several=dated[1])
    if summary.counts is None or distinct > max_values:
        return {}, f"- {_why_unlisted(summary, distinct)}"
    if {value.lower() for value in summary.counts} == {"false", "true"}:
        return {"values": [False, True]}, "Yes or no."
    values = sorted(summary.counts)
    comment = f"{distinct} value{'s' if distinct != 1 else ''}. Are these all values that could occur?"
    rare = [value for value in values if summary.counts[value] < _RARE]
    if rare:
        comment += (
            f" Fewer than {_RARE} rows each: {', '.join(map(_flow, rare))}; "
            "consider leaving such values out and declaring 'other: true'."
        )
    return {"values": values}, comment


def _about_dates(options: dict[str, Any], *, several: bool) -> str:
    kind = "Times" if "step" in options else "Dates"
    bins = "" if "bins" not in options else f" Without 'bins' each {'step' if 'step' in options else 'day'} is a value."
    doubt = " Another format fits all cells too: are day and month where it says?" if several else ""
    return f"{kind}; bounds rounded outward. Which bounds are publicly known?{bins}{doubt}"


def _why_useless(name: str, summary: _Summary, distinct: int) -> str:
    """Reason why a column cannot be an attribute; empty if it can."""
    if _INDEX.fullmatch(name):
        return "looks like the row index of pandas; left out."
    if not summary.supported:
        return "holds neither texts nor numbers; left out."
    if not distinct:
        return "has no values; left out."
    if distinct + (summary.missing_text is not None) < 2:
        return "has a single value; leave it out, or list all values that could occur."
    return ""


def _why_unlisted(summary: _Summary, distinct: int) -> str:
    many = f"{distinct:,}" if summary.counts is not None else f"more than {_TRACKED:,}"
    return f"{many} distinct texts, perhaps an identifier; leave it out, or list values and 'other: true'."


def _numeric(summary: _Summary) -> tuple[dict[str, Any], str]:
    low, high = summary.low, summary.high
    if summary.whole and high - low < _LONGEST_RANGE:
        step = 10 if high - low >= 20 else 1
        bounds = {"min": math.floor(low / step) * step, "max": math.ceil(high / step) * step}
        return bounds, (
            "Whole numbers; bounds rounded outward. Which bounds are publicly known?"
            if step > 1
            else "Whole numbers, as seen. Which bounds are publicly known?"
        )
    decimals = None if summary.whole else decimal_options(low, high, summary.digits)
    if decimals is not None:
        bins = " The bins are of equal width; do they suit the column?" if "bins" in decimals else ""
        return decimals, (
            f"Numbers with {summary.digits} digit{'s' if summary.digits != 1 else ''} after the point; bounds rounded "
            f"outward. Which bounds are publicly known?{bins}"
        )
    edges = _round_edges(low, high)
    options: dict[str, Any] = {"edges": edges}
    kind = "Numbers"
    if summary.whole:
        options["whole"] = True
        kind = "Whole numbers"
    unique = summary.counts is None or max(summary.counts.values()) == 1
    identifier = " Many distinct values: if this is an identifier, leave it out." if summary.whole and unique else ""
    return options, (
        f"{kind}, in bins of equal width, bounds rounded outward. Which bounds are publicly known, and do these "
        f"bins suit the column? Declare 'other: true' where values beyond them could occur.{identifier}"
    )


def _round_edges(low: float, high: float) -> list[float]:
    """Multiples of a round number, around all values, about ``_BINS`` bins."""
    raw = (high - low) / _BINS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * (1 - 1e-9))
    edges = [float(f"{step * i:.12g}") for i in range(math.floor(low / step), math.ceil(high / step) + 1)]
    return [int(edge) if edge.is_integer() else edge for edge in edges]


def _flow(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _wrapped(comment: str) -> list[str]:
    lines, line = [], "  #"
    for word in comment.split(" "):
        if len(line) + len(word) + 1 > 100 and line != "  #":
            lines.append(line)
            line = "  #"
        line += f" {word}"
    return [*lines, line]
