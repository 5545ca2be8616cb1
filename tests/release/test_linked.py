"""Records of two linked tables: intact keys, rules of both, and the laws that the releases give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from hedgerow import (
    GDP,
    MWEM,
    ApproxDP,
    Children,
    Domain,
    IntegerRange,
    Linked,
    LinkedRelease,
    PureDP,
    Register,
    Release,
    SeededNoise,
    Table,
    Workload,
    read_linked,
    release_linked,
)
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import domain_from_mapping, impossible
from hedgerow.errors import ConfigError, RegisterExceededError, ReleaseError
from hedgerow.models import LARGEST_TREE, Overlay
from hedgerow.privacy import Budget
from hedgerow.release import Records
from tests.privacy.mutants import Mutant, killed

HOMES = Domain([IntegerRange("a", 0, 1)])
BOTH = Domain([*HOMES.attributes, IntegerRange("b", 0, 3)])
PEOPLE = Domain(BOTH.attributes, [], [impossible(BOTH, "a = 0 and b = 3")])
LINKED = Linked.of(HOMES, PEOPLE, key="k", at_most=3)


def tables(n: int = 600) -> tuple[pa.Table, pa.Table]:
    """Homes of kind 1 have three children with b from 1 to 3, homes of kind 0 none or one with b = 0."""
    keys = np.arange(n)
    parent = np.repeat(keys, np.where(keys % 2, 3, keys % 4 // 2))
    b = np.where(parent % 2, 1 + np.arange(len(parent)) % 3, 0)
    return pa.table({"k": keys, "a": keys % 2}), pa.table({"k": parent, "b": b})


def made(budget: Budget, seed: int = 0) -> LinkedRelease:
    return release_linked(MWEM(), read_linked(*tables(), LINKED), LINKED, budget, noise=SeededNoise(seed))


@pytest.fixture(scope="module")
def both() -> LinkedRelease:
    return made(PureDP(200.0))


def test_every_child_has_a_parent_and_every_parent_the_children_that_were_drawn(both: LinkedRelease) -> None:
    homes, people = (records.to_arrow() for records in both.sample(2000, seed=1))
    assert homes.column_names == ["k", "a"]
    assert people.column_names == ["k", "b"]
    assert homes["k"].to_pylist() == list(range(1, 2001))
    assert set(people["k"].to_pylist()) <= set(homes["k"].to_pylist())
    numbers = Counter(people["k"].to_pylist())
    kind = dict(zip(homes["k"].to_pylist(), homes["a"].to_pylist(), strict=True))
    assert max(numbers.values()) <= 3
    pairs = Counter((a, numbers[key]) for key, a in kind.items())
    assert abs(pairs[1, 3] - 1000) < 60
    assert abs(pairs[0, 1] - 500) < 60


def test_children_follow_their_parent_and_the_rules_between_both(both: LinkedRelease) -> None:
    homes, people = (records.to_arrow() for records in both.sample(2000, seed=2))
    kind = dict(zip(homes["k"].to_pylist(), homes["a"].to_pylist(), strict=True))
    pairs = Counter((kind[key], b) for key, b in zip(people["k"].to_pylist(), people["b"].to_pylist(), strict=True))
    assert pairs[0, 3] == 0
    assert sum(pairs[0, b] for b in (1, 2)) < 0.05 * sum(pairs[0, b] for b in range(4))
    for b in (1, 2, 3):
        assert abs(pairs[1, b] / sum(pairs[1, each] for each in range(4)) - 1 / 3) < 0.05


def test_the_same_seed_draws_the_same(both: LinkedRelease) -> None:
    first, second = (both.sample(50, seed=3) for _ in range(2))
    assert [each.to_arrow() for each in first] == [each.to_arrow() for each in second]


def test_files_know_each_other(both: LinkedRelease, tmp_path: Path) -> None:
    both.parents.save(tmp_path / "h.release")
    both.children.save(tmp_path / "p.release")
    homes, people = Release.load(tmp_path / "h.release"), Release.load(tmp_path / "p.release")
    again = LinkedRelease.from_parts(homes, people)
    assert again.linked == both.linked == LINKED
    assert again.write_records(tmp_path / "h.csv", tmp_path / "p.csv", 20, seed=4)[0] == 20
    written = pyarrow.csv.read_csv(tmp_path / "p.csv")
    assert written.equals(both.sample(20, seed=4)[1].to_arrow())
    with pytest.raises(ReleaseError, match="not of"):
        LinkedRelease.from_parts(people, homes)
    alone = MWEM().run(read_linked(*tables(), LINKED)[0], homes.workload, PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(ReleaseError, match="not of linked tables"):
        LinkedRelease.from_parts(alone, people)
    with pytest.raises(ReleaseError, match="not of the linked tables"):
        LinkedRelease.of(people, homes, LINKED)


@pytest.mark.parametrize("budget", [PureDP(1.0), ApproxDP(1.0, 1e-9), GDP(0.5)], ids=["pure", "approximate", "gdp"])
def test_both_parts_add_up_and_are_about_a_parent_with_all_children(budget: Budget) -> None:
    both = made(budget)
    first, second = both.parents.budget, both.children.budget
    assert first.regime is second.regime
    assert 0.999 * budget.limit < first.limit + second.limit <= budget.limit * (1 + 1e-12)
    assert both.parents.spent <= first.limit
    assert both.children.spent <= second.limit
    assert [part.neighbours.records for part in (first, second)] == [1, 3]
    assert first.neighbours.unfiltered == second.neighbours.unfiltered
    assert "'k', of whose records at most 3 count" in both.guarantee()
    assert both.guarantee().startswith("NOT PRIVATE: seeded")


def test_few_records_or_none_can_be_drawn(both: LinkedRelease) -> None:
    for n in (0, 1):
        homes, people = both.sample(n, seed=5)
        assert len(homes) == n
        assert len(people) <= 3 * n


def test_drafts_are_named_in_the_guarantee() -> None:
    linked = Linked.of(HOMES, Domain([IntegerRange("b", 0, 3)], draft=True), key="k", at_most=3)
    both = release_linked(MWEM(), read_linked(*tables(), linked), linked, PureDP(1.0), noise=SeededNoise(0))
    assert "draft" in both.guarantee()


def test_releases_about_single_records_are_not_put_together() -> None:
    homes, people = read_linked(*tables(), LINKED)
    columns = [Table(table.domain, table.columns) for table in (homes, people)]
    apart = [
        MWEM().run(table, Workload.marginals(table.domain, 2), PureDP(1.0), noise=SeededNoise(0)) for table in columns
    ]
    with pytest.raises(ReleaseError, match="hide neighbours by 'add-remove'"):
        LinkedRelease.of(apart[0], apart[1], LINKED)


def test_a_register_is_asked_for_the_whole_first(tmp_path: Path) -> None:
    register = Register(tmp_path / "r", PureDP(1.0, "add-remove of persons (k)"))
    with pytest.raises(RegisterExceededError):
        release_linked(MWEM(), read_linked(*tables(), LINKED), LINKED, PureDP(2.0), register=register)
    assert register.contents().spent == 0.0
    release_linked(MWEM(), read_linked(*tables(), LINKED), LINKED, PureDP(1.0), register=register)
    assert register.contents().spent == pytest.approx(1.0)
    with pytest.raises(ConfigError, match="persons"):
        Register(tmp_path / "s", PureDP(9.0)).check(both_budget())


def both_budget() -> Budget:
    return PureDP(1.0, "add-remove of persons (k)")


def test_a_run_over_persons_goes_into_a_register_of_persons(tmp_path: Path) -> None:
    people = read_linked(*tables(), LINKED)[1]
    workload = Workload.marginals(people.domain, 1)
    with pytest.raises(ConfigError, match="persons"):
        MWEM().run(people, workload, PureDP(1.0), register=Register(tmp_path / "r", PureDP(9.0)))
    register = Register(tmp_path / "s", both_budget())
    MWEM().run(people, workload, PureDP(0.5), register=register)
    assert register.contents().entries[0].attributes == people.domain.names


def test_workloads_and_shares_can_be_chosen() -> None:
    counted = Workload.parse("marginals:children", LINKED.counted)
    both = release_linked(
        MWEM(),
        read_linked(*tables(), LINKED),
        LINKED,
        PureDP(2.0),
        share=0.75,
        workloads=(counted, None),
        noise=SeededNoise(0),
    )
    assert both.parents.workload == counted
    assert both.children.workload.scopes == (("a", "b"), ("children", "b"))
    assert both.parents.budget.limit == 1.5
    with pytest.raises(ConfigError, match="a share of 1"):
        release_linked(MWEM(), read_linked(*tables(), LINKED), LINKED, PureDP(2.0), share=1.0)


def test_durations_and_types_of_linked_tables() -> None:
    homes = domain_from_mapping({"attributes": {"a": {"values": ["x", "y"], "type": "dictionary"}}})
    visits = {
        "admitted": {"min": "2023-01-01", "max": "2023-12-31", "bins": "month", "type": "timestamp[ns]"},
        "stay": {"from": "admitted", "to": "left", "min": 0, "max": 30, "unit": "d"},
    }
    people = domain_from_mapping({"attributes": visits, "order": ["left", "admitted"]})
    linked = Linked.of(homes, people, key="k", at_most=3)
    draw = np.random.default_rng(0)
    days = np.datetime64("2023-01-01") + draw.integers(0, 365, 500)
    left = days + draw.integers(0, 31, 500)
    table = pa.table({"k": draw.integers(0, 300, 500), "admitted": days, "left": left})
    tables = read_linked(pa.table({"k": range(300), "a": ["x", "y", "x"] * 100}), table, linked)
    both = release_linked(MWEM(), tables, linked, PureDP(50.0), noise=SeededNoise(0))
    parents, children = (each.to_arrow() for each in both.sample(50, seed=0))
    assert parents.schema.names == ["k", "a"]
    assert pa.types.is_dictionary(parents.schema.field("a").type)
    assert children.schema.names == ["k", "left", "admitted"]
    assert children.schema.types[1:] == [pa.timestamp("ns")] * 2
    apart = children["left"].to_numpy() - children["admitted"].to_numpy()
    assert np.timedelta64(0) <= apart.min() <= apart.max() <= np.timedelta64(30, "D")


VISITS = Domain([IntegerRange("t", 0, 99), IntegerRange("ward", 0, 2), IntegerRange("ill", 0, 1)])


def visits(n: int = 900) -> tuple[tuple[pa.Table, pa.Table], Linked]:
    """Patients go through wards 0, 1, 2, 0, ..., those of kind 0 every 4 days and those of kind 1 every 12."""
    homes = {"k": np.arange(n), "a": np.arange(n) % 2}
    number = 1 + np.arange(n) % 4
    parent, place = np.repeat(np.arange(n), number), np.concatenate([np.arange(each) for each in number])
    kind = parent % 2
    days = parent % 40 + np.where(kind == 0, 4, 12) * place
    people = {"k": parent, "t": days, "ward": place % 3, "ill": parent % 3 // 2}
    order = np.random.default_rng(0).permutation(len(parent))
    tables = pa.table(homes), pa.table(people).take(pa.array(order))
    return tables, Linked.of(HOMES, VISITS, key="k", at_most=4, order="t")


@cache
def made_sequences() -> LinkedRelease:
    tables, linked = visits()
    return release_linked(MWEM(), read_linked(*tables, linked), linked, PureDP(3000.0), noise=SeededNoise(0))


@pytest.fixture
def sequences() -> LinkedRelease:
    return made_sequences()


def one_follows_the_other(both: LinkedRelease) -> None:
    homes, people = (records.to_arrow() for records in both.sample(600, seed=1))
    keys, days, ward, ill = (people[name].to_numpy() for name in ("k", "t", "ward", "ill"))
    follows = keys[1:] == keys[:-1]
    kind = homes["a"].to_numpy()[keys - 1]
    apart = (days[1:] - days[:-1])[follows]
    assert apart.min() >= 0
    assert np.mean(apart == np.where(kind[1:][follows] == 0, 4, 12)) > 0.9
    step = ((ward[1:] - ward[:-1]) % 3)[follows]
    assert np.mean(step == 1) > 0.9
    assert np.mean((ill[1:] == ill[:-1])[follows]) > 0.9
    first = np.concatenate([[True], ~follows])
    assert np.mean(ward[first] == 0) > 0.9
    assert days.max() <= 99


def test_children_with_an_order_follow_the_child_before(sequences: LinkedRelease) -> None:
    one_follows_the_other(sequences)


def test_the_number_of_children_with_an_order_is_that_of_their_parent(sequences: LinkedRelease) -> None:
    homes, people = sequences.sample(300, seed=2)
    assert homes.to_arrow().column_names == ["k", "a"]
    assert people.to_arrow().column_names == ["k", "t", "ward", "ill"]
    drawn = sequences.parents.sample(300, np.random.default_rng(2))
    numbers = drawn.codes[:, drawn.domain.index("children")]
    keys = people.to_arrow()["k"].to_numpy()
    assert np.bincount(keys, minlength=301)[1:].tolist() == numbers.tolist()
    assert (np.diff(keys) >= 0).all()


def test_files_of_sequences_know_their_order(sequences: LinkedRelease, tmp_path: Path) -> None:
    sequences.parents.save(tmp_path / "h.release")
    sequences.children.save(tmp_path / "p.release")
    loaded = [Release.load(tmp_path / name) for name in ("h.release", "p.release")]
    again = LinkedRelease.from_parts(*loaded)
    assert again.linked == sequences.linked
    assert again.linked.order == "t"
    first, other = (each.sample(40, seed=5)[1].to_arrow() for each in (sequences, again))
    assert first == other
    asked = sequences.children.answer("previous.ward = 0 and ward = 1")
    assert asked.value > 100


def test_sequences_end_with_their_order_and_keep_rules() -> None:
    """Children have days 0 to 3 and gaps of 1; those of parents of kind 0 stay below 3."""
    joined = Domain([*HOMES.attributes, IntegerRange("t", 0, 3)])
    people = Domain(joined.attributes, [], [impossible(joined, "a = 0 and t = 3")])
    linked = Linked.of(HOMES, people, key="k", at_most=4, order="t")
    n = 400
    number = np.where(np.arange(n) % 2, 4, 3)
    parent = np.repeat(np.arange(n), number)
    place = np.concatenate([np.arange(each) for each in number])
    tables = pa.table({"k": np.arange(n), "a": np.arange(n) % 2}), pa.table({"k": parent, "t": place})
    both = release_linked(MWEM(), read_linked(*tables, linked), linked, PureDP(500.0), noise=SeededNoise(0))
    homes, people_drawn = (records.to_arrow() for records in both.sample(seed=0))
    keys, days = people_drawn["k"].to_numpy(), people_drawn["t"].to_numpy()
    kind = homes["a"].to_numpy()[keys - 1]
    assert days[kind == 0].max() <= 2
    exact = sum(
        days[keys == key].tolist() == list(range(3 + kind_of)) for key, kind_of in enumerate(homes["a"].to_pylist(), 1)
    )
    assert exact > 0.9 * len(homes)


def stays(n: int = 900, **named: Any) -> tuple[tuple[pa.Table, pa.Table], Linked]:
    """Patients whose ward is another one than two stays before, so that the last stay alone tells nothing of it."""
    parent, place = np.repeat(np.arange(n), 6), np.tile(np.arange(6), n)
    ward = (place + np.repeat(np.arange(n) % 4, 6)) // 2 % 2
    people = Domain([IntegerRange("t", 0, 5), IntegerRange("ward", 0, 1)])
    tables = pa.table({"k": np.arange(n), "a": np.arange(n) % 2}), pa.table({"k": parent, "t": place, "ward": ward})
    return tables, Linked.of(HOMES, people, key="k", at_most=6, order="t", **named)


@cache
def made_second() -> LinkedRelease:
    tables, linked = stays(second_order=["ward"])
    return release_linked(MWEM(), read_linked(*tables, linked), linked, PureDP(3000.0), noise=SeededNoise(0))


def each_differs_from_two_before(both: LinkedRelease, least: float = 0.9) -> None:
    ward = both.sample(300, seed=1)[1].to_arrow()["ward"].to_numpy().reshape(-1, 6)
    assert np.mean(ward[:, 2:] != ward[:, :-2]) > least
    assert 0.4 < np.mean(ward[:, 1:] != ward[:, :-1]) < 0.6


def test_children_of_the_second_order_follow_the_two_before_them() -> None:
    each_differs_from_two_before(made_second())


@pytest.mark.parametrize("epsilon", [0.1, 300.0])
def test_columns_are_of_the_second_order_unasked_where_the_budget_carries_them(epsilon: float) -> None:
    tables, linked = stays(second_order=None)
    read = read_linked(*tables, linked)
    both = release_linked(MWEM(), read, linked, PureDP(epsilon), noise=SeededNoise(0))
    assert both.linked == stays(second_order=["ward"] if epsilon > 1 else [])[1]
    with pytest.raises(ConfigError, match="not settled which"):
        release_linked(MWEM(), read, linked, PureDP(1.0), workloads=(None, both.children.workload))
    assert both.children.budget.neighbours.records == 6
    assert both.sample(3, seed=0)[1].to_arrow().column_names == ["k", "t", "ward"]


def _told_otherwise(patch: pytest.MonkeyPatch, told: Callable[[Ints], Ints]) -> None:
    """Children are drawn given other codes of the child before, shape ``(n, 2)``."""
    sample = Release.sample

    def drawn(release: Release, n: int, seed: Any, method: Any, given: Records) -> Records:
        codes = np.array(given.codes)
        place = given.domain.index("previous.ward")
        if (codes[:, place] < VISITS["ward"].size).all():  # not the first ones
            codes[:, place : place + 2] = told(codes[:, place : place + 2])
        return sample(release, n, seed, method, given.with_codes(codes))

    patch.setattr(Release, "sample", lambda self, *of, **named: (drawn if len(of) == 4 else sample)(self, *of, **named))


def _of_another_parent(patch: pytest.MonkeyPatch) -> None:
    _told_otherwise(patch, lambda codes: np.roll(codes, 1, axis=0))


def _of_nobody(patch: pytest.MonkeyPatch) -> None:
    _told_otherwise(patch, np.zeros_like)


def _one_for_both(patch: pytest.MonkeyPatch) -> None:
    """Drawn children have the child before for the one before that too; what is read stays as it is."""
    history = [(name, name.rpartition(".")[2]) for name, _ in made_second().linked.history]
    patch.setattr(Linked, "history", history)


def jobs_of_homes(n: int = 600) -> tuple[list[pa.Table], Linked]:
    """Homes of kind 1 have two persons, others one; a person who works has as many jobs as the home has persons.

    Jobs have the kind of their home, and a second one is a step further than the first.
    """
    kind = np.arange(n) % 2
    home = np.repeat(np.arange(n), 1 + kind)
    person = np.array([f"p{number}" for number in range(len(home))])
    works = np.arange(len(home)) // 2 % 2
    owner = np.repeat(np.arange(len(home)), works * (1 + kind[home]))
    second = np.concatenate([[0], owner[1:] == owner[:-1]]).astype(int)
    tables = [
        pa.table({"k": np.arange(n), "a": kind}),
        pa.table({"k": home, "who": person, "works": works}),
        pa.table({"who": person[owner], "t": second + 1, "c": kind[home[owner]]}),
    ]
    persons = Domain([IntegerRange("works", 0, 1)])
    job = Domain([IntegerRange("t", 0, 3), IntegerRange("c", 0, 1)])
    jobs = Children(job, key="who", at_most=2, number="jobs", order="t", above=1)
    return tables, Linked.of(HOMES, persons, key="k", at_most=2, more=[jobs])


@cache
def made_tree() -> LinkedRelease:
    (homes, persons, jobs), linked = jobs_of_homes()
    read = read_linked(homes, persons, linked, more=[jobs])
    return release_linked(MWEM(), read, linked, PureDP(3000.0), noise=SeededNoise(0))


def jobs_follow_person_and_home(tree: LinkedRelease) -> None:
    homes, persons, jobs = (records.to_arrow() for records in tree.sample(600, seed=1))
    home = persons["k"].to_numpy() - 1
    kind, works = homes["a"].to_numpy()[home], persons["works"].to_numpy()
    person = jobs["who"].to_numpy() - 1
    number = np.bincount(person, minlength=len(home))
    assert np.mean(number == works * (1 + kind)) > 0.95
    assert np.mean(jobs["c"].to_numpy() == kind[person]) > 0.95
    follows = person[1:] == person[:-1]
    assert (np.diff(jobs["t"].to_numpy())[follows] == 1).mean() > 0.95


def test_keys_of_a_tree_are_intact_and_what_hangs_below_follows_all_above() -> None:
    jobs_follow_person_and_home(made_tree())
    homes, persons, jobs = (records.to_arrow() for records in made_tree().sample(200, seed=2))
    assert [each.column_names for each in (homes, persons, jobs)] == [
        ["k", "a"],
        ["k", "who", "works"],
        ["who", "t", "c"],
    ]
    assert homes["k"].to_pylist() == list(range(1, 201))
    assert persons["who"].to_pylist() == list(range(1, persons.num_rows + 1))
    assert {*persons["k"].to_pylist()} <= {*homes["k"].to_pylist()}
    assert {*jobs["who"].to_pylist()} <= {*persons["who"].to_pylist()}
    drawn = made_tree().parents.sample(200, np.random.default_rng(2))
    assert np.bincount(persons["k"].to_numpy(), minlength=201)[1:].tolist() == drawn.codes[:, 1].tolist()


def test_files_of_a_tree_know_each_other(tmp_path: Path) -> None:
    tree = made_tree()
    for number, release in enumerate(tree.releases):
        release.save(tmp_path / f"{number}.release")
    loaded = [Release.load(tmp_path / f"{number}.release") for number in range(3)]
    again = LinkedRelease.from_parts(*loaded)
    assert again.linked == tree.linked
    places = [tmp_path / f"{number}.csv" for number in range(3)]
    numbers = again.write_records(places[0], places[1], 20, seed=4, more=places[2:])
    for number, place, records in zip(numbers, places, tree.sample(20, seed=4), strict=True):
        assert pyarrow.csv.read_csv(place).equals(records.to_arrow())
        assert number == len(records)
    with pytest.raises(ReleaseError, match="3 tables are linked, and there are 2 releases"):
        LinkedRelease.from_parts(*loaded[:2])
    with pytest.raises(ReleaseError, match="not of the linked tables"):
        LinkedRelease.from_parts(loaded[0], loaded[2], loaded[1])
    more = replace(tree.linked.more[0], in_all=3)
    with pytest.raises(ReleaseError, match="count other numbers of records of one parent"):
        LinkedRelease.of(loaded[0], loaded[1], replace(tree.linked, more=(more,)), loaded[2:])
    said = tree.parents.provenance.parameters
    astray = {**said["linked"], "more": [{**said["linked"]["more"][0], "above": 2}]}
    with pytest.raises(ReleaseError, match="not of the linked tables"):
        LinkedRelease.from_parts(
            *(
                replace(each, provenance=replace(each.provenance, parameters={**said, "linked": astray}))
                for each in loaded
            )
        )


@pytest.mark.parametrize("budget", [PureDP(1.0), ApproxDP(1.0, 1e-9), GDP(0.5)], ids=["pure", "approximate", "gdp"])
def test_the_parts_of_a_tree_add_up_and_are_about_a_home_with_all_below_it(budget: Budget) -> None:
    (homes, persons, jobs), linked = jobs_of_homes(60)
    read = read_linked(homes, persons, linked, more=[jobs])
    tree = release_linked(MWEM(rounds=1), read, linked, budget, noise=SeededNoise(0))
    parts = [release.budget for release in tree.releases]
    assert 0.999 * budget.limit < sum(part.limit for part in parts) <= budget.limit * (1 + 1e-12)
    assert all(release.spent <= release.budget.limit for release in tree.releases)
    assert [part.neighbours.records for part in parts] == [1, 2, 4]
    assert [round(part.limit / budget.limit, 6) for part in parts] == [0.3, 0.35, 0.35]
    assert len({part.neighbours.unfiltered for part in parts}) == 1
    said = tree.guarantee()
    assert "a value of the column 'k', " in said
    assert said.endswith("Of one person's records at most these count: 2 of 'children', 4 of 'jobs'.")


def test_shares_and_workloads_of_a_tree_can_be_chosen() -> None:
    (homes, persons, jobs), linked = jobs_of_homes(60)
    read = read_linked(homes, persons, linked, more=[jobs])
    asked = Workload.parse("marginals:a*c", linked.links[1].joined)
    tree = release_linked(
        MWEM(rounds=1),
        read,
        linked,
        PureDP(2.0),
        share=(0.25, 0.25),
        workloads=(None, None, asked),
        noise=SeededNoise(0),
    )
    assert [release.budget.limit for release in tree.releases] == [0.5, 0.5, 1.0]
    assert tree.releases[2].workload == asked
    for share, message in (((0.5,), "1 shares of 3 tables"), ((0.7, 0.3), "shares of 1 together")):
        with pytest.raises(ConfigError, match=message):
            release_linked(MWEM(), read, linked, PureDP(2.0), share=share)
    with pytest.raises(ConfigError, match="3 linked tables, 2 that were read and 2 workloads"):
        release_linked(MWEM(), read[:2], linked, PureDP(2.0))


def test_columns_of_the_second_order_are_settled_table_by_table() -> None:
    (homes, persons, jobs), linked = jobs_of_homes()
    job = Children(linked.more[0].children, key="who", at_most=2, number="jobs", order="t", second_order=None, above=1)
    open_tree = Linked.of(HOMES, linked.children, key="k", at_most=2, more=[job])
    read = read_linked(homes, persons, open_tree, more=[jobs])
    for epsilon, order in ((3000.0, 2), (0.1, 1)):
        tree = release_linked(MWEM(rounds=1), read, open_tree, PureDP(epsilon), noise=SeededNoise(0))
        assert f"{'previous.' * order}c" in tree.linked.more[0].joined.names
        assert f"{'previous.' * (order + 1)}c" not in tree.linked.more[0].joined.names
        assert len(tree.sample(10, seed=0)) == 3


def _of_another_person(patch: pytest.MonkeyPatch) -> None:
    """Children of every table are drawn given the parent after their own."""
    over = Records.over
    patch.setattr(
        Records, "over", lambda records, domain: over(records.take(np.roll(np.arange(len(records)), 1)), domain)
    )


MUTANTS = (
    Mutant(
        "what hangs below is drawn given another parent",
        _of_another_person,
        lambda: jobs_follow_person_and_home(made_tree()),
    ),
    Mutant("one child stands for the two before", _one_for_both, lambda: each_differs_from_two_before(made_second())),
    Mutant(
        "children are drawn given another parent's child",
        _of_another_parent,
        lambda: one_follows_the_other(made_sequences()),
    ),
    Mutant("the child before is the same one for all", _of_nobody, lambda: one_follows_the_other(made_sequences())),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def families(n: int = 6000, seed: int = 0) -> tuple[tuple[pa.Table, pa.Table], Linked]:
    """Parents with two columns that go together, and children whose columns follow both; two values never meet."""
    homes = Domain([IntegerRange("a", 0, 3), IntegerRange("b", 0, 3)])
    joined = Domain([*homes.attributes, *(IntegerRange(name, 0, 3) for name in "cdefg")])
    people = Domain(joined.attributes, [], [impossible(joined, "c = 0 and d = 3")])
    rng = np.random.default_rng(seed)

    def follow(column: Ints) -> Ints:
        return np.where(rng.random(len(column)) < 0.7, column, rng.integers(4, size=len(column)))

    a, number = rng.integers(4, size=n), rng.integers(3, size=n)
    b, parent = follow(a), np.repeat(np.arange(n), number)
    columns = {name: follow(follow(a[parent])) for name in "cdefg"}
    kept = ~((columns["c"] == 0) & (columns["d"] == 3))
    children = {"k": parent[kept], **{name: column[kept] for name, column in columns.items()}}
    tables = pa.table({"k": np.arange(n), "a": a, "b": b}), pa.table(children)
    return tables, Linked.of(homes, people, key="k", at_most=2)


def pairs_beside(homes: pa.Table, people: pa.Table) -> dict[tuple[str, str], Floats]:
    """The tables, of sum 1, of all pairs with a column of the children."""
    at = np.searchsorted(homes["k"].to_numpy(), people["k"].to_numpy())
    values = {name: homes[name].to_numpy()[at] for name in "ab"} | {name: people[name].to_numpy() for name in "cdefg"}
    found = {}
    for one, other in combinations("abcdefg", 2):
        if other not in "ab":
            cells = np.bincount(4 * values[one] + values[other], minlength=16)
            found[one, other] = cells.reshape(4, 4) / cells.sum()
    return found


@pytest.mark.parametrize("largest_tree", [LARGEST_TREE, 400])
def test_children_have_the_tables_that_were_measured_beside_parents_whose_columns_go_together(
    largest_tree: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conditionals alone count twice what two columns of a parent say in common."""
    tables, linked = families()
    config = MWEM(largest_tree=largest_tree)
    both = release_linked(config, read_linked(*tables, linked), linked, ApproxDP(3.0, 1e-9), noise=SeededNoise(0))
    assert isinstance(both.children.model, Overlay) is (largest_tree == 400)
    measured = {pair: both.children.model.marginals([pair])[0] for pair in pairs_beside(*tables)}

    def distance() -> float:
        drawn = pairs_beside(*(records.to_arrow() for records in both.sample(seed=1)))
        assert drawn["c", "d"][0, 3] == 0.0
        return max(0.5 * float(np.abs(drawn[pair] - table / table.sum()).sum()) for pair, table in measured.items())

    assert distance() < 0.015
    first, again = ([records.to_arrow() for records in both.sample(300, seed=2)] for _ in "12")
    assert first == again
    monkeypatch.setitem(both.__dict__, "_moves", [None])
    assert distance() > 0.05


def test_children_that_do_not_depend_on_each_other_are_not_moved_together() -> None:
    tables, linked = families(400)
    both = release_linked(MWEM(), read_linked(*tables, linked), linked, ApproxDP(3.0, 1e-9), noise=SeededNoise(0))
    both.sample(50, seed=1, method="independent")
    assert "_moves" not in both.__dict__
