"""Records that can exist, against a list of all of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from hedgerow.arrays import Ints
from hedgerow.domain import (
    Clique,
    Constraint,
    Derived,
    Domain,
    IntegerRange,
    feasible,
    feasible_cells,
    feasible_records,
    possible_cells,
)
from hedgerow.errors import DomainError
from tests.reference.feasible_records import cells, random_domain, records


def counted(domain: Domain, clique: Clique) -> Ints:
    """How many of them are in each cell."""
    shape = domain.shape_of(clique)
    return np.bincount(cells(domain, clique), minlength=math.prod(shape)).reshape(shape)


def some_cliques(rng: np.random.Generator, domain: Domain) -> list[Clique]:
    names = [*domain.names, *(each.name for each in domain.derived)]
    return [domain.clique(rng.choice(names, size=size, replace=False)) for size in (1, 1, 2, 2, 3, 3)]


@pytest.mark.parametrize("seed", range(12))
def test_cells_are_counted_as_in_the_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = random_domain(rng, rng.integers(2, 6, size=4).tolist(), constraints=3)
    assert feasible_records(domain) == records(domain).shape[1]
    for clique in some_cliques(rng, domain):
        expected = counted(domain, clique)
        found, possible = feasible_cells(domain, clique), possible_cells(domain, clique)
        assert found is not None
        assert possible is not None
        assert np.array_equal(found, expected)
        assert np.array_equal(possible, expected > 0)


def test_counts_are_exact_however_large() -> None:
    rule = Constraint("", ("x0", "x1"), [[0] * 999 + [1], [0, 1]], [[1, 0], [1, 1]])
    domain = Domain([IntegerRange("x0", 0, 999), *(IntegerRange(f"x{i}", 0, 1) for i in range(1, 80))], (), (rule,))
    found = feasible_cells(domain, ("x1", "x2"))
    assert found is not None
    assert found.tolist() == [[1000 * 2**77] * 2, [2**77] * 2]
    assert feasible_records(domain) == sum(itertools.chain.from_iterable(found.tolist()))


def test_values_that_no_record_has_are_impossible_without_constraints() -> None:
    level = Derived(IntegerRange("x0.g", 0, 3), ("x0",), [0, 0, 2, 2])
    domain = Domain([IntegerRange("x0", 0, 3), IntegerRange("x1", 0, 1)], (level,))
    found = possible_cells(domain, ("x1", "x0.g"))
    assert found is not None
    assert found.tolist() == [[True, False, True, False]] * 2
    assert not found.flags.writeable


def test_only_codes_that_count() -> None:
    rng = np.random.default_rng(3)
    domain = random_domain(rng, [4, 3, 5])
    kept = np.array([True, False, True, False])
    assert feasible_records(domain, {"x0": kept}) == kept[records(domain)[0]].sum()


def test_too_large_tables_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = random_domain(np.random.default_rng(5), [4, 3, 5])
    size = math.prod(domain.shape)
    monkeypatch.setattr(feasible, "MOST_CELLS", size - 1)
    assert feasible_cells(domain, domain.names) is None
    assert feasible_cells(domain, ("both",)) is not None
    monkeypatch.setattr(feasible, "MOST_CELLS", 1)
    assert feasible_records(domain) is None


def test_an_attribute_may_have_the_name_of_classes_of_values() -> None:
    attributes = IntegerRange("a", 0, 4), IntegerRange("a/classes", 0, 2)
    domain = Domain(attributes, (), [Constraint("not small", ("a",), [[0, 0, 1, 1, 1]], [False, True])])
    assert feasible_records(domain) == 9
    assert [each.name for each in domain.grains] == ["a/classes/"]
    found = possible_cells(domain, ("a", "a/classes"))
    assert found is not None
    assert found.sum(axis=1).tolist() == [0, 0, 3, 3, 3]


def test_a_constraint_over_classes_without_codes_leaves_no_record() -> None:
    with pytest.raises(DomainError, match="'never' leaves no record"):
        Constraint("never", ("a", "b"), [[1, 1], [0, 1]], [[True, True], [False, False]])


def test_a_rule_about_an_attribute_of_very_many_values_is_not_counted() -> None:
    """It stands, as a bound does that counts all combinations; a rule beside such an attribute is counted."""
    rule = Constraint("", ("x0", "x1"), [[0] * feasible.MOST_CELLS + [1], [0, 1]], [[1, 0], [1, 1]])
    domain = Domain([IntegerRange("x0", 0, feasible.MOST_CELLS), IntegerRange("x1", 0, 1)], (), (rule,))
    assert feasible_records(domain) is None
    assert feasible.possible_records(domain) == domain.size
    fewer = Constraint("", ("x1", "x2"), [[0, 1], [0, 1]], [[1, 0], [1, 1]])
    beside = Domain([*domain.attributes, IntegerRange("x2", 0, 1)], (), (fewer,))
    assert feasible_records(beside) == 3 * (feasible.MOST_CELLS + 1)
