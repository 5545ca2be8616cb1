"""Conditions in SQL, as linear queries.

Supported are comparisons of one attribute with values, joined by ``and``, ``or`` and ``not``; everything else is
refused. Truth is three-valued as in SQL (see ``comparison.py``): a record counts where the condition is true.
Attributes are named as in the domain; a name that is no plain word may stand in double quotes. Texts stand in
single quotes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from hedgerow.attribute import Attribute
from hedgerow.domain import Domain
from hedgerow.errors import QueryError
from hedgerow.quantities import human
from hedgerow.queries.code_set import CodeSet
from hedgerow.queries.comparison import Truth, compare, equal, every_code, is_missing
from hedgerow.queries.explicit import MAX_CELLS
from hedgerow.queries.names import SQL_WORDS, did_you_mean
from hedgerow.queries.query import Conjunction, Explicit, LinearQuery

if TYPE_CHECKING:
    from sqlglot import Token, exp

SUPPORTED = (
    "supported are =, !=, <, <=, >, >=, between, in, is null, and, or, not over attributes and values, "
    "as in \"sex = 'Male' and age between 30 and 40\""
)

MAX_DEPTH = 50
"""Brackets inside brackets."""


def parse_predicate(text: str, domain: Domain) -> LinearQuery:
    """Read a condition.

    Args:
        text: The condition; empty for the number of records.
        domain: The domain.

    Returns:
        A ``Conjunction`` if the condition is an "and" of conditions on one attribute each; else an ``Explicit`` query
        over the attributes that it names.

    Raises:
        QueryError: The text is not understood, names an unknown attribute or value, or cuts a bin; or it joins too
            many attributes with "or".

    Example:
        >>> from hedgerow.attribute import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("Female", "Male")), IntegerRange("age", 17, 90)))
        >>> parse_predicate("age >= 30 and not sex = 'Female'", domain).text
        "sex = 'Male' and age between 30 and 90"
        >>> parse_predicate("age > 80 or sex = 'Male'", domain).scope
        ('sex', 'age')
    """
    if not text.strip():
        return Conjunction(domain, (), ())
    condition = _build(_parse(text, domain), domain)
    if isinstance(condition, _One):
        condition = _Join("and", (condition,))
    if condition.word == "and" and all(isinstance(part, _One) for part in condition.parts):
        return _conjunction(domain, condition)
    return _explicit(text, domain, condition)


@final
@dataclass(frozen=True, eq=False)
class _One:
    """A condition on one attribute."""

    name: str
    truth: Truth


@final
@dataclass(frozen=True, eq=False)
class _Join:
    """Conditions joined by "and" or "or"."""

    word: str
    parts: tuple[_One | _Join, ...]


_Condition = _One | _Join


def _join(word: str, parts: list[_Condition]) -> _Condition:
    """Conditions on the same attribute become one; the same word inside is opened."""
    opened: list[_Condition] = []
    for part in parts:
        opened.extend(part.parts if isinstance(part, _Join) and part.word == word else (part,))
    merged: dict[str, _One] = {}
    joins: list[_Condition] = []
    for part in opened:
        if isinstance(part, _Join):
            joins.append(part)
        elif (before := merged.get(part.name)) is not None:
            truth = before.truth & part.truth if word == "and" else before.truth | part.truth
            merged[part.name] = _One(part.name, truth)
        else:
            merged[part.name] = part
    found = [*merged.values(), *joins]
    return found[0] if len(found) == 1 else _Join(word, tuple(found))


def _negate(condition: _Condition) -> _Condition:
    if isinstance(condition, _One):
        return _One(condition.name, ~condition.truth)
    return _join("or" if condition.word == "and" else "and", [_negate(part) for part in condition.parts])


def _conjunction(domain: Domain, condition: _Join) -> Conjunction:
    return Conjunction.where(domain, {part.name: part.truth.yes for part in condition.parts if isinstance(part, _One)})


def _explicit(text: str, domain: Domain, condition: _Join) -> Explicit:
    scope = domain.clique(_names(condition))
    cells = math.prod(domain.shape_of(scope))
    if cells > MAX_CELLS:
        raise QueryError(
            f"the condition joins {len(scope)} attributes of {human(cells)} cells with 'or' or 'not'",
            remedy=f"at most {MAX_CELLS:,} cells are supported there; ask for its parts one by one",
        )
    yes = np.broadcast_to(_true(condition, domain, scope), domain.shape_of(scope))
    return Explicit(domain, scope, " ".join(text.split()), yes.astype(np.float64), (0.0, 1.0))


def _names(condition: _Condition) -> set[str]:
    return {condition.name} if isinstance(condition, _One) else set().union(*map(_names, condition.parts))


def _true(condition: _Condition, domain: Domain, scope: tuple[str, ...]) -> NDArray[np.bool_]:
    """Where it is true, over the cells of the scope, as an array that broadcasts to its shape."""
    if isinstance(condition, _One):
        mask = np.zeros(domain[condition.name].size, dtype=np.bool_)
        mask[np.asarray(condition.truth.yes)] = True
        return mask.reshape([mask.size if name == condition.name else 1 for name in scope])
    parts = [_true(part, domain, scope) for part in condition.parts]
    start = np.full((1,) * len(scope), condition.word == "and")
    return reduce(np.logical_and if condition.word == "and" else np.logical_or, parts, start)


def _parse(text: str, domain: Domain) -> exp.Expr:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.parser import Parser
    from sqlglot.tokens import Tokenizer

    try:
        tokens = _with_names(Tokenizer().tokenize(text), text, domain)
        _check_depth(tokens)
        (parsed,) = Parser().parse_into(exp.Condition, tokens, text)
    except QueryError:
        raise
    except (SqlglotError, RecursionError, ValueError) as problem:
        raise QueryError(f"the condition {text!r} is not understood{_place(problem)}", remedy=SUPPORTED) from None
    if parsed is None:
        raise QueryError(f"the condition {text!r} is not understood", remedy=SUPPORTED)
    return parsed


def _check_depth(tokens: list[Token]) -> None:
    """Refuse what the parser would take very long for."""
    from sqlglot import TokenType

    depth = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth > MAX_DEPTH:
            raise QueryError(f"the condition is nested more than {MAX_DEPTH} deep", remedy="leave brackets out")


def _place(problem: Exception) -> str:
    details = getattr(problem, "errors", None)
    return f" near {details[0]['highlight']!r}" if details and details[0].get("highlight") else ""


def _with_names(tokens: list[Token], text: str, domain: Domain) -> list[Token]:
    """Make one identifier of tokens that spell an attribute, such as ``marital-status`` or ``order``."""
    from sqlglot import Token, TokenType

    literal = (TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER)
    result: list[Token] = []
    start = 0
    while start < len(tokens):
        first = tokens[start]
        end = _name_end(tokens, start, text, domain)
        word = text[first.start : tokens[end].end + 1]
        if (end > start or first.token_type not in literal) and word in domain and word.lower() not in SQL_WORDS:
            result.append(Token(TokenType.IDENTIFIER, word, first.line, first.col, first.start, tokens[end].end))
        else:
            end = start
            result.append(first)
        start = end + 1
    return result


def _name_end(tokens: list[Token], start: int, text: str, domain: Domain) -> int:
    """Last token of the longest run without blanks that spells an attribute; ``start`` if there is none."""
    longest = max(map(len, domain.names))
    best = end = start
    while end + 1 < len(tokens) and tokens[end + 1].start == tokens[end].end + 1:
        end += 1
        word = text[tokens[start].start : tokens[end].end + 1]
        if len(word) > longest:
            break
        if word in domain:
            best = end
    return best


def _build(node: exp.Expr, domain: Domain) -> _Condition:
    """Turn the syntax tree into conditions on attributes."""
    from sqlglot import exp

    if isinstance(node, exp.Paren):
        return _build(node.this, domain)
    if isinstance(node, exp.And | exp.Or):
        word = "and" if isinstance(node, exp.And) else "or"
        return _join(word, [_build(part, domain) for part in node.flatten()])
    if isinstance(node, exp.Not):
        return _negate(_build(node.this, domain))
    if isinstance(node, exp.Boolean):
        return _Join("and" if node.this else "or", ())
    return _comparison(node, domain)


def _comparison(node: exp.Expr, domain: Domain) -> _One:
    from sqlglot import exp

    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        attribute = _attribute(node.this, domain)
        return _One(attribute.name, is_missing(attribute))
    if isinstance(node, exp.In) and not any(node.args.get(key) for key in ("query", "unnest", "field")):
        attribute = _attribute(node.this, domain)
        nothing = Truth(CodeSet(()), every_code(attribute))
        tests = (equal(attribute, _value(value)) for value in node.expressions)
        return _One(attribute.name, reduce(Truth.__or__, tests, nothing))
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        attribute = _attribute(node.this, domain)
        low, high = _value(node.args["low"]), _value(node.args["high"])
        return _One(attribute.name, ~compare(attribute, "<", low) & compare(attribute, "<=", high))
    if (test := _tests().get(type(node))) is not None:
        flipped = not isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Column)
        column, value = (node.expression, node.this) if flipped else (node.this, node.expression)
        attribute = _attribute(column, domain)
        return _One(attribute.name, test[flipped](attribute, _value(value)))
    raise QueryError(f"{node.sql()!r} is not supported in a condition", remedy=SUPPORTED)


_Test = Callable[[Attribute, str], Truth]


def _tests() -> dict[type[exp.Expr], tuple[_Test, _Test]]:
    """Each comparison with the attribute on the left, and with the attribute on the right."""
    from sqlglot import exp

    def differs(attribute: Attribute, value: str) -> Truth:
        return ~equal(attribute, value)

    def less(attribute: Attribute, value: str) -> Truth:
        return compare(attribute, "<", value)

    def at_most(attribute: Attribute, value: str) -> Truth:
        return compare(attribute, "<=", value)

    def more(attribute: Attribute, value: str) -> Truth:
        return ~at_most(attribute, value)

    def at_least(attribute: Attribute, value: str) -> Truth:
        return ~less(attribute, value)

    return {
        exp.EQ: (equal, equal),
        exp.NEQ: (differs, differs),
        exp.LT: (less, more),
        exp.LTE: (at_most, at_least),
        exp.GT: (more, less),
        exp.GTE: (at_least, at_most),
    }


def _attribute(node: exp.Expr, domain: Domain) -> Attribute:
    from sqlglot import exp

    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        raise QueryError(f"{node.sql()!r} stands where an attribute is expected", remedy=SUPPORTED)
    name = ".".join(part.name for part in node.parts)
    if name not in domain:
        raise QueryError(f"there is no attribute {name!r}", remedy=did_you_mean(name, domain.names))
    return domain[name]


def _value(node: exp.Expr) -> str:
    """Text of a literal."""
    from sqlglot import exp

    if isinstance(node, exp.Literal):
        return str(node.this)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return f"-{node.this.this}"
    if isinstance(node, exp.Boolean):
        return str(bool(node.this))
    if isinstance(node, exp.Null):
        raise QueryError("a comparison with null is never true", remedy="write 'is null' or 'is not null'")
    if isinstance(node, exp.Column):
        raise QueryError(
            f"{node.sql()} stands where a value is expected",
            remedy=f"put text in single quotes: '{node.name}'; two attributes cannot be compared",
        )
    raise QueryError(f"{node.sql()!r} stands where a value is expected", remedy=SUPPORTED)
