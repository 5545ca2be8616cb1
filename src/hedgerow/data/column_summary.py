"""Summaries of columns that a draft of a domain is made from; as private as the data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Bools, Ints
from hedgerow.data.kinds import Spellings, digits_of
from hedgerow.data.written_numbers import WrittenNumbers, written_numbers
from hedgerow.domain import UnsupportedTypeError, plain, plain_durations, type_name, value_text
from hedgerow.domain.arrow import arrow_flags, numpy_flags, numpy_of

_MOST_OTHERS = 8
"""Texts among numbers that a draft names; a column with as many is one of texts."""
_DATE_DIGITS = 8
"""Digits of a date that is written as a whole number."""
_NOT_AVAILABLE = ("?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-", "--", ".", "n/a", "#N/A", "<NA>")
_SUPPRESSED = ("*", "**", "..", "...", ":", "(NA)", "(X)", "(D)")
_ERRORS = ("#DIV/0!", "#REF!", "#VALUE!", "#NUM!", "#NAME?", "#NULL!")
MISSING_TEXTS = (*_NOT_AVAILABLE, *_SUPPRESSED, *_ERRORS)
"""Texts that are taken for the missing value: those of programs, of offices for suppressed cells, of spreadsheets."""
_INFINITE = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")
"""Texts of infinite numbers, which no bounded column has."""
_PLAIN_NUMBER = r"^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?$"
_FEW, _REPEATED = 12, 20
"""Texts of a batch that are labels, where each is there so often on average."""
_LOOKED_AT = 2_000
"""Distinct texts by which it is seen how numbers are written."""

TRACKED = 10_000
"""With more distinct values than this a column is not a list of categories."""

_MANY = 1_000
"""Distinct texts of a batch that are looked at together."""
_FIRST = 20
"""Of these those that decide which forms are left."""
_STEPS = 20
"""Steps of sizes of numbers in a factor of ten."""


@dataclass
class Summary:
    """Summary of a column.

    Attributes:
        counts: Distinct values with their numbers of rows; None once there are too many.
        empty: Whether there is an empty cell.
        missing: Texts that stand for a missing value.
        low: Smallest number.
        high: Largest number.
        whole: Whether all numbers are whole.
        common: Largest whole number that all whole numbers are multiples of; 0 where there are none but 0.
        padded: Whether a number is written with zeros before it, as codes are.
        digits: Most digits after the point; None where a number is written with a power of ten.
        fewest: Fewest digits after the point.
        filled: Most digits after the point of a number with noughts at the end; -1 where there is none.
        numeric: Whether all values are numbers, or all but one text.
        word: The text, if there is one.
        worded: Number of rows that hold it.
        supported: Whether the column holds texts or numbers.
        spellings: Forms of dates and times that all values have.
        rows: Number of rows with a value.
        sizes: Numbers of rows by the size of a number above 0, in steps of a twentieth of a power of ten.
        below: The same of numbers below 0, by their sizes without the sign.
        numbers: Number of rows that hold a number, up to the eighth text that is none.
        others: These texts.
        zeros: Number of rows that hold 0.
        kind: Name of the type that the source declares; None where it declares none, as CSV.
        are_texts: Whether cells are texts in the source.
        written: The way in which its numbers are written, where there are other signs among them.
        order: Places of its labels, where the source declares their order.
    """

    counts: Counter[str] | None = field(default_factory=Counter)
    empty: bool = False
    missing: set[str] = field(default_factory=set)
    low: float = math.inf
    high: float = -math.inf
    whole: bool = True
    common: int = 0
    padded: bool = False
    digits: int | None = 0
    fewest: float = math.inf
    filled: int = -1
    numeric: bool = True
    word: str | None = None
    worded: int = 0
    supported: bool = True
    spellings: Spellings = field(default_factory=Spellings)
    rows: int = 0
    sizes: Counter[int] = field(default_factory=Counter)
    below: Counter[int] = field(default_factory=Counter)
    numbers: int = 0
    others: set[str] = field(default_factory=set)
    zeros: int = 0
    kind: str | None = None
    are_texts: bool = True
    written: WrittenNumbers | None = None
    order: dict[str, int] = field(default_factory=dict)
    _dated: bool = field(default=False, init=False, repr=False)

    def look(self, column: pa.Array[Any]) -> None:
        """See by the first batch how numbers are written, before it is taken in."""
        if not (pa.types.is_string(column.type) or pa.types.is_dictionary(column.type)):
            return
        distinct = pc.unique(column)
        if len(distinct) <= _FEW and len(column) >= _REPEATED * len(distinct):  # labels, however they are written
            return
        texts = distinct.to_pylist()[:_LOOKED_AT]
        self.written = written_numbers(text for text in texts if text and text.strip() not in MISSING_TEXTS)

    def declare(self, kind: pa.DataType) -> None:
        """Note the type that the source declares."""
        self.kind = type_name(kind)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            self.spellings.prefer_zone(kind.tz)
        self.are_texts = self.kind in {"string", "large_string", "dictionary"}

    def add(self, column: Any) -> None:
        """Take a batch in."""
        if pa.types.is_dictionary(column.type) and column.type.ordered:
            self.order |= {value_text(value): place for place, value in enumerate(column.dictionary.to_pylist())}
        if self.written is not None:
            column = self.written.format().plain(column)
        try:
            timed = pa.types.is_time(column.type) or pa.types.is_timestamp(column.type)
            values: Any = column.cast(pa.string()) if timed else plain(plain_durations(column))
        except UnsupportedTypeError:
            self.supported = False
            return
        counted = pc.value_counts(values)
        values, counts = counted.field("values"), numpy_of(counted.field("counts"))
        if pa.types.is_dictionary(values.type):
            words: Any = plain(values.dictionary)
            values = pa.DictionaryArray.from_arrays(values.indices, words).dictionary_decode()
        if len(values) > TRACKED:
            self.counts = None
        self._dated = len(values) > _MANY and self._add_dates(values)
        if self.counts is None and len(values) > _MANY:
            taken = self._add_many(values, counts)
            values, counts = values.filter(arrow_flags(~taken)), counts[~taken]
        for text, count in zip(_texts(values), counts.tolist(), strict=True):
            if not text:
                self.empty = True
            elif text in MISSING_TEXTS or text.lower() in _INFINITE:
                self.missing.add(text)
            else:
                self._add_value(text, count)

    def _add_many(self, values: Any, counts: Ints) -> Bools:
        """Take many distinct values in at once, and tell which: dates behind the first ones, and plain numbers."""
        taken = np.zeros(len(values), dtype=np.bool_)
        if self._dated:
            taken[_FIRST:] = numpy_flags(_spelled(values))[_FIRST:]
            self.rows += int(counts[taken].sum())
            return taken
        if self.spellings.is_possible or len(self.others) == _MOST_OTHERS:
            return taken
        if pa.types.is_string(values.type):
            plain_ones: Any = pc.match_substring_regex(values, _PLAIN_NUMBER).fill_null(False)
            taken = numpy_flags(plain_ones)
            texts = values.filter(plain_ones)
            point: Any = pc.find_substring(texts, pattern=".")
            behind = numpy_of(pc.utf8_length(texts)) - numpy_of(point) - 1  # digits after the point
            behind = np.where(numpy_of(point) < 0, 0, behind)
            noughts = numpy_flags(pc.match_substring_regex(texts, r"\.[0-9]*0$"))
            self._add_digits(behind, behind[noughts])
            numbers = numpy_of(texts.cast(pa.float64()))
        elif pa.types.is_integer(values.type) and not values.null_count:
            taken[:] = True
            numbers = numpy_of(values).astype(np.float64)
        else:
            return taken
        held = counts[taken]
        if len(numbers):
            self.rows, self.numbers = self.rows + int(held.sum()), self.numbers + int(held.sum())
            self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))
            self.zeros += int(held[numbers == 0].sum())
            for sizes, chosen in ((self.sizes, numbers > 0), (self.below, numbers < 0)):
                places = np.floor(_STEPS * np.log10(np.abs(numbers[chosen]))).astype(np.int64)
                for place in np.unique(places).tolist():
                    sizes[place] += int(held[chosen][places == place].sum())
            self.whole = (
                self.whole and bool((numbers == np.floor(numbers)).all()) and float(np.abs(numbers).max()) < 2**63
            )
            common = int(np.gcd.reduce(numbers.astype(np.int64))) if self.whole else 1
            self.common = math.gcd(self.common, common) if self.whole else 1
        return taken

    def _add_value(self, text: str, count: int) -> None:
        self.rows += count
        if self.counts is not None:
            self.counts[text] += count
            if len(self.counts) > TRACKED:
                self.counts = None
        if not self._dated:
            self.spellings.add(self._as_date(text), count)
        if len(self.others) == _MOST_OTHERS:
            return
        number = _number(text)
        if math.isfinite(number):
            self.numbers += count
            self.low, self.high = min(self.low, number), max(self.high, number)
            self.zeros += count if number == 0 else 0
            if number:
                sizes = self.sizes if number > 0 else self.below
                sizes[math.floor(_STEPS * math.log10(abs(number)))] += count
            self.whole = self.whole and number.is_integer()
            self.common = math.gcd(self.common, int(number)) if self.whole else 1
            self.padded = self.padded or (self.are_texts and text.isdecimal() and len(text) > 1 and text[0] == "0")
            digits = digits_of(text)
            if digits is None:
                self.digits = None
            else:
                self._add_digits(np.array([digits]), np.array([digits] if digits and text[-1] == "0" else [], np.int64))
            return
        self.others.add(text)
        if self.word in {None, text}:
            self.word, self.worded = text, self.worded + count
        else:
            self.numeric = False

    def _add_digits(self, digits: Ints, filled: Ints) -> None:
        """Note digits after the point of numbers, and those of the numbers among them with noughts at the end."""
        self.digits = None if self.digits is None else int(digits.max(initial=self.digits))
        self.fewest = min([self.fewest, *digits.tolist()])
        self.filled = int(filled.max(initial=self.filled))

    def _as_date(self, text: str) -> str:
        """A text as it would be if it were a date: 1022020 was 01022020."""
        lost = not self.are_texts and text.isdecimal() and len(text) == _DATE_DIGITS - 1
        return f"0{text}" if lost else text

    def _add_dates(self, values: Any) -> bool:
        """Look for dates and times in many values at once; whether that could be done."""
        if not self.spellings.is_possible:
            return False
        if not pa.types.is_string(values.type):
            values = pa.array([self._as_date(text) for text in _texts(values) if text], pa.string())
        held = values.filter(_spelled(values))
        for text in held.slice(0, _FIRST).to_pylist():
            self.spellings.add(text)
        return bool(len(held)) and self.spellings.add_many(held) and self.spellings.is_possible

    @property
    def without_word(self) -> Summary:
        """The summary of the numbers alone, where the one text among them stands for a missing number."""
        if self.word is None:
            return self
        counts = None if self.counts is None else Counter(self.counts)
        if counts is not None:
            del counts[self.word]
        return replace(self, counts=counts, missing={self.word}, word=None, worded=0, rows=self.rows - self.worded)

    def without(self, texts: Collection[str]) -> Summary:
        """The summary of the numbers alone without some, which stand for missing ones.

        Args:
            texts: Texts of these numbers; all texts of the column are known.
        """
        rest = Summary(empty=self.empty, missing=self.missing | set(texts), kind=self.kind, are_texts=self.are_texts)
        rest.written = self.written
        for text, count in (self.counts or {}).items():
            if text not in texts:
                rest._add_value(text, count)
        return rest

    def quantile(self, share: float) -> float:
        """A number, to a tenth of it, that a share of the numbers is at most; 0 for one below 0.

        Args:
            share: Share of the rows with a number.
        """
        left = share * self.rows - self.negatives - self.zeros
        if left <= 0:
            return 0.0
        for size in sorted(self.sizes):
            left -= self.sizes[size]
            if left <= 0:
                return float(10 ** ((size + 0.5) / _STEPS))
        return self.high

    @property
    def negatives(self) -> int:
        """Number of rows with a number below 0."""
        return self.rows - self.zeros - self.sizes.total()

    @property
    def least_digits(self) -> int | None:
        """Digits after the point that all numbers have, where more are there as needed; None for a fixed number."""
        if self.digits is None or not self.filled <= self.fewest < self.digits:
            return None
        return int(self.fewest)

    @property
    def has_empty(self) -> bool:
        """Whether a cell is empty, or is so once blanks around labels are taken away."""
        return self.empty or (not self.numeric and any(not text.strip() for text in self.counts or ()))

    @property
    def missing_texts(self) -> list[str]:
        """Texts of the missing value, the one to declare first; none where no cell is missing."""
        known = [text for text in MISSING_TEXTS if text in self.missing]
        found = [*known, *sorted(self.missing - {*known})]
        is_infinite = bool(found) and found[0].lower() in _INFINITE
        return [MISSING_TEXTS[0], *found] if is_infinite or (not found and self.has_empty) else found

    @property
    def missing_text(self) -> str | None:
        """Text of the missing value to declare."""
        return next(iter(self.missing_texts), None)


def _spelled(values: Any) -> Any:
    """Which texts are neither empty nor those of a missing value."""
    unsaid = pc.is_in(values, value_set=pa.array(["", *MISSING_TEXTS], pa.string()))
    return pc.and_(pc.is_valid(values), pc.invert(unsaid))


def _texts(values: Any) -> list[str | None]:
    listed = values.to_pylist()
    return [None if value is None or value != value else value_text(value) for value in listed]  # noqa: PLR0124


def is_number(text: str) -> bool:
    """Whether a text is a finite number.

    Example:
        >>> is_number("1e3"), is_number("inf"), is_number("1_000")
        (True, False, False)
    """
    return math.isfinite(_number(text))


def _number(text: str) -> float:
    if text.strip() != text or "_" in text:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan
