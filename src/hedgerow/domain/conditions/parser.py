"""Conditions in SQL, read into trees.

Supported are comparisons of one attribute with values, joined by ``and``, ``or`` and ``not``; everything else is
refused. Truth is three-valued as in SQL (see ``comparison.py``).
Attributes are named as in the domain; a name that is no plain word may stand in double quotes. Texts stand in
single quotes.
"""

from collections.abc import Callable
from typing import Literal, NoReturn

from hedgerow.domain.attribute import Attribute
from hedgerow.domain.conditions.sql_tokens import SUPPORTED, Kind, Token, tokens_of, unsupported
from hedgerow.domain.conditions.text import did_you_mean, shown
from hedgerow.domain.conditions.tree import MAX_DEPTH, Condition, Constant, Join, Leaf, Sign, negation
from hedgerow.domain.domain import Domain
from hedgerow.errors import QueryError

_SIGNS: dict[Kind, Sign] = {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}

_MIRRORED: dict[Sign, Sign] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The same comparison with its sides exchanged."""


def parse_condition(text: str, domain: Domain) -> Condition:
    """Read a condition.

    Args:
        text: The condition in SQL.
        domain: The domain of its attributes.

    Raises:
        QueryError: The text is empty or not understood, names an unknown attribute or value, or cuts a bin.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> parse_condition("age >= 30", Domain((IntegerRange("age", 17, 90),))).truth.yes
        CodeSet(13..73)
    """
    return _Reader(text, domain).read()


class _Reader:
    """A recursive-descent reader of the tokens of a condition.

    The grammar::

        condition  = both {"or" both}
        both       = single {"and" single}
        single     = {"not"} ("(" condition ")" | "true" | "false" | comparison)
        comparison = name sign value | value sign name | name "is" ["not"] "null"
                   | name ["not"] "in" "(" [value {"," value}] ")" | name ["not"] "between" value "and" value
    """

    def __init__(self, text: str, domain: Domain) -> None:
        self._text = text
        self._domain = domain
        self._tokens = tokens_of(text, domain.all_names)
        self._place = 0

    def read(self) -> Condition:
        """Read the whole condition."""
        condition = self._condition(0)
        if self._kind():
            self._refuse()
        return condition

    # Joins

    def _condition(self, depth: int) -> Condition:
        return self._joined("or", lambda: self._joined("and", lambda: self._single(depth)))

    def _joined(self, word: Literal["and", "or"], part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self._take("AND" if word == "and" else "OR"):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Join(word, tuple(parts))

    def _single(self, depth: int) -> Condition:
        negated = False
        while self._take("NOT"):
            negated = not negated
        part = self._bracket(depth + 1) if self._take("L_PAREN") else self._constant() or self._comparison()
        return negation(part) if negated else part

    def _bracket(self, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            raise QueryError(f"the condition is nested more than {MAX_DEPTH} deep", remedy="leave brackets out")
        condition = self._condition(depth)
        self._expect("R_PAREN")
        return condition

    def _constant(self) -> Condition | None:
        """``true`` or ``false``, unless it is compared with something."""
        if self._kind() not in {"TRUE", "FALSE"} or self._kind(1) in _SIGNS:
            return None
        return Join("and" if self._next().kind == "TRUE" else "or", ())

    # Comparisons

    def _comparison(self) -> Condition:
        mirrored = (self._value(), _MIRRORED[self._sign()]) if self._at_value() else None
        attribute = self._attribute()
        try:
            if mirrored is not None:
                return Leaf.comparison(attribute, mirrored[1], mirrored[0])
            return self._compared(attribute)
        except QueryError as error:
            error.attribute = attribute.name
            raise

    def _compared(self, attribute: Attribute) -> Condition:
        if self._kind() in _SIGNS:
            return Leaf.comparison(attribute, self._sign(), self._value())
        if self._take("IS"):
            return self._is_null(attribute)
        negated = self._take("NOT")
        part = self._membership(attribute)
        return negation(part) if negated else part

    def _is_null(self, attribute: Attribute) -> Condition:
        negated = self._take("NOT")
        if not self._take("NULL"):
            what = self._next().text.upper() if self._kind() else ""
            raise QueryError(f"IS {'NOT ' * negated}{shown(what)} is not supported", remedy=SUPPORTED)
        return negation(Leaf.missing(attribute)) if negated else Leaf.missing(attribute)

    def _membership(self, attribute: Attribute) -> Leaf:
        if self._take("IN"):
            return Leaf.among(attribute, self._list())
        if self._take("BETWEEN"):
            low = self._value()
            self._expect("AND")
            return Leaf.between(attribute, low, self._value())
        if self._kind() not in {"", "AND", "OR", "R_PAREN"}:
            self._refuse()
        raise QueryError(f"the attribute {attribute.name!r} alone is not supported as a condition", remedy=SUPPORTED)

    def _list(self) -> list[Constant]:
        self._expect("L_PAREN")
        values: list[Constant] = []
        while self._kind() != "R_PAREN":
            if values:
                self._expect("COMMA")
            values.append(self._value())
        self._place += 1
        return values

    def _sign(self) -> Sign:
        if (sign := _SIGNS.get(self._kind())) is None:
            self._refuse()
        self._place += 1
        return sign

    def _attribute(self) -> Attribute:
        if self._at_value():
            raise QueryError(f"{self._shown()} stands where an attribute is expected", remedy=SUPPORTED)
        name = self._name()
        if name not in self._domain.all_names:
            raise QueryError(f"there is no attribute {shown(name)}", remedy=did_you_mean(name, self._domain.all_names))
        return self._domain[name]

    def _name(self) -> str:
        """A name, or names joined by dots."""
        if self._kind() not in {"NAME", "WORD"} or unsupported(self._tokens[self._place]):
            self._refuse()
        parts = [self._next()]
        while self._kind() == "DOT" and self._kind(1) in {"NAME", "WORD"}:
            self._place += 1
            parts.append(self._next())
        if self._kind() == "L_PAREN" and parts[-1].kind == "WORD":
            raise QueryError(f"the function {shown(parts[-1].text)} is not supported", remedy=SUPPORTED)
        return ".".join(part.text for part in parts)

    def _at_value(self) -> bool:
        return self._kind() in {"TEXT", "NUMBER", "DASH", "PLUS", "DOT", "TRUE", "FALSE", "NULL"}

    def _value(self) -> Constant:
        if self._kind() in {"DASH", "PLUS", "DOT", "NUMBER"}:
            return Constant(self._number(), quoted=False)
        if self._kind() == "NULL":
            raise QueryError("a comparison with null is never true", remedy="write 'is null' or 'is not null'")
        if self._kind() == "NAME" or (self._kind() == "WORD" and not unsupported(self._tokens[self._place])):
            name = self._name()
            raise QueryError(
                f"{shown(name)} stands where a value is expected",
                remedy=f"put text in single quotes: {Constant(name[:40]).sql}; two attributes cannot be compared",
            )
        if self._kind() not in {"TEXT", "TRUE", "FALSE"}:
            self._refuse()
        token = self._next()
        return Constant(token.text) if token.kind == "TEXT" else Constant(token.kind.capitalize(), quoted=False)

    def _number(self) -> str:
        minus = self._take("DASH")
        if not minus:
            self._take("PLUS")
        text = "0." if self._take("DOT") else ""
        if self._kind() != "NUMBER":
            self._refuse()
        return f"{'-' * minus}{text}{self._next().text}"

    # Words

    def _kind(self, ahead: int = 0) -> Kind:
        place = self._place + ahead
        return self._tokens[place].kind if place < len(self._tokens) else ""

    def _next(self) -> Token:
        self._place += 1
        return self._tokens[self._place - 1]

    def _take(self, kind: Kind) -> bool:
        taken = self._kind() == kind
        self._place += taken
        return taken

    def _expect(self, kind: Kind) -> None:
        if not self._take(kind):
            self._refuse()

    def _shown(self) -> str:
        return shown(self._tokens[self._place].text)

    def _refuse(self) -> NoReturn:
        """Raise an error that says what is not understood."""
        whole = f"the condition {shown(self._text.strip())} is not understood"
        if not self._kind():
            raise QueryError(f"{whole}: it ends too early", remedy=SUPPORTED)
        subquery = self._kind() == "L_PAREN" and self._kind(1) == "SELECT"
        if word := unsupported(self._tokens[self._place + subquery]):
            raise QueryError(f"{word} is not supported in a condition", remedy=SUPPORTED)
        raise QueryError(f"{whole} near {self._shown()}", remedy=SUPPORTED)
