"""Cells that fit no code, gathered over all batches of a table and reported as one error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.domain import Attribute, Binned, Fault, IntegerRange, scale_noun
from hedgerow.errors import DataError, MissingValueError, OutOfRangeError, UnknownValueError

SHOWN_ROWS = 5
"""Number of row numbers, and of values where these are asked for, that an error shows."""


@dataclass
class Faulty:
    """Cells of one column with one kind of fault, or rows that break one rule.

    Attributes:
        rows: Numbers of the first rows, from 1.
        values: The first values as texts, if they may be shown.
        n_rows: Number of rows.
        n_with_blanks: Number of rows whose cells would fit without the blanks around them.
    """

    rows: list[int] = field(default_factory=list)
    values: dict[str, None] = field(default_factory=dict)
    n_rows: int = 0
    n_with_blanks: int = 0

    def note(self, rows: NDArray[np.intp], first_row: int | None) -> list[int]:
        """Count rows of a batch; returns those among them whose numbers are shown.

        Args:
            rows: Their places in the batch, increasing.
            first_row: 1-based number of the first row of the batch; None where rows have no numbers.
        """
        shown: list[int] = rows[: SHOWN_ROWS - len(self.rows)].tolist()
        self.n_rows += len(rows)
        self.rows.extend(row + first_row for row in shown if first_row is not None)
        return shown

    def add(self, other: Faulty) -> None:
        """Add cells of another part of the table, whose rows have no numbers in the whole."""
        self.rows.clear()
        self.values |= other.values
        self.n_rows += other.n_rows
        self.n_with_blanks += other.n_with_blanks


@dataclass
class FaultLog:
    """Faults by column and kind, in the order in which they were met.

    Attributes:
        file: Name of the table in messages.
        show_values: Whether messages may hold values of the table.
        found: The faults.

    Example:
        >>> from hedgerow.domain import encoder
        >>> from hedgerow import IntegerRange
        >>> age = IntegerRange("age", 0, 99)
        >>> column, codes = pa.array([20, 120]), encoder(age).codes
        >>> log = FaultLog("t.csv", show_values=False)
        >>> log.check("age", codes(column), column, 1, codes)
        >>> log.raise_any({"age": age})
        Traceback (most recent call last):
        hedgerow.errors.OutOfRangeError: t.csv, column 'age', 1 row (first: 2): a number outside the declared range ...
    """

    file: str
    _: KW_ONLY
    show_values: bool
    found: dict[tuple[str, Fault], Faulty] = field(default_factory=dict, init=False)

    def check(
        self,
        name: str,
        codes: Ints,
        column: pa.Array[Any],
        first_row: int | None,
        recode: Callable[[pa.Array[Any]], Ints],
    ) -> None:
        """Note the faults among the codes of a batch.

        Args:
            name: Column name.
            codes: Codes or faults, from the encoder.
            column: The cells.
            first_row: 1-based number of the first row of the batch; None where rows have no numbers.
            recode: The encoder, which tells whether values would fit without blanks around them.
        """
        if not len(codes) or codes.min() >= 0:
            return
        for fault in Fault:
            rows = np.flatnonzero(codes == fault)
            if rows.size:
                faulty = self.found.setdefault((name, fault), Faulty())
                faulty.note(rows, first_row)
                cells = (
                    column.cast(pa.string()) if column.type == pa.string_view() else column
                )  # which Arrow cannot take
                self._look(faulty, cells.take(pa.array(rows, type=pa.int64())), recode)

    def _look(self, faulty: Faulty, cells: pa.Array[Any], recode: Callable[[pa.Array[Any]], Ints]) -> None:
        texts = [str(value) for value in _shown(cells)]
        if self.show_values:
            faulty.values |= dict.fromkeys(texts[: 10 * SHOWN_ROWS])
        blank = [text.strip() for text in texts if text != text.strip()]
        if blank:
            faulty.n_with_blanks += int(np.count_nonzero(recode(pa.array(blank)) >= 0))

    def add(self, other: FaultLog) -> None:
        """Add what was found in another part of the table, whose rows have no numbers in the whole."""
        for key, there in other.found.items():
            self.found.setdefault(key, Faulty()).add(there)

    def of(self, name: str, fault: Fault) -> Faulty | None:
        """One kind of fault in one column; None if it was not met."""
        return self.found.get((name, fault))

    def __bool__(self) -> bool:
        """Whether a cell fitted no code so far."""
        return bool(self.found)

    def raise_any(self, attributes: dict[str, Attribute]) -> None:
        """Raise the first fault, if there is one.

        Raises:
            MissingValueError: A cell is empty where nothing is declared for it.
            OutOfRangeError: A number is out of range or not whole.
            UnknownValueError: A value is not listed or not a number.
        """
        if not self.found:
            return
        (name, fault), faulty = min(self.found.items(), key=lambda item: list(attributes).index(item[0][0]))
        self._raise(attributes[name], fault, faulty)

    def _raise(self, attribute: Attribute, fault: Fault, faulty: Faulty) -> NoReturn:
        kind, message, remedy = _words(attribute, fault)
        if self.show_values and fault is not Fault.MISSING:
            message += f": {', '.join(repr(value) for value in list(faulty.values)[:SHOWN_ROWS])}"
        if faulty.n_with_blanks:
            remedy = f"remove the blanks around the values ({faulty.n_with_blanks} rows fit without them), or {remedy}"
        others = sorted({name for name, _ in self.found} - {attribute.name})
        if others:
            remedy += f"; see also column{'s' if len(others) > 1 else ''} {', '.join(map(repr, others))}"
        raise kind(
            message,
            file=self.file,
            column=attribute.name,
            rows=faulty.rows,
            n_rows=faulty.n_rows,
            remedy=remedy,
        )


def _shown(cells: pa.Array[Any]) -> list[Any]:
    """Cells in Python's words; dates that it has none for as texts of Arrow, so that its own error shows no cell."""
    try:
        return cells.to_pylist()
    except (OverflowError, ValueError):
        return cells.cast(pa.string()).to_pylist()


def _words(attribute: Attribute, fault: Fault) -> tuple[type[DataError], str, str]:
    """Type, message and remedy of a fault."""
    if fault is Fault.MISSING:
        return (
            MissingValueError,
            "an empty cell, and the domain declares no missing value",
            "declare 'missing: true' for the attribute in the domain file, or fill the cells in",
        )
    declare = "declare 'other: true' for the attribute in the domain file"
    if fault is Fault.UNKNOWN:
        return UnknownValueError, "a value that the domain does not list", f"list it in the domain file, or {declare}"
    scale = attribute.scale
    if fault is Fault.NOT_A_NUMBER:
        on_scale = scale is not None and scale.quoted
        message = (
            f"a cell that is no {scale.noun}" if scale and on_scale else "a text where the domain declares numbers"
        )
        form = f" or the domain's {scale.spelled}" if scale and on_scale else ""
        return UnknownValueError, message, f"correct the cells{form}, or {declare}"
    if fault is Fault.NOT_WHOLE:
        if scale is not None:
            return OutOfRangeError, f"a {scale_noun(scale)} between two steps of its scale", scale.finer
        remedy = (
            "round the column, or declare 'edges' without 'whole' for it in the domain file; with --auto-domain say "
            f"that it has fractions: --types {attribute.name}=number, or bounds with a point, as in 0.0..120.0"
        )
        return OutOfRangeError, "a number with a fraction where the domain declares whole numbers", remedy
    if isinstance(attribute, IntegerRange | Binned):
        span = f"{attribute.first_text} to {attribute.last_text}"
    else:
        span = f"{attribute.ordinary_label(0)} to {attribute.ordinary_label(attribute.ordinary - 1)}"
    remedy = f"widen the range in the domain file, or {declare}"
    return OutOfRangeError, f"a {scale_noun(scale)} outside the declared range {span}", remedy
