"""Weights of records: how often each counts, by a rule that looks at that record, or its person, alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import hedgerow.data.reading.batches as batches_module
import hedgerow.data.table as table_module
from hedgerow import Domain, IntegerRange, PureDP, Table, read_table
from hedgerow.data import ReadOptions, bounded, open_table, select_columns
from hedgerow.data.scanning.chunks import chunks
from hedgerow.errors import ColumnError, ConfigError, CountColumnError, UndeclaredColumnError
from hedgerow.privacy import Curator
from hedgerow.queries import Persons, Weight, persons_of
from tests.data.reading.test_persons import key_of
from tests.privacy.mutants import Mutant, killed
from tests.privacy.persons import counted_of_one

DOMAIN = Domain([IntegerRange("a", 0, 2), IntegerRange("b", 0, 1)])
Row = tuple[str, int, int]
"""Person, cell and weight of a record."""


def table_of(rows: Sequence[Row]) -> pa.Table:
    names, cells, weights = zip(*rows, strict=True) if rows else ((), (), ())
    numbers = [pa.array(each, pa.int64()) for each in ([c // 2 for c in cells], [c % 2 for c in cells], weights)]
    return pa.table(dict(zip(("id", "a", "b", "w"), (pa.array(names, pa.string()), *numbers), strict=True)))


def counts_of(rows: Sequence[Row], **options: Any) -> Counter[int]:
    if not rows:
        return Counter()
    table = read_table(table_of(rows), DOMAIN, extra_columns="ignore", weight="w", **options)
    cells = table.marginals([("a", "b")])[0].reshape(-1)
    assert table.total() == cells.sum()
    return Counter({cell: int(count) for cell, count in enumerate(cells) if count})


records = st.tuples(st.sampled_from(["17", "18", "x y"]), st.integers(0, 5), st.integers(0, 9))


@given(st.lists(records, min_size=1, max_size=9), st.integers(1, 8))
def test_a_record_counts_as_often_as_its_weight_says(rows: list[Row], largest: int) -> None:
    expected: Counter[int] = Counter()
    for _, cell, weight in rows:
        expected[cell] += min(weight, largest)
    assert counts_of(rows, largest_weight=largest) == +expected


@given(st.lists(records, min_size=1, max_size=12), st.integers(1, 4), st.integers(1, 8), st.randoms())
def test_of_a_person_the_records_of_a_slow_reading_count(
    rows: list[Row], at_most: int, largest: int, random: Any
) -> None:
    expected: Counter[int] = Counter()
    for person in {person for person, _, _ in rows}:
        own = [(cell, min(weight, largest)) for name, cell, weight in rows if name == person]
        for cell, weight in counted_of_one(key_of(person), own, at_most):
            expected[cell] += weight
    shuffled = random.sample(rows, len(rows))
    assert counts_of(shuffled, largest_weight=largest, person="id", at_most=at_most) == +expected


def _rows_of_one(name: str, most: int, cells: int = 2, weights: int = 4) -> Iterator[list[Row]]:
    listed = list(product(range(cells), range(weights)))
    for n in range(most + 1):
        yield from ([(name, *each) for each in chosen] for chosen in combinations_with_replacement(listed, n))


def neighbours_differ_by_at_most_the_largest_weight(*, replace: bool) -> None:
    """All tables of a record beside others, against those without it, or with another (lemma 15.3)."""
    largest, reached = 2, set[tuple[int, int]]()
    others: list[Row] = [("2", 0, 3), ("3", 1, 1), ("4", 0, 0)]
    theirs = [
        counts_of([*others, *other], largest_weight=largest)
        for other in (_rows_of_one("1", 1) if replace else [[]])
        if not replace or other
    ]
    for one in _rows_of_one("1", 1):
        here = counts_of([*one, *others], largest_weight=largest)
        if not replace or one:
            reached |= {((here - there).total(), (there - here).total()) for there in theirs}
    assert max(max(both) for both in reached) == largest
    assert replace or all(min(both) == 0 for both in reached)
    assert ((largest, largest) in reached) == replace


def persons_differ_by_at_most_both_bounds(*, replace: bool) -> None:
    """The same of a person with up to two records, of which one or two count, up to 3 times each."""
    others: list[Row] = [("2", 0, 9), ("2", 1, 1), ("3", 1, 2)]
    for at_most, largest in ((1, 2), (2, 3)):
        options = {"largest_weight": largest, "person": "id", "at_most": at_most}
        reached = set[tuple[int, int]]()
        beside = list(_rows_of_one("1", 2))[::7] if replace else [[]]
        theirs = [counts_of([*others, *other], **options) for other in beside]
        for one in _rows_of_one("1", 2):
            here = counts_of([*one, *others], **options)
            reached |= {((here - there).total(), (there - here).total()) for there in theirs}
        most = Persons("id", at_most, Weight("w", largest)).records
        assert max(max(both) for both in reached) == most == at_most * largest


@pytest.mark.parametrize("replace", [False, True])
def test_neighbours(replace: bool) -> None:
    neighbours_differ_by_at_most_the_largest_weight(replace=replace)
    persons_differ_by_at_most_both_bounds(replace=replace)


def the_order_of_rows_does_not_matter() -> None:
    """A person's records are equal but for their weights."""
    rows: list[Row] = [("1", 0, weight) for weight in (1, 2, 3, 4)]
    options = {"largest_weight": 9, "person": "id", "at_most": 2}
    wanted = counts_of(rows, **options)
    assert all(counts_of(order, **options) == wanted for order in permutations(rows))


def noise_grows_with_the_largest_weight() -> None:
    table = read_table(table_of([("1", 0, 7)]), DOMAIN, extra_columns="ignore", weight="w", largest_weight=5)
    curator = Curator(table, PureDP(1.0))
    curator.total(0.5)
    assert [event.sensitivity for event in curator.ledger.events] == [5.0]


class _Unbounded(batches_module.Weights):
    """Reads weights as they are."""

    def __init__(self, file: str, column: str, largest: int | None = None, **options: Any) -> None:
        super().__init__(file, column, None if largest is None else 2**53, **options)


class _Relative(batches_module.Weights):
    """Reads weights as shares of those of the batch: a record changes how often others count."""

    def read(self, column: pa.Array[Any], first_row: int | None) -> Any:
        found = super().read(column, first_row)
        return np.minimum(2, found * 6 // max(1, int(found.sum())))


def _nothing_bounds_weights(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batches_module, "Weights", _Unbounded)
    patch.setattr(table_module, "_checked_weights", lambda weights, _: np.asarray(weights))


MUTANTS = (
    Mutant(
        "weights that nothing bounds",
        _nothing_bounds_weights,
        lambda: neighbours_differ_by_at_most_the_largest_weight(replace=False),
    ),
    Mutant(
        "weights relative to those of others",
        lambda patch: patch.setattr(batches_module, "Weights", _Relative),
        lambda: neighbours_differ_by_at_most_the_largest_weight(replace=False),
    ),
    Mutant(
        "W forgotten",
        lambda patch: patch.setattr(Persons, "records", property(lambda self: self.at_most)),
        noise_grows_with_the_largest_weight,
    ),
    Mutant(
        "as many times m as W",
        lambda patch: patch.setattr(Persons, "records", property(lambda self: self.at_most + self.weight.largest - 1)),
        lambda: persons_differ_by_at_most_both_bounds(replace=False),
    ),
    Mutant(
        "which of a person's equal records count depends on their order",
        lambda patch: patch.setattr(
            table_module, "bounded", lambda keys, columns, at_most: bounded(keys, columns[:-1], at_most)
        ),
        the_order_of_rows_does_not_matter,
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (pa.array([1.0, 2.5, 1.0]), "a weight that is not a whole number"),
        (pa.array([1, None, 1]), "an empty cell"),
        (pa.array([1.0, float("nan"), 1.0]), "an empty cell"),
        (pa.array([1, -2, 1]), "a weight that is negative or beyond"),
        (pa.array([1.0, float("inf"), 1.0]), "a weight that is negative or beyond"),
        (pa.array(["1", "many", "1"]), "a weight that is not a number"),
    ],
)
def test_other_weights_are_one_error_with_rows_and_no_values(weights: pa.Array[Any], words: str) -> None:
    table = pa.table({"a": [0, 1, 2], "b": [0, 0, 0], "w": weights})
    with pytest.raises(CountColumnError, match=f"column 'w', 1 row .first: 2.: {words}") as found:
        read_table(table, DOMAIN, weight="w", largest_weight=3)
    assert found.value.rows == (2,)
    assert not any(text in str(found.value) for text in ("2.5", "-2", "many"))
    assert "another column of weights" in str(found.value)


def test_weights_of_0_everywhere_are_no_error() -> None:
    """A single record may decide whether the sum is 0."""
    table = read_table(table_of([("1", 0, 0)]), DOMAIN, extra_columns="ignore", weight="w", largest_weight=3)
    assert table.total() == 0


def test_chunks_hold_their_weights() -> None:
    rows: list[Row] = [(str(i % 7), i % 6, i % 5) for i in range(100)]
    options = ReadOptions(extra_columns="ignore", weight="w", largest_weight=3)
    reader = open_table(table_of(rows))
    coding = select_columns(reader, DOMAIN, options)
    assert coding.columns == ("a", "b", "w")
    assert sum(part.total() for part in chunks(reader, coding, 10)) == sum(min(weight, 3) for _, _, weight in rows)


@pytest.mark.parametrize(
    ("weight", "largest", "words"),
    [
        ("w", None, "weight is given, and largest_weight is not"),
        (None, 5, "largest_weight is given, and weight is not"),
        ("w", 0, "cannot count up to 0 times"),
        ("w", 2.5, r"cannot count up to 2\.5 times"),
        ("w", 2**20 + 1, "cannot count up to 1048577 times"),
        ("", 5, "names no column of weights"),
        ("w (2019)", 5, "names no column of weights"),
    ],
)
def test_wrong_options_are_refused(weight: Any, largest: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        persons_of(None, None, weight, largest)


def test_a_column_of_weights_is_there_and_nothing_else() -> None:
    table = table_of([("1", 0, 2)]).append_column("n", pa.array([1]))
    with pytest.raises(ColumnError, match="the table has no such column"):
        read_table(table, DOMAIN, extra_columns="ignore", weight="v", largest_weight=1)
    for options in ({"weight": "a"}, {"weight": "id", "person": "id", "at_most": 1}):
        with pytest.raises(ColumnError, match="it is the column of weights, and"):
            read_table(table, DOMAIN, extra_columns="ignore", largest_weight=1, **options)
    with pytest.raises(ConfigError, match="rows that stand for several records"):
        read_table(table, DOMAIN, extra_columns="ignore", weight="w", largest_weight=1, count_column="n")
    with pytest.raises(UndeclaredColumnError, match="pass weight='weight' and largest_weight"):
        read_table(pa.table({"a": [0], "b": [0], "weight": [1]}), DOMAIN)


def test_a_table_checks_its_weights() -> None:
    persons = Persons(None, 1, Weight("w", 3))
    assert Table(DOMAIN, [[0], [0]], [3], persons=persons).total() == 3
    with pytest.raises(ConfigError, match="a record counts more than 3 times"):
        Table(DOMAIN, [[0, 1], [0, 1]], [3, 4], persons=persons)
    assert np.array_equal(Table(DOMAIN, [[0, 1], [0, 1]], [3, 4], persons=Persons("id", 3)).weights, [3, 4])
