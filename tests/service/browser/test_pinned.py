"""The dashboard: statements that are pinned, and shown anew without a charge."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.service.browser.browsing import MARKUP, go
from tests.service.serving import Server

STATEMENT = "SELECT sex, COUNT(*) FROM survey WHERE age < 45 GROUP BY sex"
NEVER = f"SELECT COUNT(*) FROM survey WHERE \"city, town\" = '{MARKUP}' AND age > 57"


def test_a_statement_is_pinned_below_its_answer_and_shown_anew_for_nothing(
    server: Server, open_page: Callable[..., Page]
) -> None:
    token = server.token_of("pins-sophie")
    page = open_page(token)
    page.get_by_label("Question as SQL").fill(STATEMENT)
    page.get_by_role("button", name="Ask", exact=True).click()
    pin = page.get_by_role("button", name="Pin to the dashboard")
    pin.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Pinned to the dashboard")).to_have_attribute("aria-pressed", "true")
    value = page.locator(".latest td").nth(1).inner_text()
    assert server.call("GET", "datasets/survey/pins", token=token) == {"statements": [STATEMENT]}
    server.call("PUT", "datasets/survey/pins", {"statements": [STATEMENT, NEVER]}, token=token)
    before = server.call("GET", "datasets/survey", token=token)["mine"]["asked"]
    go(page, server, "#/d/survey/pinned")
    answered = page.get_by_role("region", name=f"Answer of {STATEMENT}")
    expect(answered.locator("td").nth(1)).to_have_text(value)
    expect(answered).to_contain_text("free of charge")
    never = page.locator("article").filter(has_text="age > 57")
    expect(never).to_contain_text("was never asked of the data")
    expect(page.locator(".pinned img")).to_have_count(0)
    page.reload()
    expect(answered.locator("td").nth(1)).to_have_text(value)
    assert server.call("GET", "datasets/survey", token=token)["mine"]["asked"] == before
    never.get_by_role("button", name="Ask the data").click()
    expect(page.get_by_label("Question as SQL")).to_have_value(NEVER)
    go(page, server, "#/d/survey/pinned")
    page.get_by_role("button", name=re.compile("Take down SELECT sex")).click()
    expect(page.locator("article")).to_have_count(1)
    page.reload()  # it is on the server
    expect(page.locator("article")).to_have_count(1)


def test_pins_are_of_one_person_and_one_that_is_no_statement_says_so(
    server: Server, open_page: Callable[..., Page]
) -> None:
    token = server.token_of("pins-marie")
    page = open_page(token, "#/d/survey/pinned")
    expect(page.locator(".section")).to_contain_text("Nothing is pinned yet")
    server.call("PUT", "datasets/survey/pins", {"statements": ["SELECT nonsense"]}, token=token)
    page.reload()
    expect(page.locator("article [role=alert], article .notice").first).to_be_visible()


def test_on_a_phone_an_interval_that_says_little_stays_apart_from_its_answer_and_within_the_window(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(server.token_of("pins-ida"), viewport={"width": 360, "height": 800})
    page.get_by_label("Question as SQL").fill(
        "SELECT sex, AVG(age) FROM survey WHERE hours >= 40 AND age < 45 GROUP BY sex"
    )
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".useless").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    gap = page.evaluate(
        """() => {
            const answer = document.querySelector(".useless");
            const range = document.createRange();
            range.selectNodeContents(answer.firstChild);
            const interval = answer.querySelector(".interval-small").getBoundingClientRect();
            return interval.left - range.getBoundingClientRect().right;
        }"""
    )
    assert gap >= 4
