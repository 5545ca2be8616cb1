"""HTTP/1.1 connections with time-outs, a place among a limited number, and one reading of every request.

Uvicorn has none of these. This class stands on its protocol over h11 and adds:

- a connection is closed unless the whole head of a request comes within `ConnectionLimits.head_seconds`, counted from
  its beginning or from the last answer, however steadily single bytes come;
- a request body and an answer must each make progress in every `ConnectionLimits.stall_seconds`;
- when there are too many connections, one that waits makes room (`connections.py`);
- a request that states its length or host twice is refused: a proxy may read it otherwise than the server, and take a
  part of it for another person's request.

A refusal is a problem response, as everywhere else.
"""

import asyncio
import re
from http import HTTPStatus
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from hedgerow.service.http import problems
from hedgerow.service.http.connections import Connections
from hedgerow.service.http.middleware import address_of
from hedgerow.service.http.problems import Kind, problem
from hedgerow.service.settings import Proxies

_Mode = Literal["waiting", "body", "sending", "working"]
_FRAMING = re.compile(rb"^(host|content-length|transfer-encoding)[ \t]*:([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_SILENCE = 1.0
_MALFORMED = "this is not an HTTP/1.1 request with a single reading"
_MALFORMED_REMEDY = "send one Host, and one Content-Length or one Transfer-Encoding"


class _OneReading(h11.Connection):
    """Refuses requests that servers and proxies may read in different ways; h11 lets some of them pass.

    It takes equal lengths that are said twice for one, of a length and an encoding the encoding, and an encoding also
    from HTTP/1.0, which had none.

    Attributes:
        is_too_long: Whether a head was refused since it is longer than the limit.
    """

    is_too_long = False

    def next_event(self) -> Any:
        """The next part of a request.

        Raises:
            RemoteProtocolError: It is not one.
        """
        before = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            self.is_too_long = error.error_status_hint == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            raise
        if isinstance(event, h11.Request):
            _check_framing(before[: len(before) - len(self.trailing_data[0])], event.http_version)
        return event


def _check_framing(head: bytes, version: bytes) -> None:
    r"""Refuse a head with two hosts, two lengths, a length and an encoding, or an encoding in HTTP/1.0.

    Raises:
        RemoteProtocolError: The head has one of these.

    Example:
        >>> _check_framing(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n", b"1.1")
        >>> _check_framing(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", b"1.1")
        Traceback (most recent call last):
            ...
        h11._util.RemoteProtocolError: this is not an HTTP/1.1 request with a single reading
    """
    said = [(name.lower(), part) for name, value in _FRAMING.findall(head) for part in value.split(b",")]
    names = [name for name, _ in said]
    frames = len(names) - names.count(b"host")
    if names.count(b"host") > 1 or frames > 1 or (version < b"1.1" and b"transfer-encoding" in names):
        raise h11.RemoteProtocolError(_MALFORMED)


class GuardedProtocol(H11Protocol):
    """One connection.

    Args:
        connections: All connections of the server.
        proxies: The named proxies. Their connections carry many people's requests: no limit per address applies.
        given: Arguments from uvicorn.

    Attributes:
        address: Address of the other end; empty for a named proxy.
        is_known: Whether it has brought a good token.
    """

    def __init__(self, *, connections: Connections, proxies: Proxies, **given: Any) -> None:
        """Not connected yet."""
        super().__init__(**given)
        most = self.config.h11_max_incomplete_event_size
        self.conn = _OneReading(h11.SERVER) if most is None else _OneReading(h11.SERVER, most)
        self._connections = connections
        self._proxies = proxies
        self._limits = connections.limits
        self.is_known = False
        self.address = ""
        self._is_refused = False
        self._heard = self.loop.time()
        self._enter("waiting")

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come for a second although a body is owed."""
        return self._mode_now() == "body" and self.loop.time() - self._heard > _SILENCE

    # Called by uvicorn and the event loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, or turn the connection away."""
        super().connection_made(transport)
        self._enter("waiting")
        if self.client is None or self.client[0] not in self._proxies:
            self.address = address_of({"client": self.client})
        self._connections.watch(self.loop)
        if not self._connections.admit(self):
            self._refuse(problems.BUSY, "too many connections are being answered", "try again in a moment")

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        self._connections.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes that arrive, and read them."""
        self._moved += len(data)
        self._heard = self.loop.time()
        if not (self.transport.is_closing() or self._is_refused):
            super().data_received(data)

    def handle_events(self) -> None:
        """Read what has arrived; once a request's head is complete the server has something to do."""
        super().handle_events()
        if self.cycle is None or self.cycle.response_complete:
            return
        if self.conn.their_state is h11.SEND_BODY:
            self._connections.owes(self)
        else:
            self._connections.works(self)

    def on_response_complete(self) -> None:
        """Wait for the next request; it may be here already."""
        self.is_known = self.is_known or "caller" in self.scope["state"]
        self._enter("waiting")
        self._connections.waits(self)
        super().on_response_complete()

    def resume_writing(self) -> None:
        """Note that the answer is being fetched."""
        self._enter("sending")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not a request."""
        if isinstance(self.conn, _OneReading) and self.conn.is_too_long:
            self._refuse(problems.MALFORMED, "the head of the request is too long", "send fewer, or shorter, headers")
        else:
            self._refuse(problems.MALFORMED, _MALFORMED, _MALFORMED_REMEDY)

    # Called by the list of connections

    def give_up(self) -> None:
        """End, to make room for another connection: who has sent something is told."""
        if self._moved and not self.transport.get_write_buffer_size():
            self._refuse(problems.BUSY, "there are too many connections", "try again in a moment")
        else:
            self.transport.abort()

    def check(self, now: float) -> None:
        """End, if a time-out has passed."""
        mode = self._mode_now()
        if mode != self._mode:
            self._enter(mode)
        elif mode == "waiting" and now - self._since >= self._limits.head_seconds:
            if self._moved:
                self._refuse(problems.TIME_OUT, "no whole request came in time", "send all of it at once")
            else:
                self.transport.close()
        elif mode in ("body", "sending") and now - self._since >= self._limits.stall_seconds:
            moved = self._moved if mode == "body" else self._unsent - self.transport.get_write_buffer_size()
            if moved >= self._limits.bytes_per_second * self._limits.stall_seconds:
                self._enter(mode)
            elif mode == "body":
                self._refuse(problems.TIME_OUT, "the body does not come", "send it without a break")
            else:
                self.transport.abort()

    # Inside

    def _mode_now(self) -> _Mode:
        if self.transport.is_closing() or self.flow.write_paused:
            return "sending"
        if self.cycle is None or self.cycle.response_complete:
            return "waiting"
        owed = self.conn.their_state is h11.SEND_BODY
        held_up = self.flow.read_paused or self.cycle.waiting_for_100_continue
        return "body" if owed and not held_up else "working"

    def _enter(self, mode: _Mode) -> None:
        self._mode = mode
        self._since = self.loop.time()
        self._moved = 0
        self._unsent = 0 if self.transport is None else self.transport.get_write_buffer_size()

    def _refuse(self, kind: Kind, detail: str, remedy: str) -> None:
        """Say why, where it can still be said, and close."""
        if self._is_refused:
            return
        if self.cycle is not None:
            self.cycle.disconnected = True  # what the application says from now on is not sent
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            later = {"Retry-After": "1"} if kind is problems.BUSY else {}
            told = problem(kind, detail, remedy=remedy, headers={"Connection": "close", **later})
            reason = HTTPStatus(kind.status).phrase.encode()
            start = h11.Response(status_code=kind.status, headers=told.raw_headers, reason=reason)
            for event in (start, h11.Data(data=bytes(told.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self._is_refused = True
        if self.transport.can_write_eof() and not self.transport.is_closing():
            self.transport.write_eof()
            self._connections.linger(self.loop, self.transport.close)
        else:
            self.transport.close()
