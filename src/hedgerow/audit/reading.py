"""Files as an auditor reads them: releases, sessions, and ledgers that a server exported.

A release or session is a zip archive of one JSON text and numpy arrays. The comment of the archive holds the SHA-256 of
the text, and the text that of each array. A text in which a name stands twice is refused: two readers could see two
different ledgers in it.
"""

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Never

from hedgerow.errors import AuditError

OLDEST, NEWEST = 2, 3
"""Format versions of containers that are understood."""

LEDGER = "ledger"

_COMMENT = re.compile(rb"(hedgerow release sha256=([0-9a-f]{64}))(?: ed25519=([A-Za-z0-9+/]{86}==))?\Z")
_LARGEST_TEXT = 1 << 30
_BLOCK = 1 << 20
_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, OverflowError, RuntimeError)
_SHAPES = (AttributeError, KeyError, TypeError, ValueError)


@dataclass(frozen=True)
class Opened:
    """A file that was read.

    Attributes:
        path: The file.
        kind: ``"release"``, ``"session"`` or ``"ledger"``.
        version: Format version; for a ledger, the newest.
        content: The values of the JSON text.
        digest: SHA-256 of the JSON text, 64 hexadecimal digits.
        faults: Contradictions within the file, in sentences; the content can be audited all the same.
        signed: The bytes that a signature is about; empty without one.
        signature: The signature in base64; None without one.
    """

    path: str
    kind: str
    version: int
    content: Mapping[str, Any] = field(repr=False)
    digest: str
    faults: tuple[str, ...] = ()
    signed: bytes = b""
    signature: bytes | None = None


def read(path: str | os.PathLike[str]) -> Opened:
    """Read a release, a session, or the JSON of a server's ledger.

    Raises:
        AuditError: There is no such file, it may not be read, or it is of another kind.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            return _read_archive(file, stream) if zipfile.is_zipfile(stream) else _read_export(file, stream)
    except OSError as error:
        raise AuditError(
            f"{file}: cannot be read: {error.strerror or error}", remedy="check the path and the permissions"
        ) from error
    except (*_FAULTS, UnicodeDecodeError) as error:
        raise _strange(file, "it is damaged or truncated") from error


def _read_export(file: Path, stream: IO[bytes]) -> Opened:
    stream.seek(0)
    text = stream.read(_LARGEST_TEXT)
    content = _parsed(file, text)
    if not isinstance(content.get("events"), list):
        raise _strange(file, "it is neither an archive nor a ledger in JSON")
    if "next" in content:
        raise _strange(file, "it is one page of a ledger, which the chain of the whole does not fit")
    return Opened(str(file), LEDGER, NEWEST, content, hashlib.sha256(text).hexdigest())


def _read_archive(file: Path, stream: IO[bytes]) -> Opened:
    with zipfile.ZipFile(stream) as archive:
        names = archive.namelist()
        if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in archive.infolist()):
            raise _strange(file, "a part is compressed by an unknown method")
        texts = [name for name in names if name in ("release.json", "session.json")]
        if len(texts) != 1 or len(set(names)) != len(names):
            raise _strange(file, "it holds no release.json or session.json, or a part twice")
        if archive.getinfo(texts[0]).file_size > _LARGEST_TEXT:
            raise _strange(file, f"its {texts[0]} is too large")
        text = archive.read(texts[0])
        head, kind = _parsed(file, text), texts[0].removesuffix(".json")
        digest = hashlib.sha256(text).hexdigest()
        if head.get("format") != f"hedgerow-{kind}" or not isinstance(head.get("content"), dict):
            raise _strange(file, f"it is not a {kind} of Hedgerow")
        version = head.get("version")
        if isinstance(version, bool) or not isinstance(version, int) or not OLDEST <= version <= NEWEST:
            raise AuditError(
                f"{file}: its format {version!r} is unknown; this version audits formats {OLDEST} to {NEWEST}",
                remedy="audit it with the version that wrote it, or a newer one",
            )
        faults = [*_faults_of_arrays(archive, head, texts[0])]
        comment = _COMMENT.match(archive.comment)
    if comment is None or comment[2].decode() != digest:
        faults.append(f"{texts[0]} does not match its checksum")
    signed, signature = (b"", None) if comment is None else (comment[1], comment[3])
    return Opened(str(file), kind, version, head["content"], digest, tuple(faults), signed, signature)


def _faults_of_arrays(archive: zipfile.ZipFile, head: Mapping[str, Any], text: str) -> list[str]:
    """Faults of the arrays: each must have the size and the checksum that the text says."""
    try:
        table = {f"{name}.npy": (entry["bytes"], entry["sha256"]) for name, entry in head["arrays"].items()}
    except _SHAPES:
        return [f"{text} does not list its arrays"]
    measured = {name: _measured(archive, name) for name in archive.namelist() if name != text}
    faults = [f"{name} does not match its size or checksum" for name in measured if table.get(name) != measured[name]]
    return faults + [f"{name} is missing" for name in table if name not in measured]


def _measured(archive: zipfile.ZipFile, name: str) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    with archive.open(name) as part:
        while block := part.read(_BLOCK):
            size += len(block)
            digest.update(block)
    return size, digest.hexdigest()


def _parsed(file: Path, text: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise _strange(file, f"its JSON cannot be read: {error}") from error
    if not isinstance(parsed, dict):
        raise _strange(file, "its JSON is not an object")
    return parsed


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a name occurs twice in one object")
    return mapping


def _refuse(word: str) -> Never:
    raise ValueError(f"{word} is not a JSON number")


def _strange(file: Path, reason: str) -> AuditError:
    return AuditError(
        f"{file}: not a release, a session or a ledger of Hedgerow ({reason})",
        remedy="give files that Hedgerow wrote, or the JSON of GET /v1/datasets/NAME/ledger/file",
    )
