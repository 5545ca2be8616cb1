"""Record and play (Cebere, Erb, Desfontaines, Bellet and Fitzsimons, arXiv 2602.17454), against the curator.

A run is recorded on one table, and played on every neighbour with its outputs frozen. Two things must hold: the run
asks for the same draws at the same scales in the same order, and what it hands to each draw moves by no more than the
ledger declares. The replays of tests/privacy/replay.py hold the exact loss of a whole run against its
charge; this says which draw is at fault, from one pair of runs and without any law of the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM, ApproxDP, FourierMeasurement, IndependentNoise, OfflinePMW, PureDP, Workload
from hedgerow.arrays import Floats, Ints
from hedgerow.privacy import Curator, Event, NoiseSource
from hedgerow.queries import Neighbours
from tests.privacy.replay import Output, ReplayNoise, record
from tests.privacy.tables import DenseCounts, binary, neighbours_of

DOMAIN = binary(3)
COUNTS = (5, 0, 2, 1, 0, 3, 4, 1)
PAIRS = Workload.marginals(DOMAIN, order=2)
ALGORITHMS = (MWEM(rounds=3), OfflinePMW(alpha=0.4), IndependentNoise(), FourierMeasurement())


class PlayedNoise(ReplayNoise):
    """Recorded outputs, and beside them what each draw was handed."""

    def __init__(self, transcript: Sequence[Output]) -> None:
        super().__init__(transcript)
        self.handed: list[tuple[str, float, Floats]] = []

    def _vector(self, draw: str, values: Ints, scale: float, log_pmf: Callable[[Ints, float], Floats]) -> Ints:
        self.handed.append((draw, scale, np.array(values, dtype=float)))
        return super()._vector(draw, values, scale, log_pmf)

    def _index(self, draw: str, scores: Floats, scale: float, log_law: Callable[[Floats, float], Floats]) -> int:
        self.handed.append((draw, scale, np.array(scores, dtype=float)))
        return super()._index(draw, scores, scale, log_law)


def play(run: Any, source: DenseCounts, transcript: Sequence[Output]) -> tuple[PlayedNoise, tuple[Event, ...]]:
    noise = PlayedNoise(transcript)
    events = run(source, noise)
    assert noise.finished, "the played run ended before the recorded one"
    return noise, events


def moved(draw: str, one: Floats, other: Floats) -> float:
    """Distance of what two runs handed to a draw, by the norm of its noise."""
    change = np.abs(one - other)
    return float({"laplace": change.sum, "gaussian": lambda: np.sqrt((change**2).sum())}.get(draw, change.max)())


def largest_moves(run: Any, relation: Neighbours) -> list[tuple[Event, float]]:
    """Each event of a run, and the most that any neighbour moves its draw, over what the event declares."""
    source = DenseCounts(DOMAIN, COUNTS)
    transcript = record(run, source)
    first, events = play(run, source, transcript)
    charged = [event for event in events if event.charge]
    assert len(charged) == len(first.handed)
    most = [0.0] * len(charged)
    for neighbour in neighbours_of(source, relation):
        other, same = play(run, neighbour, transcript)
        assert same == events, "the ledger depends on the table"
        for place, ((draw, scale, one), (_, _, two)) in enumerate(zip(first.handed, other.handed, strict=True)):
            declared = charged[place].sensitivity / charged[place].scale
            most[place] = max(most[place], moved(draw, one, two) / scale / declared)
    return list(zip(charged, most, strict=True))


def whole_run(algorithm: Any, budget: Any) -> Any:
    def run(source: DenseCounts, noise: NoiseSource) -> tuple[Event, ...]:
        curator = Curator(source, budget, noise=noise)
        algorithm.run_with(curator, PAIRS)
        return curator.ledger.events

    return run


@pytest.mark.many(quick=6)
@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE], ids=lambda relation: relation.value)
@pytest.mark.parametrize("delta", [None, 1e-6], ids=["pure", "zCDP"])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: type(algorithm).__name__)
def test_draws_are_handed_no_more_than_the_ledger_declares(
    algorithm: Any, delta: float | None, relation: Neighbours
) -> None:
    budget = PureDP(1.0, relation) if delta is None else ApproxDP(1.0, delta, relation)
    found = largest_moves(whole_run(algorithm, budget), relation)
    assert found
    for event, share in found:
        assert share <= 1.0 + 1e-9, event


def test_some_draw_moves_as_far_as_is_declared() -> None:
    found = largest_moves(whole_run(IndependentNoise(), PureDP(1.0)), Neighbours.ADD_REMOVE)
    assert max(share for _, share in found) > 0.99


def test_a_draw_that_moves_further_and_a_course_that_depends_on_the_table_are_noticed() -> None:
    def doubled(source: DenseCounts, noise: NoiseSource) -> tuple[Event, ...]:
        return whole_run(IndependentNoise(), PureDP(1.0))(source, _Doubling(noise))

    assert max(share for _, share in largest_moves(doubled, Neighbours.ADD_REMOVE)) > 1.9

    def peeking(source: DenseCounts, noise: NoiseSource) -> tuple[Event, ...]:
        rounds = 2 + source.total() % 2
        return whole_run(MWEM(rounds=rounds), PureDP(1.0))(source, noise)

    with pytest.raises(AssertionError, match="recorded"):
        largest_moves(peeking, Neighbours.ADD_REMOVE)


class _Doubling:
    """Hands on twice what it is handed."""

    def __init__(self, inner: NoiseSource) -> None:
        self._inner = inner

    def laplace(self, values: Ints, scale: float) -> Ints:
        return self._inner.laplace(2 * values, scale)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
