"""Columns of data to codes, from the public attribute alone.

A column of categories is first reduced to its distinct values, which are then looked at one by one; numbers are
looked at all at once.

How a cell finds its code, in this order:

1. An empty cell (null, NaN, empty text) gets the missing code; the empty text may also be a listed value.
2. The text of the missing or of the other value gets that code.
3. *Categorical*: the value whose text equals the text of the cell. A whole number has the text of an integer, however
   it is stored: ``1``, ``1.0``, ``"1"`` and ``"1.0"`` all are ``1``, unless ``"1.0"`` is listed too; a boolean may be
   written true, True or TRUE. Where the listed value is itself a number, a text that spells that number ("1.00") is it.
   *Integer range, bins*: the number, or the number that the text spells. On a scale the whole number that the date,
   time or decimal stands for, in whichever type the cell is.
4. What remains gets the other code where one is declared, and is an error where none is. A number with a fraction in a
   column of whole numbers is always an error, and so is a cell between two steps of a scale that does not round.

The type that a column is stored in decides nothing, as one cell can change it: an empty cell makes doubles of whole
numbers, a long one wide ones of narrow ones. A cell of a number, a date or a time has one text, whatever its column is.

Blanks around a text and capital letters belong to it, unless a categorical attribute has rules that say otherwise
(``attributes.py``); then 1 to 3 are about normal forms. Nothing is clipped or guessed.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from enum import IntEnum
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Ints
from hedgerow.domain.arrow import (
    DAYS,
    EXACT,
    FAR,
    arrow_flags,
    arrow_text,
    beyond_python,
    durations_of_intervals,
    in_microseconds,
    numpy_flags,
    numpy_of,
    of_each_kind,
    plain,
    texts_of_times,
)
from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, canonical_text, value_text
from hedgerow.domain.scales import TICKS, Calendar, Moments, Scale

Codes = NDArray[np.unsignedinteger[Any]]

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_ISO_TIMES = [f"%Y-%m-%d{sign}%H:%M{seconds}" for sign in " T" for seconds in (":%S", "")]
"""Forms of times without a form of their own."""
_TICKS = r"^-?(?:[0-9]{1,18}|[1-8][0-9]{18})$"
"""Whole numbers of 64 bits."""
_INTEGER = r"^[+-]?[0-9]{1,18}$"
_SHORT_RANGE = 1 << 12
_INT64_MAX = 2**63 - 1
_DAY_SECONDS = 86_400
_ONE_BY_ONE = 64
"""Up to so many texts of dates and times are read one by one."""
_FIRST_SECOND = DAYS[0] * _DAY_SECONDS
_SPELLINGS = {"true": ("true", "True", "TRUE"), "false": ("false", "False", "FALSE")}


class Fault(IntEnum):
    """Reason why a cell has no code."""

    MISSING = -1
    UNKNOWN = -2
    OUT_OF_RANGE = -3
    NOT_WHOLE = -4
    NOT_A_NUMBER = -5


def smallest_unsigned(size: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds the codes ``0 .. size - 1``.

    Example:
        >>> smallest_unsigned(256).__name__, smallest_unsigned(257).__name__
        ('uint8', 'uint16')
    """
    for kind in (np.uint8, np.uint16, np.uint32):
        if size - 1 <= np.iinfo(kind).max:
            return kind
    return np.uint64


def encoder(attribute: Attribute, grain: float = 1.0) -> Encoder:
    """The encoder of an attribute.

    Args:
        attribute: The attribute.
        grain: A power of two, in units of which whole numbers without a scale are read; see `IntegerEncoder`.

    Example:
        >>> column = encoder(Categorical("sex", ("F", "M"), missing="?"))
        >>> column.codes(pa.array(["M", "", "F"])).tolist()
        [1, 2, 0]
    """
    if isinstance(attribute, Categorical):
        return CategoricalEncoder(attribute)
    if isinstance(attribute, IntegerRange | Binned):
        numbers = IntegerEncoder(attribute, grain) if isinstance(attribute, IntegerRange) else BinEncoder(attribute)
        return numbers if attribute.scale is None else ScaledEncoder(attribute.scale, numbers)
    message = f"no encoder for {type(attribute).__name__}"
    raise TypeError(message)


class Encoder(ABC):
    """Turns Arrow columns of one attribute into codes."""

    _by_value = True
    """Whether numbers are looked at one by one."""

    def __init__(self, attribute: Attribute) -> None:
        """Remember the codes of the declared values."""
        self.attribute = attribute
        self.dtype = smallest_unsigned(attribute.size)
        self._empty = Fault.MISSING if attribute.missing_code is None else attribute.missing_code
        self._last: tuple[pa.Array[Any], Ints] | None = None

    @property
    def prefers_dictionary(self) -> bool:
        """Whether texts are best handed over as an Arrow dictionary: where they are expected to repeat often."""
        return self._by_value

    def codes(self, column: pa.Array[Any]) -> Ints:
        """Codes of a column.

        Args:
            column: Texts, numbers, booleans, dates or times, a dictionary of these, or cells of several types.

        Returns:
            One code, or one ``Fault``, per cell.

        Raises:
            UnsupportedTypeError: The column holds something else.
        """
        if pa.types.is_union(column.type):
            return of_each_kind(column, self.codes)
        values = self._plain(column)
        text = pa.types.is_string(values.type)
        if not pa.types.is_dictionary(values.type) and not (self.prefers_dictionary if text else self._by_value):
            return self._codes_of(values)
        distinct: Any = column if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        indices = distinct.indices
        mapping = self._mapped(distinct.dictionary)
        if indices.null_count:
            indices = indices.cast(pa.int64()).fill_null(len(mapping) - 1)
        mapped: Ints = mapping[numpy_of(indices)]
        return mapped

    def _mapped(self, values: pa.Array[Any]) -> Ints:
        """Codes of the values of a dictionary, and last that of an empty cell; batches often share their dictionary."""
        if self._last is None or not self._last[0].equals(values):
            codes = np.append(self._codes_of(self._plain(values)), np.int64(self._empty))
            self._last = values, codes
        return self._last[1]

    def _plain(self, values: pa.Array[Any]) -> pa.Array[Any]:
        """Values of the types that are looked at."""
        return plain(values)

    def _codes_of(self, values: pa.Array[Any]) -> Ints:
        """Codes of values: of numbers, or of texts."""
        kind = values.type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            return self._of_texts(values)
        if pa.types.is_integer(kind) and not values.null_count:
            return self._of_wide(numpy_of(values))
        empty = numpy_flags(values.is_null(nan_is_null=True))
        numbers = numpy_of(values.drop_null() if values.null_count else values)
        codes = np.full(len(values), self._empty, dtype=np.int64)
        codes[~empty] = self._of_wide(numbers[~np.isnan(numbers)])
        return codes

    def _of_wide(self, numbers: NDArray[Any]) -> Ints:
        """Codes of numbers as int64 or float64; those beyond int64 do not make floats of others."""
        if numbers.dtype.kind == "f":
            return self._of_numbers(numbers)
        beyond = numbers > _INT64_MAX if numbers.dtype == np.uint64 else np.zeros(len(numbers), dtype=np.bool_)
        if not beyond.any():
            return self._of_numbers(numbers.astype(np.int64))
        there = self._of_numbers(numbers[beyond].astype(np.float64))
        return _merged(beyond, there, self._of_numbers(numbers[~beyond].astype(np.int64)))

    def _declared(self, text: str | None) -> int | None:
        """The code of an empty cell, or of the text of the missing or the other value."""
        if text is None:
            return self._empty
        if text == self.attribute.missing:
            return self.attribute.missing_code
        return self.attribute.other_code if text == self.attribute.other else None

    def _or_other(self, fault: Fault) -> int:
        return fault if self.attribute.other_code is None else self.attribute.other_code

    @abstractmethod
    def _of_numbers(self, numbers: NDArray[Any]) -> Ints:
        """Codes of int64 or float64 numbers, none of them NaN."""

    @abstractmethod
    def _of_texts(self, texts: pa.Array[Any]) -> Ints:
        """Codes of texts or nulls."""


class CategoricalEncoder(Encoder):
    """Looks the text of a value up."""

    def __init__(self, attribute: Categorical) -> None:
        """Build the tables of texts, in their normal form, and of numbers."""
        super().__init__(attribute)
        self._normal = attribute.spelling.normal
        self._texts = attribute.codes_by_spelling
        self._numbers: dict[float, int] = {}
        for code, value in enumerate(attribute.values):
            if isinstance(value, int | float) and not isinstance(value, bool):
                self._numbers[float(value)] = code
            for spelling in _SPELLINGS.get(value_text(value).lower(), ()):
                self._texts.setdefault(self._normal(spelling), code)

    def _code(self, text: str | None) -> int:
        key = self._normal(text or "")
        code = self._empty if text is None else self._texts.get(key)
        if code is None and not key:
            code = self._empty
        if code is None:
            code = self._texts.get(canonical_text(key))
        if code is None and self._numbers:
            code = self._numbers.get(_number(key))
        return self._or_other(Fault.UNKNOWN) if code is None else code

    def _of_number(self, number: float) -> int:
        text = value_text(number)
        listed = abs(number) < EXACT or self._normal(text) in self._texts
        return self._code(text if listed else value_text(float(number)))

    def _of_numbers(self, numbers: NDArray[Any]) -> Ints:
        return np.fromiter(map(self._of_number, numbers.tolist()), dtype=np.int64, count=len(numbers))

    def _of_texts(self, texts: pa.Array[Any]) -> Ints:
        return np.array([self._code(text) for text in texts.to_pylist()], dtype=np.int64)


class NumericEncoder(Encoder):
    """Turns texts into numbers; the subclasses turn numbers into codes."""

    _by_value = False

    @abstractmethod
    def ordinary(self, numbers: NDArray[Any]) -> Ints:
        """Codes of numbers that are not the missing or the other value, or a fault that "other" may take."""

    def within(self, numbers: NDArray[Any]) -> Ints:
        """The same, or the other value's code for numbers beyond the bounds, where one is declared."""
        codes = self.ordinary(numbers)
        if self.attribute.other_code is not None:
            codes[codes == Fault.OUT_OF_RANGE] = self.attribute.other_code
        return codes

    def _of_numbers(self, numbers: NDArray[Any]) -> Ints:
        codes = self.within(numbers)
        for text in (self.attribute.missing, self.attribute.other):
            code = None if text is None else self._declared(text)
            if text is not None and code is not None:
                codes[numbers == _number(text)] = code  # never equal where the text is not a number
        return codes

    def _of_texts(self, texts: pa.Array[Any]) -> Ints:
        codes = np.empty(len(texts), dtype=np.int64)
        whole = _matching(texts, _INTEGER)
        other = _matching(texts, _NUMBER) & ~whole
        for chosen, kind in ((whole, pa.int64()), (other, pa.float64())):
            if chosen.any():
                unsigned = pc.replace_substring_regex(texts.filter(arrow_flags(chosen)), r"^\+", "")
                codes[chosen] = self._of_numbers(numpy_of(unsigned.cast(kind)))
        rest = ~(whole | other)
        if rest.any():
            words: Any = texts.filter(arrow_flags(rest)).dictionary_encode()
            of_word = [self._of_word(word) for word in words.dictionary.to_pylist()]
            codes[rest] = np.array([*of_word, self._empty])[words.indices.fill_null(len(of_word)).to_numpy()]
        return codes

    def _of_word(self, word: str) -> int:
        declared = self._declared(word or None)
        return self._or_other(Fault.NOT_A_NUMBER) if declared is None else declared


class IntegerEncoder(NumericEncoder):
    """Subtracts the smallest number, in units of a grain.

    Args:
        attribute: The whole numbers; those that a fraction stands for are within as many units.
        grain: A power of two, to whose multiples fractions are rounded; 1 where a fraction is a fault.
    """

    attribute: IntegerRange

    def __init__(self, attribute: IntegerRange, grain: float = 1.0) -> None:
        """Remember the codes of the declared values."""
        super().__init__(attribute)
        self._grain = grain

    @property
    def prefers_dictionary(self) -> bool:
        """For short ranges."""
        return self.attribute.size <= _SHORT_RANGE

    def ordinary(self, numbers: NDArray[Any]) -> Ints:
        """Codes of numbers within the bounds."""
        low, high = self.attribute.minimum, self.attribute.maximum
        if self._grain != 1.0:
            numbers = np.where(numbers < 0, -1.0, np.rint(numbers / self._grain))
        with np.errstate(invalid="ignore"):
            inside = (numbers >= low) & (numbers <= high)
            codes = np.where(inside, numbers, low).astype(np.int64) - low
        if not inside.all():
            codes[~inside] = Fault.OUT_OF_RANGE
        if numbers.dtype.kind == "f":
            codes[_fractional(numbers)] = Fault.NOT_WHOLE
        return codes

    def _of_texts(self, texts: pa.Array[Any]) -> Ints:
        return super()._of_texts(texts if self._grain == 1.0 else pc.utf8_trim_whitespace(texts))


class BinEncoder(NumericEncoder):
    """Finds the bin; the last bin holds its upper edge too."""

    attribute: Binned

    def ordinary(self, numbers: NDArray[Any]) -> Ints:
        """Bins of numbers within the edges."""
        edges = np.array(self.attribute.edges)
        codes = np.searchsorted(edges, numbers, side="right").astype(np.int64) - 1
        codes[numbers == edges[-1]] = len(edges) - 2
        codes[(numbers < edges[0]) | (numbers > edges[-1])] = Fault.OUT_OF_RANGE
        if self.attribute.whole and numbers.dtype.kind == "f":
            codes[_fractional(numbers)] = Fault.NOT_WHOLE
        return codes


class ScaledEncoder(Encoder):
    """Looks for the whole number that each distinct cell stands for, and for its code."""

    def __init__(self, scale: Scale, numbers: IntegerEncoder | BinEncoder) -> None:
        """Note the scale, and the codes of its numbers."""
        super().__init__(numbers.attribute)
        self._scale = scale
        self._numbers = numbers
        texts = (self.attribute.missing, self.attribute.other)
        self._declared_places = {
            place: self._declared(text) for text in texts if text and (place := scale.position(text)) is not None
        }

    def _plain(self, values: pa.Array[Any]) -> pa.Array[Any]:
        kind = values.type
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            return values.cast(pa.timestamp("us", kind.tz), safe=False)
        if pa.types.is_time(kind):
            return values.cast(pa.time64("us"), safe=False)
        if pa.types.is_interval(kind):
            return durations_of_intervals(values)
        if pa.types.is_duration(kind):
            return in_microseconds(values)
        dated = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        return values if dated or pa.types.is_decimal(kind) else plain(values)

    def _of_numbers(self, numbers: NDArray[Any]) -> Ints:
        if isinstance(self._scale, Moments) and self._scale.unit is not None and numbers.dtype.kind != "f":
            return self._since_1970(numbers.astype(np.int64))
        width = self._scale.width
        cells = numbers.tolist()
        return self._of_cells(cells if width is None else [self._padded(cell, width) for cell in cells])

    def _padded(self, number: float, width: int) -> float | str:
        """The text of a date that is written as a whole number, with the zeros that numbers have lost."""
        if not float(number).is_integer():
            return number
        text = str(int(number))
        return text if self._declared(text) is not None else text.zfill(width)

    def _of_texts(self, texts: pa.Array[Any]) -> Ints:
        if pa.types.is_string(texts.type) and isinstance(self._scale, Moments) and self._scale.unit is not None:
            ticks = _matching(texts, _TICKS)
            there = self._since_1970(numpy_of(texts.filter(arrow_flags(ticks)).cast(pa.int64())))
            return _merged(ticks, there, self._one_by_one(texts.filter(arrow_flags(~ticks))))
        usual = None
        if len(texts) > _ONE_BY_ONE:
            usual = self._usual_numbers(texts) if pa.types.is_string(texts.type) else self._typed_numbers(texts)
        if usual is not None:
            numbers, known = usual
            rest = self._one_by_one(texts.filter(arrow_flags(~known)))
            return _merged(known, self._numbers.within(numbers[known]), rest)
        return self._one_by_one(texts)

    def _since_1970(self, ticks: Ints) -> Ints:
        """Codes of times that are whole numbers, all at once."""
        scale = cast(Moments, self._scale)
        numbers, rest = np.divmod(ticks, scale.ticks)
        codes = self._numbers.within(numbers)
        if not scale.down:
            codes[rest != 0] = Fault.NOT_WHOLE
        for place, code in self._declared_places.items():
            codes[ticks == int(place * scale.ticks)] = self._empty if code is None else code
        return codes

    def _usual_numbers(self, texts: pa.Array[Any]) -> tuple[Ints, Bools] | None:
        """Numbers of dates and times that are written as their form writes them, all at once, and which texts are so.

        None for other scales. What Arrow reads and writes back as the same text, Python reads alike.
        """
        scale = self._scale
        if not isinstance(scale, Calendar | Moments) or (isinstance(scale, Calendar) and scale.unit != "day"):
            return None
        forms = [scale.form] if scale.form else ["%Y-%m-%d"] if isinstance(scale, Calendar) else _ISO_TIMES
        seconds, known = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)
        shorter = texts if forms is not _ISO_TIMES else pc.replace_substring_regex(texts, r"(:\d\d)\.0{1,9}$", r"\1")
        for form in forms:
            parsed: Any = pc.strptime(shorter, format=form.replace("%-", "%"), unit="s", error_is_null=True)
            told = numpy_flags(pc.equal(texts_of_times(parsed, form), shorter))
            counted: Any = parsed.cast(pa.int64())
            seconds[told], known = numpy_of(counted.fill_null(0))[told], known | told
            if known.all():
                break
        for text in (self.attribute.missing, self.attribute.other):
            known &= ~numpy_flags(pc.equal(texts, arrow_text(text or "")))
        return self._stepped(seconds, 1, known)

    def _typed_numbers(self, times: pa.Array[Any]) -> tuple[Ints, Bools] | None:
        """The same of dates and of timestamps without a zone; None for other types and scales."""
        kind: Any = times.type
        dated = pa.types.is_date32(kind)
        on_days = isinstance(self._scale, Calendar) and self._scale.unit == "day"
        if not (dated or (pa.types.is_timestamp(kind) and kind.tz is None)):
            return None
        if not (on_days or (isinstance(self._scale, Moments) and not dated)):  # a date is no time
            return None
        known = numpy_flags(times.is_valid()) & ~beyond_python(times)
        counted: Any = times.cast(pa.int32() if dated else pa.int64())
        ticks = numpy_of(counted.fill_null(0)).astype(np.int64)
        return self._stepped(ticks * _DAY_SECONDS if dated else ticks, 1 if dated else TICKS[kind.unit], known)

    def _stepped(self, ticks: Ints, per_second: int, known: Bools) -> tuple[Ints, Bools]:
        """Numbers of the scale from parts of seconds since 1970, and which are known: those at a whole step."""
        step = per_second * (_DAY_SECONDS if isinstance(self._scale, Calendar) else cast(Moments, self._scale).seconds)
        numbers, rest = np.divmod(ticks, step)
        known = known & (rest == 0) & (ticks >= _FIRST_SECOND * per_second)
        for place in self._declared_places:
            known &= numbers != place
        return numbers, known

    def _one_by_one(self, texts: pa.Array[Any]) -> Ints:
        far = beyond_python(texts)
        if not far.any():
            return self._of_cells(texts.to_pylist())
        codes = np.full(len(texts), self._or_other(Fault.OUT_OF_RANGE), dtype=np.int64)
        codes[~far] = self._of_cells(texts.filter(arrow_flags(~far)).to_pylist())
        return codes

    def _of_cells(self, cells: list[Any]) -> Ints:
        read = [self._read(cell) for cell in cells]
        codes = np.array([code for code, _ in read], dtype=np.int64)
        on_scale = np.array([is_number for _, is_number in read], dtype=np.bool_)
        codes[on_scale] = self._numbers.within(codes[on_scale])
        return codes

    def _read(self, cell: object) -> tuple[int, bool]:
        """A code or a fault, or a number of the scale and true."""
        if cell is None or isinstance(cell, str):
            declared = self._declared(cell or None)
            if declared is not None:
                return declared, False
        place = self._scale.position(cell)
        if place is None:
            return self._or_other(Fault.NOT_A_NUMBER), False
        if (code := self._declared_places.get(place)) is not None:
            return code, False
        number = self._scale.rounded(place)
        return (Fault.NOT_WHOLE, False) if number is None else (max(-FAR, min(number, FAR)), True)


def _number(text: str) -> float:
    return float(text) if re.fullmatch(_NUMBER, text) else math.nan


def _fractional(numbers: NDArray[Any]) -> Bools:
    """Mask of the finite numbers that are not whole."""
    finite: Bools = np.isfinite(numbers)
    finite[finite] = numbers[finite] != np.floor(numbers[finite])
    return finite


def _matching(texts: pa.Array[Any], pattern: str) -> Bools:
    return numpy_flags(pc.match_substring_regex(texts, pattern))


def _merged(chosen: Bools, there: Ints, elsewhere: Ints) -> Ints:
    """The codes of chosen cells and those of the others, each in its place."""
    codes = np.empty(len(chosen), dtype=np.int64)
    codes[chosen], codes[~chosen] = there, elsewhere
    return codes
