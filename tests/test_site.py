"""The site as it is built: it opens from a folder, is searched there, fits a telephone, and asks no other machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chromium import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def opened(browser: Browser, width: int) -> tuple[Page, list[str]]:
    """A page, and the list of what it complains about or asks other machines for."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.set_default_timeout(20_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(asked.url))
    return page, wrong


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("weights and designs", "guide/weights.html"),
        ("target-interval", "reference/cli.html"),
        ("Idempotency-Key", "reference/http.html"),
    ],
)
def test_pages_are_found_in_a_folder(browser: Browser, site: Path, words: str, found: str) -> None:
    page, wrong = opened(browser, 1280)
    page.goto((site / "index.html").as_uri())
    page.locator(".md-search__input").click()
    page.keyboard.type(words)
    page.locator(f".md-search-result__list a[href*='{found}']").first.wait_for()
    page.close()
    assert wrong == []


def test_every_page_fits_a_telephone(browser: Browser, site: Path) -> None:
    page, wrong = opened(browser, 400)
    pages = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    widths = {}
    for path in pages:
        page.goto(path.as_uri())
        widths[path.relative_to(site).as_posix()] = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert len(pages) > 40
    assert {name: width for name, width in widths.items() if width > 400} == {}
    assert wrong == []
