"""Place of a command's private table, and how to read it: from the options, or from the session file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from hedgerow.cli import options
from hedgerow.cli.console import Output, showing_counting
from hedgerow.errors import BrokenRuleError, HedgerowError, SessionError, UndeclaredColumnError

if TYPE_CHECKING:
    from hedgerow.data import Labels, ScannedTable, Table
    from hedgerow.domain import Domain, OpenDomain
    from hedgerow.queries import Persons, Workload

PLACES = (
    "a file (.csv, .parquet), 'data/*.parquet', a folder of Parquet files, duckdb:///path/file.db#table, "
    "postgresql://user@host/database#table"
)

DataPlace = Annotated[str, typer.Argument(metavar="DATA", help=f"The private table: {PLACES}.")]

_OF_PERSONS = ("person", "at_most", "weight", "largest_weight")


@dataclass(frozen=True)
class Reading:
    """The way in which the private table is read.

    Attributes:
        domain: Domain of the columns that are read.
        count_column: The column that says how many records a row stands for.
        coded: Whether the table holds codes in place of values.
        some_columns: Whether columns that the domain does not declare are left out.
        where: The condition that records meet; None for all rows.
        violations: Whether records that break a rule of the domain are refused, or left out.
        persons: Persons with several records, of which a bounded number is counted, or with weights; None if each is
            somebody's own, and counts once.
    """

    domain: Domain
    count_column: str | None = None
    coded: bool = False
    some_columns: bool = False
    where: str | None = None
    violations: str = "refuse"
    persons: Persons | None = None

    @property
    def filtered(self) -> bool:
        """Whether rows may be left out by what they hold."""
        return self.where is not None or (self.violations == "drop" and self.domain.has_rules)

    @classmethod
    def of_session(
        cls,
        session: Path,
        domain: Path | None,
        *,
        accept_draft: bool = False,
        columns: str | None,
        count_column: str | None,
        coded: bool,
        where: str | None,
        violations: str | None = None,
        persons: Persons | None = None,
    ) -> Self:
        """Take the place from the options, and what they leave out from the session file; nothing private is read.

        Raises:
            typer.BadParameter: There is neither a domain file nor a session.
            SessionError: The session file cannot be read, or holds another domain or other persons.
            DomainError: The domain file is wrong, or does not declare a column.
        """
        kept, notes = _kept(session)
        if domain is not None:
            wanted = options.domain_of(domain, columns, accept_draft=accept_draft)
        elif kept is None:
            raise typer.BadParameter(f"a first call needs --domain: there is no session {session} yet")
        else:
            wanted = kept if columns is None else kept.of_columns(options.split_names(columns) or [])
        if kept not in (None, wanted):
            raise SessionError(
                f"{session}: the session is about a table with another domain",
                remedy="leave --domain and --columns out: the session file holds the domain",
            )
        known = options.persons_of(*(notes.get(name) for name in _OF_PERSONS))
        if kept is not None and persons not in (None, known):
            named = ("--person, --at-most", "--weight, --largest-weight")
            raise SessionError(
                f"{session}: the session was started with other values of: {', '.join(named)}",
                remedy="leave these options out: the session file holds them",
            )
        return cls(
            wanted,
            count_column=notes.get("count_column") if count_column is None else count_column,
            coded=coded or bool(notes.get("coded")),
            some_columns=columns is not None or bool(notes.get("some_columns")),
            where=notes.get("where") if where is None else where,
            violations=notes.get("violations", "refuse") if violations is None else violations,
            persons=known if persons is None else persons,
        )

    @property
    def person(self) -> str | None:
        """The column that tells persons apart."""
        return None if self.persons is None else self.persons.column

    @property
    def at_most(self) -> int | None:
        """The number of records of a person that are counted, at most."""
        return None if self.persons is None or self.person is None else self.persons.at_most

    @property
    def weight(self) -> str | None:
        """The column that says how often a record counts."""
        return None if self.persons is None or self.persons.weight is None else self.persons.weight.column

    @property
    def largest_weight(self) -> int | None:
        """The largest weight that counts."""
        return None if self.persons is None or self.persons.weight is None else self.persons.weight.largest

    def notes(self) -> dict[str, Any]:
        """The notes in the session file, beside the domain that it holds in any case."""
        names = ("count_column", "coded", "some_columns", "where", "violations", *_OF_PERSONS)
        return {name: getattr(self, name) for name in names}

    def departs(self, notes: Mapping[str, Any]) -> list[str]:
        """The options that contradict what a session remembers; one begun in Python remembers nothing."""
        named = {name: f"--{name.replace('_', '-')}" for name in ("count_column", "coded", "where", "violations")}
        return [option for name, option in named.items() if notes.get(name, getattr(self, name)) != getattr(self, name)]

    def read_data(
        self,
        output: Output,
        data: str,
        workload: Workload | None = None,
        *,
        before_rows: Callable[[], object] | None = None,
        show_values: bool = False,
    ) -> Table | ScannedTable:
        """Read the private table, or count it where it is, for handing on; shows how far it is.

        Args:
            output: Shows progress.
            data: Place of the table.
            workload: The queries that will be asked, so that one pass is enough.
            before_rows: Called when the columns are in order, before the first row is read.
            show_values: Whether messages about bad cells show their values.

        Raises:
            DataError: The table does not fit the domain.
        """
        from hedgerow.data import read_table, scan_table
        from hedgerow.synthesis import is_counted_in_place

        how = self._how(show_values=show_values)
        with _naming_options(self.domain.names):
            if not is_counted_in_place(data, self.where):
                if before_rows is not None:
                    scan_table(data, self.domain, **how)  # which looks at the columns alone
                    before_rows()
                with output.busy(f"reading {data}"):
                    return read_table(data, self.domain, **how)
            table = scan_table(data, self.domain, where=self.where, **how)
            if before_rows is not None:
                before_rows()
            if workload is not None:
                table.prepare(workload)
            with showing_counting(output) as progress:
                table.count(progress)
            return table

    def read_labels(self, output: Output, data: str, wanted: OpenDomain) -> Labels:
        """Read the labels of columns whose values are to be learnt, for handing on.

        Args:
            output: Shows progress.
            data: Place of the table.
            wanted: The domain with values to be learnt.

        Raises:
            DataError: The table does not fit the domain.
        """
        from hedgerow.data import read_labels

        with _naming_options(self.domain.names), showing_counting(output) as progress:
            return read_labels(data, wanted, where=self.where, progress=progress, **self._how())

    def _how(self, *, show_values: bool = False) -> dict[str, Any]:
        """Arguments of the functions that read tables."""
        return {
            "count_column": self.count_column,
            "coded": self.coded,
            "extra_columns": "ignore" if self.some_columns else "error",
            "show_values": show_values,
            "violations": self.violations,
            **{name: getattr(self, name) for name in _OF_PERSONS},
        }


def inputs_of(data: str) -> list[Path]:
    """The files that a table is read from, which nothing may be written over."""
    from hedgerow.data import files_of

    return files_of(data)


def _kept(session: Path) -> tuple[Domain | None, Mapping[str, Any]]:
    """The domain and the notes in a session file; nothing if there is no such file."""
    if not session.exists():
        return None, {}
    from hedgerow.algorithms.online_pmw import table_of_session

    return table_of_session(session)


@contextmanager
def _naming_options(names: Sequence[str]) -> Iterator[None]:
    """Let errors about undeclared columns and broken rules name options in place of Python arguments.

    Args:
        names: Names that the domain declares.

    Example:
        >>> with _naming_options(["age", "birth region"]):
        ...     raise UndeclaredColumnError("the domain does not declare it", column="n")
        Traceback (most recent call last):
            ...
        hedgerow.errors.UndeclaredColumnError: column 'n': the domain does not declare it
          Remedy: declare it in the domain file, or read the declared columns only: --columns 'age,birth region'
    """
    try:
        yield
    except BrokenRuleError as error:
        _advise(error, error.remedy.replace("violations: drop", "--violations drop"))
        raise
    except UndeclaredColumnError as error:
        remedy = "declare it in the domain file, or read the declared columns only: "
        remedy += f"--columns {shlex.quote(options.joined_names(names))}"
        if error.looks_like_counts:
            option = f"--count-column {shlex.quote(error.column or '')}"
            remedy = f"if it says how many records a row stands for, add {option}; else {remedy}"
        if error.looks_like_weights:
            option = f"--weight {shlex.quote(error.column or '')} --largest-weight W"
            remedy = f"if it says how often each record counts, add {option}; else {remedy}"
        _advise(error, remedy)
        raise


def _advise(error: HedgerowError, remedy: str) -> None:
    error.remedy = remedy
    error.args = (f"{error.message}\n  Remedy: {remedy}",)
