"""Signing in, asking, and what the page says when something is refused or used up."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.service.browser.browsing import DOMAIN, MARKUP, QUOTES, TABLE, add, ask, sign_in, sql
from tests.service.serving import Server

PROBLEM = json.dumps({"title": "A title", "detail": "what is wrong", "remedy": "what to try", "code": "some"})


@dataclass(frozen=True)
class Refusal:
    """What stands in for the server's answer."""

    status: int
    body: str = PROBLEM
    kind: str = "application/problem+json"
    wait: str = ""


# Signing in


def test_a_wrong_token_is_refused_and_a_right_one_lasts_until_signing_out(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(address="")
    for wrong in ("hgr_0123456789abcdef_" + "x" * 43, "nonsense", "not a token"):
        page.get_by_label("Token", exact=True).fill(wrong)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("token")
        assert page.evaluate("sessionStorage.length") == 0
    sign_in(page, server.token_of("marie", datasets=["survey"]))
    assert page.url.endswith("#/d/survey/ask")  # the only one
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    page.reload()
    expect(page.get_by_role("heading", name="A survey")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token", exact=True)).to_be_focused()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_token_that_is_revoked_ends_the_session_and_what_was_entered_stays(
    server: Server, open_page: Callable[..., Page]
) -> None:
    token = server.token_of("hedy")
    page = open_page(token)
    add(page, "sex").get_by_label("Female").check()
    server.call("DELETE", f"tokens/{token.split('_')[1]}")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_text("You have been signed out")).to_be_visible()
    sign_in(page, server.token_of("hedy", role=None))
    assert page.get_by_label("Female").is_checked()
    assert "\"sex\" = 'Female'" in sql(page)


def test_a_server_that_is_away_for_a_moment_signs_nobody_out(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    page.route("**/v1/me", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached")
    page.unroute("**/v1/me")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="A survey")).to_be_visible()


# Asking


def test_a_question_is_built_and_asked_with_the_keyboard_alone(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.locator("input:focus").wait_for()  # the field is ready for the token
    page.keyboard.type(server.token)
    page.keyboard.press("Enter")
    page.wait_for_selector(".section h2")

    def tab_to(locator: Locator) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if locator.evaluate("element => element === document.activeElement"):
                outline = locator.evaluate("element => getComputedStyle(element).outlineStyle")
                assert outline != "none"  # one sees where one is
                return
        pytest.fail("the keyboard does not reach it")

    tab_to(page.get_by_label("Add a condition on"))
    page.keyboard.type("sex")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("sex: which values")).to_be_focused()
    tab_to(page.get_by_label("Male", exact=True))
    page.keyboard.press("Space")
    assert sql(page) == 'SELECT COUNT(*) FROM "survey" WHERE "sex" = \'Male\''
    page.keyboard.press("Control+Enter")
    answer = page.get_by_role("region", name="Latest answer")
    expect(answer).to_contain_text("95% interval")
    expect(answer.locator("summary")).to_have_text("data")
    expect(page.locator("#live")).to_contain_text("95% interval")
    row = page.locator(".answers tbody tr").first
    expect(row).to_contain_text("sex = 'Male'")
    ask(page)
    expect(answer.locator("summary")).to_have_text("cache")
    expect(answer).to_contain_text("free of charge")
    expect(page.locator(".answers tbody tr")).to_have_count(2)


def test_what_the_page_shows_is_what_the_server_answered(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    part = add(page, "age")
    part.get_by_label("age from").fill("20")
    part.get_by_label("age to").fill("39")
    with page.expect_response(re.compile(r"/queries$")) as caught:
        page.get_by_role("button", name="Ask", exact=True).click()
    told = caught.value.json()
    answer, summary = told["answers"][0], told["dataset"]
    assert answer["where"] == "age between 20 and 39"
    shown = page.get_by_role("region", name="Latest answer")
    expect(shown.locator(".answer-value")).to_have_attribute("title", re.compile(f"^{answer['value']:g}"))
    expect(shown.locator(".interval-text")).to_contain_text(f"{answer['low']:,.0f} to {answer['high']:,.0f}")
    band, scale = shown.locator(".band"), max(answer["high"], summary["total"])
    assert float(band.get_attribute("x")[:-1]) == pytest.approx(2 + 96 * answer["low"] / scale, abs=0.01)
    meter = page.get_by_role("meter", name="Privacy budget")
    assert float(meter.get_attribute("aria-valuenow")) == summary["spent"]
    assert f"{summary['updates_left']} of {summary['updates']}" in page.locator(".facts").inner_text()


def test_every_kind_of_condition_reads_back_as_it_was_meant(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    age = add(page, "age")
    age.get_by_label("age from").fill("20")
    assert '"age" >= 20' in sql(page)
    age.get_by_label("is missing").check()
    hours = add(page, "hours")
    for label in ("[0, 20)", "[40, 80]", "other"):
        hours.get_by_label(label).check()
    city = add(page, "city, town")
    city.get_by_label("which values").select_option("not")
    for label in (QUOTES, MARKUP):
        city.get_by_label(label).check()
    with page.expect_response(re.compile(r"/queries$")) as caught:
        page.keyboard.press("Control+Enter")
    told = caught.value.json()["answers"][0]["where"]
    assert "(age between 20 and 99 or age = '?')" in told
    assert "hours in ('[0, 20)', '[40, 80]', 'other')" in told
    assert "\"city, town\" in ('Zürich', 'a & b')" in told
    assert page.locator("main img").count() == 0  # markup in a value is text


def test_a_range_that_cannot_be_asked_is_said_before_it_is_sent(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    part = add(page, "age")
    part.get_by_label("age from").fill("40")
    part.get_by_label("age to").fill("20")
    expect(part).to_contain_text("The first number is above the second.")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("age: The first number is above the second.")
    assert sent == []


def test_text_written_by_hand_is_asked_as_it_stands_and_kept_when_it_is_refused(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(server.token)
    add(page, "sex").get_by_label("Female").check()
    area = page.get_by_label("Question as SQL")
    wrong = "SELECT COUNT(*) FROM survey WHERE aeg > 3"
    area.fill(wrong)
    expect(page.get_by_text("Edited by hand:")).to_be_visible()
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("There is no attribute 'aeg'")
    expect(page.get_by_role("alert")).to_contain_text("Did you mean 'age'?")
    assert area.input_value() == wrong
    area.fill("SELECT COUNT(*) FROM survey WHERE age > 30 or sex = 'Male'")
    expect(ask(page)).to_contain_text("age > 30 or sex = 'Male'")
    assert page.get_by_role("alert").count() == 0
    page.get_by_role("button", name="Go back to the builder").click()
    assert sql(page) == 'SELECT COUNT(*) FROM "survey" WHERE "sex" = \'Female\''


def test_a_lost_connection_asks_again_under_the_same_key(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    keys: list[str] = []

    def lossy(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:  # the server heard it, and its answer is lost
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/queries", lossy)
    page.get_by_label("Question as SQL").fill("SELECT COUNT(*) FROM survey WHERE age < 7")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("region", name="Latest answer")).to_contain_text("age between 0 and 6")
    assert len(keys) == 2
    assert len(set(keys)) == 1
    given = server.call("GET", "datasets/survey/answers?limit=1000")["answers"]
    assert len([each for each in given if each["where"] == "age between 0 and 6"]) == 1
    ask(page)
    assert len(set(keys)) == 2  # what is asked anew has a key of its own


def test_keys_are_made_where_there_is_no_secure_context(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page()
    found = page.evaluate(
        """async () => {
            const { freshKey } = await import("./api.js");
            const first = freshKey();
            crypto.randomUUID = undefined;
            return [first, freshKey(), freshKey()];
        }"""
    )
    assert len(set(found)) == 3
    assert re.fullmatch(r"[0-9a-f-]{36}", found[0])
    assert re.fullmatch(r"[0-9a-f]{32}", found[1])


# What is used up


def test_when_the_budget_has_run_out_the_page_says_what_that_means(
    server: Server, open_page: Callable[..., Page]
) -> None:
    options = {"updates": 1, "threshold": 0.05}
    server.register("small", TABLE, DOMAIN, title="A small budget", budget={"epsilon": 3.0}, options=options)
    page = open_page(server.token_of("grace", datasets=["small"]), "")
    area = page.get_by_label("Question as SQL")
    expect(page.locator(".used-up")).to_be_empty()
    area.fill("SELECT COUNT(*) FROM small WHERE sex = 'Male'")
    expect(ask(page)).to_contain_text("95% interval")
    panel = page.locator(".used-up")
    for words in ("not looked at any more", "The corrections are used up", "hypothesis alone", "ask your custodian"):
        expect(panel).to_contain_text(words)
    area.fill("SELECT COUNT(*) FROM small WHERE age < 50")
    answer = ask(page)
    expect(answer).to_contain_text("no interval")
    expect(answer.locator("summary")).to_have_text("hypothesis only")
    expect(panel).to_be_visible()
    expect(page.get_by_role("meter", name="Privacy budget")).to_have_attribute(
        "aria-valuetext", re.compile("3 of 3 epsilon")
    )
    area.fill("SELECT COUNT(*) FROM small WHERE sex = 'Male'")
    expect(ask(page)).to_contain_text("95% interval")  # paid answers stay


def test_limits_of_an_analyst_are_shown_and_explained(server: Server, open_page: Callable[..., Page]) -> None:
    token = server.token_of("rosa", datasets=["survey"])
    server.call("PUT", "datasets/survey/grants/rosa", {"queries": 2, "budget": 0.0})
    page = open_page(token)
    expect(page.get_by_role("meter", name="Your questions")).to_have_attribute("aria-valuetext", re.compile("0 of 2"))
    area = page.get_by_label("Question as SQL")
    area.fill("SELECT COUNT(*) FROM survey WHERE age = 11")
    expect(ask(page)).to_contain_text("no interval")
    expect(page.locator(".used-up")).to_contain_text("Your share of the budget is too small for an answer")
    expect(page.locator(".sql-form")).not_to_contain_text("costs")
    ask(page)
    expect(page.locator(".used-up")).to_contain_text("You have asked all of your 2 questions")
    area.fill("SELECT COUNT(*) FROM survey WHERE age = 12")
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("Not allowed")
    assert area.input_value().endswith("age = 12")


def test_refusals_of_every_kind_are_shown_and_nothing_is_lost(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    keys: list[str] = []
    refusal = Refusal(0)

    def refused(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        headers = {"Retry-After": refusal.wait} if refusal.wait else {}
        route.fulfill(status=refusal.status, headers=headers, body=refusal.body, content_type=refusal.kind)

    page.route("**/queries", refused)
    text = "SELECT COUNT(*) FROM survey WHERE age = 77"
    page.get_by_label("Question as SQL").fill(text)
    for refusal in (
        Refusal(429, wait="7"),
        Refusal(503, wait="2"),
        Refusal(500),
        Refusal(502, "<h1>Bad</h1>", "text/html"),
    ):
        ask(page)
        said = page.get_by_role("alert")
        expect(said).to_contain_text("What is wrong." if refusal.body == PROBLEM else "The server answered 502.")
        expect(said).to_contain_text(f"You can try again in {refusal.wait} s." if refusal.wait else "")
        assert page.get_by_label("Question as SQL").input_value() == text
    assert len(keys) == 4
    assert len(set(keys)) == 1  # any of them may have been heard


def test_a_statement_is_answered_with_a_table_of_groups(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    statement = "SELECT sex, COUNT(*), AVG(age) FROM survey GROUP BY sex"
    page.get_by_label("Question as SQL").fill(statement)
    page.get_by_role("button", name="Ask", exact=True).click()
    latest = page.get_by_label("Latest answer")
    expect(latest.get_by_role("columnheader", name="AVG(age)")).to_be_visible()
    expect(latest.get_by_role("row")).to_have_count(3)
    expect(latest).to_contain_text("95% intervals")
    expect(latest).to_contain_text("The intervals hold the number of the private table")
    page.get_by_label("Question as SQL").fill("SELECT MAX(age), AVG(age) FROM survey")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("QUANTILE(x, 0.99) is supported")
