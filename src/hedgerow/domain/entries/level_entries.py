"""Entries of domain files for the levels of an attribute."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, attribute_error
from hedgerow.domain.derived import Derived, width_level
from hedgerow.domain.entries.bins import edges_entry, edges_of
from hedgerow.domain.entries.functions import read_table
from hedgerow.domain.levels import (
    CALENDAR,
    calendar_level,
    check_nested,
    edge_level,
    group_level,
    parent_levels,
    prefix_level,
    table_levels,
)
from hedgerow.errors import DomainError

NONE = "none"
"""The entry of an attribute without levels, default ones neither."""

_REMEDY = (
    "give widths as in [5, 20], groups as in {stage: {child: [0..14], adult: [15..99]}}, edges as in "
    "{stage: {edges: [0, 15, 99]}}, first characters as in {prefix: [3, 1]}, [month, quarter, year], {table: FILE}, "
    "or none"
)


def levels_of(attribute: Attribute, entry: object, folder: Path | None) -> list[Derived]:
    """The levels that an entry describes, finest first.

    Args:
        attribute: The attribute.
        entry: A list of widths, words of the calendar and mappings, or one mapping, as `_REMEDY` has them.
        folder: Folder of the domain file, if there is one.

    Raises:
        DomainError: The entry is not understood, or the levels do not fit the attribute or do not nest.

    Example:
        >>> [level.name for level in levels_of(IntegerRange("age", 0, 99), [5, 20], None)]
        ['age.5', 'age.20']
    """
    if entry == NONE:
        return []
    items = entry if isinstance(entry, list | tuple) else [entry]
    levels = [level for item in items for level in _levels(attribute, item, folder)]
    if not levels:
        raise attribute_error(attribute.name, "'levels' is empty", _REMEDY)
    check_nested(attribute, levels)
    return levels


def level_item(attribute: Attribute, level: Derived) -> Any:
    """The item of the list of levels that gives one; None if there is none.

    Example:
        >>> age = IntegerRange("age", 0, 99)
        >>> five, stage = levels_of(age, [5, {"stage": {"child": ["0..14"], "adult": ["15-99"]}}], None)
        >>> level_item(age, five), level_item(age, stage)
        (5, {'stage': {'child': ['0..14'], 'adult': ['15..99']}})
    """
    suffix = level.name.removeprefix(f"{attribute.name}.")
    if suffix == level.name or level.sources != (attribute.name,) or level.column:
        return None
    for item in _candidates(attribute, level, suffix):
        try:
            if _levels(attribute, item, None) == [level]:
                return item
        except DomainError:
            continue
    return None


def _candidates(attribute: Attribute, level: Derived, suffix: str) -> list[Any]:
    if isinstance(level.attribute, Binned):
        edges = edges_entry(level.attribute)
        return [*([int(suffix)] if suffix.isdecimal() else []), {suffix: {"edges": edges}}]
    if isinstance(level.attribute, IntegerRange) and suffix in CALENDAR:
        return [suffix]
    if not isinstance(level.attribute, Categorical):
        return []
    groups: dict[str, list[Any]] = {label: [] for label in level.attribute.labels}
    kept = {attribute.missing_code: level.attribute.missing_code, attribute.other_code: level.attribute.other_code}
    for code, of_level in enumerate(level.codes.tolist()):
        if kept.get(code, -1) != of_level:
            groups[level.attribute.label(of_level)].append(code)
    listed = {label: _written(attribute, codes) for label, codes in groups.items() if codes}
    known = [suffix] if suffix in CALENDAR else [{"prefix": [int(suffix)]}] if suffix.isdecimal() else []
    return [*known, {suffix: listed}]


def _written(attribute: Attribute, codes: Sequence[int]) -> list[Any]:
    """Values, runs of whole numbers in short."""
    if not isinstance(attribute, IntegerRange):
        return [attribute.label(code) for code in codes]
    written: list[Any] = []
    start = 0
    for place, code in enumerate(codes):
        last = place + 1 == len(codes) or codes[place + 1] != code + 1 or code + 1 >= attribute.ordinary
        if last:
            low, high = attribute.label(codes[start]), attribute.label(code)
            written.append(f"{low}..{high}" if low != high else low)
            start = place + 1
    return written


def _levels(attribute: Attribute, item: object, folder: Path | None) -> list[Derived]:
    if isinstance(item, int) and not isinstance(item, bool):
        return [width_level(attribute, item)]
    if isinstance(item, str) and item in CALENDAR:
        return [calendar_level(attribute, item)]
    if not isinstance(item, Mapping) or not item:
        raise attribute_error(attribute.name, f"{item!r} describes no level", _REMEDY)
    return [level for name, given in item.items() for level in _named(attribute, str(name), given, folder)]


def _named(attribute: Attribute, name: str, given: object, folder: Path | None) -> Sequence[Derived]:
    full = f"{attribute.name}.{name}"
    if name == "prefix" and isinstance(given, list) and all(isinstance(length, int) for length in given):
        return [prefix_level(attribute, length) for length in given]
    if name == "table" and isinstance(given, str):
        return _from_table(attribute, given, folder)
    if not isinstance(given, Mapping):
        raise attribute_error(attribute.name, f"the level {name!r} has neither groups nor edges", _REMEDY)
    if set(given) == {"edges"} and isinstance(given["edges"], list):
        return [edge_level(attribute, full, edges_of(full, given["edges"], attribute.scale))]
    groups = {str(label): values if isinstance(values, list) else [values] for label, values in given.items()}
    for values in groups.values():
        if not all(isinstance(value, str | int | float) for value in values):
            raise attribute_error(attribute.name, f"a group of the level {name!r} lists no plain values", _REMEDY)
    return [group_level(attribute, full, groups)]


def _from_table(attribute: Attribute, path: str, folder: Path | None) -> Sequence[Derived]:
    header, rows = read_table(path, folder, f"levels of {attribute.name!r}")
    if len(header) < 2:
        raise attribute_error(attribute.name, f"the table {path!r} has no column of parents", "give code and parent")
    if header[1:] == ("parent",):
        return parent_levels(attribute, [(row[0], row[1]) for row in rows])
    return table_levels(attribute, [f"{attribute.name}.{name}" for name in header[1:]], rows)
