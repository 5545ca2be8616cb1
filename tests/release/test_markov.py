"""A release whose hypothesis is a product over a junction tree, of a domain that no histogram holds."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Histogram, Markov
from hedgerow.privacy import PureDP
from hedgerow.queries import Workload
from hedgerow.release import Release
from tests.release.made import make_release

WIDE = Domain(IntegerRange(f"x{index}", 0, 9) for index in range(17))


@pytest.fixture
def release() -> Release:
    model, rng = Markov(WIDE, 500.0), np.random.default_rng(0)
    for pair in (("x0", "x1"), ("x1", "x2"), ("x7", "x16")):
        model.reweigh(pair, rng.normal(size=(10, 10)))
    made = make_release(PureDP(1.0), 0, error=False)
    return dataclasses.replace(made, model=model, workload=Workload.marginals(WIDE, 1), total=500.0)


def test_a_hypothesis_over_ten_to_the_seventeen_cells_comes_back(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "wide.release")
    loaded = Release.load(tmp_path / "wide.release")
    assert isinstance(loaded.model, Markov)
    asked = [("x0", "x2"), ("x7", "x16"), ("x3",)]
    for stored, given in zip(loaded.model.marginals(asked), release.model.marginals(asked), strict=True):
        np.testing.assert_allclose(stored, given, rtol=1e-10)
    assert len(loaded.sample(40)) == 40
    assert loaded.answer("x0 = 3 and x2 < 5").value == pytest.approx(release.answer("x0 = 3 and x2 < 5").value)


def test_small_domains_come_back_as_histograms(tmp_path: Path) -> None:
    made = make_release(PureDP(1.0), 0)
    model = Markov(made.domain, made.total)
    model.reweigh(("sex", "job"), np.arange(8.0).reshape(2, 4) / 4)
    dataclasses.replace(made, model=model).save(tmp_path / "small.release")
    loaded = Release.load(tmp_path / "small.release").model
    assert isinstance(loaded, Histogram)
    np.testing.assert_allclose(loaded.marginals([("sex", "job")])[0], model.marginals([("sex", "job")])[0], rtol=1e-10)
