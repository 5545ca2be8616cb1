"""What the sections of a data set show, and what custodians do."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.service.browser.browsing import DOMAIN, MARKUP, QUOTES, TABLE, add, go, sql
from tests.service.serving import Server

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


def test_a_group_is_listed_by_its_statement_and_the_number_of_its_counts(
    server: Server, open_page: Callable[..., Page]
) -> None:
    token = server.token_of("otto", datasets=["survey"])
    statement = "SELECT sex, COUNT(*) FROM survey WHERE age < 30 GROUP BY sex"
    found = server.call("POST", "datasets/survey/tables", {"sql": statement}, token)
    page = open_page(token)
    go(page, server, "#/d/survey/answers")
    row = page.locator(".answers tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(statement)
    expect(row).to_contain_text(f"{len(found['rows']) + 1} counts")


def test_an_analyst_chooses_among_the_data_sets_of_the_token(server: Server, open_page: Callable[..., Page]) -> None:
    for name in ("first", "second", "third"):
        server.register(name, "a\n" + "x\ny\n" * 20, {"a": ["x", "y"]}, title=f"The {name}")
    page = open_page(server.token_of("sofja", datasets=["first", "third"]), "")
    entries = page.locator(".sets li")
    expect(entries).to_have_count(2)
    entries.nth(1).get_by_role("link").click()
    expect(page.get_by_role("heading", name="The third")).to_be_visible()
    page.get_by_role("link", name="Data sets").click()
    expect(entries).to_have_count(2)
    assert page.get_by_role("link", name="Register").count() == 0
    go(page, server, "#/d/second/ask", ready=".view [role=alert]")
    expect(page.get_by_role("alert")).to_contain_text("Not found")


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
    expect(page.locator(".plain-table tbody tr")).to_have_count(101)
    page.get_by_label("Across").select_option("")
    page.get_by_label("Attribute", exact=True).select_option("city, town")
    expect(page.locator(".chart title").nth(2)).to_have_text(re.compile(re.escape(MARKUP)))


def test_where_there_is_no_room_neighbours_share_a_bar_and_the_missing_value_has_its_own(
    open_page: Callable[..., Page],
) -> None:
    page = open_page()
    found = page.evaluate(
        """async () => {
            const { columns } = await import("./bars.js");
            const counts = Array.from({ length: 1001 }, (_, i) => i + 0.5);
            const chart = columns("n", [...counts.keys()].map((i) => (i < 1000 ? String(i) : "?")), counts, 400, 1);
            return [...chart.querySelectorAll(".bar-row")].map((bar) =>
                [bar.querySelector("title").textContent, Number(bar.querySelector(".bar-mark").dataset.count)]);
        }"""
    )
    assert len(found) < 200
    assert sum(value for _, value in found) == sum(i + 0.5 for i in range(1001))
    assert found[0][0].startswith("0 to ")
    assert found[-1] == ["?: 1,001", 1000.5]


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
    page.get_by_text("Step by step").click()
    page.get_by_label("Name", exact=True).fill("emmy")
    page.get_by_role("button", name="Add person").click()
    expect(page.get_by_role("table", name="People")).to_contain_text("emmy")
    expect(page.get_by_label("Person", exact=True)).to_have_value("emmy")  # a token is what she needs next
    page.get_by_role("button", name="Make token").click()
    expect(page.get_by_role("alert")).to_contain_text("would open nothing")
    page.locator(".step-by-step").get_by_label("A survey", exact=True).check()
    page.get_by_role("button", name="Make token").click()
    token = page.get_by_label("Token of emmy").input_value()
    expect(page.get_by_text("It is shown only now")).to_be_visible()
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


def test_a_person_is_let_in_within_a_share_unless_more_is_chosen(
    server: Server, open_page: Callable[..., Page]
) -> None:
    server.register("elsewhere", "a\n" + "x\ny\n" * 20, {"a": ["x", "y"]})  # the only data set would be chosen
    page = open_page(server.token, "#/people")
    page.get_by_role("button", name="Let in").click()
    expect(page.get_by_role("alert")).to_contain_text("Say who it is")
    page.get_by_label("Who", exact=True).fill("wang")
    page.get_by_role("button", name="Let in").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose at least one data set")
    page.locator(".let-in").get_by_label("A survey", exact=True).check()
    page.get_by_role("button", name="Let in").click()
    token = page.get_by_label("Token of wang").input_value()
    me = server.call("GET", "me", token=token)
    left = datetime.fromisoformat(me["expires"]) - datetime.now(UTC)
    assert (me["role"], me["datasets"], round(left / timedelta(days=1))) == ("analyst", ["survey"], 30)
    mine = server.call("GET", "datasets/survey", token=token)["mine"]
    assert (mine["queries"], mine["budget"]) == (500, 2.0)  # of 8 epsilon
    expect(page.get_by_role("table", name="People")).to_contain_text("wang")
    page.get_by_label("Who", exact=True).fill("wang")
    page.get_by_label("May", exact=True).select_option("custodian")
    page.get_by_role("button", name="Let in").click()
    expect(page.get_by_role("alert")).to_contain_text("wang is an analyst. Change the role in the list below")
    page.get_by_label("Who", exact=True).fill("yalow")
    page.get_by_label("May", exact=True).select_option("all")
    page.get_by_role("button", name="Let in").click()
    me = server.call("GET", "me", token=page.get_by_label("Token of yalow").input_value())
    assert (me["role"], me["datasets"]) == ("custodian", "all")


def test_all_data_sets_and_for_ever_are_ticked_and_30_days_are_not(
    server: Server, open_page: Callable[..., Page]
) -> None:
    server.call("POST", "people", {"name": "sonja", "role": "analyst"})
    page = open_page(server.token)
    go(page, server, "#/people")
    page.get_by_text("Step by step").click()

    def made() -> dict[str, Any]:
        page.get_by_role("button", name="Make token").click()
        expect(page.get_by_label("Token of sonja")).to_be_visible()
        told: dict[str, Any] = server.call("GET", "me", token=page.get_by_label("Token of sonja").input_value())
        return told

    page.get_by_label("Person", exact=True).select_option("sonja")
    page.locator(".step-by-step").get_by_label("A survey", exact=True).check()
    first = made()
    left = datetime.fromisoformat(first["expires"]) - datetime.now(UTC)
    assert (first["datasets"], round(left / timedelta(days=1))) == (["survey"], 30)
    page.get_by_label("all data sets").check()
    page.get_by_label("forever").check()
    with page.expect_response(re.compile(r"/v1/tokens$")):
        page.get_by_role("button", name="Make token").click()
    expect(page.get_by_role("table", name="Tokens").locator("tbody tr").last).to_contain_text("no expiry")
    second = server.call("GET", "me", token=page.get_by_label("Token of sonja").input_value())
    assert (second["datasets"], second["expires"]) == ("all", None)


def test_a_custodian_of_some_data_sets_sees_these_alone(server: Server, open_page: Callable[..., Page]) -> None:
    server.register("apart", "a\n" + "x\ny\n" * 20, {"a": ["x", "y"]}, title="Apart")
    server.token_of("nelly", datasets=["survey"])
    page = open_page(server.token_of("emil", datasets=["apart"], role="custodian"), "#/people")
    assert page.get_by_role("link", name="Register").count() == 0
    assert page.get_by_role("button", name="Add person").count() == 0
    assert page.get_by_label("all data sets").count() == page.get_by_label("forever").count() == 0
    expect(page.get_by_role("table", name="People")).to_contain_text("emil")
    assert "nelly" not in page.locator("main").inner_text()
    page.get_by_text("Step by step").click()
    page.get_by_label("Person", exact=True).select_option("emil")
    page.locator(".step-by-step").get_by_label("Apart", exact=True).check()
    page.get_by_role("button", name="Make token").click()
    expect(page.get_by_label("Token of emil")).to_be_visible()
    go(page, server, "#/audit")
    expect(page.get_by_role("table", name="Audit entries").locator("tbody tr")).to_have_count(3)
    assert "nelly" not in page.locator("main").inner_text()


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
    shown = page.locator(".section .fact-value").first.inner_text()
    assert float(shown) == pytest.approx(told["spent"], abs=0.001)


def test_a_token_is_for_an_analyst_unless_a_custodian_is_chosen(server: Server, open_page: Callable[..., Page]) -> None:
    server.token_of("hypatia")
    server.token_of("zuse", role="custodian")
    page = open_page(server.token)
    go(page, server, "#/people")
    page.get_by_text("Step by step").click()
    assert "(analyst)" in page.get_by_label("Person", exact=True).locator("option:checked").inner_text()


def test_the_audit_says_that_a_token_opens_all_data_sets(server: Server, open_page: Callable[..., Page]) -> None:
    server.token_of("carl")
    page = open_page(server.token)
    go(page, server, "#/audit")
    expect(page.locator("tbody tr", has_text="add token").first).to_contain_text("data sets: all")


def test_what_a_custodian_and_an_analyst_are_told_of_a_budget(server: Server, open_page: Callable[..., Page]) -> None:
    told = server.call("GET", "datasets/survey")
    page = open_page(server.token)
    facts = page.locator(".facts").inner_text()
    spent = page.evaluate("async (spent) => (await import('./format.js')).atMost(spent)", told["spent"])
    assert told["spent"] * (1 - 1e-9) <= float(spent) <= told["spent"] * 1.001  # rounded up
    assert f"{spent} of {told['limit']:.4g} epsilon" in facts
    assert f"{told['threshold']:.0f} records" in facts
    expect(page.locator(".sql-form")).to_contain_text(f"{100 * told['price'] / told['limit']:.1f}% of the budget")


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 8, "0%"), (0.001, 8, "under 0.1%"), (0.08, 8, "1%"), (0.4, 8, "5%"), (4, 8, "50%"), (7.9999, 8, "99.9%"),
     (8, 8, "100%"), (8 - 1e-12, 8, "100%"), (1, 0, "0%")],
)  # fmt: skip
def test_shares_are_rounded_but_never_to_nothing_or_to_all(
    open_page: Callable[..., Page], part: float, whole: float, text: str
) -> None:
    page = open_page()
    ours = "async ([part, whole]) => (await import('./format.js')).share(part, whole)"
    assert page.evaluate(ours, [part, whole]) == text


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
    page.get_by_label("epsilon", exact=True).fill("1")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose what sex could hold")  # its columns are there already
    page.get_by_label("What records could hold").fill("sex: [Female, Male")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("is not YAML")
    page.get_by_label("What records could hold").fill(json.dumps({**DOMAIN, "age": {"min": 0, "max": 99}}))
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("'age'")  # empty cells: the server's own words
    page.get_by_label("What records could hold").fill(json.dumps(DOMAIN))
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert").first).to_contain_text("a public estimate")
    page.get_by_label("Records, about").fill("50000")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".plan")).to_contain_text("with 95% confidence within")
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
    page.get_by_role("dialog").get_by_role("button", name="Close permanently").click()
    expect(page.locator(".state")).to_have_text("closed")
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.locator(".used-up")).to_contain_text("not looked at any more")
    assert server.call("GET", "datasets/sent")["status"] == "closed"


def test_a_custodian_registers_persons_with_several_records(
    server: Server, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    rows = "".join(f"{i % 300},{'FM'[i % 2]}\n" for i in range(900))
    table = tmp_path / "visits.csv"
    table.write_text("patient,sex\n" + rows, encoding="utf-8")
    page = open_page(server.token)
    page.get_by_role("link", name="Register").click()
    page.get_by_label("Name", exact=True).fill("visits")
    page.get_by_label("File", exact=True).set_input_files(table)
    page.get_by_label("What records could hold").fill(json.dumps({"sex": ["F", "M"]}))
    page.get_by_label("epsilon", exact=True).fill("4")
    page.get_by_text("How it is read").click()
    page.get_by_label("Column of persons").fill("patient")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("Name the column of persons and the most records of one together")
    page.get_by_label("Most records of one").fill("2")
    page.get_by_label("Column of weights").fill("stay")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("Name the column of weights and the largest weight together")
    page.get_by_label("Column of weights").fill("")
    page.get_by_label("Records, about").fill("900")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".plan")).to_contain_text("within")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", name="visits")).to_be_visible()
    page.get_by_role("link", name="Attributes").click()
    told = page.locator(".notice", has_text="What is protected")
    expect(told).to_contain_text("Whether a person is in the data at all")
    expect(told).to_contain_text("A person is a value of the column patient; 2 records of each at most count.")
    assert (server.call("GET", "datasets/visits")["person"], server.call("GET", "datasets/visits")["at_most"]) == (
        "patient",
        2,
    )


def test_the_audit_tells_who_did_what(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page(server.token)
    go(page, server, "#/audit")
    entries = server.call("GET", "audit?limit=100")["entries"]
    rows = page.get_by_role("table", name="Audit entries").locator("tbody tr")
    assert rows.count() == len(entries)
    expect(rows.first).to_contain_text(entries[0]["action"])
