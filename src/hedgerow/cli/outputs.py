"""Places of output, records and files, and the checks that are made before any budget is spent."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hedgerow.engines import DUCKDB_REMEDY, SPARK, DuckDBTable, duckdb_table, is_duckdb
from hedgerow.errors import ConfigError

TABLES_WRITTEN = (".csv", ".tsv", ".parquet", ".pq")
"""Endings of the files that records are written to, and that public records are read from."""
RECORDS = (
    "a file (.csv, .tsv, .parquet), duckdb:file.db#table, or a folder of Parquet files that Spark writes, spark:folder"
)
"""Places for records, for help texts."""
_OPTION = "--output"


def check_outputs(paths: Mapping[str, Path | None], *, inputs: Iterable[Path], force: bool) -> None:
    """Check that every output can be written, and that none of them would destroy something.

    Args:
        paths: Output paths by the name of their option; None where an option was not given.
        inputs: Files that are read, and must not be overwritten even under ``--force``.
        force: Whether existing files may be overwritten.

    Raises:
        ConfigError: A folder is missing or cannot be written to, a file exists, or two paths are the same.

    Example:
        >>> check_outputs({"--report": Path("none/report.html")}, inputs=[], force=False)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: --report: the folder none does not exist
          Remedy: make it, or name another file
    """
    given = {option: path for option, path in paths.items() if path is not None}
    for option, path in given.items():
        if path.is_dir():
            raise ConfigError(f"{option}: {path} is a folder", remedy="name a file")
        check_folder_of(option, path)
        if path.exists() and not force:
            raise ConfigError(f"{option}: {path} exists", remedy="name another file, or add --force to overwrite it")
    read = {path.resolve(): "an input file" for path in inputs}
    for option, path in given.items():
        other = read.setdefault(path.resolve(), option)
        if other != option:
            raise ConfigError(f"{option}: {path} is also {other}", remedy="name another file")


def check_folder_of(option: str, path: Path) -> None:
    """Check that something can be written into the folder that a path is in.

    Raises:
        ConfigError: The folder is missing or cannot be written to.

    Example:
        >>> check_folder_of("--output", Path("synthetic.csv"))
    """
    if not path.parent.is_dir():
        raise ConfigError(f"{option}: the folder {path.parent} does not exist", remedy="make it, or name another file")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ConfigError(f"{option}: the folder {path.parent} cannot be written to", remedy="name another file")


def check_public(public: Path | None, inputs: Collection[Path], option: str = "--prior") -> None:
    """Refuse the private table where a public one is asked for.

    Raises:
        ConfigError: It is one of the files that the private table is read from.
    """
    if public is not None and public.exists() and any(path.exists() and public.samefile(path) for path in inputs):
        remedy = f"name a public file none of whose records is in the private table, or leave {option} out"
        raise ConfigError(f"{option} {public} is the private table", remedy=remedy)


def check_ending(option: str, path: Path, endings: tuple[str, ...], remedy: str) -> None:
    """Check that the ending of a file says what it holds.

    Args:
        option: Name of the option, for the message.
        path: Path to check.
        endings: Endings in lower case, with the dot.
        remedy: The remedy of the error.

    Raises:
        ConfigError: The path has another ending.

    Example:
        >>> check_ending("--plot", Path("errors.png"), (".svg",), "let it end in .svg")
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: --plot: errors.png ends in '.png'
          Remedy: let it end in .svg
    """
    if path.suffix.lower() not in endings:
        raise ConfigError(f"{option}: {path} ends in {path.suffix or 'nothing'!r}", remedy=remedy)


def check_report(option: str, path: Path | None) -> None:
    """Check that a browser will know a report by its name, and that reports can be made; nothing if none is asked for.

    Raises:
        ConfigError: The ending is neither ``.html`` nor ``.htm``.
        MissingExtraError: jinja2 or matplotlib is not installed.

    Example:
        >>> check_report("--report", Path("report.html"))
    """
    if path is None:
        return
    from hedgerow.report import require_extra

    check_ending(option, path, (".html", ".htm"), "let it end in .html; print the page to make another kind of file")
    require_extra()


@dataclass(frozen=True)
class RecordsPlace:
    """A place for synthetic records.

    Attributes:
        text: The place as `Release.write_records` takes it.
        release: File of the release of these records, unless an option names another.
        table: The table of a DuckDB file, if it is one.
        folder: The folder that Spark writes, if it does.

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
            ConfigError: The text names no place for records.
        """
        if is_duckdb(text):
            table = duckdb_table(text)
            if table is None:
                raise ConfigError(f"{_OPTION}: {text} does not name a file and a table", remedy=DUCKDB_REMEDY)
            return cls(text, table.file.parent / f"{table.parts[-1].replace('/', '_')}.release", table=table)
        if text.startswith(SPARK):
            folder = text.removeprefix(SPARK)
            remote = "://" in folder
            return cls(text, None if remote else Path(folder).with_name(f"{_named(folder)}.release"), folder=folder)
        remedy = (
            "let it end in .csv, .tsv or .parquet, which says how the records are written, or write "
            "duckdb:file.db#table or spark:folder"
        )
        check_ending(_OPTION, Path(text), TABLES_WRITTEN, remedy)
        return cls(str(Path(text)), Path(text).with_suffix(".release"))

    def is_same(self, other: Self) -> bool:
        """Whether two places are one, as far as files and tables go."""
        if self.table is not None and other.table is not None:
            return _same(self.table, other.table)
        return self.table is None and other.table is None and Path(self.text).resolve() == Path(other.text).resolve()

    def check(
        self, others: Mapping[str, Path | None], *, inputs: Iterable[Path], force: bool, source: str = ""
    ) -> None:
        """Check that the records and the other outputs can be written, and that nothing would be destroyed.

        Args:
            others: Further output paths, as for `check_outputs`.
            inputs: Files that are read.
            force: Whether existing records may be replaced.
            source: Place of the private table, if there is one.

        Raises:
            ConfigError: See `check_outputs`; or the table exists, or the folder does and may not be replaced.
            RecordsError: The database cannot be written to.
            MissingExtraError: The library that writes the records is not installed.
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
        raise ConfigError(f"{_OPTION}: {SPARK}{folder} does not name a folder", remedy="write it as spark:folder")
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
