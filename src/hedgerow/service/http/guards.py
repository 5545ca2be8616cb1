"""What stands before every request: rates, sizes of bodies, headers for browsers."""

from __future__ import annotations

import ipaddress
import math
import re
import time
from typing import final

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow.errors import RateError, TooMuchError
from hedgerow.quantities import human_bytes
from hedgerow.service.http.problems import problem_of
from hedgerow.service.settings import Settings

CONTENT_SECURITY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
_UPLOADS = re.compile(r"/v1/files/[^/]*")
_NOTED_PER_MINUTE = 60


@final
class Rates:
    """How often something may happen; kept in this process.

    Args:
        settings: The limits.

    Example:
        >>> from pathlib import Path
        >>> rates = Rates(Settings(Path("."), requests_per_minute=1))
        >>> rates.request("abc")
        >>> rates.request("abc")
        Traceback (most recent call last):
            ...
        hedgerow.errors.RateError: more than 1 request a minute with this token
          Remedy: ask several questions in one request, or wait
    """

    def __init__(self, settings: Settings) -> None:
        """Start with nothing counted."""
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        most = settings.requests_per_minute
        self._requests = None if most is None else RateLimitItemPerMinute(most)
        self._failures = RateLimitItemPerMinute(settings.failures_per_minute)
        self._notes, self._all_notes = RateLimitItemPerMinute(1), RateLimitItemPerMinute(_NOTED_PER_MINUTE)

    def request(self, token: str) -> None:
        """Count a request.

        Args:
            token: Its public id.

        Raises:
            RateError: There were too many.
        """
        if self._requests is not None and not self._limiter.hit(self._requests, "request", token):
            most = self._requests.amount
            raise RateError(
                f"more than {most:,} request{'s' if most > 1 else ''} a minute with this token",
                seconds=self._until(self._requests, "request", token),
                remedy="ask several questions in one request, or wait",
            )

    def check_failures(self, address: str) -> None:
        """Refuse to look at one more unknown token.

        Args:
            address: Where it comes from.

        Raises:
            RateError: Too many from there were wrong.
        """
        if not self._limiter.test(self._failures, "failure", address):
            raise RateError(
                "too many wrong tokens came from this address",
                seconds=self._until(self._failures, "failure", address),
                remedy="wait; tokens that were used before go on working",
            )

    def failed(self, address: str) -> bool:
        """Count a wrong token.

        Args:
            address: Where it comes from.

        Returns:
            Whether to note it: once a minute for each address.
        """
        self._limiter.hit(self._failures, "failure", address)
        return self._limiter.hit(self._notes, "note", address) and self._limiter.hit(self._all_notes, "notes")

    def _until(self, item: RateLimitItem, *names: str) -> float:
        return max(1.0, math.ceil(self._limiter.get_window_stats(item, *names).reset_time - time.time()))


def address_of(scope: Scope) -> str:
    """Where a request comes from; of IPv6 the network, since one machine has as many addresses as it likes.

    Example:
        >>> address_of({"client": ("2001:db8::1", 50000)}), address_of({"client": ("192.0.2.1", 50000)})
        ('2001:db8::/64', '192.0.2.1')
    """
    client = scope.get("client")
    if not client:
        return "unknown"
    try:
        address = ipaddress.ip_address(client[0])
    except ValueError:
        return str(client[0])[:100]
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
    return str(address)


@final
class BodyLimit:
    """Refuses bodies that are too large, whether they say so beforehand or not.

    Args:
        app: What it stands before.
        settings: The limits.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """Stand before an application."""
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count what it sends."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_upload = scope["method"] == "PUT" and _UPLOADS.fullmatch(scope["path"]) is not None
        most = self._settings.largest_upload if is_upload else self._settings.largest_body
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and (len(announced) > 18 or int(announced) > most):
            await problem_of(_too_large(most))(scope, receive, send)
            return
        came = 0

        async def counted() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > most:
                raise _too_large(most)
            return message

        await self._app(scope, counted, send)


def _too_large(most: int) -> TooMuchError:
    return TooMuchError(
        f"the body is larger than {human_bytes(most)}", remedy="send it in parts: fewer questions, or a smaller table"
    )


@final
class SecurityHeaders:
    """Tells browsers to load nothing from elsewhere, to be framed by nobody, and to keep no answers.

    Args:
        app: What it stands before.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add headers to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/v1"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        await self._app(scope, receive, headed)
