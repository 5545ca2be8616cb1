"""Entries of domain files for scales: dates, times, durations and decimals, which the bounds of an entry show."""

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from hedgerow.domain.attribute import Binned, IntegerRange, attribute_error, number_text
from hedgerow.domain.clocks import SECONDS, Durations, TimesOfDay
from hedgerow.domain.entries.options import SCALE
from hedgerow.domain.scales import Calendar, Decimals, Moments, Scale, Unit
from hedgerow.errors import DomainError

_UNITS: tuple[Unit, ...] = ("week", "month", "quarter")
_BOUNDS = {
    "time": re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?"),
    "clock": re.compile(r"\d\d:\d\d(:\d\d)?"),
    "length": re.compile(r"-?P[0-9DTHMS]+"),
    "day": re.compile(r"\d{4}-\d\d-\d\d"),
    "week": re.compile(r"\d{4}-W\d\d"),
    "month": re.compile(r"\d{4}-\d\d"),
    "quarter": re.compile(r"\d{4}-Q[1-4]"),
}
"""Kinds of bounds that are texts."""
_STEP = re.compile(r"([1-9]\d{0,5}) ?(s|min|h|d)")


def scale_of(name: str, options: Mapping[str, Any], bounds: Sequence[object]) -> Scale | None:
    """The scale that an entry says its cells are on; None for plain numbers.

    Args:
        name: Name of the attribute.
        options: The entry.
        bounds: Its bounds or edges.

    Raises:
        DomainError: The bounds are of different kinds, or an option does not fit them.

    Example:
        >>> scale_of("t", {"step": 0.1}, [35.0, 43.0])
        Decimals(step=Decimal('0.1'), nearest=False)
        >>> scale_of("admitted", {}, ["2020-01-01", "2024-12-31"])
        Calendar(unit='day', form=None)
        >>> scale_of("age", {}, [0, 99])
    """
    given = {option: options[option] for option in SCALE if option in options}
    try:
        scale, known = _scale(given, bounds)
    except DomainError as error:
        raise attribute_error(name, error.message, error.remedy) from error
    if scale is not None and "%y" in (scale.form or ""):
        years = [int(str(bound)[:4]) for bound in bounds]
        if not 1969 <= min(years) <= max(years) <= 2068:
            message = "two digits tell years from 1969 to 2068"
            raise attribute_error(name, message, "give bounds in these years, or a format with %Y")
    for option in given:
        if option not in known:
            raise attribute_error(name, f"{option!r} has no meaning here", _MEANING[option])
    return scale


_MEANING = {
    "step": "give it with numbers, as in 'step: 0.1', or times, as in 'step: 15min'",
    "format": "give it with dates, times or durations as bounds, as in 'min: 2020-01-01'",
    "unit": "give it with durations, numbers of units or times as bounds, as in 'min: PT0H', 'min: 0' or "
    "'min: 2020-01-01T00:00'",
    "zone": "give it with times as bounds, as in 'min: 2020-01-01T00:00'",
    "round": "give it with a step",
}


_OPTIONS: Mapping[type[Scale], Mapping[str, str]] = {
    Calendar: {"format": "form"},
    Moments: {"step": "seconds", "format": "form", "zone": "zone", "unit": "unit", "round": "down"},
    TimesOfDay: {"step": "seconds", "format": "form", "round": "down"},
    Durations: {"step": "seconds", "format": "form", "unit": "unit", "round": "down"},
    Decimals: {"step": "step", "round": "nearest"},
}
"""The options that each scale may have, and the fields that hold them."""
_SCALES: Mapping[str | None, type[Scale]] = {
    "length": Durations,
    "time": Moments,
    "clock": TimesOfDay,
    "day": Calendar,
    "number": Decimals,
}
"""The scales of kinds of bounds."""


def _scale(given: Mapping[str, Any], bounds: Sequence[object]) -> tuple[Scale | None, Collection[str]]:
    """The scale, and the options that it may have."""
    kinds = {_kind_of(bound) for bound in bounds} or {"number"}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind in _UNITS and "unit" not in given:
        return Calendar(kind), ()
    made = Durations if "unit" in given and kind != "time" else _SCALES.get(kind)
    if made is None:
        odd = next((bound for bound in bounds if _kind_of(bound) is None), None)
        alike = "its bounds are not alike"
        message = alike if odd is None else f"{odd!r} is neither a number nor a date, time or duration"
        examples = "dates as 2020-01-31, times as 2020-01-31T08:00 or 08:00, durations as PT8H"
        raise DomainError(message, remedy=f"write numbers without quotes, {examples}")
    if made is Decimals and "step" not in given:
        return None, ()
    known = _OPTIONS[made]
    options = {known[option]: _read(made, option, value) for option, value in given.items() if option in known}
    if made is Durations and "step" not in given:
        options["seconds"] = _seconds(f"1{given.get('unit') or 'min'}")
    return made(**options), known


def _read(made: type[Scale], option: str, value: object) -> object:
    """The value of a field of a scale."""
    if option == "step":
        return _decimal(value) if made is Decimals else _seconds(value)
    if option == "round":
        return bool(value)
    if value is not None and not isinstance(value, str):
        raise DomainError(f"{option!r} is no text", remedy=_MEANING[option])
    return value


def _kind_of(bound: object) -> str | None:
    """The kind of a bound; None for a text that is none."""
    if not isinstance(bound, str):
        return "number"
    return next((kind for kind, pattern in _BOUNDS.items() if pattern.fullmatch(bound)), None)


def _decimal(step: object) -> Decimal:
    if isinstance(step, bool) or not isinstance(step, int | float):
        raise DomainError(f"a step of {step!r}", remedy="give a decimal number above 0, as in 'step: 0.1'")
    return Decimal(repr(step))


def _seconds(step: object) -> int:
    found = _STEP.fullmatch(step) if isinstance(step, str) else None
    seconds = int(found[1]) * SECONDS[found[2]] if found else 0
    if not seconds or 86_400 % seconds:
        raise DomainError(f"a step of {step!r}", remedy="give a part of a day, as in 15min, 1h or 30s")
    return seconds


def number_on(name: str, scale: Scale | None, value: object) -> float:
    """The number that a bound or an edge stands for, in steps where there is a scale.

    Raises:
        DomainError: It is no number, or between two steps.

    Example:
        >>> number_on("t", Decimals(Decimal("0.1")), 36.6), number_on("age", None, 17)
        (366, 17)
    """
    if scale is not None:
        number = scale.number(value)
        if number is None:
            raise attribute_error(name, f"{value!r} is no step of its scale", f"give a {scale.noun}, at a whole step")
        return number
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise attribute_error(name, f"{value!r} is not a number", "write numbers without quotes")
    return value


def scale_entry(attribute: IntegerRange | Binned) -> dict[str, Any]:
    """Options that describe the scale of an attribute.

    Example:
        >>> scale_entry(IntegerRange("t", 350, 430, scale=Decimals(Decimal("0.1"))))
        {'step': 0.1}
    """
    scale = attribute.scale
    if scale is None:
        return {}
    options: dict[str, Any] = {option: getattr(scale, name) for option, name in _OPTIONS[type(scale)].items()}
    if isinstance(scale, Decimals):
        options["step"] = _plain(scale.step)
    elif "step" in options:
        unit = next(unit for unit in reversed(SECONDS) if options["step"] % SECONDS[unit] == 0)
        options["step"] = f"{options['step'] // SECONDS[unit]}{unit}"
    return {option: value for option, value in options.items() if value not in (None, False)}


def bound_entry(number: int, scale: Scale | None) -> int | float | str:
    """A bound or an edge as a domain file has it.

    Example:
        >>> bound_entry(366, Decimals(Decimal("0.1"))), bound_entry(31, Calendar()), bound_entry(31, None)
        (36.6, '1970-02-01', 31)
    """
    if isinstance(scale, Decimals):
        return _plain(number * scale.step)
    return number if scale is None else number_text(number, scale)


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)
