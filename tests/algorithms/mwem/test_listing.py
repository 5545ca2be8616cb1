"""The published listing and ours give the same hypothesis from the same selection and noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Sweeps
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.queries import LinearQuery, Neighbours, Workload
from tests.privacy.replay import RecordingNoise
from tests.reference.dense_tables import DenseTables
from tests.reference.mwem_listing import Query, mwem

SMALL = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1), IntegerRange("c", 0, 1)))
BINARY = Domain(IntegerRange(name, 0, 1) for name in "abcd")
WORKLOADS = {
    "cells": Workload.marginals(SMALL, 2, whole=False),
    "parities": Workload.parities(BINARY, 3),
    "ranges": Workload.ranges(SMALL, ["a"]) + Workload.marginals(SMALL, 1, whole=False),
}
SWEEPS = Sweeps(100, clip=False)


def as_function(query: LinearQuery) -> Query:
    """The query as a function of a cell's number."""
    axes = query.domain.axes(query.scope)
    aligned = query.values().reshape([size if i in axes else 1 for i, size in enumerate(query.domain.shape)])
    values = np.broadcast_to(aligned, query.domain.shape).reshape(-1).tolist()
    return values.__getitem__


def queries_of(workload: Workload) -> list[Query]:
    candidates = [workload.candidate(k) for k in range(workload.n_candidates)]
    return [as_function(query) for query in candidates if isinstance(query, LinearQuery)]


def scripted(noise: RecordingNoise) -> tuple[Callable[..., int], Callable[[float], float]]:
    """The recorded draws as the selection and the measurement of the listing.

    What was recorded is a position among the candidates that were not measured yet, and a noisy answer.
    """
    outputs = iter(output.value for output in noise.transcript)

    def select(_: list[float], unmeasured: list[bool]) -> int:
        return int(np.flatnonzero(unmeasured)[next(outputs)])

    def measure(_: float) -> float:
        return float(np.asarray(next(outputs))[0])

    return select, measure


@pytest.mark.parametrize("output", ["last", "average"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_same_draws_give_the_same_histogram(name: str, output: str) -> None:
    workload = WORKLOADS[name]
    data = DenseTables.random(workload.domain, 300, seed=4)
    noise = RecordingNoise(SeededNoise(5))
    config = MWEM(rounds=4, refit=SWEEPS, offsets=False, error_share=0.0, output=output)  # type: ignore[arg-type]
    release = config.run(data, workload, PureDP(1.0, Neighbours.REPLACE), noise=noise)
    select, measure = scripted(noise)
    last, average = mwem(data.cells.reshape(-1).tolist(), queries_of(workload), 4, select, measure)
    ours = release.model.marginals([workload.domain.names])[0].reshape(-1)
    assert ours == pytest.approx(last if output == "last" else average, abs=1e-9 * data.total())


def test_without_refit_the_single_step_is_that_of_the_listing() -> None:
    workload = WORKLOADS["cells"]
    data = DenseTables.random(workload.domain, 300, seed=6)
    noise = RecordingNoise(SeededNoise(7))
    config = MWEM(rounds=1, refit=None, clip=False, offsets=False, error_share=0.0)
    release = config.run(data, workload, PureDP(1.0, Neighbours.REPLACE), noise=noise)
    select, measure = scripted(noise)
    last, _ = mwem(data.cells.reshape(-1).tolist(), queries_of(workload), 1, select, measure, sweeps=1)
    assert release.model.marginals([workload.domain.names])[0].reshape(-1) == pytest.approx(last, abs=1e-9 * 300)
