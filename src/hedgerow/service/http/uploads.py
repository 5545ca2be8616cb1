"""Uploads: a file appears under its name whole, and nothing of one that was cut off outlives the next start."""

import fcntl
import logging
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any

import anyio.to_thread

from hedgerow.errors import ConflictError, InvalidRequestError, NotThereError, StoreError

_LOG = logging.getLogger("hedgerow.service")
_HIDDEN = ".upload-"
_PIECE = 1 << 20


async def taken(pieces: AsyncIterator[bytes], target: Path) -> int:
    """Write a file under a hidden name, and give it its own when all of it is on the disk.

    Args:
        pieces: The file.
        target: Its name in the end.

    Returns:
        Its size in bytes.

    Raises:
        ConflictError: There is a file of that name.
        InvalidRequestError: The body is empty.
        StoreError: The disk is full, or cannot be written.
    """
    if target.exists():
        raise _taken_already(target.name)
    handle, hidden = _locked(target.parent)
    try:
        with os.fdopen(handle, "wb") as file:  # which holds the lock until the file has its name
            size = await _written(pieces, file)
            if size == 0:
                raise InvalidRequestError("the body is empty", remedy="send the file as the body")
            await anyio.to_thread.run_sync(_to_disk, file)
            _named(hidden, target)
    except OSError as error:
        raise StoreError("the file cannot be kept", remedy="make room on the server's disk") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(hidden)
    return size


def _locked(folder: Path) -> tuple[int, str]:
    """A new file of a hidden name, for its owner alone, and locked: a sweep leaves it alone."""
    while True:
        handle, hidden = tempfile.mkstemp(prefix=_HIDDEN, dir=folder)  # mode 0600
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, hidden
        os.close(handle)  # swept before it was locked


def sweep(folder: Path) -> None:
    r"""Remove what is left of uploads that were cut off with their server: they hold private rows.

    Uploads of another server on the same folder are locked, and stay. What cannot be removed is logged.

    Args:
        folder: The folder of tables.

    Example:
        >>> with tempfile.TemporaryDirectory() as made:
        ...     _ = Path(made, ".upload-abc").write_text("name\nada\n")
        ...     sweep(Path(made))
        ...     os.listdir(made)
        []
    """
    for each in folder.glob(f"{_HIDDEN}*"):
        try:
            if each.is_file() and not each.is_symlink():
                _remove(each)
        except OSError as error:
            _LOG.warning("%s is left of an upload, with private rows, and cannot be removed: %s", each, error.strerror)


def reads(described: Mapping[str, Any], name: str) -> bool:
    """Whether the described source of a data set names a file of the data folder, or may: patterns and databases count.

    Example:
        >>> reads({"place": "visits-*.csv"}, "visits-1.csv"), reads({"place": "a.csv", "warm": "b.release"}, "a.csv.gz")
        (True, False)
    """
    places = [PurePosixPath(str(described[key])).name for key in ("place", "warm") if described.get(key)]
    return any(place in ("", name) or fnmatchcase(name, place) for place in places)  # the folder itself has no name


def removed(file: Path) -> None:
    """Delete an upload.

    Raises:
        NotThereError: There is no such file.
        StoreError: It cannot be deleted.
    """
    try:
        if not file.is_file():
            raise NotThereError(f"there is no file {file.name!r}", remedy="see the source of the data set")
        file.unlink()
    except OSError as error:
        raise StoreError("the file cannot be deleted", remedy="let the server's user write to its folder") from error


def _remove(cut_off: Path) -> None:
    with cut_off.open("rb+") as file, suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(cut_off)


async def _written(pieces: AsyncIterator[bytes], file: IO[bytes]) -> int:
    held, size = bytearray(), 0
    async for piece in pieces:
        held += piece
        size += len(piece)
        if len(held) >= _PIECE:
            await anyio.to_thread.run_sync(file.write, bytes(held))
            held.clear()
    await anyio.to_thread.run_sync(file.write, bytes(held))
    return size


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _named(hidden: str, target: Path) -> None:
    """Name the file by a link, which unlike a rename never replaces a file that appeared meanwhile."""
    try:
        os.link(hidden, target)
    except FileExistsError:
        raise _taken_already(target.name) from None


def _taken_already(name: str) -> ConflictError:
    return ConflictError(
        f"there is a file {name!r} already",
        remedy="send it under another name; or, to register what is there, give its name as the place of the table",
    )
