"""Where a command puts synthetic records: a file, a table of a DuckDB file, or a folder that Spark writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from hedgerow.cli.outputs import check_folder_of, check_outputs, check_records_ending
from hedgerow.engines import DUCKDB_REMEDY, SPARK, DuckDBTable, duckdb_table, is_duckdb
from hedgerow.errors import ConfigError

RECORDS = "a file (.csv, .parquet), duckdb:file.db#table, or a folder of Parquet files that Spark writes, spark:folder"
"""What may be given, for help texts."""

_OPTION = "--output"


@final
@dataclass(frozen=True)
class RecordsPlace:
    """A place for synthetic records.

    Attributes:
        text: As `Release.write_records` takes it.
        release: Where the release of these records goes, if nobody says.
        table: The table of a DuckDB file, if it is one.
        folder: What Spark writes, if it does.

    Example:
        >>> place = RecordsPlace.of("duckdb:synthetic.db#people")
        >>> str(place.release), str(place.table)
        ('people.release', 'synthetic.db#people')
    """

    text: str
    release: Path | None
    table: DuckDBTable | None = None
    folder: str | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """The place that ``--output`` names.

        Raises:
            ConfigError: It is no such place.
        """
        if is_duckdb(text):
            table = duckdb_table(text)
            if table is None:
                raise ConfigError(f"{_OPTION}: {text} names no file and table", remedy=DUCKDB_REMEDY)
            return cls(text, table.file.parent / f"{table.parts[-1].replace('/', '_')}.release", table=table)
        if text.startswith(SPARK):
            folder = text.removeprefix(SPARK)
            remote = "://" in folder
            return cls(text, None if remote else Path(folder).with_name(f"{_named(folder)}.release"), folder=folder)
        check_records_ending(_OPTION, Path(text))
        return cls(str(Path(text)), Path(text).with_suffix(".release"))

    def check(
        self, others: Mapping[str, Path | None], *, inputs: Iterable[Path], force: bool, source: str = ""
    ) -> None:
        """Check that the records and the other outputs can be written, and that nothing would be destroyed.

        Args:
            others: As for `check_outputs`.
            inputs: Files that are read.
            force: Whether what exists may be replaced.
            source: Where the private table is, if there is one.

        Raises:
            ConfigError: As `check_outputs` does; the table exists, or the folder does and may not be replaced.
            RecordsError: The database cannot be written to.
            MissingExtraError: What writes the records is not installed.
        """
        if self.table is not None:
            _check_table(self.table, source, force=force)
            check_outputs(others, inputs=(*inputs, self.table.file), force=force)
        elif self.folder is not None:
            check_outputs(others, inputs=inputs, force=force)
            _check_folder(self.folder, force=force)
        else:
            check_outputs({_OPTION: Path(self.text), **others}, inputs=inputs, force=force)


def _named(folder: str) -> str:
    if not Path(folder).name:
        raise ConfigError(f"{_OPTION}: {SPARK}{folder} names no folder", remedy="write it as spark:folder")
    return Path(folder).name


def _check_table(table: DuckDBTable, source: str, *, force: bool) -> None:
    from hedgerow.engines import check_table, table_exists

    check_folder_of(_OPTION, table.file)
    read = duckdb_table(source)
    if read is not None and _same(read, table):
        raise ConfigError(f"{_OPTION}: {table} is also the table that is read", remedy="name another table")
    if table_exists(table) and not force:
        remedy = "name another table, or add --force to replace it"
        raise ConfigError(f"{_OPTION}: the table {table} exists", remedy=remedy)
    check_table(table)


def _same(one: DuckDBTable, other: DuckDBTable) -> bool:
    return one.file.resolve() == other.file.resolve() and one.key == other.key


def _check_folder(folder: str, *, force: bool) -> None:
    from hedgerow.release import check_folder, is_local

    if not is_local(folder):  # Spark itself refuses what exists
        return
    path = Path(folder)
    if path.exists() and not force:
        raise ConfigError(f"{_OPTION}: {path} exists", remedy="name another folder, or add --force to replace it")
    check_folder(path)
    check_folder_of(_OPTION, path)
