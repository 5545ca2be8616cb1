"""Saving and loading a whole release."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import DamagedReleaseError, ModelTooLargeError, ReleaseVersionError
from hedgerow.models import Histogram, Potentials
from hedgerow.privacy import SECURE_SOURCE, ZCDP, ApproxDP, Event, MeasuredQuery, PureDP
from hedgerow.queries import Blocks, Conjunction, Explicit, Measurement, Neighbours, NoiseKind, Parity, Workload
from hedgerow.release import Provenance, Release, StoredModel
from tests.release.made import BUDGETS, DOMAIN, TABLE, make_release


def with_histogram(release: Release, *, base: bool = False) -> Release:
    """The same release with a histogram that has seen updates."""
    cells = TABLE.cells + 1.0 if base else None
    model = Histogram(DOMAIN, release.total, cells)
    model.update(Conjunction.where(DOMAIN, {"sex": [1], "age": [0, 2]}), 0.7)
    model.reweigh(("age", "job"), np.linspace(-1, 1, 20).reshape(5, 4))
    return dataclasses.replace(release, model=model)


@pytest.fixture(params=[False, True], ids=["potentials", "with a base"])
def release(request: pytest.FixtureRequest) -> Release:
    made = make_release(ApproxDP(1.0, 1e-6), 0, [("sex", "age"), ("job",)], workload="marginals:2; prefixes:age")
    return with_histogram(made, base=request.param)


def assert_same(one: Release, other: Release) -> None:
    assert other.domain == one.domain
    assert other.workload == one.workload
    assert other.budget == one.budget
    assert other.events == one.events
    assert other.error == one.error
    assert other.total == one.total
    assert other.provenance == one.provenance
    assert other.guarantee() == one.guarantee()
    for mine, yours in zip(one.measurements, other.measurements, strict=True):
        assert (mine.target.text, mine.noise, mine.scale) == (yours.target.text, yours.noise, yours.scale)
        np.testing.assert_array_equal(mine.values, yours.values)
    cliques = [one.domain.names]
    np.testing.assert_allclose(other.model.marginals(cliques)[0], one.model.marginals(cliques)[0], rtol=1e-10)


def test_round_trip(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.release")
    loaded = Release.load(tmp_path / "r.release")
    assert_same(release, loaded)
    assert loaded.answer("sex = 'Male'").covers == release.answer("sex = 'Male'").covers
    assert loaded.sample(50, seed=1).to_arrow().equals(loaded.sample(50, seed=1).to_arrow())
    loaded.save(tmp_path / "again.release")
    assert_same(release, Release.load(tmp_path / "again.release"))
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["again.release", "r.release"]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_every_budget_comes_back(budget: PureDP, tmp_path: Path) -> None:
    release = with_histogram(make_release(budget, 1, error=False))
    release.save(tmp_path / "r.release")
    assert_same(release, Release.load(tmp_path / "r.release"))


def test_every_kind_of_measurement_comes_back(tmp_path: Path) -> None:
    binary = Domain(IntegerRange(name, 0, 1) for name in "abc")
    targets = [
        Conjunction.where(binary, {"a": [1], "c": [0]}),
        Parity(binary, ("a", "b")),
        Blocks(binary, ("a", "c"), np.array([[0, 1], [2, 1]])),
        Blocks(binary, ("a", "c"), np.array([[0, 1], [2, 2]]), "c where a = 0,"),
        Explicit.of(binary, ["b", "c"], [0.25, -1, 0, 3], "weighted"),
        Explicit(binary, ("a",), "wide", np.array([0.0, 1.0]), (-1.0, 1.0)),
    ]
    values = [np.full(each.size, place + 0.5) for place, each in enumerate(targets)]
    measured = tuple(Measurement(*each, NoiseKind.GAUSSIAN, 2.0) for each in zip(targets, values, strict=True))
    paid = [(each.sensitivity(Neighbours.ADD_REMOVE).l2, each.size) for each in targets]
    release = Release(
        model=Histogram(binary, 10.0),
        workload=Workload.explicit(binary, ["a", "b"], np.arange(8.0).reshape(2, 4)),
        budget=ZCDP(9.0),
        events=tuple(
            Event(
                "measure",
                "discrete Gaussian",
                MeasuredQuery("query", (), "by hand"),
                l2,
                2.0,
                l2**2 / 7.9,
                "rho",
                "add-remove",
                values=size,
            )
            for l2, size in paid
        ),
        measurements=measured,
        error=None,
        total=10.0,
        provenance=Provenance.record("by hand", {}, noise=SECURE_SOURCE),
    )
    release.save(tmp_path / "r.release")
    loaded = Release.load(tmp_path / "r.release")
    assert_same(release, loaded)
    for mine, yours in zip(release.measurements, loaded.measurements, strict=True):
        assert mine.target.bounds == yours.target.bounds
        for measured_value in (mine, yours):
            assert measured_value.target.scope == mine.target.scope
            assert measured_value.target.text == mine.target.text
    blocks = [each.measurements[2].target for each in (release, loaded)]
    np.testing.assert_array_equal(*(each.places for each in blocks if isinstance(each, Blocks)))


def test_loading_builds_no_model(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.release")
    loaded = Release.load(tmp_path / "r.release")
    assert loaded.guarantee()
    assert loaded.answer("").high
    assert loaded.total == release.total
    loaded.save(tmp_path / "again.release")
    assert isinstance(loaded.held, StoredModel)
    assert (tmp_path / "again.release").read_bytes() == (tmp_path / "r.release").read_bytes()
    loaded.answer("sex = 'Male'")
    assert isinstance(loaded.held, Histogram)
    assert loaded.model is loaded.model


def test_a_model_that_does_not_fit_can_still_be_shown(tmp_path: Path) -> None:
    wide = Domain(IntegerRange(f"a{i}", 0, 99) for i in range(8))
    everywhere = [{"scope": list(wide.names), "codes": [[0]] * len(wide)}]
    entry = {"tables": [], "steps": everywhere, "base": False}
    model = StoredModel(wide, 10.0, entry, {"model_steps": np.array([1.0])})
    with pytest.raises(ModelTooLargeError):
        model.build()


def test_every_changed_byte_is_named_or_harmless(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "r.release"
    release.save(path)
    whole = path.read_bytes()
    for place in np.random.default_rng(0).integers(len(whole), size=400).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            assert_same(release, Release.load(path))
        except (DamagedReleaseError, ReleaseVersionError):
            continue


CHANGES = [
    ("domain", {"attributes": {"sex": ["only"]}}),
    ("domain", []),
    ("workload", {"families": [{"kind": "text", "text": "marginals:9", "weight": 1.0}]}),
    ("budget", {"kind": "pure", "epsilon": -1.0}),
    ("ledger", {"limit": 1.0, "unit": "rho", "events": [{}]}),
    ("ledger", None),
    ("measurements", [{"target": {"kind": "marginal", "scope": ["sex"]}, "noise": "laplace", "scale": 1.0}]),
    ("measurements", [{"target": {"kind": "other", "scope": []}, "noise": "laplace", "scale": 1.0}]),
    ("measurements", [{"target": {"kind": "marginal", "scope": ["sex"]}, "noise": "loud", "scale": 1.0}]),
    ("error", {"mean": 1.0}),
    ("total", "many"),
    ("total", None),
    ("provenance", {"algorithm": "x", "parameters": {}, "secure": "yes", "versions": {}}),
]


@pytest.mark.parametrize(("part", "value"), CHANGES)
def test_contents_that_do_not_fit_together_are_named(tmp_path: Path, part: str, value: object) -> None:
    """Even where the checksums were made anew."""
    from hedgerow.release import Container, write_container

    path = tmp_path / "r.release"
    with_histogram(make_release(PureDP(1.0), 0, [("sex", "age")])).save(path)
    whole = Container.open(path)
    write_container(path, {**whole.content, part: value}, {name: whole.array(name) for name in whole.table})
    with pytest.raises(DamagedReleaseError, match="not a release file"):
        Release.load(path)


MODELS = [
    {"tables": [["sex", "age"]], "steps": [], "base": False},
    {"tables": [["sex", "none"]], "steps": [], "base": False},
    {"tables": [], "steps": [{"scope": ["sex"], "codes": [[7]]}], "base": False},
    {"tables": [], "steps": [], "base": True},
    {"tables": 3},
]


@pytest.mark.parametrize("entry", MODELS)
def test_a_model_that_does_not_fit_the_domain_is_named(entry: dict[str, object]) -> None:
    arrays = {"model_tables": np.zeros(3), "model_steps": np.zeros(1), "model_base": np.full(DOMAIN.size, -1.0)}
    with pytest.raises(DamagedReleaseError):
        StoredModel(DOMAIN, 5.0, entry, arrays).build()


def test_potentials_with_infinite_values_are_refused() -> None:
    entry = {"tables": [["sex"]], "steps": [], "base": False}
    with pytest.raises(DamagedReleaseError, match="finite"):
        StoredModel(DOMAIN, 5.0, entry, {"model_tables": np.array([0.0, np.inf])}).state()
    assert Potentials().tables == {}


def test_the_file_is_json_and_plain_arrays(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.release")
    with zipfile.ZipFile(tmp_path / "r.release") as archive:
        names = archive.namelist()
        head = json.loads(archive.read("release.json"))
    assert {Path(name).suffix for name in names} == {".json", ".npy"}
    assert (head["format"], head["version"]) == ("hedgerow-release", 3)
    assert head["content"]["guarantee"] == release.guarantee()


def test_a_failed_save_leaves_the_old_file(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.release"
    release.save(path)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(KeyboardInterrupt):
        release.save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["r.release"]
