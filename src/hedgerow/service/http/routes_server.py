"""Routes about the server and whoever asks."""

from __future__ import annotations

from starlette.responses import Response

from hedgerow.service.http import metrics
from hedgerow.service.http.gate import By, Here
from hedgerow.service.http.operations import ForAnyone, ForTokens, Operation
from hedgerow.service.http.told import Health, Me
from hedgerow.version import __version__


def health(here: Here) -> Health:
    """Whether the server is well.

    503 if the store cannot be read.
    """
    here.store.ping()
    return Health(status="ok", version=__version__)


def metrics_text(here: Here) -> Response:
    """Counters in Prometheus' text format.

    Requests by route, method and status, and how long they took; nothing by data set or person.
    """
    return Response(here.metrics.text(), media_type=metrics.MEDIA_TYPE)


async def me(by: By) -> Me:
    """Whose the token is, and what it is good for."""
    token = by.token
    return Me(
        person=by.person.name,
        role=by.person.role,
        datasets="all" if token.data_sets is None else list(token.data_sets),
        expires=token.expires,
        version=__version__,
    )


OPERATIONS = (
    Operation("GET", "/v1/health", health, ForAnyone, Health),
    Operation(
        "GET", "/v1/metrics", metrics_text, ForAnyone, content={metrics.MEDIA_TYPE: {"schema": {"type": "string"}}}
    ),
    Operation("GET", "/v1/me", me, ForTokens, Me),
)
