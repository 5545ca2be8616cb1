"""Requests to an ASGI application in this process, from any thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI


class Client:
    """Sends requests to an application; what it raises does not come out here, as over a network."""

    def __init__(self, portal: BlockingPortal, client: httpx.AsyncClient) -> None:
        self._portal = portal
        self._client = client

    def request(self, method: str, path: str, **sent: Any) -> httpx.Response:
        self._client.cookies.clear()  # a test sends those that it means
        return self._portal.call(lambda: self._client.request(method, path, **sent))

    def get(self, path: str, **sent: Any) -> httpx.Response:
        return self.request("GET", path, **sent)

    def post(self, path: str, **sent: Any) -> httpx.Response:
        return self.request("POST", path, **sent)


@contextmanager
def client_of(app: FastAPI, *, address: str = "192.0.2.1") -> Iterator[Client]:
    """Start the application, and end it."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False, client=(address, 50_000))
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(app.router.lifespan_context(app)),
        portal.wrap_async_context_manager(
            httpx.AsyncClient(transport=transport, base_url="http://testserver", timeout=30.0)
        ) as client,
    ):
        yield Client(portal, client)
