"""Numbers of codes of attributes, from the domain that a file holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

_STEP = re.compile(r"(\d+)(s|min|h|d)")
_CLOCK = re.compile(r"()(\d\d):(\d\d)(?::|$)(\d\d)?")
_LENGTH = re.compile(r"(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


def size_of(attribute: Mapping[str, Any]) -> int:
    """Number of codes of an attribute: its values, and one each for the missing and the other value.

    Args:
        attribute: Its entry in the domain of a file.

    Raises:
        ValueError: The entry has another shape than that of a domain.

    Example:
        >>> size_of({"edges": [0, 10, 20], "missing": "?"}), size_of({"min": "2020-01", "max": "2020-12"})
        (3, 12)
        >>> size_of({"min": "2020-02-01T00:00", "max": "2020-02-29T23:45", "step": "15min"})
        2784
        >>> size_of({"min": 35, "max": 43, "step": 0.1})
        81
        >>> size_of({"min": "00:00", "max": "23:45", "step": "15min"})
        96
        >>> size_of({"min": "-P1D", "max": "PT36H", "step": "12h"})
        6
    """
    extra = sum(attribute.get(name) is not None for name in ("missing", "other"))
    if "values" in attribute:
        return len(attribute["values"]) + extra
    if "edges" in attribute:
        return len(attribute["edges"]) - 1 + extra
    low, high = (_place(attribute[end], attribute.get("step")) for end in ("min", "max"))
    if (high - low).denominator != 1:
        raise ValueError(f"{attribute['max']!r} is no whole number of steps from {attribute['min']!r}")
    return int(high - low) + 1 + extra


def inner_edges(attribute: Mapping[str, Any]) -> int:
    """Number of edges between bins, those at a bin of a single step left out: such a bin may be a declared point.

    Args:
        attribute: Its entry in the domain of a file, with edges.

    Example:
        >>> inner_edges({"edges": [0, 1, 20, 40, 99], "whole": True}), inner_edges({"edges": [0, 1, 20, 40, 99]})
        (2, 3)
    """
    edges, step = attribute["edges"], attribute.get("step")
    stepped = attribute.get("whole") or step is not None or any(isinstance(edge, str) for edge in edges)
    places = [_place(edge, step) for edge in edges]
    single = [bool(stepped) and high - low <= 1 for low, high in pairwise(places)]
    return sum(not (before or after) for before, after in pairwise(single))


def _place(bound: object, step: object) -> Fraction:
    """Place of a bound on its scale, from any origin."""
    if not isinstance(bound, str):
        return Fraction(str(bound)) / Fraction(str(1 if step is None else step))
    if matched := _CLOCK.fullmatch(bound) or _LENGTH.fullmatch(bound):
        minus, *amounts = matched.groups()
        seconds = sum(
            int(amount or 0) * size for amount, size in zip(reversed(amounts), (1, 60, 3600, 86_400), strict=False)
        )
        return _steps(-seconds if minus else seconds, step)
    if "W" in bound:
        return Fraction((date.fromisoformat(f"{bound}-1") - date.min) // timedelta(weeks=1))
    if "Q" in bound:
        return Fraction(4 * int(bound[:4]) + int(bound[6:]))
    if len(bound) == len("2020-01"):
        return Fraction(12 * int(bound[:4]) + int(bound[5:]))
    return _steps((datetime.fromisoformat(bound) - datetime.min) // timedelta(seconds=1), step)


def _steps(seconds: int, step: object) -> Fraction:
    match = _STEP.fullmatch("1d" if step is None else str(step))
    if match is None:
        raise ValueError(f"a step of {step!r}")
    return Fraction(seconds, int(match[1]) * _SECONDS[match[2]])
