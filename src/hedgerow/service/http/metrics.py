"""What is counted of a server in public: requests and how long they took, by route; nothing by data set or person."""

from __future__ import annotations

import math
import time
from typing import final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"})
_BUCKETS = (0.01, 0.1, 1.0, 10.0)  # coarse: finer ones would tell what an answer took
_OTHER = "other"
_HUNG_UP = 499  # as proxies call it: nobody was there to be answered


@final
class Metrics:
    """The numbers of one application.

    Example:
        >>> metrics = Metrics()
        >>> metrics.count("/v1/me", "GET", 200, 0.003)
        >>> 'hedgerow_requests_total{method="GET",route="/v1/me",status="200"} 1.0' in metrics.text().decode()
        True
    """

    def __init__(self) -> None:
        """Start from zero, in a registry of its own: nothing that other libraries count gets out."""
        self._registry = CollectorRegistry(auto_describe=False)
        self._requests = Counter(
            "hedgerow_requests", "Requests that were answered.", ["route", "method", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "hedgerow_request_seconds",
            "How long they took, rounded up.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request.

        Args:
            route: Its template, not its address.
            method: HTTP method.
            status: HTTP status.
            seconds: How long it took.
        """
        self._requests.labels(route, method if method in _METHODS else _OTHER, str(status)).inc()
        self._seconds.labels(route).observe(_rounded(seconds))

    def text(self) -> bytes:
        """All numbers in Prometheus' text format."""
        return generate_latest(self._registry)


def _rounded(seconds: float) -> float:
    """Up to the bound of a bucket, or to whole seconds: sums would tell what single answers took.

    Example:
        >>> _rounded(0.0301), _rounded(0.1), _rounded(12.5)
        (0.1, 0.1, 13)
    """
    return next((bound for bound in _BUCKETS if seconds <= bound), math.ceil(seconds))


@final
class Counted:
    """Counts what passes.

    Args:
        app: What it stands before.
        metrics: Where it counts.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        """Stand before an application."""
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = _HUNG_UP, time.perf_counter()

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            template = getattr(scope.get("route"), "path", None)
            self._metrics.count(template or _OTHER, scope["method"], status, time.perf_counter() - start)
