"""Scales of clocks: times of day, and durations.

Both count steps of so many seconds, from midnight or from no time at all. A duration has hours and minutes without an
end, and days of 24 hours; months and years have no fixed length, and are none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.domain.scales import Decimals, Scale, check_form, formed, in_form
from hedgerow.errors import DomainError

Length = Literal["s", "min", "h", "d"]
LENGTHS: tuple[Length, ...] = get_args(Length)
"""Units of numbers that stand for durations, shortest first."""

SECONDS: dict[str, int] = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
"""Seconds of each unit."""

_DAY = SECONDS["d"]
_ROUNDING = 10**11
"""Numbers of a unit are written with twelve digits."""
_LONGEST = 2**63 // 10**6
"""Seconds that native durations, of microseconds in 64 bits, can hold."""
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?))?")
_ISO = re.compile(
    r"([+-])?P(?=.)(?:(\d{1,8})W)?(?:(\d{1,9})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12}(?:\.\d{1,9})?)S)?)?"
)
_FIRST = {"d": r"(\d{1,12})", "S": r"(\d{1,12}(?:\.\d{1,9})?)"}
_PART = {"H": r"([01]\d|2[0-3])", "M": r"([0-5]\d)", "S": r"([0-5]\d(?:\.\d{1,9})?)"}
_LENGTHS = {"d": "d", "H": "h", "M": "min", "S": "s"}
_FORM = re.compile(r"%([dHMS])")


_NUMBERS = Decimals(Decimal(1))


@dataclass(frozen=True)
class TimesOfDay(Scale):
    """Times that a clock on the wall shows, on whatever day: 24:00 is none of them.

    Attributes:
        seconds: Seconds of a step.
        form: Form of times in texts, as in ``"%H.%M"``; None for 08:15.
        down: Whether a cell between two steps is read as the earlier one.

    Example:
        >>> quarters = TimesOfDay(900)
        >>> quarters.number("08:15"), quarters.number("25:00"), quarters.text(34), quarters.position("08:20")
        (33, None, '08:30', Fraction(100, 3))
    """

    seconds: int = 60
    form: str | None = None
    down: bool = False

    def __post_init__(self) -> None:
        """Check the form."""
        check_form(self.form, "HM", "HMS")

    @property
    def noun(self) -> str:
        """A time of day, and its form."""
        return f"time of day written as {self.cell(45_900 // self.seconds)}"

    @property
    def arrow_type(self) -> str:
        """Times in microseconds."""
        return "time64[us]"

    def position(self, cell: object) -> Fraction | None:
        """Exact place of a time or its text."""
        if isinstance(cell, str):
            return self._of_text(cell)
        if not isinstance(cell, time) or cell.tzinfo is not None:
            return None
        since = timedelta(hours=cell.hour, minutes=cell.minute, seconds=cell.second, microseconds=cell.microsecond)
        return _exact(since) / self.seconds

    def literal(self, text: str) -> Fraction | None:
        """Exact place of a time in the form of cells, or as 08:15."""
        position = self.position(text)
        return TimesOfDay(self.seconds).position(text) if position is None and self.form else position

    def _of_text(self, text: str) -> Fraction | None:
        if self.form is not None:
            try:
                width = self.width
                return self.position(
                    in_form(text.zfill(width) if width and text.isdecimal() else text, self.form).time()
                )
            except ValueError:
                return None
        match = _CLOCK.fullmatch(text)
        return None if match is None else _sum(match.groups(), ("h", "min", "s")) / self.seconds

    def text(self, number: int) -> str:
        """08:15, with seconds where steps have them."""
        return self._at(number).isoformat(timespec="seconds" if self.seconds % 60 else "minutes")

    def cell(self, number: int) -> str:
        """The time in its form."""
        return self.text(number) if self.form is None else formed(self._at(number), self.form)

    def _at(self, number: int) -> time:
        seconds = number * self.seconds
        return time(seconds // 3600, seconds // 60 % 60, seconds % 60)

    def values(self, numbers: Ints) -> NDArray[Any]:
        """Microseconds since midnight."""
        return numbers.astype(np.int64) * (self.seconds * 1_000_000)


@dataclass(frozen=True)
class Durations(Scale):
    """Lengths of time.

    Attributes:
        seconds: Seconds of a step.
        form: Form of durations in texts, as in ``"%H:%M:%S"`` or ``"%d days %H:%M:%S"``: the first part has no end,
            and the others follow each other. None for PT1H30M.
        unit: Unit where cells are numbers, as in ``"min"``; None where they are durations or their texts.
        down: Whether a cell between two steps is read as the shorter one.

    Example:
        >>> minutes = Durations(60)
        >>> minutes.number("PT26H30M"), minutes.text(1590), Durations(60, "%H:%M:%S").cell(1590)
        (1590, 'P1DT2H30M', '26:30:00')
        >>> Durations(60, "%d days %H:%M:%S").number("1 days 02:30:00"), Durations(60, unit="h").number("1.5")
        (1590, 90)
    """

    seconds: int = 60
    form: str | None = None
    unit: Length | None = None
    down: bool = False
    spelled = "'format', or its 'unit' if they are numbers"

    def __post_init__(self) -> None:
        """Check form and unit."""
        if self.unit is not None and self.unit not in LENGTHS:
            raise DomainError(f"{self.unit!r} is no unit of durations", remedy=f"give one of {', '.join(LENGTHS)}")
        if self.form is not None and self.unit is not None:
            raise DomainError("durations have a form or a unit", remedy="delete one of the two")
        parts = "".join(self._parts)
        if self.form is not None and (not parts or parts not in "dHMS" or "%" in _FORM.sub("", self.form)):
            raise DomainError(
                f"the form {self.form!r} does not say a whole duration",
                remedy="give some of %d, %H, %M and %S in this order without a gap, as in '%H:%M:%S'",
            )
        if self.form is not None and self.seconds % SECONDS[_LENGTHS[parts[-1]]]:
            raise DomainError(
                f"the form {self.form!r} has no room for steps of {self.seconds} s",
                remedy="give a longer step, or a form that ends with %S",
            )

    @property
    def width(self) -> None:
        """None: the first part of a duration has no end."""

    @property
    def noun(self) -> str:
        """A duration, and its form."""
        if self.unit is None:
            return f"duration written as {self.cell(5400 // self.seconds or 1)}"
        return f"duration as a number of {self.unit}"

    @property
    def arrow_type(self) -> str:
        """Durations in microseconds, or numbers."""
        return "duration[us]" if self.unit is None else "double" if self.seconds % SECONDS[self.unit] else "int64"

    @property
    def _parts(self) -> list[str]:
        return [] if self.form is None else _FORM.findall(self.form)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """A pattern of texts: the first part has any number of digits; after days, + says that they alone are minus."""
        pieces = _FORM.split(self.form or "")
        pieces_found = [re.escape(pieces[0]), "(-?)"]
        for place, (part, after) in enumerate(zip(pieces[1::2], pieces[2::2], strict=True)):
            pieces_found += [_FIRST.get(part, _FIRST["d"]) if place == 0 else _PART[part], re.escape(after)]
            pieces_found += [r"(\+?)"] if part == "d" else []
        return re.compile("".join(pieces_found))

    def position(self, cell: object) -> Fraction | None:
        """Exact place of a duration, its text, or a number where there is a unit."""
        if isinstance(cell, timedelta):
            return _exact(cell) / self.seconds
        if self.unit is not None:
            number = _NUMBERS.position(cell)
            return None if number is None else _unrounded(number * SECONDS[self.unit] / self.seconds)
        return self._of_text(cell) if isinstance(cell, str) else None

    def literal(self, text: str) -> Fraction | None:
        """Exact place of a duration in the form of cells, or as PT1H30M; none beyond 292,000 years (64 bits)."""
        position = self.position(text)
        position = Durations(self.seconds).position(text) if position is None else position
        return position if position is not None and abs(position * self.seconds) < _LONGEST else None

    def _of_text(self, text: str) -> Fraction | None:
        if self.form is None:
            found = _ISO.fullmatch(text)
            if found is None or not any(found.groups()[1:]):
                return None
            weeks, *others = found.groups()[1:]
            total = 7 * _DAY * int(weeks or 0) + _sum(others, ("d", "h", "min", "s"))
            return (-total if found[1] == "-" else total) / self.seconds
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        minus, *rest = match.groups()
        days = rest[:1] if self._parts[0] == "d" else []
        forward = bool(days) and rest.pop(1) == "+"  # as pandas writes: -1 days +23:00:00
        total = _sum(rest, [_LENGTHS[part] for part in self._parts])
        if forward and minus:
            return (total - 2 * _DAY * int(rest[0])) / self.seconds
        return None if forward else (-total if minus else total) / self.seconds

    def text(self, number: int) -> str:
        """PT1H30M, or P2DT12H from a day on; shorter ones than nothing have a minus before them."""
        days, rest = divmod(abs(number * self.seconds), _DAY)
        clock = [f"{size}{letter}" for size, letter in zip(_clock(rest), "HMS", strict=True) if size]
        parts = (f"{days}D" if days else "") + ("T" + "".join(clock) if clock else "")
        return ("-" if number < 0 else "") + "P" + (parts or "T0S")

    def cell(self, number: int) -> str:
        """The duration in its form, or the number of its unit."""
        seconds = number * self.seconds
        if self.unit is not None:
            return f"{Decimal(seconds) / SECONDS[self.unit]:.12g}"
        if self.form is None:
            return self.text(number)
        parts, by_days = self._parts, self._parts[0] == "d"
        forward = by_days and seconds < 0 and len(parts) > 1
        sizes, left = [], seconds if forward else abs(seconds)
        for part in parts:
            size, left = divmod(left, SECONDS[_LENGTHS[part]])
            sizes.append(size)
        written = [str(sizes[0]) if by_days else f"{sizes[0]:02d}", *(f"{size:02d}" for size in sizes[1:])]
        before, *pieces = _FORM.split(self.form)[::2]
        pieces[0] += "+" if forward else ""
        minus = "-" if seconds < 0 and not forward else ""
        return before + minus + "".join(text + after for text, after in zip(written, pieces, strict=True))

    def values(self, numbers: Ints) -> NDArray[Any]:
        """Durations, or numbers of the unit."""
        seconds = numbers.astype(np.int64) * self.seconds
        if self.unit is None:
            return (seconds * 1_000_000).astype("timedelta64[us]")
        unit = SECONDS[self.unit]
        return np.asarray(seconds // unit if self.seconds % unit == 0 else seconds / unit)


def _unrounded(place: Fraction) -> Fraction:
    """The whole step that a place is, but for the rounding of its number: 20 minutes are .333333333333 hours."""
    step = round(place)
    return Fraction(step) if abs(place - step) * _ROUNDING <= abs(place) else place


def _exact(length: timedelta) -> Fraction:
    """Seconds."""
    return Fraction(length // timedelta(microseconds=1), 1_000_000)


def _sum(parts: Any, units: Any) -> Fraction:
    """Seconds of parts in units, those that are not there as none."""
    sizes = (Fraction(part) * SECONDS[unit] for part, unit in zip(parts, units, strict=True) if part)
    return sum(sizes, Fraction(0))


def _clock(seconds: int) -> tuple[int, int, int]:
    """Hours, minutes and seconds."""
    return seconds // 3600, seconds // 60 % 60, seconds % 60
