"""Comparisons: exact errors, refusals that stop nobody, files that survive interruptions, and labels everywhere."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hedgerow import MWEM, svd_bound
from hedgerow.comparison import (
    METRICS,
    Comparison,
    Outcome,
    ProductTables,
    Step,
    Yardstick,
    compare,
    headings_of,
    interval,
    notes_of,
    rows_of,
    title_of,
)
from hedgerow.comparison.journal import COLUMNS
from hedgerow.comparison.presentation import significant
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram
from hedgerow.privacy import GDP, ZCDP, ApproxDP, PureDP, Regime, budget_from_dict
from hedgerow.queries import Workload
from tests.privacy.tables import DenseCounts

DOMAIN = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2), IntegerRange("c", 0, 1)))
WORKLOAD = Workload.marginals(DOMAIN, 2)
MIXED = Workload.parse("marginals:2; cells:1; where: a = 1 and b < 2", DOMAIN)
BUDGETS = [PureDP(0.5), PureDP(5.0)]


def table(seed: int = 0) -> DenseCounts:
    generator = np.random.default_rng(seed)
    return DenseCounts(DOMAIN, generator.multinomial(2000, generator.dirichlet(np.full(DOMAIN.size, 0.5))))


def tiny(**options: object) -> Comparison:
    arguments: dict[str, object] = {"repeats": 2, "seed": 3, **options}
    return compare(table(), WORKLOAD, BUDGETS, ["mwem:rounds=2", "laplace", "gaussian"], **arguments)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return tiny()


# Errors


def test_errors_are_those_of_the_definition() -> None:
    source, model = table(), Histogram(DOMAIN, 1234.0)
    found = Yardstick(source, MIXED).errors(MIXED.answers(model), model.total)
    gaps = np.abs(MIXED.answers(model) / 1234.0 - MIXED.answers(source) / 2000.0)
    sizes = [6, 4, 6]  # two-way marginals: half of the sum; the rest one by one
    marginals = [0.5 * part.sum() for part in np.split(gaps[:16], np.cumsum(sizes)[:-1])]
    expected = np.array([*marginals, *gaps[16:]])
    assert found["mean"] == pytest.approx(expected.mean(), abs=1e-12)
    assert found["largest"] == pytest.approx(expected.max(), abs=1e-12)
    assert found["rmse"] == pytest.approx(math.sqrt(np.mean(gaps**2)), abs=1e-12)


def test_exact_answers_have_no_error_whatever_number_of_records_they_speak_of() -> None:
    answers = WORKLOAD.answers(table())
    for factor in (1.0, 0.01):
        errors = Yardstick(table(), WORKLOAD).errors(factor * answers, factor * 2000.0)
        assert max(errors.values()) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("spec", ["marginals:2", "cells:3", "prefixes:b", "where: a = 1 and b in (0, 2)"])
def test_the_uniform_guess_is_that_of_a_fresh_hypothesis(spec: str) -> None:
    workload = Workload.parse(spec, DOMAIN)
    yardstick = Yardstick(table(), workload)
    expected = yardstick.errors(workload.answers(Histogram(DOMAIN, 7.0)), 7.0)
    assert yardstick.uniform() == pytest.approx(expected)


def test_independent_attributes_are_right_about_each_attribute_and_about_nothing_else() -> None:
    assert Yardstick(table(), Workload.marginals(DOMAIN, 1)).independent()["largest"] == pytest.approx(0.0, abs=1e-12)
    assert Yardstick(table(), WORKLOAD).independent()["mean"] > 0.01
    shares = [np.array([0.2, 0.8]), np.array([0.5, 0.2, 0.3]), np.array([0.6, 0.4])]
    product = ProductTables(DOMAIN, shares)
    (whole,) = product.marginals([DOMAIN.names])
    dense = DenseCounts(DOMAIN, np.round(1000 * whole))
    for spec in ("cells:2", "where: a = 1 and b in (0, 2), c = 0"):
        workload = Workload.parse(spec, DOMAIN)
        assert np.allclose(1000 * workload.answers(product), workload.answers(dense))


def test_a_table_without_records_is_refused() -> None:
    with pytest.raises(ConfigError, match="no record"):
        Yardstick(DenseCounts(DOMAIN, np.zeros(DOMAIN.size, dtype=np.int64)), WORKLOAD)


def test_the_bound_is_that_of_the_workload_as_a_share_of_the_records(comparison: Comparison) -> None:
    for budget in BUDGETS:
        assert comparison.bounds[budget] == pytest.approx(svd_bound(WORKLOAD, budget).rmse / 2000)
    rows = [each for each in comparison.to_dict()["averages"] if "bound" in each["mechanism"]]
    assert [(each["epsilon"], each["average"]) for each in rows] == [(b.epsilon, comparison.bounds[b]) for b in BUDGETS]


# The grid


def test_every_mechanism_runs_with_every_budget_and_what_cannot_run_is_told_once(comparison: Comparison) -> None:
    found = {(each.mechanism, each.budget, each.repeat): each for each in comparison.outcomes}
    for name in ("mwem:rounds=2", "laplace"):
        for budget in BUDGETS:
            assert all(found[name, budget, repeat].ran for repeat in (1, 2))
    refused = [each for each in comparison.outcomes if not each.ran]
    assert [(each.mechanism, each.budget, each.repeat) for each in refused] == [("gaussian", b, 1) for b in BUDGETS]
    assert all("not purely private" in each.reason for each in refused)
    assert comparison.series == ["mwem:rounds=2", "laplace", "laplace (raw answers)"]


def test_more_budget_means_less_error(comparison: Comparison) -> None:
    means = {(each.mechanism, each.budget): each.mean for each in comparison.summaries if each.metric == "mean"}
    for name in comparison.series:
        assert means[name, BUDGETS[1]] < means[name, BUDGETS[0]]


def test_a_seed_gives_the_same_figures_and_every_run_noise_of_its_own(comparison: Comparison) -> None:
    again = tiny()
    assert [each.errors for each in again.outcomes] == [each.errors for each in comparison.outcomes]
    figures = [each.errors["rmse"] for each in comparison.outcomes if each.ran]
    assert len(set(figures)) == len(figures)
    other = tiny(seed=4)
    assert other.outcomes[0].errors != comparison.outcomes[0].errors


def test_a_seed_also_seeds_the_public_randomness_of_an_algorithm() -> None:
    name = "dual-query:rounds=4:samples=5:step=0.5"
    one, two = (compare(table(), WORKLOAD, [PureDP(5.0)], [name], repeats=2, seed=3) for _ in range(2))
    assert [each.errors for each in one.outcomes] == [each.errors for each in two.outcomes]
    assert one.outcomes[0].errors != one.outcomes[1].errors


def test_without_a_seed_the_noise_is_secure(monkeypatch: pytest.MonkeyPatch) -> None:
    secure: list[bool] = []
    run = MWEM.run_with

    def spy(self: MWEM, curator: object, *arguments: object) -> object:
        secure.append(curator.secure)  # type: ignore[attr-defined]
        return run(self, curator, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(MWEM, "run_with", spy)
    compare(table(), WORKLOAD, [PureDP(1.0)], ["mwem:rounds=1"], repeats=1)
    compare(table(), WORKLOAD, [PureDP(1.0)], ["mwem:rounds=1"], repeats=1, seed=1)
    assert secure == [True, False]


def test_configurations_may_be_given_by_names_of_ones_own() -> None:
    found = compare(table(), WORKLOAD, [ZCDP(0.1)], {"mine": MWEM(rounds=1)}, repeats=1, seed=0)
    assert found.series == ["mine"]


def test_progress_tells_what_is_about_to_run() -> None:
    steps: list[Step] = []
    compare(table(), WORKLOAD, BUDGETS, ["mwem:rounds=1", "gaussian"], repeats=2, seed=0, progress=steps.append)
    assert [step.text for step in steps] == [
        *("mwem:rounds=1, epsilon 0.5, run 1", "gaussian, epsilon 0.5, run 1"),
        *("mwem:rounds=1, epsilon 5, run 1", "gaussian, epsilon 5, run 1"),
        *("mwem:rounds=1, epsilon 0.5, run 2", "mwem:rounds=1, epsilon 5, run 2"),
    ]
    assert [step.done for step in steps] == [0, 1, 2, 3, 4, 6]
    assert {step.runs for step in steps} == {8}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare(table(), WORKLOAD, [], ["mwem"]), "none was given"),
        (lambda: compare(table(), WORKLOAD, [PureDP(1.0), ZCDP(1.0)], ["mwem"]), "2 kinds"),
        (lambda: compare(table(), WORKLOAD, [PureDP(1.0), PureDP(1.0, "replace")], ["mwem"]), "2 kinds"),  # type: ignore[arg-type]
        (lambda: compare(table(), WORKLOAD, [ApproxDP(1.0, 1e-6), ApproxDP(2.0, 1e-6, regime="gdp")], ["mwem"]), "gdp"),  # type: ignore[arg-type]
        (
            lambda: compare(table(), WORKLOAD, [ApproxDP(e, 1e-6, thresholds=e * 1e-7) for e in (1.0, 2.0)], ["mwem"]),
            "of it for",
        ),
        (lambda: compare(table(), WORKLOAD, [PureDP(1.0), PureDP(1.0)], ["mwem"]), "given twice"),
        (lambda: compare(table(), WORKLOAD, [PureDP(1.0)], []), "no mechanism"),
        (lambda: compare(table(), WORKLOAD, [PureDP(1.0)], "mwem"), "expected a list of mechanisms"),
        (lambda: compare(table(), WORKLOAD, [PureDP(1.0)], ["mwme"]), "did you mean 'mwem'"),
        (lambda: compare(table(), WORKLOAD, [PureDP(1.0)], ["mwem"], repeats=0), "got 0"),
        (lambda: compare(table(), WORKLOAD, [PureDP(1.0)], [MWEM()]), "got a MWEM"),  # type: ignore[list-item]
        (lambda: compare(table(), WORKLOAD, PureDP(1.0), ["mwem"]), "expected a list of budgets"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_remedy(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        call()
    assert caught.value.remedy


# Tables


def test_the_interval_of_a_mean_is_positive_and_covers_as_often_as_it_says() -> None:
    """400 averages of five gamma variables; 92% to 98% covered: fails for honest coverage of 95% in 2 of 100 cases."""
    generator = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        _, low, high = interval((0.02 * generator.gamma(20.0, size=5) / 20.0).tolist())
        assert 0.0 < low <= high
        covered += low <= 0.02 <= high
    assert 0.92 <= covered / 400 <= 0.98
    assert interval([0.0, 0.0]) == (0.0, 0.0, 0.0)


def test_the_arrow_table_has_one_row_per_error_and_every_row_is_labelled(comparison: Comparison) -> None:
    rows = comparison.to_arrow()
    assert tuple(rows.column_names) == COLUMNS
    assert set(rows.column("label").to_pylist()) == {"not private"}
    models, raw, refused = 2 * 2 * 2 * len(METRICS), 2 * 2 * len(METRICS), 2
    assert rows.num_rows == models + raw + refused
    assert {row["reason"] == "" for row in rows.to_pylist() if row["value"] is None} == {False}


def test_every_row_has_its_whole_budget() -> None:
    """A mu, a regime and a delta for thresholds stand in no other column."""
    for budget in (GDP(0.5), ApproxDP(1.0, 1e-6, regime=Regime.GDP, thresholds=5e-7)):
        found = compare(table(), WORKLOAD, [budget], ["gaussian"], repeats=1)
        assert {budget_from_dict(json.loads(row["budget"])) for row in found.summary().to_pylist()} == {budget}
        assert {budget_from_dict(row["budget"]) for row in found.to_dict()["averages"]} == {budget}


def test_the_summary_averages_the_rows(comparison: Comparison) -> None:
    rows = comparison.to_arrow().to_pylist()
    for each in comparison.summary().to_pylist():
        if each["runs"]:
            raw = each["mechanism"].endswith("(raw answers)")
            name = each["mechanism"].removesuffix(" (raw answers)")
            values = [
                row["value"]
                for row in rows
                if (row["mechanism"], str(row["epsilon"]), row["metric"], row["of"] == "raw answers")
                == (name, each["epsilon"], each["metric"], raw)
            ]
            assert each["average"] == pytest.approx(np.mean(values))
            assert each["low"] <= each["average"] <= each["high"]


def test_words_say_what_the_figures_are_and_why_some_are_missing(comparison: Comparison) -> None:
    assert title_of(comparison).startswith("NOT PRIVATE: total variation distance, mean (largest) over marginals:2")
    assert headings_of(comparison) == ["mechanism", "epsilon 0.5", "epsilon 5", "seconds a run"]
    first, *others = rows_of(comparison)
    assert first[0] == "mwem:rounds=2"
    assert re.fullmatch(r"0\.\d+ \(0\.\d+\)", first[1])
    assert [row[0] for row in others] == [
        *("laplace", "laplace (raw answers)", "gaussian", "(uniform)", "(independent attributes)"),
    ]
    assert notes_of(comparison) == [
        "gaussian did not run with epsilon 0.5, epsilon 5: Gaussian noise is not purely private"
    ]


def test_numbers_are_short_and_have_no_exponent() -> None:
    assert [significant(value) for value in (0.123456, 1e-6, 123.4)] == ["0.123", "0.00000100", "123"]


def test_a_single_run_has_no_interval_and_says_so() -> None:
    found = compare(table(), WORKLOAD, [ApproxDP(1.0, 1e-6)], ["gaussian"], repeats=1, seed=0)
    assert all(each.low == each.mean == each.high for each in found.summaries)
    assert "average of 1 run" in title_of(found)
    assert "delta = 1e-06" in found.plot()


# Files


def read_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


class Stopped(Exception):
    """What an interruption looks like."""


def stop_after(runs: int) -> Callable[[Step], None]:
    def progress(step: Step) -> None:
        if step.done >= runs:
            raise Stopped

    return progress


def figures(comparison: Comparison) -> list[tuple[object, ...]]:
    return [(o.mechanism, o.budget, o.repeat, dict(o.errors), o.raw, o.reason) for o in comparison.outcomes]


@pytest.mark.parametrize("cut", [0, 1, 40, 200])
def test_an_interrupted_comparison_goes_on_where_it_stopped(comparison: Comparison, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "c.csv"
    with pytest.raises(Stopped):
        tiny(path=path, progress=stop_after(4))
    text = path.read_text()
    path.write_text(text[: len(text) - cut])  # as if the last outcome had been written in part
    steps: list[Step] = []
    resumed = tiny(path=path, resume=True, progress=steps.append)
    assert figures(resumed) == figures(comparison)
    assert steps[0].mechanism == "gaussian"  # what could not run is tried again
    assert len(steps) < 9
    whole = tmp_path / "whole.csv"
    comparison.write_csv(whole)

    def without_times(file: Path) -> list[tuple[str, ...]]:
        return sorted(tuple(row[name] for name in COLUMNS if name != "seconds") for row in read_rows(file))

    assert without_times(path) == without_times(whole)


def test_a_finished_comparison_can_be_extended(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    first = compare(table(), WORKLOAD, BUDGETS[:1], ["laplace"], repeats=1, seed=3, path=path)
    steps: list[Step] = []
    more = compare(
        table(),
        WORKLOAD,
        BUDGETS,
        ["mwem:rounds=1", "laplace"],
        2,
        seed=3,
        path=path,
        resume=True,
        progress=steps.append,
    )
    assert len(steps) == 7
    assert figures(first)[0] in figures(more)
    less = compare(table(), WORKLOAD, BUDGETS[1:], ["laplace"], 1, seed=3, path=path, resume=True)
    assert [(each.mechanism, each.budget) for each in less.outcomes] == [("laplace", BUDGETS[1])]


def test_without_resume_a_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    for _ in range(2):
        compare(table(), WORKLOAD, BUDGETS[:1], ["laplace"], repeats=1, seed=3, path=path)
    assert len(read_rows(path)) == 2 * len(METRICS)


def test_a_failure_that_is_a_bug_is_not_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(MWEM, "run_with", fail)
    with pytest.raises(ZeroDivisionError):
        compare(table(), WORKLOAD, BUDGETS[:1], ["mwem"], repeats=1)


@pytest.mark.parametrize("budget", [PureDP(0.3), ZCDP(0.07, "replace"), ApproxDP(0.1, 1e-9)])  # type: ignore[arg-type]
def test_budgets_and_figures_come_back_from_the_file_exactly(budget: PureDP, tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    first = compare(table(), MIXED, [budget], ["laplace"], repeats=1, seed=3, path=path)
    steps: list[Step] = []
    again = compare(table(), MIXED, [budget], ["laplace"], 1, seed=3, path=path, resume=True, progress=steps.append)
    assert steps == []
    assert figures(again) == figures(first)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workload": Workload.marginals(DOMAIN, 1)}, "workload 'marginals:2', not 'marginals:1'"),
        ({"seed": None}, "seed '3', not 'none'"),
        ({"source": DenseCounts(DOMAIN, np.full(DOMAIN.size, 2))}, "records '2000', not '24'"),
    ],
)
def test_a_file_of_another_comparison_is_left_alone(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "c.csv"
    arguments: dict[str, object] = {
        "source": table(),
        "workload": WORKLOAD,
        "budgets": BUDGETS,
        "algorithms": ["laplace"],
        "repeats": 1,
        "seed": 3,
        "path": path,
    }
    compare(**arguments)  # type: ignore[arg-type]
    before = path.read_text()
    with pytest.raises(ConfigError, match=message):
        compare(**{**arguments, **change, "resume": True})  # type: ignore[arg-type]
    assert path.read_text() == before


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", ",".join(COLUMNS) + "\n" + "not private,marginals:2,2000,3,x,one" + "," * 10 + "\n"]
)
def test_a_file_that_holds_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"holds no comparison|is damaged"):
        tiny(path=path, resume=True)
    assert path.read_text() == text


def test_outcomes_carry_the_label() -> None:
    assert Outcome.label == Comparison.label == "not private"
