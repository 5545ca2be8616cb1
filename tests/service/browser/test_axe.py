"""Every view by axe-core: names, roles, states, headings, landmarks, contrast, for those who see little or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.service.browser.browsing import EVERYWHERE, add, go
from tests.service.serving import Server

STATEMENT = "SELECT sex, COUNT(*), AVG(age) FROM survey GROUP BY sex"


def faults(page: Page) -> list[tuple[str, Any]]:
    """What axe finds: the rule, and the elements."""
    found = Axe().run(page).response["violations"]
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_in_any_view(server: Server, open_page: Callable[..., Page], width: int, scheme: str) -> None:
    page = open_page("", viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    expect(page.get_by_label("Token", exact=True)).to_be_visible()
    assert faults(page) == []
    page = open_page(
        server.token, viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    for address in EVERYWHERE:
        go(page, server, address)
        page.wait_for_load_state("networkidle")
        if address.endswith("ask"):
            add(page, "age")
            page.get_by_label("Question as SQL").fill(STATEMENT)
            page.get_by_role("button", name="Ask", exact=True).click()
            expect(page.locator(".latest table")).to_be_visible()
        assert faults(page) == [], address


def test_axe_would_find_a_button_without_a_name(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert [rule for rule, _ in faults(page)] == ["button-name"]
