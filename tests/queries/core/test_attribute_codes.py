"""Conditions on levels as conditions on attributes, record by record."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from hedgerow.domain import CodeSet, Derived, Domain, IntegerRange
from hedgerow.queries import Conjunction, attribute_codes
from tests.models.strategies import leveled_conjunctions, leveled_domains
from tests.reference.feasible_model import FeasibleModel


def test_conditions_on_levels_that_do_not_nest_meet_in_their_attribute() -> None:
    halves = Derived(IntegerRange("half", 0, 1), ("a",), [0, 0, 0, 1, 1, 1])
    odd = Derived(IntegerRange("odd", 0, 1), ("a",), [0, 1, 0, 1, 0, 1])
    both = Derived(IntegerRange("both", 0, 1), ("a", "b"), np.zeros((6, 2)))
    domain = Domain((IntegerRange("a", 0, 5), IntegerRange("b", 0, 1)), [halves, odd, both])
    query = Conjunction.where(domain, {"half": [1], "odd": [1]})
    assert attribute_codes(domain, query) == ({"a": CodeSet.of([3, 5])}, {})
    query = Conjunction.where(domain, {"odd": [0], "both": [1]})
    assert attribute_codes(domain, query) == ({"a": CodeSet.of([0, 2, 4])}, {"both": CodeSet.of([1])})


@given(st.data(), leveled_domains())
def test_records_meet_both_forms_alike(data: st.DataObject, domain: Domain) -> None:
    query, every = data.draw(leveled_conjunctions(domain)), FeasibleModel(domain, 1.0)
    attributes, functions = attribute_codes(domain, query)
    assert attributes.keys() <= set(domain.names)
    holds = np.ones(len(every.records), dtype=np.bool_)
    for name, codes in [*attributes.items(), *functions.items()]:
        holds &= np.isin(every.column(name), np.asarray(codes))
    expected = query.values().reshape(-1)[every.cells_of(query.scope)]
    assert np.array_equal(holds, expected > 0.5)
