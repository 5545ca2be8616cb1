"""Levels: coarser forms of one attribute, made by lists, edges, first characters, dates or tables of parents.

Those of dates, times and durations are hours, parts of a day, days, weeks, months, quarters and years.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain.attribute import (
    MOST_BINS,
    Attribute,
    Binned,
    Categorical,
    IntegerRange,
    Value,
    codes_by_text,
    value_text,
)
from hedgerow.domain.clocks import Durations, TimesOfDay
from hedgerow.domain.derived import DEFAULT_ABOVE, LARGEST_WITH_LEVELS, Derived, coarser
from hedgerow.domain.scales import EPOCH, Calendar, Moments, Scale
from hedgerow.errors import DomainError

_RUN = re.compile(r"(-?\d+)\s*(?:\.\.|-)\s*(-?\d+)")
_NAMED = 3
"""Values that an error names."""


def level_error(name: str, problem: str, remedy: str) -> DomainError:
    """An error that begins with the name of the level."""
    return DomainError(f"level {name!r}: {problem}", remedy=remedy)


def group_level(attribute: Attribute, name: str, groups: Mapping[str, Iterable[Value]]) -> Derived:
    """A level of named groups of values.

    Args:
        attribute: The attribute.
        name: Name of the level.
        groups: For each group its values; ``"0..14"`` or ``"0-14"`` are all whole numbers from the first to the last.
            The missing and the other value stay as they are unless a group lists them.

    Raises:
        DomainError: A value is in no group or in two, or the attribute does not have it.

    Example:
        >>> age = IntegerRange("age", 0, 99)
        >>> group_level(age, "age.stage", {"child": ["0..14"], "adult": ["15..99"]}).attribute.labels
        ('child', 'adult')
    """
    of_code: dict[int, str] = {}
    codes_of = codes_by_text(attribute)
    for label, values in groups.items():
        for value in values:
            for code in _codes_of(attribute, codes_of, name, value):
                if of_code.setdefault(code, label) != label:
                    raise level_error(
                        name,
                        f"the value {attribute.label(code)!r} has two parents, {of_code[code]!r} and {label!r}",
                        "put each value into one group",
                    )
    return level_of_labels(attribute, name, of_code, groups)


def edge_level(attribute: Attribute, name: str, edges: Sequence[float]) -> Derived:
    """A level of bins, made of whole numbers or of finer bins.

    Args:
        attribute: A range of whole numbers, or bins.
        name: Name of the level.
        edges: Edges of its bins, increasing, from the smallest to the largest value; of finer bins, some of theirs.

    Raises:
        DomainError: The attribute has no order, or the edges do not fit its values.

    Example:
        >>> edge_level(IntegerRange("age", 0, 99), "age.stage", [0, 15, 65, 99]).attribute.labels
        ('[0, 15)', '[15, 65)', '[65, 99]')
    """
    if isinstance(attribute, Binned):
        lows, whole, ends = np.array(attribute.edges[:-1]), attribute.whole, (attribute.edges[0], attribute.edges[-1])
        if unknown := set(edges) - set(attribute.edges):
            message = f"the edge {min(unknown):.12g} cuts a bin of {attribute.name!r}"
            raise level_error(name, message, "take edges that its bins have")
    elif isinstance(attribute, IntegerRange):
        lows = np.arange(attribute.minimum, attribute.maximum + 1, dtype=np.float64)
        whole, ends = True, (attribute.minimum, attribute.maximum)
    else:
        raise level_error(name, f"the values of {attribute.name!r} have no order", "list the values of each group")
    level = Binned(name, edges, whole=whole, scale=attribute.scale, missing=attribute.missing, other=attribute.other)
    if level.edges[0] > ends[0] or level.edges[-1] < ends[1]:
        raise level_error(
            name,
            f"its edges leave out values of {attribute.name!r}, which go from {ends[0]:.12g} to {ends[1]:.12g}",
            "begin with the smallest value and end with the largest",
        )
    ordinary = np.minimum(np.searchsorted(level.edges, lows, side="right") - 1, level.ordinary - 1)
    return Derived(level, (attribute.name,), np.concatenate([ordinary, np.arange(level.ordinary, level.size)]))


def prefix_level(attribute: Attribute, length: int) -> Derived:
    """The level ``<attribute>.<length>`` of the first characters of listed values.

    Raises:
        DomainError: The attribute does not list its values, or all begin alike.

    Example:
        >>> prefix_level(Categorical("diagnosis", ("A01", "A02", "B01")), 1).attribute.labels
        ('A', 'B')
    """
    name = f"{attribute.name}.{length}"
    if length < 1:
        raise level_error(name, f"{length} characters", "give a whole number of at least 1")
    return level_of_labels(attribute, name, {code: label[:length] for code, label in labels_in_order(attribute, name)})


def table_levels(attribute: Attribute, names: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[Derived, ...]:
    """Levels from a table that has each value with its parent, the parent of that, and so on.

    Args:
        attribute: The attribute.
        names: Names of the levels, finest first.
        rows: The value, and its label in each level.

    Raises:
        DomainError: A value has no parent, or two, or the attribute does not have it.

    Example:
        >>> rows = [("a", "north"), ("b", "north"), ("c", "south")]
        >>> [level] = table_levels(Categorical("town", ("a", "b", "c")), ["town.region"], rows)
        >>> level.codes.tolist()
        [0, 0, 1]
    """
    groups: list[dict[str, list[Value]]] = [{} for _ in names]
    for value, *labels in rows:
        for name, group, label in zip(names, groups, labels, strict=True):
            if not label:
                raise level_error(name, f"the value {value!r} has no parent", "fill in the cell")
            group.setdefault(label, []).append(value)
    return tuple(group_level(attribute, name, group) for name, group in zip(names, groups, strict=True))


def parent_levels(attribute: Attribute, parents: Iterable[tuple[str, str]]) -> tuple[Derived, ...]:
    """Levels from a list of parents, which have parents themselves: ``parent``, ``parent2``, and so on.

    A value whose parents end earlier than those of others stands for itself further up.

    Args:
        attribute: The attribute.
        parents: Values or parents of these, each with its parent; the top has none, or itself.

    Raises:
        DomainError: A value is not listed, something has two parents, or parents go in a circle.

    Example:
        >>> pairs = [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a", "all"), ("b", "all")]
        >>> [level.name for level in parent_levels(Categorical("code", ("a1", "a2", "b1")), pairs)]
        ['code.parent']
    """
    above: dict[str, str] = {}
    first = f"{attribute.name}.parent"
    for child, parent in parents:
        if above.setdefault(child, parent) != parent:
            raise level_error(
                first, f"{child!r} has two parents, {above[child]!r} and {parent!r}", "list each value with one parent"
            )
    listed = dict(labels_in_order(attribute, first))
    _check_all(first, attribute, [code for code, label in listed.items() if label not in above])
    if circle := _circle(above):
        raise level_error(first, f"the parents go in a circle: {' < '.join(circle)}", "give the topmost no parent")
    levels: list[Derived] = []
    while (labels := {code: above.get(label) or label for code, label in listed.items()}) != listed:
        if len(set(labels.values())) == 1:
            break  # all values together are no level
        name = first if not levels else f"{first}{len(levels) + 1}"
        levels.append(level_of_labels(attribute, name, labels))
        listed = labels
    return tuple(levels)


def check_nested(attribute: Attribute, levels: Sequence[Derived]) -> None:
    """Check that each level of an attribute is made of whole values of the one before.

    Raises:
        DomainError: Two values are together in a level and apart in the next one.

    Example:
        >>> age = IntegerRange("age", 0, 99)
        >>> check_nested(age, [edge_level(age, "fine", [0, 10, 99]), edge_level(age, "coarse", [0, 9, 99])])
        Traceback (most recent call last):
        hedgerow.errors.DomainError: level 'coarse': '0' and '9' are apart in it and together in the finer 'fine'
          Remedy: list levels from the finest to the coarsest; declare one that does not nest under 'derived'
    """
    for fine, coarse in pairwise(levels):
        if coarser(fine.codes, coarse.codes) is None:
            for code in range(fine.attribute.size):
                inside = np.flatnonzero(fine.codes == code)
                apart = inside[coarse.codes[inside] != coarse.codes[inside[0]]] if len(inside) else inside
                if len(apart):
                    one, other = attribute.label(int(inside[0])), attribute.label(int(apart[0]))
                    raise level_error(
                        coarse.name,
                        f"{one!r} and {other!r} are apart in it and together in the finer {fine.name!r}",
                        "list levels from the finest to the coarsest; declare one that does not nest under 'derived'",
                    )


def _codes_of(attribute: Attribute, codes_of: Mapping[str, int], name: str, value: Value) -> Iterable[int]:
    """The codes of a value, or of a run of whole numbers."""
    text = value_text(value)
    if text in codes_of:
        return (codes_of[text],)
    run = _run(attribute, text.strip()) if isinstance(attribute, IntegerRange) else None
    if run is not None and isinstance(attribute, IntegerRange):
        low, high = run
        if attribute.minimum <= low <= high <= attribute.maximum:
            return range(low - attribute.minimum, high + 1 - attribute.minimum)
        raise level_error(
            name, f"{text!r} is no run of values of {attribute.name!r}", "write the smallest and the largest number"
        )
    raise level_error(name, f"{attribute.name!r} has no value {text!r}", "list values that the attribute has")


def _run(attribute: IntegerRange, text: str) -> tuple[int, int] | None:
    """The first and the last number of a run, on the scale of the attribute."""
    if attribute.scale is None:
        return (int(match[1]), int(match[2])) if (match := _RUN.fullmatch(text)) else None
    low, dots, high = text.partition("..")
    ends = attribute.scale.number(low.strip()), attribute.scale.number(high.strip())
    return None if not dots or ends[0] is None or ends[1] is None else (ends[0], ends[1])


def labels_in_order(attribute: Attribute, name: str) -> list[tuple[int, str]]:
    """Ordinary codes of listed values with their labels.

    Raises:
        DomainError: The attribute does not list its values; the message is about the level of this name.

    Example:
        >>> labels_in_order(Categorical("sex", ("F", "M"), missing="?"), "sex.level")
        [(0, 'F'), (1, 'M')]
    """
    if not isinstance(attribute, Categorical):
        raise level_error(name, f"{attribute.name!r} does not list its values", "give widths, edges or groups")
    return [(code, attribute.label(code)) for code in range(attribute.ordinary)]


def level_of_labels(attribute: Attribute, name: str, labels: Mapping[int, str], order: Iterable[str] = ()) -> Derived:
    """The level that gives codes their labels; the missing and the other value keep theirs unless given one.

    Args:
        attribute: The attribute.
        name: Name of the level.
        labels: The label of each ordinary code.
        order: Labels that come first.

    Raises:
        DomainError: A code has no label, or all have the same.

    Example:
        >>> level_of_labels(Categorical("town", ("a", "b", "c")), "town.part", {0: "x", 1: "x", 2: "y"}).codes.tolist()
        [0, 0, 1]
    """
    missing = None if attribute.missing_code in labels else attribute.missing
    other = None if attribute.other_code in labels else attribute.other
    _check_all(name, attribute, [code for code in range(attribute.ordinary) if code not in labels])
    values = list(dict.fromkeys([*order, *(labels[code] for code in sorted(labels))]))
    if len(values) < 2:
        raise level_error(name, f"all values of {attribute.name!r} are in {values[0]!r}", "leave the level out")
    level = Categorical(name, values, missing=missing, other=other)
    place = {label: code for code, label in enumerate(level.labels)}
    extra = {attribute.missing_code: attribute.missing, attribute.other_code: attribute.other}
    return Derived(
        level, (attribute.name,), [place[labels.get(code) or str(extra[code])] for code in range(attribute.size)]
    )


def _check_all(name: str, attribute: Attribute, without: Sequence[int]) -> None:
    if without:
        shown = ", ".join(repr(attribute.label(code)) for code in without[:_NAMED])
        more = f" and {len(without) - _NAMED:,} more" if len(without) > _NAMED else ""
        raise level_error(
            name,
            f"{'values' if len(without) > 1 else 'the value'} {shown}{more} of {attribute.name!r} "
            f"{'have' if len(without) > 1 else 'has'} no parent",
            "give each value a parent",
        )


def _circle(above: Mapping[str, str]) -> list[str]:
    """Labels of which each is followed by its parent, the first and the last the same; empty if there is no circle."""
    graph = {label: (parent,) for label, parent in above.items() if parent not in {label, ""}}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        labels: list[str] = error.args[1][:0:-1]  # which it lists from parents to children
        start = labels.index(next(label for label in graph if label in labels))
        return [*labels[start:], *labels[: start + 1]]
    return []


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


def unit_starts(scale: Scale, unit: Unit, low: int, high: int) -> list[int] | None:
    """The steps at which a unit begins, after ``low`` up to ``high``; None if it is not longer than a step.

    Raises:
        DomainError: There are more than ``MOST_BINS`` such units.

    Example:
        >>> unit_starts(Calendar(), "month", 18_262, 18_330), unit_starts(Moments(3600), "day", 5, 60)
        ([18293, 18322], [24, 48])
    """
    ends = _units_of(np.array([low, high]), scale, unit)
    if ends is None:
        return None
    if ends[1] - ends[0] >= MOST_BINS:
        raise DomainError(f"{ends[1] - ends[0] + 1:,} bins by the {unit}", remedy=f"give at most {MOST_BINS:,}")
    if unit in _SECONDS:
        first = np.arange(ends[0] + 1, ends[1] + 1) * _SECONDS[unit]
    else:
        calendar = Calendar(unit)  # type: ignore[arg-type] # shorter ones are no unit of it, and not here
        first = np.array([calendar.first_day(each) for each in range(ends[0] + 1, ends[1] + 1)], np.int64) * _DAY
    seconds = _DAY if isinstance(scale, Calendar) else scale.seconds  # type: ignore[attr-defined] # as above
    return [-(-each // seconds) for each in first.tolist()]


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
