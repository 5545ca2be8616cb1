"""Conditions as trees; SQL and JSON are read into the same trees.

A leaf is a condition on one attribute, which may be derived, joined by "and", "or" and "not". Truth is three-valued as
in SQL (see ``comparison.py``).

The flat form of a condition has no negations; it says the cells where the condition is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Literal

import numpy as np

from hedgerow.arrays import Bools
from hedgerow.domain.attribute import Attribute
from hedgerow.domain.conditions.comparison import Truth, compare, equal, equal_to_any, folded, is_missing
from hedgerow.domain.conditions.text import in_condition

MAX_DEPTH = 50
"""Largest depth of nested conditions."""

Sign = Literal["=", "!=", "<", "<=", ">", ">="]
SIGNS: tuple[Sign, ...] = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Constant:
    """A value to compare with, as it was written.

    Attributes:
        text: Text that is compared with the values of an attribute.
        quoted: Whether it stands in quotes in SQL.

    Example:
        >>> Constant("it's").sql, Constant("17", quoted=False).sql
        ("'it''s'", '17')
    """

    text: str
    quoted: bool = True

    @property
    def sql(self) -> str:
        """The value in SQL."""
        return "'" + self.text.replace("'", "''") + "'" if self.quoted else self.text


@dataclass(frozen=True, eq=False)
class Leaf:
    """A condition on one attribute.

    Attributes:
        name: Name of the attribute.
        truth: The codes for which the condition is true, and those for which it is false.
        text: The condition in SQL, as it was written.
    """

    name: str
    truth: Truth
    text: str

    @classmethod
    def comparison(cls, attribute: Attribute, sign: Sign, value: Constant) -> Leaf:
        """The comparison of an attribute with a value, such as ``age >= 30``.

        Raises:
            QueryError: The attribute has no such value or no order, or the value cuts a bin.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Leaf.comparison(IntegerRange("age", 17, 90), ">", Constant("88", quoted=False)).truth.yes
            CodeSet(72..73)
        """
        if sign in {"=", "!="}:
            equals = equal(attribute, value.text)
            truth = equals if sign == "=" else ~equals
        else:
            below = compare(attribute, "<" if sign in {"<", ">="} else "<=", value.text)
            truth = below if sign in {"<", "<="} else ~below
        return cls(attribute.name, truth, f"{in_condition(attribute.name)} {sign} {value.sql}")

    @classmethod
    def between(cls, attribute: Attribute, low: Constant, high: Constant) -> Leaf:
        """The condition ``age between 30 and 40``, both ends included.

        Raises:
            QueryError: The attribute has no order, or a value cuts a bin.

        Example:
            >>> from hedgerow import IntegerRange
            >>> ends = Constant("30", quoted=False), Constant("40", quoted=False)
            >>> Leaf.between(IntegerRange("age", 17, 90), *ends).text
            'age between 30 and 40'
        """
        truth = ~compare(attribute, "<", low.text) & compare(attribute, "<=", high.text)
        return cls(attribute.name, truth, f"{in_condition(attribute.name)} between {low.sql} and {high.sql}")

    @classmethod
    def among(cls, attribute: Attribute, values: Sequence[Constant]) -> Leaf:
        """The condition ``sex in ('Female', 'Male')``; false without values.

        Raises:
            QueryError: The attribute has no such value.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Leaf.among(IntegerRange("age", 17, 90), [Constant("17"), Constant("19")]).truth.yes
            CodeSet(0, 2)
        """
        truth = equal_to_any(attribute, list(dict.fromkeys(value.text for value in values)))
        listed = ", ".join(value.sql for value in values)
        return cls(attribute.name, truth, f"{in_condition(attribute.name)} in ({listed})")

    @classmethod
    def missing(cls, attribute: Attribute) -> Leaf:
        """The condition ``age is null``.

        Raises:
            QueryError: The attribute declares no missing value.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Leaf.missing(IntegerRange("age", 17, 90, missing="?")).truth.yes
            CodeSet(74)
        """
        return cls(attribute.name, is_missing(attribute), f"{in_condition(attribute.name)} is null")


@dataclass(frozen=True, eq=False)
class Negation:
    """The negation of a condition.

    Attributes:
        part: The condition to negate.
    """

    part: Condition


@dataclass(frozen=True, eq=False)
class Join:
    """Conditions joined by "and" (true without parts) or "or" (false without parts).

    Attributes:
        word: ``"and"`` or ``"or"``.
        parts: The conditions.
    """

    word: Literal["and", "or"]
    parts: tuple[Condition, ...]


Condition = Leaf | Negation | Join


def negation(part: Condition) -> Condition:
    """Negate a condition; the negation of a negation is its part.

    Example:
        >>> isinstance(negation(negation(Join("and", ()))), Join)
        True
    """
    return part.part if isinstance(part, Negation) else Negation(part)


def condition_sql(condition: Condition) -> str:
    """The condition in SQL, as it was written.

    Example:
        >>> condition_sql(Negation(Join("or", ())))
        'not false'
    """
    if isinstance(condition, Leaf):
        return condition.text
    if isinstance(condition, Negation):
        return f"not {_inner(condition.part)}"
    if not condition.parts:
        return "true" if condition.word == "and" else "false"
    return f" {condition.word} ".join(map(_inner, condition.parts))


def _inner(condition: Condition) -> str:
    text = condition_sql(condition)
    return f"({text})" if isinstance(condition, Join) and condition.parts else text


@dataclass(frozen=True, eq=False)
class Flat:
    """A join without negations, with one leaf for each attribute, and no join inside one of its word.

    Attributes:
        word: ``"and"`` or ``"or"``.
        parts: Leaves, then joins of the other word.
    """

    word: Literal["and", "or"]
    parts: tuple[Leaf | Flat, ...]


def simplified(condition: Condition) -> Leaf | Flat:
    """The same condition, with negations carried into its leaves and the leaves of an attribute put together.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.conditions.tree import Constant, Join
        >>> age = IntegerRange("age", 0, 99)
        >>> part = [Leaf.comparison(age, sign, Constant(text)) for sign, text in (("<", "10"), (">", "20"))]
        >>> simplified(Negation(Join("or", tuple(part)))).truth.yes
        CodeSet(10..20)
    """
    return _simple(condition, negated=False)


def leaves_in(condition: Leaf | Flat) -> list[Leaf]:
    """The conditions on one attribute that a condition is made of."""
    return [condition] if isinstance(condition, Leaf) else list(chain.from_iterable(map(leaves_in, condition.parts)))


def true_where(condition: Leaf | Flat, of_leaf: Callable[[Leaf], Bools]) -> Bools:
    """The cells where a condition is true.

    Args:
        condition: The condition.
        of_leaf: Gives the cells where a leaf is true, in arrays that broadcast.

    Returns:
        An array that broadcasts to the shape of all cells.
    """
    if isinstance(condition, Leaf):
        return of_leaf(condition)
    operation = np.logical_and if condition.word == "and" else np.logical_or
    start = np.array(condition.word == "and")
    return reduce(operation, (true_where(part, of_leaf) for part in condition.parts), start)


def _simple(condition: Condition, *, negated: bool) -> Leaf | Flat:
    if isinstance(condition, Negation):
        return _simple(condition.part, negated=not negated)
    if isinstance(condition, Leaf):
        return Leaf(condition.name, ~condition.truth, condition.text) if negated else condition
    word: Literal["and", "or"] = "and" if (condition.word == "and") != negated else "or"
    return _joined(word, [_simple(part, negated=negated) for part in condition.parts])


def _joined(word: Literal["and", "or"], parts: Iterable[Leaf | Flat]) -> Leaf | Flat:
    leaves: dict[str, list[Truth]] = {}
    joins: list[Flat] = []
    for part in parts:
        for opened in part.parts if isinstance(part, Flat) and part.word == word else (part,):
            if isinstance(opened, Leaf):
                leaves.setdefault(opened.name, []).append(opened.truth)
            else:
                joins.append(opened)
    operation = Truth.__and__ if word == "and" else Truth.__or__
    together = (Leaf(name, folded(operation, truths), "") for name, truths in leaves.items())
    members: tuple[Leaf | Flat, ...] = (*together, *joins)
    return members[0] if len(members) == 1 else Flat(word, members)
