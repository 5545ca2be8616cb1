"""One number everywhere: the hypothesis has the moments and the counts that were measured beside the run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.release.reconciled as room
from hedgerow import synthesize
from hedgerow.models import Markov
from hedgerow.privacy import Curator
from hedgerow.queries import Workload
from hedgerow.release import column_summaries, expected, reconcile, select_from
from tests.privacy.mutants import Mutant, Patch, killed

RNG = np.random.default_rng(5)
SEX = np.where(RNG.random(8_000) < 0.3, "F", "M")
AGE = np.clip(RNG.normal(38 + 6 * (SEX == "F"), 13, 8_000).round(), 16, 99).astype(np.int64)
PAY = np.minimum(np.rint(np.exp(RNG.normal(9.5 + AGE / 80, 0.6))), 199_999).astype(np.int64)
TABLE = pa.table({"sex": SEX, "age": AGE, "pay": PAY})
DOMAIN: Any = {
    "sex": ["F", "M"],
    "age": {"min": 16, "max": 99},
    "pay": {"min": 0, "max": 199_999, "whole": True, "bins": 20},
}
ASKED = "marginals:2; moments: age by sex, pay by sex"
NEEDS = ["SELECT sex, COUNT(*) FROM t GROUP BY sex", "age < 30 and sex = 'F'"]


def made(seed: int = 0, epsilon: float = 0.5, **options: Any) -> Any:
    options = {"workload": ASKED, "needs": NEEDS} | options
    return synthesize(TABLE, epsilon=epsilon, delta=1e-9, domain=DOMAIN, seed=seed, **options)


def one_number_is_told() -> None:
    """In the middle of its interval: answer, report and records; the interval of a mean is not even by some tenths."""
    for seed in range(3):
        synthesis = made(seed)
        release, drawn = synthesis.release, synthesis.records
        reported = {each.attribute.name: each.mean for each in column_summaries(release, ["age", "pay"])}
        for name in ("age", "pay"):
            mean, spread = select_from(release, f"SELECT AVG({name}), STDDEV({name}) FROM t").cells[0]
            for cell in (mean, spread):
                assert cell.low is not None
                assert abs(cell.value - (cell.low + cell.high) / 2.0) < 0.6 * cell.halved
            assert abs(mean.value - (mean.low + mean.high) / 2.0) < 0.1 * mean.halved
            found = reported[name]
            assert found is not None
            assert found.value == pytest.approx(mean.value, rel=1e-9)
            assert abs(float(drawn[name].to_numpy().mean()) - mean.value) < 0.25 * mean.halved


def groups_have_their_numbers() -> None:
    for seed in range(3):
        release = made(seed).release
        for name in ("age", "pay"):
            for (cell,) in select_from(release, f"SELECT sex, AVG({name}) FROM t GROUP BY sex").cells:
                assert abs(cell.value - (cell.low + cell.high) / 2.0) < 0.2 * cell.halved


def counts_are_those_that_were_needed() -> None:
    for seed in range(3):
        release = made(seed).release
        for text in ("sex = 'F'", "age < 30 and sex = 'F'"):
            found = release.answer(text)
            assert abs(found.value - (found.low + found.high) / 2.0) < 0.6 * (found.high - found.low) / 2.0


CHECKS = [one_number_is_told, groups_have_their_numbers, counts_are_those_that_were_needed]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_numbers_agree(check: Any) -> None:
    check()


def _set(owner: Any, name: str, planted: Any) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(owner, name, planted)


MUTANTS = [
    Mutant("means that no hypothesis is moved to", _set(room._Column, "move", lambda *_: 0.0), one_number_is_told),
    Mutant(
        "groups that are moved like all records",
        _set(room, "_asked", lambda release: iter([("age", ()), ("pay", ())])),
        groups_have_their_numbers,
    ),
    Mutant(
        "needed counts that no hypothesis is moved to",
        _set(room, "_move_counts", lambda *_: 0.0),
        counts_are_those_that_were_needed,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_the_error_is_that_of_the_hypothesis_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals rest on it, so that nothing may be moved after it was measured."""
    measured, judged = Curator.workload_error, list[Any]()

    def watched(self: Curator, workload: Workload, answers: Any, charge: float) -> Any:
        judged.append(answers.copy())
        return measured(self, workload, answers, charge)

    monkeypatch.setattr(Curator, "workload_error", watched)
    release = made().release
    np.testing.assert_array_equal(judged[-1], release.workload.answers(release.model))


def test_groups_keep_their_counts_and_tables_without_the_column_nearly_all_of_theirs() -> None:
    release = made(needs=()).release
    before, moved = release.model.marginals([("sex",), ("sex", "age")]), replace(release, model=release.model.copy())
    ages = tuple(replace(each, values=each.values + 200.0) for each in release.positions if "age" in each.target.scope)
    assert len(ages) == 1
    reconcile(replace(moved, positions=ages))
    after = moved.model.marginals([("sex",), ("sex", "age")])
    assert np.abs(after[1] - before[1]).sum() > 300.0
    np.testing.assert_allclose(after[0], before[0], rtol=1e-6)


def test_a_tree_without_the_group_is_moved_as_a_whole() -> None:
    release = made(needs=()).release
    tree = Markov(release.domain, release.total)
    reconcile(replace(release, model=tree))
    (ages,) = tree.marginals([("age",)])
    exact = select_from(release, "SELECT AVG(age) FROM t").cells[0][0]
    assert float(ages @ np.arange(16, 100)) / release.total == pytest.approx(exact.value, abs=exact.halved)
    (both,) = tree.marginals([("sex", "age")])
    np.testing.assert_allclose(both, np.outer(both.sum(axis=1), ages) / release.total)


def test_what_is_expected_of_numbers_one_by_one_is_what_they_have() -> None:
    domain = {"sex": ["F", "M"], "age": {"min": 16, "max": 99}}
    release = synthesize(
        TABLE.select(["sex", "age"]), epsilon=1e7, delta=1e-9, domain=domain, seed=0, workload="moments: age by sex"
    ).release
    for each in release.positions:
        found = expected(release, each.target, release.model)  # type: ignore[arg-type]
        np.testing.assert_allclose(found, each.values, atol=2.0)


def test_what_is_expected_in_bins_is_near_to_what_was_measured() -> None:
    release = made(
        epsilon=100.0, workload="marginals:2; moments: age by sex, pay by sex; correlations: age, pay"
    ).release
    assert len(release.positions) >= 5
    for each in release.positions:
        found = expected(release, each.target, release.model)  # type: ignore[arg-type]
        assert found.shape == each.values.shape
        assert np.abs(found - each.values).max() < 0.02 * release.total


def test_an_answer_without_a_move_needs_nothing_beside_the_tables() -> None:
    """Where tables tell a sum far better than moments, these have no share in it."""
    release = made(needs=(), workload="marginals:2; marginals:age; moments: age by sex").release
    loud = tuple(replace(each, scale=1e9 * each.scale) for each in release.positions)
    cell = select_from(replace(release, positions=loud), "SELECT AVG(age), STDDEV(age) FROM t").cells[0][0]
    assert cell.low is not None
    assert cell.low < float(AGE.mean()) < cell.high
