"""One pass over a table: the codes of every batch, and at its end an error if a cell fits none.

A pass may also collect the labels that occur in columns of texts, whoever has them: these are private.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Bools, Ints
from hedgerow.data.options import ReadOptions
from hedgerow.data.reading.columns import Coding
from hedgerow.data.reading.faults import FaultLog, RuleLog, keeping, rules_of
from hedgerow.data.reading.persons import Identities, Keys
from hedgerow.data.reading.readers import Batches, Reader
from hedgerow.domain import (
    Codes,
    Encoder,
    Fault,
    IntegerRange,
    Measure,
    UnsupportedTypeError,
    distinct_texts,
    encoder,
    form_of,
    smallest_unsigned,
)
from hedgerow.errors import ColumnError, CountColumnError, UnreadableTableError, raise_alone
from hedgerow.queries import GRAIN

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

LARGEST_TOTAL = 2**53
"""Up to this number of records every count is exact as float64."""

_FAULTS = {
    Fault.MISSING: "an empty cell",
    Fault.NOT_WHOLE: "a {} that is not a whole number",
    Fault.NOT_A_NUMBER: "a {} that is not a number",
    Fault.OUT_OF_RANGE: "a {} that is negative or beyond 2**53",
}


class _Beside(Protocol[T_co]):
    """A column that is none of the records', and says something of each row."""

    column: str

    def read(self, column: pa.Array[Any], first_row: int | None) -> T_co:
        """One number or key for each row of a batch."""
        ...


class CodedRows(NamedTuple):
    """Some records of a table.

    Attributes:
        codes: One array of codes per attribute.
        counts: Number of records of each row, or its weight; None for one each.
        persons: Persons whom the rows belong to; None where each is somebody's own.
        names: Names of the rows, for those of other tables; None where they have none.
    """

    codes: list[Codes]
    counts: Ints | None = None
    persons: Keys | None = None
    names: Keys | None = None

    def rows(self, chosen: Any) -> CodedRows:
        """Some of its rows, by a mask or by their places."""
        counts, persons, names = (None if each is None else each[chosen] for each in self[1:])
        return CodedRows([codes[chosen] for codes in self.codes], counts, persons, names)


class Weights:
    """Reads counts, or weights of records, batch by batch.

    Example:
        >>> weights = Weights("t.csv", "count")
        >>> weights.read(pa.array(["2", "3.0"]), first_row=1)
        array([2, 3])
        >>> weights.finish()
        >>> Weights("t.csv", "weight", largest=2).read(pa.array([1, 2, 3]), first_row=1)
        array([1, 2, 2])
    """

    def __init__(self, file: str, column: str, largest: int | None = None, *, grain: float = 1.0) -> None:
        """Start with no rows.

        Args:
            file: Name of the table in messages.
            column: The column.
            largest: A larger weight is read as this one; None for counts of records, which nothing bounds.
            grain: Weights are read in units of this, a power of two, to which they are rounded.
        """
        self._file = file
        self.column = column
        self._largest = None if largest is None else round(largest / grain)
        self._codes = encoder(IntegerRange(column, 0, LARGEST_TOTAL), grain).codes
        self._total = 0
        self._faults = FaultLog(file, show_values=False)

    def read(self, column: pa.Array[Any], first_row: int | None) -> Ints:
        """The counts of a batch; what is wrong with them is noted."""
        codes = self._codes(column)
        self._faults.check(self.column, codes, column, first_row, self._codes)
        counts = codes if self._largest is None else np.minimum(codes, self._largest)
        large = counts.max(initial=0) > LARGEST_TOTAL // max(1, counts.size)
        self._total += int(counts.sum(dtype=object) if large else counts.sum())
        return counts

    def add(self, other: Weights) -> None:
        """Add the counts of another part of the table, whose rows have no numbers in the whole."""
        self._total += other._total
        self._faults.add(other._faults)

    @property
    def is_faulty(self) -> bool:
        """Whether a count, or their sum, was wrong so far."""
        return bool(self._faults) or self._total > LARGEST_TOTAL

    def finish(self, *, may_be_empty: bool = False) -> None:
        """Look at the counts of all batches.

        Args:
            may_be_empty: Whether the sum of counts may be 0; that of weights may in any case.

        Raises:
            CountColumnError: One is empty, not whole or negative, or their sum is 0 or beyond 2**53.
        """
        noun = "count" if self._largest is None else "weight"
        for fault, message in _FAULTS.items():
            faulty = self._faults.of(self.column, fault)
            if faulty is not None:
                raise CountColumnError(
                    message.format(noun),
                    file=self._file,
                    column=self.column,
                    rows=faulty.rows,
                    n_rows=faulty.n_rows,
                    remedy=f"{_remedy(fault, noun)}, or name another column of {noun}s",
                )
        least = 0 if may_be_empty or self._largest is not None else 1
        if not least <= self._total <= LARGEST_TOTAL:
            raise CountColumnError(
                f"the {noun}s sum to 0" if self._total == 0 else f"the sum of the {noun}s is beyond 2**53",
                file=self._file,
                column=self.column,
                remedy=f"check that this is the column of {noun}s",
            )


def _remedy(fault: Fault, noun: str) -> str:
    """Advice about cells that are no counts, or no weights."""
    if noun == "weight" and fault is Fault.NOT_WHOLE:
        return "round large weights, or read them with fractional_weights (--fractional-weights)"
    return "give whole numbers of at least 0"


class Encoding:
    """One pass over a table: an iterator over codes and counts of its batches, and what was wrong with cells and rows.

    From the first batch on that holds a cell which fits no code, or a row which breaks a rule and is not to be left
    out, none is handed over, but all are looked at. How many rows are left out is noted nowhere.

    Args:
        reader: The table.
        coding: The columns to read, and their codes.

    Attributes:
        rows: Rows so far.
        faults: Cells that fit no code.
        broken: Rows that break a rule; none where these are left out.
        weights: The column of counts or weights, if there is one.
        identities: The column that tells persons apart, if there is one.
        names: The column that names the rows, if there is one.
    """

    def __init__(self, reader: Reader, coding: Coding) -> None:
        """Read nothing yet."""
        self._reader = reader
        self._coding = coding
        self.rows = 0
        self.faults = FaultLog(reader.file, show_values=coding.options.show_values)
        self.broken = RuleLog(reader.file, coding.domain, show_values=coding.options.show_values)
        self.weights = _weights(reader.file, coding.options)
        columns = coding.options.person, coding.options.named
        self.identities, self.names = (None if each is None else Identities(reader.file, each) for each in columns)

    def __iter__(self) -> Iterator[CodedRows]:
        """Codes of all attributes, counts and persons of the rows, batch by batch; derived columns are only checked.

        Raises:
            ColumnError: The type of a column holds neither texts nor numbers.
            UnreadableTableError: The table cannot be read to its end.
        """
        coding = self._coding
        measured = {span.length for span in coding.spans if not span.column}
        encoders = {name: encoder(attribute) for name, attribute in coding.attributes.items() if name not in measured}
        measures = coding.measures
        beside = [each for each in (self.weights, self.identities, self.names) if each is not None]
        repetitive = [name for name, encoder in encoders.items() if encoder.prefers_dictionary]
        for batch in self._reader.batches([*dict.fromkeys([*encoders, *(each.column for each in beside)])], repetitive):
            codes = {name: self._codes(name, encoder, batch.column(name)) for name, encoder in encoders.items()}
            if coding.options.coded:
                codes |= {span.measured: codes[span.length] for span in coding.domain.spans if span.column}
            for span, measure in measures.items():
                codes[span.measured if span.column else span.length] = self._measured(
                    measure, batch, codes.get(span.length)
                )
            counts = self._beside(self.weights, batch)
            persons, named = (self._beside(each, batch) for each in (self.identities, self.names))
            chosen = self._following(codes)
            self.rows += batch.num_rows
            if not (self.faults or self.broken or any(each.is_faulty for each in beside)):
                part = CodedRows([codes[name] for name in coding.domain.names], counts, persons, named)
                yield part if chosen is None else part.rows(chosen)

    def _beside(self, column: _Beside[T] | None, batch: pa.RecordBatch) -> T | None:
        """Read a column that says something of the rows of a batch, and is none of the records'."""
        if column is None:
            return None
        with spelled(self._reader.file, column.column):
            return column.read(batch.column(column.column), self._next_row)

    @property
    def _next_row(self) -> int | None:
        return self.rows + 1 if self._reader.numbered else None

    def _following(self, codes: dict[str, Codes]) -> Bools | None:
        """The rows of a batch that are records, where some are to be left out; None for all of them."""
        if self.faults or not self._coding.domain.has_rules:
            return None
        if self._coding.violations == "drop":
            return keeping(rules_of(self._coding.domain), codes)
        self.broken.check(codes, self._next_row)
        return None

    def _codes(self, name: str, column_encoder: Encoder, column: pa.Array[Any]) -> Codes:
        form = form_of(self._coding.domain, name)
        with spelled(self._reader.file, name):
            codes = column_encoder.codes(form.plain(column))
            self.faults.check(
                name, codes, column, self._next_row, lambda cells: column_encoder.codes(form.plain(cells))
            )
        return codes.astype(column_encoder.dtype)

    def _measured(self, measure: Measure, batch: pa.RecordBatch, own: Codes | None) -> Codes:
        """Codes of durations between two columns; one that fits none is a fault of the duration."""
        name = measure.length.name
        starts, ends = (
            encoder(each).codes(form_of(self._coding.domain, each.name).plain(batch.column(each.name)))
            for each in (measure.start, measure.end)
        )
        codes = measure.codes(starts, ends, own)
        cells = pa.array((measure.seconds(starts, ends) * 1_000_000).astype("timedelta64[us]"))
        self.faults.check(name, codes, cells, self._next_row, encoder(measure.length).codes)
        return codes.astype(smallest_unsigned(measure.length.size))

    def closed(self) -> Self:
        """The same without its table: what was read of it, which can be sent away and added to others."""
        self._reader = replace(self._reader, batches=_nothing)
        return self

    def add(self, other: Encoding) -> None:
        """Add what was read of another part of the table."""
        self.rows += other.rows
        self.faults.add(other.faults)
        self.broken.add(other.broken)
        if self.weights is not None and other.weights is not None:
            self.weights.add(other.weights)
        for own, others in ((self.identities, other.identities), (self.names, other.names)):
            if own is not None and others is not None:
                own.add(others)

    def check(self) -> None:
        """Look at the whole pass.

        That no row passes a filter, or all of them are left out, is no error: a single record may decide it.

        Raises:
            DataError: There was no row in a table without a filter, a cell fits no code, a row breaks a rule that
                records are not left out by, a count is wrong, or a row does not say who it belongs to.
        """
        filtered = self._reader.filtered
        if not self.rows and not filtered:
            raise UnreadableTableError("the table has no rows", file=self._reader.file, remedy="check how it was made")
        self.faults.raise_any(self._coding.attributes)
        self.broken.raise_any()
        if self.weights is not None:
            self.weights.finish(may_be_empty=filtered)
        for each in (self.identities, self.names):
            if each is not None:
                each.finish()


def _weights(file: str, options: ReadOptions) -> Weights | None:
    """The column that says how often rows count, if there is one."""
    if options.weight is not None:
        grain = GRAIN if options.fractional_weights else 1.0
        return Weights(file, options.weight, options.largest_weight, grain=grain)
    return None if options.count_column is None else Weights(file, options.count_column)


def _nothing(_names: Sequence[str], _repetitive: Collection[str]) -> Batches:
    return iter(())


def encoded(reader: Reader, coding: Coding) -> Iterator[CodedRows]:
    """Codes of all attributes, counts and persons of the rows, batch by batch; what is wrong is told at the end.

    Args:
        reader: The table.
        coding: The columns to read, and their codes.

    Raises:
        DataError: The kinds that ``read_table`` names.
    """
    encoding = Encoding(reader, coding)
    yield from encoding
    encoding.check()


@contextmanager
def spelled(file: str, name: str) -> Iterator[None]:
    """Refuse what Arrow cannot hand over as texts or numbers; Python's own words about a text show some of it."""
    try:
        yield
    except UnsupportedTypeError as error:
        raise ColumnError(
            "its cells are neither texts nor numbers",
            file=file,
            column=name,
            remedy="convert it, or leave it out",
        ) from error
    except UnicodeDecodeError:
        remedy = "write the texts of the table as UTF-8"
        raise_alone(UnreadableTableError("text that is not UTF-8", file=file, column=name, remedy=remedy))


def labels_of(reader: Reader, columns: Mapping[str, Callable[[str], str | None]]) -> dict[str, list[str]]:
    """The labels of some columns, in one pass (private).

    Args:
        reader: The table.
        columns: For each column the rule that reads the text of a cell as a label; None where it is none of its own.

    Returns:
        The labels of each column, each once, in order.

    Raises:
        ColumnError: A column is not there, or its type holds neither texts nor numbers.
        UnreadableTableError: The table cannot be read to its end.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow.data.reading.readers import open_table
        >>> labels_of(open_table(pa.table({"job": ["nurse", "Nurse", "clerk"]})), {"job": str.casefold})
        {'job': ['clerk', 'nurse']}
    """
    for name in columns:
        if reader.names.count(name) != 1:
            there = "is not there" if name not in reader.names else "is there more than once"
            raise ColumnError(f"a column of the domain {there}", file=reader.file, column=name)
    labels_seen: dict[str, set[str]] = {name: set() for name in columns}
    for batch in reader.batches(list(columns), list(columns)):
        for name, label_of in columns.items():
            with spelled(reader.file, name):
                texts = distinct_texts(batch.column(name))
            labels_seen[name].update(label for text in texts if (label := label_of(text)) is not None)
    return {name: sorted(labels) for name, labels in labels_seen.items()}
