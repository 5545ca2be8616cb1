"""Pages for browsers: the web page at the server's root, and the API's description as HTML without a script.

The files of the web page are read when the application is made, so no path of a request ever reaches the file system.
They need no build step and name no other host: the policy that goes with every response (`middleware.SecurityHeaders`)
lets a browser load nothing else.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from hedgerow.service.http.admission import ForAnyone, Operation

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page.

    Attributes:
        content: Bytes of the file.
        media_type: Value of the header ``Content-Type``.
    """

    content: bytes
    media_type: str

    @property
    def etag(self) -> str:
        """Tag that changes with the content."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


def page_files() -> dict[str, PageFile]:
    """Every file of the page by its name.

    Example:
        >>> page_files()["icon.svg"].media_type
        'image/svg+xml'
    """
    folder = resources.files("hedgerow.service") / "page"
    found = sorted(each.name for each in folder.iterdir() if PurePosixPath(each.name).suffix in _TYPES)
    return {name: PageFile((folder / name).read_bytes(), _TYPES[PurePosixPath(name).suffix]) for name in found}


def mount(app: FastAPI) -> None:
    """Serve the page at the root of an application; call it after all other routes.

    Browsers ask each time whether a file has changed and get a 304 if not, so that a new version of the package is seen
    at once.

    Args:
        app: The application.

    Example:
        >>> from fastapi import FastAPI
        >>> app = FastAPI()
        >>> mount(app)
        >>> app.url_path_for("page:style.css")
        '/style.css'
    """
    for name, file in page_files().items():
        for path in ("/", f"/{name}") if name == "index.html" else (f"/{name}",):
            app.add_api_route(
                path, _served(file), methods=["GET", "HEAD"], include_in_schema=False, name=f"page:{path[1:]}"
            )


def _served(file: PageFile) -> Callable[[Request], Awaitable[Response]]:
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}

    async def served(request: Request) -> Response:
        if _is_known(request.headers.get("if-none-match", ""), file.etag):
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.media_type, headers=headers)

    return served


def _is_known(known: str, etag: str) -> bool:
    """Whether a browser has the file already, according to its header ``If-None-Match``."""
    tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
    return etag in tags or "*" in tags


def openapi_json(request: Request) -> JSONResponse:
    """The description of the API."""
    return JSONResponse(request.app.openapi())


def docs_html(request: Request) -> HTMLResponse:
    """The description of the API as HTML."""
    return HTMLResponse(page(request.app.openapi()))


async def docs_css(request: Request) -> Response:
    """Style of the page."""
    return Response((resources.files(__package__) / "docs.css").read_bytes(), media_type="text/css")


def page(schema: Mapping[str, Any]) -> str:
    """An OpenAPI description as HTML.

    Example:
        >>> "<h1>Hedgerow over HTTP</h1>" in page({"info": {"title": "Hedgerow", "description": "..."}, "paths": {}})
        True
    """
    info = schema["info"]
    models = schema.get("components", {}).get("schemas", {})
    parts = [
        _operation(method, path, each, models)
        for path, item in schema["paths"].items()
        for method, each in item.items()
    ]
    title = escape(info["title"])
    return (
        f"{_head(f'{title}: the API', '../', 'docs.css')}"
        f'<header class="top"><div class="bar"><a class="brand" href="../">{title}</a>'
        '<nav aria-label="Formats"><a href="openapi.json">OpenAPI description</a></nav></div></header>'
        f'<main><div class="view"><h1>{title} over HTTP</h1><div class="intro">{_paragraphs(info["description"])}</div>'
        f"{_contents(schema['paths'])}{''.join(parts)}</div></main></body></html>"
    )


def told(title: str, detail: str, remedy: str) -> str:
    """A page of HTML, two levels below the root, that says what is wrong, and what to try.

    Example:
        >>> "<p>&lt;b&gt;</p>" in told("Not signed in", "<b>", "")
        True
    """
    return (
        f"{_head(title, '../../')}"
        '<header class="top"><div class="bar"><a class="brand" href="../../">Hedgerow</a></div></header>'
        f'<main><div class="view"><h1>{escape(title)}</h1><p>{escape(detail)}</p><p>{escape(remedy)}</p>'
        '<p><a class="button" href="../../">Back to the page</a></p></div></main></body></html>'
    )


def _head(title: str, root: str, *styles: str) -> str:
    links = "".join(f'<link rel="stylesheet" href="{style}">' for style in (f"{root}style.css", *styles))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
        f'content="light dark"><link rel="icon" type="image/svg+xml" href="{root}icon.svg">{links}</head><body>'
    )


def _contents(paths: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    lines = [
        f'<li><a href="#{escape(each["operationId"])}"><code>{method.upper()} {escape(path)}</code></a>'
        f"<span>{escape(each.get('description', each.get('summary', '')).partition(chr(10))[0])}</span></li>"
        for path, item in paths.items()
        for method, each in item.items()
    ]
    return f'<nav aria-label="Contents"><ul class="contents">{"".join(lines)}</ul></nav>' if lines else ""


def _operation(method: str, path: str, operation: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    sent = operation.get("requestBody", {}).get("content", {})
    told: Mapping[str, Any] = next(
        (each.get("content", {}) for status, each in operation["responses"].items() if status < "300"), {}
    )
    return (
        f'<section class="operation"><h2 id="{escape(operation["operationId"])}">'
        f"<code>{method.upper()} {escape(path)}</code></h2>"
        f"{_paragraphs(operation.get('description', operation.get('summary', '')))}"
        f"{'' if 'security' in operation else '<p>Needs no token.</p>'}"
        f"{_parameters(operation.get('parameters', ()))}"
        f"{_body('Body', sent, models)}{_answers(operation['responses'])}{_body('Answer', told, models)}</section>"
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
    """Types of a body or an answer, and samples of its models."""
    schemas = [each.get("schema", {}) for each in content.values()]
    named = [models[schema["$ref"].rpartition("/")[2]] for schema in schemas if "$ref" in schema]
    samples = [json.dumps(sample, indent=2) for model in named for sample in model.get("examples", ())]
    if not samples:
        return f"<p>{head}: {escape(', '.join(content))}</p>" if head == "Body" and content else ""
    shown = "".join(f'<pre tabindex="0">{escape(sample)}</pre>' for sample in samples)
    return f"<p>{head}, for example:</p>{shown}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    table = f'<table class="plain-table"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="across" tabindex="0" role="group" aria-label="Table">{table}</div>'


OPERATIONS = (
    Operation("GET", "/v1/openapi.json", openapi_json, ForAnyone, in_schema=False),
    Operation("GET", "/v1/docs", docs_html, ForAnyone, in_schema=False),
    Operation("GET", "/v1/docs.css", docs_css, ForAnyone, in_schema=False),
)
