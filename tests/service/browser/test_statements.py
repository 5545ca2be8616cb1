"""Statements: the builder makes groups and means, says what they take, and shows the answer with its intervals."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.service.browser.browsing import MARKUP, add, sql
from tests.service.serving import Server


def shaped(page: Page, show: str = "", of: str = "", by: str = "") -> None:
    for label, value in (("Show", show), ("of", of), ("For each", by)):
        if value:
            page.get_by_label(label, exact=True).select_option(value)


def answered(page: Page) -> tuple[Locator, dict[str, Any]]:
    with page.expect_response(re.compile(r"/tables$")) as caught:
        page.get_by_role("button", name="Ask", exact=True).click()
    told: dict[str, Any] = caught.value.json()
    return page.get_by_role("region", name="Latest answer"), told


@pytest.mark.parametrize(
    ("show", "of", "by", "wanted"),
    [
        ("", "", "sex", 'SELECT "sex", COUNT(*) FROM "survey" GROUP BY "sex"'),
        ("avg", "age", "", 'SELECT AVG("age") FROM "survey"'),
        ("median", "age", "city, town", 'SELECT "city, town", MEDIAN("age") FROM "survey" GROUP BY "city, town"'),
        ("sum", "hours", "sex", 'SELECT "sex", SUM("hours") FROM "survey" GROUP BY "sex"'),
    ],
)
def test_the_builder_makes_statements(
    server: Server, open_page: Callable[..., Page], show: str, of: str, by: str, wanted: str
) -> None:
    page = open_page(server.token)
    shaped(page, show, of, by)
    assert sql(page) == wanted
    add(page, "sex").get_by_label("Female").check()
    assert sql(page) == wanted.replace(" GROUP BY", " WHERE \"sex\" = 'Female' GROUP BY") or " WHERE " in sql(page)
    shaped(page, "count")
    expect(page.get_by_label("of", exact=True)).to_be_hidden()
    assert "COUNT(*)" in sql(page)


def test_what_a_statement_takes_is_said_before_it_is_asked_and_nothing_is_asked(
    server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(server.token)
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url) if sent.method == "POST" else None)
    with page.expect_response(re.compile(r"/price$")) as caught:
        shaped(page, "avg", "age", "sex")
    price = caught.value.json()["price"]
    expect(
        page.get_by_text(f"Up to {price['questions']} questions, up to {price['corrections']} corrections")
    ).to_be_visible()
    assert {url.rpartition("/")[2] for url in asked} == {"price"}
    shaped(page, "count")
    page.get_by_label("For each").select_option("")
    expect(page.get_by_text(re.compile("An answer from the data costs"))).to_be_visible()


def test_the_answer_is_a_table_with_intervals_at_the_top_and_a_file(
    server: Server, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(server.token)
    shaped(page, "avg", "age", "city, town")
    region, told = answered(page)
    rows = region.locator("tbody tr")
    expect(rows).to_have_count(len(told["rows"]))
    expect(rows.filter(has_text=MARKUP)).to_have_count(1)  # markup in a value is text
    assert page.locator("main img").count() == 0
    for row, (_, value, low, high) in zip(rows.all(), told["rows"], strict=True):
        assert row.locator("svg.interval .mark").count() == 1
        assert row.locator("svg.interval .band").count() == (low is not None)
        useless = low is not None and high - low > 2 * abs(value)
        assert row.locator(".useless").count() == useless
    assert region.bounding_box()["y"] < page.get_by_label("Show", exact=True).bounding_box()["y"]  # type: ignore[index]
    with page.expect_download() as caught:
        region.get_by_role("button", name="Download as CSV").click()
    caught.value.save_as(tmp_path / "answer.csv")
    with (tmp_path / "answer.csv").open(newline="", encoding="utf-8") as file:
        head, *found = csv.reader(file)
    heading = told["headings"][0]
    assert head == ["city, town", heading, f"{heading} low", f"{heading} high"]
    assert [row[0] for row in found] == [row[0] for row in told["rows"]]
    assert [float(row[1]) for row in found] == [row[1] for row in told["rows"]]


def test_an_interval_that_says_little_looks_so(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)

    def wide(route: Route) -> None:
        told = route.fetch().json()
        told["rows"] = [["Female", 10, -30, 40, *[]], ["Male", 100, 90, 110], ["=1+1", None, None, None]]
        told |= {"names": ["sex"], "headings": ["COUNT(*)"]}
        route.fulfill(status=200, body=json.dumps(told), content_type="application/json")

    page.route("**/tables", wide)
    shaped(page, by="sex")
    region, _ = answered(page)
    little, good, nothing = region.locator("tbody tr").all()
    expect(little).to_contain_text("says little")
    assert (good.locator(".useless").count(), nothing.locator("svg").count()) == (0, 0)


def test_history_has_statements_with_what_each_took(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    shaped(page, "avg", "age", "sex")
    area = page.get_by_label("Question as SQL")
    area.fill("SELECT sex, AVG(age) FROM survey WHERE age < 77 GROUP BY sex")
    _, told = answered(page)
    row = page.locator(".answers tbody tr").first
    expect(row).to_contain_text("age < 77")
    questions = sum(told["sources"].values())
    expect(row).to_contain_text(f"{questions} questions")
    corrections = told["sources"].get("data", 0)
    expect(row).to_contain_text(f"{corrections} correction{'s' * (corrections != 1)}")
    assert page.locator(".answers tbody tr").filter(has_text="age < 77").count() == 1


def test_one_is_removed_and_comes_back_on_the_page(server: Server, open_page: Callable[..., Page]) -> None:
    token = server.token_of("ruth")
    page = open_page(server.token, "#/people")
    page.get_by_role("button", name="Remove ruth").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    people = page.get_by_role("table", name="People")
    expect(people.get_by_role("row").filter(has_text="ruth")).to_contain_text("removed")
    with pytest.raises(AssertionError, match="401"):
        server.call("GET", "me", token=token)
    page.get_by_role("button", name="Make analyst ruth").click()
    page.get_by_role("dialog").get_by_role("button", name="Make analyst").click()
    expect(people.get_by_role("row").filter(has_text="ruth")).to_contain_text("analyst")
    expect(page.get_by_role("button", name="Remove ada")).to_have_count(0)  # nobody removes themselves


def test_a_closed_data_set_is_deleted_on_the_page(server: Server, open_page: Callable[..., Page]) -> None:
    server.register("brief", "a\n" + "0\n1\n" * 500, {"a": {"min": 0, "max": 1}}, title="A brief one")
    page = open_page(server.token, "#/d/brief/manage")
    for word, sure in (("Close this data set", "Close permanently"), ("Delete it", "Delete permanently")):
        page.get_by_role("button", name=word).click()
        page.get_by_role("dialog").get_by_role("button", name=sure).click()
    page.wait_for_url("**/#/")
    assert "brief" not in {each["name"] for each in server.call("GET", "datasets")["datasets"]}
