"""The log of the server: lines of text, or of JSON that say which request each belongs to and who sent it.

A line of JSON holds neither the address of a request, which may hold conditions, nor what an error says, unless it is
an error that Hedgerow raises on purpose.
"""

import json
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from starlette.types import Scope

from hedgerow.service.http.problems import kinds_of

REQUESTS = logging.getLogger("hedgerow.requests")
"""A line, at level INFO, for each answered request."""
_NAMES = ("hedgerow.service", REQUESTS.name, "uvicorn")
_SCOPE: ContextVar[Scope | None] = ContextVar("scope", default=None)


@contextmanager
def belonging(scope: Scope) -> Iterator[str]:
    """Let what is logged meanwhile, also in threads, belong to a request; gives its id, which is drawn here."""
    id = secrets.token_hex(8)
    scope.setdefault("state", {})["request_id"] = id
    before = _SCOPE.set(scope)
    try:
        yield id
    finally:
        _SCOPE.reset(before)


class JsonLines(logging.Formatter):
    r"""A record as one line of JSON.

    Example:
        >>> record = logging.LogRecord("hedgerow.service", logging.ERROR, "", 0, "a\nb %s", ("c",), None)
        >>> record.created = 0.0
        >>> print(JsonLines().format(record))
        {"time": "1970-01-01T00:00:00.000Z", "level": "error", "logger": "hedgerow.service", "message": "a\nb c"}
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line: time, level, name, message; id and person of the request; fields of a line about it."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1]:
            told["error"] = kinds_of(record.exc_info[1])
        state = (_SCOPE.get() or {}).get("state", {})
        if "request_id" in state:
            told["request"] = state["request_id"]
        if "caller" in state:
            told["person"] = state["caller"].person.name
        return json.dumps(told | getattr(record, "fields", {}))


def log_as_json(*, quiet: bool) -> None:
    """Let this process log to standard error in JSON; nothing else of the process does.

    Args:
        quiet: Whether errors alone are logged, and no requests.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name in _NAMES:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR if quiet else logging.INFO if name == REQUESTS.name else logging.WARNING)
