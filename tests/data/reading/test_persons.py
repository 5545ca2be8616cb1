"""Which records of a person are counted: by a rule that looks at one person alone."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import hedgerow.data.reading.persons as persons_module
import hedgerow.data.table as table_module
from hedgerow import Domain, IntegerRange, PureDP, Table, read_table
from hedgerow.data import bounded
from hedgerow.data.reading.persons import Identities, Keys, _drawn
from hedgerow.errors import ColumnError, ConfigError, DataError, PersonColumnError
from hedgerow.queries import Persons, persons_of
from tests.privacy.mutants import Mutant, killed
from tests.privacy.persons import Raw, counted_of_one, neighbours_of_raw, rows_of

DOMAIN = Domain([IntegerRange("a", 0, 2), IntegerRange("b", 0, 1)])


def table_of(raw: Raw, order: Any = None) -> pa.Table:
    rows = rows_of(raw)
    names, cells = [person for person, _ in rows], np.array([cell for _, cell in rows], dtype=int)
    table = pa.table({"id": pa.array(names, pa.string()), "a": pa.array(cells // 2), "b": pa.array(cells % 2)})
    return table if order is None else table.take(pa.array(order))


def counts_of(table: pa.Table, at_most: int) -> Counter[int]:
    if not table.num_rows:
        return Counter()
    cells = read_table(table, DOMAIN, person="id", at_most=at_most).marginals([("a", "b")])[0].reshape(-1)
    return Counter({cell: int(count) for cell, count in enumerate(cells) if count})


def key_of(person: str) -> tuple[int, int]:
    digest = blake2b(person.encode(), digest_size=16, person=b"hedgerow person").digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


records = st.lists(st.integers(0, 5), min_size=1, max_size=9).map(tuple)
raws = st.dictionaries(st.sampled_from(["17", "18", "x y", "é"]), records, min_size=1)


@given(raws, st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_records_that_count_are_those_of_a_slow_reading_in_any_order(raw: Raw, at_most: int, random: Any) -> None:
    order = list(range(len(rows_of(raw))))
    random.shuffle(order)
    expected: Counter[int] = Counter()
    for person, records in raw.items():
        expected.update(counted_of_one(key_of(person), records, at_most))
    assert counts_of(table_of(raw, order), at_most) == expected


def neighbours_differ_in_at_most_so_many_records(at_most: int, *, replace: bool) -> None:
    """Tables of up to two persons with up to 4 records in 3 cells against all their neighbours (lemma 15.1)."""
    cells, reached = 3, set()
    for raw in ({"1": (0, 1, 1, 2)}, {"1": (2,), "2": (0, 0, 1)}, {"1": (1, 1, 1), "2": (0, 2)}):
        here = counts_of(table_of(raw), at_most)
        for other in neighbours_of_raw(raw, cells, 4, replace=replace):
            there = counts_of(table_of(other), at_most)
            leave, come = (here - there).total(), (there - here).total()
            assert max(leave, come) <= at_most
            assert replace or min(leave, come) == 0
            reached.add((leave, come))
    assert (at_most, at_most if replace else 0) in reached


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("at_most", [1, 2])
def test_neighbours(at_most: int, replace: bool) -> None:
    neighbours_differ_in_at_most_so_many_records(at_most, replace=replace)


def the_order_of_rows_does_not_matter() -> None:
    raw = {"17": (0, 1, 2, 3, 4, 5), "18": (5, 5, 1)}
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(9)
        assert counts_of(table_of(raw, order), 2) == counts_of(table_of(raw), 2)


def test_every_set_of_records_is_as_likely() -> None:
    every_set_of_records_is_as_likely()


def every_set_of_records_is_as_likely() -> None:
    """Over 6,000 persons with the same 4 records, 2 of which are equal, each pair of places counts a sixth of them.

    Five degrees of freedom: a false alarm has a probability below 1e-9.
    """
    keys = np.array([key_of(str(i)) for i in range(6000) for _ in range(4)], dtype=np.uint64)
    rows = bounded(keys, [np.tile([0, 1, 1, 5], 6000)], 2)
    pairs = Counter(map(tuple, (rows % 4).reshape(-1, 2).tolist()))
    assert len(pairs) == 6
    assert sum((count - 1000) ** 2 / 1000 for count in pairs.values()) < 52


def _first_rows(keys: Keys, columns: Any, at_most: int) -> Any:
    """The first rows of each person, in the order of the table."""
    seen: Counter[tuple[int, ...]] = Counter()
    kept = []
    for i, key in enumerate(map(tuple, keys.tolist())):
        seen[key] += 1
        kept += [i] if seen[key] <= at_most else []
    return np.array(kept, dtype=np.intp)


def _by_place(keys: Keys, columns: Any, at_most: int) -> Any:
    """Rows by a number that is made of their place, which depends on the rows of others."""
    places = np.arange(len(keys))
    order = np.argsort(_drawn(np.zeros_like(keys), places))
    return np.sort(order[_first_rows(keys[order], columns, at_most)])


MUTANTS = (
    Mutant(
        "one record too many of a person",
        lambda patch: patch.setattr(table_module, "bounded", lambda keys, columns, m: bounded(keys, columns, m + 1)),
        lambda: neighbours_differ_in_at_most_so_many_records(2, replace=False),
    ),
    Mutant(
        "the first rows of a person",
        lambda patch: patch.setattr(table_module, "bounded", _first_rows),
        the_order_of_rows_does_not_matter,
    ),
    Mutant(
        "rows by their place in the table",
        lambda patch: patch.setattr(table_module, "bounded", _by_place),
        lambda: neighbours_differ_in_at_most_so_many_records(1, replace=False),
    ),
    Mutant(
        "the same places for all persons",
        lambda patch: patch.setattr(persons_module, "_drawn", lambda keys, places: _drawn(np.zeros_like(keys), places)),
        every_set_of_records_is_as_likely,
    ),
    Mutant(
        "the rows of a person in their own order",
        lambda patch: patch.setattr(
            table_module, "bounded", lambda keys, columns, m: bounded(keys, [np.arange(len(keys))], m)
        ),
        the_order_of_rows_does_not_matter,
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_persons_with_few_records_keep_all() -> None:
    raw = {"1": (0, 0, 3), "2": (5,)}
    assert counts_of(table_of(raw), 3) == Counter({0: 2, 3: 1, 5: 1})


def test_numbers_texts_and_bytes_name_the_same_persons() -> None:
    def keys(column: pa.Array) -> list[list[int]]:
        identities = Identities("t", "id")
        found: Keys = identities.read(column, 1)
        identities.finish()
        return found.tolist()

    texts = ["17", "-3", "17"]
    wanted = keys(pa.array(texts))
    for kind in (pa.large_string(), pa.binary(), pa.dictionary(pa.int8(), pa.string())):
        assert keys(pa.array(texts).cast(kind)) == wanted
    for kind in (pa.int8(), pa.int64(), pa.decimal128(20, 0), pa.float32(), pa.float64()):
        assert keys(pa.array([17, -3, 17]).cast(kind)) == wanted
    assert keys(pa.array(texts, pa.string_view())) == wanted


@pytest.mark.parametrize("kind", [pa.float64(), pa.decimal128(20, 1), pa.bool_()])
def test_columns_that_tell_no_persons_apart_are_refused(kind: pa.DataType) -> None:
    ids = pa.array([1.5, 0.0]) if kind == pa.float64() else pa.array([1, 0]).cast(kind)
    with pytest.raises(ColumnError, match="does not tell persons apart") as caught:
        read_table(pa.table({"id": ids, "a": [0, 1], "b": [0, 0]}), DOMAIN, person="id", at_most=1)
    assert str(kind) not in str(caught.value), "a type that one cell can change"


def test_doubles_that_are_not_exact_tell_no_persons_apart() -> None:
    table = pa.table({"id": [2.0**53 + 2, 1.0], "a": [0, 1], "b": [0, 0]})
    with pytest.raises(ColumnError, match="does not tell persons apart"):
        read_table(table, DOMAIN, person="id", at_most=1)


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_a_record_without_a_person_is_an_error_with_its_row(empty: str | None) -> None:
    table = pa.table({"id": ["17", empty, "secret"], "a": [0, 1, 2], "b": [0, 0, 0]})
    with pytest.raises(PersonColumnError, match=r"column 'id', 1 row \(first: 2\): an empty cell") as found:
        read_table(table, DOMAIN, person="id", at_most=2)
    assert found.value.rows == (2,)
    assert "secret" not in str(found.value)


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u2003", "\t"])
def test_blanks_around_a_person_are_an_error(blank: str) -> None:
    table = pa.table({"id": ["17", f"17{blank}"], "a": [0, 1], "b": [0, 0]})
    with pytest.raises(PersonColumnError, match="blanks around the name of a person"):
        read_table(table, DOMAIN, person="id", at_most=2)


@pytest.mark.parametrize(
    ("person", "at_most", "words"),
    [
        ("id", None, "person is given, and at_most is not"),
        (None, 5, "at_most is given, and person is not"),
        ("id", 0, "at most 0 records"),
        ("id", -1, "at most -1 records"),
        ("id", True, "at most True records"),
        ("id", 2.0, "at most 2.0 records"),
        ("id", 2**20 + 1, "at most 1048577 records"),
        ("", 5, "names no column"),
    ],
)
def test_wrong_numbers_of_records_are_refused(person: Any, at_most: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        persons_of(person, at_most)


def test_a_column_that_is_missing_or_an_attribute_or_beside_counts_is_refused() -> None:
    table = table_of({"1": (0, 1)}).append_column("n", pa.array([1, 2]))
    with pytest.raises(ColumnError, match="the table has no such column") as missing:
        read_table(table, DOMAIN, extra_columns="ignore", person="who", at_most=1)
    assert missing.value.column == "who"
    with pytest.raises(ColumnError, match="tells persons apart and is an attribute"):
        read_table(table, DOMAIN, extra_columns="ignore", person="a", at_most=1)
    with pytest.raises(ConfigError, match="rows that stand for several records"):
        read_table(table, DOMAIN, extra_columns="ignore", person="id", at_most=1, count_column="n")


def test_a_table_says_whom_it_bounds() -> None:
    read = read_table(table_of({"1": (0, 1)}), DOMAIN, person="id", at_most=1)
    assert read.persons == Persons("id", 1)
    assert read.part(np.array([0])).persons == Persons("id", 1)
    assert Table(DOMAIN, [[0], [0]]).persons is None
    assert "id" not in repr(read)
    assert PureDP(1.0).neighbours.persons is None


def test_persons_without_rows_are_no_error() -> None:
    assert bounded(np.empty((0, 2), dtype=np.uint64), [np.empty(0, dtype=np.uint8)], 3).size == 0


def test_errors_of_persons_are_errors_of_data() -> None:
    assert issubclass(PersonColumnError, DataError)
