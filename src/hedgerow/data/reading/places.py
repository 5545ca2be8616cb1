"""Places of tables: files, patterns of file names, folders, databases; each a reader that can be read again."""

import os
from collections.abc import Callable
from glob import glob, has_magic
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hedgerow.data.reading.databases import filtered, open_database, open_folder, open_postgresql
from hedgerow.data.reading.readers import Reader, one_after_another, open_table
from hedgerow.domain import USUAL_FILE, FileFormat
from hedgerow.engines import DUCKDB_REMEDY, SPARK, duckdb_table
from hedgerow.errors import UnreadableTableError


def open_place(source: str | os.PathLike[str], where: str | None = None, form: FileFormat = USUAL_FILE) -> Reader:
    """Look at the columns of a table that stays where it is; rows are read later, as often as need be.

    Args:
        source: Path of a file (see `open_table`); a pattern of such paths (``data/*.parquet``); a folder with Parquet
            files below it, partitioned (``year=2024/``) or not; a table of a DuckDB file (``duckdb:///path/file.db#table``,
            ``duckdb:file.db#table`` in the current folder) or of a PostgreSQL database
            (``postgresql://user@host/database#table``).
        where: A SQL condition on its columns: only rows for which it holds are read.
        form: Format of text files and workbooks.

    Raises:
        UnreadableTableError: There is no such table.
        QueryError: The condition may look at more than one row.
        MissingExtraError: The library that reads it is not installed.
    """
    text = os.fspath(source)
    kind = _scheme(text)
    if kind is not None:
        return kind(text, where)
    if "://" in text:
        kinds = "give a file, a pattern, a folder, duckdb:///file.db#table or postgresql://host/database#table"
        raise UnreadableTableError("this kind of address is unknown", file=shown_address(text), remedy=kinds)
    path = Path(text)
    if path.is_dir():
        return open_folder(path, where)
    if has_magic(text) and not path.exists():
        return _joined(text, where, form)
    return _open_file(path, where, form)


def _open_file(path: str | Path, where: str | None, form: FileFormat) -> Reader:
    reader = open_table(path, form)
    return reader if where is None else filtered(reader, where)


def is_place(text: str) -> bool:
    """Whether a text names a table that is not a single file, and can only be read where it is.

    Example:
        >>> is_place("data/*.parquet"), is_place("duckdb:people.db#people"), is_place("people.csv")
        (True, True, False)
    """
    return (
        text.startswith(SPARK)
        or _scheme(text) is not None
        or Path(text).is_dir()
        or (has_magic(text) and not Path(text).exists())
    )


def files_of(text: str) -> list[Path]:
    """The files that a table is read from, so that nothing is written over them; none for a server's.

    Example:
        >>> files_of("duckdb:///data/people.db#people"), files_of("postgresql://me@host/db#people")
        ([PosixPath('/data/people.db')], [])
    """
    scheme = _scheme(text)
    if text.startswith(SPARK) or (scheme is None and "://" in text):
        return []
    if scheme is not None:
        return [Path(unquote(urlsplit(text).path))] if scheme is _of_duckdb else []
    return [Path(text)] if Path(text).exists() or not has_magic(text) else list(map(Path, glob(text, recursive=True)))


def _scheme(text: str) -> Callable[[str, str | None], Reader] | None:
    scheme = text.partition(":")[0].lower()
    return {"duckdb": _of_duckdb, "postgresql": _of_postgresql, "postgres": _of_postgresql}.get(scheme)


def _of_duckdb(text: str, where: str | None) -> Reader:
    table = duckdb_table(text)
    if table is None:
        raise UnreadableTableError("the address does not name a file and a table", file=text, remedy=DUCKDB_REMEDY)
    return open_database(table, where)


def _of_postgresql(text: str, where: str | None) -> Reader:
    address, mark, table = text.partition("#")
    if not mark or not table:
        remedy = "write it as postgresql://user@host/database#table"
        raise UnreadableTableError("the address does not name a table", file=shown_address(text), remedy=remedy)
    return open_postgresql(address, unquote(table), where, shown_address(text))


def shown_address(text: str) -> str:
    """An address for messages: without its password and options, wherever in the address these are.

    Example:
        >>> shown_address("postgresql://me:secret@host:5432/db#t")
        'postgresql://me@host:5432/db#t'
        >>> shown_address("postgresql://me:se/cr#et@host/db?sslpassword=secret#t")
        'postgresql://me@host/db#t'
        >>> shown_address("postgresql://host/db?user=me&password=p@ss#t")
        'postgresql:...'
    """
    scheme, _, rest = text.partition(":")
    user, at, place = rest.removeprefix("//").rpartition("@")
    before, mark, options = place.partition("?")
    if "?" in user.partition(":")[0] or "/" in user.partition(":")[0] or "=" in before:
        return f"{scheme}:..."
    table = f"#{options.rpartition('#')[2]}" if mark and "#" in options else ""
    return f"{scheme}://{user.partition(':')[0]}{at}{before}{table}"


def _joined(pattern: str, where: str | None, form: FileFormat) -> Reader:
    """Files one after the other, in the order of their names; all have the columns of the first.

    Each is filtered by itself: types and order of columns can differ.
    """
    files = sorted(set(glob(pattern, recursive=True)))  # "**/**" finds a file more than once
    if not files:
        raise UnreadableTableError("no file has such a name", file=pattern, remedy="check the pattern, and quote it")
    return one_after_another(pattern, [_open_file(file, where, form) for file in files], filtered=where is not None)
