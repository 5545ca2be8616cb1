"""The drawing and the page of a comparison: legible without colours, the same everywhere, labelled, self-contained."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hedgerow.algorithms import names
from hedgerow.comparison import Comparison, Outcome, Setting
from hedgerow.errors import ConfigError, MissingExtraError
from hedgerow.privacy import PureDP
from hedgerow.report.curves import CURVE_STYLES, curve_styles
from tests.report.test_report import Page

HOSTILE = "<script>alert('&')</script> $x$"


def made(*mechanisms: str, runs: int = 3, budgets: tuple[float, ...] = (0.1, 1.0)) -> Comparison:
    setting = Setting("marginals:2", 1000, "epsilon, add-remove", None, "total variation distance")
    outcomes = [
        Outcome(
            name, PureDP(epsilon), run, {m: (place + 1) / epsilon / run / 100 for m in ("mean", "largest", "rmse")}, 1.0
        )
        for run in range(1, runs + 1)
        for epsilon in budgets
        for place, name in enumerate(mechanisms)
    ]
    refused = Outcome("gaussian", PureDP(1.0), 1, {}, 0.0, reason="not <purely> private")
    return Comparison(setting, (*outcomes, refused), {"uniform": {"mean": 0.5, "largest": 0.8, "rmse": 0.1}})


def texts_of(drawing: str) -> set[str]:
    return {
        "".join(element.itertext()).strip()
        for element in ElementTree.fromstring(drawing).iter()
        if element.tag.endswith("text")
    }


def test_every_named_mechanism_has_a_colour_a_marker_and_a_line_of_its_own() -> None:
    assert set(names()) <= set(CURVE_STYLES)
    for part in ("colour", "marker", "dashes"):
        assert len({getattr(style, part) for style in CURVE_STYLES.values()}) == len(CURVE_STYLES)


def test_a_bound_is_seen_with_one_budget_too() -> None:
    without = made("mwem", budgets=(1.0,))
    bounded = dataclasses.replace(without, bounds={PureDP(1.0): 0.001})
    assert bounded.plot().count("<use") >= without.plot().count("<use") + 2  # in the panel, and in the legend


def contrast(one: str, other: str) -> float:
    """Of WCAG 2."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("paper", ["#ffffff", "#15191e"])
def test_every_colour_is_seen_on_white_and_on_dark_paper(paper: str) -> None:
    styles = [*CURVE_STYLES.values(), *curve_styles(["one", "two", "three", "four", "five", "six"]).values()]
    assert all(contrast(style.colour, paper) >= 3.0 for style in styles)


def test_a_mechanism_looks_the_same_in_every_drawing() -> None:
    alone = curve_styles(["laplace"])["laplace"]
    assert curve_styles(["mwem", "pmw", "laplace"])["laplace"] == alone == CURVE_STYLES["laplace"]
    variant = curve_styles(["laplace", "laplace:by=query", "laplace (raw answers)"])
    assert {(style.colour, style.marker) for style in variant.values()} == {(alone.colour, alone.marker)}
    assert len({(style.filled, str(style.dashes)) for style in variant.values()}) == 3


def test_mechanisms_of_ones_own_are_told_apart() -> None:
    found = curve_styles(["one", "two", "three", "four", "five", "six"])
    assert len({style.marker for style in found.values()}) == 6
    assert not {style.marker for style in found.values()} & {style.marker for style in CURVE_STYLES.values()}


def test_the_drawing_names_axes_units_mechanisms_references_and_the_label() -> None:
    drawing = made("mwem", "laplace", "mine").plot()
    assert drawing.startswith("<?xml")
    found = texts_of(drawing)
    assert "NOT PRIVATE: exact errors, for public or test data only" in found
    assert {"mean error", "largest error", "total variation distance", "privacy budget epsilon"} <= found
    assert {"mwem", "laplace", "mine", "uniform", "band: 95% for the average of 3 runs"} <= found
    assert {"0.1", "1"} <= found
    assert "gaussian" not in found


def test_the_drawing_is_a_file_of_its_own_without_scripts_or_fonts_from_elsewhere() -> None:
    drawing = made("mwem").plot()
    assert "script" not in drawing
    addresses = set(re.findall(r"https?://[^\"' ]+", drawing))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "#01020" not in drawing  # no placeholder of a colour is left
    assert drawing == made("mwem").plot()


@pytest.mark.slow
def test_one_budget_and_one_run_can_be_drawn() -> None:
    for runs, words in ((1, "average of 1 run"), (2, "average of 2 runs")):
        assert words in texts_of(made("mwem", runs=runs, budgets=(1.0,)).plot())


def test_the_bound_of_matrix_mechanisms_has_a_panel_where_it_is_known() -> None:
    known = dataclasses.replace(made("mwem"), bounds={PureDP(0.1): 0.02, PureDP(1.0): 0.002})
    assert {"bound of matrix mechanisms", "root mean square error"} <= texts_of(known.plot())
    assert not {"bound of matrix mechanisms", "root mean square error"} & texts_of(made("mwem").plot())


def test_the_page_is_labelled_and_names_are_escaped(tmp_path: Path) -> None:
    made("mwem", HOSTILE).write_page(tmp_path / "c.html")
    text = (tmp_path / "c.html").read_text()
    page = Page(text)
    assert text.index("NOT PRIVATE") < text.index("<h1>")
    assert "<title>NOT PRIVATE" in text
    assert "script" not in page.tags
    words = " ".join(page.text)
    assert HOSTILE in words
    assert "gaussian did not run with epsilon 1: not <purely> private" in words
    assert not re.findall(r"https?://", text)


def test_where_nothing_could_run_there_is_nothing_to_draw() -> None:
    with pytest.raises(ConfigError, match="nothing to draw"):
        made().plot()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.report.page.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="jinja2 and matplotlib"):
        made("mwem").plot()
