"""Criteria as they are written, and verdicts as the noise allows them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM, PureDP, SeededNoise, Table, Workload
from hedgerow.domain import Categorical, Domain, IntegerRange
from hedgerow.errors import BudgetError, ConfigError, QueryError
from hedgerow.privacy import GaussianNoise, LaplaceNoise, NoisyError
from hedgerow.queries import Neighbours
from hedgerow.release import Criteria, Criterion, Verdict, all_held, verdicts_sentence
from tests.privacy.mutants import Mutant, killed
from tests.release.made import DOMAIN

NOISES = (LaplaceNoise(3.0, 1.0, 2.0**-10), GaussianNoise(3.0, 1.0, 2.0**-10), LaplaceNoise(0.4, 1.0, 0.25))


def verdict(value: float, limit: float, noise: Any = NOISES[0], slack: float = 0.0) -> Verdict:
    return Verdict(Criterion("share", "age < 3", 0.1), NoisyError(value, noise, 1.0), limit, slack)


def at_or_below(noise: Any, reach: float) -> float:
    """Probability of noise of at most -reach, summed up."""
    steps = np.arange(-math.ceil(60 * noise.scale / noise.step), math.ceil(60 * noise.scale / noise.step) + 1)
    sizes = np.abs(steps) * noise.step / noise.scale
    law = np.exp(-sizes if isinstance(noise, LaplaceNoise) else -0.5 * sizes**2)
    return float(law[steps * noise.step <= -reach + 1e-9].sum() / law.sum())


def a_verdict_is_wrong_as_seldom_as_it_says() -> None:
    """Exactly: where the error is just beyond the bound, "held" has a probability of 5 % at most, and not far less."""
    for noise in NOISES:
        places = np.arange(-60.0, 60.0, noise.step if noise.step > 2.0**-4 else 2.0**-4)
        held = [place for place in places if verdict(100.0 + place, 100.0, noise).outcome == "held"]
        wrong = at_or_below(noise, -max(held) + noise.step)  # beyond the bound by less than a step
        assert 0.01 < wrong <= 0.05, (noise, wrong)
        missed = [place for place in places if verdict(100.0 + place, 100.0, noise).outcome == "not held"]
        assert at_or_below(noise, min(missed)) <= 0.05


def a_chosen_verdict_is_wrong_as_seldom() -> None:
    """Exactly: where the error is just beyond the bound, "held" is released with a probability of 5 % at most."""
    for noise, tries in itertools.product(NOISES[:2], (2, 10, 100)):
        places = np.arange(-60.0, 60.0, 2.0**-4)
        chosen = [replace(verdict(100.0 + place, 100.0, noise), tries=tries) for place in places]
        held = [place for place, each in zip(places, chosen, strict=True) if each.outcome == "held"]
        wrong = at_or_below(noise, -max(held) + noise.step)
        released = wrong / (1.0 / tries + (1.0 - 1.0 / tries) * wrong)
        assert 0.02 < released <= 0.05, (noise, tries, released)


def rounding_is_on_the_safe_side() -> None:
    slack = next(slack for slack in (0.5, 2.0) if slack)
    apart = [verdict(90.0, 90.0 + gap, slack=slack).outcome for gap in (7.0, 7.0 + slack)]
    assert apart == ["cannot say", "held"]
    assert verdict(97.0 + slack, 90.0, slack=slack).outcome == "not held"
    assert verdict(97.0, 90.0, slack=slack).outcome == "cannot say"


def test_verdicts_keep_their_confidence() -> None:
    a_verdict_is_wrong_as_seldom_as_it_says()
    a_chosen_verdict_is_wrong_as_seldom()
    rounding_is_on_the_safe_side()


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_the_confidence_is_the_largest_that_the_noise_shows(noise: Any) -> None:
    for gap in (0.0, 1.0, 4.0, 9.0):
        each = verdict(100.0 - gap * noise.scale / 3.0, 100.0, noise)
        reach = gap * noise.scale / 3.0
        if each.held:
            assert 1.0 - at_or_below(noise, reach + noise.step) >= each.held - 1e-6
        assert (each.held >= 0.95) == (each.outcome == "held")
        assert each.held == 0.0 or each.not_held in (0.0, each.held)


def test_criteria_are_read_from_a_file_a_mapping_or_a_list(tmp_path: Path) -> None:
    listed = [
        {"table": "sex * age", "within": 0.02},
        {"share": "age < 3", "within": 0.01},
        {"mean": "age", "within": 1},
    ]
    (tmp_path / "c.yaml").write_text(
        "share: 0.2\ncriteria:\n- table: sex * age\n  within: 0.02\n- {share: age < 3, within: 0.01}\n"
        "- {mean: age, within: 1}\n"
    )
    assert Criteria.of(listed).criteria == Criteria.of(tmp_path / "c.yaml").criteria
    assert Criteria.of(tmp_path / "c.yaml").share == 0.2
    assert Criteria.of(Criteria.of(listed)) == Criteria.of({"criteria": listed})
    Criteria.of(listed).check(DOMAIN)


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        "none.yaml",
        {"criteria": "sex"},
        {"criteria": [{"table": "sex", "within": 0.1}], "sharp": 1},
        {"criteria": [{"table": "sex", "within": 0.1}], "share": 1.0},
        [{"table": "sex"}],
        [{"table": "sex", "share": "age < 3", "within": 0.1}],
        [{"table": "sex", "within": 0}],
        [{"share": "age < 3", "within": 1}],
        [{"table": "sex", "within": True}],
        [{"mean": "age", "within": math.inf}],
        [{"table": 3, "within": 0.1}],
        ["sex within 0.1"],
    ],
)
def test_what_is_no_criterion_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        Criteria.of(wrong)


@pytest.mark.parametrize(
    ("kind", "about"),
    [("table", "2"), ("table", "sex, age"), ("mean", "sex"), ("mean", "income"), ("mean", "no"), ("share", "")],
)
def test_criteria_that_a_domain_does_not_have_are_refused(kind: Any, about: str) -> None:
    with pytest.raises((ConfigError, QueryError)):
        Criterion(kind, about, 0.1).query(DOMAIN)


def test_a_criterion_allows_what_it_says() -> None:
    workload, public = Workload.marginals(DOMAIN, 1), PureDP(5.0, Neighbours.REPLACE)
    table = Table(DOMAIN, list(np.random.default_rng(3).integers(0, DOMAIN.shape, (2_000, 4)).T))
    model = MWEM(rounds=1).run(table, workload, public, noise=SeededNoise(0)).model
    asked, allowed = Criterion("table", "sex * age", 0.1).tested(model)
    assert (asked.n_candidates, asked.n_queries, allowed) == (1, 10, pytest.approx(400.0))
    share, allowed = Criterion("share", "age < 3 or sex = 'Male'", 0.1).tested(model)
    assert (share.n_queries, allowed) == (1, pytest.approx(200.0))
    mean, allowed = Criterion("mean", "age", 0.25).tested(model)
    assert allowed == pytest.approx(500.0)
    assert mean.answers(model)[0] == pytest.approx(0.0, abs=0.01)


def test_a_mean_leaves_records_without_a_number_out() -> None:
    domain = Domain((IntegerRange("age", 10, 12, missing="?"), Categorical("a", ("x", "y"))))
    query = Criterion("mean", "age", 0.25).query(domain, 11.0).candidate(0)
    assert query.values().ravel().tolist() == [-1.0, 0.0, 1.0, 0.0]  # type: ignore[attr-defined]


def test_verdicts_survive_json_and_are_told() -> None:
    found = [verdict(10.0, 100.0), verdict(100.0, 100.0), verdict(200.0, 100.0)]
    assert [Verdict.from_dict(each.to_dict()) for each in found] == found
    assert [each.outcome for each in found] == ["held", "cannot say", "not held"]
    assert verdicts_sentence(found) == "Criteria (3): 1 held; 1 not held; of 1 the noise does not tell."
    assert "cannot say, and that it holds has 50% confidence" in found[1].sentence
    assert "by the noise it may hold or not" in verdict(100.0, 100.0, slack=1.0).sentence
    assert found[0].sentence.startswith("share age < 3 within 0.1: held, with 99.9% confidence (measured 0.01 ±")
    assert not all_held(found)
    joint = verdicts_sentence([verdict(10.0, 100.0)] * 2)
    assert joint == "Criteria (2): 2 held, all of them together with 99.9% confidence."
    assert verdicts_sentence([]) == ""
    for name in ("kind", "error", "limit", "within"):
        with pytest.raises(BudgetError):
            Verdict.from_dict({**found[0].to_dict(), name: None})


def _scaled(factor: float) -> Any:
    def patch(patched: pytest.MonkeyPatch) -> None:
        shows = Verdict._shows

        def wrong(self: Verdict, held: bool, confidence: float) -> bool:
            return shows(self, held, 1.0 - (1.0 - confidence) * factor)

        patched.setattr(Verdict, "_shows", wrong)

    return patch


def _without_slack(patched: pytest.MonkeyPatch) -> None:
    shows = Verdict._shows
    patched.setattr(
        Verdict, "_shows", lambda self, held, sure: shows(verdict(self.error.value, self.limit), held, sure)
    )


def _as_of_one_run(patched: pytest.MonkeyPatch) -> None:
    shows = Verdict._shows
    patched.setattr(Verdict, "_shows", lambda self, held, sure: shows(replace(self, tries=1), held, sure))


MUTANTS = [
    Mutant("a verdict that forgets how many runs there were", _as_of_one_run, a_chosen_verdict_is_wrong_as_seldom),
    Mutant("a verdict with the risk of both sides", _scaled(2.0), a_verdict_is_wrong_as_seldom_as_it_says),
    Mutant("a verdict with a tenth of its risk", _scaled(0.1), a_verdict_is_wrong_as_seldom_as_it_says),
    Mutant("a verdict that forgets rounding", _without_slack, rounding_is_on_the_safe_side),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_verdict_that_promises_something_else_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
