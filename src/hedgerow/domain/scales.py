"""Scales: columns of whole numbers whose cells are written in another way.

A date is a whole number of days, a temperature a whole number of tenths. The codes, bins, levels and models of such a
column are those of whole numbers; its scale says which number a cell stands for, and how a number is written.

Everything here is decided by the public scale and one cell. Positions are exact fractions: ``36.65`` lies half a step
beyond ``36.6`` on a scale of tenths, and a column of tenths has no such cell.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import DomainError

Unit = Literal["day", "week", "month", "quarter", "year"]
UNITS: tuple[Unit, ...] = get_args(Unit)
"""Units of the calendar, finest first; weeks begin on Monday and cross the ends of months."""

EPOCH = date(1970, 1, 1).toordinal()
"""The day that days are counted from, as Python numbers it."""

_EPOCH_TIME = datetime(1970, 1, 1)
_DAY = 86_400
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)")
_DATED = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")
_PARTS = {
    "week": re.compile(r"(\d{4})-W(\d\d)"),
    "month": re.compile(r"(\d{4})-(\d\d)"),
    "quarter": re.compile(r"(\d{4})-Q([1-4])"),
    "year": re.compile(r"(\d{4})()"),
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST = 60
"""Digits of the longest number that is read."""
_LARGEST = 40
"""Largest power of ten, up or down, of a number that is read."""
_DIRECTIVES = re.compile(r"%(-?.)")
_SAME = {"b": "m", "B": "m", "y": "Y", **{f"-{each}": each for each in "dmHI"}}
"""The usual directives for names of months, two digits of a year, and numbers without zeros before them."""
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Parts of a second that times since 1970 are counted in."""


@dataclass(frozen=True)
class Scale(ABC):
    """Whole numbers, and the cells that stand for them."""

    @property
    @abstractmethod
    def noun(self) -> str:
        """Name of a cell, in the singular, and how it is written, for messages."""

    @property
    @abstractmethod
    def arrow_type(self) -> str:
        """Name of the Arrow type of written values."""

    finer = "declare a smaller 'step' in the domain file, or 'round: true' to move each to a step"
    """Remedy for cells between two steps."""

    spelled = "'format'"
    """Options of the domain file that say how cells are written."""

    quoted = True
    """Whether a condition writes values in quotes."""

    @property
    def form(self) -> str | None:
        """Form of texts; None for the canonical one."""
        return None

    @property
    def down(self) -> bool:
        """Whether a cell between two steps is read as the earlier one."""
        return False

    @abstractmethod
    def position(self, cell: object) -> Fraction | None:
        """Exact place of a cell on the scale, in steps; None if it is not on it."""

    @abstractmethod
    def text(self, number: int) -> str:
        """The canonical text of a number, in labels, conditions and domain files."""

    @abstractmethod
    def values(self, numbers: Ints) -> NDArray[Any]:
        """Values of numbers, in the type that ``arrow_type`` says; shape ``(n,)``."""

    def literal(self, text: str) -> Fraction | None:
        """Exact place of a value in a condition or a domain file; None if it is not on the scale."""
        return self.position(text)

    def cell(self, number: int) -> str:
        """The text of a number in a table of texts."""
        return self.text(number)

    @property
    def width(self) -> int | None:
        """Number of digits of a date or time that is written as a whole number, as 20200131; None for other forms."""
        cell = self.cell(0) if self.form is not None else ""
        return len(cell) if cell.isdecimal() else None

    def number(self, cell: object) -> int | None:
        """The number of a cell; None if it is not on the scale or lies between two steps."""
        place = self.literal(cell) if isinstance(cell, str) else self.position(cell)
        return int(place) if place is not None and place.denominator == 1 else None

    def rounded(self, place: Fraction) -> int | None:
        """The number of a place, or of the step that it lies in; None between two steps that are not rounded down."""
        return int(place) if place.denominator == 1 else math.floor(place) if self.down else None


@dataclass(frozen=True)
class Calendar(Scale):
    """Days, or weeks, months, quarters or years, of the Gregorian calendar.

    Attributes:
        unit: Length of a step. Days are counted from 1970-01-01.
        form: Form of dates in texts, as in ``"%d.%m.%Y"``; None for 2020-01-31. For days alone.

    Example:
        >>> Calendar().position("2020-02-29"), Calendar().position("2020-02-30")
        (Fraction(18321, 1), None)
        >>> Calendar(form="%d.%m.%Y").cell(18321), Calendar("quarter").text(8080)
        ('29.02.2020', '2020-Q1')
    """

    unit: Unit = "day"
    form: str | None = None
    finer = "cut the time of day off, or declare times in the domain file, as in 'min: 2020-01-01T00:00'"

    def __post_init__(self) -> None:
        """Check the form."""
        check_form(self.form, "Ymd")

    @property
    def noun(self) -> str:
        """A date, and its form."""
        return f"{'date' if self.unit == 'day' else self.unit} written as {self.cell(self.of_day(18_292))}"

    @property
    def arrow_type(self) -> str:
        """date32, or text for longer units."""
        return "date32" if self.unit == "day" else "string"

    def of_day(self, day: int) -> int:
        """The number of the unit that holds a day, which is counted from 1970-01-01."""
        return int(self.of_days(np.asarray(day)))

    def of_days(self, days: Ints) -> Ints:
        """The numbers of the units that hold some days."""
        if self.unit == "day":
            return days
        if self.unit == "week":
            return np.asarray((days + 3) // 7)
        months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 12 * 1970
        return np.asarray(months // _MONTHS[self.unit])

    def first_day(self, number: int) -> int:
        """The first day of a unit, counted from 1970-01-01; the inverse of ``of_day``."""
        if self.unit == "day":
            return number
        if self.unit == "week":
            return 7 * number - 3
        months = _MONTHS[self.unit] * number
        return date(months // 12, months % 12 + 1, 1).toordinal() - EPOCH

    def position(self, cell: object) -> Fraction | None:
        """Exact place of a date, a time on a date, or their texts."""
        if self.unit == "day" and isinstance(cell, date):
            return _seconds(cell) / _DAY
        return self._of_text(cell) if isinstance(cell, str) else None

    def literal(self, text: str) -> Fraction | None:
        """Exact place of a date in the form of cells, or as 2020-01-31."""
        position = self.position(text)
        return Calendar(self.unit).position(text) if position is None and self.form else position

    def _of_text(self, text: str) -> Fraction | None:
        try:
            if self.form is not None:
                return _seconds(in_form(text, self.form)) / _DAY
            if self.unit == "day":
                return _seconds(datetime.fromisoformat(text)) / _DAY if _DATED.fullmatch(text) else None
            if not (match := _PARTS[self.unit].fullmatch(text)):
                return None
            year, part = int(match[1]), int(match[2] or 1)
            if self.unit == "week":
                return Fraction(self.of_day(date.fromisocalendar(year, part, 1).toordinal() - EPOCH))
            month = part if self.unit == "month" else 3 * part - 2 if self.unit == "quarter" else 1
            return Fraction(self.of_day(date(year, month, 1).toordinal() - EPOCH))
        except ValueError:
            return None

    def text(self, number: int) -> str:
        """2020-01-31, 2020-W05, 2020-01, 2020-Q1 or 2020."""
        day = date.fromordinal(self.first_day(number) + EPOCH)
        if self.unit == "week":
            year, week, _ = day.isocalendar()
            return f"{year:04d}-W{week:02d}"
        quarter = f"{day.year:04d}-Q{(day.month + 2) // 3}"
        return quarter if self.unit == "quarter" else day.isoformat()[: {"day": 10, "month": 7, "year": 4}[self.unit]]

    def cell(self, number: int) -> str:
        """The date in its form."""
        return self.text(number) if self.form is None else formed(date.fromordinal(number + EPOCH), self.form)

    def values(self, numbers: Ints) -> NDArray[Any]:
        """Dates, or texts of longer units."""
        if self.unit == "day":
            return numbers.astype("datetime64[D]")
        return texts_on(self.text, numbers)


@dataclass(frozen=True)
class Moments(Scale):
    """Times on dates, as a clock on the wall shows them.

    A cell with an offset is brought to the zone; one without is local time. Where clocks are set back, the two
    moments that a clock shows alike are one number; where they are set forward, an hour has no cells.

    Attributes:
        seconds: Seconds of a step.
        form: Form of times in texts, as in ``"%d.%m.%Y %H:%M"``; None for 2020-01-31T08:00.
        zone: Name of the zone, as in ``"Europe/Berlin"``; None if no cell has an offset.
        down: Whether a cell between two steps is read as the earlier one.
        unit: Unit of numbers that count from 1970-01-01T00:00, as in ``"ms"``; None where cells are no such numbers.

    Example:
        >>> quarters = Moments(900, zone="Europe/Berlin")
        >>> quarters.text(quarters.number("2024-07-01T06:15Z"))
        '2024-07-01T08:15'
        >>> quarters.position("2024-07-01 08:20") - quarters.position("2024-07-01 08:15")
        Fraction(1, 3)
    """

    seconds: int = 60
    form: str | None = None
    zone: str | None = None
    down: bool = False
    unit: str | None = None
    spelled = "'format', or its 'zone' if they have offsets, or its 'unit' if they are numbers"

    def __post_init__(self) -> None:
        """Check form, zone and unit."""
        check_form(self.form, "YmdHM")
        if self.unit is not None and self.unit not in TICKS:
            raise DomainError(f"{self.unit!r} is no unit of times since 1970", remedy="give one of s, ms, us, ns")
        if self.unit is not None and (self.form, self.zone) != (None, None):
            message = "times that are numbers since 1970 have a format or a zone"
            raise DomainError(message, remedy="delete 'format' and 'zone', or the 'unit'")
        try:
            _ = self._zone
        except (OSError, ValueError, KeyError) as error:
            raise DomainError(
                f"{self.zone!r} is no time zone that is known here",
                remedy="write it as in 'Europe/Berlin', or install tzdata",
            ) from error

    @cached_property
    def _zone(self) -> ZoneInfo | None:
        return None if self.zone is None else ZoneInfo(self.zone)

    @property
    def noun(self) -> str:
        """A time, and its form."""
        if self.unit is not None:
            return f"whole number of {self.unit} since 1970"
        offset = ", without an offset" if self.zone is None else ""
        return f"time written as {self.cell(18_292 * _DAY // self.seconds)}{offset}"

    @property
    def arrow_type(self) -> str:
        """Timestamps in microseconds, without a zone; or whole numbers."""
        return "timestamp[us]" if self.unit is None else "int64"

    @property
    def ticks(self) -> int:
        """Units of a step, where cells are numbers."""
        return TICKS[self.unit or "s"] * self.seconds

    def position(self, cell: object) -> Fraction | None:
        """Exact place of a time, its text, or a number where there is a unit."""
        if self.unit is not None and not isinstance(cell, datetime):
            place = _WHOLE.position(cell)
            within = place is not None and abs(place) < _LAST_TICK
            return place / self.ticks if place is not None and within else None
        amount = self._of_text(cell) if isinstance(cell, str) else cell
        if not isinstance(amount, datetime):
            return None
        if amount.tzinfo is not None:
            if self._zone is None:
                return None
            try:
                amount = amount.astimezone(self._zone).replace(tzinfo=None)
            except OverflowError:  # its day in the zone is none of the calendar
                return None
        return _seconds(amount) / self.seconds

    def literal(self, text: str) -> Fraction | None:
        """Exact place of a time in the form of cells or as 2020-01-31T08:00; of a date, its midnight."""
        if self.unit is not None:
            return Moments(self.seconds).literal(text)
        position = self.position(text)
        if position is None and _DATE.fullmatch(text):
            position = Moments(self.seconds).position(f"{text}T00:00")
        return Moments(self.seconds, zone=self.zone).position(text) if position is None and self.form else position

    def _of_text(self, text: str) -> datetime | None:
        try:
            if self.form is not None:
                return in_form(text, self.form)
            return datetime.fromisoformat(text) if _TIME.fullmatch(text) else None
        except ValueError:
            return None

    def _at(self, number: int) -> datetime:
        return _EPOCH_TIME + timedelta(seconds=number * self.seconds)

    def text(self, number: int) -> str:
        """2020-01-31T08:00, with seconds where steps have them."""
        return self._at(number).isoformat(timespec="seconds" if self.seconds % 60 else "minutes")

    def cell(self, number: int) -> str:
        """The time in its form, or as a number."""
        if self.unit is not None:
            return str(number * self.ticks)
        return self.text(number) if self.form is None else formed(self._at(number), self.form)

    def values(self, numbers: Ints) -> NDArray[Any]:
        """Timestamps, or numbers."""
        if self.unit is not None:
            return numbers.astype(np.int64) * self.ticks
        return (numbers.astype(np.int64) * self.seconds).astype("datetime64[s]").astype("datetime64[us]")


@dataclass(frozen=True)
class Decimals(Scale):
    """Multiples of a decimal number, written with its digits.

    Attributes:
        step: The number, above 0.
        nearest: Whether a cell between two steps is read as the nearest one, halves as the even one.

    Example:
        >>> tenths = Decimals(Decimal("0.1"))
        >>> tenths.number("36.60"), tenths.number(36.6), tenths.text(370), tenths.number(0.1 + 0.2)
        (366, 366, '37.0', None)
    """

    step: Decimal
    nearest: bool = False
    quoted = False

    def __post_init__(self) -> None:
        """Check the step."""
        if not (self.step.is_finite() and self.step > 0 and abs(self.step.adjusted()) <= _LARGEST // 2):
            raise DomainError(f"a step of {self.step}", remedy="give a decimal number above 0, as in 'step: 0.1'")

    @cached_property
    def digits(self) -> int:
        """Digits after the point."""
        exponent = self.step.normalize().as_tuple().exponent
        return max(0, -int(exponent))

    @property
    def noun(self) -> str:
        """A number."""
        return "number"

    @property
    def arrow_type(self) -> str:
        """float64, or int64 for whole steps."""
        return "double" if self.digits else "int64"

    def position(self, cell: object) -> Fraction | None:
        """Exact place of a number or its text; a float is the shortest decimal number that it is written as."""
        if isinstance(cell, bool) or not isinstance(cell, str | int | float | Decimal):
            return None
        text = repr(cell) if isinstance(cell, float) else str(cell)
        if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
            return None
        number = Decimal(text)
        return Fraction(number) / Fraction(self.step) if not number or abs(number.adjusted()) <= _LARGEST else None

    def rounded(self, place: Fraction) -> int | None:
        """The number of a place, or the nearest one."""
        return int(place) if place.denominator == 1 else round(place) if self.nearest else None

    def text(self, number: int) -> str:
        """The number with all digits of the step."""
        return f"{number * self.step:.{self.digits}f}"

    def values(self, numbers: Ints) -> NDArray[Any]:
        """The nearest floats, or integers."""
        steps = int(self.step.scaleb(self.digits)) * numbers.astype(np.int64)
        return np.asarray(steps / 10.0**self.digits if self.digits else steps)


_WHOLE = Decimals(Decimal(1))
_LAST_TICK = 2**63
"""Numbers since 1970 are integers of 64 bits."""


def texts_on(text: Callable[[int], str], numbers: Ints) -> NDArray[Any]:
    """Texts of numbers, each made once.

    Args:
        text: Gives the text of a number.
        numbers: The numbers, shape ``(n,)``.

    Example:
        >>> texts_on(Calendar().text, np.array([0, 31, 0])).tolist()
        ['1970-01-01', '1970-02-01', '1970-01-01']
    """
    distinct, places = np.unique(numbers, return_inverse=True)
    return np.array([text(number) for number in distinct.tolist()], dtype=np.object_)[places]


def _seconds(found: date) -> Fraction:
    """Seconds since 1970, by the clock on the wall."""
    if not isinstance(found, datetime):
        return Fraction((found.toordinal() - EPOCH) * _DAY)
    since = found.replace(tzinfo=None) - _EPOCH_TIME
    return Fraction(since // timedelta(microseconds=1), 1_000_000)


def in_form(text: str, form: str) -> datetime:
    """The time that a text tells in a form; numbers without zeros before them are read with them too.

    Raises:
        ValueError: It has another form.

    Example:
        >>> in_form("5/1/21", "%-m/%-d/%y")
        datetime.datetime(2021, 5, 1, 0, 0)
    """
    return datetime.strptime(text, form.replace("%-", "%"))


def formed(found: date | time, form: str) -> str:
    """A date or time in a form; its year has four digits, as they are read, wherever Python runs.

    Example:
        >>> formed(date(2021, 5, 1), "%-m/%-d/%y")
        '5/1/21'
    """
    if isinstance(found, date):
        form = form.replace("%Y", f"{found.year:04d}")
    return found.strftime(_BARE.sub(lambda match: str(int(found.strftime(f"%{match[1]}"))), form))


_BARE = re.compile(r"%-(.)")


def check_form(form: str | None, needed: str, known: str = "YmdHMS") -> None:
    """Refuse a form of texts that does not say all parts of a date or time.

    Args:
        form: The form, with directives such as ``%d``; None is fine. A month may be a name, a year have two digits, an
            hour have AM or PM, and ``%-d`` is a number without zeros before it.
        needed: Directives that it must have.
        known: Directives that it may have.

    Raises:
        DomainError: One is not there, there twice, or unknown.

    Example:
        >>> check_form("%d.%m.%Y", "Ymd")
        >>> check_form("%d %b %Y %I:%M %p", "YmdHM")
    """
    if form is None:
        return
    directives = [_SAME.get(each, each) for each in _DIRECTIVES.findall(form)]
    if "I" in directives and "p" in directives:
        directives = [each for each in directives if each != "p"]
        directives[directives.index("I")] = "H"
    if not set(needed) <= set(directives) <= set(known) or len(directives) != len(set(directives)):
        example = {"Ymd": "%d.%m.%Y", "HM": "%H.%M"}.get(needed, "%d.%m.%Y %H:%M")
        raise DomainError(
            f"the form {form!r} does not say a whole {'date' if needed == 'Ymd' else 'time'}",
            remedy=f"give each of {', '.join('%' + each for each in needed)} once, as in {example!r}; only "
            f"{', '.join('%' + each for each in known)} are known, %b and %B for names of months, %y for two digits of "
            "a year, %I with %p for hours with AM and PM, and %-d, %-m, %-H, %-I for numbers without zeros before them",
        )
