"""Passes over tables: what they keep, what they close, and that a pass which fails is charged to nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow import MWEM, ZCDP, ApproxDP, PureDP, SeededNoise, Subsampled, Workload
from hedgerow.data import Coding, Counts, Encoding, Reader, ReadOptions, ScannedTable, Table, Wanted, scan_table
from hedgerow.data.scanning import scan
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import BudgetExceededError, ConfigError, CountColumnError, DataError, MarginalTooLargeError
from hedgerow.privacy import Curator
from hedgerow.queries import Marginal
from hedgerow.system import ahead
from tests.data.sources import DOMAIN, table_of

BINARY = Domain([IntegerRange(name, 0, 1) for name in "abc"])
COLUMNS = np.random.default_rng(0).integers(2, size=(3, 100))


class Passes:
    """Passes over a table of three columns of bits, of which some fail."""

    def __init__(self, failing: Callable[[int], bool] = lambda _: False) -> None:
        self.failing = failing
        self.made = 0

    def __call__(self, wanted: Wanted, progress: scan.Progress) -> Counts:
        self.made += 1
        if self.failing(self.made):
            raise DataError("the table is far away")
        return scan.counted([Table(BINARY, list(COLUMNS))], wanted, progress)


def test_a_pass_that_fails_is_charged_to_nobody() -> None:
    failed = Passes(lambda made: made in (2, 4))
    curator = Curator(ScannedTable(BINARY, failed, "t"), PureDP(1.0), noise=SeededNoise(0))
    workload = Workload.marginals(BINARY, 1)
    with pytest.raises(DataError, match="far away"):
        curator.measure(Marginal(BINARY, ("a", "b")), charge=0.25)
    assert curator.ledger.events == ()
    curator.measure(Marginal(BINARY, ("a", "b")), charge=0.25)
    with pytest.raises(DataError, match="far away"):
        curator.select(workload, np.zeros(workload.n_queries), charge=0.25)
    assert len(curator.ledger.events) == 1
    curator.select(workload, np.zeros(workload.n_queries), charge=0.25)
    assert (len(curator.ledger.events), failed.made) == (2, 5)


def test_what_the_budget_does_not_cover_is_not_read() -> None:
    passes = Passes()
    curator = Curator(ScannedTable(BINARY, passes, "t"), ZCDP(1.0), noise=SeededNoise(0))
    with pytest.raises(BudgetExceededError):
        curator.measure(Marginal(BINARY, ("a",)), charge=1.5)
    assert passes.made == 1  # the size of the table, when the books were opened


def test_a_release_takes_one_pass() -> None:
    passes = Passes()
    MWEM(rounds=3).run(
        ScannedTable(BINARY, passes, "t"), Workload.marginals(BINARY, 2), PureDP(1.0), noise=SeededNoise(0)
    )
    assert passes.made == 1


def test_a_table_that_is_too_large_is_refused_and_forgotten() -> None:
    domain = Domain([IntegerRange(name, 0, 5000) for name in "abcdef"])
    source = ScannedTable(
        domain, lambda wanted, _: scan.counted([Table(domain, np.zeros((6, 2), np.int64).tolist())], wanted), "t"
    )
    for names in (domain.names, domain.names[:4]):
        with pytest.raises(MarginalTooLargeError):
            source.marginals([names])
        assert source.marginals([("a",)])[0].sum() == 2


def test_what_is_kept_says_the_same_as_counting_again() -> None:
    source, whole = ScannedTable(BINARY, Passes(), "t"), Table(BINARY, list(COLUMNS))
    wide, twice = ("a", "b", "c"), np.array([[0, 2, -1], [1, -1, -1], [0, 1, 2]])
    for cliques in ([("a", "b")], [("b",)], [wide], [("a", "c"), ("c",), ()]):
        found, expected = source.marginals(cliques), whole.marginals(cliques)
        assert [table.tolist() for table in found] == [table.tolist() for table in expected]
    source.prepare(Workload.marginals(BINARY, 2))
    assert source.parities(twice).tolist() == whole.parities(twice).tolist()
    assert source.parities([("a", "c"), ()]).tolist() == whole.parities([("a", "c"), ()]).tolist()


def test_the_sum_of_counts_is_checked_over_all_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.data.reading import readers

    monkeypatch.setattr(scan, "CHUNK_ROWS", 1)
    monkeypatch.setattr(readers, "BATCH_ROWS", 1)
    domain = Domain([IntegerRange("a", 0, 1)])
    for numbers, message in (([2**52 + 1] * 2, "beyond"), ([0, 0], "sum to 0"), ([2**53, 2**53, 0], "beyond")):
        pq.write_table(pa.table({"a": [0] * len(numbers), "n": numbers}), tmp_path / "t.parquet")
        with pytest.raises(CountColumnError, match=message):
            scan_table(tmp_path / "t.parquet", domain, count_column="n").total()
    pq.write_table(pa.table({"a": [0, 0, 1], "n": [0, 2, 0]}), tmp_path / "t.parquet")
    assert scan_table(tmp_path / "t.parquet", domain, count_column="n").marginals([("a",)])[0].tolist() == [2, 0]


def test_counts_that_pass_the_largest_sum_in_one_batch_or_in_several_parts_are_told_as_such() -> None:
    domain = Domain([IntegerRange("a", 0, 1)])
    parts = []
    for numbers in ([2**53, 1], [2**53]):
        batch = pa.record_batch({"a": [0] * len(numbers), "n": numbers})
        parts.append(Encoding(Reader("t", ("a", "n"), lambda *_, b=batch: iter([b])), Coding(domain, ReadOptions("n"))))
    assert [len(list(part)) for part in parts] == [0, 1]  # no table is made of what is too large
    parts[1].add(parts[1].closed())
    for part in parts:
        with pytest.raises(CountColumnError, match="beyond"):
            part.check()


def closing(opened: list[str], n: int, *, failing: bool = False) -> Iterator[int]:
    opened.append("opened")
    try:
        yield from range(n)
        if failing:
            raise DataError("it cannot be read")
    finally:
        opened.append("closed")


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_closes_what_is_read_from(error: type[BaseException]) -> None:
    opened: list[str] = []
    items = ahead(closing(opened, 5))
    assert next(items) == 0
    with pytest.raises(error):
        items.throw(error)
    assert opened == ["opened", "closed"]


def test_a_failure_while_counting_closes_what_is_read_from(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    whole = Table(BINARY, list(COLUMNS))
    tables = (whole for _ in closing(opened, 5))
    monkeypatch.setattr(Counts, "count", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as kept:  # its traceback holds all frames
        scan.counted(tables, Wanted(BINARY))
    assert opened == ["opened", "closed"]
    assert kept.value.__traceback__ is not None


def test_a_failure_while_reading_ahead_is_told_after_what_came_before() -> None:
    opened: list[str] = []
    items = ahead(closing(opened, 2, failing=True))
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(DataError):
        next(items)
    assert opened == ["opened", "closed"]


def test_a_scanned_table_is_not_sampled(tmp_path: Path) -> None:
    pq.write_table(table_of(20, seed=0), tmp_path / "t.parquet")
    source = scan_table(tmp_path / "t.parquet", DOMAIN, extra_columns="ignore")
    with pytest.raises(ConfigError, match="cannot be sampled"):
        Curator(source, Subsampled(ApproxDP(1.0, 1e-6, "replace"), sampled=5, population=20))
