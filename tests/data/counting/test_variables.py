"""Counts over levels and derived attributes, against one record at a time; and none over the values below a level."""

from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.arrays import Floats, Ints
from hedgerow.data import Table
from hedgerow.data.counting import blocks, marginals as counting
from hedgerow.data.counting.rows import over_variables
from hedgerow.domain import Categorical, Clique, Derived, Domain, IntegerRange
from hedgerow.queries import Conjunction
from tests.models.strategies import leveled_domains
from tests.reference.feasible_model import feasible_codes


def random_records(domain: Domain, n_rows: int, rng: np.random.Generator, *, weighted: bool) -> Table:
    """Records that break no constraint."""
    listed = feasible_codes(domain)
    chosen = listed[rng.integers(len(listed), size=n_rows)]
    return Table(domain, list(chosen.T), rng.integers(0, 9, n_rows) if weighted else None)


def code_of(domain: Domain, name: str, record: tuple[int, ...]) -> int:
    """Looked up in the function as it was declared."""
    for derived in (*domain.derived, *domain.grains, *(meet for meet, _ in domain.meets)):
        if derived.name == name:
            return int(derived.codes[tuple(record[domain.names.index(source)] for source in derived.sources)])
    return record[domain.names.index(name)]


def records_of(table: Table) -> Counter[tuple[int, ...]]:
    counts: Counter[tuple[int, ...]] = Counter()
    weights = [1] * len(table.columns[0]) if table.weights is None else table.weights.tolist()
    for weight, record in zip(weights, zip(*(column.tolist() for column in table.columns), strict=True), strict=True):
        counts[record] += weight
    return counts


def reference_marginal(table: Table, clique: Clique) -> Floats:
    found = np.zeros(table.domain.shape_of(clique))
    for record, count in records_of(table).items():
        found[tuple(code_of(table.domain, name, record) for name in clique)] += count
    return found


def reference_sum(table: Table, query: Conjunction) -> int:
    return sum(
        count
        for record, count in records_of(table).items()
        if all(
            code_of(table.domain, name, record) in codes for name, codes in zip(query.scope, query.codes, strict=True)
        )
    )


def cliques_over(domain: Domain, rng: np.random.Generator, *, hidden: bool = True, n: int = 8) -> list[Clique]:
    """Of any variables: also several that determine each other, and none."""
    names = [each.name for each in (domain.variables if hidden else (*domain, *domain.derived))]
    chosen = [rng.choice(names, min(len(names), int(rng.integers(1, 4))), replace=False) for _ in range(n)]
    return [(), *(domain.clique(each.tolist()) for each in chosen)]


def conditions_over(domain: Domain, rng: np.random.Generator) -> list[Conjunction]:
    cliques = [domain.reduced(clique) for clique in cliques_over(domain, rng, hidden=False)]
    allowed = [name for each in cliques for name in each]
    sets = {name: np.flatnonzero(rng.random(domain[name].size) < 0.6).tolist() for name in allowed}
    return [Conjunction.where(domain, {name: sets[name] for name in clique}) for clique in cliques]


@given(leveled_domains(), st.integers(1, 60), st.booleans(), st.integers(0, 2**32 - 1))
def test_marginals_are_those_of_the_records_one_by_one(domain: Domain, n: int, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_records(domain, n, rng, weighted=weighted)
    cliques = cliques_over(domain, rng)
    for clique, found in zip(cliques, table.marginals(cliques), strict=True):
        assert found.tolist() == reference_marginal(table, clique).tolist()


@given(leveled_domains(), st.integers(1, 60), st.booleans(), st.integers(0, 2**32 - 1))
def test_conjunctions_are_those_of_the_records_one_by_one(domain: Domain, n: int, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_records(domain, n, rng, weighted=weighted)
    queries = conditions_over(domain, rng)
    expected = [reference_sum(table, query) for query in queries]
    assert table.conjunctions(queries).tolist() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "CHEAP_CELLS", 3)  # so that classes of values, and records, are gone through
        assert table.conjunctions(queries).tolist() == expected


def test_packed_bits_know_derived_attributes() -> None:
    """Many marginals of few attributes with two values are counted from bits."""
    rng = np.random.default_rng(0)
    plain = Domain(IntegerRange(f"a{i}", 0, 3) for i in range(6))
    halves = [Derived(IntegerRange(f"{name}.half", 0, 1), (name,), [0, 0, 1, 1]) for name in plain.names]
    domain = Domain(plain, halves)
    table = Table(domain, [rng.integers(0, 4, 500) for _ in range(6)], rng.integers(0, 5, 500))
    cliques = list(itertools.combinations([each.name for each in halves], 3)) * 3
    assert counting._packed(over_variables(domain, table.columns, cliques)[0], None, [(6, 7, 8)] * 60)
    for clique, found in zip(cliques, table.marginals(cliques), strict=True):
        assert found.tolist() == reference_marginal(table, clique).tolist()


def test_records_are_as_they_were_where_no_derived_attribute_is_asked_for() -> None:
    domain = Domain([IntegerRange("age", 0, 99)])
    columns = [np.array([1, 2], dtype=np.uint8)]
    assert over_variables(domain, columns, [("age",), ()]) == (domain, columns)


def codes_of_10_000() -> Domain:
    group = np.arange(10_000) // 100
    chapter = group // 10
    return Domain(
        [Categorical(name, tuple(range(10_000))) for name in ("cause", "remedy")],
        [
            Derived(IntegerRange(f"{name}.{level}", 0, int(codes.max())), (name,), codes)
            for name in ("cause", "remedy")
            for level, codes in (("group", group), ("chapter", chapter))
        ],
    )


def test_a_level_is_counted_over_its_own_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 codes by 10,000 codes would take 800 MB; their chapters have 100 cells."""
    domain, rng = codes_of_10_000(), np.random.default_rng(1)
    columns: list[Ints] = [rng.integers(0, 10_000, 50_000) for _ in range(2)]
    table = Table(domain, columns)
    largest: list[int] = []
    covering = blocks.covering_blocks
    monkeypatch.setattr(
        blocks,
        "covering_blocks",
        lambda *given: [largest.append(each.cells) or each for each in covering(*given)],  # type: ignore[func-returns-value]
    )
    pair = ("cause.chapter", "remedy.group")
    wide = Conjunction.where(domain, {"cause.group": range(3, 90), "remedy.group": range(50)})
    table.marginals([pair])  # compiled
    tracemalloc.start()
    (found,) = table.marginals([pair])
    (answer,) = table.conjunctions([wide])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert max(largest) <= 10_000
    assert peak < 16 << 20
    expected = np.zeros((10, 100))
    np.add.at(expected, (columns[0] // 1000, columns[1] // 100), 1)
    assert found.tolist() == expected.tolist()
    groups = [column // 100 for column in columns]
    assert answer == ((groups[0] >= 3) & (groups[0] < 90) & (groups[1] < 50)).sum()
