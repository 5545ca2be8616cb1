"""Replies that changed nothing, given again for as long as nothing changes.

A question that a person repeats is answered from the store, and writes nothing to it. If nothing else was committed
meanwhile either, the same request has the same reply to the byte: what it costs is to know the token.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hedgerow.service.store import Store

_MOST_BYTES = 1 << 24
_LARGEST = 1 << 18
_PARTS = (b"content-type", b"idempotency-key")


class Replies:
    """The replies of one application.

    Args:
        store: The store that all of them follow from.
        most: Bytes of all replies that are kept.
    """

    def __init__(self, store: Store, *, most: int = _MOST_BYTES) -> None:
        """Keep nothing yet."""
        self._store = store
        self._most = most
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._stamped: Hashable = None
        self._size = 0
        self._lock = threading.Lock()

    async def reply(self, request: Request, token: str, make: Callable[[], Awaitable[Response]]) -> Response:
        """The reply to a request: as it was, if nothing was committed since; otherwise made.

        Args:
            request: The request, whose caller has passed the gate.
            token: Public id of the token.
            make: Makes the reply. Whatever it depends on is in the request or in the store.

        Raises:
            StoreError: The store does not answer.
        """
        key, before = _key(request, token, await request.body()), await self._stamp()
        kept = self._find(key, before)
        if kept is not None:
            return Response(kept, media_type=JSONResponse.media_type)
        response = await make()
        if type(response) is JSONResponse and response.status_code == 200 and await self._stamp() == before:
            self._keep(key, before, bytes(response.body))
        return response

    async def _stamp(self) -> Hashable:
        return self._store.stamp() if self._store.is_here else await anyio.to_thread.run_sync(self._store.stamp)

    def _find(self, key: bytes, stamp: Hashable) -> bytes | None:
        """A reply that was kept at a stamp; those of any other are forgotten."""
        with self._lock:
            if stamp != self._stamped:
                self._kept.clear()
                self._stamped, self._size = stamp, 0
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: bytes, stamp: Hashable, body: bytes) -> None:
        with self._lock:
            if len(body) > _LARGEST or stamp != self._stamped:
                return
            self._size += len(body) - len(self._kept.pop(key, b""))
            self._kept[key] = body
            while self._size > self._most:
                self._size -= len(self._kept.popitem(last=False)[1])


def _key(request: Request, token: str, body: bytes) -> bytes:
    """All that a reply can depend on beside the store: who asks, what, and in which words."""
    scope = request.scope
    headers = [value for name, value in scope["headers"] if name in _PARTS]
    names = [name for name, _ in scope["headers"] if name in _PARTS]
    parts = [token.encode(), scope["method"].encode(), scope["path"].encode(), scope["query_string"], *names, *headers]
    digest = hashlib.sha256()
    for part in (*parts, body):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
