"""Tokens of a SQL text, of the kinds that conditions and counts need."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from hedgerow.domain.conditions.text import SQL_WORDS, shown
from hedgerow.errors import QueryError

if TYPE_CHECKING:
    from sqlglot import Token as SqlToken

SUPPORTED = (
    "supported are =, !=, <, <=, >, >=, between, in, is null, and, or, not over attributes and values, "
    "as in \"sex = 'Male' and age between 30 and 40\""
)

Kind: TypeAlias = Literal[
    "", "NAME", "WORD", "TEXT", "NUMBER", "OTHER", "SELECT", "FROM", "WHERE", "ALIAS", "STAR", "SEMICOLON",
    "AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "TRUE", "FALSE", "EQ", "NEQ", "LT", "LTE", "GT", "GTE",
    "L_PAREN", "R_PAREN", "COMMA", "DOT", "DASH", "PLUS",
]  # fmt: skip
"""``NAME`` is an attribute or stands in double quotes, ``WORD`` is any other word; ``""`` is the end."""

_AS_THEY_ARE = frozenset({
    "SELECT", "FROM", "WHERE", "ALIAS", "STAR", "SEMICOLON", "AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "TRUE",
    "FALSE", "EQ", "NEQ", "LT", "LTE", "GT", "GTE", "L_PAREN", "R_PAREN", "COMMA", "DOT", "DASH", "PLUS", "NUMBER",
})  # fmt: skip
_SEPARATING = frozenset({"SEMICOLON", "EQ", "NEQ", "LT", "LTE", "GT", "GTE", "L_PAREN", "R_PAREN", "COMMA"})
_SIGNED = frozenset({"DASH", "PLUS", "DOT", "STAR"})
"""Signs that a name may hold unquoted, though not begin with: ``-5``, ``.5`` and ``COUNT(*)`` mean something else."""
_DATED = frozenset({"date", "timestamp", "time"})
"""Words before a text that is a date or a time, as in ``DATE '2025-01-31'``."""
_SPELT_AS_WORDS = frozenset({"AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "TRUE", "FALSE"})
"""Kinds that sqlglot may also see in signs, such as ``&&``."""

_UNSUPPORTED = frozenset({
    "GROUP", "GROUP BY", "ORDER", "ORDER BY", "HAVING", "LIMIT", "OFFSET", "FETCH", "UNION", "INTERSECT", "EXCEPT",
    "MINUS", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "OUTER", "CROSS", "NATURAL", "LATERAL", "USING", "SELECT",
    "DISTINCT", "ALL", "ANY", "SOME", "EXISTS", "WITH", "WINDOW", "QUALIFY", "OVER", "PARTITION BY", "FROM", "WHERE",
    "INTO", "VALUES", "AS", "LIKE", "ILIKE", "RLIKE", "REGEXP", "GLOB", "SIMILAR TO", "SYMMETRIC", "ESCAPE", "COLLATE",
    "CASE", "WHEN", "CAST", "ARRAY", "INTERVAL", "XOR", "DIV", "ISNULL", "NOTNULL", "TABLESAMPLE", "USING SAMPLE",
    "PIVOT", "UNPIVOT", "FOR", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "DROP", "CREATE", "ALTER", "TRUNCATE",
    "GRANT", "REVOKE", "SET", "COPY", "ATTACH", "PRAGMA", "CALL", "EXECUTE", "EXPLAIN", "DESCRIBE", "SHOW", "BEGIN",
    "COMMIT", "ROLLBACK",
})  # fmt: skip
"""Words of SQL that neither a condition nor a count may hold; an attribute of that name is a name all the same."""


class Token(NamedTuple):
    """One word, number, text or sign.

    Attributes:
        kind: Kind of the token.
        text: The text, without quotes.
        start: Place of its first character.
        end: Place after its last character.
    """

    kind: Kind
    text: str
    start: int
    end: int


def tokens_of(text: str, names: Collection[str] = ()) -> list[Token]:
    """Cut a text into tokens.

    Args:
        text: The text in SQL.
        names: Names of attributes; words and signs that spell one, as in ``marital-status``, become a name. One with
            signs that conditions use themselves, as in ``age=5``, stands in double quotes: no name changes what the
            rest of a text means. ``YEAR(x)``, ``EXTRACT(YEAR FROM x)`` and ``DATE_TRUNC('month', x)`` are the names of
            levels of dates, as in ``x.year``.

    Raises:
        QueryError: A quote is not closed, there is a comment, or a date has no such level.

    Example:
        >>> [(token.kind, token.text) for token in tokens_of("marital-status != 'x'", {"marital-status"})]
        [('NAME', 'marital-status'), ('NEQ', '!='), ('TEXT', 'x')]
        >>> [token.text for token in tokens_of("born < date '1990-01-31'", {"born"})]
        ['born', '<', '1990-01-31']
        >>> [token.text for token in tokens_of("year(born) < 1990", {"born", "born.year"})]
        ['born.year', '<', '1990']
    """
    from sqlglot.errors import TokenError
    from sqlglot.tokens import Tokenizer

    try:
        tokens = Tokenizer().tokenize(text)
    except (TokenError, ValueError):
        raise QueryError(
            f"{shown(text)} is not understood: a quote is not closed",
            remedy="put texts in single quotes, and write a single quote inside twice, as in 'it''s'",
        ) from None
    if any(token.comments for token in tokens) or (text.strip() and not tokens):
        raise QueryError("comments are not supported", remedy="leave out what follows -- or stands between /* and */")
    found = [Token(_kind(token), token.text, token.start, token.end + 1) for token in tokens]
    following = [*(token.kind for token in found[1:]), ""]
    found = [
        token
        for token, after in zip(found, following, strict=False)
        if not (after == "TEXT" and token.kind == "WORD" and token.text.lower() in _DATED)
    ]
    known = frozenset(names)
    return list(_with_levels(list(_with_names(found, text, known)), known))


def unsupported(token: Token) -> str:
    """The unsupported word or sign of SQL that a token is, for an error; empty if it is none.

    Example:
        >>> [unsupported(token) for token in tokens_of("age Group  By 3 ;")]
        ['', 'GROUP BY', '', "a second statement (';')"]
    """
    if token.kind == "SEMICOLON":
        return "a second statement (';')"
    if token.kind in {"PLUS", "DASH", "STAR"} or (token.kind == "OTHER" and not token.text[:1].isalnum()):
        return shown(token.text)
    word = " ".join(token.text.upper().split())
    return word if token.kind not in {"NAME", "TEXT"} and word in _UNSUPPORTED else ""


def _kind(token: SqlToken) -> Kind:
    name = token.token_type.name
    if name in _SPELT_AS_WORDS and not token.text.isalpha():
        return "OTHER"
    if name in _AS_THEY_ARE:
        return cast("Kind", name)
    if name in {"STRING", "IDENTIFIER"}:
        return "TEXT" if name == "STRING" else "NAME"
    spelt_out = token.end + 1 - token.start >= len(token.text) and token.text[:1].isidentifier()
    return "WORD" if spelt_out and not name.endswith("STRING") else "OTHER"


def _with_names(tokens: list[Token], text: str, names: frozenset[str]) -> Iterator[Token]:
    """Join the tokens that spell an attribute into one name."""
    longest = max(map(len, names), default=0)
    start = 0
    while start < len(tokens):
        first = tokens[start]
        end = start if first.kind in _SEPARATING | _SIGNED else _name_end(tokens, start, text, names, longest)
        word = text[first.start : tokens[end].end]
        literal = end == start and first.kind in _SEPARATING | _SIGNED | {"TEXT", "NUMBER", "NAME"}
        if word in names and not literal and word.lower() not in SQL_WORDS:
            yield Token("NAME", word, first.start, tokens[end].end)
        else:
            end = start
            yield first
        start = end + 1


def _with_levels(tokens: list[Token], names: frozenset[str]) -> Iterator[Token]:
    """Replace functions of dates that are levels by the names of these."""
    start = 0
    while start < len(tokens):
        name, unit, length = _level_call([*tokens[start : start + 6]])
        level = f"{name}.{unit}"
        if name in names and level not in names:
            has = sorted(each for each in names if each.startswith(f"{name}."))
            remedy = f"ask by {', '.join([name, *has])}, or declare other bins or levels in the domain file"
            raise QueryError(f"{shown(name)} has no level of {unit}s here", remedy=remedy)
        if name in names:
            yield Token("NAME", level, tokens[start].start, tokens[start + length - 1].end)
        else:
            yield from tokens[start : start + length]
        start += length


def _level_call(tokens: list[Token]) -> tuple[str, str, int]:
    """The attribute, the unit and the number of tokens of a function of dates; one token of no attribute otherwise."""
    kinds, words = [token.kind for token in tokens], [token.text.lower() for token in tokens]
    if words[0] == "year" and kinds[1:4] == ["L_PAREN", "NAME", "R_PAREN"]:
        return tokens[2].text, "year", 4
    if words[0] == "extract" and words[2:3] == ["year"] and kinds[3:6] == ["FROM", "NAME", "R_PAREN"]:
        return tokens[4].text, "year", 6
    if words[0] == "date_trunc" and kinds[1:6] == ["L_PAREN", "TEXT", "COMMA", "NAME", "R_PAREN"]:
        return tokens[4].text, words[2], 6
    return "", "", 1


def _name_end(tokens: list[Token], start: int, text: str, names: frozenset[str], longest: int) -> int:
    """Last token of the longest run without blanks that spells an attribute; ``start`` if there is none."""
    best = end = start
    while end + 1 < len(tokens) and tokens[end + 1].start == tokens[end].end:
        end += 1
        if tokens[end].kind in _SEPARATING:
            break
        word = text[tokens[start].start : tokens[end].end]
        if len(word) > longest:
            break
        if word in names:
            best = end
    return best
