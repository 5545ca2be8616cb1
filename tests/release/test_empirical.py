"""A release whose hypothesis is a few records: files, samples, answers and the report."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from hedgerow.errors import DamagedReleaseError, ReleaseError
from hedgerow.models import Empirical
from hedgerow.privacy import ApproxDP
from hedgerow.release import Release, StoredModel
from hedgerow.report import render_report, write_report
from tests.release.made import DOMAIN, make_release, model_of


@pytest.fixture
def release() -> Release:
    made = make_release(ApproxDP(1.0, 1e-6), 0, [("sex", "age"), ("job",)], workload="marginals:2; prefixes:age")
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(size, size=40) for size in DOMAIN.shape], axis=1)
    return dataclasses.replace(made, model=Empirical(DOMAIN, made.total, codes))


@pytest.mark.parametrize("weighted", [False, True])
def test_round_trip(release: Release, tmp_path: Path, weighted: bool) -> None:
    if weighted:
        release.model.reweigh(("sex",), np.array([0.0, 0.7]))
    for name in ("one", "two"):
        path = tmp_path / f"{name}.release"
        release.save(path)
        loaded = Release.load(path)
        assert isinstance(loaded.held, StoredModel)
        np.testing.assert_array_equal(
            loaded.model.marginals([DOMAIN.names])[0], release.model.marginals([DOMAIN.names])[0]
        )
        assert loaded.sample(70, seed=1).to_arrow().equals(release.sample(70, seed=1).to_arrow())
        assert loaded.answer("sex = 'Male'") == release.answer("sex = 'Male'")
        assert loaded.marginal(["age"]).equals(release.marginal(["age"]))
        release = loaded
    assert loaded.model.copy().total == loaded.total


def test_records_that_are_missing_in_the_file_are_named(release: Release, tmp_path: Path) -> None:
    from hedgerow.release import Container, write_container

    release.save(tmp_path / "r.release")
    whole = Container.open(tmp_path / "r.release")
    kept = {name: whole.array(name) for name in whole.table if name != "model_records"}
    write_container(tmp_path / "r.release", whole.content, kept)
    with pytest.raises(DamagedReleaseError):
        Release.load(tmp_path / "r.release").sample(3)


def test_what_has_no_file_format_is_refused(release: Release, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="DenseTables cannot be saved"):
        dataclasses.replace(release, model=model_of(release.total)).save(tmp_path / "r.release")


@pytest.mark.slow
@pytest.mark.parametrize("measured", [True, False])
def test_the_report_is_written(release: Release, tmp_path: Path, measured: bool) -> None:
    shown = release if measured else dataclasses.replace(release, measurements=())
    shown.save(tmp_path / "r.release")
    page = render_report(Release.load(tmp_path / "r.release"))
    assert "income" in page
    write_report(shown, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1000
