"""Write files so that a reader sees the old one or the whole new one, never a part."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """Give a path beside the target to write to; on success it takes the target's name in one step.

    If the body fails or is interrupted, the new file is removed and the target is as it was.

    Args:
        path: The target. Its folder must exist.
        private: Whether only the owner may read and write the file (mode 0600), from its first byte on. The
            target of a link is replaced then, and not the link: two copies of a private file could both be continued.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> target = Path(folder.name, "out.txt")
        >>> with replacing(target) as beside:
        ...     _ = beside.write_text("whole")
        >>> target.read_text()
        'whole'
        >>> folder.cleanup()
    """
    target = Path(path).resolve() if private else Path(path)
    with _beside(target) as beside:
        yield beside
        _to_disk(beside)
        if not private:
            beside.chmod(0o666 & ~_umask())
        beside.replace(target)
        if private:  # what it says was spent must outlast a power cut, once answers are shown
            _to_disk(target.parent)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files of processes that were killed while they were `replacing` a file.

    Args:
        path: The file, which no one may be writing now; see `alone_with`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("a.txt", ".a-x1_y2z3w.txt", ".a-b-x1_y2z3w.txt"):
        ...         _ = Path(folder, name).write_text("")
        ...     remove_leftovers(f"{folder}/a.txt")
        ...     sorted(os.listdir(folder))
        ['.a-b-x1_y2z3w.txt', 'a.txt']
    """
    target = Path(path).resolve()
    ours = re.compile(rf"\.{re.escape(target.stem)}-[a-z0-9_]{{8}}{re.escape(target.suffix)}")
    for each in target.parent.iterdir():
        if ours.fullmatch(each.name):
            each.unlink(missing_ok=True)


@contextmanager
def creating(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path beside the target to write to; on success it gets the target's name, unless that is taken.

    Only the owner may read and write the file (mode 0600). If several processes make the same file, one succeeds.

    Args:
        path: The target. Its folder must exist.

    Raises:
        FileExistsError: The file exists already; it is as it was.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with creating(f"{folder}/a") as beside:
        ...         _ = beside.write_text("whole")
        ...     Path(folder, "a").read_text(), os.listdir(folder)
        ('whole', ['a'])
    """
    target = Path(path).resolve()
    with _beside(target) as beside:
        yield beside
        _to_disk(beside)
        target.hardlink_to(beside)  # unlike a rename it fails where there is a file
        _to_disk(target.parent)


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a folder to make beside the target; on success it takes the target's name.

    If the body fails or is interrupted, the new folder is removed and the target is as it was. The old contents of the
    target are removed at the end.

    Args:
        path: The target. The folder that it is in must exist.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing_folder(f"{folder}/out") as beside:
        ...         beside.mkdir()
        ...     os.listdir(folder)
        ['out']
    """
    target = Path(path).absolute()
    room = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield room / "new"
        if target.exists():
            target.rename(room / "old")
        (room / "new").rename(target)
    finally:
        shutil.rmtree(room, ignore_errors=True)


@contextmanager
def alone_with(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Lock a file that one process at a time reads and later replaces.

    A hidden file beside it is locked, and stays; the lock ends with the process, however it ends. All links to the
    file share the lock.

    Args:
        path: The file; its folder must exist.

    Yields:
        Whether the lock was free; no other process has the file then.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, alone_with(f"{folder}/a") as first:
        ...     with alone_with(f"{folder}/a") as second:
        ...         first, second
        (True, False)
    """
    target = Path(path).resolve()
    handle = os.open(target.with_name(f".{target.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(handle)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A new file beside the target, for its owner alone; if it still has its own name at the end, it is removed."""
    handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    """Make the contents of a file permanent, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0o077)  # read by setting it: to a strict one, for files that other threads make meanwhile
    os.umask(mask)
    return mask
