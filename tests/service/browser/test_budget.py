"""A budget as the page tells it: parts that add up as they are shown, and their growth over time."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.service.browser.browsing import DOMAIN, TABLE, go
from tests.service.serving import Server

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def numbers(text: str) -> list[Decimal]:
    return [Decimal(each.replace(",", "")) for each in NUMBER.findall(text)]


def test_the_lines_of_the_budget_add_up_as_they_are_shown(server: Server, open_page: Callable[..., Page]) -> None:
    options = {"variant": "pay-as-you-go", "updates": 30, "threshold": 0.02}
    server.register("account", TABLE, DOMAIN, budget={"epsilon": 8.0}, options=options)
    noether = server.token_of("noether")
    for token, where in ((noether, "age < 17"), (server.token, "sex = 'Male'"), (noether, "age > 70")):
        server.call("POST", "datasets/account/queries", {"queries": [{"where": where}]}, token=token)
    for token in (noether, server.token):
        told = server.call("GET", "datasets/account", token=token)
        assert min(told["account"]["mine"], told["account"]["others"]) > 0.0
        page = open_page(token, "#/d/account/ask")
        page.get_by_role("link", name="what happened to it").click()
        expect(page.get_by_role("heading", name="What happened to the budget")).to_be_visible()
        budget, questions = page.locator(".account-line").all_inner_texts()
        whole, *parts = numbers(budget)
        assert whole == sum(parts)
        assert float(whole) == pytest.approx(told["limit"], rel=1e-3)
        assert float(parts[-1]) == pytest.approx(told["account"]["left"], abs=0.0011)
        asked, mine, others, tested = numbers(questions)
        assert (asked, mine, tested) == (told["asked"], told["mine"]["asked"], told["tested"])
        assert asked == mine + others
        shares = page.locator(".area").evaluate_all("areas => areas.map((each) => Number(each.dataset.total))")
        assert sum(shares) == pytest.approx(told["spent"])
        key = page.locator(".key").inner_text()
        assert ("noether" in key, "you" in key) == ((False, True) if token == noether else (True, True))
        page.get_by_role("combobox", name="By").select_option("kind")
        expect(page.locator(".key")).to_contain_text("answers of the data")
        page.get_by_text("Show as a table").click()
        entries = server.call("GET", "datasets/account/spending", token=token)["entries"]
        expect(page.get_by_role("table", name="Spending over time").locator("tbody tr")).to_have_count(len(entries))


def test_the_ledgers_sums_add_up_as_they_are_shown(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    go(page, server, "#/d/survey/ledger")
    spent, remaining = page.locator(".section .fact-value").all_inner_texts()
    whole = numbers(page.locator(".section .facts").inner_text())[-1]
    assert Decimal(spent) + Decimal(remaining) == whole == 8


@pytest.mark.parametrize(
    ("part", "price", "text"),
    [
        (0.9999999, 0.01, "100% spent: 1 of 1 epsilon"),
        (0.9999999, None, "100% spent: 1 of 1 epsilon"),
        (1.0, 0.01, "100% spent: 1 of 1 epsilon"),
        (0.9999999, 1e-8, "99.9% spent: 0.9999999 of 1 epsilon"),  # ten more corrections can be paid
        (0.99999, 0.01, "99.9% spent: 0.99999 of 1 epsilon"),
        (0.98765, 0.01, "99% spent: 0.9877 of 1 epsilon"),
        (0.12341, 0.01, "13% spent: 0.1235 of 1 epsilon"),  # up
        (0.07, 0.01, "7% spent: 0.07 of 1 epsilon"),
        (0.0, 0.01, "0% spent: 0 of 1 epsilon"),
    ],
)
def test_a_budget_is_shown_as_spent_when_nothing_can_be_paid_from_it(
    open_page: Callable[..., Page], part: float, price: float | None, text: str
) -> None:
    shown = "async ([part, price]) => (await import('./format.js')).spentOf(part, 1, 'epsilon', 'spent', price)"
    assert open_page().evaluate(shown, [part, price]) == text


@pytest.mark.parametrize(
    ("account", "limit", "price"),
    [
        ([1 / 3, 1 / 3, 1 / 6, 0.0, 0.0, 1 / 6], 1.0, 0.01),
        ([0.0003, 0.9, 0.0, 0.0, 0.0, 0.0997], 1.0, 0.01),
        ([0.02, 0.98 - 1e-9, 0.0, 0.0, 0.0, 1e-9], 1.0, 0.01),
        ([0.02, 0.98 - 1e-9, 0.0, 0.0, 0.0, 1e-9], 1.0, 1e-10),
        ([0.002, 0.003, 0.0, 0.0, 0.005, 0.004973], 0.014973, 0.001),
        ([12.5, 100.25, 0.125, 3.0, 0.0, 884.125], 1000.0, 2.0),
        ([1e-9, 0.0, 0.0, 0.0, 0.0, 2e-5 - 1e-9], 2e-5, 1e-7),
    ],
)
def test_parts_add_up_as_they_are_shown(
    open_page: Callable[..., Page], account: list[float], limit: float, price: float
) -> None:
    names = ("opening", "mine", "others", "tests", "held", "left")
    sent: dict[str, Any] = {"account": dict(zip(names, account, strict=True)), "limit": limit, "price": price}
    told = open_page().evaluate("async (told) => (await import('./account.js')).accountOf(told)", sent)
    shown = {name: Decimal(text.replace(",", "")) for name, text in told["part"].items()}
    assert sum(shown.values()) == Decimal(told["limit"].replace(",", ""))
    assert Decimal(told["spent"].replace(",", "")) == sum(shown[name] for name in names[:4])
    usable = account[-1] >= min(1e-6 * limit, price)
    assert (shown["left"] > 0) == usable
    unit = 10.0 ** shown["left"].as_tuple().exponent
    for name, value in zip(names, account, strict=True):
        assert abs(float(shown[name]) - value) <= 2.01 * unit
    assert float(told["limit"].replace(",", "")) >= limit * (1 - 1e-12)
    assert float(shown["left"]) <= max(unit, account[-1] * (1 + 1e-12))
    assert float(told["spent"].replace(",", "")) >= sum(account[:4]) - 1e-6 * limit


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [(1.00004, "1.001", "1"), (0.99999, "1", "0.9999"), (0.1, "0.1", "0.1"), (12345.6, "12,350", "12,340")],
)
def test_what_is_promised_is_rounded_up_and_what_is_left_down(
    open_page: Callable[..., Page], value: float, up: str, down: str
) -> None:
    shown = "async (value) => { const f = await import('./format.js'); return [f.atMost(value), f.atLeast(value)]; }"
    assert open_page().evaluate(shown, value) == [up, down]


def test_nothing_spent_is_shown_as_nothing(server: Server, open_page: Callable[..., Page]) -> None:
    told = {"budget": {"epsilon": 2.0, "neighbours": "replace"}}  # the number of records is public, and costs nothing
    server.register("unspent", "a\n" + "x\ny\n" * 20, {"a": ["x", "y"]}, **told)
    page = open_page(server.token, "#/d/unspent/ledger")
    assert page.locator(".section .fact-value").all_inner_texts() == ["0.000", "2.000"]
    page.get_by_role("link", name="Budget", exact=True).click()
    expect(page.locator(".account-line").first).to_have_text("2.000 epsilon = 2.000 left")
    expect(page.locator(".section")).to_contain_text("Nothing is spent yet")
