"""``SELECT COUNT(*) FROM table WHERE ...`` as a linear query, and back; nothing else of SQL is supported."""

import re
from collections.abc import Collection
from typing import NoReturn

import numpy as np

from hedgerow.domain import Domain
from hedgerow.domain.conditions import Kind, in_condition, shown, tokens_of, unsupported
from hedgerow.engines import quoted
from hedgerow.errors import QueryError
from hedgerow.queries.conditions.predicate import parse_predicate
from hedgerow.queries.core import Conjunction, LinearQuery

MAX_LENGTH = 20_000
"""Largest number of characters of a statement."""

_CLAUSES = frozenset({"select", "from", "where", "group by", "as"})
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
    return parse_predicate(_condition(StatementReader(text, table, _example(domain, table))), domain)


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


def check_length(text: str) -> None:
    """Refuse a statement that takes long to read.

    Raises:
        QueryError: It is longer than ``MAX_LENGTH``.

    Example:
        >>> check_length("SELECT COUNT(*) FROM adult")
    """
    if len(text) > MAX_LENGTH:
        raise QueryError(
            f"the statement has {len(text):,} characters, and at most {MAX_LENGTH:,} are read",
            remedy="ask for parts of it, or list fewer values",
        )


def _in_statement(table: str) -> str:
    """The name, in quotes unless it is one plain word that SQL does not use."""
    plain = in_condition(table) == table and not any(map(unsupported, tokens_of(table)))
    return table if plain else quoted(table)


def _example(domain: Domain, table: str) -> str:
    condition = Conjunction.where(domain, {domain.names[0]: [0]}).text
    return f"one count is supported, as in: SELECT COUNT(*) FROM {_in_statement(table)} WHERE {condition}"


class StatementReader:
    """A reader of the words of a statement.

    Args:
        text: The statement.
        table: Name of the table; None if the statement may call it anything.
        remedy: An example of what is supported, for errors.
        names: Names of attributes, which become one word each; those of clauses need quotes.
    """

    def __init__(self, text: str, table: str | None, remedy: str, names: Collection[str] = ()) -> None:
        """Cut the statement into words."""
        check_length(text)
        self.text = text
        self._table = table
        self._remedy = remedy
        self._tokens = tokens_of(text, {name for name in names if name.lower() not in _CLAUSES})
        if self._tokens and self._tokens[-1].kind == "SEMICOLON":
            self.text = text[: self._tokens.pop().start]
        self._place = 0

    def take_table(self) -> None:
        """Read the name of the table from the text, as it may hold signs."""
        if self.kind() in {"", "L_PAREN", "TEXT"}:
            self.refuse("a table does not follow FROM", L_PAREN="a subquery", TEXT="a file in place of the table")
        token = self._tokens[self._place]
        bare = None if token.kind == "NAME" else _BARE_NAME.match(self.text, token.start)
        name, end = (bare[0], bare.end()) if bare else (token.text, token.end)
        if self._table is not None and name != self._table and (not bare or name.lower() != self._table.lower()):
            raise QueryError(f"there is no table {shown(name)} here", remedy=self._remedy)
        while self.kind() and self._tokens[self._place].start < end:
            self._place += 1

    def take_alias(self) -> str:
        """Read a name after AS; empty if there is no AS."""
        if self.kind() != "ALIAS":
            return ""
        self._place += 1
        if self.kind() not in {"WORD", "NAME"}:
            raise QueryError("the statement is not understood: a name is missing after AS", remedy=self._remedy)
        return self.take()

    def kind(self, ahead: int = 0) -> Kind:
        """The kind of the next word, or of one after it; empty at the end."""
        return self._tokens[self._place + ahead].kind if self._place + ahead < len(self._tokens) else ""

    def word(self) -> str:
        """The next word in capitals, with one blank between its parts; empty at the end."""
        return " ".join(self._tokens[self._place].text.upper().split()) if self.kind() else ""

    def take(self) -> str:
        """Read the next word, as it was written."""
        self._place += 1
        return self._tokens[self._place - 1].text

    def expect(self, kind: Kind, otherwise: str, **names: str) -> None:
        """Read a word of a kind, or refuse the statement."""
        if self.kind() != kind:
            self.refuse(otherwise, **names)
        self._place += 1

    def take_until(self, word: str) -> str:
        """Read all text up to a word outside of brackets, or to the end."""
        start, depth = self._tokens[self._place - 1].end, 0
        while self.kind() and not (depth <= 0 and self.kind() == "WORD" and self.word() == word):
            depth += {"L_PAREN": 1, "R_PAREN": -1}.get(self.kind(), 0)
            self._place += 1
        return self.text[start : self._tokens[self._place].start if self.kind() else len(self.text)]

    def refuse(self, otherwise: str, **names: str) -> NoReturn:
        """Raise an error that names the unsupported word or, if there is none, the problem.

        Args:
            otherwise: The problem, where no unsupported word explains it.
            names: For a kind of word, its meaning at this place.
        """
        word = (unsupported(self._tokens[self._place]) or names.get(self.kind())) if self.kind() else ""
        raise QueryError(
            f"{word} is not supported" if word else f"the statement is not understood: {otherwise}", remedy=self._remedy
        )


def _condition(reader: StatementReader) -> str:
    """The text after "where"; empty if there is none."""
    reader.expect("SELECT", "it does not begin with SELECT")
    _count(reader)
    reader.take_alias()
    reader.expect("FROM", "FROM does not follow COUNT(*)", COMMA="a second column", WORD="a name without AS")
    reader.take_table()
    if not reader.kind():
        return ""
    alias = "an alias of the table"
    reader.expect(
        "WHERE", "WHERE does not follow the table", COMMA="a second table", WORD=alias, NAME=alias, ALIAS=alias
    )
    if not reader.kind():
        reader.refuse("there is no condition after WHERE")
    return reader.take_until("")


def _count(reader: StatementReader) -> None:
    missing = "COUNT(*) does not follow SELECT"
    if reader.kind() == "WORD" and (word := reader.word()) != "COUNT":
        reader.refuse("", WORD=shown(word))
    reader.expect("WORD", missing, NAME=shown(reader.word()))
    reader.expect("L_PAREN", missing)
    what = "COUNT of anything but *"
    reader.expect("STAR", missing, WORD=what, NAME=what, NUMBER=what, TEXT=what)
    reader.expect("R_PAREN", missing)
