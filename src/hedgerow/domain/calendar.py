"""Levels of dates, times and durations: hours, parts of a day, days, weeks, months, quarters and years."""

from __future__ import annotations

from datetime import date
from typing import Literal, get_args

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange
from hedgerow.domain.clocks import Durations, TimesOfDay
from hedgerow.domain.derived import DEFAULT_ABOVE, LARGEST_WITH_LEVELS, Derived
from hedgerow.domain.levels import labels_in_order, level_error, level_of_labels
from hedgerow.domain.scales import EPOCH, Calendar, Moments, Scale

Unit = Literal["hour", "part", "day", "week", "month", "quarter", "year"]
CALENDAR: tuple[Unit, ...] = get_args(Unit)
"""Levels of dates and times, finest first; weeks cross the ends of months.

A time of day has hours and parts of the day, of six hours from midnight on; a duration hours and days.
"""

DEFAULT: tuple[Unit, ...] = ("hour", "part", "day", "month", "quarter", "year")
"""Levels that dates and times have unless others are declared, where they are coarser than their steps."""

_SECONDS = {"hour": 3600, "part": 6 * 3600, "day": 86_400}
_DAY = _SECONDS["day"]
_UNITS_OF: dict[type[Scale], tuple[Unit, ...]] = {
    TimesOfDay: ("hour", "part"),
    Durations: ("hour", "day"),
    Moments: ("hour", "day", "week", "month", "quarter", "year"),
    Calendar: ("week", "month", "quarter", "year"),
}


def calendar_level(attribute: Attribute, unit: Unit) -> Derived:
    """The level ``<attribute>.<unit>`` of dates or times.

    Of a range or bins of dates or times it is a range of units; of listed dates in the form 2020-01-31 it has the units
    that the list has dates in.

    Args:
        attribute: A range of dates or times, bins of some that cross no end of a unit, or an attribute whose ordinary
            values are dates.
        unit: One of ``CALENDAR``, longer than the steps of the range and than some bin.

    Raises:
        DomainError: A value is not a date, the unit is not longer than a step or bin, a bin lies in two units, or all
            values are in one unit.

    Example:
        >>> days = IntegerRange("admitted", 18262, 18321, scale=Calendar())
        >>> calendar_level(days, "month").attribute.labels
        ('2020-01', '2020-02')
        >>> dates = Categorical("day", ("2020-01-31", "2020-02-01", "2020-04-01"))
        >>> calendar_level(dates, "quarter").attribute.labels
        ('2020-Q1', '2020-Q2')
    """
    name = f"{attribute.name}.{unit}"
    if isinstance(attribute, Categorical):
        return _of_listed(attribute, name, unit)
    scale = attribute.scale
    units = _units(attribute, unit) if isinstance(attribute, IntegerRange | Binned) else None
    if units is None and isinstance(attribute, Binned) and type(scale) in _UNITS_OF:
        raise level_error(
            name,
            f"a bin of {attribute.name!r} lies in two units, or all are {unit}s themselves",
            "cut bins at the ends of units, as in 'bins: month', and take a longer unit",
        )
    if units is None:
        raise level_error(
            name,
            f"{attribute.name!r} has no steps shorter than a {unit}",
            "declare its bounds as dates, as in 'min: 2020-01-01', times, as in 'min: 2020-01-01T00:00' or "
            "'min: 00:00', or durations, as in 'min: PT0H'",
        )
    low, high = int(units[0]), int(units[-1])
    if low == high:
        raise level_error(name, f"all values of {attribute.name!r} are in one {unit}", "leave the level out")
    level = IntegerRange(
        name, low, high, scale=_scale_of(scale, unit), missing=attribute.missing, other=attribute.other
    )
    extra = np.arange(level.ordinary, level.size)
    return Derived(level, (attribute.name,), np.concatenate([units - low, extra]))


def calendar_levels(attribute: Attribute) -> tuple[Derived, ...]:
    """The levels that a range or bins of dates or times have unless others are declared, finest first; else none.

    None for at most ``DEFAULT_ABOVE`` values and for more than ``LARGEST_WITH_LEVELS``.

    Example:
        >>> days = IntegerRange("admitted", 18262, 18992, scale=Calendar())
        >>> [level.name for level in calendar_levels(days)]
        ['admitted.month', 'admitted.quarter', 'admitted.year']
    """
    if (
        not isinstance(attribute, IntegerRange | Binned)
        or not DEFAULT_ABOVE < attribute.ordinary <= LARGEST_WITH_LEVELS
    ):
        return ()
    units = ((unit, _units(attribute, unit)) for unit in DEFAULT)
    several = [unit for unit, found in units if found is not None and found[0] != found[-1]]
    return tuple(calendar_level(attribute, unit) for unit in several)


def _scale_of(scale: Scale | None, unit: Unit) -> Scale | None:
    """The scale of units of numbers on another; None for years, which are numbers."""
    if unit in _SECONDS and isinstance(scale, TimesOfDay | Durations):
        return type(scale)(_SECONDS[unit])
    if unit == "hour":
        return Moments(_SECONDS[unit])
    return None if unit == "year" else Calendar(unit)  # type: ignore[arg-type] # parts are of times of day alone


def _units(attribute: IntegerRange | Binned, unit: Unit) -> Ints | None:
    """The unit of each ordinary value; None where it is not longer than a step or than any bin, or a bin has two."""
    scale = attribute.scale
    if isinstance(attribute, IntegerRange):
        return _units_of(np.arange(attribute.minimum, attribute.maximum + 1), scale, unit)
    ends = np.array([attribute.whole_bounds(code) for code in range(attribute.ordinary)]) if scale else np.empty((0, 2))
    first, last = (_units_of(end, scale, unit) for end in ends.T)
    if first is None or last is None or (first != last).any() or len(np.unique(first)) == attribute.ordinary:
        return None
    return first


def _units_of(numbers: Ints, scale: Scale | None, unit: Unit) -> Ints | None:
    """The unit of each number on a scale; None where it is not longer than a step."""
    if scale is None or unit not in _UNITS_OF.get(type(scale), ()):
        return None
    if isinstance(scale, Calendar):
        days = numbers if scale.unit == "day" else None
    elif not isinstance(scale, Moments | TimesOfDay | Durations) or scale.seconds >= _SECONDS.get(unit, _DAY):
        return None
    elif unit in _SECONDS:
        return np.asarray(numbers * scale.seconds // _SECONDS[unit])
    else:
        days = numbers * scale.seconds // _DAY
    if days is None:
        return None
    return Calendar(unit).of_days(days)  # type: ignore[arg-type] # shorter ones are no unit of it, and not here


def _of_listed(attribute: Categorical, name: str, unit: Unit) -> Derived:
    labels = {}
    for code, label in labels_in_order(attribute, name):
        try:
            day = date.fromisoformat(label)
        except ValueError:
            raise level_error(name, f"the value {label!r} is not a date", "write dates as 2020-01-31") from None
        if unit in _SECONDS:
            raise level_error(name, f"{attribute.name!r} has no steps shorter than a {unit}", "take a longer unit")
        calendar = Calendar(unit)  # type: ignore[arg-type] # shorter ones are no unit of it, and not here
        labels[code] = calendar.text(calendar.of_day(day.toordinal() - EPOCH))
    return level_of_labels(attribute, name, labels)
