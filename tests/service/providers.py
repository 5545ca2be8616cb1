"""A provider of identities in a process of its own, and servers that people sign in to with it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from hedgerow.service import Oidc, parts_named

ROLES = "office=custodian, staff=analyst:survey, guests=analyst:elsewhere, all=analyst:all"
ADDRESS = "http://127.0.0.1:8000/"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def provider(folder: Path) -> Iterator[str]:
    """Start one; gives its address."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce"]
    environment = os.environ | {"AUTHLIB_INSECURE_TRANSPORT": "1"}
    url = f"http://127.0.0.1:{port}"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            for _ in range(200):
                assert process.poll() is None
                try:
                    httpx.get(f"{url}/jwks")
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.wait(20)


def oidc(issuer: str, **changed: Any) -> Oidc:
    """What a server knows about it."""
    told: dict[str, Any] = {"claim": "groups", "hours": 2.0, **changed}
    parts = parts_named(told.pop("parts", ROLES))
    return Oidc(issuer, "hedgerow", "s3cret", told.pop("address", ADDRESS), parts, **told)


def account(issuer: str, subject: str, **claims: Any) -> None:
    httpx.put(f"{issuer}/users/{subject}", json={"preferred_username": subject, **claims}).raise_for_status()
