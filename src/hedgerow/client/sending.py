"""Requests to a server: a token that is never shown, repeats that cost nothing, and its problems as typed errors."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import stat
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError

from hedgerow.errors import (
    ConfigError,
    ConflictError,
    HedgerowError,
    InvalidRequestError,
    MalformedRequestError,
    NotAllowedError,
    NotSignedInError,
    NotThereError,
    RateError,
    ServiceError,
    StoreBusyError,
    StoreError,
    TableError,
    TooMuchError,
    UnreachableError,
)

TOKEN = "HEDGEROW_TOKEN"
"""Variable of the environment that holds a token."""
TOKEN_FILE = "HEDGEROW_TOKEN_FILE"
"""Variable of the environment that names a file with a token."""

_ERRORS: Mapping[str, type[HedgerowError]] = {
    "malformed": MalformedRequestError,
    "not-signed-in": NotSignedInError,
    "not-allowed": NotAllowedError,
    "quota": NotAllowedError,
    "not-there": NotThereError,
    "conflict": ConflictError,
    "too-much": TooMuchError,
    "invalid": InvalidRequestError,
    "store": StoreError,
    "busy": StoreBusyError,
    "table": TableError,
}
_AGAIN = (429, 502, 503, 504)
"""Statuses after which the same request may succeed."""
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 30.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SHOWN = 300
_FAILURES = (URLError, http.client.HTTPException, OSError)


def token_from(token: str | None, file: str | os.PathLike[str] | None) -> str:
    """The token that is given, or that of a file or of the environment.

    Args:
        token: A token.
        file: A file that holds one, and that nobody else may read.

    Raises:
        ConfigError: There is none, or others may read the file.
    """
    if token is not None:
        return token.strip()
    if file is None and (held := os.environ.get(TOKEN, "").strip()):
        return held
    place = file if file is not None else os.environ.get(TOKEN_FILE)
    if place is None:
        raise ConfigError("there is no token", remedy=f"give token=..., or set {TOKEN} or {TOKEN_FILE}")
    path = Path(place)
    try:
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise ConfigError(f"others may read the token file {path}", remedy=f"chmod 600 {path}")
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"the token file {path} cannot be read: {error.strerror}") from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token is for the server that was named, and for no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none."""
        return


@dataclass(frozen=True)
class Sending:
    """A server's address and a token for it.

    Attributes:
        url: Address of the server, without a path of the API.
        token: The token; in no text of this object.
        timeout: Seconds to wait for an answer.
        retries: Number of repeats of a request that may be repeated.
        context: Certificates to trust; those of the system unless given.
        sleep: Waits between two tries.
    """

    url: str
    token: str = field(repr=False)
    timeout: float = 60.0
    retries: int = 4
    context: ssl.SSLContext | None = field(default=None, repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        """Check the address.

        Raises:
            ConfigError: It is no address of a server, or the token would travel in the clear.
        """
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
            raise ConfigError(f"{self.url!r} is no address of a server", remedy="for example https://hedgerow.example")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise ConfigError(
                f"a token would be sent to {parts.hostname} for everyone on the way to read",
                remedy="use https://, or an address of this machine",
            )
        if not self.token or any(not 32 < ord(letter) < 127 for letter in self.token):
            raise ConfigError("the token is empty, or holds characters that no token has", remedy="copy it again")

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a connection holds a token, and is not pickled: connect again")

    def get(self, path: str, **parameters: Any) -> Any:
        """JSON from an address of the API."""
        return json.loads(self.file(path, **parameters))

    def file(self, path: str, **parameters: Any) -> bytes:
        """A file from an address of the API."""
        pairs = [
            (name, each)
            for name, value in parameters.items()
            if value is not None
            for each in (value if isinstance(value, list | tuple) else [value])
        ]
        query = f"?{urllib.parse.urlencode(pairs)}" if pairs else ""
        return self._sent("GET", path + query, repeats=True)

    def post(self, path: str, body: Any, *, key: str | None = None) -> Any:
        """JSON in answer to JSON.

        Args:
            path: Address in the API.
            body: The request.
            key: Idempotency key: with it the request may be sent again, and is carried out once.
        """
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        return json.loads(self._sent("POST", path, json.dumps(body).encode(), headers, repeats=key is not None))

    def put(self, path: str, body: bytes | Mapping[str, Any]) -> Any:
        """JSON in answer to a file or to JSON; sent once."""
        data, kind = (body, "octet-stream") if isinstance(body, bytes) else (json.dumps(body).encode(), "json")
        found = self._sent("PUT", path, data, {"Content-Type": f"application/{kind}"})
        return json.loads(found) if found else None

    def delete(self, path: str) -> None:
        """Take away what is at an address of the API; sent once."""
        self._sent("DELETE", path)

    def _sent(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        repeats: bool = False,
    ) -> bytes:
        """The body of the answer; what may be repeated is, while the server is away, busy or limits its rate."""
        opener = urllib.request.build_opener(_NoRedirects(), urllib.request.HTTPSHandler(context=self.context))
        left = self.retries if repeats else 0
        for tried in range(left + 1):
            request = urllib.request.Request(self.url.rstrip("/") + path, data, dict(headers or {}), method=method)
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**tried)
            try:
                with opener.open(request, timeout=self.timeout) as reply:
                    found: bytes = reply.read()
                    return found
            except HTTPError as error:
                told = _body(error)
                if error.code not in _AGAIN or tried == left:
                    raise _error_of(error, told) from None
                pause = min(_LONGEST_PAUSE, max(pause, _seconds(error)))
            except _FAILURES as error:
                if tried == left:
                    raise self._unreachable(error) from None
            self.sleep(pause)
        raise AssertionError  # the last try returned or raised

    def _unreachable(self, error: Exception) -> UnreachableError:
        reason = getattr(error, "reason", None) or error
        return UnreachableError(
            f"the server at {self.url} does not answer: {str(reason) or type(reason).__name__}",
            remedy="look whether it runs and whether the address is right; a question is charged at most once",
        )


def _body(error: HTTPError) -> bytes:
    """The body of a refusal, as much as came of it: a connection may break inside."""
    try:
        with error:
            found: bytes = error.read()
            return found
    except http.client.IncompleteRead as cut:
        return cut.partial
    except OSError:
        return b""


def _error_of(error: HTTPError, told: bytes) -> HedgerowError:
    """The error that a server tells of; its kind is that which the server raised."""
    try:
        problem = json.loads(told)
        code, detail, remedy = str(problem["code"]), str(problem["detail"] or problem["title"]), str(problem["remedy"])
        fields = "; ".join(f"{each['where']}: {each['reason']}" for each in problem.get("fields") or ())
    except (ValueError, KeyError, TypeError):
        start = told[:_SHOWN].decode(errors="replace").strip()
        return UnreachableError(
            f"what answers is not a Hedgerow server: status {error.code}, {start!r}",
            remedy="look whether the address is right, and what stands between",
        )
    message = ": ".join(filter(None, [detail, fields]))
    if error.code == http.client.TOO_MANY_REQUESTS:
        return RateError(message, seconds=_seconds(error), remedy=remedy)
    return _ERRORS.get(code, ServiceError)(message, remedy=remedy)


def _seconds(error: HTTPError) -> float:
    """Seconds after which the server wants to be asked again."""
    try:
        return float(error.headers.get("Retry-After", 0.0))
    except ValueError:
        return 0.0
