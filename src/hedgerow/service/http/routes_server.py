"""Routes about the server and whoever asks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Annotated

import anyio.to_thread
from fastapi import Path as PathParameter
from starlette.requests import Request
from starlette.responses import Response

from hedgerow.errors import ConflictError, InvalidRequestError, StoreError
from hedgerow.service.http import problems
from hedgerow.service.http.gate import By, ForAnyone, ForCustodians, ForTokens, Here, Operation
from hedgerow.service.http.guards import METRICS_TYPE
from hedgerow.service.http.sent import FILE_NAME
from hedgerow.service.http.told import FileTold, Health, Me, scope_of
from hedgerow.version import __version__


def health(here: Here) -> Health:
    """Whether the server is well.

    503 if the store cannot be read.
    """
    here.store.ping()
    return Health(status="ok", version=__version__)


def metrics_text(here: Here) -> Response:
    """Counters in Prometheus' text format.

    Requests by route, method and status, and how long they took; nothing by data set or person.
    """
    return Response(here.metrics.text(), media_type=METRICS_TYPE)


async def me(by: By) -> Me:
    """Whose the token is, and what it is good for."""
    token = by.token
    return Me(
        person=by.person.name,
        role=by.person.role,
        datasets=scope_of(token),
        expires=token.expires,
        version=__version__,
    )


FileName = Annotated[
    str,
    PathParameter(
        pattern=FILE_NAME,
        description="Letters, digits, '_', '-' and '.'; it ends in .csv, .parquet or .release.",
        openapi_examples={"adult": {"value": "adult.csv"}},
    ),
]
_PIECE = 1 << 20


async def upload_file(file: FileName, request: Request, here: Here, by: By) -> FileTold:
    """Upload a table into the server's data folder, to register it from there.

    The body is the file. A file that is there is never replaced.
    """
    by.check_reaches_all()
    size = await _taken(request.stream(), here.settings.data_folder / file)
    await anyio.to_thread.run_sync(here.store.note, by.person.id, "upload", file, {"bytes": size})
    return FileTold(name=file, bytes=size)


async def _taken(pieces: AsyncIterator[bytes], target: Path) -> int:
    """Write a file under a hidden name, and give it its own when all of it is on the disk.

    Raises:
        ConflictError: There is a file of that name.
        InvalidRequestError: Nothing was sent.
        StoreError: The disk is full, or does not take it.
    """
    if target.exists():
        raise _taken_already(target.name)
    handle, hidden = tempfile.mkstemp(prefix=".upload-", dir=target.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
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
    """Unlike a renaming, a link never takes the place of a file that came there meanwhile."""
    try:
        os.link(hidden, target)
    except FileExistsError:
        raise _taken_already(target.name) from None


def _taken_already(name: str) -> ConflictError:
    return ConflictError(
        f"there is a file {name!r} already",
        remedy="send it under another name; or, to register what is there, give its name as the place of the table",
    )


OPERATIONS = (
    Operation("GET", "/v1/health", health, ForAnyone),
    Operation("GET", "/v1/metrics", metrics_text, ForAnyone, content={METRICS_TYPE: {"schema": {"type": "string"}}}),
    Operation("GET", "/v1/me", me, ForTokens),
    Operation(
        "PUT",
        "/v1/files/{file}",
        upload_file,
        ForCustodians,
        201,
        problems=(problems.CONFLICT,),
        sent={
            "required": True,
            "description": "The file.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
    ),
)
