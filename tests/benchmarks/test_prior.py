"""Splits into private and public parts, and the runs on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.prior import __main__ as program
from benchmarks.prior.tables import BIASES, SPLITS, parts_of


def test_one_split_is_for_tuning_and_one_is_only_reported() -> None:
    halves = {name: split.half for name, split in SPLITS.items()}
    assert halves == {
        "adult by sex": "tuning",
        "nltcs by a disability": "tuning",
        "acs by age": "reported",
        "acs by region": "reported",
    }


def test_the_private_part_is_the_same_for_each_bias_and_the_public_part_gets_worse() -> None:
    parts = {bias: parts_of("nltcs by a disability", bias, 0) for bias in BIASES}
    again = parts_of("nltcs by a disability", "mild", 0)[1]
    for one, other in zip(parts["mild"][1].tables.columns, again.tables.columns, strict=True):
        np.testing.assert_array_equal(one, other)
    distances = []
    for private, public in parts.values():
        assert private.total() == public.total == parts["none"][0].total()
        tables = zip(private.columns, public.tables.columns, strict=True)
        distances.append(sum(abs(float(a.mean()) - float(b.mean())) for a, b in tables))
    assert distances[:3] == sorted(distances[:3])
    assert distances[0] < 0.05 * distances[3]


def test_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(program, "EPSILONS", (1.0,))
    monkeypatch.setattr(program, "SPLITS", {name: SPLITS[name] for name in ("nltcs by a disability",)})
    calls: list[object] = []

    def run(*given: object) -> program.Run:
        calls.append(given)
        return program.Run("done", 0.1, 1.0)

    monkeypatch.setattr(program, "run", run)
    for _ in range(2):
        program.main(["--seeds", "1", "--results", str(tmp_path / "runs.csv")])
    assert len(calls) == 1 + len(BIASES)
    assert "+0 %" in capsys.readouterr().out
