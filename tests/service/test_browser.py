"""The web page in a real browser, against the real server."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect, sync_playwright

from tests.service.serving import Server, serving

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium on this machine")

MARKUP = "<img src=x onerror=alert(1)>"
QUOTES = 'O\'Hara "x" --'
DOMAIN = {
    "sex": ["Female", "Male"],
    "age": {"min": 0, "max": 99, "missing": "?"},
    "city, town": ["Zürich", QUOTES, MARKUP, "a & b"],
    "hours": {"edges": [0, 20, 40, 80], "other": True},
}
TABLE = 'sex,age,"city, town",hours\n' + "".join(
    f"{'Male' if i % 3 else 'Female'},{'' if i % 50 == 0 else i % 60},{'Zürich' if i % 2 else MARKUP},{i % 79}\n"
    for i in range(2000)
)
KEY = "hedgerow-token"
PHONE = {"width": 375, "height": 700}
PROBLEM = json.dumps({"title": "A title", "detail": "what is wrong", "remedy": "what to try", "code": "some"})
SECTIONS = ("ask", "answers", "attributes", "picture", "records", "ledger", "manage")
EVERYWHERE = ("#/", "#/people", "#/register", "#/audit", *(f"#/d/survey/{section}" for section in SECTIONS))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        options = {"variant": "pay-as-you-go", "updates": 30, "threshold": 0.02}
        server.register("survey", TABLE, DOMAIN, title="A survey", budget={"epsilon": 8.0}, options=options)
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


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


@dataclass(frozen=True)
class Refusal:
    """What stands in for the server's answer."""

    status: int
    body: str = PROBLEM
    kind: str = "application/problem+json"
    wait: str = ""


def is_complaint(message: Any) -> bool:
    """Chromium also writes down every refusal of the server, which tests bring about on purpose."""
    refusal = re.match(
        r"Failed to load resource: .* ([45]\d\d|net::ERR_FAILED)|Failed to load resource: net::ERR_FAILED", message.text
    )
    return message.type in ("error", "warning") and not refusal


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.wait_for_selector("main:not([aria-busy]) .view h1")


def go(page: Page, server: Server, address: str) -> None:
    page.goto(f"{server.url}{address}")
    page.wait_for_selector(f"body:has(main:not([aria-busy])) [aria-current][href='{address}']")


def add(page: Page, attribute: str) -> Locator:
    page.get_by_label("Add a condition on").select_option(attribute)
    page.get_by_role("button", name="Add", exact=True).click()
    return page.get_by_role("group", name=attribute).first


def ask(page: Page) -> Locator:
    with page.expect_response(re.compile(r"/queries$")):
        page.get_by_role("button", name="Ask", exact=True).click()
    return page.get_by_role("region", name="Latest answer")


def sql(page: Page) -> str:
    return " ".join(page.get_by_label("Question as SQL").input_value().split())


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


# Asking


def test_a_question_is_built_and_asked_with_the_keyboard_alone(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page()
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
    assert page.locator(".answers tbody tr").count() == 2


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
    expect(page.locator(".used-up")).to_contain_text("Your share of the budget is used up")
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


# Answers, attributes, picture, records


def test_all_answers_come_as_a_file(server: Server, open_page: Callable[..., Page]) -> None:
    token = server.token_of("lise", datasets=["survey"])
    conditions = [f"age = {i}" for i in range(60)] + [f"\"city, town\" = '{MARKUP}'", "age > 20 or sex = 'Male'"]
    asked = [{"where": each} for each in conditions * 2]
    server.call("POST", "datasets/survey/queries", {"queries": asked}, token)
    page = open_page(token)
    go(page, server, "#/d/survey/answers")
    assert page.locator(".answers tbody tr").count() == 100
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".answers tbody tr")).to_have_count(124)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download all as CSV").click()
    assert download.value.suggested_filename == "survey-answers.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"), newline="")))
    told = server.call("GET", "datasets/survey/answers?limit=1000", token=token)["answers"]
    assert [(row["condition"], float(row["answer"]), row["source"]) for row in rows] == [
        (each["where"], each["value"], each["source"]) for each in told
    ]


def test_attributes_are_shown_and_found(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    page.get_by_role("link", name="Attributes").click()
    expect(page.get_by_text("pure differential privacy with epsilon = 8")).to_be_visible()
    for label in ("Zürich", QUOTES, MARKUP, "a & b", "[20, 40)", "whole number from 0 to 99"):
        expect(page.locator(".attributes").get_by_text(label, exact=True)).to_be_visible()


def test_values_of_a_long_list_are_searched(server: Server, open_page: Callable[..., Page]) -> None:
    values = [f"value {i}" for i in range(40)]
    server.register("long", "a,b\n" + "value 1,x\n" * 30, {"a": values, "b": ["x", "y"]})
    page = open_page(server.token_of("mary", datasets=["long"]), "")
    part = add(page, "a")
    part.get_by_label("Search the values of a").fill("3")
    part.get_by_role("button", name="All").click()
    part.get_by_label("Search the values of a").fill("")
    chosen = [value for value in values if "3" in value]
    assert part.get_by_role("checkbox", checked=True).count() == len(chosen)
    assert f'"a" IN ({", ".join(repr(value) for value in chosen)})' in sql(page)
    part.get_by_role("button", name="None").click()
    part.get_by_label("value 5", exact=True).click()
    part.get_by_label("value 8", exact=True).click(modifiers=["Shift"])
    assert "\"a\" IN ('value 5', 'value 6', 'value 7', 'value 8')" in sql(page)


def test_pictures_show_the_marginals_of_the_hypothesis(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    page.get_by_role("link", name="Picture").click()

    def drawn(mark: str) -> list[float]:
        return [float(text) for text in page.locator(mark).evaluate_all("marks => marks.map(m => m.dataset.count)")]

    for names, mark in ((["sex"], ".bar-mark"), (["age"], ".bar-mark"), (["age", "sex"], ".heat")):
        page.get_by_label("Attribute", exact=True).select_option(names[0])
        page.get_by_label("Across").select_option(names[1] if len(names) > 1 else "")
        told = server.call("GET", f"datasets/survey/marginals?attributes={','.join(names)}")
        counts = [x for row in told["counts"] for x in (row if isinstance(row, list) else [row])]
        expect(page.locator(mark)).to_have_count(len(counts))
        assert drawn(mark) == counts
    heights = page.locator(".heat").evaluate_all("marks => marks.map(m => Number(m.getAttribute('fill-opacity')))")
    assert heights == pytest.approx([0.05 + 0.95 * count / max(counts) for count in counts], abs=0.001)
    page.get_by_text("Show as a table").click()
    assert page.locator(".plain-table tbody tr").count() == 101
    page.get_by_label("Across").select_option("")
    page.get_by_label("Attribute", exact=True).select_option("city, town")
    expect(page.locator(".chart title").nth(2)).to_have_text(re.compile(re.escape(MARKUP)))


def test_records_are_downloaded(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    page.get_by_role("link", name="Records").click()
    page.get_by_label("Number of records").fill("137")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "survey-synthetic.csv"
    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"), newline="")))
    assert rows[0] == list(DOMAIN)
    assert len(rows) == 138
    page.get_by_label("Number of records").fill("0")
    page.get_by_role("button", name="Download").click()
    expect(page.get_by_role("alert")).to_contain_text("1 to 1,000,000")


# Custodians


def test_a_custodian_adds_a_person_makes_a_token_and_revokes_it(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    page.get_by_role("link", name="People & tokens").click()
    page.get_by_label("Name", exact=True).fill("emmy")
    page.get_by_role("button", name="Add person").click()
    expect(page.get_by_role("table", name="People")).to_contain_text("emmy")
    page.get_by_label("Person", exact=True).select_option("emmy")
    page.get_by_label("all data sets").uncheck()
    page.get_by_label("A survey", exact=True).check()
    page.get_by_role("button", name="Make token").click()
    token = page.get_by_label("Token of emmy").input_value()
    expect(page.get_by_text("It is shown this once")).to_be_visible()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    theirs = open_page(token)
    expect(theirs.get_by_text("emmy, analyst")).to_be_visible()
    assert theirs.get_by_role("link", name="Ledger").count() == 0
    page.get_by_role("button", name=f"Revoke the token {token.split('_')[1]} of emmy").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("table", name="Tokens")).to_contain_text("revoked")
    theirs.get_by_role("button", name="Ask", exact=True).click()
    expect(theirs.get_by_text("You have been signed out")).to_be_visible()
    page.reload()
    page.wait_for_selector("table")
    assert token not in page.content()


def test_the_ledger_shows_every_event_and_their_sum(server: Server, open_page: Callable[..., Page]) -> None:
    server.call("POST", "datasets/survey/queries", {"queries": [{"where": "age between 3 and 9"}]})
    page = open_page(server.token)
    go(page, server, "#/d/survey/ledger")
    told = server.call("GET", "datasets/survey/ledger?limit=100")
    rows = page.get_by_role("table", name="Events of the ledger").locator("tbody tr")
    assert rows.count() == len(told["events"])
    for i, event in enumerate(told["events"][:5]):
        expect(rows.nth(i)).to_contain_text(event["mechanism"])
        expect(rows.nth(i)).to_contain_text(event["target"])
    assert f"{told['spent']:.4g}" in page.locator(".section .facts").inner_text()


def test_a_custodian_registers_sets_limits_and_closes(
    server: Server, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    table = tmp_path / "sent.csv"
    table.write_text(TABLE, encoding="utf-8")
    page = open_page(server.token)
    page.get_by_role("link", name="Register").click()
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("The name needs")
    page.get_by_label("Name", exact=True).fill("sent")
    page.get_by_label("File", exact=True).set_input_files(table)
    page.get_by_label("What records could hold").fill("sex: [Female, Male]")
    page.get_by_label("epsilon", exact=True).fill("1")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("hedgerow domain table.csv -o domain.json")
    page.get_by_label("What records could hold").fill(json.dumps({**DOMAIN, "age": {"min": 0, "max": 99}}))
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("'age'")  # empty cells: the server's own words
    page.get_by_label("What records could hold").fill(json.dumps(DOMAIN))
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", name="sent")).to_be_visible()
    server.token_of("ida")
    page.get_by_role("link", name="Manage").click()
    page.get_by_label("Analyst").select_option("ida")
    page.get_by_label("Questions at most").fill("5")
    page.get_by_role("button", name="Set limits").click()
    expect(page.get_by_role("table", name="Limits of analysts")).to_contain_text("0 of 5")
    page.get_by_role("button", name="Close this data set").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert server.call("GET", "datasets/sent")["status"] == "open"
    page.get_by_role("button", name="Close this data set").click()
    page.get_by_role("dialog").get_by_role("button", name="Close for good").click()
    expect(page.locator(".state")).to_have_text("closed")
    expect(page.locator(".used-up")).to_contain_text("not looked at any more")
    assert server.call("GET", "datasets/sent")["status"] == "closed"


def test_the_audit_tells_who_did_what(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    go(page, server, "#/audit")
    entries = server.call("GET", "audit?limit=100")["entries"]
    rows = page.get_by_role("table", name="Audit entries").locator("tbody tr")
    assert rows.count() == len(entries)
    expect(rows.first).to_contain_text(entries[0]["action"])


# Looks


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
    for title in ("Ask", "Answers", "Attributes", "Picture", "Records", "Ledger", "Manage", "People & tokens", "Audit"):
        page.get_by_role("link", name=title, exact=True).click()
        expect(page.get_by_role("link", name=title, exact=True)).to_have_attribute("aria-current", "page")


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
