from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

import pytest
from fastapi import FastAPI

from hedgerow.service.http.middleware import SecurityHeaders
from hedgerow.service.http.web import mount, page_files
from tests.service.asgi import Client, client_of

FILES = sorted(page_files())
SCRIPTS = [name for name in FILES if name.endswith(".js")]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    app = FastAPI(openapi_url=None)
    mount(app)
    app.add_middleware(SecurityHeaders)
    with client_of(app) as client:
        yield client


def text_of(name: str) -> str:
    return page_files()[name].content.decode()


def test_every_file_of_the_folder_is_served_and_no_other() -> None:
    folder = resources.files("hedgerow.service") / "page"
    assert sorted(FILES) == sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("name", FILES)
def test_files_come_whole_with_their_type_and_are_known_again(client: Client, name: str) -> None:
    types = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    reply = client.get(f"/{name}")
    assert reply.status_code == 200
    assert reply.content == page_files()[name].content
    assert reply.headers["content-type"].split(";")[0] == types[name.rsplit(".", 1)[1]]
    assert reply.headers["cache-control"] == "no-cache"
    again = client.get(f"/{name}", headers={"If-None-Match": f'W/{reply.headers["etag"]}, "other"'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == reply.headers["etag"]
    assert client.get(f"/{name}", headers={"If-None-Match": '"other"'}).status_code == 200


def test_the_root_is_the_page(client: Client) -> None:
    assert client.get("/").content == client.get("/index.html").content


@pytest.mark.parametrize("path", ["/", "/main.js"])
def test_head_says_what_get_would_give(client: Client, path: str) -> None:
    asked, got = client.request("HEAD", path), client.get(path)
    assert asked.status_code == 200
    assert asked.content == b""
    assert {name: asked.headers[name] for name in ("etag", "content-type", "content-length")} == {
        name: got.headers[name] for name in ("etag", "content-type", "content-length")
    }


@pytest.mark.parametrize(
    "path", ["/web.py", "/page/main.js", "/../web.py", "/%2e%2e/web.py", "/..%2fweb.py", "/main.js/"]
)
def test_nothing_else_is_served(client: Client, path: str) -> None:
    reply = client.get(path)
    assert reply.status_code in (307, 404)
    assert "import" not in reply.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_files_are_read_only(client: Client, method: str) -> None:
    assert client.request(method, "/main.js").status_code == 405


def test_the_policy_lets_a_browser_load_these_files_only(client: Client) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_the_page_has_no_script_or_style_inside() -> None:
    html = text_of("index.html")
    assert re.findall(r"<script\b[^>]*>", html) == ['<script type="module" src="main.js">']
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html)


@pytest.mark.parametrize("name", FILES)
def test_no_other_host_is_named(name: str) -> None:
    hosts = set(re.findall(r"[\w-]+://[^\s\"'`)]*", text_of(name)))
    assert all(host.startswith(("http://www.w3.org/2000/svg", "postgresql://host/", "duckdb:///")) for host in hosts), (
        hosts
    )
    assert not re.search(r"@import|url\(", text_of(name))


@pytest.mark.parametrize("name", SCRIPTS)
def test_data_are_never_read_as_markup_or_code(name: str) -> None:
    forbidden = r"(inner|outer|insertAdjacent)HTML|document\.write|\beval\(|new Function|ContextualFragment|DOMParser"
    assert not re.search(forbidden, text_of(name))


@pytest.mark.parametrize("name", SCRIPTS)
def test_imports_are_served_and_exist(name: str) -> None:
    for names, module in re.findall(r"import (?:\{([^}]*)\}|\* as \w+) from \"\./([^\"]+)\"", text_of(name)):
        assert module in FILES
        for each in filter(None, (part.strip() for part in names.split(","))):
            assert re.search(rf"export (?:async )?(?:function|const|class) {each}\b", text_of(module)), each


def test_every_script_is_used() -> None:
    used = {module for name in SCRIPTS for module in re.findall(r"from \"\./([^\"]+)\"", text_of(name))}
    assert used | {"main.js"} == set(SCRIPTS)


def test_scripts_are_asked_for_all_at_once() -> None:
    loaded = re.findall(r'<link rel="modulepreload" href="([^"]+)">', text_of("index.html"))
    assert loaded == sorted({*SCRIPTS} - {"main.js"})
