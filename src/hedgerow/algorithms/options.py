"""The options of a mechanism: fields of its configuration, read from texts as their types say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from types import NoneType
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from hedgerow.errors import ConfigError
from hedgerow.system import explained_class

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_OBJECT = re.compile(r"([a-z-]+)\(([^()]*)\)")
_BEFORE_CAPITAL = re.compile("(?<!^)(?=[A-Z])")
_LARGEST = 2**53
"""Largest whole number: up to here floating-point numbers are exact."""

_UNITS = {
    "alpha": "share of the records",
    "beta": "probability",
    "largest_tree": "cells",
    "max_candidates": "databases",
    "samples": "queries a round",
    "step": "learning rate",
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
        objects: Dataclasses that its value may be an object of, by the words for them.

    Example:
        >>> beta = MechanismOption("beta", (float,), 0.05, "Probability of failure.")
        >>> beta.values, beta.unit, beta.read("1e-3")
        ('a number', 'probability', 0.001)
    """

    name: str
    types: tuple[Any, ...]
    default: Any
    meaning: str
    objects: Mapping[str, type] = field(default_factory=dict)

    @property
    def values(self) -> str:
        """What may be given, in words."""
        numbers = ["a number" if float in self.types else "a whole number"] if {int, float} & set(self.types) else []
        made = {word: f"{word} or {word}({_first(kind)[0].upper()})" for word, kind in self.objects.items()}
        return " or ".join([*numbers, *(made.get(word, word) for word in self._words)])

    @property
    def unit(self) -> str:
        """What a number counts; empty where there is no more to say than the name does."""
        if not {int, float} & set(self.types):
            return ""
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
        words: dict[str, Any] = {}
        for kind in self.types:
            if kind is bool:
                words |= {"true": True, "false": False}
            elif kind is NoneType:
                words["none"] = None
            elif isinstance(kind, str):
                words[kind] = kind
            elif isinstance(kind, type) and issubclass(kind, Enum):
                words |= {str(each.value): each for each in kind}
            elif kind in self.objects.values():
                words[_word(kind)] = self.default if isinstance(self.default, kind) else kind()
        return words

    def _number(self, text: str) -> int | float:
        number = float(text)
        if int in self.types and number.is_integer() and abs(number) <= _LARGEST:
            return int(number)
        if float in self.types and math.isfinite(number):
            return number
        raise ValueError(text)

    def _other(self, text: str) -> Any:
        """An object with its first number, as in ``sweeps(10)``; or the text."""
        if str in self.types:
            return text
        match = _OBJECT.fullmatch(text)
        kind = self.objects.get(match[1]) if match else None
        if match is None or kind is None or not _NUMBER.fullmatch(match[2]):
            raise ValueError(text)
        name, number = _first(kind)
        value = number(match[2])
        if not abs(value) <= _LARGEST:
            raise ValueError(text)
        return kind(**{name: value})


def _word(kind: type) -> str:
    """The word for a class.

    Example:
        >>> from hedgerow.models import Sweeps
        >>> _word(Sweeps)
        'sweeps'
    """
    return _BEFORE_CAPITAL.sub("-", kind.__name__).lower()


def _first(kind: type) -> tuple[str, type]:
    """Name and type of the first field of a dataclass."""
    name = fields(cast("Any", kind))[0].name
    return name, get_type_hints(kind)[name]


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
    try:
        hints = get_type_hints(kind)
    except NameError:  # a plug-in imports it for type checkers alone
        hints = {}
    _, meanings = explained_class(kind)
    for each in fields(cast("Any", kind)):
        hinted = each.metadata.get("kinds") or _flat(hints.get(each.name, int | float | str))
        types = tuple(hinted)
        objects = {_word(one): one for one in types if _is_made_of_nothing(one)}
        readable = all(
            isinstance(one, str) or one in objects.values() or issubclass(one, int | float | str | NoneType | Enum)
            for one in types
        )
        if each.init and readable and each.name not in fixed:
            made = each.default if each.default_factory is MISSING else each.default_factory()
            default = None if made is MISSING else made
            meaning = meanings.get(each.name, "").replace("``", "")
            yield MechanismOption(each.name, types, default, meaning, objects)


def _is_made_of_nothing(kind: Any) -> bool:
    """Whether it is a dataclass whose fields all have values where nothing is said."""
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return False
    return not any(each.default is each.default_factory is MISSING for each in fields(kind))


def _flat(hint: Any) -> Iterator[Any]:
    """The members of unions of types and words."""
    if get_origin(hint) is Literal:
        yield from get_args(hint)
    elif get_args(hint):
        for each in get_args(hint):
            yield from _flat(each)
    else:
        yield hint
