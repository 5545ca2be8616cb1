"""Attribute names inside the short texts of queries and workloads."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from itertools import islice

from hedgerow.domain import Clique

PLAIN_NAME = re.compile(r'[^\s"\'*,:;@+]+')
"""A name that a workload text may hold without quotes."""

BOUNDED_ORDER = re.compile(r"([0-9]+)\s*<=\s*([0-9]+)")
"""An order and a number of cells, which is no name."""

_COMPARED = 2000
"""Of longer lists, a misspelt word is compared with so many names at most that begin as it does."""

_SHOWN = 80
"""So many characters of a text are repeated in an error."""

SQL_WORDS = frozenset({"and", "between", "false", "in", "is", "like", "not", "null", "or", "true"})
"""Words that a condition uses itself; an attribute of that name needs quotes."""


def quoted(name: str) -> str:
    """The name in double quotes, as in SQL.

    Example:
        >>> quoted("hours per week")
        '"hours per week"'
    """
    return '"' + name.replace('"', '""') + '"'


def in_workload(name: str) -> str:
    """The name as a workload text holds it.

    Example:
        >>> in_workload("marital-status"), in_workload("hours per week"), in_workload("3")
        ('marital-status', '"hours per week"', '"3"')
    """
    is_number = name.isdigit() or BOUNDED_ORDER.fullmatch(name)
    return name if PLAIN_NAME.fullmatch(name) and not is_number else quoted(name)


def in_condition(name: str) -> str:
    """The name as a SQL condition holds it.

    Example:
        >>> in_condition("age"), in_condition("marital-status"), in_condition("in")
        ('age', '"marital-status"', '"in"')
    """
    plain = name.isascii() and name.isidentifier() and name.lower() not in SQL_WORDS
    return name if plain else quoted(name)


def shown(text: str) -> str:
    """What somebody wrote, in quotes, and no more of it than an error needs.

    Example:
        >>> shown("age = 17"), len(shown("x" * 10_000))
        ("'age = 17'", 82)
    """
    return repr(shortened(text))


def shortened(text: str) -> str:
    """The beginning of a long text.

    Example:
        >>> shortened("age"), len(shortened("x" * 10_000))
        ('age', 80)
    """
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def clique_list(cliques: Iterable[Clique]) -> str:
    """Cliques as a workload text holds them.

    Example:
        >>> clique_list([("age", "sex"), ("race",)])
        'age*sex,race'
    """
    return ",".join("*".join(in_workload(name) for name in clique) for clique in cliques)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy that names what was probably meant, or what there is.

    Example:
        >>> did_you_mean("Mael", ["Female", "Male"])
        "did you mean 'Male'?"
        >>> did_you_mean("x", ["Female", "Male"])
        "there is: 'Female', 'Male'"
    """
    names = list(known)
    alike = names if len(names) <= _COMPARED else _beginning_as(word, names)
    lowered = {name.lower(): name for name in reversed(alike)}
    near = difflib.get_close_matches(word.lower(), list(lowered), n=3)
    likeness = [difflib.SequenceMatcher(None, match, word.lower()).ratio() for match in near]
    close = [match for match, ratio in zip(near, likeness, strict=True) if ratio > likeness[0] - 0.1]
    if close:
        return f"did you mean {' or '.join(repr(lowered[match]) for match in close)}?"
    shown = ", ".join(repr(name) for name in names[:12])
    return f"there is: {shown}{f' and {len(names) - 12} more' if len(names) > 12 else ''}"


def _beginning_as(word: str, names: list[str]) -> list[str]:
    start = word[:2].lower()
    return list(islice((name for name in names if name[:2].lower() == start), _COMPARED))
