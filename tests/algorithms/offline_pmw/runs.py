"""Runs of offline PMW beside the lecture's algorithm in plain Python, over the same transcripts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hedgerow import OfflinePMW
from hedgerow.arrays import Floats
from hedgerow.privacy import Budget, NoiseSource
from hedgerow.queries import LinearQuery, Neighbours, Workload
from hedgerow.release import Release
from tests.privacy.replay import Output, ReplayNoise, record
from tests.privacy.tables import DenseCounts
from tests.reference.offline_pmw import Step, inner, offline_pmw

REPLACE, ADD_REMOVE = Neighbours.REPLACE, Neighbours.ADD_REMOVE


def run_of(config: OfflinePMW, workload: Workload, budget: Budget) -> Callable[[Any, NoiseSource], Release]:
    return lambda source, noise: config.run(source, workload, budget, noise=noise)


class ScoringNoise(ReplayNoise):
    """A replay that also keeps the logarithms of the selection's weights."""

    def __init__(self, transcript: tuple[Output, ...]) -> None:
        super().__init__(transcript)
        self.log_weights: list[Floats] = []

    def choose(self, scores: Floats, scale: float) -> int:
        self.log_weights.append(scores / scale)
        return super().choose(scores, scale)


@dataclass(frozen=True)
class Scaled:
    """A workload's queries one by one, scaled to [0, 1], as the reference takes them."""

    targets: list[LinearQuery]
    values: list[list[float]]

    @classmethod
    def of(cls, workload: Workload) -> Scaled:
        single = workload.by_query()
        targets = [single.candidate(index) for index in range(single.n_candidates)]
        assert all(isinstance(target, LinearQuery) for target in targets)
        return cls(targets, [cls.everywhere(target) for target in targets])  # type: ignore[arg-type]

    @staticmethod
    def everywhere(query: Any) -> list[float]:
        low, high = query.bounds
        domain = query.domain
        shape = [size if name in query.scope else 1 for name, size in zip(domain.names, domain.shape, strict=True)]
        values = np.broadcast_to(query.values().reshape(shape), domain.shape).reshape(-1)
        return [(float(value) - low) / (high - low) for value in values]

    def scale(self, index: int, fraction: float) -> float:
        low, high = self.targets[index].bounds
        return (fraction - low) / (high - low)

    def answers(self, source: DenseCounts, total: float) -> list[float]:
        exact = [query.of_table(source.marginals([query.scope])[0])[0] / total for query in self.targets]
        return [self.scale(index, answer) for index, answer in enumerate(exact)]

    def sensitivity(self, relation: Neighbours) -> float:
        """Of any scaled answer, in counts."""
        low, high = self.targets[0].bounds
        return (max(abs(low), abs(high)) if relation is ADD_REMOVE else high - low) / (high - low)


@dataclass(frozen=True)
class Replayed:
    """A run of the library and one of the reference over the same transcript."""

    release: Release
    final: list[float]
    steps: list[Step]
    queries: list[list[float]]
    alpha: float
    eta: float


def replayed(config: OfflinePMW, workload: Workload, budget: Budget, histogram: list[int], seed: int) -> Replayed:
    """Run both and compare scores, scales, the rounds, and the hypothesis that is released."""
    run, source = run_of(config, workload, budget), DenseCounts(workload.domain, histogram)
    transcript = record(run, source, seed)
    noise = ScoringNoise(transcript)
    release = run(source, noise)
    assert noise.finished
    outputs, scaled, weights = list(transcript), Scaled.of(workload), iter(noise.log_weights)
    total = max(1.0, float(sum(histogram) if budget.neighbours is REPLACE else np.asarray(outputs.pop(0).value)[0]))
    chosen = release.provenance.parameters["chosen"]
    alpha, rounds, epsilon = chosen["alpha"], chosen["rounds"], chosen["epsilon0"]
    sensitivity, eta = scaled.sensitivity(budget.neighbours), alpha / 2 if config.step == "source" else 4 * alpha

    def select(errors: list[float]) -> int:
        # Pr proportional to exp(eps0 |q(x) - <q, p>| / 2 Delta), up to the rounding of public answers.
        difference = next(weights) - epsilon * total * np.array(errors) / (2 * sensitivity)
        assert np.ptp(difference) <= 0.01 * epsilon + 1e-9
        return int(outputs.pop(0).value)

    def measure(index: int) -> float:
        output, (low, high) = outputs.pop(0), scaled.targets[index].bounds
        unit = unit_of(scaled.targets[index])
        assert output.draw == "laplace"
        assert output.scale * unit == pytest.approx(sensitivity * (high - low) / epsilon, rel=1e-9)
        return scaled.scale(index, float(np.asarray(output.value)[0]) * unit / total)

    final, steps = offline_pmw(scaled.answers(source, total), scaled.values, rounds, alpha, eta, select, measure)
    assert len(outputs) == 2 * (config.error_share > 0)  # the mean and the largest error
    found = Replayed(release, final, steps, scaled.values, alpha, eta)
    check_rounds(found, rounds)
    assert np.allclose(release.model.marginals([workload.domain.names])[0].reshape(-1) / total, final, atol=1e-12)
    return found


def check_rounds(found: Replayed, most: int) -> None:
    """At most L updates; an early stop if and only if a noisy answer was near."""
    near = [abs(gap_of(step, found.queries)) <= 2 * found.alpha for step in found.steps]
    assert near.index(True) == len(near) - 1 if any(near) else len(near) == most
    assert [step.updated for step in found.steps] == [not one for one in near]
    parameters = found.release.provenance.parameters
    assert parameters["updates"] == near.count(False) <= most
    assert parameters["stopped"] == any(near)
    assert len(found.release.measurements) == len(near)


def unit_of(query: LinearQuery) -> float:
    values = query.values()
    return 1.0 if (values == np.rint(values)).all() else 2.0**-20


def gap_of(step: Step, queries: list[list[float]]) -> float:
    return step.noisy - inner(queries[step.query], step.before)
