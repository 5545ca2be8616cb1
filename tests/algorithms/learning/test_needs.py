"""Questions that must have an interval: what is measured for them, whether that is as narrow, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import (
    MWEM,
    ApproxDP,
    Domain,
    IndependentNoise,
    PureDP,
    Release,
    SeededNoise,
    Workload,
    read_table,
    synthesize,
)
from hedgerow.algorithms import Need, needed_steps
from hedgerow.audit import audit_files
from hedgerow.domain import Binned, Categorical, IntegerRange, OpenDomain
from hedgerow.errors import ConfigError, HedgerowError, QueryError
from hedgerow.privacy import ZCDP, Budget
from hedgerow.queries import Explicit, Marginal, parse_predicate
from hedgerow.release import select_from
from hedgerow.runs import RunSpec
from hedgerow.simulation import simulate_errors
from tests.privacy.mutants import Mutant, Patch, killed

RNG = np.random.default_rng(5)
TABLE = pa.table(
    {"sex": RNG.choice(["F", "M"], 4000), "age": RNG.integers(0, 100, 4000), "job": RNG.choice(list("abcdefgh"), 4000)}
)
DOMAIN = Domain([Categorical("sex", ("F", "M")), IntegerRange("age", 0, 99), Categorical("job", tuple("abcdefgh"))])
QUESTIONS = (
    "sex = 'F' and job = 'a' within 40",
    "age < 30 and (job = 'b' or sex = 'M')",
    "age < 30 and sex = 'M' within 60",
    "SELECT sex, AVG(age) FROM t GROUP BY sex",
    "SELECT COUNT(*) FROM t",
)


def made(budget: Budget, seed: int, **options: Any) -> Release:
    return synthesize(
        TABLE, budget=budget, domain=DOMAIN, workload="marginals:1", records=1, seed=seed, **options
    ).release


def test_means_by_a_level_are_measured_by_it_and_those_by_a_level_of_their_own_column_from_its_table() -> None:
    domain = Domain([IntegerRange("age", 0, 99), IntegerRange("hours", 0, 60)])
    by = Need.parse('SELECT "age.10", STDDEV(hours) FROM t GROUP BY "age.10"', domain)
    assert by.sums == ("moments:hours by age.10",)
    own = Need.parse('SELECT "age.10", AVG(age) FROM t GROUP BY "age.10"', domain)
    assert own.sums == ()
    assert Marginal(domain, ("age",)) in own.targets


@pytest.mark.parametrize("budget", [PureDP(2.0), ZCDP(0.1), ApproxDP(2.0, 1e-9)], ids=str)
def test_needed_questions_have_intervals_as_narrow_as_was_asked(budget: Budget, tmp_path: Path) -> None:
    """Of 12 intervals with 95 % confidence fewer than 8 hold once in 3,000 times."""
    held, frame = 0, TABLE.to_pandas()
    exact = (
        int(((frame.sex == "F") & (frame.job == "a")).sum()),
        int(((frame.age < 30) & ((frame.job == "b") | (frame.sex == "M"))).sum()),
        int(((frame.age < 30) & (frame.sex == "M")).sum()),
    )
    for seed in range(4):
        release = made(budget, seed, needs=QUESTIONS)
        for line, truth in zip(QUESTIONS, exact, strict=False):
            question, _, width = line.partition(" within ")
            found = release.answer(question)
            assert found.low is not None
            assert found.high is not None
            assert (found.high - found.low) / 2.0 <= float(width or 1e9)
            held += found.low <= truth <= found.high
        for (mean,) in select_from(release, QUESTIONS[3]).cells:
            assert mean.halved is not None
            assert mean.halved < 6.0
    assert held >= 8
    release.save(tmp_path / "r.release")
    verdicts = {each.check: each.severity.name for each in audit_files([tmp_path / "r.release"]).files[0].findings}
    assert {verdicts[name] for name in ("measurements", "sensitivities", "sum", "run")} == {"HOLDS"}
    again = Release.load(tmp_path / "r.release")
    assert again.answer("sex = 'F' and job = 'a'").high == release.answer("sex = 'F' and job = 'a'").high
    assert simulate_errors(again, 2, seed=0).answer("sex = 'F'").value > 0


def test_each_question_is_measured_once_and_the_narrowest_first() -> None:
    lines = ["sex = 'F' and job = 'a' within 40", "sex = 'M' and job = 'b' within 20", "age < 9", "age < 9 within 90"]
    steps = needed_steps([Need.parse(line, DOMAIN) for line in lines], ZCDP(0.1))
    assert [target.text for target, _ in steps] == ["sex * job", "age between 0 and 8"]
    assert steps[0][1] > steps[1][1]
    (free,) = needed_steps([Need.parse("age < 9", DOMAIN)], ZCDP(0.1))
    assert free[1] == pytest.approx(0.01)
    assert needed_steps([Need.parse("SELECT COUNT(*) FROM t", DOMAIN)], ZCDP(0.1)) == []


def test_groups_by_which_means_are_asked_for_are_counted_unless_a_need_tells_how_many_there_are() -> None:
    def counted(workload: str, *needs: str, **options: Any) -> list[str]:
        spec = RunSpec(DOMAIN, options.pop("algorithm", MWEM()), PureDP(1.0), workload, needs=needs, **options)
        return [target.text for target, _ in spec.needed_steps(DOMAIN, spec.budget)]

    asked = "marginals:2; means: age by sex; moments: age by job; sums: age by sex"
    assert counted(asked) == ["sex", "job"]
    assert counted(f"{asked}; means: age by job * sex") == ["sex * job"]
    assert counted(asked, "SELECT sex, job, COUNT(*) FROM t GROUP BY sex, job") == ["sex * job"]
    assert counted("marginals:2; moments: age") == counted("marginals:2; regression: age ~ sex") == []
    assert counted(asked, algorithm=IndependentNoise()) == counted(asked, positions=0.0) == []
    release = made(PureDP(1.0), 0, means=["age by sex"])
    assert release.measurements[0].target.text == "sex"
    found = select_from(release, "SELECT sex, AVG(age) FROM t GROUP BY sex")
    exact = [
        float(np.mean(TABLE["age"].to_numpy()[np.array(TABLE["sex"].to_pylist()) == sex])) for (sex,) in found.labels
    ]
    assert all(cell.low <= mean <= cell.high for (cell,), mean in zip(found.cells, exact, strict=True))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sex = 'F' within 0.5", "a width of 0.5"),
        ("sex = 'F' within 1.2.3", "a width of '1.2.3'"),
        ("height < 3", "no attribute 'height'"),
        ("SELECT AVG(age) FROM t within 3", "more than counts"),
        ("sex = 'F' within 1", "costs"),
    ],
)
def test_questions_that_cannot_be_needed_are_refused(line: str, said: str) -> None:
    with pytest.raises(HedgerowError, match=said):
        made(ZCDP(0.01), 0, needs=[line])


def test_needs_are_of_mwem_and_compare_nothing_that_is_to_be_learnt() -> None:
    with pytest.raises(ConfigError, match="beside mwem"):
        made(ZCDP(0.1), 0, needs=["sex = 'F'"], mechanism="laplace")
    learnt = {"sex": ["F", "M"], "age": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 5}}}
    with pytest.raises((ConfigError, QueryError), match="to be learnt"):
        synthesize(TABLE.drop(["job"]), 1.0, 1e-9, learnt, needs=["age < 30"], seed=0)
    release = synthesize(
        TABLE.drop(["job"]), 1.0, 1e-9, learnt, needs=["SELECT age, COUNT(*) FROM t GROUP BY age"], seed=0, records=1
    ).release
    assert isinstance(release.domain["age"], Binned)
    assert release.measurements[0].target.text == "age"


def test_what_goes_before_the_run_is_added_up_before_anything_is_read() -> None:
    """Bins that are learnt, positions in them, and needs: each fits into the budget alone, and together they do not."""
    wanted = OpenDomain({"sex": ["F", "M"], "age": {"min": 0, "max": 99, "whole": True, "bins": {"learn": 5}}})

    budget = PureDP(0.1)

    def run(width: int) -> RunSpec:
        return RunSpec(wanted, MWEM(), budget, needs=(f"sex = 'F' within {width}",))

    def share(width: int) -> float:
        return sum(charge for _, charge in needed_steps(run(width).needed(wanted.outline), budget)) / budget.limit

    least = next(width for width in range(200, 20, -1) if _is_refused(run, width))
    assert 0.85 < share(least + 1) < 0.9
    with pytest.raises(ConfigError, match="of the budget, and 12% goes before it"):
        run(least)


def _is_refused(run: Callable[[int], RunSpec], width: int) -> bool:
    try:
        run(width)
    except ConfigError:
        return True
    return False


def widths_are_kept() -> None:
    """What is measured for a width makes the proved interval as narrow, to the half count, and hardly narrower."""
    for budget in (ZCDP(0.1), PureDP(2.0)):
        release = made(budget, 0, needs=["age < 30 and sex = 'M' within 9"])
        found = release.half_width(parse_predicate("age < 30 and sex = 'M'", release.domain))
        assert found is not None
        assert 0.98 * 9.0 < found <= 9.0


def a_half_width_is_that_of_the_answer() -> None:
    """Of a question that is not rounded to whole numbers, from several measurements made one after the other."""
    release = MWEM(rounds=3, initial="one-way").run(
        read_table(TABLE, DOMAIN), Workload.marginals(DOMAIN, 2), ZCDP(0.5), noise=SeededNoise(0)
    )
    query = Explicit.of(DOMAIN, ("sex",), [0.0, 0.5])
    found, told = release.answer(query), release.half_width(query)
    assert found.low is not None
    assert found.high is not None
    assert told is not None
    assert (found.high - found.low) / 2.0 <= told + 1e-9


def questions_without_a_width_share_a_tenth() -> None:
    steps = needed_steps([Need.parse(line, DOMAIN) for line in ("age < 9", "age < 19", "sex = 'F'")], ZCDP(0.1))
    assert sum(charge for _, charge in steps) == pytest.approx(0.01)
    assert len({charge for _, charge in steps}) == 1


def _constant(name: str, value: float) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(f"hedgerow.algorithms.learning.needs.{name}", value)


def _without_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.algorithms.learning.needs.step_of", lambda _: 0.0)


def _whole_risks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.release.release.shares", lambda risk: repeat(4.0 * risk))


MUTANTS = [
    Mutant("the whole risk for the first piece of evidence of a need", _constant("_RISK", 0.05), widths_are_kept),
    Mutant("half of the risk of a need", _constant("_RISK", 0.02), widths_are_kept),
    Mutant("widths of needs without the lattice of the noise", _without_steps, widths_are_kept),
    Mutant("a tenth for each ten needs", _constant("NEEDS_SHARE", 0.01), questions_without_a_width_share_a_tenth),
    Mutant("half-widths with more risk than there is", _whole_risks, a_half_width_is_that_of_the_answer),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_need_with_another_width_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
