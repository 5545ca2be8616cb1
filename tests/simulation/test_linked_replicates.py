"""Replicates of two linked tables together: keys, weights, what is refused, and intervals that hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from hedgerow import (
    MWEM,
    Domain,
    IntegerRange,
    Linked,
    LinkedRelease,
    PureDP,
    SeededNoise,
    Workload,
    read_linked,
    release_linked,
    replicate,
)
from hedgerow.errors import ConfigError
from hedgerow.release import LinkedReplicates, ReplicateEstimate, Replicates
from tests.privacy.mutants import Mutant, killed

HOMES, PEOPLE = (Domain(IntegerRange(name, 0, 1) for name in names) for names in (("a", "c"), ("b",)))
LINKED = Linked.of(HOMES, PEOPLE, key="k", at_most=2, number="size")
ORDERED = Linked.of(
    HOMES, Domain([IntegerRange("t", 0, 3), *PEOPLE.attributes]), key="k", at_most=2, number="size", order="t"
)


def tables(seed: int, n: int = 2000) -> tuple[pa.Table, pa.Table]:
    """Homes of kind 1 are larger, and their children are of kind 1 more often."""
    rng = np.random.default_rng(seed)
    a, c = rng.integers(0, 2, (2, n))
    key = np.repeat(np.arange(n), rng.binomial(2, 0.4 + 0.3 * a))
    first = np.concatenate([[True], key[1:] != key[:-1]])
    b = (rng.random(len(key)) < 0.2 + 0.4 * a[key]).astype(int)
    parents = pa.table({"k": np.arange(n), "a": a, "c": c})
    return parents, pa.table({"k": key, "t": np.where(first, 0, 2), "b": b})


def made(seed: int = 0, linked: Linked = LINKED, epsilon: float = 20.0) -> LinkedRelease:
    parents, children = tables(seed)
    pair = read_linked(parents, children if linked.order else children.drop_columns("t"), linked)
    return release_linked(MWEM(), pair, linked, PureDP(epsilon), noise=SeededNoise(seed))


def ones_for_each_home(homes: pa.Table, of_home: np.ndarray, people: pa.Table, of_child: np.ndarray) -> float:
    """Children of kind 1 for each home of kind 1: a number of both tables."""
    large, born = homes["a"].to_numpy() == 1, people["a"].to_numpy() == 1
    return float((of_child * people["b"].to_numpy())[born].sum() / of_home[large].sum())


def true_ones_for_each_home(seed: int) -> float:
    parents, children = tables(seed)
    a = parents["a"].to_numpy()
    return float(children["b"].to_numpy()[a[children["k"].to_numpy()] == 1].sum() / a.sum())


def test_numbers_of_both_tables_have_intervals() -> None:
    made_of = replicate(made(), 8, target="file", seed=0)
    found = made_of.estimate(ones_for_each_home)
    assert found.traced is not None
    assert found.traced.tables == (("a",), ("a", "b"))
    assert found.low < true_ones_for_each_home(0) < found.high
    moved = []  # the noise of each of the two tables counts, whatever that of the other
    for place, part in enumerate(made_of.tables):
        still = [*made_of.tables]
        still[place] = replace(part, weights=np.repeat(part.weight[:, None], 8, axis=1))
        moved.append(LinkedReplicates.of(made_of.release, still).estimate(ones_for_each_home).replicates)
        assert moved[-1].std() > 0.1 * found.error
    np.testing.assert_allclose(moved[0] * moved[1] / found.raw, found.replicates, rtol=1e-9)


def what_was_not_measured_has_no_interval() -> None:
    """Of two columns of a parent with one of a child no table was measured, nor of two columns with the number."""
    parents = Workload.marginals(LINKED.counted, cliques=[("a", "size"), ("c",)])
    children = Workload.marginals(LINKED.joined, cliques=[("a", "b"), ("c", "b")])
    pair = read_linked(tables(0)[0], tables(0)[1].drop_columns("t"), LINKED)
    noise = SeededNoise(0)
    both = release_linked(MWEM(rounds=2), pair, LINKED, PureDP(9.0), workloads=(parents, children), noise=noise)
    replicates = replicate(both, 4, target="file", seed=0)

    def three(homes: pa.Table, of_home: np.ndarray, people: pa.Table, of_child: np.ndarray) -> float:
        return float(of_child @ (people["a"].to_numpy() * people["b"].to_numpy() * people["c"].to_numpy()))

    def sizes(homes: pa.Table, of_home: np.ndarray, people: pa.Table, of_child: np.ndarray) -> float:
        return float(of_home @ (homes["a"].to_numpy() * homes["c"].to_numpy() * homes["size"].to_numpy()))

    for statistic, named in ((three, "a x c x b"), (sizes, "a x c x size")):
        found = replicates.estimate(statistic)
        assert np.isnan(found.low)
        assert named in found.notes[0]


@pytest.mark.parametrize("linked", [LINKED, ORDERED], ids=["no order", "in order"])
@pytest.mark.parametrize("files", [False, True], ids=["weights", "files"])
def test_files_have_keys_and_weights(linked: Linked, files: bool, tmp_path: Path) -> None:
    replicates = replicate(made(linked=linked), 3, target="file", files=files, seed=0, n=500)
    homes, people = (tmp_path / name for name in ("h.csv", "p.csv"))
    written = replicates.write(homes, people)
    assert written == replicates.places(homes, people)
    assert len(written) == (8 if files else 2)
    for parents, children in zip(written[::2], written[1::2], strict=True):
        one, other = (pyarrow.csv.read_csv(place) for place in (parents, children))
        weights = ["weight"] if files else ["weight", *(f"repweight_{number}" for number in (1, 2, 3))]
        assert one.column_names == ["k", "a", "c", *weights]
        assert other.column_names == ["k", *linked.children.names, *weights]
        assert one["k"].to_pylist() == list(range(1, 501))
        assert {*other["k"].to_pylist()} <= {*one["k"].to_pylist()}
        for table, release in ((one, replicates.release.parents), (other, replicates.release.children)):
            assert sum(table["weight"].to_pylist()) == pytest.approx(release.total, rel=0.05)
    assert ("files of their own" in replicates.says) == files
    assert [each["form"] for each in replicates.to_dict()["tables"]] == ["files" if files else "weights"] * 2
    found = replicates.estimate(ones_for_each_home)
    assert found.low < true_ones_for_each_home(0) < found.high


def test_both_are_files_where_one_needs_them() -> None:
    release = made()
    one, other = (
        replicate(each, 2, target="file", files=files, seed=0)
        for each, files in ((release.parents, False), (release.children, True))
    )
    both = LinkedReplicates.of(release, [one, other])
    assert [both.form, *(each.form for each in both.tables)] == ["files"] * 3


def test_the_population_is_refused() -> None:
    with pytest.raises(ConfigError, match="what children of one parent share"):
        replicate(made(), 4)


@pytest.mark.slow
@pytest.mark.parametrize("linked", [LINKED, ORDERED], ids=["no order", "in order"])
def test_intervals_hold(linked: Linked) -> None:
    """Of 30 intervals of 95 % fewer than 25 hold once in 500."""
    held = 0
    for seed in range(30):
        found = replicate(made(seed, linked, 30.0 if linked.order else 4.0), 20, target="file", seed=seed).estimate(
            ones_for_each_home
        )
        held += bool(found.low <= true_ones_for_each_home(seed) <= found.high)
    assert held >= 25


def _unchecked(patch: pytest.MonkeyPatch, domain: Domain) -> None:
    checked = Replicates.checked

    def some(self: Replicates, found: ReplicateEstimate, *rest: Any) -> ReplicateEstimate:
        return found if self.release.domain == domain else checked(self, found, *rest)

    patch.setattr(Replicates, "checked", some)


MUTANTS = [
    Mutant(
        "what numbers need of parents is not looked up",
        lambda patch: _unchecked(patch, LINKED.counted),
        what_was_not_measured_has_no_interval,
    ),
    Mutant(
        "what numbers need of children is not looked up",
        lambda patch: _unchecked(patch, LINKED.joined),
        what_was_not_measured_has_no_interval,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_wrong_replicates_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
