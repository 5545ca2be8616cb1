"""Routes of the hypothesis, which cost nothing: marginals and synthetic records."""

from __future__ import annotations

import csv
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path as File
from typing import IO, Annotated, Any, Literal, final

from fastapi import Query
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from hedgerow.domain import Domain
from hedgerow.errors import InvalidRequestError, StoreBusyError
from hedgerow.service.http import problems
from hedgerow.service.http.gate import By, Here, Service
from hedgerow.service.http.operations import ForTokens, Operation
from hedgerow.service.http.routes_data_sets import Name
from hedgerow.service.http.tokens import Caller
from hedgerow.service.http.told import MarginalTold
from hedgerow.service.store import DataSet

MOST_RECORDS = 1_000_000
_MOST_ATTRIBUTES = 3
_PIECE = 1 << 18
_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}

Attributes = Annotated[
    str,
    Query(
        min_length=1,
        max_length=1000,
        description="One to three names, with commas between; a name that has a comma stands in double quotes.",
        openapi_examples={"two": {"value": "age,sex"}},
    ),
]
Number = Annotated[
    int | None, Query(ge=1, le=MOST_RECORDS, description="How many; by default the (noisy) number of records.")
]
Form = Annotated[Literal["csv", "parquet"], Query(alias="format", description="Of the file.")]


def get_marginal(name: Name, attributes: Attributes, here: Here, by: By) -> MarginalTold:
    """A marginal of the hypothesis: counts by one to three attributes. Free."""
    data_set = here.data_set(name, by)
    domain = here.desks.domain(data_set)
    chosen = _chosen(attributes, domain)
    with here.waiting():
        counts = here.desks.marginal(data_set, chosen, person=by.person)
    return MarginalTold(
        attributes=list(chosen),
        labels=[list(domain[each].labels) for each in chosen],
        counts=counts.tolist(),
        total=float(counts.sum()),
    )


def _chosen(text: str, domain: Domain) -> tuple[str, ...]:
    try:
        names = next(csv.reader([text], strict=True), [])
    except csv.Error:
        raise InvalidRequestError("the names of attributes cannot be read", remedy="as in 'age,sex'") from None
    for each in names:
        if each not in domain:
            raise InvalidRequestError("there is no such attribute", remedy="GET /v1/datasets/{name} lists them")
    if not 1 <= len(names) <= _MOST_ATTRIBUTES or len(set(names)) < len(names):
        raise InvalidRequestError("give one to three different attributes")
    return tuple(names)


def get_records(name: Name, here: Here, by: By, n: Number = None, form: Form = "csv") -> Response:
    """A file of synthetic records drawn from the hypothesis. Free."""
    data_set = here.data_set(name, by)
    file, size = _drawn(here, data_set, n, form, by)
    here.store.note(by.person.id, "records", name, {"n": n, "format": form})
    headers = {"Content-Disposition": f'attachment; filename="{name}-synthetic.{form}"', "Content-Length": str(size)}
    return _Sent(file, media_type=_TYPES[form], headers=headers)


def _drawn(here: Service, data_set: DataSet, n: int | None, form: str, by: Caller) -> tuple[IO[bytes], int]:
    """A file and its size; a place among those on their way is taken until the file is closed and gone."""
    _take(here.unsent)
    try:
        _take(here.downloads)
        try:
            file, size = _written(here, data_set, n, form, by)
        finally:
            here.downloads.release()
    except BaseException:
        here.unsent.release()
        raise
    weakref.finalize(file, here.unsent.release)  # however the sending ends, or if it never begins
    return file, size


def _take(places: threading.BoundedSemaphore) -> None:
    if not places.acquire(blocking=False):
        raise StoreBusyError("records are being drawn for others", remedy="try again in a moment")


def _default_number(here: Service, data_set: DataSet, by: Caller) -> int | None:
    total = here.desks.summary(data_set, by.person)["total"]
    return None if total is None else min(MOST_RECORDS, max(1, round(total)))


def _written(here: Service, data_set: DataSet, n: int | None, form: str, by: Caller) -> tuple[IO[bytes], int]:
    """A file that has no name any more: it is gone when it is closed, however that happens."""
    number = _default_number(here, data_set, by) if n is None else n
    with here.waiting():
        records = here.desks.records(data_set, number, person=by.person)
    with tempfile.TemporaryDirectory(prefix="hedgerow-") as folder:
        path = File(folder, f"records.{form}")
        records.write(path)
        return path.open("rb"), path.stat().st_size


@final
class _Sent(StreamingResponse):
    """A file on its way; closed also where nobody fetches it to its end."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(_pieces(file), **options)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


OPERATIONS = (
    Operation(
        "GET", "/v1/datasets/{name}/marginals", get_marginal, ForTokens, MarginalTold, problems=(problems.TABLE,)
    ),
    Operation(
        "GET",
        "/v1/datasets/{name}/records",
        get_records,
        ForTokens,
        problems=(problems.TABLE,),
        content={
            "text/csv": {"schema": {"type": "string"}},
            "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
        },
    ),
)
