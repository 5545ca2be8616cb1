"""Entries of domain files for scales: dates, times, durations and decimals, which the bounds of an entry show."""

import re
from collections.abc import Mapping, Sequence
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
    if scale is not None and "%y" in (getattr(scale, "form", None) or ""):
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


def _scale(given: Mapping[str, Any], bounds: Sequence[object]) -> tuple[Scale | None, tuple[str, ...]]:
    """The scale, and the options that it may have."""
    kinds, rounds = {_kind_of(bound) for bound in bounds} or {"number"}, bool(given.get("round", False))
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind == "length" or ("unit" in given and kind != "time"):
        unit = _text(given, "unit")
        seconds = _seconds(given.get("step", f"1{unit or 'min'}"))
        return Durations(seconds, _text(given, "format"), unit, rounds), ("step", "format", "unit", "round")  # type: ignore[arg-type] # it checks
    if kind == "number":
        return (Decimals(_decimal(given["step"]), rounds), ("step", "round")) if "step" in given else (None, ())
    if kind == "time":
        zone, form, unit = _text(given, "zone"), _text(given, "format"), _text(given, "unit")
        moments = Moments(_seconds(given.get("step", "1min")), form, zone, rounds, unit)
        return moments, ("step", "format", "zone", "round", "unit")
    if kind == "clock":
        seconds = _seconds(given.get("step", "1min"))
        return TimesOfDay(seconds, _text(given, "format"), rounds), ("step", "format", "round")
    if kind == "day":
        return Calendar(form=_text(given, "format")), ("format",)
    for part in _UNITS:
        if kind == part:
            return Calendar(part), ()
    odd = next((bound for bound in bounds if _kind_of(bound) is None), None)
    message = "its bounds are not alike" if odd is None else f"{odd!r} is neither a number nor a date, time or duration"
    examples = "dates as 2020-01-31, times as 2020-01-31T08:00 or 08:00, durations as PT8H"
    raise DomainError(message, remedy=f"write numbers without quotes, {examples}")


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


def _text(given: Mapping[str, Any], option: str) -> str | None:
    text = given.get(option)
    if text is not None and not isinstance(text, str):
        raise DomainError(f"{option!r} is no text", remedy=f"{_MEANING[option]}")
    return text


def step_of(name: str, scale: Scale, bound: object) -> int:
    """The number that a bound or an edge stands for.

    Raises:
        DomainError: It is not on the scale, or lies between two steps.

    Example:
        >>> step_of("t", Decimals(Decimal("0.1")), 36.6)
        366
    """
    number = scale.number(bound)
    if number is None:
        raise attribute_error(name, f"{bound!r} is no step of its scale", f"give a {scale.noun}, at a whole step")
    return number


def scale_entry(attribute: IntegerRange | Binned) -> dict[str, Any]:
    """Options that describe the scale of an attribute.

    Example:
        >>> scale_entry(IntegerRange("t", 350, 430, scale=Decimals(Decimal("0.1"))))
        {'step': 0.1}
    """
    scale = attribute.scale
    if isinstance(scale, Decimals):
        rounds = {"round": True} if scale.nearest else {}
        return {"step": _plain(scale.step)} | rounds
    if isinstance(scale, Moments | TimesOfDay | Durations):
        unit = next(unit for unit in reversed(SECONDS) if scale.seconds % SECONDS[unit] == 0)
        entry: dict[str, Any] = {"step": f"{scale.seconds // SECONDS[unit]}{unit}"}
        entry |= {"format": scale.form} if scale.form is not None else {}
        entry |= {"zone": scale.zone} if isinstance(scale, Moments) and scale.zone is not None else {}
        entry |= {"unit": scale.unit} if isinstance(scale, Durations | Moments) and scale.unit is not None else {}
        return entry | ({"round": True} if scale.down else {})
    return {"format": scale.form} if isinstance(scale, Calendar) and scale.form is not None else {}


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
