"""Sets of codes as SQL conditions, names in them, and what errors repeat of a text."""

import difflib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, number_text
from hedgerow.domain.conditions.code_set import CodeSet
from hedgerow.domain.scales import Scale
from hedgerow.engines import quoted

_COMPARED = 2000
"""In longer lists, a misspelt word is compared with at most this many names that begin alike."""

_SHOWN = 80
"""Number of characters of a text that an error repeats."""

_LISTED = 64
"""Up to this many ordered values with gaps between them are listed, however many gaps there are."""

_FEW = 8
"""Beyond this many values, the excluded ones are named where they are fewer, as in "not this"."""

SQL_WORDS = frozenset({"and", "between", "false", "in", "is", "like", "not", "null", "or", "true"})
"""Words that a condition uses itself; an attribute of that name needs quotes."""


def in_condition(name: str) -> str:
    """The name as written in a SQL condition.

    Example:
        >>> in_condition("age"), in_condition("marital-status"), in_condition("in")
        ('age', '"marital-status"', '"in"')
    """
    plain = name.isascii() and name.isidentifier() and name.lower() not in SQL_WORDS
    return name if plain else quoted(name)


def shown(text: str) -> str:
    """A text of the user in quotes, shortened for an error.

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


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy that suggests the name that was probably meant, or lists the names.

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


def condition(attribute: Attribute, codes: Iterable[int]) -> str:
    r"""The condition that exactly these codes satisfy.

    Args:
        attribute: The attribute.
        codes: Its codes.

    Example:
        >>> from hedgerow import Categorical
        >>> condition(IntegerRange("age", 17, 90, missing="?"), range(14))
        'age between 17 and 30'
        >>> condition(IntegerRange("age", 17, 90, missing="?"), [0, 1, 74])
        "(age between 17 and 18 or age = '?')"
        >>> condition(Binned("hours", (0, 20, 40, 100)), [0, 1])
        'hours >= 0 and hours < 40'
        >>> condition(Categorical("marital-status", ("Never", "Now")), [1])
        '"marital-status" = \'Now\''
        >>> condition(Categorical("job", [f"job {number}" for number in range(60_000)]), range(1, 60_000))
        "job != 'job 0'"
    """
    column, chosen = in_condition(attribute.name), CodeSet.of(codes)
    ordinary = chosen & CodeSet.of(range(attribute.ordinary))
    short = len(chosen) <= max(_LISTED, 2 * len(ordinary.cuts))
    if not isinstance(attribute, IntegerRange | Binned) or (short and len(ordinary.cuts) != 2):
        return _among(attribute, column, chosen)
    parts = [_run(attribute, column, run[0], run[-1]) for run in ordinary.runs]
    if special := chosen.without(ordinary):
        parts.append(_among(attribute, column, special))
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def _among(attribute: Attribute, column: str, codes: CodeSet) -> str:
    rest = CodeSet((0, attribute.size)).without(codes | _missing(attribute))
    runs = _runs_of_numbers(attribute, codes) if min(len(codes), len(rest)) > _FEW else ()
    if runs and 2 * len(runs) < min(len(codes), len(rest)):
        return _between(attribute, column, codes, runs)
    if len(codes) <= max(_FEW, len(rest)) or len(codes) == attribute.size:
        return _listed(attribute, column, codes, negated=False)
    if not _missing(attribute) & codes:  # a comparison is never true of what is missing, nor is its contrary
        return _listed(attribute, column, rest, negated=True) if rest else f"{column} is not null"
    missing = _listed(attribute, column, _missing(attribute), negated=False)
    return f"({_listed(attribute, column, rest, negated=True)} or {missing})"


@lru_cache(maxsize=32)
def _ranks(attribute: Attribute) -> NDArray[np.intp] | None:
    """Codes of listed numbers, the smallest number first; None where comparisons of order could not tell them apart."""
    values = np.array(attribute.values if isinstance(attribute, Categorical) else ())
    if values.dtype.kind not in "iuf" or len(np.unique(values)) < len(values):
        return None
    return np.argsort(values)


def _runs_of_numbers(attribute: Attribute, codes: CodeSet) -> tuple[tuple[int, int], ...]:
    """The first and the last code of each run, in the order of the numbers that are listed; empty if none are."""
    ranks = _ranks(attribute)
    if ranks is None:
        return ()
    runs = CodeSet.where(codes.holds(ranks)).runs
    return tuple((int(ranks[run[0]]), int(ranks[run[-1]])) for run in runs)


def _between(attribute: Attribute, column: str, codes: CodeSet, runs: Sequence[tuple[int, int]]) -> str:
    parts = [
        f"{column} between '{attribute.label(first)}' and '{attribute.label(last)}'"
        if first != last
        else f"{column} = '{attribute.label(first)}'"
        for first, last in runs
    ]
    if special := codes.without(CodeSet.of(range(attribute.ordinary))):
        parts.append(_listed(attribute, column, special, negated=False))
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def _missing(attribute: Attribute) -> CodeSet:
    code = attribute.missing_code
    return CodeSet(()) if code is None else CodeSet((code, code + 1))


def _listed(attribute: Attribute, column: str, codes: CodeSet, *, negated: bool) -> str:
    labels = ["'" + attribute.label(code).replace("'", "''") + "'" for code in codes]
    if len(labels) == 1:
        return f"{column} {'!=' if negated else '='} {labels[0]}"
    return f"{column} {'not in' if negated else 'in'} ({', '.join(labels)})"


def _run(attribute: IntegerRange | Binned, column: str, first: int, last: int) -> str:
    if isinstance(attribute, Binned) and not attribute.whole:
        at_end = last == attribute.ordinary - 1
        low, high = _number(attribute.edges[first]), _number(attribute.edges[last + 1])
        return f"{column} >= {low} and {column} {'<=' if at_end else '<'} {high}"
    if isinstance(attribute, Binned):
        least, most = attribute.whole_bounds(first)[0], attribute.whole_bounds(last)[1]
    else:
        least, most = attribute.minimum + first, attribute.minimum + last
    low, high = (_whole(number, attribute.scale) for number in (least, most))
    return f"{column} = {low}" if least == most else f"{column} between {low} and {high}"


def _whole(number: int, scale: Scale | None) -> str:
    text = number_text(number, scale)
    return text if scale is None or not scale.quoted else f"'{text}'"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
