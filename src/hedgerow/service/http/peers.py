"""Requests about data sets that another server of the same store works for: they are sent on, and its replies back.

Servers know each other's addresses from the store. Of a request what the other one needs is sent, the token too: the
other server checks it as if the request had come there.
"""

import asyncio
import ssl
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hedgerow.errors import ElsewhereError, StoreBusyError
from hedgerow.service.store import Leases

HOPS = "hedgerow-hops"
"""Header of a request that was sent on: how often."""
MOST_HOPS = 2
"""A server that gave a data set up may send a request on once more; that one takes it then."""
_SENT = (
    *(b"accept", b"authorization", b"content-type", b"cookie", b"hedgerow-page", b"host"),
    *(b"idempotency-key", b"origin", b"sec-fetch-site"),
)
_TOLD = ("content-type", "content-disposition", "retry-after")
_IDLE = 2.0
"""Seconds after which a connection is not used again: the other server closes it after five."""
_PATIENCE = 600.0
_CONNECT = 5.0
_LOOK = 1.0
_WHOLE = 1 << 20
_FAILURES = (OSError, EOFError, ValueError, asyncio.LimitOverrunError, TimeoutError)
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def hops(request: Request) -> int:
    """How often a request was sent on.

    Example:
        >>> hops(Request({"type": "http", "headers": [(b"hedgerow-hops", b"1")]}))
        1
    """
    return min(MOST_HOPS, request.headers.getlist(HOPS).count("1") + 2 * request.headers.getlist(HOPS).count("2"))


@dataclass(frozen=True)
class _Head:
    """The head of a reply.

    Attributes:
        status: HTTP status.
        headers: Headers, by their names in small letters.
    """

    status: int
    headers: Mapping[str, str]

    @property
    def length(self) -> int:
        """Bytes of the body."""
        return int(self.headers["content-length"])


class Peers:
    """Connections to the other servers; for one event loop.

    Args:
        leases: Leases of the store; None if no other servers are known.
    """

    def __init__(self, leases: Leases | None) -> None:
        """Open none yet."""
        self._leases = leases
        self._idle: defaultdict[str, deque[tuple[float, _Streams]]] = defaultdict(deque)
        self._tls = ssl.create_default_context()

    async def forward(self, request: Request, away: ElsewhereError) -> Response:
        """Send a request to the server that works for its data set; the reply.

        Raises:
            ElsewhereError: The request was sent on too often.
            StoreBusyError: The server does not answer.
        """
        if hops(request) >= MOST_HOPS:
            raise away
        body = await request.body()
        try:
            streams = await self._connected(away.address)
            try:
                head = await self._begun(away.address, streams, _sent(request, len(body)) + body)
                if head.length <= _WHOLE:
                    told = await asyncio.wait_for(streams[0].readexactly(head.length), _PATIENCE)
                    self._keep(away.address, streams)
                    return Response(told, head.status, _told(head))
            except BaseException:
                streams[1].close()
                raise
        except (*_FAILURES, KeyError):
            raise StoreBusyError(
                "the server that works for this data set does not answer", remedy="try again in a moment"
            ) from None
        return StreamingResponse(_pieces(streams, head.length), head.status, _told(head))

    async def _connected(self, address: str) -> _Streams:
        idle = self._idle[address]
        while idle:
            since, streams = idle.pop()
            if time.monotonic() - since < _IDLE and not streams[0].at_eof():
                return streams
            streams[1].close()
        parts = urlsplit(address)
        tls = self._tls if parts.scheme == "https" else None
        port = parts.port or (80 if tls is None else 443)
        return await asyncio.wait_for(asyncio.open_connection(parts.hostname, port, ssl=tls), _CONNECT)

    async def _begun(self, address: str, streams: _Streams, sent: bytes) -> _Head:
        """The head of the reply; a server that stands still is waited for as long as it has its leases."""
        reader, writer = streams
        writer.write(sent)
        await writer.drain()
        reading = asyncio.ensure_future(reader.readuntil(b"\r\n\r\n"))
        try:
            while not (await asyncio.wait({reading}, timeout=_LOOK))[0]:
                if self._leases is None or not self._leases.lives(address):
                    raise TimeoutError
        finally:
            reading.cancel()
        told = reading.result()
        first, *lines = told.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        return _Head(int(first.split(" ", 2)[1]), {name.lower(): value.strip() for name, _, value in pairs})

    def _keep(self, address: str, streams: _Streams) -> None:
        self._idle[address].append((time.monotonic(), streams))


def _sent(request: Request, length: int) -> bytes:
    """The head of the request, as it is sent on."""
    scope = request.scope
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    headers = [pair for pair in scope["headers"] if pair[0] in _SENT]
    headers += [(HOPS.encode(), str(hops(request) + 1).encode()), (b"content-length", str(length).encode())]
    lines = [scope["method"].encode() + b" " + target + b" HTTP/1.1", *(b": ".join(pair) for pair in headers)]
    return b"\r\n".join((*lines, b"", b""))


def _told(head: _Head) -> dict[str, str]:
    told = {name: head.headers[name] for name in _TOLD if name in head.headers}
    return told if head.length <= _WHOLE else {**told, "content-length": str(head.length)}


async def _pieces(streams: _Streams, left: int) -> AsyncIterator[bytes]:
    try:
        while left > 0 and (piece := await asyncio.wait_for(streams[0].read(min(left, 1 << 16)), _PATIENCE)):
            left -= len(piece)
            yield piece
    finally:
        with suppress(*_FAILURES):
            streams[1].close()
