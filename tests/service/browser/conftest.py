"""A browser, a server, and pages that must not complain."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.chromium import chromium
from tests.service.browser.browsing import DOMAIN, KEY, TABLE
from tests.service.serving import Server, serving


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        options = {"variant": "pay-as-you-go", "updates": 30, "threshold": 0.02}
        server.register("survey", TABLE, DOMAIN, title="A survey", budget={"epsilon": 8.0}, options=options)
        to_draw = {"queries": [{"where": "hours < 20 and sex = 'Male'"}]}
        server.call("POST", "datasets/survey/queries", to_draw, token=server.token_of("caroline"))
        yield server


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def open_page(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    """Opens pages; no page may say an error, be stopped by the content policy, or show a dialog of its own."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(token: str = "", address: str = "#/d/survey/ask", **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(8000)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
        if token:
            page.add_init_script(f'sessionStorage.getItem("{KEY}") ?? sessionStorage.setItem("{KEY}", "{token}")')
        page.goto(server.url + address)
        if token:
            page.wait_for_selector("main:not([aria-busy]) h1")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def is_complaint(message: Any) -> bool:
    """Chromium also writes down every refusal of the server, which tests bring about on purpose."""
    refusal = re.match(
        r"Failed to load resource: .* ([45]\d\d|net::ERR_FAILED)|Failed to load resource: net::ERR_FAILED", message.text
    )
    return message.type in ("error", "warning") and not refusal
