"""Routes as a table, and the gate of each: who may pass is settled before anything of the body is read.

Replies that changed nothing are given again for as long as nothing changes. A question that a person repeats is
answered from the store, and writes nothing to it. If nothing else was committed meanwhile either, the same request has
the same reply to the byte: what it costs is to know the token.
"""

import asyncio
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, cast, get_type_hints

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hedgerow.errors import ElsewhereError, NotAllowedError, NotThereError, StoreBusyError, StoreError
from hedgerow.service.http import problems
from hedgerow.service.http.gauges import Readiness
from hedgerow.service.http.middleware import Door, Metrics, Rates, address_of
from hedgerow.service.http.oidc import Provider
from hedgerow.service.http.peers import MOST_HOPS, Peers, hops
from hedgerow.service.http.problems import Kind
from hedgerow.service.http.request_parsing import Cursors, StrictRequest, check_parameters, credential
from hedgerow.service.http.tokens import Caller, Verifier, WrongTokenError, bearer
from hedgerow.service.sessions import SessionWorkers
from hedgerow.service.settings import Settings
from hedgerow.service.store import DataSet, Store

_MOST_BYTES = 1 << 24
_LARGEST = 1 << 18
_PARTS = (b"content-type", b"idempotency-key")
_SERIES = "/v1/series/"


class Replies:
    """The replies of one application.

    Args:
        store: The store that all of them follow from.
        most: Bytes of all replies that are kept.
    """

    def __init__(self, store: Store, *, most: int = _MOST_BYTES) -> None:
        """Keep nothing yet."""
        self._store = store
        self._most = most
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._stamped: Hashable = None
        self._size = 0
        self._lock = threading.Lock()

    async def reply(self, request: Request, token: str, make: Callable[[], Awaitable[Response]]) -> Response:
        """The reply to a request: as it was, if nothing was committed since; otherwise made.

        Args:
            request: The request, whose caller has passed the gate.
            token: Public id of the token.
            make: Makes the reply. Whatever it depends on is in the request or in the store.

        Raises:
            StoreError: The store does not answer.
        """
        key, before = _key(request, token, await request.body()), await self._stamp()
        if (kept := self._find(key, before)) is not None:
            return kept
        response = await make()
        if type(response) is JSONResponse and response.status_code == 200 and await self._stamp() == before:
            self._keep(key, before, bytes(response.body))
        return response

    def at_hand(self, request: Request, token: str, body: bytes) -> Response | None:
        """The reply that was kept, if nothing has to be waited for to know that it still holds; else None."""
        return self._find(_key(request, token, body), self._store.stamp()) if self._store.is_here else None

    async def _stamp(self) -> Hashable:
        return self._store.stamp() if self._store.is_here else await anyio.to_thread.run_sync(self._store.stamp)

    def _find(self, key: bytes, stamp: Hashable) -> Response | None:
        """A reply that was kept at a stamp; those of any other are forgotten."""
        with self._lock:
            if stamp != self._stamped:
                self._kept.clear()
                self._stamped, self._size = stamp, 0
            if key in self._kept:
                self._kept.move_to_end(key)
            kept = self._kept.get(key)
        return None if kept is None else Response(kept, media_type=JSONResponse.media_type)

    def _keep(self, key: bytes, stamp: Hashable, body: bytes) -> None:
        with self._lock:
            if len(body) > _LARGEST or stamp != self._stamped:
                return
            self._size += len(body) - len(self._kept.pop(key, b""))
            self._kept[key] = body
            while self._size > self._most:
                self._size -= len(self._kept.popitem(last=False)[1])


def _key(request: Request, token: str, body: bytes) -> bytes:
    """All that a reply can depend on beside the store: who asks, what, and in which words."""
    scope = request.scope
    headers = [value for name, value in scope["headers"] if name in _PARTS]
    names = [name for name, _ in scope["headers"] if name in _PARTS]
    parts = [token.encode(), scope["method"].encode(), scope["path"].encode(), scope["query_string"], *names, *headers]
    digest = hashlib.sha256()
    for part in (*parts, body):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


Who = Literal["anyone", "token", "custodian"]
_SIGN_INS = 16
_WATCHING = 2
_UNSENT = 8
"""Files on their way for each that may be made at a time."""


class Service:
    """Everything that the routes of one application work with.

    Args:
        workers: The data sets.
        store: The store.
        settings: Limits.

    Attributes:
        workers: The data sets.
        store: The store.
        settings: Limits.
        verifier: Finds the owner of a token.
        rates: Limits of how often something may happen.
        cursors: Cursors of lists.
        metrics: Counters.
        readiness: Whether the store can be written.
        replies: Replies that are given again.
        door: Lets in requests of analysts.
        watching: Threads that look whether the store answers: nothing else waits for them.
        sign_ins: Threads that check tokens; not those that wait for answers.
        downloads: Files of records that are made at a time.
        unsent: Files of records that may be on their way at a time: until then they take room on the disk.
        waits: Requests that may wait for a data set at a time; fewer than there are threads.
        provider: Provider of identities that people sign in with; None for tokens alone.
        peers: The other servers of the store.
    """

    def __init__(self, workers: SessionWorkers, store: Store, settings: Settings) -> None:
        """Put together what an application needs."""
        self.workers = workers
        self.store = store
        self.settings = settings
        self.verifier = Verifier(store)
        self.rates = Rates(settings)
        self.cursors = Cursors(store.secret("cursor"))
        self.metrics = Metrics()
        self.readiness = Readiness(store)
        self.replies = Replies(store)
        self.door = Door(settings.places, settings.longest_wait)
        self.watching = CapacityLimiter(_WATCHING)
        self.sign_ins, self.strangers = CapacityLimiter(_SIGN_INS), asyncio.Semaphore(_SIGN_INS)
        self.downloads = threading.BoundedSemaphore(settings.downloads)
        self.unsent = threading.BoundedSemaphore(_UNSENT * settings.downloads)
        self.waits = threading.BoundedSemaphore(max(1, settings.threads * 3 // 4))
        oidc = settings.oidc
        self.provider = None if oidc is None else Provider(oidc, store.secret("sign-in"))
        self.peers = Peers(store.leases)

    async def forward(self, request: Request, away: ElsewhereError) -> Response:
        """The reply of the server that works for a data set.

        Raises:
            StoreBusyError: It does not answer; if it is gone, the next request finds the data set free.
        """
        try:
            return await self.peers.forward(request, away)
        except StoreBusyError:
            if self.store.leases is not None:
                await anyio.to_thread.run_sync(self.store.leases.look, limiter=self.watching)
            raise

    def sign_in(self, header: str | None, address: str) -> Caller:
        """Verify the token of a request.

        Args:
            header: The Authorization header.
            address: Address that the request comes from.

        Raises:
            NotSignedInError: There is no valid token.
            RateError: The token is used too often, or too many wrong ones come from the address.
        """
        if (known := self.signed_in(header)) is not None:  # by now: others waited here with the same token
            return known
        try:
            caller = self.verifier.caller(bearer(header), before_work=lambda: self.rates.check_failures(address))
        except WrongTokenError:
            if self.rates.failed(address):
                self._note_failure(address)
            raise
        self.rates.request(caller.token.id)
        return caller

    def signed_in(self, header: str | None) -> Caller | None:
        """The caller, if nothing has to be waited for: a token that was verified, and is as it was.

        Args:
            header: The Authorization header.

        Raises:
            NotSignedInError: There is no token, or it has expired.
            RateError: The token is used too often.
        """
        caller = self.verifier.caller_at_hand(bearer(header))
        if caller is not None:
            self.rates.request(caller.token.id)
        return caller

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for a data set, unless so many requests do that no thread would be left for others.

        Raises:
            StoreBusyError: Too many wait already.
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
        """A data set that the caller's token opens.

        Raises:
            NotThereError: The token does not open it, or it does not exist: the two are not distinguished.
        """
        if not caller.token.reaches(name):
            raise no_data_set(name)
        try:
            return self.store.registered(name)
        except NotThereError:
            raise no_data_set(name) from None


def no_data_set(name: str) -> NotThereError:
    """The error for a data set that is not there, and for one that a token may not know of.

    Example:
        >>> no_data_set("adult").message
        "there is no data set 'adult'"
    """
    return NotThereError(f"there is no data set {name!r}", remedy="GET /v1/datasets lists those that this token opens")


class GatedRoute(APIRoute):
    """A route that looks at the token, the role and the rate before it reads the body, and reads strict JSON."""

    who: ClassVar[Who] = "custodian"
    repeats: ClassVar[bool] = False
    others: ClassVar[bool] = False  # parameters that nobody named

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Put the gate before FastAPI's handler."""
        handle = super().get_route_handler()
        known = {field.alias for field in self.dependant.query_params}

        async def gated(request: Request) -> Response:
            service, strict = await the_service(request), StrictRequest(request.scope, request.receive)
            try:  # operators are let in, and what they do may take long
                return await (admitted if self.who == "token" else passed)(service, strict)
            except ElsewhereError as away:
                return await service.forward(strict, away)

        async def admitted(service: Service, request: StrictRequest) -> Response:
            header = credential(request)
            caller = service.signed_in(header)
            seen = service.verifier.person_of(bearer(header)) if caller is None else None
            if caller is None and seen is None:  # strangers take no places
                caller = await self._caller(request)
            who = seen if caller is None else caller.person.id
            body = await request.body()  # nobody waits for who sends slowly
            if caller is not None:
                request.state.caller = caller
                if self.repeats and (kept := service.replies.at_hand(request, caller.token.id, body)):
                    return kept
            if seconds := await service.door.enter(who):
                return problems.busy(seconds)
            since = asyncio.get_running_loop().time()
            try:
                return await passed(service, request)
            finally:
                service.door.leave(since, who)

        async def passed(service: Service, request: StrictRequest) -> Response:
            if self.who != "anyone" and not hasattr(request.state, "caller"):
                request.state.caller = await self._caller(request)
            if not self.others:
                check_parameters([name for name, _ in request.query_params.multi_items()], known)
            name = request.path_params.get("name", "") if self.who != "anyone" else ""
            if name and hops(request) == MOST_HOPS and (await the_caller(request)).token.reaches(name):
                await anyio.to_thread.run_sync(service.workers.claim, name, self.path.startswith(_SERIES))
            return await here(service, request)

        async def here(service: Service, strict: StrictRequest) -> Response:
            async def made() -> Response:
                if self.body_field is not None:
                    name = strict.path_params["name"] if self.repeats else ""
                    if name and (await the_caller(strict)).token.reaches(name):
                        service.workers.check_here(name, self.path.startswith(_SERIES))
                    await strict.json()
                return await handle(strict)

            if not self.repeats:
                return await made()
            caller = await the_caller(strict)
            return await service.replies.reply(strict, caller.token.id, made)

        return gated

    async def _caller(self, request: Request) -> Caller:
        service = await the_service(request)
        header, address = credential(request), address_of(request.scope)
        caller = service.signed_in(header)
        if caller is None:
            async with service.strangers:  # the same token may have been verified meanwhile
                caller = service.signed_in(header)
                if caller is None:
                    caller = await anyio.to_thread.run_sync(service.sign_in, header, address, limiter=service.sign_ins)
        if self.who == "custodian" and not caller.is_custodian:
            raise NotAllowedError("this is for custodians", remedy="ask a custodian to do it")
        return caller


class ForAnyone(GatedRoute):
    """A route without a token."""

    who = "anyone"


class ForProviders(ForAnyone):
    """A route that another server sends browsers to, with parameters of its own."""

    others = True


class ForTokens(GatedRoute):
    """A route for everyone with a token."""

    who = "token"


class ForQuestions(ForTokens):
    """A route for everyone with a token; a request that changes nothing has the same reply while nothing changes."""

    repeats = True


class ForCustodians(GatedRoute):
    """A route for custodians."""

    who = "custodian"


async def the_service(request: Request) -> Service:
    """The objects that the application works with."""
    return cast("Service", request.app.state.service)


async def the_caller(request: Request) -> Caller:
    """The caller who passed the gate."""
    return cast("Caller", request.state.caller)


Here = Annotated[Service, Depends(the_service)]
By = Annotated[Caller, Depends(the_caller)]


PROBLEM = {"$ref": "#/components/schemas/Problem"}
SECURITY = "token"
_EXAMPLES: Mapping[str, tuple[str, str]] = {
    "malformed": ("there are two Authorization headers", "send one"),
    "not-signed-in": ("this needs a token", "send the header 'Authorization: Bearer hgr_...'"),
    "not-allowed": ("this is for custodians", "ask a custodian to do it"),
    "quota": ("your questions about this data set have taken 5,000,000 bytes ...", "ask its custodian for more room"),
    "not-there": ("there is no data set 'adlut'", "GET /v1/datasets lists those that this token opens"),
    "conflict": ("there is a data set 'adult' already", "choose another name"),
    "too-much": ("the body is larger than 1.0 MiB", "send it in parts: fewer questions, or a smaller table"),
    "invalid": ("question 3: there is no attribute 'gender'", "did you mean 'sex'?"),
    "rate": ("more than 6,000 requests a minute with this token", "ask several questions in one request, or wait"),
    "store": ("the store cannot be read", "try again later; nothing is lost"),
    "busy": ("the server is busy", "try again"),
    "table": ("the private table cannot be read now", "tell its custodian"),
    "internal": ("", ""),
}


@dataclass(frozen=True)
class Operation:
    """One route.

    Attributes:
        method: HTTP method.
        path: Template of the address.
        run: Endpoint; its docstring is the description, and the model that it returns is the JSON of the answer.
        route: Gate in front of it.
        status: Status of success.
        problems: Problems beside those that every such route has.
        content: Types of an answer that is not JSON, as OpenAPI describes them.
        sent: Description of a body that is not JSON.
        in_schema: Whether OpenAPI lists it.
    """

    method: str
    path: str
    run: Callable[..., Any]
    route: type[GatedRoute]
    status: int = 200
    problems: Sequence[Kind] = ()
    content: Mapping[str, Any] = field(default_factory=dict)
    sent: Mapping[str, Any] | None = None
    in_schema: bool = True

    def add_to(self, app: FastAPI) -> None:
        """Add this route to an application."""
        answer = get_type_hints(self.run)["return"]
        model = answer if isinstance(answer, type) and issubclass(answer, BaseModel) else None
        app.router.add_api_route(
            self.path,
            self.run,
            methods=[self.method],
            response_model=model,
            response_class=Response if model is None else JSONResponse,
            status_code=self.status,
            responses=self._responses(),
            summary=(self.run.__doc__ or "").strip().partition("\n")[0].rstrip("."),
            operation_id=self.run.__name__,
            openapi_extra=self._extra(),
            include_in_schema=self.in_schema,
            route_class_override=self.route,
        )

    def _responses(self) -> dict[int | str, dict[str, Any]]:
        found: dict[int | str, dict[str, Any]] = {}
        if self.content:
            found[self.status] = {"content": dict(self.content)}
        for kind in self._kinds():
            response = found.setdefault(kind.status, {"description": kind.title, "content": {}})
            content = response["content"].setdefault(problems.MEDIA_TYPE, {"schema": PROBLEM, "examples": {}})
            content["examples"][kind.code] = {"summary": kind.title, "value": kind.body(*_EXAMPLES[kind.code])}
        return found

    def _kinds(self) -> list[Kind]:
        kinds = [*self.problems, problems.INVALID, problems.STORE, problems.BUSY, problems.INTERNAL]
        if not issubclass(self.route, ForAnyone):
            kinds += [problems.MALFORMED, problems.NOT_SIGNED_IN, problems.RATE]
        if self.route is ForCustodians:
            kinds.append(problems.NOT_ALLOWED)
        if "{name}" in self.path:
            kinds.append(problems.NOT_THERE)
        if self.method in ("POST", "PUT"):
            kinds.append(problems.TOO_MUCH)
        return sorted(set(kinds), key=lambda kind: (kind.status, kind.code))

    def _extra(self) -> dict[str, Any]:
        extra: dict[str, Any] = {} if issubclass(self.route, ForAnyone) else {"security": [{SECURITY: []}]}
        if self.sent is not None:
            extra["requestBody"] = dict(self.sent)
        return extra
