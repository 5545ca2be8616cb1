"""Guards that stand before every request: rates, addresses, body sizes, headers for browsers, counters."""

import asyncio
import ipaddress
import logging
import math
import re
import time
from abc import ABC, abstractmethod
from collections import OrderedDict, defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow.errors import RateError, TooMuchError
from hedgerow.quantities import human_bytes
from hedgerow.service.http.logs import REQUESTS, belonging
from hedgerow.service.http.problems import log_failure, problem_of
from hedgerow.service.settings import Proxies, Settings

CONTENT_SECURITY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
_UPLOADS = re.compile(r"/v1/files/[^/]*")
_NOTED_PER_MINUTE = 60
_FORWARDED = "x-forwarded-for"
_LOG = logging.getLogger("hedgerow.service")
METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"})
_BUCKETS = (0.01, 0.1, 1.0, 10.0)  # coarse: finer ones would tell what an answer took
_OTHER = "other"
_NEWEST = 0.02
"""Weight of the newest request in the mean pace."""
_SLOWEST = 8.0
"""Times the mean that one request counts at most: one that was held up says little of the others."""
_LATEST = 30.0
"""Seconds after which whoever is turned away is told to come again at most."""
_HUNG_UP = 499  # proxies' status for a client that left before the answer


class Rates:
    """Limits of how often something may happen, counted in this process.

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
            token: Public id of the token.

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
            address: Address that it comes from.

        Raises:
            RateError: Too many tokens from there were wrong.
        """
        if not self._limiter.test(self._failures, "failure", address):
            raise RateError(
                "too many wrong tokens came from this address",
                seconds=self._until(self._failures, "failure", address),
                remedy="wait; tokens that were used before still work",
            )

    def failed(self, address: str) -> bool:
        """Count a wrong token.

        Args:
            address: Address that it comes from.

        Returns:
            Whether to note it in the audit log: once a minute for each address.
        """
        self._limiter.hit(self._failures, "failure", address)
        return self._limiter.hit(self._notes, "note", address) and self._limiter.hit(self._all_notes, "notes")

    def _until(self, item: RateLimitItem, *names: str) -> float:
        return max(1.0, math.ceil(self._limiter.get_window_stats(item, *names).reset_time - time.time()))


_FIRST_PACE = 0.004
"""Seconds for a request, until some were answered: a new question's."""


class Door:
    """Requests that are let in one after the other, so that only some are inside at a time, and none waits for long.

    Those beyond stand in queues, one for each person, who are let in in turns, and each in the order in which they
    came. Nobody has more than three quarters of the places: whose requests take long keeps nobody else out. Who would
    wait too long, at the pace at which requests leave, is turned away at once, and told when all who were turned away
    before will have been answered too. For one event loop.

    Args:
        places: Requests inside at a time.
        longest: Seconds that a request may wait.

    Example:
        >>> import asyncio
        >>> door = Door(1, 1.0)
        >>> asyncio.run(door.enter("ada")), door.full("bob")
        (0.0, 0.0)
    """

    def __init__(self, places: int, longest: float) -> None:
        """Let in whoever comes first, and guess the pace until some were answered."""
        self._free = places
        self._most = places - places // 4
        self._longest = longest
        self._inside: defaultdict[Hashable, int] = defaultdict(int)
        self._queues: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._each = _FIRST_PACE
        self._left = self._booked = 0.0

    def full(self, who: Hashable = None) -> float:
        """Seconds after which to come again, if one more of a person would wait for too long; else 0."""
        place = len(self._queues.get(who, ())) + 1
        expected = (1 + sum(min(len(each), place) for each in self._queues.values())) * self._each
        return self._later(expected) if not self._lets_in(who) and expected > self._longest else 0.0

    async def enter(self, who: Hashable = None) -> float:
        """Wait for a place inside.

        Args:
            who: The person.

        Returns:
            0 with a place, which `leave` gives back; else the seconds after which to come again.
        """
        if seconds := self.full(who):
            return seconds
        if self._lets_in(who):
            self._free -= 1
            self._inside[who] += 1
            self._left = _now()  # the pace is that of a full house
            return 0.0
        place = asyncio.get_running_loop().create_future()
        self._queues.setdefault(who, deque()).append(place)
        try:
            async with asyncio.timeout(self._longest):
                await place
        except BaseException as error:
            if place.done() and not place.cancelled():
                self._pass_on(who)
            if not isinstance(error, TimeoutError):
                raise
            return self._later(self._longest)
        return 0.0

    def leave(self, since: float, who: Hashable = None) -> None:
        """Give a place back; whoever waits longest of the person whose turn it is has it next.

        Args:
            since: Time at which it was had, on the loop's clock.
            who: The person who had it.
        """
        now = _now()
        if self._free == 0:
            self._each += _NEWEST * (min(now - self._left, _SLOWEST * self._each) - self._each)
        self._each = min(self._each, now - since)  # alone it took no longer than that
        self._left = now
        self._pass_on(who)

    def _lets_in(self, who: Hashable) -> bool:
        return self._free > 0 and self._inside.get(who, 0) < self._most

    def _pass_on(self, who: Hashable) -> None:
        self._inside[who] -= 1
        if not self._inside[who]:
            del self._inside[who]
        self._free += 1
        for each, queue in [*self._queues.items()]:
            while queue and queue[0].done():
                queue.popleft()
            if queue and self._lets_in(each):
                self._free -= 1
                self._inside[each] += 1
                queue.popleft().set_result(None)
                self._queues.move_to_end(each)
            if not queue:
                del self._queues[each]

    def _later(self, seconds: float) -> float:
        """Book a time after those of everyone who was turned away before; beyond the latest, in another round."""
        now = _now()
        self._booked = max(self._booked, now + seconds) + self._each
        if self._booked > now + _LATEST:
            self._booked = now + min(seconds, _LATEST)
        return self._booked - now


def _now() -> float:
    return asyncio.get_running_loop().time()


class Metrics:
    """The counters of one application.

    Example:
        >>> metrics = Metrics()
        >>> metrics.count("/v1/me", "GET", 200, 0.003)
        >>> 'hedgerow_requests_total{method="GET",route="/v1/me",status="200"} 1.0' in metrics.text().decode()
        True
    """

    def __init__(self) -> None:
        """Start from zero, in a registry of its own: nothing that other libraries count is published."""
        self._registry = CollectorRegistry(auto_describe=False)
        self._requests = Counter(
            "hedgerow_requests", "Number of answered requests.", ["route", "method", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "hedgerow_request_seconds",
            "Duration of requests in seconds, rounded up to the bound of a bucket.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request.

        Args:
            route: Template of the route, not the address.
            method: HTTP method, one of a few.
            status: HTTP status.
            seconds: Time that it took, rounded up.
        """
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """The counters in Prometheus' text format."""
        return generate_latest(self._registry)


def _rounded(seconds: float) -> float:
    """Round up to the bound of a bucket, or to whole seconds: exact sums would tell how long single answers took.

    Example:
        >>> _rounded(0.0301), _rounded(0.1), _rounded(12.5)
        (0.1, 0.1, 13)
    """
    return next((bound for bound in _BUCKETS if seconds <= bound), math.ceil(seconds))


def address_of(scope: Scope) -> str:
    """The address that a request comes from; for IPv6 its network, since one machine can have any number of addresses.

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


@dataclass(eq=False)
class Guard(ABC):
    """A part of the application that every HTTP request passes.

    Attributes:
        app: The application behind it.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on whatever comes; HTTP requests are guarded."""
        await (self._guarded if scope["type"] == "http" else self.app)(scope, receive, send)

    @abstractmethod
    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request, or pass it on."""


@dataclass(eq=False)
class Forwarded(Guard):
    """Replaces the address of a request by the one that a named proxy reports; others are not believed.

    Attributes:
        proxies: The proxies that are believed.
    """

    proxies: Proxies
    _has_warned: bool = field(default=False, init=False)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        forwarded = Headers(scope=scope).getlist(_FORWARDED)
        if client and forwarded:
            if client[0] in self.proxies:
                scope["client"] = (self.proxies.origin(client[0], forwarded), 0)
            elif not self._has_warned:
                self._has_warned = True
                told = "%s sends X-Forwarded-For and is not believed; if it is your proxy, name it: --proxies"
                _LOG.warning(told, client[0])
        await self.app(scope, receive, send)


@dataclass(eq=False)
class Counted(Guard):
    """Counts the requests that pass, and gives each an id, which its answer and the lines of the log about it have.

    Attributes:
        metrics: The counters.
    """

    metrics: Metrics

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, start = _HUNG_UP, time.perf_counter()

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            await send(message)

        with belonging(scope) as request_id:
            try:
                await self.app(scope, receive, seen)
            finally:
                template = getattr(scope.get("route"), "path", None) or _OTHER
                method = scope["method"] if scope["method"] in _METHODS else _OTHER
                seconds = _rounded(time.perf_counter() - start)
                self.metrics.count(template, method, status, seconds)
                told = {"method": method, "route": template, "status": status, "seconds": seconds}
                REQUESTS.info("answered", extra={"fields": told})


class Heads(Guard):
    """Answers HEAD as GET is answered, without the body: what looks whether a server is there asks so."""

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def headed(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        if scope["method"] == "HEAD":
            await self.app({**scope, "method": "GET"}, receive, headed)
        else:
            await self.app(scope, receive, send)


class SecurityHeaders(Guard):
    """Tells browsers to load nothing from elsewhere, to allow no framing, and to keep no answers."""

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/v1"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        await self.app(scope, receive, headed)


class Shield(Guard):
    """The last resort: an unforeseen error becomes a problem without details, and a line in the log."""

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, told)
        except ClientDisconnect:  # no one is left to answer
            return
        except Exception as error:  # noqa: BLE001 - nothing of it may reach the client
            if begun:
                log_failure(error)
            else:
                await problem_of(error)(scope, receive, send)


@dataclass(eq=False)
class BodyLimit(Guard):
    """Refuses bodies that are too large, whether or not they announce their size.

    Attributes:
        settings: The limits.
    """

    settings: Settings

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_upload = scope["method"] == "PUT" and _UPLOADS.fullmatch(scope["path"]) is not None
        most = self.settings.largest_upload if is_upload else self.settings.largest_body
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

        await self.app(scope, counted, send)


def _too_large(most: int) -> TooMuchError:
    return TooMuchError(
        f"the body is larger than {human_bytes(most)}", remedy="send it in parts: fewer questions, or a smaller table"
    )
