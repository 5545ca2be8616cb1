"""One comparison of an attribute with a value, as sets of codes: three-valued, as in SQL.

A comparison is true for some codes, false for others and unknown for the rest. Unknown is

- the missing value, in every comparison with another value; ``= '?'`` with the declared text of the missing value
  is true for it, and so is ``is null``;
- the other value, in comparisons of order: what it stands for is not known. ``= 'Male'`` is false for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, ends_of, scale_noun
from hedgerow.domain.conditions.code_set import CodeSet
from hedgerow.domain.conditions.text import did_you_mean, in_condition, shortened, shown
from hedgerow.errors import QueryError


@dataclass(frozen=True, eq=False)
class Truth:
    """The codes for which a condition is true and those for which it is false; for the rest it is unknown.

    Attributes:
        yes: The codes for which it is true.
        no: The codes for which it is false.

    Example:
        >>> unknown = Truth(CodeSet(()), CodeSet(()))
        >>> (~unknown).yes, (unknown | ~unknown).yes
        (CodeSet(), CodeSet())
    """

    yes: CodeSet
    no: CodeSet

    def __and__(self, other: Truth) -> Truth:
        """True where both are, false where one is."""
        return Truth(self.yes & other.yes, self.no | other.no)

    def __or__(self, other: Truth) -> Truth:
        """True where one is, false where both are."""
        return Truth(self.yes | other.yes, self.no & other.no)

    def __invert__(self) -> Truth:
        """True where it was false."""
        return Truth(self.no, self.yes)


def folded(operation: Callable[[Truth, Truth], Truth], truths: Sequence[Truth]) -> Truth:
    """Combine at least one, pair by pair, which keeps operands small: ``Truth.__and__`` or ``Truth.__or__``."""
    left = list(truths)
    while len(left) > 1:
        pairs = [operation(*left[i : i + 2]) for i in range(0, len(left) - 1, 2)]
        left = pairs + left[2 * len(pairs) :]
    return left[0]


def is_missing(attribute: Attribute) -> Truth:
    """The truth of ``is null``.

    Raises:
        QueryError: The attribute declares no missing value.

    Example:
        >>> is_missing(IntegerRange("age", 0, 1, missing="?")).yes
        CodeSet(2)
    """
    if attribute.missing_code is None:
        raise QueryError(
            f"attribute {attribute.name!r} declares no missing value, so 'is null' has no meaning",
            remedy="leave the condition out, or declare 'missing' in the domain file",
        )
    yes = CodeSet.of([attribute.missing_code])
    return Truth(yes, every_code(attribute).without(yes))


def every_code(attribute: Attribute) -> CodeSet:
    """All codes of an attribute.

    Example:
        >>> every_code(IntegerRange("age", 0, 1, missing="?"))
        CodeSet(0..2)
    """
    return CodeSet((0, attribute.size))


def equal(attribute: Attribute, value: str) -> Truth:
    """The truth of ``= value``; values compare by their text, on ordered attributes as numbers too.

    Args:
        attribute: The attribute.
        value: Text of a value, of a bin, of the missing or of the other value; or a number.

    Raises:
        QueryError: The attribute has no such value, or the number is one of several in its bin.

    Example:
        >>> equal(Categorical("sex", ("F", "M"), missing="?"), "M").no
        CodeSet(0)
    """
    if isinstance(attribute, Binned) and value not in _codes(attribute):
        return ~compare(attribute, "<", value) & compare(attribute, "<=", value)
    return equal_to_any(attribute, [value])


def equal_to_any(attribute: Attribute, values: Sequence[str]) -> Truth:
    """The truth of ``in (value, ...)``; false without values.

    Raises:
        QueryError: The attribute has no such value, or a number is one of several in its bin.

    Example:
        >>> equal_to_any(Categorical("sex", ("F", "M"), missing="?"), ["M", "F"]).no
        CodeSet()
    """
    if isinstance(attribute, Binned) and any(value not in _codes(attribute) for value in values):
        return folded(Truth.__or__, [equal(attribute, value) for value in values])
    find = _code_finder(attribute)
    yes = CodeSet.of(map(find, values))
    no = every_code(attribute).without(yes)
    if yes and attribute.missing_code is not None:
        no = no.without(CodeSet.of([attribute.missing_code]))
    return Truth(yes, no)


def compare(attribute: Attribute, symbol: str, value: str) -> Truth:
    """The truth of a comparison of order: on whole numbers, bins, and listed values that are all numbers.

    Args:
        attribute: The attribute.
        symbol: ``<`` or ``<=``.
        value: Text of a number. It may lie outside the values of the attribute.

    Raises:
        QueryError: The attribute is not ordered, the value is not a number, or it cuts a bin.

    Example:
        >>> compare(Binned("hours", (0, 20, 40, 100)), "<", "40").yes
        CodeSet(0..1)
    """
    if isinstance(attribute, Binned):
        yes = _bins_below(attribute, symbol, value)
    elif isinstance(attribute, IntegerRange):
        yes = _whole_numbers_below(attribute, symbol, value)
    else:
        yes = _values_below(attribute, symbol, value)
    return Truth(yes, CodeSet.of(range(attribute.ordinary)).without(yes))


def _code_finder(attribute: Attribute) -> Callable[[str], int]:
    """The code of a value, or of a number that is one."""
    special = {attribute.missing: attribute.missing_code, attribute.other: attribute.other_code}
    known = {} if isinstance(attribute, IntegerRange) else _codes(attribute)

    def code_of(value: str) -> int:
        if (code := special.get(value)) is not None:
            return code
        if isinstance(attribute, IntegerRange):
            number = _number(attribute, value)
            if number == int(number) and attribute.minimum <= number <= attribute.maximum:
                return int(number) - attribute.minimum
            raise QueryError(
                f"attribute {attribute.name!r} has no value {shortened(value)}",
                remedy=f"it holds the {scale_noun(attribute.scale, 'whole number')}s from {attribute.first_text} to "
                f"{attribute.last_text}",
            )
        if (code := known.get(value, known.get(_as_number(value)))) is None:
            remedy = did_you_mean(value, attribute.labels)
            raise QueryError(f"attribute {attribute.name!r} has no value {shown(value)}", remedy=remedy)
        return code

    return code_of


@lru_cache(maxsize=32)
def _codes(attribute: Attribute) -> dict[str | float, int]:
    """Codes by label, and by number where the listed values are numbers."""
    values = attribute.values if isinstance(attribute, Categorical) else ()
    codes: dict[str | float, int] = {}
    for code, value in enumerate(values):
        if isinstance(value, int | float) and not isinstance(value, bool):
            codes[value] = code
    return codes | {label: code for code, label in enumerate(attribute.labels)}


def _as_number(value: str) -> int | float:
    """Whole numbers exactly; not finite where the text is no number."""
    try:
        number = float(value)
        return int(value) if math.isfinite(number) and value.strip().lstrip("+-").isdecimal() else number
    except ValueError:
        return math.nan


def _number(attribute: Attribute, value: str) -> int | float | Fraction:
    """The number that a value stands for, in steps where there is a scale."""
    if isinstance(attribute, IntegerRange | Binned) and (scale := attribute.scale) is not None:
        place = scale.literal(value)
        if place is None:
            nouns = f"{scale_noun(scale)}s"
            raise QueryError(
                f"attribute {attribute.name!r} holds {nouns}, and {shown(value)} is none",
                remedy=f"write a {scale.noun}, or as in '{attribute.first_text}'",
            )
        return place
    number = _as_number(value)
    if not math.isfinite(number):
        raise QueryError(
            f"attribute {attribute.name!r} holds numbers, and {shown(value)} is not a number",
            remedy=f"compare it with a number, as in '{in_condition(attribute.name)} < 30'",
        )
    return number


def _whole_numbers_below(attribute: IntegerRange, symbol: str, value: str) -> CodeSet:
    """Codes of the whole numbers below the number."""
    number = _number(attribute, value)
    below = (math.ceil(number) if symbol == "<" else math.floor(number) + 1) - attribute.minimum
    return CodeSet.of(range(min(below, attribute.ordinary)))


def _values_below(attribute: Attribute, symbol: str, value: str) -> CodeSet:
    """Codes of the listed values below the number."""
    values = np.array(attribute.values if isinstance(attribute, Categorical) else ())
    if values.dtype.kind not in "iuf":
        raise QueryError(
            f"the values of attribute {attribute.name!r} have no order, so <, <=, >, >= and between have no meaning",
            remedy=f"list the values, as in \"{in_condition(attribute.name)} in ('{attribute.label(0)}', ...)\"",
        )
    number = _number(attribute, value)
    return CodeSet.where(values < number if symbol == "<" else values <= number)


def _bins_below(attribute: Binned, symbol: str, value: str) -> CodeSet:
    """Codes of the bins that lie wholly below the number; all others lie wholly not below it."""
    number = float(_number(attribute, value))
    low, high = _ends(attribute)
    below, not_below = (high < number, low >= number) if symbol == "<" else (high <= number, low > number)
    if not (below | not_below).all():
        raise _cut_bin(attribute, int(np.argmin(below | not_below)), value)
    return CodeSet.where(below)


@lru_cache(maxsize=32)
def _ends(attribute: Binned) -> tuple[Floats, Floats]:
    """Smallest and largest number of each bin."""
    low, high = ends_of(attribute)
    return low, high if attribute.whole else np.append(np.nextafter(high[:-1], -np.inf), high[-1])


def _cut_bin(attribute: Binned, code: int, value: str) -> QueryError:
    name, label = in_condition(attribute.name), attribute.label(code)
    first, second = attribute.edge_text(code), attribute.edge_text(code + 1)
    if attribute.scale is not None and attribute.scale.quoted:
        first, second = f"'{first}'", f"'{second}'"
    closed = "<=" if code == attribute.ordinary - 1 else "<"
    return QueryError(
        f"{shortened(value)} cuts the bin {label} of attribute {attribute.name!r}, whose records are counted together",
        remedy=f"use its edges, as in: {name} < {first}, or {name} {closed} {second}; or all of it: {name} = '{label}'",
    )
