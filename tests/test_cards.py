"""How objects show themselves: short in one line, and as HTML in notebooks."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

import hedgerow
from hedgerow.cards import MOST_ROWS, card

TAG = '<img src="https://x.example/a.png">'
DOMAIN = hedgerow.Domain((hedgerow.Categorical(TAG, ("F", "<b>")), hedgerow.IntegerRange("age", 0, 99)))
ROWS = pa.table({TAG: ["F", "<b>"] * 400, "age": list(range(80)) * 10})
TABLE = hedgerow.read_table(ROWS, DOMAIN)
WORKLOAD = hedgerow.Workload.marginals(DOMAIN, 2)
RELEASE = hedgerow.MWEM().run(TABLE, WORKLOAD, hedgerow.PureDP(5.0), noise=hedgerow.SeededNoise(0))
SHOWN = {
    "domain": DOMAIN,
    "table": TABLE,
    "workload": WORKLOAD,
    "plan": hedgerow.MWEM().plan(WORKLOAD, hedgerow.PureDP(1.0), total=800),
    "release": RELEASE,
    "records": RELEASE.sample(30, seed=0),
    "answer": RELEASE.answer("age < 30"),
    "comparison": hedgerow.compare(TABLE, WORKLOAD, [hedgerow.PureDP(1.0)], ["mwem"], repeats=1, seed=0),
    "synthesis": hedgerow.synthesize(ROWS, domain=DOMAIN, seed=0),
}


@pytest.mark.parametrize("name", SHOWN)
def test_html_escapes_every_text_and_names_nothing_outside(name: str) -> None:
    page: str = SHOWN[name]._repr_html_()
    assert {*re.findall(r"</?(\w+)", page)} <= {"div", "b", "table", "tr", "th", "td"}
    assert "<b>" not in re.sub(r"<b>[^<]*</b>", "", page)
    assert not re.search(r"(src|href|url)\s*[=(]", page.replace("src=&quot;", ""))
    assert page.count("<div") == page.count("</div>")


@pytest.mark.parametrize("name", sorted(set(SHOWN) - {"answer"}))
def test_one_line_is_short(name: str) -> None:
    assert len(repr(SHOWN[name])) < 250
    assert "\n" not in repr(SHOWN[name])


def test_a_private_table_shows_its_domain_alone() -> None:
    def shown(rows: pa.Table) -> tuple[str, str]:
        table = hedgerow.read_table(rows, DOMAIN)
        return repr(table), table._repr_html_()

    assert shown(ROWS) == shown(ROWS.slice(0, 3))


def test_a_release_says_guarantee_and_noise() -> None:
    page = RELEASE._repr_html_()
    assert "NOT PRIVATE: seeded" in page
    assert f"{max(each.std for each in RELEASE.measurements):,.4g} counts" in page


def test_what_is_not_private_says_so() -> None:
    assert "NOT PRIVATE" in SHOWN["comparison"]._repr_html_()


def test_records_show_the_values_that_they_have() -> None:
    records: Any = SHOWN["records"]
    page = records._repr_html_()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", page)
    first = [str(value) for row in records.to_arrow().slice(0, 10).to_pylist() for value in row.values()]
    assert [cell.replace("&lt;", "<").replace("&gt;", ">") for cell in cells] == first
    assert "and 20 more" in page


def test_a_long_table_is_cut() -> None:
    rows = [(str(row),) for row in range(MOST_ROWS + 3)]
    page = card("many", (), ("row",), rows, more=3)
    assert page.count("<td") == MOST_ROWS
    assert "and 3 more" in page
    wide = hedgerow.Domain(hedgerow.IntegerRange(f"c{i}", 0, 1) for i in range(MOST_ROWS + 3))
    assert "and 3 more" in wide._repr_html_()
    assert repr(wide).endswith("c7: 2 and 35 more)")


def test_a_draft_is_called_one() -> None:
    made = hedgerow.synthesize(ROWS, accept_draft=True, seed=0)
    assert "draft" in repr(made.release.domain)
    assert "Draft" in made.release.domain._repr_html_()
