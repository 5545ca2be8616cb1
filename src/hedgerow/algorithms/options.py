"""The options of a mechanism: fields of its configuration, read from texts as their types say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from types import NoneType
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from hedgerow.errors import ConfigError
from hedgerow.system import explained_class

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RULE = re.compile(r"(sweeps|proximal)(?:\(([^()]*)\))?")
_LARGEST = 2**53
"""Largest whole number: up to here floating-point numbers are exact."""

_UNITS = {
    "alpha": "share of the records",
    "beta": "probability",
    "largest_tree": "cells",
    "max_candidates": "databases",
    "samples": "queries a round",
    "queries": "questions",
    "size": "records",
    "threshold": "share of the records",
    "uniform_share": "share of the records",
    "updates": "corrections",
}


@dataclass(frozen=True)
class MechanismOption:
    """An option of a mechanism.

    Attributes:
        name: Name of the field of the configuration.
        types: What its value may be: types, words, None.
        default: Value where nothing is said.
        meaning: What the configuration says of it.

    Example:
        >>> beta = MechanismOption("beta", (float,), 0.05, "Probability of failure.")
        >>> beta.values, beta.unit, beta.read("1e-3")
        ('a number', 'probability', 0.001)
    """

    name: str
    types: tuple[Any, ...]
    default: Any
    meaning: str

    @property
    def values(self) -> str:
        """What may be given, in words."""
        numbers = "a number" if float in self.types else "a whole number" if int in self.types else ""
        rules = {"sweeps": "sweeps or sweeps(NUMBER)", "proximal": "proximal or proximal(LENGTH)"}
        return " or ".join([*([numbers] if numbers else []), *(rules.get(word, word) for word in self._words)])

    @property
    def unit(self) -> str:
        """What a number counts; empty where there is no more to say than the name does."""
        return _UNITS.get(self.name, "share of the budget" if self.name.endswith("_share") else "")

    @property
    def written(self) -> str:
        """The default, as it is given."""
        found = next((text for text, value in self._words.items() if value == self.default), None)
        return str(self.default) if found is None else found

    def read(self, text: str) -> Any:
        """The value that a text stands for.

        Raises:
            ConfigError: It stands for none.
        """
        if text in self._words:
            return self._words[text]
        try:
            return self._number(text) if _NUMBER.fullmatch(text) else self._other(text)
        except ValueError:
            limits = f"; whole numbers are at most {_LARGEST:,}" if int in self.types else ""
            raise ConfigError(f"{self.name} cannot be {text!r}", remedy=f"give {self.values}{limits}") from None

    @property
    def _words(self) -> dict[str, Any]:
        """Values that are words."""
        from hedgerow.models import Proximal, Sweeps

        rules = {Proximal: ("proximal", Proximal(adapted=True)), Sweeps: ("sweeps", Sweeps())}
        words: dict[str, Any] = {}
        for kind in self.types:
            if kind is bool:
                words |= {"true": True, "false": False}
            elif kind is NoneType:
                words["none"] = None
            elif isinstance(kind, str):
                words[kind] = kind
            elif kind in rules:
                words |= [rules[kind]]
            elif isinstance(kind, type) and issubclass(kind, Enum):
                words |= {str(each.value): each for each in kind}
        return words

    def _number(self, text: str) -> int | float:
        number = float(text)
        if int in self.types and number.is_integer() and abs(number) <= _LARGEST:
            return int(number)
        if float in self.types and math.isfinite(number):
            return number
        raise ValueError(text)

    def _other(self, text: str) -> Any:
        """A rule of fits with its first number, as in ``sweeps(10)``; or the text."""
        from hedgerow.models import Proximal, Sweeps

        if str in self.types:
            return text
        match = _RULE.fullmatch(text)
        kind = {"sweeps": Sweeps, "proximal": Proximal}.get(match[1]) if match else None
        if match is None or kind not in self.types or not _NUMBER.fullmatch(match[2] or ""):
            raise ValueError(text)
        return Sweeps(int(match[2])) if kind is Sweeps else Proximal(float(match[2]))


def options_of(kind: type, fixed: Mapping[str, Any]) -> Iterator[MechanismOption]:
    """The fields of a configuration that a text can give.

    Args:
        kind: Class of the configuration, a dataclass.
        fixed: Fields that have a value already.

    Example:
        >>> from hedgerow import SmallDB
        >>> [option.name for option in options_of(SmallDB, {})]
        ['alpha', 'size', 'beta', 'max_candidates', 'total_share', 'error_share']
    """
    from hedgerow.models import Proximal, Sweeps

    try:
        hints = get_type_hints(kind)
    except NameError:  # a plug-in imports it for type checkers alone
        hints = {}
    _, meanings = explained_class(kind)
    for field in fields(cast("Any", kind)):
        types = tuple(_flat(hints.get(field.name, int | float | str)))
        readable = all(
            isinstance(each, str) or each in (Proximal, Sweeps) or issubclass(each, int | float | str | NoneType | Enum)
            for each in types
        )
        if field.init and readable and field.name not in fixed:
            default = None if field.default is MISSING else field.default
            yield MechanismOption(field.name, types, default, meanings.get(field.name, "").replace("``", ""))


def _flat(hint: Any) -> Iterator[Any]:
    """The members of unions of types and words."""
    if get_origin(hint) is Literal:
        yield from get_args(hint)
    elif get_args(hint):
        for each in get_args(hint):
            yield from _flat(each)
    else:
        yield hint
