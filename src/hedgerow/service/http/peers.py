"""Requests about data sets that another server of the same store works for: they are sent on, and its replies back.

Servers know each other's addresses from the store. Of a request what the other one needs is sent, the token too: the
other server checks it as if the request had come there.
"""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hedgerow.errors import ElsewhereError, StoreBusyError
from hedgerow.service.store import Leases

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response as Reply

HOPS = "hedgerow-hops"
"""Header of a request that was sent on: how often."""
MOST_HOPS = 2
"""A server that gave a data set up may send a request on once more; that one takes it then."""
_SENT = frozenset({
    *("accept", "authorization", "content-type", "cookie", "hedgerow-page", "host"),
    *("idempotency-key", "origin", "sec-fetch-site"),
})  # fmt: skip
_TOLD = ("content-type", "content-disposition", "retry-after", "content-length")
_IDLE = 2.0
"""Seconds after which a connection is not used again: the other server closes it after five."""
_PATIENCE = 600.0
_CONNECT = 5.0
_LOOK = 1.0
_WHOLE = 1 << 20
"""Bytes of a reply from which on it is handed on as it comes."""


def hops(request: Request) -> int:
    """How often a request was sent on.

    Example:
        >>> hops(Request({"type": "http", "headers": [(b"hedgerow-hops", b"1")]}))
        1
    """
    return min(MOST_HOPS, request.headers.getlist(HOPS).count("1") + 2 * request.headers.getlist(HOPS).count("2"))


class Peers:
    """Connections to the other servers; for one event loop.

    Args:
        leases: Leases of the store; None if no other servers are known.
    """

    def __init__(self, leases: Leases | None) -> None:
        """Open none yet."""
        self._leases = leases

    async def forward(self, request: Request, away: ElsewhereError) -> Response:
        """Send a request to the server that works for its data set; the reply.

        Raises:
            ElsewhereError: The request was sent on too often.
            StoreBusyError: The server does not answer.
        """
        from httpx2 import HTTPError

        if hops(request) >= MOST_HOPS:
            raise away
        try:
            reply = await self._reply(request, away.address)
            if int(reply.headers.get("content-length", _WHOLE)) < _WHOLE:
                await reply.aread()
        except (HTTPError, TimeoutError):
            raise StoreBusyError(
                "the server that works for this data set does not answer", remedy="try again in a moment"
            ) from None
        told = {name: reply.headers[name] for name in _TOLD if name in reply.headers}
        if reply.is_stream_consumed:
            return Response(reply.content, reply.status_code, told)
        return StreamingResponse(reply.aiter_raw(), reply.status_code, told, background=BackgroundTask(reply.aclose))

    @cached_property
    def _client(self) -> AsyncClient:
        from httpx2 import AsyncClient, Limits, Timeout

        limits = Limits(max_connections=None, keepalive_expiry=_IDLE)
        return AsyncClient(timeout=Timeout(_PATIENCE, connect=_CONNECT), limits=limits, trust_env=False)

    async def _reply(self, request: Request, address: str) -> Reply:
        """The reply, its body unread; a server that stands still is waited for as long as it has its leases."""
        scope = request.scope
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        headers = [(name, value) for name, value in request.headers.items() if name in _SENT]
        headers += [("accept-encoding", "identity"), (HOPS, str(hops(request) + 1))]
        made = self._client.build_request(
            request.method, f"{address}{target.decode('latin-1')}", headers=headers, content=await request.body()
        )
        sending = asyncio.ensure_future(self._client.send(made, stream=True))
        try:
            while not (await asyncio.wait({sending}, timeout=_LOOK))[0]:
                if self._leases is None or not self._leases.lives(address):
                    raise TimeoutError
        finally:
            sending.cancel()
        return sending.result()
