"""How the page looks: narrow, light and dark, and without a mouse."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.service.browser.browsing import EVERYWHERE, MARKUP, PHONE, add, ask, go
from tests.service.serving import Server


def test_a_phone_shows_every_section_named_and_without_scrolling_sideways(
    server: Server, open_page: Callable[..., Page]
) -> None:
    server.call("POST", "datasets/survey/queries", {"queries": [{"where": f"\"city, town\" = '{MARKUP}' and age > 9"}]})
    page = open_page(server.token, viewport=PHONE)
    for address in EVERYWHERE:
        go(page, server, address)
        if address.endswith("picture"):
            page.get_by_label("Across").select_option("city, town")
            page.get_by_text("Show as a table").click()
        if address.endswith("ask"):
            add(page, "age")
            add(page, "city, town")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], address
        assert page.locator("h1").count() == 1
        assert page.evaluate(NAMELESS) == [], address
    for title in (
        "Ask",
        "Answers",
        "Attributes",
        "Picture",
        "Records",
        "Budget",
        "Ledger",
        "Manage",
        "People & tokens",
        "Audit",
    ):
        page.get_by_role("link", name=title, exact=True).first.click()
        expect(page.get_by_role("link", name=title, exact=True).first).to_have_attribute("aria-current", "page")


def test_the_keyboard_skips_to_the_content(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


NAMELESS = """() => [...document.querySelectorAll("input, select, textarea, button")]
    .filter((each) => each.checkVisibility() && !(each.labels?.length || each.ariaLabel || each.textContent.trim()))
    .map((each) => each.outerHTML)"""

CONTRASTS = """() => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => [r, g, b].map((c) => linear(c / 255))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const colour = numbers(getComputedStyle(each).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const texts = [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility()
        && !element.closest(".unseen, .skip, option")
        && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
    return texts.map((element) => {
        const style = getComputedStyle(element);
        const ink = numbers(element instanceof SVGElement ? style.fill : style.color);
        const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
        return [(a + 0.05) / (b + 0.05), `${element.tagName}.${element.getAttribute("class")}: ${element.textContent}`];
    });
}"""


def test_text_is_legible_in_both_schemes(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    seen = 0
    for address in EVERYWHERE:
        go(page, server, address)
        if address.endswith("ask"):
            page.get_by_label("Question as SQL").fill("nonsense")
            ask(page)
            add(page, "sex")
        for scheme, least, most in (("light", 230, 255), ("dark", 0, 40)):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = page.evaluate(CONTRASTS)
            seen += len(found)
            assert [entry for entry in found if entry[0] < 4.5] == [], (address, scheme)
            ground = re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert least <= min(map(int, ground[:3])) <= max(map(int, ground[:3])) <= most
    assert seen > 400


@pytest.mark.parametrize("width", [360, 768, 900, 1280])
def test_no_section_is_wider_than_the_window(server: Server, open_page: Callable[..., Page], width: int) -> None:
    long = "hours < 20 and age between 11 and 17 or age between 31 and 47 and sex = 'Female'"
    ada = server.token_of(f"augusta-ada-king-countess-of-lovelace-{width}")
    server.call("POST", "datasets/survey/queries", {"queries": [{"where": long}]}, token=ada)
    page = open_page(server.token, viewport={"width": width, "height": 800})
    for address in EVERYWHERE:
        go(page, server, address)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_a_phone_begins_with_the_task(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token_of("maryam"), viewport={"width": 360, "height": 640})
    expect(page.get_by_role("heading", name="What do you want to know?")).to_be_in_viewport()
    expect(page.locator(".facts")).not_to_be_visible()
    page.get_by_text("of the budget spent").click()
    expect(page.locator(".facts")).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator(".numbers summary")).not_to_be_visible()
    expect(page.get_by_label("Show", exact=True)).to_be_in_viewport()
    expect(page.get_by_label("Question as SQL")).to_be_in_viewport()


def test_the_servers_own_words_are_explained_where_they_stand(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token_of("emilie"))
    expect(page.locator(".first-use dd").last).to_be_visible()  # for those who have not asked yet
    for word, meaning in (("hypothesis", "public model"), ("threshold", "So far off"), ("correction", "noisy count")):
        page.get_by_role("button", name=word, exact=True).click()
        expect(page.locator(".explained:popover-open")).to_contain_text(meaning)
        page.keyboard.press("Escape")
        expect(page.locator(".explained:popover-open")).to_have_count(0)
    page.get_by_label("Question as SQL").fill("SELECT COUNT(*) FROM survey WHERE age = 90 and hours < 20")
    ask(page)
    page.reload()
    expect(page.locator(".first-use")).not_to_have_attribute("open", "")


def test_a_hypothesis_that_has_learnt_nothing_is_not_drawn(server: Server, open_page: Callable[..., Page]) -> None:
    options = {"updates": 3, "threshold": 0.05}
    server.register("untouched", "a\n" + "x\nx\ny\n" * 500, {"a": ["x", "y"]}, budget={"epsilon": 8.0}, options=options)
    page = open_page(server.token, "#/d/untouched/picture")
    for section in ("Picture", "Records"):
        page.get_by_role("link", name=section, exact=True).click()
        expect(page.locator(".section")).to_contain_text("Nothing learnt yet")
        assert page.locator("svg.chart, .section form").count() == 0
    page.get_by_role("link", name="Ask a question").click()
    page.get_by_label("Question as SQL").fill("SELECT COUNT(*) FROM untouched WHERE a = 'x'")
    ask(page)
    page.get_by_role("link", name="Picture", exact=True).click()
    expect(page.locator("svg.chart")).to_be_visible()
    page.get_by_role("link", name="Records", exact=True).click()
    expect(page.get_by_role("button", name="Download")).to_be_visible()


def test_the_page_about_the_api_looks_like_the_others_and_fits(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page("", "v1/docs", viewport={"width": 360, "height": 640})
    for width in (360, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert [each for each in page.evaluate(CONTRASTS) if each[0] < 4.5] == []
    page.get_by_role("link", name="Hedgerow", exact=True).click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
