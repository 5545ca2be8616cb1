"""Checks of output paths, made before any budget is spent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from hedgerow.errors import ConfigError

RECORD_ENDINGS = (".csv", ".parquet", ".pq")


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
        _check_place(option, path)
        if path.exists() and not force:
            raise ConfigError(f"{option}: {path} exists", remedy="name another file, or add --force to overwrite it")
    read = {path.resolve(): "an input file" for path in inputs}
    for option, path in given.items():
        other = read.setdefault(path.resolve(), option)
        if other != option:
            raise ConfigError(f"{option}: {path} is also {other}", remedy="name another file")


def _check_place(option: str, path: Path) -> None:
    if path.is_dir():
        raise ConfigError(f"{option}: {path} is a folder", remedy="name a file")
    check_folder_of(option, path)


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


def check_ending(option: str, path: Path, endings: tuple[str, ...], remedy: str) -> None:
    """Check that the ending of a file says what it holds.

    Args:
        option: Name of the option, for the message.
        path: What was given.
        endings: In lower case, with the dot.
        remedy: What to write instead.

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


def check_records_ending(option: str, path: Path) -> None:
    """Check that the ending says how to write records.

    Raises:
        ConfigError: The ending is neither ``.csv`` nor ``.parquet`` (or ``.pq``).

    Example:
        >>> check_records_ending("--output", Path("synthetic.parquet"))
    """
    check_ending(
        option,
        path,
        RECORD_ENDINGS,
        "let it end in .csv or .parquet, which says how the records are written, or write duckdb:file.db#table or "
        "spark:folder",
    )


def check_report_ending(option: str, path: Path) -> None:
    """Check that a browser will know a report by its name.

    Raises:
        ConfigError: The ending is neither ``.html`` nor ``.htm``.

    Example:
        >>> check_report_ending("--report", Path("report.html"))
    """
    check_ending(option, path, (".html", ".htm"), "let it end in .html; print the page to make another kind of file")
