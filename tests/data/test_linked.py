"""Two tables with a key: who belongs to whom, how many children count, and how far one parent reaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import hedgerow.data.linked as linked_module
from hedgerow import Children, Curator, Domain, IntegerRange, Linked, Neighbours, PureDP, read_linked
from hedgerow.data.linked import _parents_of as parents_of
from hedgerow.domain import impossible
from hedgerow.errors import BrokenRuleError, ColumnError, ConfigError, KeyColumnError, PersonColumnError
from tests.data.reading.test_persons import key_of
from tests.privacy.mutants import Mutant, killed
from tests.privacy.persons import counted_of_one, multisets, window_of

WINDOWS = linked_module.windows
HOMES, PEOPLE = Domain([IntegerRange("a", 0, 2)]), Domain([IntegerRange("b", 0, 3)])
Raw = Mapping[str, tuple[int, tuple[int, ...]]]
"""For each key the code of the parent and those of the children."""


def described(at_most: int) -> Linked:
    return Linked.of(HOMES, PEOPLE, key="k", at_most=at_most)


def arrow(raw: Raw, order: Any = None) -> tuple[pa.Table, pa.Table]:
    children = [(key, code) for key, (_, codes) in raw.items() for code in codes]
    keys, codes = (
        pa.array([key for key, _ in children], pa.string()),
        pa.array([code for _, code in children], pa.int64()),
    )
    people = pa.table({"k": keys, "b": codes})
    homes = pa.table({"k": pa.array(raw, pa.string()), "a": [code for code, _ in raw.values()]})
    return homes, people if order is None else people.take(pa.array(order, pa.int64()))


def read(raw: Raw, at_most: int, order: Any = None) -> tuple[Counter[Any], Counter[Any]]:
    """The records of both tables, counted."""
    found = []
    for table in read_linked(*arrow(raw, order), described(at_most)):
        cells = table.marginals([table.domain.names])[0]
        found.append(Counter({tuple(map(int, cell)): int(cells[tuple(cell)]) for cell in np.argwhere(cells)}))
    return found[0], found[1]


raws = st.dictionaries(
    st.sampled_from(["17", "18", "x y", "é"]),
    st.tuples(st.integers(0, 2), st.lists(st.integers(0, 3), max_size=5).map(tuple)),
    min_size=1,
).filter(lambda raw: any(codes for _, codes in raw.values()))


@given(raws, st.integers(1, 4), st.randoms(use_true_random=False))
def test_tables_are_those_of_a_slow_reading_in_any_order(raw: Raw, at_most: int, random: Any) -> None:
    order = list(range(sum(len(codes) for _, codes in raw.values())))
    random.shuffle(order)
    homes, people = Counter[Any](), Counter[Any]()
    for key, (home, codes) in raw.items():
        counted = counted_of_one(key_of(key), codes, at_most)
        homes[home, len(counted)] += 1
        people.update((home, len(counted), code) for code in counted)
    assert read(raw, at_most, order) == (homes, people)


FAMILIES: tuple[Raw, ...] = (
    {"17": (0, (0, 1, 1, 3)), "18": (1, (2,)), "19": (2, ())},
    {"17": (1, (0,)), "18": (1, (3, 3, 2)), "é": (0, (1, 2))},
)


def a_parent_reaches_one_record_and_its_children(at_most: int) -> None:
    for raw in FAMILIES:
        check_all_who_leave(raw, at_most)


def check_all_who_leave(raw: Raw, at_most: int) -> None:
    whole = read(raw, at_most)
    for key in raw:
        rest = {other: value for other, value in raw.items() if other != key}
        if not any(codes for _, codes in rest.values()):
            continue
        homes, people = read(rest, at_most)
        assert (whole[0] - homes).total() == 1
        assert (whole[1] - people).total() == min(at_most, len(raw[key][1]))
        assert not homes - whole[0]
        assert not people - whole[1]


@given(raws, st.integers(1, 3))
def test_a_parent_who_leaves_takes_one_record_and_at_most_so_many_children(raw: Raw, at_most: int) -> None:
    check_all_who_leave(raw, at_most)


VISITS = Domain([IntegerRange("t", 0, 2), IntegerRange("b", 0, 1)])
"""Children with an order; a code of 0 to 5 says both."""


def ordered(at_most: int) -> Linked:
    return Linked.of(HOMES, VISITS, key="k", at_most=at_most, order="t", second_order=["b"])


def read_ordered(raw: Raw, at_most: int, order: Sequence[int] | None = None) -> Counter[tuple[int, ...]]:
    """The records of children (their parent, how many it has, b two before, b before, the gap, t, b), counted."""
    homes, people = arrow(raw, order)
    t, b = np.divmod(people["b"].to_numpy(), 2)
    try:
        _, table = read_linked(homes, pa.table({"k": people["k"], "t": t, "b": b}), ordered(at_most))
    except ConfigError as error:  # the table that was made breaks the rules of its own domain
        raise AssertionError from error
    return Counter(map(tuple, np.transpose(table.columns).tolist()))


def the_root_tells_of_its_own_first_child(at_most: int) -> None:
    """Lemma 15.4: what the root's table says of the first child that counts is a function of the root's own rows."""
    for codes in multisets(6, 3):
        raw: Raw = {"17": (0, (0, 3, 3, 5)), "x y": (1, ()), "é": (2, codes), "18": (1, (2, 4))}
        homes, people = arrow(raw, None)
        t, b = np.divmod(people["b"].to_numpy(), 2)
        root, _ = read_linked(homes, pa.table({"k": people["k"], "t": t, "b": b}), ordered(at_most))
        slow = Counter[tuple[int, ...]]()
        for key, (home, own) in raw.items():
            window = window_of(key_of(key), [divmod(code, 2) for code in own], at_most)
            slow[(home, len(window), *(window[0] if window else (3, 2)))] += 1
        assert Counter(map(tuple, np.transpose(root.columns).tolist())) == slow


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_the_root_tells_of_its_own_first_child(at_most: int) -> None:
    the_root_tells_of_its_own_first_child(at_most)


def slowly_ordered(raw: Raw, at_most: int) -> Counter[tuple[int, ...]]:
    """The same, parent by parent; 2 is no b, and 3 no gap."""
    found = Counter[tuple[int, ...]]()
    for key, (home, codes) in raw.items():
        own = window_of(key_of(key), [divmod(code, 2) for code in codes], at_most)
        told = [(2, 2, 3, *each) for each in own[:1]]
        earlier = [2, *(b for _, b in own)]
        told += [
            (two, one[1], other[0] - one[0], *other) for two, (one, other) in zip(earlier, pairwise(own), strict=False)
        ]
        found.update((home, len(own), *each) for each in told)
    return found


@given(
    st.dictionaries(
        st.sampled_from(["17", "18", "x y", "é"]),
        st.tuples(st.integers(0, 2), st.lists(st.integers(0, 5), max_size=6).map(tuple)),
        min_size=1,
    ).filter(lambda raw: any(codes for _, codes in raw.values())),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_children_with_an_order_are_those_of_a_slow_reading_in_any_order_of_rows(
    raw: Raw, at_most: int, random: Any
) -> None:
    order = list(range(sum(len(codes) for _, codes in raw.values())))
    random.shuffle(order)
    assert read_ordered(raw, at_most, order) == slowly_ordered(raw, at_most)


def nobody_reaches_more_children_than_their_own(at_most: int) -> None:
    """Lemma 15.4: whoever leaves takes at most so many children, with what is said of the ones before.

    Beside two parents stands a third one with each multiset of up to three children among six.
    """
    others: Raw = {"17": (0, (0, 3, 3, 5)), "18": (1, (2, 4))}
    rest = read_ordered(others, at_most)
    reached = set()
    for codes in multisets(6, 3):
        whole = read_ordered({"é": (2, codes), **others}, at_most)
        assert not rest - whole
        assert (whole - rest).total() == min(at_most, len(codes))
        reached.add((whole - rest).total())
    assert max(reached) == at_most


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_nobody_reaches_more_children_than_their_own(at_most: int) -> None:
    nobody_reaches_more_children_than_their_own(at_most)


def the_child_before_does_not_depend_on_rows() -> None:
    raw: Raw = {"17": (0, (0, 1, 0, 1, 2, 3)), "18": (1, (4, 5))}
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(8).tolist()
        assert read_ordered(raw, 9, order) == slowly_ordered(raw, 9)


def test_children_at_the_same_time_follow_each_other_either_way() -> None:
    """Of 4,000 parents with two children at the same time, half have the one first; a deviation of 5 sigma fails."""
    keys = np.array([key_of(str(i)) for i in range(4000) for _ in "12"], dtype=np.uint64)
    rows, before = WINDOWS(keys, [np.tile([0, 1], 4000)], np.zeros(8000, dtype=np.int64), 2)
    assert rows.tolist() == list(range(8000))
    assert (before < 0).sum() == 4000
    assert abs(int((before[::2] < 0).sum()) - 2000) < 5 * 0.5 * np.sqrt(4000)


def children_are_private() -> None:
    for at_most in (1, 2):
        _, people = read_linked(*arrow({"17": (0, (1,)), "18": (1, ())}), described(at_most))
        relation = Curator(people, PureDP(1.0, "replace")).neighbours
        assert not relation.public_total
        assert relation.unfiltered == Neighbours.of("replace of persons (k)")


def _first_of_all(keys: Any, columns: Any, at_most: int) -> Any:
    """The bound held by the whole table, not by each parent."""
    return np.arange(min(len(keys), at_most))


def _neighbours_children(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(linked_module, "_parents_of", lambda *table, **strict: (parents_of(*table, **strict) + 1) % 3)


def _public_children(patch: pytest.MonkeyPatch) -> None:
    """Children as if each parent had one."""
    table = linked_module.Table

    def unfiltered(*given: Any, filtered: bool = False, **options: Any) -> Any:
        return table(*given, **options)

    patch.setattr(linked_module, "Table", unfiltered)


def _of_anybody(keys: Any, columns: Any, order: Any, at_most: int) -> Any:
    """The child before in the whole table."""
    rows, _ = WINDOWS(keys, columns, order, at_most)
    return rows, WINDOWS(np.zeros_like(keys), columns, order, len(keys))[1][rows]


def _of_rows(keys: Any, columns: Any, order: Any, at_most: int) -> Any:
    """Children at the same time in the order of the table."""
    return WINDOWS(keys, [np.arange(len(keys))], order, at_most)


def _from_a_place_in_the_table(keys: Any, columns: Any, order: Any, at_most: int) -> Any:
    """The first child of a window by the number of rows that others have."""
    return WINDOWS(keys + np.uint64(len(keys)), columns, order, at_most)


def _two_before_of_everybody(patch: pytest.MonkeyPatch) -> None:
    """The child before the last is what stands before whoever is before in the order of the whole table."""
    before = linked_module._before

    def told(people: Any, linked: Linked, rows: Any, places: Any) -> Any:
        two, one, gaps = before(people, linked, rows, places)
        ordered = np.argsort(people.codes[0][rows], kind="stable")
        others = np.roll(one[ordered], 1)[np.argsort(ordered)]
        return [np.where(two == linked.joined.shape[2] - 1, two, others), one, gaps]

    patch.setattr(linked_module, "_before", told)


def _gaps_of_everybody(patch: pytest.MonkeyPatch) -> None:
    """Gaps between children in the order of the whole table."""
    before = linked_module._before

    def told(people: Any, linked: Linked, rows: Any, places: Any) -> Any:
        *columns, gaps = before(people, linked, rows, places)
        order = people.codes[0].astype(np.int64)[rows]
        apart = np.diff(np.sort(order), prepend=order.min(initial=0))
        others = linked.gaps(apart[np.argsort(np.argsort(order, kind="stable"))])
        return [*columns, np.where(gaps == linked.joined["gap"].size - 1, gaps, others)]

    patch.setattr(linked_module, "_before", told)


Tree = Mapping[str, tuple[int, Mapping[str, tuple[int, tuple[int, ...]]]]]
"""For each home its code and its persons, by their names: the code of each, and those of the jobs."""
OTHERS: Tree = {
    "17": (0, {"p": (1, (0, 1)), "q": (1, ()), "r": (0, (1,))}),
    "18": (1, {"s": (0, (1, 1, 0))}),
    "19": (2, {}),
}


def of_a_tree(most: int, most_jobs: int, **options: Any) -> Linked:
    persons, jobs = Domain([IntegerRange("b", 0, 1)]), Domain([IntegerRange("c", 0, 1)])
    below = Children(jobs, key="who", at_most=most_jobs, number="jobs", above=1, **options)
    return Linked.of(HOMES, persons, key="k", at_most=most, more=[below])


def files_of(tree: Tree, seed: int | None = None) -> list[pa.Table]:
    """The tables of homes, persons and jobs; their rows in the order of a seed."""
    persons = [(home, name, code) for home, (_, own) in tree.items() for name, (code, _) in own.items()]
    jobs = [(name, code) for _, own in tree.values() for name, (_, codes) in own.items() for code in codes]
    rows = [[(home, code) for home, (code, _) in tree.items()], persons, jobs]
    found = []
    for names, rows_of in zip(("k a", "k who b", "who c"), rows, strict=True):
        order = range(len(rows_of)) if seed is None else np.random.default_rng(seed).permutation(len(rows_of))
        told = [rows_of[place] for place in order]
        columns = [*zip(*told, strict=True)] or [()] * len(names.split())
        kinds = [pa.int64() if len(name) == 1 and name in "abc" else pa.string() for name in names.split()]
        found.append(pa.table([pa.array(*each) for each in zip(columns, kinds, strict=True)], names.split()))
    return found


def read_tree(tree: Tree, linked: Linked, seed: int | None = None) -> list[Counter[Any]]:
    """The records of the three tables, counted."""
    homes, persons, jobs = files_of(tree, seed)
    tables = read_linked(homes, persons, linked, more=[jobs])
    return [Counter(map(tuple, np.transpose(table.columns).tolist())) for table in tables]


def slowly_read(tree: Tree, most: int, most_jobs: int, in_all: int | None = None) -> list[Counter[Any]]:
    """The same, home by home: persons are numbered by their codes, and where these are equal by their names.

    Jobs of a home are numbered by their codes, and then by the names of their persons.
    """
    found: list[Counter[Any]] = [Counter(), Counter(), Counter()]
    for home, (a, own) in tree.items():
        ordered = sorted((code, tuple(key_of(name)), codes) for name, (code, codes) in own.items())
        chosen = counted_of_one(key_of(home), range(len(ordered)), most)
        found[0][a, len(chosen)] += 1
        persons = [ordered[place] for place in chosen]
        jobs = sorted((c, name) for _, name, codes in persons for c in counted_of_one(name, codes, most_jobs))
        left = counted_of_one(key_of(home), range(len(jobs)), len(jobs) if in_all is None else in_all)
        for b, name, _ in persons:
            counted = [jobs[place][0] for place in left if jobs[place][1] == name]
            found[1][a, len(chosen), b, len(counted)] += 1
            found[2].update((a, len(chosen), b, len(counted), c) for c in counted)
    return found


@pytest.mark.parametrize(("most", "most_jobs"), [(1, 1), (2, 1), (1, 2), (3, 3)])
def test_a_tree_of_tables_is_that_of_a_slow_reading_in_any_order_of_rows(most: int, most_jobs: int) -> None:
    for seed in range(4):
        assert read_tree(OTHERS, of_a_tree(most, most_jobs), seed) == slowly_read(OTHERS, most, most_jobs)
        for in_all in (1, 2):
            linked = of_a_tree(most, most_jobs, in_all=in_all)
            assert read_tree(OTHERS, linked, seed) == slowly_read(OTHERS, most, most_jobs, in_all)


def equal_persons_are_told_apart_by_their_names() -> None:
    """Of two equal persons with other jobs the same one counts, however the rows are ordered."""
    tree: Tree = {"17": (0, {"p": (1, (0,)), "q": (1, (1, 1))}), "18": (0, {"r": (1, ()), "s": (1, (0,))})}
    for seed in range(8):
        assert read_tree(tree, of_a_tree(1, 2), seed) == slowly_read(tree, 1, 2)


def test_equal_persons_are_told_apart_by_their_names() -> None:
    equal_persons_are_told_apart_by_their_names()


def nobody_reaches_more_than_the_product(most: int, most_jobs: int, **options: Any) -> None:
    """Lemma 15.5: who leaves takes one record, and of each table below at most as many as the product of the bounds.

    Beside three homes stands a fourth one with each multiset of up to two persons among twelve (two codes, and up to
    two jobs of two kinds).
    """
    linked = of_a_tree(most, most_jobs, **options)
    rest = read_tree(OTHERS, linked)
    reached = set()
    kinds = [(code, jobs) for code in range(2) for jobs in multisets(2, 2, 0)]
    for own in (chosen for n in range(3) for chosen in combinations_with_replacement(kinds, n)):
        home = {f"x{number}": each for number, each in enumerate(own)}
        whole = read_tree({"é": (1, home), **OTHERS}, linked)
        assert not any(one - other for one, other in zip(rest, whole, strict=True))
        reached.add(tuple((other - one).total() for one, other in zip(rest, whole, strict=True)))
    tables = read_linked(*files_of(OTHERS)[:2], linked, more=files_of(OTHERS)[2:])
    bounds = [table.persons.records for table in tables if table.persons is not None]
    assert {table.persons.column for table in tables if table.persons} == {"k"}
    product = min(most * most_jobs, options.get("in_all", most * most_jobs))
    assert [max(each) for each in zip(*reached, strict=True)] == bounds == [1, most, product]


@pytest.mark.parametrize(("most", "most_jobs"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_nobody_reaches_more_of_a_tree_than_the_product_of_the_bounds(most: int, most_jobs: int) -> None:
    nobody_reaches_more_than_the_product(most, most_jobs)


@pytest.mark.parametrize("in_all", [1, 3])
def test_a_limit_in_all_holds_for_each_home(in_all: int) -> None:
    nobody_reaches_more_than_the_product(2, 2, in_all=in_all)


def test_jobs_with_an_order_reach_no_further() -> None:
    nobody_reaches_more_than_the_product(1, 2, order="c")


def test_a_table_may_have_several_tables_of_children() -> None:
    cars = Children(Domain([IntegerRange("d", 0, 1)]), key="k", at_most=2, number="cars")
    jobs = Children(Domain([IntegerRange("c", 0, 1)]), key="who", at_most=3, number="jobs", above=1)
    linked = Linked.of(HOMES, Domain([IntegerRange("b", 0, 1)]), key="k", at_most=2, more=[cars, jobs])
    homes, persons, of_jobs = files_of(OTHERS)
    of_cars = pa.table({"k": ["19", "17", "19", "19"], "d": [1, 0, 1, 1]})
    tables = read_linked(homes, persons, linked, more=[of_cars, of_jobs])
    assert [table.domain.names[-2:] for table in tables] == [
        ("children", "cars"),
        ("b", "jobs"),
        ("cars", "d"),
        ("jobs", "c"),
    ]
    assert sorted(map(tuple, np.transpose(tables[0].columns).tolist())) == [(0, 2, 1), (1, 1, 0), (2, 0, 2)]
    assert sorted(map(tuple, np.transpose(tables[2].columns).tolist())) == [(0, 2, 1, 0), (2, 0, 2, 1), (2, 0, 2, 1)]
    assert [table.persons.records for table in tables if table.persons] == [1, 2, 2, 6]


def test_rules_reach_over_all_tables_above_and_what_breaks_one_leaves_with_what_is_below() -> None:
    all_of = Domain([*HOMES.attributes, IntegerRange("b", 0, 1), IntegerRange("c", 0, 1)])
    jobs = Domain(all_of.attributes, [], [impossible(all_of, "a = 0 and b = 1 and c = 1")])
    persons = Domain(all_of.attributes[:2], [], [impossible(Domain(all_of.attributes[:2]), "a = 0 and b = 0")])
    below = Children(jobs, key="who", at_most=3, number="jobs", above=1)
    linked = Linked.of(HOMES, persons, key="k", at_most=3, more=[below])
    homes, of_persons, of_jobs = files_of(OTHERS)
    with pytest.raises(BrokenRuleError, match="a = 0 and b = 0"):
        read_linked(homes, of_persons, linked, more=[of_jobs])
    tables = read_linked(homes, of_persons, linked, more=[of_jobs], violations="drop")
    assert [table.total() for table in tables] == [3, 3, 4]  # without person r, that one's job, and the job 1 of p


def test_rows_below_need_parents_with_names_of_their_own() -> None:
    homes, persons, jobs = files_of(OTHERS)
    linked = of_a_tree(1, 1)
    with pytest.raises(KeyColumnError, match=r"column 'who', 1 row.*: a child without a parent"):
        read_linked(homes, persons, linked, more=[pa.table({"who": ["p", "nobody"], "c": [0, 1]})])
    twice = pa.concat_tables([persons, pa.table({"k": ["19"], "who": ["p"], "b": [0]})])
    with pytest.raises(KeyColumnError, match=r"column 'who', 1 row.*: a key that another parent has"):
        read_linked(homes, twice, linked, more=[jobs])
    with pytest.raises(PersonColumnError, match="an empty cell"):
        read_linked(homes, pa.table({"k": ["17"], "who": [None], "b": [0]}), linked, more=[jobs])
    with pytest.raises(ConfigError, match="3 linked tables are described, and 2 are to be read"):
        read_linked(homes, persons, linked)


def _by_rows(patch: pytest.MonkeyPatch) -> None:
    """Equal persons are told apart by where they stand in the file."""
    counted = linked_module._counted
    patch.setattr(linked_module, "_counted", lambda people, linked: counted(people._replace(names=None), linked))


def _all_persons(patch: pytest.MonkeyPatch) -> None:
    """Jobs count of persons who do not."""
    below = linked_module._below

    def of_all(above: Any, *given: Any) -> Any:
        return below(replace(above, counted=np.arange(len(above.parents))), *given)

    patch.setattr(linked_module, "_below", of_all)


def _of_each_person(patch: pytest.MonkeyPatch) -> None:
    """The limit in all holds for each person."""
    below = linked_module._below

    def held(above: Any, rows: Any, *given: Any) -> Any:
        return below(replace(above, roots=above.names), rows, *given)

    patch.setattr(linked_module, "_below", held)


def _one_bound(patch: pytest.MonkeyPatch) -> None:
    """A home is held to have as many jobs as one person."""
    patch.setattr(Linked, "bounds", property(lambda linked: (1, *(link.at_most for link in linked.links))))


def _first_of_the_next(patch: pytest.MonkeyPatch) -> None:
    """The root's table tells of the first child of the parent whose first child is the next one."""
    tell = linked_module._tell_firsts

    def of_another(root: Any, those: Any, link: Linked) -> None:
        first = those.counted[those.before["gap"] == link.joined["gap"].size - 1]
        parents = those.parents.copy()
        parents[first] = np.roll(parents[first], 1)
        tell(root, replace(those, parents=parents), link)

    patch.setattr(linked_module, "_tell_firsts", of_another)


def _last_in_place_of_first(patch: pytest.MonkeyPatch) -> None:
    """The root's table tells of whichever child comes last in the file."""

    def of_any(root: Any, those: Any, link: Linked) -> None:
        for name, of_first in link.firsts.items():
            codes = np.full(len(root.parents), link.joined[name].size, dtype=np.uint32)
            codes[those.parents[those.counted]] = those.columns[name][those.counted]
            root.columns[of_first] = codes

    patch.setattr(linked_module, "_tell_firsts", of_any)


MUTANTS = (
    Mutant(
        "the root tells of another one's first child",
        _first_of_the_next,
        lambda: the_root_tells_of_its_own_first_child(2),
    ),
    Mutant(
        "the root tells of the last child in the file",
        _last_in_place_of_first,
        lambda: the_root_tells_of_its_own_first_child(2),
    ),
    Mutant(
        "the child before is another parent's",
        lambda patch: patch.setattr(linked_module, "windows", _of_anybody),
        lambda: nobody_reaches_more_children_than_their_own(2),
    ),
    Mutant(
        "gaps between children of all parents",
        _gaps_of_everybody,
        lambda: nobody_reaches_more_children_than_their_own(2),
    ),
    Mutant(
        "the child before the last is another parent's",
        _two_before_of_everybody,
        lambda: nobody_reaches_more_children_than_their_own(3),
    ),
    Mutant(
        "children at the same time follow each other as in the table",
        lambda patch: patch.setattr(linked_module, "windows", _of_rows),
        the_child_before_does_not_depend_on_rows,
    ),
    Mutant(
        "which children in a row count, by how many others have",
        lambda patch: patch.setattr(linked_module, "windows", _from_a_place_in_the_table),
        lambda: nobody_reaches_more_children_than_their_own(2),
    ),
    Mutant("the exact number of children", _public_children, children_are_private),
    Mutant(
        "children counted by a bound on all of them",
        lambda patch: patch.setattr(linked_module, "bounded", _first_of_all),
        lambda: a_parent_reaches_one_record_and_its_children(2),
    ),
    Mutant("equal persons by their rows", _by_rows, equal_persons_are_told_apart_by_their_names),
    Mutant("jobs of persons who do not count", _all_persons, lambda: nobody_reaches_more_than_the_product(1, 1)),
    Mutant(
        "a limit in all held by each person",
        _of_each_person,
        lambda: nobody_reaches_more_than_the_product(2, 2, in_all=2),
    ),
    Mutant("as many jobs of a home as of a person", _one_bound, lambda: nobody_reaches_more_than_the_product(2, 1)),
    Mutant("children of another parent", _neighbours_children, lambda: a_parent_reaches_one_record_and_its_children(2)),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_a_child_without_a_parent_and_a_key_of_two_parents_are_errors_with_rows() -> None:
    homes, people = arrow({"17": (0, (1, 2)), "18": (1, (0,))})
    with pytest.raises(KeyColumnError, match=r"column 'k', 1 row \(first: 3\): a child without a parent") as found:
        read_linked(homes.slice(0, 1), people, described(2))
    assert "18" not in str(found.value)
    with pytest.raises(KeyColumnError, match=r"column 'k', 1 row \(first: 3\): a key that another parent has"):
        read_linked(pa.concat_tables([homes, homes.slice(0, 1)]), people, described(2))
    with pytest.raises(PersonColumnError, match="an empty cell"):
        read_linked(homes, pa.table({"k": ["17", None], "b": [0, 1]}), described(2))


def test_what_breaks_a_rule_is_refused_or_left_out_with_its_children() -> None:
    homes = Domain(HOMES.attributes, [], [impossible(HOMES, "a = 2")])
    both = Domain([*HOMES.attributes, *PEOPLE.attributes])
    people = Domain(both.attributes, [], [impossible(both, "a = 0 and b = 3")])
    linked = Linked.of(homes, people, key="k", at_most=3)
    tables = arrow({"17": (2, (0, 1)), "18": (0, (3, 1)), "19": (1, (3,))})
    with pytest.raises(BrokenRuleError):
        read_linked(*tables, linked)
    kept = read_linked(*tables, linked, violations="drop")
    assert [table.total() for table in kept] == [2, 2]
    cells = kept[1].marginals([("a", "children", "b")])[0]
    assert np.argwhere(cells).tolist() == [[0, 1, 1], [1, 1, 3]]
    assert all(table.filtered for table in kept)
    assert [table.persons.at_most for table in kept if table.persons] == [1, 3]


def test_tables_may_be_empty_of_children() -> None:
    homes, people = arrow({"17": (0, ()), "18": (1, (0,))})
    found = read_linked(homes, people.slice(0, 0), described(2))
    assert [table.total() for table in found] == [2, 0]
    ruled = Domain(HOMES.attributes, [], [impossible(HOMES, "a < 2")])
    linked = Linked.of(ruled, PEOPLE, key="k", at_most=2)
    assert [table.total() for table in read_linked(homes, people, linked, violations="drop")] == [0, 0]


def test_how_many_children_there_are_is_private_also_where_parents_are_replaced() -> None:
    children_are_private()


def test_columns_are_looked_at_before_anything_is_charged() -> None:
    charged: list[str] = []
    homes, people = arrow({"17": (0, (1,))})
    wrong = Linked.of(HOMES, PEOPLE, key="kk", at_most=2)
    with pytest.raises(ColumnError, match="kk"):
        read_linked(homes, people, wrong, before_rows=lambda: charged.append("all"))
    assert not charged
    read_linked(homes, people, described(2), before_rows=lambda: charged.append("all"))
    assert charged == ["all"]


def test_a_rule_between_the_tables_is_an_error_unless_rows_are_left_out() -> None:
    both = Domain([*HOMES.attributes, *PEOPLE.attributes])
    people = Domain(both.attributes, [], [impossible(both, "a = 0 and b = 3")])
    linked = Linked.of(HOMES, people, key="k", at_most=3)
    with pytest.raises(
        BrokenRuleError, match=r"2 rows \(first: 1, 3\): records break the rule: impossible: a = 0"
    ) as found:
        read_linked(*arrow({"18": (0, (3, 1, 3))}), linked)
    assert "=3" not in str(found.value)
    assert [table.total() for table in read_linked(*arrow({"18": (0, (3, 1, 3))}), linked, violations="drop")] == [1, 1]
