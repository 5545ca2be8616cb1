"""``SELECT COUNT(*) FROM table WHERE ...`` as a linear query, and back; nothing else of SQL is supported."""

import re
from typing import NoReturn, final

import numpy as np

from hedgerow.domain import Domain
from hedgerow.domain.conditions import Kind, in_condition, shown, tokens_of, unsupported
from hedgerow.engines import quoted
from hedgerow.errors import QueryError
from hedgerow.queries.conditions.predicate import parse_predicate
from hedgerow.queries.core import Conjunction, LinearQuery

MAX_LENGTH = 20_000
"""Largest number of characters of a statement."""

_BARE_NAME = re.compile(r"[^\s;,()\"']+")


def parse_count(text: str, domain: Domain, table: str) -> LinearQuery:
    """Read a statement that counts records.

    Exactly ``SELECT COUNT(*) [AS name] FROM table [WHERE condition] [;]`` is understood, in any case and with any white
    space; the condition is read by `parse_predicate`.

    Args:
        text: The statement, at most ``MAX_LENGTH`` characters.
        domain: The domain of the table.
        table: Its name, which may stand in double quotes; without them case does not matter.

    Returns:
        The result of `parse_predicate` for the condition; the number of records if there is none.

    Raises:
        QueryError: It is another statement (the error names the first thing that is not supported), or the condition is
            not understood.

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("Female", "Male")), IntegerRange("age", 17, 90)))
        >>> parse_count("select count(*) from adult where age < 30;", domain, "adult").text
        'age between 17 and 29'
        >>> parse_count("SELECT COUNT(*) FROM adult GROUP BY sex", domain, "adult")
        Traceback (most recent call last):
        hedgerow.errors.QueryError: GROUP BY is not supported
          Remedy: one count is supported, as in: SELECT COUNT(*) FROM adult WHERE sex = 'Female'
    """
    if len(text) > MAX_LENGTH:
        raise QueryError(
            f"the statement has {len(text):,} characters, and at most {MAX_LENGTH:,} are read",
            remedy="ask for parts of it, or list fewer values",
        )
    return parse_predicate(_Statement(text, table, _example(domain, table)).condition(), domain)


def count_sql(query: LinearQuery, table: str) -> str:
    """A statement that `parse_count` reads back to the same query.

    Args:
        query: A conjunction, or a query that `parse_predicate` made of a condition; or the canonical form of one.
        table: Name of the table.

    Raises:
        QueryError: The query does not count records that meet a condition.

    Example:
        >>> from hedgerow import IntegerRange
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("age", 17, 90),))
        >>> count_sql(Conjunction.where(domain, {"age": [0, 1]}), "adult-2024")
        'SELECT COUNT(*) FROM "adult-2024" WHERE age between 17 and 18'
        >>> count_sql(Conjunction(domain, (), ()), "adult")
        'SELECT COUNT(*) FROM adult'
    """
    if not isinstance(query, Conjunction) and not np.isin(query.values(), (0.0, 1.0)).all():
        raise QueryError(
            f"{shown(query.text)} does not count the records that meet a condition", remedy="ask for a condition"
        )
    head = f"SELECT COUNT(*) FROM {_in_statement(table)}"
    return head if query.text == "true" else f"{head} WHERE {query.text}"


def _in_statement(table: str) -> str:
    """The name, in quotes unless it is one plain word that SQL does not use."""
    plain = in_condition(table) == table and not any(map(unsupported, tokens_of(table)))
    return table if plain else quoted(table)


def _example(domain: Domain, table: str) -> str:
    condition = Conjunction.where(domain, {domain.names[0]: [0]}).text
    return f"one count is supported, as in: SELECT COUNT(*) FROM {_in_statement(table)} WHERE {condition}"


@final
class _Statement:
    """A reader of the words of a statement up to its condition."""

    def __init__(self, text: str, table: str, remedy: str) -> None:
        self._text = text
        self._table = table
        self._remedy = remedy
        self._tokens = tokens_of(text)
        if self._tokens and self._tokens[-1].kind == "SEMICOLON":
            self._text = text[: self._tokens.pop().start]
        self._place = 0

    def condition(self) -> str:
        """The text after "where"; empty if there is none."""
        self._take("SELECT", "it does not begin with SELECT")
        self._count()
        if self._kind() == "ALIAS":
            self._place += 1
            self._take_name()
        self._take("FROM", "FROM does not follow COUNT(*)", COMMA="a second column", WORD="a name without AS")
        self._skip_table()
        if not self._kind():
            return ""
        alias = "an alias of the table"
        self._take(
            "WHERE", "WHERE does not follow the table", COMMA="a second table", WORD=alias, NAME=alias, ALIAS=alias
        )
        start = self._tokens[self._place - 1].end
        if not self._kind():
            self._refuse("there is no condition after WHERE")
        return self._text[start:]

    def _count(self) -> None:
        if self._kind() == "WORD" and (word := self._word()) != "COUNT":
            self._refuse("", WORD=shown(word))
        self._take("WORD", "COUNT(*) does not follow SELECT", NAME=shown(self._word()))
        self._take("L_PAREN", "COUNT(*) does not follow SELECT")
        what = "COUNT of anything but *"
        self._take("STAR", "COUNT(*) does not follow SELECT", WORD=what, NAME=what, NUMBER=what, TEXT=what)
        self._take("R_PAREN", "COUNT(*) does not follow SELECT")

    def _take_name(self) -> None:
        if self._kind() not in {"WORD", "NAME"}:
            raise QueryError("the statement is not understood: a name is missing after AS", remedy=self._remedy)
        self._place += 1

    def _skip_table(self) -> None:
        """Read the name of the table from the text, as it may hold signs."""
        if self._kind() in {"", "L_PAREN", "TEXT"}:
            self._refuse("a table does not follow FROM", L_PAREN="a subquery", TEXT="a file in place of the table")
        token = self._tokens[self._place]
        bare = None if token.kind == "NAME" else _BARE_NAME.match(self._text, token.start)
        name, end = (bare[0], bare.end()) if bare else (token.text, token.end)
        if name != self._table and (not bare or name.lower() != self._table.lower()):
            raise QueryError(f"there is no table {shown(name)} here", remedy=self._remedy)
        while self._kind() and self._tokens[self._place].start < end:
            self._place += 1

    def _kind(self) -> Kind:
        return self._tokens[self._place].kind if self._place < len(self._tokens) else ""

    def _word(self) -> str:
        return self._tokens[self._place].text.upper() if self._kind() else ""

    def _take(self, kind: Kind, otherwise: str, **names: str) -> None:
        if self._kind() != kind:
            self._refuse(otherwise, **names)
        self._place += 1

    def _refuse(self, otherwise: str, **names: str) -> NoReturn:
        """Raise an error that names the unsupported word or, if there is none, the problem.

        Args:
            otherwise: The problem, where no unsupported word explains it.
            names: For a kind of word, its meaning at this place.
        """
        word = (unsupported(self._tokens[self._place]) or names.get(self._kind())) if self._kind() else ""
        raise QueryError(
            f"{word} is not supported" if word else f"the statement is not understood: {otherwise}",
            remedy=self._remedy,
        )
