"""The words of a SQL statement, one after the other, and errors that name the first one that is not supported."""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NoReturn

from hedgerow.domain.conditions import Kind, shown, tokens_of, unsupported
from hedgerow.errors import QueryError

MAX_LENGTH = 20_000
"""Largest number of characters of a statement."""

_CLAUSES = frozenset({"select", "from", "where", "group by", "order by", "as"})
_BARE_NAME = re.compile(r"[^\s;,()\"']+")


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


class StatementReader:
    """A reader of the words of a statement.

    Args:
        text: The statement.
        table: Name of the table; None if the statement may call it anything.
        remedy: An example of what is supported, for errors.
        names: Names of attributes, which become one word each; those of clauses need quotes.
        instead: What to do instead of some unsupported words, for their errors.
    """

    def __init__(
        self,
        text: str,
        table: str | None,
        remedy: str,
        names: Collection[str] = (),
        instead: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Cut the statement into words."""
        check_length(text)
        self.text = text
        self._table = table
        self.remedy = remedy
        self._instead = instead
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
            raise QueryError(f"there is no table {shown(name)} here", remedy=self.remedy)
        while self.kind() and self._tokens[self._place].start < end:
            self._place += 1

    def take_alias(self) -> str:
        """Read a name after AS; empty if there is no AS."""
        if self.kind() != "ALIAS":
            return ""
        self._place += 1
        if self.kind() not in {"WORD", "NAME"}:
            raise QueryError("the statement is not understood: a name is missing after AS", remedy=self.remedy)
        return self.take()

    def kind(self, ahead: int = 0) -> Kind:
        """The kind of the next word, or of one after it; empty at the end."""
        return self._tokens[self._place + ahead].kind if self._place + ahead < len(self._tokens) else ""

    def word(self) -> str:
        """The next word in capitals, with one blank between its parts; empty at the end."""
        return " ".join(self._tokens[self._place].text.upper().split()) if self.kind() else ""

    @property
    def is_unsupported(self) -> bool:
        """Whether the next word is one of SQL that no statement here has."""
        return bool(self.kind()) and bool(unsupported(self._tokens[self._place]))

    def peek(self) -> str:
        """The next word, as it was written."""
        return self._tokens[self._place].text

    def take(self) -> str:
        """Read the next word, as it was written."""
        self._place += 1
        return self._tokens[self._place - 1].text

    def expect(self, kind: Kind, otherwise: str, **names: str) -> None:
        """Read a word of a kind, or refuse the statement."""
        if self.kind() != kind:
            self.refuse(otherwise, **names)
        self._place += 1

    def take_until(self, *words: str) -> str:
        """Read all text up to one of some words, or a closing bracket, outside of other brackets, or to the end."""
        start, depth = self._tokens[self._place - 1].end, 0
        while self.kind() and not (depth <= 0 and self.kind() in {"WORD", "R_PAREN"} and self.word() in words):
            depth += {"L_PAREN": 1, "R_PAREN": -1}.get(self.kind(), 0)
            self._place += 1
        return self.text[start : self._tokens[self._place].start if self.kind() else len(self.text)]

    def refuse_word(self, word: str, what: str = "") -> NoReturn:
        """Raise the error of an unsupported word, with what to do instead of it.

        Args:
            word: The word, in capitals.
            what: What is not supported; the word itself by default.
        """
        raise QueryError(f"{what or word} is not supported", remedy=self._instead.get(word, self.remedy))

    def refuse(self, otherwise: str, **names: str) -> NoReturn:
        """Raise an error that names the unsupported word or, if there is none, the problem.

        Args:
            otherwise: The problem, where no unsupported word explains it.
            names: For a kind of word, its meaning at this place.
        """
        word = (unsupported(self._tokens[self._place]) or names.get(self.kind())) if self.kind() else ""
        if word:
            self.refuse_word(word)
        raise QueryError(f"the statement is not understood: {otherwise}", remedy=self.remedy)
