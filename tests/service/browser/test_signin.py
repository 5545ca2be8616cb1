"""Signing in with a provider of identities, as a person does: by the button, at the provider, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.service.browser.browsing import DOMAIN, TABLE
from tests.service.providers import account, free_port, oidc, provider
from tests.service.serving import Server, serving

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with provider(tmp_path_factory.mktemp("provider")) as address:
        account(address, "grace", groups=["staff"])
        account(address, "nina", groups=["chess club"])
        yield address


@pytest.fixture
def with_provider(tmp_path: Path, issuer: str) -> Iterator[Server]:
    port = free_port()
    with serving(tmp_path, port=port, oidc=oidc(issuer, address=f"http://127.0.0.1:{port}/")) as server:
        server.register("survey", TABLE, DOMAIN, title="A survey", budget={"epsilon": 8.0})
        yield server


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(8000)
    yield context.new_page()
    context.close()


def sign_in(page: Page, subject: str) -> None:
    page.get_by_role("link", name=re.compile("Sign in with 127.0.0.1")).click()
    page.locator("input[name=sub]").fill(subject)
    page.locator("button[type=submit]").first.click()


def test_the_button_leads_to_the_provider_and_back_to_the_view_that_was_left(page: Page, with_provider: Server) -> None:
    page.goto(f"{with_provider.url}#/d/survey/budget")
    sign_in(page, "grace")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page).to_have_url(f"{with_provider.url}#/d/survey/budget")
    assert page.evaluate("document.cookie") == ""
    assert page.evaluate("JSON.stringify(sessionStorage)") == "{}"
    page.goto(f"{with_provider.url}#/d/survey/ask")
    page.get_by_label("Question as SQL").fill("SELECT COUNT(*) FROM survey WHERE sex = 'Male'")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("region", name="Latest answer")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name=re.compile("Sign in with"))).to_be_visible()
    page.reload()
    expect(page.get_by_role("link", name=re.compile("Sign in with"))).to_be_visible()
    tokens = with_provider.call("GET", "tokens")["tokens"]
    (of_grace,) = [each for each in tokens if each["person"] == "grace"]
    assert of_grace["revoked"]
    assert of_grace["datasets"] == ["survey"]


def test_one_without_a_role_reads_why_and_finds_the_way_back(page: Page, with_provider: Server) -> None:
    page.goto(with_provider.url)
    sign_in(page, "nina")
    expect(page.get_by_role("heading", name="You are not signed in")).to_be_visible()
    expect(page.get_by_text("its claim 'groups' holds chess club")).to_be_visible()
    page.get_by_role("link", name="Back to the page").click()
    expect(page.get_by_label("Token", exact=True)).to_be_visible()


def test_a_form_of_another_origin_does_nothing_with_the_cookie(page: Page, with_provider: Server) -> None:
    """localhost and 127.0.0.1 are of two origins."""
    page.goto(with_provider.url)
    sign_in(page, "grace")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    other = with_provider.url.replace("127.0.0.1", "localhost")
    page.goto(f"{other}v1/health")
    told = page.evaluate(
        """async (url) => {
          const asked = { method: "GET", credentials: "include" };
          const seen = [];
          for (const more of [{ mode: "no-cors" }, { headers: { "Hedgerow-Page": "1" } }]) {
            try { seen.push((await fetch(url, { ...asked, ...more })).type); } catch (error) { seen.push(error.name); }
          }
          return seen;
        }""",
        f"{with_provider.url}v1/me",
    )
    assert told[1] == "TypeError"  # the browser asked for leave, and got none
    assert told[0] in ("opaque", "TypeError")
