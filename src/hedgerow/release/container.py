"""A zip file of a JSON text and numpy arrays; every byte of content is checked before it is used.

The zip comment holds the SHA-256 of ``release.json`` (``session.json`` in the files of sessions), which holds the size
and the SHA-256 of every array. The checksums find damage, and say nothing about who wrote the file. A signature may
follow in the comment (`hedgerow.system.signing`); ``hedgerow audit --key`` verifies it. Arrays are read when they are
asked for, and never unpickled. Equal content gives equal bytes.
"""

import errno
import hashlib
import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DamagedReleaseError, ReleaseError, ReleaseVersionError
from hedgerow.system import replacing

VERSION = 3
RELEASE = "release"
"""The kind of most containers; sessions are the other kind."""

Array = NDArray[Any]

_COMMENT = b"hedgerow release sha256="
_SIGNATURE = b" ed25519="
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip date; a real one would make equal releases differ
_STORE_FROM = 1 << 24  # bytes; compressing large tables takes longer than it saves
_LARGEST_HEAD = 1 << 30
_ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,  # an unknown compression method
    OverflowError,
    RuntimeError,  # a member that claims to be encrypted
    TypeError,  # JSON of another shape
    ValueError,
)


def write_container(
    path: str | os.PathLike[str],
    content: Mapping[str, Any],
    arrays: Mapping[str, Array],
    *,
    kind: str = RELEASE,
    private: bool = False,
    sign: Callable[[bytes], bytes] | None = None,
) -> None:
    """Write the file in one step: a reader sees the old file or the whole new one.

    Args:
        path: Target; its folder must exist.
        content: Values that JSON can hold; long lists in it may be iterators, whose items are written one by one.
        arrays: Arrays of numbers, by name.
        kind: Kind of content, in one word.
        private: Whether only the owner may read the file.
        sign: Function from the zip comment to its signature in base64, which is appended; None for no signature.

    Raises:
        ReleaseError: The folder does not exist or cannot be written to.
    """
    try:
        with replacing(path, private=private) as beside, zipfile.ZipFile(beside, "w") as archive:
            table = {}
            for name, array in arrays.items():
                with archive.open(_member(f"{name}.npy", array.nbytes), "w", force_zip64=True) as stream:
                    hashing = _Hashing(stream)
                    np.lib.format.write_array(hashing, np.ascontiguousarray(array), allow_pickle=False)
                table[name] = {"bytes": hashing.count, "sha256": hashing.digest}
            head = {"format": f"hedgerow-{kind}", "version": VERSION, "arrays": table, "content": content}
            digest = _write_text(archive, f"{kind}.json", head)
            archive.comment = comment = _COMMENT + digest.encode()
            if sign is not None:
                archive.comment = comment + _SIGNATURE + sign(comment)
    except OSError as error:
        raise ReleaseError(
            f"{path}: the {kind} cannot be written: {error.strerror or error}",
            remedy="name a file in a folder that exists and has room",
        ) from error


def _write_text(archive: zipfile.ZipFile, name: str, head: Mapping[str, Any]) -> str:
    """Write the text of JSON in pieces, and return its SHA-256; a short text is held whole, so that it is packed."""
    pieces = (piece.encode() for piece in _json_pieces(head))
    short, size = [], 0
    for piece in pieces:
        short.append(piece)
        size += len(piece)
        if size >= _STORE_FROM:
            break
    with archive.open(_member(name, size), "w", force_zip64=size >= _STORE_FROM) as stream:
        hashing = _Hashing(stream)
        hashing.write(b"".join(short))
        for piece in pieces:
            hashing.write(piece)
    return hashing.digest


def _json_pieces(value: Any) -> Iterator[str]:
    """What `json.dumps` would write: items of iterators one at a time, as their objects may fill memory together."""
    if isinstance(value, Mapping):
        for i, (key, each) in enumerate(value.items()):
            yield f"{', ' if i else '{'}{json.dumps(key)}: "
            yield from _json_pieces(each)
        yield "}" if value else "{}"
    elif isinstance(value, Iterator):
        yield "["
        for i, each in enumerate(value):
            yield f"{', ' if i else ''}{json.dumps(each, allow_nan=False)}"
        yield "]"
    else:
        yield json.dumps(value, allow_nan=False)


def _member(name: str, size: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_STORED if size >= _STORE_FROM else zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


class _Hashing:
    """A stream that hashes what passes through."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.count = 0

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def read(self, size: int = -1) -> bytes:
        return self._pass(self._stream.read(size))

    def write(self, data: bytes) -> int:
        self._pass(data)
        return self._stream.write(data)

    def _pass(self, data: bytes) -> bytes:
        self._hash.update(data)
        self.count += len(data)
        return data


@dataclass(frozen=True)
class Container:
    """A file whose JSON was checked; arrays are checked as they are read.

    Attributes:
        path: The file.
        content: The JSON values.
        table: Size and checksum of every array, by name.
        kind: Kind of content, in one word.
        version: Version of the file format.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_container(f"{folder}/a.release", {"note": "hello"}, {"numbers": np.arange(3)})
        ...     opened = Container.open(f"{folder}/a.release")
        ...     opened.content["note"], opened.array("numbers").tolist()
        ('hello', [0, 1, 2])
    """

    path: Path
    content: Mapping[str, Any]
    table: Mapping[str, Mapping[str, Any]]
    kind: str = RELEASE
    version: int = VERSION

    @classmethod
    def open(cls, path: str | os.PathLike[str], kind: str = RELEASE) -> Self:
        """Read and check the JSON text.

        Args:
            path: The file.
            kind: Kind of content that is expected.

        Raises:
            ReleaseError: There is no such file, or it may not be read.
            DamagedReleaseError: It is not a release, is truncated, or was changed.
            ReleaseVersionError: It was written by a newer format.
        """
        file = Path(path)
        try:
            with _archive(file) as archive:
                head = _checked_head(file, archive, kind)
                table = _checked_table(file, archive, head, kind)
        except OSError as error:
            raise _unreadable(file, error, kind) from error
        except _ZIP_FAULTS as error:
            raise damaged(file, "it is not a zip archive, or is truncated", kind) from error
        return cls(file, head["content"], table, kind, head["version"])

    def array(self, name: str) -> Array:
        """Read and check an array.

        Raises:
            DamagedReleaseError: The array is missing or was changed.
            ReleaseError: The file was removed, or may not be read.
        """
        if name not in self.table:
            raise damaged(self.path, f"the array {name!r} is missing", self.kind)
        try:
            with _archive(self.path) as archive, archive.open(f"{name}.npy") as stream:
                hashing = _Hashing(stream)
                array: Array = np.lib.format.read_array(hashing, allow_pickle=False)
                whole = not hashing.read(1) and hashing.digest == self.table[name]["sha256"]
        except OSError as error:
            raise _unreadable(self.path, error, self.kind) from error
        except (*_ZIP_FAULTS, MemoryError, SyntaxError) as error:
            raise damaged(self.path, f"the array {name!r} cannot be read", self.kind) from error
        if not whole:
            raise damaged(self.path, f"the array {name!r} does not match its checksum", self.kind)
        return array


@contextmanager
def _archive(file: Path) -> Iterator[zipfile.ZipFile]:
    """An archive that is read; what could unpack other methods of compression differs between versions of Python."""
    with zipfile.ZipFile(file) as archive:
        if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in archive.infolist()):
            raise NotImplementedError("a method of compression that no container is written with")
        yield archive


def _checked_head(file: Path, archive: zipfile.ZipFile, kind: str) -> Mapping[str, Any]:
    name = f"{kind}.json"
    if name not in archive.namelist() or archive.getinfo(name).file_size > _LARGEST_HEAD:
        raise damaged(file, f"it holds no {name}", kind)
    text = archive.read(name)
    head = json.loads(text)
    if not isinstance(head, dict) or head.get("format") != f"hedgerow-{kind}":
        raise damaged(file, f"it is not a {kind} of hedgerow", kind)
    version = head.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ReleaseVersionError(
            f"{file}: written in {kind} format {version}; this version of hedgerow reads up to format {VERSION}",
            remedy="install a newer hedgerow",
        )
    if version == 1:
        message = f"{file}: written in {kind} format 1, by a version of hedgerow before 0.2, which is read no more"
        raise ReleaseVersionError(message, remedy="make it again; what it spent stays spent")
    if version not in range(2, VERSION + 1) or not isinstance(head.get("content"), dict):
        raise damaged(file, "its format version is unknown", kind)
    comment = _COMMENT + hashlib.sha256(text).hexdigest().encode()
    if not re.fullmatch(re.escape(comment) + b"(" + _SIGNATURE + b"[A-Za-z0-9+/]{86}==)?", archive.comment):
        raise damaged(file, f"{name} does not match its checksum", kind)
    return head


def _checked_table(
    file: Path, archive: zipfile.ZipFile, head: Mapping[str, Any], kind: str
) -> Mapping[str, Mapping[str, Any]]:
    table: Mapping[str, Mapping[str, Any]] = head["arrays"]
    expected = {f"{kind}.json", *(f"{name}.npy" for name in table)}
    if sorted(archive.namelist()) != sorted(expected):
        raise damaged(file, "its list of parts does not match", kind)
    for name, entry in table.items():
        if archive.getinfo(f"{name}.npy").file_size != entry["bytes"]:
            raise damaged(file, f"the array {name!r} has the wrong size", kind)
    return table


def damaged(file: Path, reason: str, kind: str = RELEASE) -> DamagedReleaseError:
    """The error for a file whose content fails a check."""
    wrote = "'hedgerow synth --release' or Release.save" if kind == RELEASE else "hedgerow"
    return DamagedReleaseError(
        f"{file}: not a {kind} file of hedgerow, or damaged ({reason})", remedy=f"use the file as {wrote} wrote it"
    )


def _unreadable(file: Path, error: OSError, kind: str) -> ReleaseError:
    if error.errno == errno.EINVAL:  # an offset in the archive points before the start of the file
        return damaged(file, "it is not a zip archive, or is truncated", kind)
    return ReleaseError(
        f"{file}: the {kind} cannot be read: {error.strerror or error}", remedy="check the path and the permissions"
    )
