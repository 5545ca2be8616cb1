"""Conditions as trees, and the linear queries that they are; SQL and JSON are read into the same trees.

A leaf is a condition on one attribute, joined by "and", "or" and "not". Truth is three-valued as in SQL (see
``comparison.py``): a record counts where the whole is true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal, TypeVar, final

import numpy as np

from hedgerow.arrays import Bools
from hedgerow.domain import Attribute, Domain
from hedgerow.errors import QueryError
from hedgerow.quantities import human
from hedgerow.queries.conditions.comparison import Truth, compare, equal, every_code, is_missing
from hedgerow.queries.core import CodeSet, Conjunction, Explicit, LinearQuery, in_condition
from hedgerow.queries.families import MAX_CELLS

MAX_DEPTH = 50
"""Largest depth of nested conditions."""

Sign = Literal["=", "!=", "<", "<=", ">", ">="]
SIGNS: tuple[Sign, ...] = ("=", "!=", "<", "<=", ">", ">=")

_T = TypeVar("_T")


@final
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


@final
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
        tests = [equal(attribute, text) for text in dict.fromkeys(value.text for value in values)]
        truth = _folded(Truth.__or__, tests) if tests else Truth(CodeSet(()), every_code(attribute))
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


@final
@dataclass(frozen=True, eq=False)
class Negation:
    """The negation of a condition.

    Attributes:
        part: The condition to negate.
    """

    part: Condition


@final
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


def query_of(condition: Condition, domain: Domain) -> LinearQuery:
    """The number of records for which a condition is true.

    Args:
        condition: The tree.
        domain: The domain of its attributes.

    Returns:
        A ``Conjunction`` if the condition is an "and" of conditions on one attribute each; else an ``Explicit`` query
        over the attributes that it names, whose text is the condition as it was written.

    Raises:
        QueryError: It joins attributes of more than ``MAX_CELLS`` cells with "or" or "not".

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> signs = [("a", "=", "1"), ("b", ">", "0")]
        >>> parts = [Leaf.comparison(domain[name], sign, Constant(value)) for name, sign, value in signs]
        >>> query_of(Join("and", tuple(parts)), domain).text
        'a = 1 and b between 1 and 2'
        >>> query_of(Negation(Join("and", tuple(parts))), domain).text
        "not (a = '1' and b > '0')"
    """
    simple = _simple(condition, negated=False)
    parts = simple.parts if isinstance(simple, _Flat) and simple.word == "and" else (simple,)
    leaves = [part for part in parts if isinstance(part, Leaf)]
    if len(leaves) == len(parts):
        return Conjunction.where(domain, {leaf.name: leaf.truth.yes for leaf in leaves})
    return _explicit(domain, simple, _text(condition))


@final
@dataclass(frozen=True, eq=False)
class _Flat:
    """A join without negations, with one leaf for each attribute, and no join inside one of its word."""

    word: Literal["and", "or"]
    parts: tuple[Leaf | _Flat, ...]


def _simple(condition: Condition, *, negated: bool) -> Leaf | _Flat:
    if isinstance(condition, Negation):
        return _simple(condition.part, negated=not negated)
    if isinstance(condition, Leaf):
        return Leaf(condition.name, ~condition.truth, condition.text) if negated else condition
    word: Literal["and", "or"] = "and" if (condition.word == "and") != negated else "or"
    return _joined(word, [_simple(part, negated=negated) for part in condition.parts])


def _joined(word: Literal["and", "or"], parts: Iterable[Leaf | _Flat]) -> Leaf | _Flat:
    leaves: dict[str, list[Truth]] = {}
    joins: list[_Flat] = []
    for part in parts:
        for opened in part.parts if isinstance(part, _Flat) and part.word == word else (part,):
            if isinstance(opened, Leaf):
                leaves.setdefault(opened.name, []).append(opened.truth)
            else:
                joins.append(opened)
    both = Truth.__and__ if word == "and" else Truth.__or__
    merged = [Leaf(name, _folded(both, truths), "") for name, truths in leaves.items()]
    found: tuple[Leaf | _Flat, ...] = (*merged, *joins)
    return found[0] if len(found) == 1 else _Flat(word, found)


def _folded(operation: Callable[[_T, _T], _T], items: Sequence[_T]) -> _T:
    """Combine all items pair by pair, which keeps operands small."""
    found = list(items)
    while len(found) > 1:
        pairs = [operation(*found[i : i + 2]) for i in range(0, len(found) - 1, 2)]
        found = pairs + found[2 * len(pairs) :]
    return found[0]


def _explicit(domain: Domain, condition: Leaf | _Flat, text: str) -> Explicit:
    scope = domain.clique(_names(condition))
    cells = math.prod(domain.shape_of(scope))
    if cells > MAX_CELLS:
        raise QueryError(
            f"the condition joins {len(scope)} attributes of {human(cells)} cells with 'or' or 'not'",
            remedy=f"at most {MAX_CELLS:,} cells are supported there; ask for its parts one by one",
        )
    yes = np.broadcast_to(_true(condition, domain, scope), domain.shape_of(scope))
    return Explicit(domain, scope, text, yes.astype(np.float64), (0.0, 1.0))


def _names(condition: Leaf | _Flat) -> set[str]:
    return {condition.name} if isinstance(condition, Leaf) else set().union(*map(_names, condition.parts))


def _true(condition: Leaf | _Flat, domain: Domain, scope: tuple[str, ...]) -> Bools:
    """The cells of the scope where it is true, as an array that broadcasts to their shape."""
    if isinstance(condition, Leaf):
        mask = np.zeros(domain[condition.name].size, dtype=np.bool_)
        mask[np.asarray(condition.truth.yes)] = True
        return mask.reshape([mask.size if name == condition.name else 1 for name in scope])
    operation = np.logical_and if condition.word == "and" else np.logical_or
    start = np.full((1,) * len(scope), condition.word == "and")
    return reduce(operation, (_true(part, domain, scope) for part in condition.parts), start)


def _text(condition: Condition) -> str:
    """The condition in SQL, as it was written."""
    if isinstance(condition, Leaf):
        return condition.text
    if isinstance(condition, Negation):
        return f"not {_inner(condition.part)}"
    if not condition.parts:
        return "true" if condition.word == "and" else "false"
    return f" {condition.word} ".join(map(_inner, condition.parts))


def _inner(condition: Condition) -> str:
    text = _text(condition)
    return f"({text})" if isinstance(condition, Join) and condition.parts else text
