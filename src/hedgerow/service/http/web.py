"""The web page: static files of the package, and nothing else, at the server's root.

The files are named one by one, so no path of a request ever reaches the file system. They need no build step and name
no other host: the policy that goes with every response (`guards.SecurityHeaders`) lets a browser load nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

FILES = (
    "index.html",
    "style.css",
    "icon.svg",
    "answers.js",
    "api.js",
    "ask.js",
    "attributes.js",
    "audit.js",
    "bars.js",
    "builder.js",
    "conditions.js",
    "dataset.js",
    "datasets.js",
    "dom.js",
    "draft.js",
    "format.js",
    "gauge.js",
    "heatmap.js",
    "interval.js",
    "ledger.js",
    "main.js",
    "manage.js",
    "paging.js",
    "people.js",
    "picture.js",
    "problems.js",
    "question.js",
    "records.js",
    "register.js",
    "signin.js",
    "source.js",
    "values.js",
)
"""All that is served; the first one also under ``/``."""

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@final
@dataclass(frozen=True)
class PageFile:
    """A file of the page.

    Attributes:
        content: Its bytes.
        media_type: For the header ``Content-Type``.
        etag: Changes with the content.
    """

    content: bytes
    media_type: str
    etag: str


def page_files() -> dict[str, PageFile]:
    """Every file of the page by its name.

    Example:
        >>> page_files()["icon.svg"].media_type
        'image/svg+xml'
    """
    folder = resources.files("hedgerow.service") / "page"
    return {name: _file(name, (folder / name).read_bytes()) for name in FILES}


def mount(app: FastAPI) -> None:
    """Serve the page at the root of an application; call it after all other routes.

    Browsers ask each time whether a file has changed and are told "304" if not, so that a new version of the package is
    seen at once.

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
        for path in ("/", f"/{name}") if name == FILES[0] else (f"/{name}",):
            app.add_api_route(
                path, _served(file), methods=["GET", "HEAD"], include_in_schema=False, name=f"page:{path[1:]}"
            )


def _file(name: str, content: bytes) -> PageFile:
    digest = hashlib.sha256(content).hexdigest()[:32]
    return PageFile(content, _TYPES[PurePosixPath(name).suffix], f'"{digest}"')


def _served(file: PageFile) -> Callable[[Request], Awaitable[Response]]:
    from starlette.requests import Request
    from starlette.responses import Response

    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}

    async def served(request: Request) -> Response:
        if _is_known(request.headers.get("if-none-match", ""), file.etag):
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.media_type, headers=headers)

    served.__annotations__["request"] = Request  # FastAPI asks what it is
    return served


def _is_known(known: str, etag: str) -> bool:
    """Whether a browser has the file already, as its header ``If-None-Match`` says."""
    tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
    return etag in tags or "*" in tags
