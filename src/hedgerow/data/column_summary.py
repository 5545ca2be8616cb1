"""Summaries of columns that a draft of a domain is made from; as private as the data."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Floats, Ints
from hedgerow.data.kinds import Spellings
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
_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_FEW, _REPEATED = 12, 20
"""Texts of a batch that are labels, where each is there so often on average."""
_LOOKED_AT = 2_000
"""Distinct texts by which it is seen how numbers are written."""

TRACKED = 10_000
"""With more distinct values than this a column is not a list of categories."""

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
        self.are_texts = self.kind in {"string", "large_string", "dictionary"} or pa.types.is_union(kind)

    def add(self, column: Any) -> None:
        """Take a batch in; cells of several types one type after the other."""
        if pa.types.is_union(column.type):
            for place in range(column.type.num_fields):
                self.add(column.field(place))
            return
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
        kind = values.type
        texts: Any = values if pa.types.is_string(kind) else pa.array(_texts(values), pa.string())
        unsaid = texts.filter(pc.invert(_spelled(texts))).to_pylist()
        self.empty = self.empty or any(not text for text in unsaid)
        self.missing.update(text for text in unsaid if text)
        said = numpy_flags(_spelled(texts))
        self._take(texts.filter(arrow_flags(said)), counts[said])

    def _take(self, texts: Any, counts: Ints) -> None:
        """Take distinct texts in, none of them empty or missing, and how many rows have each."""
        self.rows += int(counts.sum())
        if self.counts is not None:
            self.counts.update(dict(zip(texts.to_pylist(), counts.tolist(), strict=True)))
            self.counts = None if len(self.counts) > TRACKED else self.counts
        if self.spellings.is_possible:
            dates = texts if self.are_texts else pa.array(map(_as_date, texts.to_pylist()), pa.string())
            self.spellings.add_all(dates, counts)
        spelled = numpy_flags(pc.match_substring_regex(texts, _NUMBER))
        numbers = np.full(len(texts), math.nan)
        unsigned = pc.replace_substring_regex(texts.filter(arrow_flags(spelled)), r"^\+", "")
        numbers[spelled] = numpy_of(unsigned.cast(pa.float64()))
        finite = np.isfinite(numbers)
        if finite.any():
            self._add_numbers(texts.filter(arrow_flags(finite)), numbers[finite], counts[finite])
        for text, count in zip(texts.filter(arrow_flags(~finite)).to_pylist(), counts[~finite].tolist(), strict=True):
            self.numeric = self.numeric and self.word in {None, text}
            self.word, self.worded = self.word or text, self.worded + count
            if len(self.others) < _MOST_OTHERS:
                self.others.add(text)

    def _add_numbers(self, texts: Any, numbers: Floats, counts: Ints) -> None:
        """Take distinct numbers in: as they are written, their values, and how many rows have each."""
        self.numbers += int(counts.sum())
        self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))
        self.zeros += int(counts[numbers == 0].sum())
        for sizes, chosen in ((self.sizes, numbers > 0), (self.below, numbers < 0)):
            places = np.floor(_STEPS * np.log10(np.abs(numbers[chosen]))).astype(np.int64)
            for place in np.unique(places).tolist():
                sizes[place] += int(counts[chosen][places == place].sum())
        self.whole = self.whole and bool((numbers == np.floor(numbers)).all())
        self.common = math.gcd(self.common, *map(int, np.unique(numbers).tolist())) if self.whole else 1
        self.padded = self.padded or (self.are_texts and pc.any(pc.match_substring_regex(texts, r"^0[0-9]+$")).as_py())
        point = numpy_of(pc.find_substring(texts, pattern="."))
        behind = np.where(point < 0, 0, numpy_of(pc.utf8_length(texts)) - point - 1)  # digits after the point
        plain_ones = pc.all(pc.match_substring_regex(texts, r"^[+-]?[0-9]+(?:\.[0-9]*)?$")).as_py()
        self.digits = max(self.digits, int(behind.max())) if plain_ones and self.digits is not None else None
        self.fewest = min(self.fewest, int(behind.min()))
        filled = behind[numpy_flags(pc.match_substring_regex(texts, r"\.[0-9]*0$"))]
        self.filled = int(filled.max(initial=self.filled))

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
        kept = {text: count for text, count in (self.counts or {}).items() if text not in texts}
        rest._take(pa.array(kept, pa.string()), np.array([*kept.values()], dtype=np.int64))
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


def _spelled(texts: Any) -> Any:
    """Which texts are neither empty nor those of a missing value."""
    named = pc.is_in(texts, value_set=pa.array(["", *MISSING_TEXTS], pa.string()))
    infinite = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(_INFINITE))
    return pc.and_(pc.is_valid(texts), pc.invert(pc.or_(named, infinite)))


def _as_date(text: str) -> str:
    """The digits of a number as they would be if it were a date: 1022020 was 01022020."""
    return f"0{text}" if text.isdecimal() and len(text) == _DATE_DIGITS - 1 else text


def _texts(values: Any) -> list[str | None]:
    listed = values.to_pylist()
    return [None if value is None or value != value else value_text(value) for value in listed]  # noqa: PLR0124


def is_number(text: str) -> bool:
    """Whether a text is a finite number.

    Example:
        >>> is_number("1e3"), is_number("inf"), is_number("1_000")
        (True, False, False)
    """
    return re.fullmatch(_NUMBER, text) is not None and math.isfinite(float(text))
