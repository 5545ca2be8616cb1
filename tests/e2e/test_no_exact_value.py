"""Release and report are functions of the noisy values alone: other data, same noisy values, same bytes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.privacy import ApproxDP, Budget, NoiseSource, PureDP
from hedgerow.queries import Workload
from hedgerow.release import Release
from hedgerow.report import render_report
from tests.privacy.replay import RecordingNoise, ReplayNoise
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(4)
BUDGETS = [
    *(PureDP(1.0), PureDP(1.0, "replace"), PureDP(1.0, "replace-then-filter")),
    *(ApproxDP(1.0, 1e-6), ApproxDP(1.0, 1e-6, "replace")),
]


def table(seed: int, n: int) -> DenseCounts:
    generator = np.random.default_rng(seed)
    return DenseCounts(DOMAIN, generator.multinomial(n, generator.dirichlet(np.full(DOMAIN.size, 0.2))))


def run(source: DenseCounts, budget: Budget, workload: str, noise: NoiseSource) -> Release:
    return MWEM(rounds=3).run(source, Workload.parse(workload, DOMAIN), budget, noise=noise)


def alike(release: Release) -> Release:
    """Without the name of the source, which is one of two here."""
    return dataclasses.replace(release, provenance=dataclasses.replace(release.provenance, noise=""))


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("workload", ["marginals:2", "cells:3; parities:2"])
def test_other_data_and_the_same_noisy_values_give_the_same_files(
    budget: Budget, workload: str, tmp_path: Path
) -> None:
    recording = RecordingNoise()
    one = alike(run(table(1, 500), budget, workload, recording))
    n = 500 if budget.neighbours.public_total else 40_000
    other = alike(run(table(2, n), budget, workload, ReplayNoise(recording.transcript)))
    one.save(tmp_path / "one.release")
    other.save(tmp_path / "other.release")
    assert (tmp_path / "one.release").read_bytes() == (tmp_path / "other.release").read_bytes()
    assert render_report(one) == render_report(other)
    assert one.answer("a = 1 and b = 0") == other.answer("a = 1 and b = 0")
