"""A release of consistent tables over a tree: saved, loaded, asked, drawn from, described, and damaged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import DamagedReleaseError
from hedgerow.models import Markov, Overlay, ResidualBasis
from hedgerow.privacy import ApproxDP
from hedgerow.release import Container, Method, Release, StoredModel, summary_of, tables_sentence, write_container
from hedgerow.report import render_report
from tests.release.made import DOMAIN, make_release

PAIRS = [("sex", "age"), ("age", "job"), ("sex", "job"), ("job", "income")]


@pytest.fixture
def release() -> Release:
    made = make_release(ApproxDP(1.0, 1e-6), 0, PAIRS[:3], workload="marginals:2; prefixes:age")
    parts = ResidualBasis(DOMAIN, PAIRS)
    coefficients = np.random.default_rng(0).uniform(-0.004, 0.004, parts.size)
    coefficients[0] = 1.0
    tree = Markov(DOMAIN, made.total)
    tree.reweigh(("age", "income"), np.linspace(0.0, 2.0, 5 * DOMAIN["income"].size).reshape(5, -1))
    return dataclasses.replace(made, model=Overlay(tree, parts, coefficients))


def test_it_comes_back(release: Release, tmp_path: Path) -> None:
    for name in ("one", "two"):
        release.save(tmp_path / name)
        loaded = Release.load(tmp_path / name)
        assert isinstance(loaded.held, StoredModel)
        assert tables_sentence(loaded) == tables_sentence(release)
        assert isinstance(loaded.held, StoredModel)  # nothing was built for the sentence
        assert isinstance(loaded.model, Overlay)
        np.testing.assert_array_equal(loaded.workload.answers(loaded.model), release.workload.answers(release.model))
        assert loaded.sample(70, seed=1).to_arrow().equals(release.sample(70, seed=1).to_arrow())
        assert loaded.answer("sex = 'Male' and age < 2") == release.answer("sex = 'Male' and age < 2")
        assert loaded.marginal(["age", "income"]).equals(release.marginal(["age", "income"]))
        release = loaded


def test_batches_have_the_records_of_one_sample(release: Release) -> None:
    methods: tuple[Method, ...] = ("systematic", "independent")
    for method in methods:
        whole = release.sample(700, seed=3, method=method).codes
        pieces = [each.codes for each in release.sample_batches(700, batch=97, seed=3, method=method)]
        assert np.array_equal(whole, np.concatenate(pieces))


def test_it_says_by_which_rule_it_answers(release: Release) -> None:
    assert "one of 4 consistent tables" in tables_sentence(release)
    assert "moved until they have the tables" in tables_sentence(release)
    assert summary_of(release)["tables_over_tree"] == 4
    assert tables_sentence(release) in render_report(release)
    other = dataclasses.replace(release, model=release.model.tree)  # type: ignore[attr-defined]
    assert (tables_sentence(other), summary_of(other)["tables_over_tree"]) == ("", None)


def _short(content: Any, arrays: dict[str, Any]) -> None:
    arrays["model_coefficients"] = arrays["model_coefficients"][:-1]


def _infinite(content: Any, arrays: dict[str, Any]) -> None:
    arrays["model_coefficients"] = np.full_like(arrays["model_coefficients"], np.inf)


def _unscaled(content: Any, arrays: dict[str, Any]) -> None:
    arrays["model_coefficients"] = 2.0 * arrays["model_coefficients"]


def _unordered(content: Any, arrays: dict[str, Any]) -> None:
    arrays["model_scopes"] = arrays["model_scopes"][:, ::-1].copy()


def _outside(content: Any, arrays: dict[str, Any]) -> None:
    arrays["model_scopes"] = arrays["model_scopes"] + 9


def _fewer(content: Any, arrays: dict[str, Any]) -> None:
    content["model"]["scopes"] = [3, 2]


def _negative(content: Any, arrays: dict[str, Any]) -> None:
    content["model"]["scopes"] = [-4, -2]


def _without(content: Any, arrays: dict[str, Any]) -> None:
    del arrays["model_scopes"]


@pytest.mark.parametrize(
    "damage",
    [_short, _infinite, _unscaled, _unordered, _outside, _fewer, _negative, _without],
    ids=lambda f: f.__name__,
)
def test_what_does_not_fit_is_damage(
    release: Release, tmp_path: Path, damage: Callable[[Any, dict[str, Any]], None]
) -> None:
    release.save(tmp_path / "r.release")
    whole = Container.open(tmp_path / "r.release")
    arrays: dict[str, Any] = {name: whole.array(name) for name in whole.table}
    damage(whole.content, arrays)
    write_container(tmp_path / "r.release", whole.content, arrays)
    with pytest.raises(DamagedReleaseError):
        Release.load(tmp_path / "r.release").sample(3)
