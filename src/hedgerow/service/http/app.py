"""The HTTP API as an ASGI application, and its routes about the server itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import anyio.to_thread
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from hedgerow.service.http import routes_custodians, routes_data_sets, routes_questions, routes_signin, web
from hedgerow.service.http.admission import SECURITY, By, ForAnyone, ForCustodians, ForTokens, Here, Operation, Service
from hedgerow.service.http.gauges import gauges
from hedgerow.service.http.middleware import METRICS_TYPE, BodyLimit, Counted, Forwarded, Heads, SecurityHeaders, Shield
from hedgerow.service.http.problems import add_handlers
from hedgerow.service.http.responses import HealthResponse, MeResponse, Problem, scope_of
from hedgerow.service.http.uploads import sweep
from hedgerow.service.sessions import SessionWorkers
from hedgerow.service.settings import Settings
from hedgerow.service.store import Store
from hedgerow.version import __version__


async def health() -> HealthResponse:
    """Whether the server is alive: it answers.

    Whether it can work is for `GET /v1/ready` to say: a server without its store need not be started anew.
    """
    return HealthResponse(status="ok", version=__version__)


async def ready(here: Here) -> HealthResponse:
    """Whether the server can answer questions: its store can be read and written, and has room.

    503 if not. The store is looked at every five seconds at most; nothing is kept of what is written for that.
    """
    await anyio.to_thread.run_sync(here.readiness.check, limiter=here.watching)
    return HealthResponse(status="ok", version=__version__)


async def metrics_text(here: Here) -> Response:
    """Counters in Prometheus' text format.

    Requests by route, method and status, and how long they took; nothing by data set or person.
    """
    return Response(here.metrics.text(), media_type=METRICS_TYPE)


def data_set_metrics(here: Here, by: By) -> Response:
    """Gauges in Prometheus' text format: budget, corrections and questions of the data sets that the token opens.

    With a token for all data sets, the store's size and the number of sessions too.
    """
    return Response(gauges(here.store, here.workers, here.readiness, by), media_type=METRICS_TYPE)


async def me(by: By) -> MeResponse:
    """Owner and scope of the token."""
    token = by.token
    return MeResponse(
        person=by.person.name,
        role=by.person.role,
        datasets=scope_of(token),
        expires=token.expires,
        version=__version__,
    )


_METRICS = {METRICS_TYPE: {"schema": {"type": "string"}}}
OPERATIONS = (
    Operation("GET", "/v1/health", health, ForAnyone),
    Operation("GET", "/v1/ready", ready, ForAnyone),
    Operation("GET", "/v1/metrics", metrics_text, ForAnyone, content=_METRICS),
    Operation("GET", "/v1/metrics/datasets", data_set_metrics, ForCustodians, content=_METRICS),
    Operation("GET", "/v1/me", me, ForTokens),
    *routes_signin.OPERATIONS,
    *routes_data_sets.OPERATIONS,
    *routes_questions.OPERATIONS,
    *routes_custodians.OPERATIONS,
    *web.OPERATIONS,
)
_IMPORTED_LATE = ("opendp.measurements", "scipy.optimize", "sqlglot.errors", "sqlglot.tokens")
"""Imported early: several threads that import these at once can meet half-made modules."""
_REFERENCE = "#/components/schemas/{model}"
_DESCRIPTION = """\
Counting questions about private tables, answered with differential privacy.

Send 'Authorization: Bearer hgr_...' with a token that a custodian made. Every error is a problem (RFC 9457) with a
code, what is wrong, and what to try.

Questions are answered by a public model of the data, the hypothesis. The data are looked at only to test it, and the
privacy budget is charged before that. Where the model is off by more than a threshold it is corrected. All counts are
noisy or modelled.
"""


class Application(FastAPI):
    """FastAPI with problems in the OpenAPI description."""

    def openapi(self) -> dict[str, Any]:
        """The description; made once."""
        if self.openapi_schema is None:
            schema = get_openapi(title=self.title, version=self.version, description=_DESCRIPTION, routes=self.routes)
            problem = Problem.model_json_schema(ref_template=_REFERENCE)
            parts = schema.setdefault("components", {})
            parts.setdefault("schemas", {}).update(problem.pop("$defs"), Problem=problem)
            parts["securitySchemes"] = {SECURITY: {"type": "http", "scheme": "bearer", "bearerFormat": "hgr_..."}}
            self.openapi_schema = schema
        return self.openapi_schema


def description() -> dict[str, Any]:
    """The OpenAPI description of the interface, without a server.

    Example:
        >>> description()["paths"]["/v1/health"]["get"]["summary"]
        'Whether the server is alive: it answers'
    """
    return _application().openapi()


def _application(**options: Any) -> Application:
    app = Application(
        title="Hedgerow",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        **options,
    )
    for operation in OPERATIONS:
        operation.add_to(app)
    return app


def create_app(workers: SessionWorkers, store: Store, settings: Settings) -> FastAPI:
    """The server as an ASGI application; uploads that were cut off with an earlier one are removed.

    Args:
        workers: The data sets. The application closes neither them nor the store.
        store: The store.
        settings: Limits.
    """
    for name in _IMPORTED_LATE:
        import_module(name)
    sweep(settings.data_folder)
    app = _application(lifespan=_with_threads(settings.threads))
    app.state.service = service = Service(workers, store, settings)
    if service.provider is not None:
        for operation in routes_signin.AT_PROVIDER:
            operation.add_to(app)
    add_handlers(app)
    for guard, options in ((BodyLimit, {"settings": settings}), (Shield, {}), (SecurityHeaders, {})):
        app.add_middleware(guard, **options)  # each stands before those above
    app.add_middleware(Counted, metrics=service.metrics)
    app.add_middleware(Forwarded, proxies=settings.proxies)
    app.add_middleware(Heads)
    web.mount(app)
    return app


def _with_threads(threads: int) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        """Endpoints wait for answers in threads: more of them than there are cores."""
        anyio.to_thread.current_default_thread_limiter().total_tokens = threads
        yield

    return lifespan
