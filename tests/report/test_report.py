"""The report: self-contained, escaped, labelled, and free of exact figures."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import MWEM, Table, read_table
from hedgerow.domain import (
    DRAFT_ACCEPTED,
    Binned,
    Categorical,
    Derived,
    Domain,
    IntegerRange,
    domain_from_mapping,
    impossible,
    width_level,
)
from hedgerow.errors import MissingExtraError, ReleaseError
from hedgerow.models import Empirical, Histogram
from hedgerow.privacy import SECURE_SOURCE, ApproxDP, PureDP, SeededNoise, exact_errors
from hedgerow.queries import Marginal, Measurement, NoiseKind, Workload, parse_predicate
from hedgerow.release import Provenance, Release, column_summaries
from hedgerow.report import Heading, draw_column, render_report, write_report
from hedgerow.report.page import large_text
from hedgerow.report.plots import shortened
from tests.chromium import chromium
from tests.release.made import TABLE, make_release

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.tags: set[str] = set()
        self.text: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def release() -> Release:
    return make_release(ApproxDP(1.0, 1e-6), 0, [("sex", "age"), ("job", "income")])


@pytest.fixture(scope="module")
def text(release: Release) -> str:
    return render_report(release)


def test_it_is_self_contained(text: str) -> None:
    page = Page(text)
    assert not page.tags & {"script", "link", "iframe", "img", "object", "embed", "image"}
    assert not re.search(r"https?:|//[a-z]|@import|javascript:", text)
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "xlink:href"):
            assert value.startswith("#")
    assert re.findall(r"url\(([^)]*)\)", text)
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", text))


def test_references_inside_the_page_exist_once(text: str) -> None:
    identifiers = [value for name, value in Page(text).attributes if name == "id"]
    targets = set(re.findall(r'(?:url\(|xlink:href=")#([^)"]+)', text))
    assert targets <= set(identifiers)
    assert all(identifiers.count(target) == 1 for target in targets)


def test_it_is_the_same_each_time(release: Release, text: str) -> None:
    assert render_report(release) == text


def test_it_tells_guarantee_ledger_measurements_and_limits(release: Release, text: str) -> None:
    words = " ".join(" ".join(Page(text).text).split())
    assert release.budget.statement() in words
    for event in release.events:
        assert event.target in words
    assert words.index("sex * age") < words.index("job * income")
    assert "What the guarantee does not say" in words
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_a_seeded_release_is_stamped(text: str) -> None:
    assert text.index("NOT PRIVATE: seeded") < text.index("<h1>")


def secure(release: Release) -> Release:
    import dataclasses

    return dataclasses.replace(release, provenance=Provenance.record("MWEM", {}, noise=SECURE_SOURCE))


def test_a_private_release_is_not_stamped(release: Release) -> None:
    assert "NOT PRIVATE" not in render_report(secure(release))


def test_an_evaluation_labels_the_whole_page(release: Release) -> None:
    exact = exact_errors(TABLE, release.workload, release.workload.answers(release.model))
    page = render_report(secure(release), exact=exact)
    assert "<title>NOT PRIVATE" in page
    assert page.index("NOT PRIVATE: this page") < page.index("<h1>")
    assert f"{exact.mean:,.4g}" in page


LONG = "a very long value that would push everything out of the picture"


def test_hostile_and_long_names_are_escaped_and_shortened(tmp_path: Path) -> None:
    hostile = "<script>alert('&')</script>"
    domain = Domain(
        (
            Categorical(hostile, ("<b>", "$x$ & y", LONG, "\\frac")),
            IntegerRange("many", 0, 199, missing="<none>"),
            Binned('quote"s', np.linspace(0, 1, 41).tolist()),
            Categorical("names", [f"name {i}" for i in range(60)]),
        )
    )
    marginal = Marginal(domain, (hostile, "many"))
    release = Release(
        model=Histogram(domain, 1000.0),
        workload=Workload.marginals(domain, 1),
        budget=PureDP(1.0),
        events=(),
        measurements=(Measurement(marginal, np.ones(marginal.size), NoiseKind.LAPLACE, 3.0),),
        error=None,
        total=1000.0,
        provenance=Provenance.record("<i>", {"<k>": "<v>"}, noise=SECURE_SOURCE),
    )
    write_report(release, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "script" not in page.tags
    assert not {"b", "i", "k", "v", "none"} & page.tags
    words = " ".join(page.text)
    assert hostile in words
    assert "$x$ & y" in words
    assert shortened(LONG) in words
    assert LONG not in words
    assert "36 more together" in words
    assert "No budget was given" in words


def test_a_release_without_measurements_has_a_page() -> None:
    assert "Nothing but the number of records" in render_report(make_release(PureDP(1.0), 0, error=False))


@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, True])
def test_what_a_release_says_beyond_its_workload_depends_on_its_kind(
    release: Release, tmp_path: Path, stored: bool
) -> None:
    import dataclasses

    codes = np.zeros((3, len(release.domain)), dtype=int)
    one = dataclasses.replace(release, model=Empirical(release.domain, release.total, codes))
    codes[2, 0] = 1
    two = dataclasses.replace(release, model=Empirical(release.domain, release.total, codes))
    flat = dataclasses.replace(release, model=Histogram(release.domain, release.total))
    for kind, words in (
        (one, "an accident of the one record that"),
        (two, "an accident of the 2 distinct records that"),
        (flat, "flattest distribution"),
    ):
        made = kind
        if stored:
            kind.save(tmp_path / "r.release")
            made = Release.load(tmp_path / "r.release")
        assert words in " ".join(render_report(made).split())


def test_of_a_thousand_attributes_the_first_are_drawn(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "attributes are drawn" not in render_report(release)
    monkeypatch.setattr("hedgerow.report.release_page.MOST_DRAWN", 1)
    page = " ".join(render_report(release).split())
    assert f"The first 1 of {len(release.domain)} attributes are drawn" in page


def test_numbers_of_cells_fit_into_their_place() -> None:
    found = [large_text(cells) for cells in (7, 38_102_400, 558_276_364_800, 2 * 10**12, 12345 * 10**20, 10**400)]
    assert found == ["7", "38,102,400", "558 billion", "2 trillion", "1.23 \u00d7 10^24", "1.00 \u00d7 10^400"]


def test_what_is_missing_is_named(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.report.page.find_spec", lambda name: None if name == "jinja2" else object())
    with pytest.raises(MissingExtraError, match=r"needs jinja2, which is not installed") as caught:
        render_report(release)
    assert caught.value.remedy == "pip install 'hedgerow[report]'"


def test_a_page_that_cannot_be_written_is_named(release: Release, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be written"):
        write_report(release, tmp_path / "none" / "r.html")
    assert not list(tmp_path.iterdir())


# ---- levels and constraints ------------------------------------------------------------------------------------------


def ruled_release(violations: str = "refuse") -> Release:
    """A release over levels of a domain with a constraint and a derived column."""
    age, work, sex = IntegerRange("age", 0, 99), IntegerRange("work", 0, 1), Categorical("sex", ("F", "M"))
    plain = Domain((age, work, sex))
    adult = Derived(Categorical("adult", ("no", "yes")), ("age",), [0] * 18 + [1] * 82, column=True)
    domain = Domain(plain.attributes, (width_level(age, 25), adult), [impossible(plain, "age < 15 and work = 1")])
    people = {"age": [5, 40, 70] * 300, "work": [0, 1, 0] * 300, "sex": ["F", "M"] * 450}
    people["adult"] = ["no", "yes", "yes"] * 300
    people = {name: [*column, column[1]] for name, column in people.items()}
    if violations == "drop":
        people["work"][0] = 1
    table = read_table(pa.table(people), domain, violations=violations)
    workload = Workload.parse("marginals:age.25*work,sex", domain)
    return MWEM(rounds=2).run(table, workload, PureDP(1.0), noise=SeededNoise(0))


def test_it_says_what_can_exist_and_what_was_measured_at_which_level() -> None:
    words = " ".join(" ".join(Page(render_report(ruled_release())).text).split())
    assert "possible records (cells) 400" in words
    assert "records that can exist 370" in words
    assert "constraints 1" in words
    assert "Of 2 measurements 1 names attributes as they are and 1 one level or derived attribute." in words
    assert "age.25 age 4 1 0" in words  # its values, what was measured at it, and of the attribute itself
    assert "impossible: age < 15 and work = 1" in words
    assert "a column that follows from age" in words
    assert "Records that break a rule" not in words


def test_it_says_that_records_are_left_out() -> None:
    release = ruled_release("drop")
    assert release.provenance.left_out in " ".join(Page(render_report(release)).text)


def test_a_plain_domain_has_no_words_about_levels(text: str) -> None:
    assert "At which levels" not in text
    assert "constraint" not in text


def test_dates_and_decimals_stand_beside_their_axes() -> None:
    entry = {"day": {"min": "2023-01-01", "max": "2024-12-31"}, "t": {"min": 35, "max": 43, "step": 0.1}}
    domain = domain_from_mapping(entry)
    table = read_table(pa.table({"day": ["2023-02-03"] * 50, "t": [36.6] * 50}), domain)
    release = MWEM(rounds=1).run(table, Workload.marginals(domain, 1), PureDP(1.0), noise=SeededNoise(1))
    page = render_report(release)
    assert "dates from 2023-01-01 to 2024-12-31" in page
    assert len(re.findall(r"202[34]-\d\d-\d\d(?=</text>|<!--| -->)", page)) >= 2
    assert re.search(r"3[5-9]\.\d(</text>| -->)", page)


def told(release: Release, heading: Heading | None = None) -> str:
    return " ".join(" ".join(Page(render_report(release, heading=heading)).text).split())


def test_it_opens_with_the_table_the_maker_and_the_day(release: Release) -> None:
    heading = Heading("Visits <2024>", "A. Miller & sons", date(2026, 3, 1))
    assert "<h1>Visits &lt;2024&gt;</h1>" in render_report(release, heading=heading)
    assert "made by A. Miller & sons, 2026-03-01, by hand" in told(release, heading)
    assert "made by" not in told(release)


def test_results_come_before_the_ledger(release: Release) -> None:
    words = told(release)
    headings = [
        "What this release is good for",
        "Column by column",
        "Pairs of columns",
        "Synthetic marginals",
        "What it means for one person",
        "For the auditor",
        "What it cost",
        "What was measured, in order",
    ]
    assert [words.index(each) for each in headings] == sorted(words.index(each) for each in headings)
    assert "2 of the 6 pairs of columns were measured" in words
    assert "4 pairs: the release takes them for independent" in words
    assert "as accurate as a random sample of" in words


def test_a_mean_stands_above_its_interval(release: Release) -> None:
    age = column_summaries(release, ["age"])[0]
    assert age.mean is not None
    assert age.mean.low is not None
    assert age.mean.high is not None
    interval = " to ".join(f"<span>{end}</span>" for end in age.ends(age.mean))
    assert f"{age.text(age.mean.value)}<small>{interval}</small>" in render_report(release)


def test_the_guarantee_is_told_as_odds(release: Release) -> None:
    assert "gives even odds to this person being in it" in told(release)
    pure = told(make_release(PureDP(1.0), 0))
    assert pure.index("guess right at most 73.2% of the time whether a person is in the table") < pure.index(
        "epsilon 1"
    )
    assert "which of two records a person has" in told(make_release(PureDP(1.0, "replace"), 0))
    assert "even odds to two candidates for that one" in told(make_release(PureDP(1.0, "replace"), 0))


def test_odds_are_as_good_as_the_guarantee(release: Release) -> None:
    replaced = PureDP(1.0, "replace of persons (id), at most 2 records")
    assert "even odds to two candidates for that one" in told(replace(release, budget=replaced))
    seeded = make_release(PureDP(1.0), 0)
    assert "NOT PRIVATE: seeded. With secure noise: Take someone" in told(seeded)
    domain = replace(seeded.domain, draft=True)
    drafted = replace(seeded, workload=Workload.marginals(domain, 1), measurements=())
    assert (
        DRAFT_ACCEPTED in told(drafted).partition("What it means for one person")[2].partition("What the guarantee")[0]
    )


def test_columns_of_noise_and_warnings_are_named() -> None:
    domain = Domain((IntegerRange("x", 0, 299), Binned("pay", (0, 10, 20, 1000))))
    table = Table(domain, [np.arange(900) % 300, np.zeros(900, dtype=int)])
    release = MWEM(rounds=2).run(table, Workload.marginals(domain, 1), PureDP(0.2), noise=SeededNoise(0))
    words = told(release)
    assert "Noise for the most part: x" in words
    assert "one bin, [0, 10), holds nearly all records" in words


# ---- questions -------------------------------------------------------------------------------------------------------


def test_widths_of_questions_are_those_of_answers() -> None:
    """Counts far from 0 and from the total, so that no interval is cut: its half is the width that was told."""
    domain = Domain((IntegerRange("x", 0, 4), IntegerRange("y", 0, 4)))
    table = Table(domain, [np.arange(50_000) % 5, np.arange(50_000) // 5 % 5])
    release = MWEM(rounds=1).run(table, Workload.marginals(domain, 2), PureDP(1.0), noise=SeededNoise(0))
    for condition in ("x = 2", "x = 1", "x = 2 and y = 2"):
        answer = release.answer(condition)
        assert answer.low is not None
        assert answer.high is not None
        assert answer.high - answer.low <= 2.0 * (release.half_width(parse_predicate(condition, domain)) or 0.0) + 2.0
    words = told(release)
    found = re.search(r"x = 2 and y = 2 \u00b1([\d,.]+) records", words)
    assert found is not None
    width = release.half_width(parse_predicate("x = 2 and y = 2", domain))
    assert width is not None
    assert width <= float(found.group(1).replace(",", "")) <= 1.1 * width
    assert f"a group of fewer than about {found.group(1)} records" in words


def test_widths_follow_from_noise_and_not_from_data() -> None:
    """Two tables with the same plan and other records have the same widths."""
    domain = Domain((IntegerRange("x", 0, 4),))
    widths = set()
    for column in (np.zeros(9_000, dtype=int), np.arange(9_000) % 5):
        release = MWEM(rounds=1).run(
            Table(domain, [column]), Workload.marginals(domain, 1), PureDP(1.0), noise=SeededNoise(0)
        )
        widths.add(release.half_width(parse_predicate("x = 2", domain)))
    assert len(widths) == 1
    assert None not in widths


def test_rare_values_are_drawn_on_a_scale_that_shows_them() -> None:
    domain = Domain((Categorical("skewed", ("a", "b", "c", "d")), Categorical("even", ("a", "b", "c", "d"))))
    column = np.repeat([0, 1, 2, 3], [39_000, 400, 350, 250])
    table = Table(domain, [column, np.arange(40_000) % 4])
    release = MWEM(rounds=2).run(table, Workload.marginals(domain, 1), PureDP(1.0), noise=SeededNoise(0))
    assert "logarithmic above" in draw_column(release, "skewed")
    assert "logarithmic above" not in draw_column(release, "even")


@pytest.mark.browser
def test_long_times_and_names_fit_a_wide_page_and_a_phone(tmp_path: Path) -> None:
    times = {"min": "2021-01-01T00:00:00", "max": "2023-12-31T23:59:59", "step": "1s", "bins": "month"}
    named = {"arrived_at_the_emergency_department": times, "left": times, "age": {"min": 0, "max": 9}}
    domain = domain_from_mapping({"attributes": named})
    generator = np.random.default_rng(0)
    table = Table(domain, [generator.integers(0, each.size, 500) for each in domain])
    release = MWEM(rounds=1).run(table, Workload.marginals(domain, 2), PureDP(3.0), noise=SeededNoise(0))
    page = tmp_path / "report.html"
    page.write_text(render_report(release), encoding="utf-8")
    with chromium() as browser:
        for width in (1280, 400):
            shown = browser.new_page(viewport={"width": width, "height": 900})
            shown.goto(page.as_uri())
            boxes = "[document.documentElement, ...document.querySelectorAll('.scroll')]"
            assert set(shown.evaluate(f"{boxes}.map((each) => each.scrollWidth - each.clientWidth)")) == {0}
            covering = """(texts) => {
                const boxes = texts.map((each) => each.getBoundingClientRect());
                return boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right && b.left < a.right
                    && a.top < b.bottom && b.top < a.bottom)).length;
            }"""
            texts = shown.locator(".matrix svg text")
            assert texts.count() >= 4
            assert texts.evaluate_all(covering) == 0
