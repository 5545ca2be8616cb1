"""JSON as the standard has it: what Python reads beyond it is refused, and so is what a store cannot hold."""

from __future__ import annotations

import json
import math
from typing import Any

from hedgerow.errors import InvalidRequestError

DEEPEST = 64
"""Lists and objects inside each other."""


def parse_json(body: bytes) -> Any:
    r"""Read a body.

    Args:
        body: UTF-8.

    Raises:
        InvalidRequestError: It is no JSON; names a key twice; holds numbers that are no numbers, or characters that
            are none; or is nested too deeply.

    Example:
        >>> parse_json(b'{"queries": []}')
        {'queries': []}
        >>> parse_json(b'{"confidence": NaN}')
        Traceback (most recent call last):
            ...
        hedgerow.errors.InvalidRequestError: JSON has no number NaN
    """
    try:
        text = body.decode("utf-8")
        found = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once
        )
    except UnicodeDecodeError:
        raise InvalidRequestError("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidRequestError(
            f"the body is no JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            remedy="mend it there; names and texts stand in double quotes",
        ) from None
    except RecursionError:
        raise _too_deep() from None
    if body.count(b"[") + body.count(b"{") > DEEPEST or b"\\u" in body or b"\x00" in body:
        _check(found)
    return found


def _check(value: Any) -> None:
    """Walk over all values without recursion."""
    left: list[tuple[Any, int]] = [(value, 1)]
    while left:
        each, depth = left.pop()
        if depth > DEEPEST:
            raise _too_deep()
        if isinstance(each, str):
            _check_text(each)
        elif isinstance(each, dict):
            for key in each:
                _check_text(key)
            left.extend((inner, depth + 1) for inner in each.values())
        elif isinstance(each, list):
            left.extend((inner, depth + 1) for inner in each)


def _check_text(text: str) -> None:
    if "\x00" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise InvalidRequestError("the body holds the character U+0000 or half of a surrogate pair")


def _too_deep() -> InvalidRequestError:
    return InvalidRequestError(f"the body is nested more than {DEEPEST} deep", remedy="write it flatter")


def _refuse_constant(name: str) -> Any:
    raise InvalidRequestError(f"JSON has no number {name}")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise InvalidRequestError("the body holds a number that is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > 30:
        raise InvalidRequestError("the body holds a whole number of more than 30 digits")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidRequestError("the body names a key twice in one object")
    return found
