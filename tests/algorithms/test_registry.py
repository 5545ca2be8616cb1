"""Every algorithm that can be named keeps the promises of the registry and of the protocol, from plan to report."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from hedgerow import DualQuery
from hedgerow.algorithms import ENTRIES, BruteForce, Entry, MixedInteger, TabuSearch, entry, names
from hedgerow.algorithms.registry import ONLINE, made_by, parse
from hedgerow.errors import ConfigError, HedgerowError
from hedgerow.privacy import GDP, ApproxDP, Budget, PureDP, Regime, SeededNoise
from hedgerow.queries import Workload
from hedgerow.release import Release, release_warnings
from hedgerow.report import render_report
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(3)
WORKLOAD = Workload.marginals(DOMAIN, 2)
BUDGETS: dict[Regime, Budget] = {Regime.PURE: PureDP(1.0), Regime.ZCDP: ApproxDP(1.0, 1e-6), Regime.GDP: GDP(0.24)}
EACH = pytest.mark.parametrize("each", ENTRIES, ids=lambda each: each.name)
RUNS = [pytest.param(each, regime, id=f"{each.name}-{regime}") for each in ENTRIES for regime in each.regimes]


def table() -> DenseCounts:
    return DenseCounts(DOMAIN, np.array([300, 20, 40, 140, 60, 10, 30, 400]))


def test_names_are_words_joined_by_hyphens_and_each_once() -> None:
    assert len(set(names())) == len(names())
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names())


@EACH
def test_options_are_fields_and_summaries_are_sentences_without_a_stop(each: Entry) -> None:
    known = {field.name for field in fields(each.make())}  # type: ignore[arg-type]  # all are dataclasses
    assert set(each.options) | {name for name, _ in each.fixed} <= known
    assert not each.summary.endswith(".")


@EACH
def test_the_stated_regimes_are_those_that_it_can_be_run_under(each: Entry) -> None:
    for regime in Regime:
        if regime in each.regimes:
            each.make().check(WORKLOAD, regime)
        else:
            with pytest.raises(ConfigError) as caught:
                each.make().check(WORKLOAD, regime)
            assert caught.value.remedy


@pytest.mark.parametrize(("each", "regime"), RUNS)
def test_plans_can_be_read(each: Entry, regime: Regime) -> None:
    plan = each.make().plan(WORKLOAD, BUDGETS[regime], 1000.0)
    assert plan.fits
    assert plan.to_dict()
    for word, sentence in plan.lines(1000.0):
        assert len(word) <= 8
        assert sentence


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(("each", "regime"), RUNS)
def test_runs_end_in_a_release_that_is_saved_sampled_and_reported(each: Entry, regime: Regime, tmp_path: Path) -> None:
    told: list[float] = []
    release = each.make().run(
        table(), WORKLOAD, BUDGETS[regime], noise=SeededNoise(0), progress=lambda report: told.append(report.spent)
    )
    assert 0.0 < release.spent <= release.budget.limit * (1 + 1e-12)
    assert release.budget.approximate(1e-6) == BUDGETS[regime].approximate(1e-6)
    assert told == sorted(told)
    assert told
    release.save(tmp_path / "made.release")
    loaded = Release.load(tmp_path / "made.release")
    assert loaded.provenance.parameters == release.provenance.parameters
    assert np.allclose(WORKLOAD.answers(loaded.model), WORKLOAD.answers(release.model))
    assert len(loaded.sample(50)) == 50
    assert loaded.answer("a = 1").value >= 0.0
    assert "NOT PRIVATE: seeded" in render_report(loaded)


def test_unknown_names_and_options_are_told_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match="did you mean 'gaussian'") as caught:
        entry("gausian")
    assert all(name in caught.value.remedy for name in names())
    with pytest.raises(ConfigError, match="mwem takes no option 'alpha'") as caught:
        parse("mwem:alpha=0.1")
    assert "mwem takes rounds" in caught.value.remedy
    with pytest.raises(ConfigError, match="is not an option"):
        parse("mwem:30")
    with pytest.raises(HedgerowError):
        parse("mwem:rounds=many")


def test_texts_with_options_are_read() -> None:
    assert parse("mwem: rounds = 7 : selection_share=0.25").parameters()["selection_share"] == 0.25
    assert parse("mwem:rounds=bound").parameters()["rounds"] == "bound"
    assert parse("laplace").parameters()["noise"] == "laplace"


BAD = ("x", "", "true", "1e400", "12345678901234567890", "-1", "0", "nan", "1e-300", "[1]")


@pytest.mark.parametrize(
    ("each", "option"),
    [(each, option) for each in ENTRIES for option in each.options],
    ids=lambda part: str(getattr(part, "name", part)),
)
def test_bad_values_of_options_are_refused_with_a_remedy_or_run(each: Entry, option: str) -> None:
    remedies = list[str]()
    for value in BAD:
        try:
            made = each.make({option: each.option(option).read(value)})
            made.plan(WORKLOAD, BUDGETS[each.regimes[-1]], 1000.0)
            made.run(table(), WORKLOAD, BUDGETS[each.regimes[-1]], noise=SeededNoise(0))
        except HedgerowError as error:
            remedies.append(error.remedy)
    assert len(remedies) >= 5
    assert all(remedies)


@pytest.mark.parametrize("option", ONLINE.options)
def test_bad_values_of_options_of_sessions_are_refused_with_a_remedy_or_taken(option: str) -> None:
    remedies = list[str]()
    for value in BAD:
        try:
            ONLINE.make({option: ONLINE.option(option).read(value)})
        except HedgerowError as error:
            remedies.append(error.remedy)
    assert len(remedies) >= 5
    assert all(remedies)


ORACLES = {
    "tabu-search": TabuSearch(),
    "tabu-search(3)": TabuSearch(restarts=3),
    "brute-force(64)": BruteForce(cells=64),
    "mixed-integer(0.5)": MixedInteger(seconds=0.5),
}


@pytest.mark.parametrize("text", ORACLES)
def test_oracles_of_dual_query_have_words_and_are_restored_from_a_release(text: str) -> None:
    made = parse(f"dual-query:rounds=2,oracle={text}")
    assert made == DualQuery(rounds=2, oracle=ORACLES[text])
    release = made.run(table(), WORKLOAD, PureDP(1.0), noise=SeededNoise(0))
    assert made_by("DualQuery", release.provenance.parameters) == made


@pytest.mark.parametrize(
    "bad", ["tabu-search(0)", "tabu-search(1.5)", "mixed-integer(nan)", "brute-force(1e99)", "best"]
)
def test_bad_oracles_are_refused_with_a_remedy(bad: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(f"dual-query:oracle={bad}")
    assert caught.value.remedy


def test_every_option_says_what_it_takes_and_reads_its_own_default() -> None:
    for each in (*ENTRIES, ONLINE):
        assert re.search(r"(19|20)[0-9]{2}$", each.source)
        for option in each.options.values():
            assert option.meaning
            assert option.values
            assert each.make({option.name: option.read(option.written)}) == each.make()
    for each in (*ENTRIES, ONLINE):
        every = {field.name for field in fields(each.make())}  # type: ignore[arg-type]  # all are dataclasses
        assert every - set(each.options) - {name for name, _ in each.fixed} <= {"prior"}
    assert parse("mwem:refit=sweeps(7),rounds=1e3,repeats=true").parameters()["refit"]["sweeps"] == 7
    with pytest.raises(ConfigError, match="there twice"):
        parse("mwem:rounds=3:rounds=4")


def test_what_is_weak_is_warned_of_before_and_after_a_run() -> None:
    (unspent,) = entry("pmw").make().warnings(WORKLOAD)
    assert "mwem would have spent it" in unspent
    (few,) = entry("small-db").make({"size": 3}).warnings(WORKLOAD)
    assert few.startswith("databases of 3 records")
    assert not entry("small-db").make({"size": 5_000}).warnings(WORKLOAD)
    assert not entry("mwem").make().warnings(WORKLOAD)
    stopped = entry("pmw").make({"alpha": 0.4}).run(table(), WORKLOAD, PureDP(1.0), noise=SeededNoise(0))
    assert release_warnings(stopped)[0].endswith("the rest bought no accuracy")
    mwem, far = entry("mwem").make(), Workload.marginals(DOMAIN, 3)
    assert not release_warnings(mwem.run(table(), far, PureDP(1.0), noise=SeededNoise(0)))
    one = entry("small-db").make({"size": 1}).run(table(), far, PureDP(1.0), noise=SeededNoise(0))
    assert "in the wrong cell" in release_warnings(one)[0]
