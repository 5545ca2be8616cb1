"""Non-private multiplicative weights: Claim 1 for every T, and the potential along runs (theory.md section 1)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hedgerow
from hedgerow import MultiplicativeWeights
from hedgerow.arrays import Floats
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, ModelTooLargeError
from hedgerow.models import Histogram, Markov, Step
from hedgerow.queries import Workload
from tests.algorithms.shared.whole_runs import ModelCounts
from tests.reference.dense_tables import DenseTables

SMALL = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1), IntegerRange("c", 0, 1)))
BINARY = Domain(IntegerRange(name, 0, 1) for name in "abcd")


def instances() -> list[tuple[DenseTables, Workload, float]]:
    """Table, workload and width of its queries: spread and concentrated data; counting, signed and real queries."""
    generator = np.random.default_rng(3)
    found = []
    for seed in range(3):
        matrix = generator.uniform(0, 1, (25, SMALL.size))
        found += [
            (DenseTables.random(SMALL, 400, seed), Workload.marginals(SMALL, 2, whole=False), 1.0),
            (DenseTables.random(BINARY, 50, seed), Workload.parities(BINARY, 4), 2.0),
            (DenseTables.random(SMALL, 30, seed), Workload.explicit(SMALL, SMALL.names, matrix), 1.0),
        ]
    alone = DenseTables.of_records(BINARY, [(1, 0, 1, 1)] * 7)
    return [
        *found,
        (alone, Workload.parities(BINARY, 4), 2.0),
        (alone, Workload.marginals(BINARY, 3, whole=False), 1.0),
    ]


def divergence(truth: DenseTables, model: Histogram) -> float:
    b, p = (tables.marginals([truth.domain.names])[0].reshape(-1) / truth.total() for tables in (truth, model))
    return float(np.sum(b[b > 0] * np.log(b[b > 0] / p[b > 0])))


def errors(truth: DenseTables, workload: Workload, answers: Floats) -> float:
    """Largest error of fractions."""
    return float(workload.candidate_errors(workload.answers(truth) / truth.total() - answers).max())


@pytest.mark.parametrize("number", range(len(instances())))
def test_claim_1_for_every_number_of_rounds(number: int) -> None:
    truth, workload, width = instances()[number]
    steps: dict[Step, float] = {"source": 2.0, "sharp": width / math.sqrt(2.0)}
    for step, constant in steps.items():
        trace = MultiplicativeWeights(rounds=60, step=step).run(truth, workload).trace
        average = np.zeros(workload.n_queries)
        for rounds, played in enumerate(trace, 1):
            average += played.answers
            claim = constant * math.sqrt(math.log(truth.domain.size) / rounds)
            assert errors(truth, workload, average / rounds) <= claim + 1e-9


@pytest.mark.parametrize("number", range(len(instances())))
def test_the_potential_falls_as_promised_and_stays_above_zero(number: int) -> None:
    truth, workload, _ = instances()[number]
    for step in ("source", "sharp"):
        potential = divergence(truth, Histogram(truth.domain, truth.total()))
        assert 0.0 <= potential <= math.log(truth.domain.size) + 1e-12
        for played in MultiplicativeWeights(rounds=40, step=step).run(truth, workload).trace:
            assert played.drop >= played.guaranteed - 1e-12
            potential -= played.drop
            assert potential >= -1e-9


def test_the_trace_adds_up_to_the_divergence_of_the_last_hypothesis() -> None:
    truth, workload, _ = instances()[0]
    run = MultiplicativeWeights(rounds=25, output="last").run(truth, workload)
    start = divergence(truth, Histogram(truth.domain, truth.total()))
    fallen = sum(played.drop for played in run.trace)
    assert divergence(truth, run.model) == pytest.approx(start - fallen, abs=1e-9)
    assert run.model.total == truth.total()
    assert run.model.marginals([("a",)])[0].sum() == pytest.approx(truth.total())


def test_the_average_is_that_of_the_hypotheses_before_each_round() -> None:
    truth, workload, _ = instances()[0]
    run = MultiplicativeWeights(rounds=12).run(truth, workload)
    mean = np.mean([played.answers for played in run.trace], axis=0)
    assert workload.answers(run.model) / truth.total() == pytest.approx(mean, abs=1e-12)


def test_whole_marginals_drop_as_promised() -> None:
    truth = DenseTables.random(SMALL, 300, 5)
    for step in ("source", "sharp"):
        run = MultiplicativeWeights(rounds=30, step=step).run(truth, Workload.marginals(SMALL, 2))
        assert all(played.drop >= played.guaranteed - 1e-12 for played in run.trace)


def test_a_constant_added_to_the_queries_changes_nothing() -> None:
    truth = DenseTables.random(SMALL, 100, 8)
    matrix = np.random.default_rng(9).uniform(0, 0.5, (6, SMALL.size)).round(3)
    runs = [
        MultiplicativeWeights(rounds=10).run(truth, Workload.explicit(SMALL, SMALL.names, matrix + shift))
        for shift in (0.0, 0.5)
    ]
    first, second = (run.model.marginals([SMALL.names])[0] for run in runs)
    assert [played.candidate for played in runs[0].trace] == [played.candidate for played in runs[1].trace]
    assert first == pytest.approx(second, rel=1e-4)  # the queries are rounded to multiples of 2**-20


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"step": "huge"}, {"output": "best"}])
def test_nonsense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"at least one round|is unknown"):
        MultiplicativeWeights(**({"rounds": 3} | wrong))  # type: ignore[arg-type]


def test_the_last_hypothesis_needs_no_cells_and_an_average_says_so() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
    model = Markov(domain, 1000.0)
    model.reweigh(("x0", "x1"), np.random.default_rng(0).normal(size=(10, 10)))
    workload = Workload.marginals(domain, cliques=[("x0", "x1"), ("x1", "x2")])
    run = MultiplicativeWeights(rounds=100, step="sharp", output="last").run(ModelCounts(model), workload)
    assert isinstance(run.model, Markov)
    assert all(played.drop >= played.guaranteed - 1e-12 for played in run.trace)
    assert run.trace[-1].error < 0.2 * run.trace[0].error
    with pytest.raises(ModelTooLargeError, match="output='last'"):
        MultiplicativeWeights(rounds=30).run(ModelCounts(model), workload)
    with pytest.raises(ModelTooLargeError, match="output='last'"):
        hedgerow.MWEM(output="average").run(ModelCounts(model), workload, hedgerow.PureDP(1.0))
