"""The recipe of a mechanism in its shortest form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hedgerow import Curator, Workload
from hedgerow.extending import Measurement, MeasuringAlgorithm, Model


@dataclass(frozen=True)
class Greedy(MeasuringAlgorithm):
    """measures what the model answers worst, as often as it is told: MWEM in its simplest form.

    Attributes:
        rounds: Number of rounds.
    """

    rounds: int = 10

    def measure(self, curator: Curator, workload: Workload, model: Model, charge: float) -> Iterator[Measurement]:
        half = charge / self.rounds / 2.0
        for _ in range(self.rounds):
            worst = curator.select(workload, workload.answers(model), half)
            yield curator.measure(workload.candidate(worst), half)
