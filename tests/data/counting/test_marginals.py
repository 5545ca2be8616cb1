"""Exact counts against a plain counter of records, for every path: threads, passes, weights, large tables."""

from __future__ import annotations

import itertools
import os
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.arrays import Floats
from hedgerow.data import Table, covering_blocks
from hedgerow.data.counting import blocks, marginals as counting, rows
from hedgerow.domain import Clique, CodeSet, Domain, IntegerRange
from hedgerow.queries import Conjunction


def domain_of(sizes: Sequence[int]) -> Domain:
    return Domain(IntegerRange(f"a{i}", 0, size - 1) for i, size in enumerate(sizes))


def reference_marginal(table: Table, clique: Clique) -> Floats:
    """One record at a time."""
    columns = [table.columns[axis].tolist() for axis in table.domain.axes(clique)]
    weights = [1] * len(table.columns[0]) if table.weights is None else table.weights.tolist()
    counts: Counter[tuple[int, ...]] = Counter()
    for row, weight in enumerate(weights):
        counts[tuple(column[row] for column in columns)] += weight
    found = np.zeros(table.domain.shape_of(clique))
    for cell, count in counts.items():
        found[cell] = count
    return found


def reference_conjunction(table: Table, query: Conjunction) -> int:
    axes = table.domain.axes(query.scope)
    total = 0
    for row in range(len(table.columns[0])):
        if all(int(table.columns[axis][row]) in codes for axis, codes in zip(axes, query.codes, strict=True)):
            total += 1 if table.weights is None else int(table.weights[row])
    return total


def random_table(sizes: Sequence[int], n_rows: int, *, weighted: bool, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, n_rows) for size in sizes]
    return Table(domain_of(sizes), columns, rng.integers(0, 9, n_rows) if weighted else None)


def random_conjunctions(domain: Domain, count: int, seed: int) -> list[Conjunction]:
    rng = np.random.default_rng(seed)
    queries = []
    for _ in range(count):
        names = [name for name in domain.names if rng.random() < 0.5]
        chosen = {name: np.flatnonzero(rng.random(domain[name].size) < 0.6).tolist() for name in names}
        queries.append(Conjunction.where(domain, chosen))
    return queries


tables = st.builds(
    random_table,
    st.lists(st.integers(2, 5), min_size=1, max_size=5),
    st.integers(1, 60),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32),
)


@given(tables, st.data())
def test_marginals_agree_with_a_plain_counter(table: Table, data: st.DataObject) -> None:
    cliques = data.draw(
        st.lists(st.sets(st.sampled_from(table.domain.names)).map(table.domain.clique), min_size=0, max_size=8)
    )
    found = table.marginals(cliques)
    assert len(found) == len(cliques)
    for clique, marginal in zip(cliques, found, strict=True):
        assert marginal.dtype == np.float64
        np.testing.assert_array_equal(marginal, reference_marginal(table, clique))


@given(tables, st.integers(0, 2**32))
def test_conjunctions_agree_with_a_plain_counter(table: Table, seed: int) -> None:
    queries = random_conjunctions(table.domain, 6, seed)
    expected = [reference_conjunction(table, query) for query in queries]
    assert table.conjunctions(queries).tolist() == expected


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """So small that a short table takes several blocks, passes, tiles and threads, and the compiled conjunctions."""
    for module, limits in {
        blocks: {"BLOCK_CELLS": 30, "_SMALLEST_BLOCK": 1, "_NARROW_CELLS": 40, "PASS_CELLS": 100},
        rows: {"_TILE_ROWS": 7, "_CHUNK_ROWS": 7, "_ROWS_PER_THREAD": 10, "PASS_CELLS": 100},
        counting: {"CHEAP_CELLS": 10, "_QUERIES_PER_PASS": 3, "_CLIQUES_PER_PACKED": 10**6},
    }.items():
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})


@pytest.mark.many(quick=1)
@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1, 6, 7, 8, 29, 30, 101])
def test_blocks_passes_tiles_and_threads(n_rows: int, weighted: bool) -> None:
    table = random_table((3, 4, 2, 5, 3, 2, 300), n_rows, weighted=weighted, seed=n_rows)
    names = table.domain.names
    cliques: list[Clique] = [()]
    for order in (1, 2, 3):
        cliques += itertools.combinations(names, order)
    cliques += [names[:5], names[:2]]
    for clique, marginal in zip(cliques, table.marginals(cliques), strict=True):
        np.testing.assert_array_equal(marginal, reference_marginal(table, clique))
    queries = random_conjunctions(table.domain, 20, seed=n_rows)
    assert table.conjunctions(queries).tolist() == [reference_conjunction(table, query) for query in queries]


def test_wide_codes_of_every_type() -> None:
    sizes = (2, 300, 70_000)
    table = random_table(sizes, 500, weighted=False, seed=1)
    assert [column.dtype for column in table.columns] == [np.uint8, np.uint16, np.uint32]
    cliques: list[Clique] = [("a0",), ("a1",), ("a2",), ("a0", "a1"), ("a0", "a2")]
    for clique, marginal in zip(cliques, table.marginals(cliques), strict=True):
        axes = table.domain.axes(clique)
        flat = np.ravel_multi_index([table.columns[axis] for axis in axes], [sizes[axis] for axis in axes])
        np.testing.assert_array_equal(marginal.ravel(), np.bincount(flat, minlength=marginal.size))
    wide = Conjunction.where(table.domain, {"a1": range(0, 300, 2), "a2": range(35_000)})
    expected = np.count_nonzero((table.columns[1] % 2 == 0) & (table.columns[2] < 35_000))
    assert table.conjunctions([wide]).tolist() == [expected]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_many_records_agree_with_bincount(weighted: bool) -> None:
    """Several chunks and threads at the real limits; frequent values, so that neighbours fall into one cell."""
    sizes, n = (9, 300, 2, 42, 70, 5), 200_001
    rng = np.random.default_rng(0)
    columns = [(rng.random(n) ** 3 * size).astype(np.int64) for size in sizes]
    weights = rng.integers(0, 2**30, n) if weighted else None
    table = Table(domain_of(sizes), columns, weights)
    cliques = [clique for k in (1, 2, 3) for clique in itertools.combinations(table.domain.names, k)]
    for clique, marginal in zip(cliques, table.marginals(cliques), strict=True):
        axes, shape = table.domain.axes(clique), table.domain.shape_of(clique)
        flat = np.ravel_multi_index([columns[axis] for axis in axes], shape)
        expected = np.bincount(flat, weights, minlength=marginal.size)
        np.testing.assert_array_equal(marginal, expected.reshape(shape))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of more than 2^20 records are counted in narrower codes, by functions that are compiled for these."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})

    def peak(n: int) -> int:
        rng = np.random.default_rng(0)
        table = Table(domain_of([7] * 8), [rng.integers(0, 7, n, dtype=np.uint8) for _ in range(8)])
        cliques = list(itertools.combinations(table.domain.names, 3))
        table.marginals(cliques)  # what is compiled, or loaded, takes memory once
        tracemalloc.start()
        table.marginals(cliques)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few = peak(300_000)
    assert peak(1_000_000) < 1.1 * few
    assert peak(1_200_000) < 1.1 * few


def test_nothing_asked_nothing_counted() -> None:
    table = random_table((2, 3), 5, weighted=False, seed=0)
    assert table.marginals([]) == []
    assert table.conjunctions([]).shape == (0,)


def test_large_counts_stay_exact() -> None:
    table = Table(domain_of((2,)), [[0, 1, 1]], [2**52 - 1, 2**51, 2**51])
    assert table.marginals([("a0",)])[0].tolist() == [2**52 - 1, 2**52]
    assert table.total() == 2**53 - 1


@given(
    st.lists(st.integers(2, 9), min_size=1, max_size=8),
    st.lists(st.sets(st.integers(0, 7), max_size=4), max_size=20),
    st.integers(1, 300),
)
def test_blocks_cover_every_clique_once_and_keep_the_bound(
    sizes: list[int], picks: list[set[int]], largest: int
) -> None:
    domain = domain_of(sizes)
    cliques = [domain.clique(domain.names[i] for i in pick if i < len(sizes)) for pick in picks]
    blocks = covering_blocks(domain, cliques, largest)
    assert sorted(i for block in blocks for i in block.cliques) == list(range(len(cliques)))
    for block in blocks:
        inside = [set(domain.axes(cliques[i])) for i in block.cliques]
        assert all(axes <= set(block.axes) for axes in inside)
        assert block.cells == domain.project(domain.names[axis] for axis in block.axes).size if block.axes else True
        assert block.cells <= largest or set(block.axes) in inside


def test_blocks_are_few() -> None:
    domain = domain_of([2] * 15)
    triples = list(itertools.combinations(domain.names, 3))
    assert len(covering_blocks(domain, triples, 2**15)) == 1
    blocks = covering_blocks(domain, triples, 2**10)
    assert len(blocks) <= 20
    assert max(block.cells for block in blocks) == 2**10


# Conditions on attributes of very many values


def huge_table(n_rows: int, *, weighted: bool, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    sizes = [2**32, 2**33, 40, 3]
    columns = [rng.integers(0, size, n_rows) for size in sizes]
    columns[0][::3] //= 2**20  # many equal and small values
    return Table(domain_of(sizes), columns, rng.integers(0, 9, n_rows) if weighted else None)


def huge_conjunctions(table: Table, count: int, seed: int) -> list[Conjunction]:
    """Ranges that begin and end at values of records, ranges with gaps, and sets of single values."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        codes: dict[str, CodeSet] = {}
        for axis, attribute in enumerate(table.domain):
            if rng.random() < 0.6:
                cuts = np.unique(rng.choice(table.columns[axis].astype(np.int64), 4)).tolist()
                runs = [CodeSet.of(range(low, high + number % 2)) for low, high in zip(cuts[::2], cuts[1::2])]  # noqa: B905
                codes[attribute.name] = CodeSet(()) if not runs else runs[0] | runs[-1]
        found.append(Conjunction.where(table.domain, codes))
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cheap_cells", [counting.CHEAP_CELLS, 50])
def test_conditions_on_huge_attributes(monkeypatch: pytest.MonkeyPatch, cheap_cells: int, *, weighted: bool) -> None:
    monkeypatch.setattr(counting, "CHEAP_CELLS", cheap_cells)
    monkeypatch.setattr(counting, "_QUERIES_PER_PASS", 7)
    monkeypatch.setattr(counting, "_CLASSIFIED_ROWS", 37)
    table = huge_table(200, weighted=weighted, seed=1)
    queries = huge_conjunctions(table, 60, seed=2)
    found = table.conjunctions(queries)
    assert found.tolist() == [reference_conjunction(table, query) for query in queries]
    assert table.conjunctions(queries[:1]).tolist() == found[:1].tolist()
