"""Layouts of records: the format of their file, the order of columns, and of each type, empty cells and digits.

A layout has no bearing on what records there are, on codes or on privacy; domains that differ in it alone are equal.
It is public like the domain: the types of a private table may tell what it holds (a column of whole numbers with a gap
is one of floats in pandas), so they come from a domain file that a person has read, never from the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, attribute_error
from hedgerow.domain.clocks import SECONDS, Durations, TimesOfDay
from hedgerow.domain.file_format import USUAL_FILE, FileFormat
from hedgerow.domain.number_format import PLAIN, NumberFormat
from hedgerow.domain.scales import TICKS, Calendar, Decimals, Moments

_SPELLS_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|inf)")
_INTEGER = re.compile(r"(u?)int(8|16|32|64)")
_DECIMAL = re.compile(r"decimal128\((\d{1,2}), (\d{1,2})\)")
_TEXTS = ("string", "large_string", "dictionary")
_FLOATS = {"float": 2**24, "double": 2**53}
"""Up to this all whole numbers are held."""
_MOST_PRECISION = 38
_OF_SCALES = {
    Calendar: re.compile(r"date32|date64|timestamp\[(s|ms|us|ns)\]"),
    Moments: re.compile(r"timestamp\[(s|ms|us|ns)\]"),
    TimesOfDay: re.compile(r"time32\[(s|ms)\]|time64\[(us|ns)\]"),
    Durations: re.compile(r"duration\[(s|ms|us|ns)\]"),
}
_ZONED = re.compile(r"timestamp\[(s|ms|us|ns), tz=([\w/+-]+)\]")
_BOOLEANS = {"true", "false"}
_MOST_DIGITS = 18
_NARROW_DIGITS = 6
"""Digits of decimal numbers that narrow floats tell apart."""


@dataclass(frozen=True)
class Written:
    """The form of a column.

    Attributes:
        type: Name of its Arrow type; None for the type that follows from its values.
        null: Text of empty cells in text files; None for the text of the missing value, and for no text in columns of
            numbers.
        digits: Digits after the point of numbers in text files, more where a number with a step needs them; None for
            those of the step.
        pattern: Pattern of numbers in text files, as in ``$#,##0.00``.
        decimal: Mark before the fraction of numbers in text files, where it is not that of the file.
        thousands: Mark between groups of three digits, likewise.
        missing: Texts, and numbers as texts, that all stand for the missing value; empty where one text does.
        number: Format of numbers in text files: that of the pattern with the marks of the file.
    """

    type: str | None = None
    null: str | None = None
    digits: int | None = None
    pattern: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] = ()
    number: NumberFormat = field(default=PLAIN, repr=False)

    def plain(self, cells: pa.Array[Any]) -> pa.Array[Any]:
        """Cells as the values of the domain are written: plain numbers, and nulls in place of missing ones.

        Args:
            cells: A column of a table.
        """
        return self.number.plain(_without(cells, self.missing) if self.missing else cells)


def _without(cells: pa.Array[Any], missing: tuple[str, ...]) -> pa.Array[Any]:
    """Cells without those that equal a text, or the number that it spells."""
    if isinstance(cells, pa.DictionaryArray):
        values = _without(cells.dictionary, missing)
        places: Any = cells.indices
        if values.null_count:
            valid: Any = pa.compute.is_valid(values).take(places.cast(pa.int64()))
            places = pa.compute.if_else(pa.compute.fill_null(valid, False), places, pa.scalar(None, places.type))
        return pa.DictionaryArray.from_arrays(places, cells.dictionary)
    kind = cells.type
    listed: Any = None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        listed = pa.array(missing, kind)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = [float(text) for text in missing if _SPELLS_NUMBER.fullmatch(text)]
        listed = pa.array(numbers, pa.float64())
    if listed is None or not len(listed):
        return cells
    compared: Any = cells if listed.type == kind else cells.cast(pa.float64(), safe=False)
    found: pa.Array[Any] = pa.compute.if_else(
        pa.compute.is_in(compared, value_set=listed), pa.scalar(None, kind), cells
    )
    return found


AS_USUAL = Written()
"""A column of which nothing is declared."""


@dataclass(frozen=True)
class Layout:
    """Order and form of the columns of records.

    Attributes:
        order: Names of columns that come first, in this order; the others follow.
        columns: Columns of which something is declared.
        file: Format of the text file that they are read from and written to.

    Example:
        >>> layout = Layout(("b", "a"), {"a": Written("int8")})
        >>> layout["a"].type, layout["b"].type, layout.sorted(["a", "b", "c"])
        ('int8', None, ('b', 'a', 'c'))
    """

    order: tuple[str, ...] = ()
    columns: Mapping[str, Written] = field(default_factory=dict)
    file: FileFormat = USUAL_FILE

    def __getitem__(self, name: str) -> Written:
        """The form of a column."""
        return self.columns.get(name, AS_USUAL)

    def sorted(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names of columns in the order of the layout.

        Args:
            names: The names.
        """
        places = {name: place for place, name in enumerate(self.order)}
        return tuple(sorted(names, key=lambda name: places.get(name, len(places))))

    def merged(self, other: Layout) -> Layout:
        """This layout, and the other one where this says nothing."""
        order = tuple(dict.fromkeys((*self.order, *other.order)))
        return Layout(order, {**other.columns, **self.columns}, self.file)


AS_DECLARED = Layout()
"""Columns in the order of the domain, each of its own type."""


def check_written(attribute: Attribute, written: Written) -> None:
    """Refuse what cannot be done to the values of a column.

    Args:
        attribute: The column.
        written: The form of it.

    Raises:
        DomainError: The type does not hold its values, an empty cell would be read as something else, or digits would
            be lost.

    Example:
        >>> check_written(IntegerRange("age", 0, 200), Written("int8"))
        Traceback (most recent call last):
            ...
        hedgerow.errors.DomainError: attribute 'age': the type int8 does not hold its values...
    """
    if written.type is not None and not _holds(attribute, written.type):
        raise attribute_error(
            attribute.name,
            f"the type {written.type} does not hold its values",
            "name an Arrow type that does, as in int16, double, bool, timestamp[ns], large_string or dictionary; or "
            "delete 'type'",
        )
    if written.pattern is not None and not is_numeric(attribute):
        raise attribute_error(attribute.name, "'pattern' has no meaning for it", "delete it: only numbers have one")
    if written.null is not None:
        listed = isinstance(attribute, Categorical) and "" in attribute.values
        empty = not written.null and not listed
        spelled = written.null in (attribute.missing, *written.missing)
        known = empty or spelled or _is_synonym(attribute, written.null)
        if attribute.missing is None or not known:
            raise attribute_error(
                attribute.name,
                f"empty cells as {written.null!r} would not be read as the missing value",
                "declare it as 'missing', or as a synonym of it; or write 'null: \"\"'",
            )
    if written.digits is not None and not (_has_digits(attribute) and written.digits <= _MOST_DIGITS):
        raise attribute_error(
            attribute.name,
            f"its values cannot be written with {written.digits} digits after the point",
            f"delete 'digits', or give at most {_MOST_DIGITS}, of whole numbers or of decimals with a step",
        )


def is_numeric(attribute: Attribute) -> bool:
    """Whether the cells of a column are numbers, which a pattern may describe.

    Example:
        >>> is_numeric(IntegerRange("age", 0, 99)), is_numeric(Categorical("sex", ("F", "M")))
        (True, False)
    """
    scaled = isinstance(attribute.scale, Decimals) or attribute.scale is None
    return scaled and isinstance(attribute, IntegerRange | Binned)


def _is_synonym(attribute: Attribute, text: str) -> bool:
    return (
        isinstance(attribute, Categorical)
        and attribute.codes_by_spelling.get(attribute.spelling.normal(text)) == attribute.missing_code
    )


def _has_digits(attribute: Attribute) -> bool:
    """Whether values are whole numbers, or decimals with a step."""
    if attribute.scale is not None:
        return isinstance(attribute.scale, Decimals)
    return isinstance(attribute, IntegerRange) or (isinstance(attribute, Binned) and attribute.whole)


def _holds(attribute: Attribute, kind: str) -> bool:
    """Whether the values of a column can have a type."""
    if kind in _TEXTS:
        return True
    scale = attribute.scale
    if scale is not None and scale.width is not None and (whole := _INTEGER.fullmatch(kind)):
        return bool(10**scale.width < 2 ** (int(whole[2]) - 1))
    if scale is not None and (pattern := _OF_SCALES.get(type(scale))) is not None:
        zone = _ZONED.fullmatch(kind)
        if zone is not None:
            return isinstance(scale, Moments) and scale.zone == zone[2] and _fits_ticks(attribute, zone[1])
        is_unit = isinstance(scale, Calendar) and scale.unit != "day"
        if not isinstance(scale, Durations) or scale.unit is None:
            match = pattern.fullmatch(kind)
            return not is_unit and match is not None and _fits_ticks(attribute, match[match.lastindex or 0])
    if kind == "bool":
        return _are_booleans(attribute)
    ends = _ends(attribute)
    return ends is not None and _holds_numbers(attribute, ends, kind)


def _fits_ticks(attribute: Attribute, unit: str) -> bool:
    """Whether dates, times or durations have less than 2^63 ticks of a unit; a zone may be a day away."""
    ends, scale = _ends(attribute), attribute.scale
    seconds = SECONDS["d"] if isinstance(scale, Calendar) else getattr(scale, "seconds", 1)
    return ends is None or (max(map(abs, ends)) * seconds + SECONDS["d"]) * TICKS.get(unit, 1) < 2**63


def _are_booleans(attribute: Attribute) -> bool:
    if not isinstance(attribute, Categorical) or attribute.other is not None:
        return False
    texts = [str(value).lower() for value in attribute.values]
    return len({*texts} & _BOOLEANS) == len(texts)


def _ends(attribute: Attribute) -> tuple[float, float] | None:
    """The smallest and the largest number of a column; None if it is none of numbers."""
    if isinstance(attribute, Categorical):
        numbers = [v for v in attribute.values if isinstance(v, int | float) and not isinstance(v, bool)]
        return (min(numbers), max(numbers)) if len(numbers) == len(attribute.values) else None
    if isinstance(attribute, IntegerRange):
        ends: tuple[float, float] = (attribute.minimum, attribute.maximum)
    elif isinstance(attribute, Binned):
        ends = (attribute.edges[0], attribute.edges[-1])
    else:
        return None
    scale, factor = attribute.scale, 1.0
    if isinstance(scale, Decimals):
        factor = float(scale.step)
    elif isinstance(scale, Durations) and scale.unit:
        factor = scale.seconds / SECONDS[scale.unit]
    return ends[0] * factor, ends[1] * factor


def _digits(attribute: Attribute) -> int | None:
    """Digits after the point that values have at most; None where nothing bounds them."""
    if isinstance(attribute, Categorical):
        return 0 if all(isinstance(value, int) for value in attribute.values) else None
    scale = attribute.scale
    if scale is not None:
        return scale.digits if isinstance(scale, Decimals) else 0 if scale.arrow_type == "int64" else None
    return 0 if isinstance(attribute, IntegerRange) or (isinstance(attribute, Binned) and attribute.whole) else None


def _holds_numbers(attribute: Attribute, ends: tuple[float, float], kind: str) -> bool:
    digits, largest = _digits(attribute), max(map(abs, ends))
    if kind == "double":
        return digits is None or largest * 10**digits <= _FLOATS[kind]
    if kind == "float":
        if digits is None:
            return all(map(_is_narrow, _listed(attribute)))
        return largest <= _FLOATS[kind] if digits == 0 else largest * 10**digits < 10**_NARROW_DIGITS
    if match := _INTEGER.fullmatch(kind):
        bits = int(match[2])
        low, high = (0, 2**bits - 1) if match[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return digits == 0 and low <= ends[0] and ends[1] <= high
    if digits is not None and (match := _DECIMAL.fullmatch(kind)):
        precision, after = int(match[1]), int(match[2])
        return digits <= after <= precision <= _MOST_PRECISION and largest < 10 ** (precision - after)
    return False


def _listed(attribute: Attribute) -> tuple[float, ...]:
    """Numbers that must be told apart: the values, or the edges; of durations in fractions of a unit there are more."""
    if isinstance(attribute, Categorical):
        return tuple(value for value in attribute.values if isinstance(value, int | float))
    return attribute.edges if isinstance(attribute, Binned) and attribute.scale is None else (math.nan,)


def _is_narrow(number: float) -> bool:
    """Whether a narrow float is written as this number."""
    return float(str(np.float32(number))) == number
