"""Records of every model on domains with levels and constraints: none breaks a rule, and counts are as promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Constraint, Domain, IntegerRange
from hedgerow.models import Model
from hedgerow.queries import Conjunction
from tests.models.strategies import leveled_domains, leveled_queries
from tests.models.test_given import KINDS, METHODS, check_law, listed, model_of
from tests.reference.feasible_model import FeasibleModel

RULE = Constraint("a <= b", ("a", "b"), [range(4), range(4)], np.triu(np.ones((4, 4))))
RULED = Domain([IntegerRange("a", 0, 3), IntegerRange("b", 0, 3), IntegerRange("c", 0, 1)], (), [RULE])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_no_record_breaks_a_rule_and_all_follow_the_hypothesis(kind: str, method: str, data: st.DataObject) -> None:
    domain = data.draw(leveled_domains())
    updates = data.draw(st.lists(st.tuples(leveled_queries(domain), st.floats(-3, 3)), max_size=4))
    reference = FeasibleModel(domain, 20.0)
    for query, step in updates:
        reference.update(query, step)
    codes = model_of(kind, reference, updates).sample(100_000, seed=1, method=method).astype(np.int64)
    for rule in domain.constraints:
        assert rule.holds([codes[:, domain.index(name)] for name in rule.scope]).all()
    check_law(listed(codes, domain), reference.masses, reference)


@pytest.mark.parametrize("kind", KINDS)
def test_cells_far_below_all_others_are_drawn_only_where_records_can_be(kind: str) -> None:
    """What is left after strong steps has a probability of 1e-300 and less; zeros are lower still."""
    reference = FeasibleModel(RULED, 1.0)
    updates = [(Conjunction.where(RULED, {"a": [0, 1]}), -400.0), (Conjunction.where(RULED, {"b": [3]}), -690.0)]
    for query, step in updates:
        reference.update(query, step)
    for method in METHODS:
        codes = model_of(kind, reference, updates).sample(1000, seed=2, method=method)
        assert (codes[:, :2] == [2, 2]).all()


def uniform(kind: str) -> Model:
    return model_of(kind, FeasibleModel(RULED, 1.0), [])


@pytest.mark.parametrize("kind", KINDS)
def test_whole_expectations_are_met_exactly_under_a_condition(kind: str) -> None:
    """Three pairs meet it, in 300 records each; of the attribute that is free of them only its own counts are whole."""
    condition: Any = Conjunction.where(RULED, {"a": [1], "c": [0, 1]})
    codes = uniform(kind).sample(900, seed=3, given=condition).astype(np.int64)
    assert np.bincount(codes[:, 0], minlength=4).tolist() == [0, 900, 0, 0]
    assert np.bincount(codes[:, 1], minlength=4).tolist() == [0, 300, 300, 300]
    assert np.bincount(codes[:, 2]).tolist() == [450, 450]


@pytest.mark.parametrize("kind", KINDS)
def test_whole_expectations_are_met_exactly_for_each_row(kind: str) -> None:
    codes = uniform(kind).sample(600, seed=3, given={"a": [2, 0]}).astype(np.int64)
    assert (codes[:, 0] == np.repeat([2, 0], 600)).all()
    assert np.bincount(codes[:600, 1], minlength=4).tolist() == [0, 0, 300, 300]
    assert np.bincount(codes[600:, 1], minlength=4).tolist() == [150] * 4
    assert np.bincount(codes[:, 2]).tolist() == [600, 600]


def test_cells_of_a_histogram_are_within_one_of_their_expectation() -> None:
    reference = FeasibleModel(RULED, 1.0)
    updates = [(Conjunction.where(RULED, {"a": [0, 1], "c": [1]}), 0.3), (Conjunction.where(RULED, {"b": [3]}), -0.9)]
    for query, step in updates:
        reference.update(query, step)
    codes = model_of("dense", reference, updates).sample(1234, seed=5)
    counts = np.bincount(listed(codes, RULED), minlength=RULED.size)[listed(reference.records, RULED)]
    assert counts.sum() == 1234
    assert np.abs(counts - 1234 * reference.masses).max() < 1.0
