"""No noise that was not paid for, and every sampler gets the scale that its event was charged with."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hedgerow
from hedgerow.errors import QueryError, UnpaidNoiseError
from hedgerow.privacy import (
    GRID,
    ZCDP,
    Budget,
    Curator,
    Event,
    FrequentLabels,
    Ledger,
    MeasuredQuery,
    OpenDPNoise,
    PaidNoise,
    PureDP,
    QuantileCuts,
    QueryDraws,
    Question,
    SeededNoise,
    SparseVector,
    ThresholdTests,
    WorstCandidate,
)
from hedgerow.queries import Conjunction, Explicit, Family, Marginal, Workload
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(2)
ONES = Conjunction.where(DOMAIN, {"a": [1]})
ZEROS = np.zeros(4)


class Listening:
    """Notes what every sampler is asked for."""

    def __init__(self) -> None:
        self.source = SeededNoise(0)
        self.calls: list[tuple[str, float, int]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        sampler = getattr(self.source, name)

        def noting(*given: Any, **named: Any) -> Any:
            numbers = [*given, *named.values()]
            scale = next(each for each in reversed(numbers[:2]) if isinstance(each, float))
            size = len(given[0]) if name in ("laplace", "gaussian") else numbers[2] if name == "draw" else 1
            self.calls.append((name, scale, int(size)))
            return sampler(*given, **named)

        return noting


CELLS = Workload.parse("cells:2", DOMAIN)
MECHANISMS: dict[str, tuple[Callable[[Curator], object], list[float]]] = {
    "a marginal": (lambda made: made.measure(Marginal(DOMAIN, ("a",)), 0.1), [1.0]),
    "an explicit query": (lambda made: made.measure(Explicit.of(DOMAIN, ["a"], [0.25, 1.0]), 0.1), [2.0**-20]),
    "the number of records": (lambda made: made.total(0.1), [1.0]),
    "a selection": (lambda made: made.select(CELLS, ZEROS, 0.1), [1.0]),
    "draws": (lambda made: made.draw(CELLS, ZEROS, 50.0, 7), [1.0]),
    "a database": (lambda made: made.select_database(CELLS, np.zeros((3, 4)), 0.1), [1.0]),
    "the error of a workload": (lambda made: made.workload_error(CELLS, ZEROS, 0.1), [GRID, GRID]),
    "a sparse vector": (lambda made: made.watch(SparseVector(8.0, 16.0)).test(ONES, 1.0, 1.0), [GRID]),
}


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(1.0)], ids=["pure", "zCDP"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_samplers_get_the_scale_that_was_charged(name: str, budget: Budget) -> None:
    """The bug that was planted drew the error of a workload at half the scale that stood in the ledger."""
    use, steps = MECHANISMS[name]
    noise = Listening()
    curator = Curator(DenseCounts(DOMAIN, [9, 4, 3, 8]), budget, noise=noise)
    use(curator)
    calls = [call for call in noise.calls if call[0] != "exceeds"]
    assert len(calls) == len(curator.ledger.events) == len(steps)
    for (sampler, scale, size), event, step in zip(calls, curator.ledger.events, steps, strict=True):
        charged = event.threshold_scale if sampler == "secret" else event.scale
        assert scale * step == charged
        assert size == (event.values if sampler != "secret" else 1)
    for _, scale, _ in (call for call in noise.calls if call[0] == "exceeds"):
        assert scale * GRID == curator.ledger.events[-1].scale


QUESTIONS: dict[str, Question] = {
    "discrete Laplace": MeasuredQuery("marginal", ("x",)),
    "exponential mechanism": QuantileCuts("x"),
    "permute-and-flip": WorstCandidate(3),
    "exponential mechanism, one draw": WorstCandidate(3),
    "exponential mechanism, independent draws": QueryDraws(12),
    "sparse vector": ThresholdTests(),
    "discrete Laplace above a threshold": FrequentLabels("x"),
}


def paid(mechanism: str = "discrete Laplace", **changes: Any) -> tuple[PaidNoise, Event]:
    ledger = Ledger(100.0, "epsilon")
    noise = PaidNoise(SeededNoise(0), ledger)
    event = Event("x", mechanism, QUESTIONS[mechanism], 1.0, 4.0, 5.0, "epsilon", "replace", **changes)
    noise.pay(event)
    return noise, event


def test_an_event_pays_once_and_for_its_own_noise() -> None:
    two = np.zeros(2, dtype=np.int64)
    noise, event = paid(values=2)
    for wrong in (lambda: noise.choice(ZEROS, event), lambda: noise.threshold(event), lambda: noise.exceeds(0, event)):
        with pytest.raises(UnpaidNoiseError):
            wrong()
    noise.added_to(two, event, 1.0)
    with pytest.raises(UnpaidNoiseError, match="nothing in the ledger"):
        noise.added_to(two, event, 1.0)


@pytest.mark.parametrize(("size", "step"), [(1, 1.0), (3, 1.0), (2, 0.3), (2, 0.0), (2, math.nan)])
def test_another_size_or_step_was_not_paid_for(size: int, step: float) -> None:
    noise, event = paid(values=2)
    with pytest.raises(UnpaidNoiseError, match="2 values in steps of a power of two"):
        noise.added_to(np.zeros(size, dtype=np.int64), event, step)


def test_an_event_that_was_never_charged_pays_for_nothing() -> None:
    noise, event = paid()
    alike = copy.copy(event)
    assert alike == event
    with pytest.raises(UnpaidNoiseError):
        noise.added_to(np.zeros(1, dtype=np.int64), alike, 1.0)
    watch = Event("w", "sparse vector", ThresholdTests(), 1.0, 4.0, 5.0, "epsilon", "replace", 1, 4.0)
    with pytest.raises(UnpaidNoiseError):
        noise.exceeds(0, watch)


def test_two_equal_events_pay_for_two_draws() -> None:
    noise, event = paid()
    noise.pay(copy.copy(event))
    noise.pay(event)
    for _ in range(2):
        noise.added_to(np.zeros(1, dtype=np.int64), event, 1.0)
    with pytest.raises(UnpaidNoiseError):
        noise.added_to(np.zeros(1, dtype=np.int64), event, 1.0)


def test_it_cannot_be_copied() -> None:
    noise, _ = paid()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            attempt(noise)
    assert "PaidNoise by hedgerow.privacy.noise.SeededNoise" in repr(noise)


# ---- who says that noise is secure -----------------------------------------------------------------------------------


class Boasting:
    """A source that calls itself secure."""

    secure = True

    def __getattr__(self, name: str) -> Any:
        return getattr(SeededNoise(0), name)


def test_no_source_can_call_itself_secure() -> None:
    table = DenseCounts(DOMAIN, [9, 4, 3, 8])
    release = hedgerow.MWEM(rounds=1).run(table, Workload.marginals(DOMAIN, 1), PureDP(1.0), noise=Boasting())
    assert not release.provenance.secure
    assert release.provenance.noise.endswith("Boasting")
    assert release.guarantee().startswith("NOT PRIVATE: noise from a source of its own")


def test_the_secure_source_cannot_be_tampered_with() -> None:
    noise = OpenDPNoise()
    with pytest.raises(AttributeError):
        noise.laplace = lambda values, scale: values  # type: ignore[method-assign]
    release = hedgerow.MWEM(rounds=1).run(
        DenseCounts(DOMAIN, [9, 4, 3, 8]), Workload.marginals(DOMAIN, 1), PureDP(1.0), noise=noise
    )
    assert (release.provenance.secure, release.provenance.stamp) == (True, "")


# ---- exact answers are for a family to promise -----------------------------------------------------------------------


class Thirds(Family):
    """Queries with values of a third, summed in floating point; says nothing of how they could be exact."""

    def __init__(self) -> None:
        self.domain = DOMAIN

    n_queries = n_candidates = 1
    scopes = (("a",),)
    spec = "thirds"

    def candidate(self, index: int) -> Any:
        return Explicit.of(DOMAIN, ["a"], [0.0, 1 / 3])

    def cliques(self, cheap_cells: int) -> tuple[Any, ...]:
        return self.scopes

    def evaluate(self, cliques: Any, tables: Any) -> Any:
        return np.array([tables[0][1] / 3])


class Dishonest(Thirds):
    """Says that it is on a lattice, and not how it gets there."""

    step = 2.0**-20  # type: ignore[assignment]


@pytest.mark.parametrize("family", [Thirds(), Dishonest()], ids=["silent", "without a way"])
def test_a_family_that_does_not_say_how_it_is_exact_is_refused(family: Family) -> None:
    source = DenseCounts(DOMAIN, [9, 4, 3, 8])
    curator = Curator(source, PureDP(1.0), noise=SeededNoise(0))
    workload = Workload([family])
    assert workload.answers(source).shape == (1,)  # as a hypothesis is asked, it may round
    for use in (
        lambda: curator.select(workload, np.zeros(1), 0.1),
        lambda: curator.draw(workload, np.zeros(1), 50.0, 2),
        lambda: curator.select_database(workload, np.zeros((2, 1)), 0.1),
        lambda: curator.workload_error(workload, np.zeros(1), 0.1),
    ):
        with pytest.raises(QueryError, match=r"without rounding"):
            use()
    assert curator.ledger.events == ()
