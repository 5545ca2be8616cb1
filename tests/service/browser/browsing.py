"""What tests in a browser ask about, and how they go about it."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.service.serving import Server

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
SECTIONS = ("ask", "pinned", "answers", "attributes", "picture", "records", "budget", "ledger", "manage")
EVERYWHERE = ("#/", "#/people", "#/register", "#/audit", *(f"#/d/survey/{section}" for section in SECTIONS))


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.wait_for_selector("main:not([aria-busy]) .view h1")


def go(page: Page, server: Server, address: str, *, ready: str = "") -> None:
    page.goto(f"{server.url}{address}")
    page.wait_for_selector(ready or f"body:has(main:not([aria-busy])) [aria-current][href='{address}']")


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
