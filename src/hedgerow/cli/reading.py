"""Where the private table of a command is, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.options import TABLE, naming_options
from hedgerow.cli.progress import showing_counting

if TYPE_CHECKING:
    from hedgerow.data import ScannedTable, Table
    from hedgerow.domain import Domain
    from hedgerow.queries import Workload

PLACES = (
    "a file (.csv, .parquet), 'data/*.parquet', a folder of Parquet files, duckdb:///path/file.db#table, "
    "postgresql://user@host/database#table"
)

DataPlace = Annotated[str, typer.Argument(metavar="DATA", help=f"The private table: {PLACES}.")]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only rows for which this SQL condition holds are records. It must look at one row at a time.",
        rich_help_panel=TABLE,
    ),
]

LARGE_BYTES = 1 << 30
"""A larger file is counted where it is, in passes."""


def read_data(
    output: Output,
    data: str,
    domain: Domain,
    *,
    where: str | None = None,
    workload: Workload | None = None,
    before_rows: Callable[[], object] | None = None,
    **options: Any,
) -> Table | ScannedTable:
    """Read the private table, or count it where it is, for handing on; shows how far it is.

    Args:
        output: Where progress is shown.
        data: Where the table is.
        domain: What records could exist.
        where: Which rows are records.
        workload: What will be asked, so that one pass is enough.
        before_rows: Called when the columns are in order, before the first row is read.
        options: As for ``read_table``.

    Raises:
        DataError: The table does not fit the domain.
    """
    from hedgerow.data import is_place, read_table, scan_table

    with naming_options(domain.names):
        if where is None and not is_place(data) and not _is_large(Path(data)):
            if before_rows is not None:
                scan_table(data, domain, **options)  # which looks at the columns alone
                before_rows()
            with output.busy(f"reading {data}"):
                return read_table(data, domain, **options)
        table = scan_table(data, domain, where=where, **options)
        if before_rows is not None:
            before_rows()
        if workload is not None:
            table.prepare(workload)
        with showing_counting(output) as progress:
            table.count(progress)
        return table


def inputs_of(data: str) -> list[Path]:
    """The files that a table is read from, which nothing may be written over."""
    from hedgerow.data import files_of

    return files_of(data)


def _is_large(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > LARGE_BYTES
