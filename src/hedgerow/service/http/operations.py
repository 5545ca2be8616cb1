"""Routes as a table: method, address, who may, what is answered, which problems there can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from hedgerow.service.http import problems
from hedgerow.service.http.gate import ForAnyone, ForCustodians, ForTokens, GatedRoute
from hedgerow.service.http.problems import Kind

PROBLEM = {"$ref": "#/components/schemas/Problem"}
SECURITY = "token"
_EXAMPLES: Mapping[str, tuple[str, str]] = {
    "malformed": ("there are two Authorization headers", "send one"),
    "not-signed-in": ("this needs a token", "send the header 'Authorization: Bearer hgr_...'"),
    "not-allowed": ("this is for custodians", "ask a custodian to do it"),
    "quota": ("your questions about this data set have taken 5,000,000 bytes ...", "ask its custodian for more room"),
    "not-there": ("there is no data set 'adlut'", "GET /v1/datasets lists those that this token is good for"),
    "conflict": ("there is a data set 'adult' already", "choose another name"),
    "too-much": ("the body is larger than 1.0 MiB", "send it in parts: fewer questions, or a smaller table"),
    "invalid": ("question 3: there is no attribute 'gender'", "did you mean 'sex'?"),
    "question-too-large": ("question 2: to learn an answer about age * ... ", "ask about fewer attributes"),
    "rate": ("more than 6,000 requests a minute with this token", "ask several questions in one request, or wait"),
    "store": ("the store cannot be read", "try again later; nothing is lost"),
    "busy": ("the server is busy", "try again"),
    "table": ("the private table cannot be read now", "tell its custodian"),
    "internal": ("", ""),
}


@final
@dataclass(frozen=True)
class Operation:
    """One route.

    Attributes:
        method: HTTP method.
        path: Template of the address.
        run: What does it; its docstring describes it.
        route: Who may.
        told: Model of the answer; None where there is no JSON.
        status: Of success.
        problems: Beside those that every such route has.
        content: Types of the answer that are no JSON, as OpenAPI describes them.
        sent: Description of a body that is no JSON.
        in_schema: Whether OpenAPI lists it.
    """

    method: str
    path: str
    run: Callable[..., Any]
    route: type[GatedRoute]
    told: Any = None
    status: int = 200
    problems: Sequence[Kind] = ()
    content: Mapping[str, Any] = field(default_factory=dict)
    sent: Mapping[str, Any] | None = None
    in_schema: bool = True

    def add_to(self, app: FastAPI) -> None:
        """Let an application have this route."""
        app.router.add_api_route(
            self.path,
            self.run,
            methods=[self.method],
            response_model=self.told,
            response_class=JSONResponse if self.told is not None else Response,
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
            content["examples"][kind.code] = {"summary": kind.title, "value": _example(kind)}
        return found

    def _kinds(self) -> list[Kind]:
        kinds = [*self.problems, problems.INVALID, problems.STORE, problems.BUSY, problems.INTERNAL]
        if self.route is not ForAnyone:
            kinds += [problems.MALFORMED, problems.NOT_SIGNED_IN, problems.RATE]
        if self.route is ForCustodians:
            kinds.append(problems.NOT_ALLOWED)
        if "{name}" in self.path:
            kinds.append(problems.NOT_THERE)
        if self.method in ("POST", "PUT"):
            kinds.append(problems.TOO_MUCH)
        return sorted(set(kinds), key=lambda kind: (kind.status, kind.code))

    def _extra(self) -> dict[str, Any]:
        extra: dict[str, Any] = {} if self.route is ForAnyone else {"security": [{SECURITY: []}]}
        if self.sent is not None:
            extra["requestBody"] = dict(self.sent)
        return extra


def _example(kind: Kind) -> dict[str, Any]:
    detail, remedy = _EXAMPLES[kind.code]
    plain = {"type": f"urn:hedgerow:problem:{kind.code}", "title": kind.title, "status": kind.status}
    return plain | {"detail": detail, "remedy": remedy, "code": kind.code}


__all__ = ["SECURITY", "ForAnyone", "ForCustodians", "ForTokens", "Operation"]
