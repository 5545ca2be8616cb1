"""The gate of every route: who may pass is settled before anything of the body is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast, final

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Depends
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from hedgerow.errors import (
    InvalidRequestError,
    MalformedRequestError,
    NotAllowedError,
    NotThereError,
    StoreBusyError,
    StoreError,
)
from hedgerow.service.http.cursors import Cursors
from hedgerow.service.http.guards import Rates, address_of
from hedgerow.service.http.metrics import Metrics
from hedgerow.service.http.strict_json import parse_json
from hedgerow.service.http.tokens import Caller, Verifier, WrongTokenError, bearer
from hedgerow.service.settings import Settings
from hedgerow.service.store import DataSet

if TYPE_CHECKING:
    from hedgerow.service.desks import Desks
    from hedgerow.service.store import Store

Who = Literal["anyone", "token", "custodian"]
_SIGN_INS = 16
_UNSENT = 8
"""Files on their way for each that may be made at a time."""


@final
@dataclass(frozen=True)
class Service:
    """What the routes of one application work with.

    Attributes:
        desks: The data sets.
        store: What is kept.
        settings: Limits.
        verifier: Whose a token is.
        rates: How often something may happen.
        cursors: Of lists.
        metrics: What is counted.
        sign_ins: Threads that tokens are looked at in; not those that wait for answers.
        downloads: Files of records that are made at a time.
        unsent: Files of records that may be on their way at a time: until then they take room on the disk.
        waits: Requests that may wait for a data set at a time; fewer than there are threads.
    """

    desks: Desks
    store: Store
    settings: Settings
    verifier: Verifier
    rates: Rates
    cursors: Cursors
    metrics: Metrics
    sign_ins: CapacityLimiter
    downloads: threading.BoundedSemaphore
    unsent: threading.BoundedSemaphore
    waits: threading.BoundedSemaphore

    @classmethod
    def of(cls, desks: Desks, store: Store, settings: Settings) -> Service:
        """Put together what an application needs."""
        return cls(
            desks,
            store,
            settings,
            Verifier(store),
            Rates(settings),
            Cursors(store.secret("cursor")),
            Metrics(),
            CapacityLimiter(_SIGN_INS),
            threading.BoundedSemaphore(settings.downloads),
            threading.BoundedSemaphore(_UNSENT * settings.downloads),
            threading.BoundedSemaphore(max(1, settings.threads * 3 // 4)),
        )

    def sign_in(self, header: str | None, address: str) -> Caller:
        """Whose token a request carries.

        Args:
            header: The Authorization header.
            address: Where the request comes from.

        Raises:
            NotSignedInError: There is no good token.
            RateError: The token is used too often, or too many wrong ones come from the address.
        """
        try:
            caller = self.verifier.caller(bearer(header), before_work=lambda: self.rates.check_failures(address))
        except WrongTokenError:
            if self.rates.failed(address):
                self._note_failure(address)
            raise
        self.rates.request(caller.token.id)
        return caller

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for a data set, unless so many do that no thread would be left for other requests.

        Raises:
            StoreBusyError: They do.
        """
        if not self.waits.acquire(blocking=False):
            raise StoreBusyError("too many questions wait for their answers", remedy="try again in a moment")
        try:
            yield
        finally:
            self.waits.release()

    def _note_failure(self, address: str) -> None:
        try:
            self.store.note(None, "sign-in refused", address, {})
        except StoreError:  # the refusal itself matters more
            return

    def data_set(self, name: str, caller: Caller) -> DataSet:
        """A data set that the caller's token is good for.

        Raises:
            NotThereError: It is not, or there is no such data set: the two are not told apart.
        """
        if not caller.token.reaches(name):
            raise no_data_set(name)
        try:
            return self.store.data_set(name)
        except NotThereError:
            raise no_data_set(name) from None


def no_data_set(name: str) -> NotThereError:
    """What is said of a data set that is not there, and of one that a token may not know of.

    Example:
        >>> no_data_set("adult").message
        "there is no data set 'adult'"
    """
    return NotThereError(
        f"there is no data set {name!r}", remedy="GET /v1/datasets lists those that this token is good for"
    )


class GatedRoute(APIRoute):
    """A route that looks at the token, the role and the rate before it reads the body, and reads strict JSON."""

    who: ClassVar[Who] = "custodian"

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Put the gate before FastAPI's handler."""
        handle = super().get_route_handler()
        known = {field.alias for field in self.dependant.query_params}

        async def gated(request: Request) -> Response:
            if self.who != "anyone":
                request.state.caller = await self._caller(request)
            _check_parameters([name for name, _ in request.query_params.multi_items()], known)
            if self.body_field is None:
                return await handle(request)
            strict = _StrictRequest(request.scope, request.receive)
            await strict.json()
            return await handle(strict)

        return gated

    async def _caller(self, request: Request) -> Caller:
        service = await the_service(request)
        header, address = _authorization(request), address_of(request.scope)
        caller = await anyio.to_thread.run_sync(service.sign_in, header, address, limiter=service.sign_ins)
        if self.who == "custodian" and not caller.is_custodian:
            raise NotAllowedError("this is for custodians", remedy="ask a custodian to do it")
        return caller


def _authorization(request: Request) -> str | None:
    """The header that says who asks; of two, a proxy may have looked at the other one."""
    found = request.headers.getlist("authorization")
    if len(found) > 1:
        raise MalformedRequestError("there are two Authorization headers", remedy="send one")
    return found[0] if found else None


def _check_parameters(given: list[str], known: set[str]) -> None:
    """Refuse parameters that are misspelt or there twice, which would be ignored otherwise."""
    if not known.issuperset(given):
        listed = ", ".join(sorted(known))
        raise InvalidRequestError(
            "the address has a parameter that is not known here",
            remedy=f"known are {listed}" if known else "leave it out",
        )
    if len(set(given)) < len(given):
        raise InvalidRequestError("the address has a parameter twice", remedy="give each parameter once")


@final
class ForAnyone(GatedRoute):
    """A route without a token."""

    who = "anyone"


@final
class ForTokens(GatedRoute):
    """A route for everybody with a token."""

    who = "token"


@final
class ForCustodians(GatedRoute):
    """A route for custodians."""

    who = "custodian"


@final
class _StrictRequest(Request):
    """A request whose body is read as strict JSON, once."""

    async def json(self) -> Any:
        """The body as values.

        Raises:
            InvalidRequestError: It is not sent as JSON, or is none.
        """
        if not hasattr(self, "_strict"):
            body = await self.body()
            kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
            if body and kind != "application/json":
                raise InvalidRequestError(
                    "the body is not sent as JSON", remedy="send the header 'Content-Type: application/json'"
                )
            self._strict = parse_json(body) if body else None
        return self._strict


async def the_service(request: Request) -> Service:
    """What the application works with."""
    return cast("Service", request.app.state.service)


async def the_caller(request: Request) -> Caller:
    """Who passed the gate."""
    return cast("Caller", request.state.caller)


Here = Annotated[Service, Depends(the_service)]
By = Annotated[Caller, Depends(the_caller)]
