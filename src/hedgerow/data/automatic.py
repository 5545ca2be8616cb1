"""A domain from public facts alone: names of a table's columns, and what is said of them: types and bounds.

A type is public where it is declared: in the call, or by a database, which stores it apart from the cells. Those of a
Parquet file or a data frame were chosen by whoever wrote the cells, and one cell can change them: an empty one makes
doubles of whole numbers, the first one gives a column a type that had none. So they are not looked at, unless somebody
vouches for them, which the domain then says. A column of which nothing is declared is one of labels. What is not public
is learnt under the budget: the values of labels, and the bins of what has many values. No cell decides anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from hedgerow.data.reading import open_place, open_table
from hedgerow.data.scanning.chunks import is_stored_in_spark, spark_frame
from hedgerow.domain import TimesOfDay, attribute_of, kind_of_type
from hedgerow.domain.clocks import SECONDS
from hedgerow.errors import ConfigError, DomainError

Bounds = tuple[str, str]

MOST_VALUES = 500
"""Values of a column of labels that are learnt, at most."""
BINS = 32
"""Bins that are learnt of a column with many values, beside 0 and the largest number, which many records may hold."""
_FEW = 100
"""Up to so many values each has a code of its own."""
_STEP = "1min"
"""Step of times and durations."""


def automatic_domain(
    source: Any,
    *,
    bounds: Mapping[str, Bounds] | None = None,
    types: Mapping[str, str] | None = None,
    trust_types: bool = False,
    columns: Iterable[str] | None = None,
    apart: Iterable[str] = (),
) -> dict[str, Any]:
    """The content of a domain file that follows from names of columns, and from what is declared of them.

    Args:
        source: The table: a place or a data frame; of its rows nothing is used.
        bounds: The smallest and the largest value of columns of numbers, dates, times or durations, as texts. Without a
            type they say what their column holds: ``("0", "120")`` whole numbers, ``("0.0", "120.0")`` numbers with
            fractions, others dates, times on dates, times of day or durations.
        types: Types of columns: ``int``, ``number``, ``text``, ``bool``, ``date``, ``time`` (of day), ``datetime`` and
            ``duration``. Behind a colon may stand the step, the form of texts, or both: ``number:0.5``,
            ``date:%d.%m.%Y``, ``datetime:15min:%d.%m.%Y %H:%M``. They stand above those of a database.
        trust_types: Whether types that a Parquet file, a data frame or a view has are taken for public; the domain, and
            the guarantee of a release over it, say so.
        columns: Names of the columns that are wanted; None for all.
        apart: Names of columns that say something of rows, and are none of the records'.

    Returns:
        The content that `OpenDomain` reads. Columns whose declared type holds neither texts nor numbers are ignored.

    Raises:
        ConfigError: Columns of numbers or dates have no bounds, bounds or a type are given for a column that has none,
            or a type is unknown.
        DomainError: Bounds do not fit the type of their column.
        UnreadableTableError: The table is not there.

    Example:
        >>> table = pa.table({"job": ["nurse"], "age": [30], "well": [True]})
        >>> automatic_domain(table, bounds={"age": ("0", "120")}, types={"well": "bool"})["attributes"]
        {'job': {'values': {'learn': 500}},
         'age': {'min': 0, 'max': 120, 'missing': True, 'whole': True, 'bins': {'learn': 32}, 'points': [0, 120]},
         'well': {'values': [False, True], 'missing': True}}
    """
    given, said = dict(bounds or {}), dict(types or {})
    kinds, declared = _types_of(source)
    chosen = [name for name in kinds if name and name not in set(apart)] if columns is None else list(columns)
    if unknown := [
        name
        for name in (*chosen, *given, *said)
        if name not in kinds or ((name in given or name in said) and name not in chosen)
    ]:
        raise ConfigError(
            f"the table has no column {unknown[0]!r} that is read", remedy=f"its columns are: {', '.join(kinds)}"
        )
    makers: dict[str, _Kind | None] = {}
    if declared or trust_types:
        makers = {name: _kind_of(kinds[name]) for name in chosen}
    makers |= {name: _said(name, said[name]) for name in chosen if name in said}
    entries: dict[str, Any] = {}
    ignored: list[str] = []
    lacking: dict[str, str] = {}
    for name in chosen:
        kind = makers.get(name, _UNTYPED)
        if kind is None:
            ignored.append(name)
        elif kind.example and name not in given:
            lacking[name] = kind.example
        else:
            entries[name] = kind.make(name, given.pop(name, None))
    if lacking:
        wanted = " ".join(f"--bounds {_quoted(name)}={example}" for name, example in lacking.items())
        raise ConfigError(
            f"columns whose bounds are not known in public: {', '.join(lacking)}",
            remedy=f"give them, from a code book or common knowledge and not from the table: {wanted}",
        )
    if given:
        raise ConfigError(f"bounds of {next(iter(given))!r}, which has none", remedy="leave them out")
    trusted = trust_types and not declared and set(said) < set(chosen)
    return (
        ({"trusted_types": True} if trusted else {})
        | {"attributes": entries}
        | ({"ignore": ignored} if ignored else {})
    )


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name


def _types_of(source: Any) -> tuple[dict[str, pa.DataType], bool]:
    """Names of the columns and the types that the source has for them, and whether these are declared."""
    frame = spark_frame(source)
    if frame is not None:
        from hedgerow.data.scanning.spark import types_of

        return types_of(frame), is_stored_in_spark(source)
    reader = open_place(source) if isinstance(source, str) else open_table(source)
    return dict.fromkeys(reader.names, pa.string()) | reader.types(), reader.declared


Maker = Callable[[str, "Bounds | None"], dict[str, Any]]


@dataclass(frozen=True)
class _Kind:
    """A kind of columns.

    Attributes:
        make: Makes the entry of a column.
        example: Bounds that it must have, for messages; empty where it needs none.
        options: Options that a person may write behind it.
    """

    make: Maker
    example: str = ""
    options: tuple[str, ...] = ()


def _said(name: str, text: str) -> _Kind:
    """The kind of a column of a type that somebody wrote.

    Raises:
        ConfigError: There is no such type, or it has no step or form.
    """
    word, _, rest = text.partition(":")
    if word not in _NAMED:
        raise ConfigError(f"the type {word!r} of {name!r} is unknown", remedy=f"give one of {', '.join(_NAMED)}")
    kind = _NAMED[word]
    step, _, form = ("", "", rest) if rest.startswith("%") else rest.partition(":")
    options = {option: value for option, value in (("step", step), ("format", form)) if value}
    if not options.keys() <= set(kind.options):
        what = "form" if form else "step"
        raise ConfigError(f"the type {text!r} of {name!r}: {word} has no {what}", remedy=f"write {name}={word}")
    return replace(kind, make=partial(kind.make, **options)) if options else kind


def _kind_of(arrow: pa.DataType) -> _Kind | None:
    """The kind of a column of a type; None for types that cannot be read."""
    inner = arrow.value_type if pa.types.is_dictionary(arrow) else arrow
    return _UNTYPED if pa.types.is_null(inner) else _KINDS.get(kind_of_type(str(inner)))


def _of_labels(name: str, bounds: Bounds | None) -> dict[str, Any]:
    if bounds:
        raise ConfigError(f"bounds of {name!r}, which is text", remedy="leave them out, or the type")
    return {"values": {"learn": MOST_VALUES}}


def _of_flags(name: str, bounds: Bounds | None) -> dict[str, Any]:
    if bounds:
        raise ConfigError(f"bounds of {name!r}, which is true or false", remedy="leave them out")
    return {"values": [False, True], "missing": True}


def _of_text(name: str, bounds: Bounds | None) -> dict[str, Any]:
    """A column of which nothing is known but bounds: whole numbers, numbers, or what has dates and times as bounds."""
    if bounds is None:
        return _of_labels(name, None)
    for number, make in ((int, _of_whole), (float, _of_numbers)):
        try:
            _ = [number(bound) for bound in bounds]
        except ValueError:
            continue
        return make(name, bounds)
    return _on_a_scale(name, bounds, step=_STEP if any(mark in bounds[0] for mark in "T:P") else "")


def _of_whole(name: str, bounds: Bounds | None) -> dict[str, Any]:
    low, high = _numbers(name, bounds, int)
    entry: dict[str, Any] = {"min": low, "max": high, "missing": True}
    if high - low < _FEW:
        return entry
    return entry | {"whole": True, "bins": {"learn": BINS}, "points": sorted({0, high} if low <= 0 <= high else {high})}


def _of_numbers(name: str, bounds: Bounds | None, step: str = "") -> dict[str, Any]:
    low, high = _numbers(name, bounds, float)
    entry = {"min": low, "max": high, "missing": True}
    if not step:
        return entry | {"bins": {"learn": BINS}}
    (width,) = _numbers(name, (step,), float)
    return _learning(name, entry | {"step": width})


def _of_times(name: str, bounds: Bounds | None, step: str = _STEP, **options: str) -> dict[str, Any]:
    low, high = bounds or ("", "")
    ends = low if "T" in low else f"{low}T00:00", high if "T" in high else f"{high}T{_last(step)}"
    return _on_a_scale(name, ends, step=step, **options)


def _last(step: str) -> str:
    """The time of the last step of a day."""
    match = re.fullmatch(r"([1-9]\d{0,4})(s|min|h)", step)
    seconds = int(match[1]) * SECONDS[match[2]] if match else 60
    return TimesOfDay(seconds).text((SECONDS["d"] - 1) // seconds)


def _of_clocks(name: str, bounds: Bounds | None, step: str = _STEP, **options: str) -> dict[str, Any]:
    return _on_a_scale(name, bounds or ("00:00", "23:59"), step=step, **options)


def _on_a_scale(name: str, bounds: Bounds | None, **options: str) -> dict[str, Any]:
    low, high = bounds or ("", "")
    return _learning(
        name, {"min": low, "max": high, "missing": True, **{key: option for key, option in options.items() if option}}
    )


def _learning(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    """With bins to be learnt, if there are many steps."""
    return entry if attribute_of(name, entry).size <= _FEW else entry | {"bins": {"learn": BINS}}


def _numbers(name: str, bounds: Iterable[str] | None, number: Callable[[str], Any]) -> list[Any]:
    given = tuple(bounds or ())
    try:
        return [number(bound) for bound in given]
    except ValueError:
        raise DomainError(
            f"attribute {name!r}: {'..'.join(given)} are no bounds of {'whole ' * (number is int)}numbers",
            remedy=f"write --bounds {_quoted(name)}={'0..100' if number is int else '0.0..100.0'}",
        ) from None


_NUMBERS, _DAYS = "LOW..HIGH", "YYYY-MM-DD..YYYY-MM-DD"
_NAMED: dict[str, _Kind] = {
    "int": _Kind(_of_whole, _NUMBERS),
    "number": _Kind(_of_numbers, _NUMBERS, ("step",)),
    "text": _Kind(_of_labels),
    "bool": _Kind(_of_flags),
    "date": _Kind(_on_a_scale, _DAYS, ("format",)),
    "time": _Kind(_of_clocks, "", ("step", "format")),
    "datetime": _Kind(_of_times, _DAYS, ("step", "format")),
    "duration": _Kind(partial(_on_a_scale, step=_STEP), "PT0H..P30D", ("step", "format")),
}
"""Types that a person may write."""
_UNTYPED = _Kind(_of_text)
_KINDS: dict[str | None, _Kind] = {
    "flags": _NAMED["bool"],
    "whole": _NAMED["int"],
    "fractions": _NAMED["number"],
    "dates": _NAMED["date"],
    "times": _NAMED["datetime"],
    "clocks": _NAMED["time"],
    "lengths": _NAMED["duration"],
    "labels": _UNTYPED,
}
"""What is made of the kinds of types that sources have."""
