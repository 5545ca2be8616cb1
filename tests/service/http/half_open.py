"""Connections that never bring a whole request, as somebody opens them who wants that nobody else is answered."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

KINDS = {
    "nothing": b"",
    "half a line": b"GET /v1/heal",
    "half a head": b"GET /v1/health HTTP/1.1\r\nHost: test\r\nX-Slow",
    "a head without its body": b"POST /v1/people HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n",
    "an answered request without its body": b"GET /v1/health HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n",
}


@contextmanager
def half_open(port: int, sent: Sequence[bytes], address: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """One connection for each of the texts, which are sent as far as they go."""
    with ExitStack() as stack:
        opened = []
        for each in sent:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20, (address, 0)))
            with suppress(BrokenPipeError, ConnectionResetError):  # it made room already
                connection.sendall(each)
            opened.append(connection)
        yield opened


def mixed(number: int) -> list[bytes]:
    """Of each kind as many."""
    kinds = list(KINDS.values())
    return [kinds[i % len(kinds)] for i in range(number)]


def closed(connections: Sequence[socket.socket], *, within: float) -> int:
    """How many of them the server ends within some seconds; what it says before is read and thrown away."""
    ended, until = 0, time.monotonic() + within
    with selectors.DefaultSelector() as selector:
        for each in connections:
            selector.register(each, selectors.EVENT_READ)
        while selector.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                if not _is_open(key.fileobj):  # type: ignore[arg-type]
                    selector.unregister(key.fileobj)
                    ended += 1
    return ended


def _is_open(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(65536))
    except ConnectionResetError:
        return False
