"""The pages about the API: its OpenAPI description, and the same as HTML without a script."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from hedgerow.service.http.operations import ForAnyone, Operation

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-top: 1px solid #8888; padding-top: 1rem; font-size: 1.1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid #8888; border-radius: 0.4rem; }
table { border-collapse: collapse; width: 100%; }
nav ul { list-style: none; padding: 0; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; }
"""


def openapi_json(request: Request) -> JSONResponse:
    """The description of the API."""
    return JSONResponse(request.app.openapi())


def docs_html(request: Request) -> HTMLResponse:
    """The description of the API, to read."""
    return HTMLResponse(page(request.app.openapi()))


async def docs_css(request: Request) -> Response:
    """How it looks."""
    return Response(STYLE, media_type="text/css")


def page(schema: Mapping[str, Any]) -> str:
    """An OpenAPI description as HTML.

    Example:
        >>> "<h1>Hedgerow</h1>" in page({"info": {"title": "Hedgerow", "description": "..."}, "paths": {}})
        True
    """
    info = schema["info"]
    models = schema.get("components", {}).get("schemas", {})
    parts = [
        _operation(method, path, each, models)
        for path, item in schema["paths"].items()
        for method, each in item.items()
    ]
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/v1/docs.css"></head><body>'
        f"<h1>{escape(info['title'])}</h1>{_paragraphs(info['description'])}"
        '<p><a href="/v1/openapi.json">OpenAPI description</a></p>'
        f"{_contents(schema['paths'])}{''.join(parts)}</body></html>"
    )


def _contents(paths: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    lines = [
        f'<li><a href="#{escape(each["operationId"])}"><code>{method.upper()} {escape(path)}</code></a> '
        f"{escape(each.get('description', each.get('summary', '')).partition(chr(10))[0])}</li>"
        for path, item in paths.items()
        for method, each in item.items()
    ]
    return f"<nav><ul>{''.join(lines)}</ul></nav>" if lines else ""


def _operation(method: str, path: str, operation: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    sent = operation.get("requestBody", {}).get("content", {})
    told: Mapping[str, Any] = next(
        (each.get("content", {}) for status, each in operation["responses"].items() if status < "300"), {}
    )
    return (
        f'<h2 id="{escape(operation["operationId"])}"><code>{method.upper()} {escape(path)}</code></h2>'
        f"{_paragraphs(operation.get('description', operation.get('summary', '')))}"
        f"{'' if 'security' in operation else '<p>Needs no token.</p>'}"
        f"{_parameters(operation.get('parameters', ()))}"
        f"{_body('Body', sent, models)}{_answers(operation['responses'])}{_body('Answer', told, models)}"
    )


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part)


def _parameters(parameters: Iterable[Mapping[str, Any]]) -> str:
    rows = [(each["name"], each["in"], each.get("description", "")) for each in parameters]
    return _table(("Parameter", "Where", ""), rows) if rows else ""


def _answers(responses: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [(status, ", ".join(each.get("content", {})), _meanings(each)) for status, each in sorted(responses.items())]
    return _table(("Status", "Type", ""), rows)


def _meanings(response: Mapping[str, Any]) -> str:
    examples = [example for content in response.get("content", {}).values() for example in content.get("examples", {})]
    return f"{response['description']}{' (' + ', '.join(examples) + ')' if examples else ''}"


def _body(head: str, content: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """What is sent or answered: its types, and samples of the models."""
    schemas = [each.get("schema", {}) for each in content.values()]
    named = [models[schema["$ref"].rpartition("/")[2]] for schema in schemas if "$ref" in schema]
    samples = [json.dumps(sample, indent=2) for model in named for sample in model.get("examples", ())]
    if not samples:
        return f"<p>{head}: {escape(', '.join(content))}</p>" if head == "Body" and content else ""
    return f"<p>{head}, for example:</p>{''.join(f'<pre>{escape(sample)}</pre>' for sample in samples)}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>{body}</table>"


OPERATIONS = (
    Operation("GET", "/v1/openapi.json", openapi_json, ForAnyone, in_schema=False),
    Operation("GET", "/v1/docs", docs_html, ForAnyone, in_schema=False),
    Operation("GET", "/v1/docs.css", docs_css, ForAnyone, in_schema=False),
)
