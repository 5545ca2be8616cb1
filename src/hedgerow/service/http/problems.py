"""Errors as problems (RFC 9457), and the log of unforeseen ones.

Errors that Hedgerow raises on purpose say what is wrong and what to try; the client sees them. Of all others a client
sees nothing, as their messages can hold values; their kind and place are logged.
"""

import logging
import math
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Match

from hedgerow import errors
from hedgerow.quantities import human, human_bytes

MEDIA_TYPE = "application/problem+json"
ECHOED = 200
"""Most characters of a request that an error may quote."""
_FIELDS = 20
_LOG = logging.getLogger("hedgerow.service")


@dataclass(frozen=True)
class Kind:
    """One kind of problem.

    Attributes:
        code: Short name, the end of its type.
        status: The HTTP status.
        title: The kind in words.
        raised: The errors that are of this kind, unless a more special one has them.
    """

    code: str
    status: int
    title: str
    raised: tuple[type[errors.HedgerowError], ...] = ()

    def body(self, detail: str, remedy: str) -> dict[str, Any]:
        """The problem as JSON."""
        plain = {"type": f"urn:hedgerow:problem:{self.code}", "title": self.title, "status": self.status}
        return plain | {"detail": detail, "remedy": remedy, "code": self.code}


MALFORMED = Kind("malformed", 400, "Ambiguous or malformed request", (errors.MalformedRequestError,))
NOT_SIGNED_IN = Kind("not-signed-in", 401, "Not signed in", (errors.NotSignedInError,))
QUOTA = Kind("quota", 403, "This person's share of the store is full", (errors.QuotaError,))
NOT_ALLOWED = Kind("not-allowed", 403, "Not allowed", (errors.NotAllowedError,))
NOT_THERE = Kind("not-there", 404, "Not found", (errors.NotThereError,))
WRONG_METHOD = Kind("wrong-method", 405, "Method not allowed at this address")
TIME_OUT = Kind("time-out", 408, "Request timed out")
CONFLICT = Kind("conflict", 409, "Conflict with what is there", (errors.ConflictError, errors.RegisterExceededError))
TOO_MUCH = Kind("too-much", 413, "Larger than this server accepts", (errors.TooMuchError,))
RATE = Kind("rate", 429, "Too many requests", (errors.RateError,))
TABLE = Kind("table", 503, "The private table cannot be read", (errors.TableError,))
BUSY = Kind("busy", 503, "Busy", (errors.StoreBusyError, errors.OutdatedError, errors.RegisterBusyError))
STORE = Kind("store", 503, "The store cannot be reached", (errors.StoreError, errors.RegisterError))
INTERNAL = Kind("internal", 500, "Something went wrong inside the server")
_WRONG = (
    *(errors.InvalidRequestError, errors.QueryError, errors.ConfigError, errors.DomainError, errors.DataError),
    *(errors.ModelTooLargeError, errors.MarginalTooLargeError, errors.BudgetError, errors.ReleaseError),
    errors.MissingExtraError,
)
INVALID = Kind("invalid", 422, "Invalid request", _WRONG)

_RAISED = (
    *(MALFORMED, NOT_SIGNED_IN, QUOTA, NOT_ALLOWED, NOT_THERE, CONFLICT, TOO_MUCH, RATE),
    *(TABLE, BUSY, STORE, INVALID),
)
"""Kinds of errors, special ones before general ones."""
OF_QUESTIONS = (NOT_ALLOWED, QUOTA, CONFLICT, TABLE)
"""Problems that only a question has."""
_STATUSES = {kind.status: kind for kind in (NOT_SIGNED_IN, NOT_ALLOWED, NOT_THERE, WRONG_METHOD, TOO_MUCH)}
_BUSY_SECONDS = 1.0


def kind_of(error: Exception) -> Kind | None:
    """The kind of problem that an error is; None for those that no one outside may see.

    Example:
        >>> kind_of(errors.StoreBusyError("...")).code, kind_of(errors.SessionError("..."))
        ('busy', None)
    """
    return next((kind for kind in _RAISED if isinstance(error, kind.raised)), None)


def shortened(text: str, longest: int = ECHOED) -> str:
    """Shorten a text that is too long.

    Example:
        >>> shortened("abcdefgh", 5)
        'abcd…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def problem(
    kind: Kind,
    detail: str = "",
    *,
    remedy: str = "",
    fields: Sequence[Mapping[str, str]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Make the response for a problem.

    Example:
        >>> problem(NOT_THERE, "there is no data set 'x'").status_code
        404
    """
    body = kind.body(detail, remedy)
    if kind.status == INVALID.status:
        body["fields"] = list(fields or ())
    return JSONResponse(body, kind.status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def busy(seconds: float) -> JSONResponse:
    """The response to who would wait for too long.

    Args:
        seconds: Time that the answer would take.

    Example:
        >>> busy(2.5).headers["Retry-After"]
        '3'
    """
    return problem(
        BUSY,
        "the server has more requests than it can answer in time",
        remedy="try again later; Retry-After says when",
        headers={"Retry-After": str(math.ceil(seconds))},
    )


def problem_of(error: Exception) -> JSONResponse:
    """The response that an error becomes; an unforeseen one is logged and says nothing.

    Example:
        >>> problem_of(errors.RateError("more than 1 request a minute", seconds=2.5)).headers["Retry-After"]
        '3'
    """
    kind = kind_of(error)
    if kind is None or not isinstance(error, errors.HedgerowError):
        log_failure(error)
        return problem(INTERNAL)
    if kind is STORE:  # the operator must see it; these messages are ours and hold no private value
        _LOG.error("%s", error.message)
    return problem(kind, _detail(error), remedy=error.remedy, headers=_headers(error, kind))


def _detail(error: errors.HedgerowError) -> str:
    """The error's message, without free memory, which shows the size of private tables, or the place of the store."""
    if isinstance(error, errors.StoreError | errors.RegisterError | errors.RegisterExceededError) and error.place:
        return error.message.removeprefix(f"{error.place}: ")
    if isinstance(error, errors.ModelTooLargeError | errors.MarginalTooLargeError):
        return f"{human(error.cells)} cells need about {human_bytes(error.required_bytes)}, more than the server has"
    return error.message


def _headers(error: errors.HedgerowError, kind: Kind) -> dict[str, str]:
    if kind is NOT_SIGNED_IN:
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, errors.RateError):
        return {"Retry-After": str(max(1, math.ceil(error.seconds)))}
    return {"Retry-After": str(math.ceil(_BUSY_SECONDS))} if kind is BUSY else {}


def log_failure(error: BaseException) -> None:
    """Log the kind of an error and where it arose: no message, no value.

    Example:
        >>> log_failure(ValueError("42 people"))
    """
    _LOG.error("internal error: %s", kinds_of(error))


def kinds_of(error: BaseException) -> str:
    """The kinds of an error and of those behind it, and where each arose: no message, no value.

    Example:
        >>> kinds_of(ValueError("42 people"))
        'builtins.ValueError'
    """
    return "; because of ".join(_place(each) for each in _chain(error))


def _chain(error: BaseException) -> Iterable[BaseException]:
    seen: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in seen:
        seen.append(each)
        each = each.__cause__ or each.__context__
    return seen


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "hedgerow" in frame.filename] or list(frames)
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    where = [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} ({frame.name})" for frame in ours[-3:]]
    return f"{name} at {' < '.join(reversed(where))}" if where else name


def add_handlers(app: FastAPI) -> None:
    """Make an application answer every error with a problem."""

    async def ours(request: Request, error: Exception) -> JSONResponse:
        return problem_of(error)

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        found = error.errors() if isinstance(error, RequestValidationError) else []
        return problem(
            INVALID,
            "the request does not match its documentation",
            remedy="see the fields, and /v1/docs",
            fields=[_field(each) for each in found[:_FIELDS]],
        )

    async def http(request: Request, error: Exception) -> JSONResponse:
        status = error.status_code if isinstance(error, HTTPException) else INTERNAL.status
        kind = _STATUSES.get(status, INTERNAL if status >= INTERNAL.status else INVALID)
        if kind is WRONG_METHOD:
            methods = ", ".join(_methods(app, request))
            return problem(kind, f"it takes {methods}", remedy="see /v1/docs", headers={"Allow": methods})
        return problem(kind, "there is nothing at this address" if kind is NOT_THERE else "", remedy="see /v1/docs")

    app.add_exception_handler(errors.HedgerowError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def _field(error: Mapping[str, Any]) -> dict[str, str]:
    where = ".".join(str(part) for part in error.get("loc", ()))
    return {"where": shortened(where), "reason": shortened(str(error.get("msg", "")).removeprefix("Value error, "))}


def _methods(app: FastAPI, request: Request) -> list[str]:
    found: set[str] = set()
    for route in app.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return sorted(found)
