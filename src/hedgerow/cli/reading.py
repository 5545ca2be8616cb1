"""Place of a command's private table, and how to read it: from the options, or from the session file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from hedgerow.cli import options
from hedgerow.cli.console import Output, showing_counting
from hedgerow.cli.lists import joined_names, split_names
from hedgerow.errors import BrokenRuleError, HedgerowError, SessionError, UndeclaredColumnError

if TYPE_CHECKING:
    from hedgerow.data import Labels, ReadOptions, ScannedTable, Table
    from hedgerow.domain import Domain, OpenDomain
    from hedgerow.queries import Workload

PLACES = (
    "a file (.csv, .tsv, .parquet), 'data/*.parquet', a folder of Parquet files, duckdb:///path/file.db#table, "
    "postgresql://user@host/database#table"
)

DataPlace = Annotated[str, typer.Argument(metavar="DATA", help=f"The private table: {PLACES}.")]

_NOTED = (
    *("count_column", "coded", "where", "violations", "person", "at_most", "weight", "largest_weight"),
    "fractional_weights",
)
"""Options that a session remembers, beside its domain and whether there are other columns."""


@dataclass(frozen=True)
class Reading:
    """The way in which the private table is read.

    Attributes:
        domain: Domain of the columns that are read.
        how: How the table is read.
    """

    domain: Domain
    how: ReadOptions

    @property
    def filtered(self) -> bool:
        """Whether rows may be left out by what they hold."""
        return self.how.filters(self.domain)

    @classmethod
    def of_session(cls, session: Path, domain: Path | None, chosen: options.RowOptions, *, accept_draft: bool) -> Self:
        """Take the place from the options, and what they leave out from the session file; nothing private is read.

        Raises:
            typer.BadParameter: There is neither a domain file nor a session.
            SessionError: The session file cannot be read, or holds another domain or other persons.
            DomainError: The domain file is wrong, or does not declare a column.
        """
        from hedgerow.data import ReadOptions

        kept, notes = _kept(session)
        if domain is not None:
            wanted = options.domain_of(domain, chosen.columns, accept_draft=accept_draft)
        elif kept is None:
            raise typer.BadParameter(f"a first call needs --domain: there is no session {session} yet")
        else:
            wanted = kept if chosen.columns is None else kept.of_columns(split_names(chosen.columns) or [])
        if kept not in (None, wanted):
            raise SessionError(
                f"{session}: the session is about a table with another domain",
                remedy="leave --domain and --columns out: the session file holds the domain",
            )
        known = ReadOptions.from_mapping({**notes, "extra_columns": "ignore" if notes.get("some_columns") else None})
        if kept is not None and chosen.reading().persons not in (None, known.persons):
            named = ("--person, --at-most", "--weight, --largest-weight")
            raise SessionError(
                f"{session}: the session was started with other values of: {', '.join(named)}",
                remedy="leave these options out: the session file holds them",
            )
        return cls(wanted, replace(known, **chosen.given()))

    def notes(self) -> dict[str, Any]:
        """The notes in the session file, beside the domain that it holds in any case."""
        how = asdict(self.how)
        return {**{name: how[name] for name in _NOTED}, "some_columns": self.how.extra_columns == "ignore"}

    def departs(self, notes: Mapping[str, Any]) -> list[str]:
        """The options that contradict what a session remembers; one begun in Python remembers nothing."""
        kept = self.notes()
        return [f"--{name.replace('_', '-')}" for name in _NOTED[:4] if notes.get(name, kept[name]) != kept[name]]

    def read(
        self, output: Output, data: str, domain: Domain, workload: Workload, before_rows: Callable[[], object] | None
    ) -> Table | ScannedTable:
        """The same table in another domain of its columns, again where it was read before; see `read_data`."""
        again = before_rows is None
        return replace(self, domain=domain).read_data(output, data, workload, before_rows=before_rows, again=again)

    def read_data(
        self,
        output: Output,
        data: str,
        workload: Workload | None = None,
        *,
        before_rows: Callable[[], object] | None = None,
        again: bool = False,
    ) -> Table | ScannedTable:
        """Read the private table, or count it where it is, for handing on; shows how far it is.

        Args:
            output: Shows progress.
            data: Place of the table.
            workload: The queries that will be asked, so that one pass is enough.
            before_rows: Called when the columns are in order, before the first row is read.
            again: Whether it was read before, in other cells: values are learnt first, numbers inside bins last.

        Raises:
            DataError: The table does not fit the domain.
        """
        from hedgerow.data import read_with, scan_with
        from hedgerow.runs import is_counted_in_place

        with _naming_options(self.domain.names):
            if not is_counted_in_place(data, self.how.where):
                if before_rows is not None:
                    scan_with(data, self.domain, self.how)  # which looks at the columns alone
                    before_rows()
                with output.busy(f"reading {data}{' again, in other cells' if again else ''}"):
                    return read_with(data, self.domain, self.how)
            table = scan_with(data, self.domain, self.how)
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
            return read_labels(data, wanted, self.how, progress=progress)


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
        remedy += f"--columns {shlex.quote(joined_names(names))}"
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
