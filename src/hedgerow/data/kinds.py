"""Kinds of columns that a draft proposes: dates, times, durations and decimals, by the way that all cells look."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.domain import Calendar, Durations, Moments, Scale, TimesOfDay
from hedgerow.domain.arrow import texts_of_times
from hedgerow.domain.scales import TICKS
from hedgerow.errors import DomainError

_LOOKS = re.compile(
    r"(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}|[A-Za-z]{3,9} \d{1,2}, \d{4})"
    r"(?:[T ]\d{1,2}:\d\d.*)?|\d{8}|-?\d+:\d\d(?::.*)?(?: [AaPp][Mm])?|[+-]?P[0-9DTHMSW.]+|-?\d+ days .*"
)
_COMPACT = ("%Y%m%d", "%d%m%Y", "%m%d%Y")
_NAMED = ("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%d-%B-%Y", "%B %d, %Y")
_SHORT = ("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%d-%b-%y", "%d %b %y")
_DATES = (None, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", *_NAMED, *_SHORT)
_PLAUSIBLE = range(-43_829, 47_482)
"""Days from 1850 to 2099: eight digits are a date only where all of them lie here."""
_CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
_TIMES = (*(f"{day or '%Y-%m-%d'} {clock}" for day in _DATES for clock in _CLOCKS), None)
_LENGTHS = (None, "%H:%M:%S", "%H:%M", "%d days %H:%M:%S")
_ORDERS = (("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"), ("%d%m%Y", "%m%d%Y"), ("%d/%m/%y", "%m/%d/%y"))
"""Pairs of forms of the same texts, days and months exchanged."""
_OFFSET = re.compile(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d(?::\d\d)?((?:\.0+)?(?:Z|[+-]\d\d:?\d\d))")
"""Times that may all have one offset, which then is a part of their form."""
_DAY = 86_400
_MICROSECONDS = 1_000_000
_STEPS = {86_400: "1d", 3600: "1h", 900: "15min", 60: "1min", 1: "1s"}
_MOST_BINS = 60
_LENGTHS_OF_TIME = (
    *(1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50),
    *(60 * minutes for minutes in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 90)),
    *(3600 * hours for hours in (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 21)),
    *(86_400 * days for days in (1, 2, 3, 4, 5, 6, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 270, 360, 540, 720, 1000)),
)
"""Seconds of durations that bins may begin at."""
_TAIL = 0.01
"""Share of the rows in each tail, where bins would hold next to nothing."""
_MANY = 1_000
"""Distinct texts that are looked at together ..."""
_FIRST = 20
"""... but for the first ones, which decide which forms are left."""
_MOST_VALUES = 200
"""Times of day and durations that get a code each."""
_MOST_DIGITS = 6
_EPOCHS = (631_152_000, 2_208_988_800)
"""Seconds since 1970 of the years 1990 and 2040."""
_CLOCK_READINGS = 20
"""Different numbers that show that all of them are times of day."""


class Spellings:
    """Scales of dates, times and durations that all texts of a column are on.

    Example:
        >>> spellings = Spellings()
        >>> for text in ("31.12.2019", "01.02.2020"):
        ...     spellings.add(text)
        >>> spellings.options()
        ({'min': '2019-12-01', 'max': '2020-02-29', 'format': '%d.%m.%Y'}, False)
    """

    def __init__(self) -> None:
        """Begin with every form that is known."""
        self._found: dict[Scale, tuple[int, int, int]] = {
            **{Calendar(form=form): (0, 0, 0) for form in (*_DATES, *_COMPACT)},
            **{Moments(1, form): (0, 0, 0) for form in _TIMES},
            Moments(1, zone="UTC"): (0, 0, 0),
            **{TimesOfDay(1, form): (0, 0, 0) for form in (*_CLOCKS, None)},
            **{Durations(60 if form == "%H:%M" else 1, form): (0, 0, 0) for form in _LENGTHS},
        }
        self._empty, self._zoned = True, False
        self._padded, self._bare, self._between = set(self._found), set(self._found), set[Scale]()
        self._lengths: Counter[int] = Counter()

    @classmethod
    def split(cls, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Texts that are dates, times or durations in one form, that of most, and the others.

        Args:
            texts: Distinct texts.

        Example:
            >>> Spellings.split(["2020-01-31", "2020-05-01", "01.02.2020"])
            (['2020-01-31', '2020-05-01'], ['01.02.2020'])
        """
        forms: dict[Scale, list[str]] = {}
        for text in filter(_LOOKS.fullmatch, texts):
            one = cls()
            one.add(text)
            for scale in one._found:
                forms.setdefault(scale, []).append(text)
        most = max(forms.values(), key=len, default=[])
        return most, [text for text in texts if text not in most]

    def prefer_zone(self, zone: str) -> None:
        """Take times to be those of a zone, if it is known by a name, before any text is added.

        Args:
            zone: The zone that the source declares.
        """
        if self._empty:
            self._zoned = True
            with suppress(DomainError):  # an offset, say
                self._found = {Moments(1, zone=zone): (0, 0, 0)} | self._found

    @property
    def is_possible(self) -> bool:
        """Whether there is a scale that all texts so far are on."""
        return bool(self._found)

    def add(self, text: str, count: int = 1) -> None:
        """Keep the scales that a text is on.

        Args:
            text: The text.
            count: Number of rows that hold it.
        """
        if not self._found:
            return
        if not _LOOKS.fullmatch(text):
            self._found.clear()
            return
        if self._empty and not self._zoned and (offset := _OFFSET.fullmatch(text)):
            forms = (f"%Y-%m-%d{offset[1]}%H:%M{seconds}{offset[2]}" for seconds in (":%S", ""))
            known = {Moments(1, form): (0, 0, 0) for form in forms}
            self._found, self._padded = known | self._found, self._padded | set(known)
        kept = {}
        for scale, (low, high, common) in self._found.items():
            place = scale.position(text)
            if place is not None and (place.denominator == 1 or (isinstance(scale, Moments) and scale.form is None)):
                number = math.floor(place)
                if number != place:
                    self._between.add(scale)
                if scale.form in _COMPACT and number not in _PLAUSIBLE:
                    continue
                ends = (number, number) if self._empty else (min(low, number), max(high, number))
                kept[scale] = (*ends, math.gcd(common, number))
                if isinstance(scale, Calendar | Moments | TimesOfDay) and scale.form is not None:
                    if scale.cell(number) != text:
                        self._padded.discard(scale)
                    if replace(scale, form=_bare(scale.form)).cell(number) != text:
                        self._bare.discard(scale)
                if isinstance(scale, Durations):
                    self._lengths[bisect_right(_LENGTHS_OF_TIME, number * scale.seconds)] += count
        self._found, self._empty = kept, False

    def add_all(self, texts: pa.Array[Any], counts: NDArray[np.int64]) -> None:
        """Keep the scales that all of some distinct texts are on.

        Args:
            texts: The texts.
            counts: The number of rows that have each.
        """
        first = len(texts) if len(texts) <= _MANY else _FIRST
        listed: list[Any] = texts.to_pylist()
        texts_and_counts = list(zip(listed, counts.tolist(), strict=True))
        for text, count in texts_and_counts[:first]:
            self.add(text, count)
        if first < len(texts) and self._found and not self._add_many(texts.slice(first)):
            for text, count in texts_and_counts[first:]:
                self.add(text, count)

    def _add_many(self, texts: pa.Array[Any]) -> bool:
        """Keep the scales that many texts are on, all at once; of dates and times, which may be as many as rows.

        A text that is read in another way than one by one makes a draft that its table refuses, and is found then.

        Args:
            texts: Distinct texts, none of them null.

        Returns:
            Whether it could be done: else they are to be added one by one.
        """
        if self._empty or not self._found or not all(isinstance(each, Calendar | Moments) for each in self._found):
            return not self._found
        kept = {}
        for scale, (low, high, common) in self._found.items():
            numbers, between = _numbers(scale, texts)
            if numbers is None:
                continue
            if between:
                self._between.add(scale)
            if (form := scale.form) is not None:
                times = pa.array(numbers * (_DAY if isinstance(scale, Calendar) else 1), pa.timestamp("s"))
                for kept_scales, written in ((self._padded, form), (self._bare, _bare(form))):
                    if scale in kept_scales and not pc.all(pc.equal(texts_of_times(times, written), texts)).as_py():
                        kept_scales.discard(scale)
            least, most = int(numbers.min()), int(numbers.max())
            if scale.form in _COMPACT and not (least in _PLAUSIBLE and most in _PLAUSIBLE):
                continue
            kept[scale] = min(low, least), max(high, most), math.gcd(common, int(np.gcd.reduce(numbers)))
        self._found = kept
        return True

    def options(self) -> tuple[dict[str, Any], bool] | None:
        """The entry of the column, and whether day and month could be exchanged; None where it holds no dates."""
        if self._empty or not self._found:
            return None
        scale, (low, high, common) = next(iter(self._found.items()))
        is_bare = scale not in self._padded and scale in self._bare
        if is_bare and isinstance(scale, Calendar | Moments | TimesOfDay) and scale.form is not None:
            scale = replace(scale, form=_bare(scale.form))
        forms = [each.form or "" for each in self._found if isinstance(each, Calendar | Moments)]
        several = any(all(any(form.startswith(one) for form in forms) for one in pair) for pair in _ORDERS)
        if isinstance(scale, TimesOfDay | Durations):
            return self._of_clock(scale, low, high, common), False
        written = {"format": scale.form} if isinstance(scale, Calendar | Moments) and scale.form else {}
        if isinstance(scale, Moments):
            written |= {"zone": scale.zone} if scale.zone else {}
            step = next(seconds for seconds in _STEPS if common % seconds == 0 and seconds < _DAY)
            rounds = {"round": True} if scale in self._between else {}
            return _moments(low // _DAY, high // _DAY, step) | written | rounds, several
        first, last = _outward(low, high)
        entry: dict[str, Any] = {"min": first, "max": last} | written
        return entry | _bins(_number(first), _number(last)), several

    def _of_clock(self, scale: TimesOfDay | Durations, low: int, high: int, common: int) -> dict[str, Any]:
        """The entry of times of day, all of a day, or of durations, between round ones."""
        step = next(seconds for seconds in _STEPS if common * scale.seconds % seconds == 0 and seconds < _DAY)
        usual = isinstance(scale, TimesOfDay) and scale.form == "%H:%M" and step >= 60
        form = {"format": scale.form} if scale.form and not usual else {}
        first, last = 0, _DAY - step
        if isinstance(scale, Durations):
            wide = max(abs(low), abs(high)) * scale.seconds > 2 * _DAY
            around = _DAY if wide else max(step, 3600)
            first = min(low * scale.seconds // around * around, 0)
            last = max(-(-high * scale.seconds // around) * around, step)
        text = type(scale)(step).text
        ends = {"min": text(first // step), "max": text(last // step)}
        if (last - first) // step < _MOST_VALUES:
            return ends | {"step": _STEPS[step]} | form
        if isinstance(scale, Durations) and first == 0:
            edges = [first, *(edge for edge in self._bulk() if first < edge < last and edge % step == 0), last]
            return {"edges": [text(edge // step) for edge in edges], "step": _STEPS[step]} | form
        return ends | {"step": _STEPS[step]} | form | {"bins": 24}

    def _bulk(self) -> tuple[int, ...]:
        """Round lengths of time, those beyond the first and the last hundredth of the rows left out, but for days."""
        rows, below = self._lengths.total(), 0
        kept = []
        for place, edge in enumerate(_LENGTHS_OF_TIME):
            below += self._lengths[place]
            if below >= _TAIL * rows and (below < (1.0 - _TAIL) * rows or edge % (10 * _DAY) == 0):
                kept.append(edge)
        return tuple(kept)


def _bare(form: str) -> str:
    """A form without zeros before days, months and hours."""
    return re.sub(r"%([dmHI])", r"%-\1", form)


def _numbers(scale: Scale, texts: pa.Array[Any]) -> tuple[NDArray[np.int64] | None, bool]:
    """The numbers of dates and times, in steps, and whether fractions were left out; None off the scale."""
    form = scale.form
    if form is None and isinstance(scale, Moments):
        try:
            parsed: Any = texts.cast(pa.timestamp("us", scale.zone) if scale.zone else pa.timestamp("us"))
        except pa.ArrowInvalid:
            return None, False
        local: Any = pc.local_timestamp(parsed) if scale.zone else parsed
        ticks: NDArray[np.int64] = np.asarray(local.cast(pa.int64()))
        return ticks // _MICROSECONDS, bool((ticks % _MICROSECONDS).any())
    times: Any = pc.strptime(texts, format=form or "%Y-%m-%d", unit="s", error_is_null=True)
    if times.null_count:
        return None, False
    seconds: NDArray[np.int64] = np.asarray(times.cast(pa.int64()))
    return seconds // _DAY if isinstance(scale, Calendar) else seconds, False


def _moments(low: int, high: int, step: int) -> dict[str, Any]:
    """The entry of times between two days, in steps of so many seconds."""
    first, last = _outward(low, high)
    most = Moments(step).text((_number(last) + 1) * _DAY // step - 1)
    bins = _bins(_number(first), _number(last)) or {"bins": "day"}
    return {"min": f"{first}T00:00", "max": most, "step": _STEPS[step]} | bins


def epoch_options(low: float, high: float, common: int, *, named: bool) -> dict[str, Any] | None:
    """The entry of a column of times that are whole numbers since 1970; None if they are something else.

    Numbers are taken for such times where all of them lie between 1990 and 2040; for seconds, which telephone numbers
    are as long as, the name of the column must say so too.

    Args:
        low: Smallest number.
        high: Largest number.
        common: Greatest common divisor of all numbers, as far as floating point tells it.
        named: Whether the name of the column speaks of a time.

    Example:
        >>> epoch_options(1.6e12, 1.7e12, 1000, named=False)["unit"]
        'ms'
        >>> epoch_options(1.6e9, 1.7e9, 1, named=False)
    """
    for unit, ticks in TICKS.items():
        if _EPOCHS[0] <= low / ticks and high / ticks <= _EPOCHS[1] and (named or unit != "s"):
            whole = high < 2**53 and common % ticks == 0
            step = next((s for s in _STEPS if whole and s < _DAY and common // ticks % s == 0), 1)
            first, last = (int(end / ticks) // _DAY for end in (low, high))
            return _moments(first, last, step) | {"unit": unit} | ({} if whole else {"round": True})
    return None


def clock_options(texts: Iterable[str], *, typed: bool) -> dict[str, Any] | None:
    """The entry of a column of times of day that are written as whole numbers, as 905 or 0905; None if they are none.

    Args:
        texts: Texts of all its numbers.
        typed: Whether the source declares a type, which stands in the entry in any case.

    Example:
        >>> clock_options([str(100 * hour + minute) for hour in range(24) for minute in (0, 30)], typed=False)
        {'min': '00:00', 'max': '23:59', 'step': '1min', 'bins': 24, 'format': '%H%M', 'type': 'int64'}
        >>> clock_options(["5", "70"], typed=False), clock_options(["905", "1230", "12345"], typed=False)
        (None, None)
    """
    listed = list(texts)
    if any(not text.isdecimal() or len(text) > 4 for text in listed):
        return None
    numbers = {int(text) for text in listed}
    clock = all(number // 100 < 24 and number % 100 < 60 for number in numbers)
    if not clock or len(numbers) < _CLOCK_READINGS or max(numbers) < 1000 or max(n % 100 for n in numbers) < 30:
        return None
    found = {"min": "00:00", "max": "23:59", "step": "1min", "bins": 24, "format": "%H%M"}
    return found if typed else found | {"type": "int64"}


def _number(text: str) -> int:
    number = Calendar().number(text)
    return 0 if number is None else number


def _outward(low: int, high: int) -> tuple[str, str]:
    """The first and the last day of the years, or of the months where they are few, around two days."""
    calendar = Calendar("year" if high - low > 366 else "month")
    first, after = calendar.first_day(calendar.of_day(low)), calendar.first_day(calendar.of_day(high) + 1)
    return Calendar().text(first), Calendar().text(after - 1)


def _bins(low: int, high: int) -> dict[str, str]:
    """Bins by the shortest unit that makes few and crosses no longer one; none where the days are few themselves."""
    if high - low < 100:
        return {}
    for unit in ("month", "quarter"):
        calendar = Calendar(unit)
        if calendar.of_day(high) - calendar.of_day(low) < _MOST_BINS:
            return {"bins": unit}
    return {"bins": "year"}


def digits_of(text: str) -> int | None:
    """Digits after the point of a number; None where it is written with a power of ten.

    Example:
        >>> digits_of("36.6"), digits_of("-3"), digits_of("1e-5")
        (1, 0, None)
    """
    whole, _, fraction = text.partition(".")
    return len(fraction) if whole.lstrip("+-").isdecimal() and (not fraction or fraction.isdecimal()) else None


def decimal_options(low: float, high: float, digits: int | None) -> dict[str, Any] | None:
    """The entry of a column of decimal numbers with few digits; None if they have more, or none.

    Args:
        low: Smallest number.
        high: Largest number.
        digits: Most digits after the point.

    Example:
        >>> decimal_options(35.2, 41.9, 1)
        {'min': 35, 'max': 42, 'step': 0.1}
    """
    if digits is None or not 0 < digits <= _MOST_DIGITS or (high - low) * 10**digits >= 2**53:
        return None
    ends = {"min": math.floor(low), "max": math.ceil(high)}
    step = float(f"1e-{digits}")
    values = (ends["max"] - ends["min"]) * 10**digits
    return {**ends, "step": step} | ({"bins": 20} if values > 200 else {})
