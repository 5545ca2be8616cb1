"""How the calls of one session read its private table: as the first call said, which the session file remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

import typer

from hedgerow.cli.options import split_names
from hedgerow.cli.reading import read_data
from hedgerow.errors import SessionError

if TYPE_CHECKING:
    from hedgerow.cli.console import Output
    from hedgerow.data import ScannedTable, Table
    from hedgerow.domain import Domain
    from hedgerow.queries import Workload


@final
@dataclass(frozen=True)
class Reading:
    """How the table is read.

    Attributes:
        domain: Of the columns that are read.
        count_column: The column that says how many records a row stands for.
        coded: Whether the table holds codes in place of values.
        some_columns: Whether columns that the domain does not declare are left out.
        where: Which rows are records; None for all.
    """

    domain: Domain
    count_column: str | None
    coded: bool
    some_columns: bool
    where: str | None

    @classmethod
    def of_options(
        cls,
        session: Path,
        domain: Path | None,
        *,
        columns: str | None,
        count_column: str | None,
        coded: bool,
        where: str | None,
    ) -> Self:
        """What the options say, and where they say nothing the session file; nothing private is read.

        Raises:
            typer.BadParameter: There is neither a domain file nor a session.
            SessionError: The session file cannot be read, or holds another domain.
            DomainError: The domain file is wrong, or does not declare a column.
        """
        kept, notes = _kept(session)
        declared = kept if domain is None else _declared(domain)
        if declared is None:
            raise typer.BadParameter(f"a first call needs --domain: there is no session {session} yet")
        names = split_names(columns)
        wanted = declared if names is None else declared.project(names)
        if kept not in (None, wanted):
            raise SessionError(
                f"{session}: the session is about a table with another domain",
                remedy="leave --domain and --columns out: the session file holds the domain",
            )
        return cls(
            wanted,
            count_column=notes.get("count_column") if count_column is None else count_column,
            coded=coded or bool(notes.get("coded")),
            some_columns=columns is not None or bool(notes.get("some_columns")),
            where=notes.get("where") if where is None else where,
        )

    def notes(self) -> dict[str, Any]:
        """What the session file remembers, beside the domain that it holds in any case."""
        return {
            "count_column": self.count_column,
            "coded": self.coded,
            "some_columns": self.some_columns,
            "where": self.where,
        }

    def departs(self, notes: Mapping[str, Any]) -> list[str]:
        """The options that contradict what a session remembers; one begun in Python remembers nothing."""
        options = {"count_column": "--count-column", "coded": "--coded", "where": "--where"}
        return [
            option for name, option in options.items() if notes.get(name, getattr(self, name)) != getattr(self, name)
        ]

    def read(
        self,
        output: Output,
        data: str,
        asked: Workload | None = None,
        *,
        before_rows: Callable[[], object] | None = None,
    ) -> Table | ScannedTable:
        """Read the private table, or count it where it is.

        Args:
            output: Where progress is shown.
            data: Where the table is.
            asked: What will be asked, so that one pass is enough.
            before_rows: Called before the first row is read.

        Raises:
            DataError: The table does not fit the domain.
        """
        return read_data(
            output,
            data,
            self.domain,
            where=self.where,
            workload=asked,
            before_rows=before_rows,
            count_column=self.count_column,
            coded=self.coded,
            extra_columns="ignore" if self.some_columns else "error",
        )


def _kept(session: Path) -> tuple[Domain | None, Mapping[str, Any]]:
    """What a session file says of its table; nothing if there is no such file."""
    if not session.exists():
        return None, {}
    from hedgerow.algorithms.online_pmw import table_of_session

    return table_of_session(session)


def _declared(path: Path) -> Domain:
    from hedgerow.domain import read_domain

    return read_domain(path)
