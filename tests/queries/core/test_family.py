"""What families and targets say of themselves, where other code would otherwise ask for their class."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.queries import (
    Cells,
    Conjunction,
    Explicit,
    Family,
    Marginal,
    Marginals,
    Measurable,
    Neighbours,
    Parity,
    Workload,
)
from tests.reference.dense_tables import DenseTables

DOMAIN = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1), IntegerRange("c", 0, 2)))


@pytest.mark.parametrize(
    ("text", "whole", "tabular", "conjunctive", "signed", "spread"),
    [
        ("marginals:a*c,b", True, True, True, False, [0.5, 0.5]),
        ("cells:a*c,b", False, True, True, False, [3.0] * 6 + [1.0] * 2),
        ("parities:a,a*b", False, False, False, True, [4.0, 4.0]),
        ("prefixes:c", False, False, True, False, [4.0] * 3),
        ("where: a = 1 and c > 0", False, False, True, False, [4.0]),
    ],
)
def test_what_families_can_do(
    text: str, whole: bool, tabular: bool, conjunctive: bool, signed: bool, spread: list[float]
) -> None:
    (family,) = Workload.parse(text, DOMAIN).families
    assert (family.whole, family.tabular, family.conjunctive, family.signed) == (whole, tabular, conjunctive, signed)
    assert np.broadcast_to(family.spread, family.n_candidates).tolist() == spread


def test_values_given_by_hand_may_be_signed() -> None:
    (family,) = Workload.explicit(DOMAIN, ["a"], [[0.0, 1.0]]).families
    assert (family.whole, family.tabular, family.conjunctive, family.signed) == (False, False, False, True)
    assert family.spread == 4.0


def test_a_family_that_does_not_say_how_far_noise_spreads_is_refused() -> None:
    class Own(Family):
        n_queries, scopes, spec = 1, (("a",),), "own"
        candidate = cliques = evaluate = lambda self, *_: NotImplemented

    own = Own()
    own.domain = DOMAIN
    assert (own.n_candidates, own.signed, own.by_query()) == (1, False, own)
    with pytest.raises(QueryError, match="'own' does not say how far noise"):
        _ = own.spread


def test_a_candidate_of_several_answers_is_as_sensitive_as_all_of_them_together() -> None:
    class Groups(Family):
        n_queries, n_candidates, scopes, spec, bounds = 5, 2, (("a",),), "groups", (0.0, 2.0)
        lengths = np.array([2, 3])
        candidate = cliques = evaluate = lambda self, *_: NotImplemented

    assert Groups().sensitivities(Neighbours.ADD_REMOVE).tolist() == [4.0, 6.0]
    for family in Workload.parse("marginals:a*c,b; cells:a*c; parities:a; prefixes:c", DOMAIN).families:
        for neighbours in Neighbours.OF_RECORDS:
            targets = [family.candidate(index) for index in range(family.n_candidates)]
            each = [target.sensitivity(neighbours).l1 for target in targets]
            assert family.sensitivities(neighbours).tolist() == each


def test_single_queries_of_marginals_are_cells() -> None:
    marginals = Marginals(DOMAIN, [("a", "c"), ("b",)])
    assert marginals.by_query() == Cells(DOMAIN, [("a", "c"), ("b",)])
    assert Workload([marginals]).by_query().n_candidates == 8


@pytest.mark.parametrize(
    ("target", "held"),
    [
        (Marginal(DOMAIN, ("a", "c")), None),
        (Conjunction.where(DOMAIN, {"a": [1], "c": [0, 2]}), 0),
        (Parity(DOMAIN, ("a", "b")), 0),
        (Explicit.of(DOMAIN, ["b", "c"], [0, 0.5, -1, 2, 0, 0]), 6),
    ],
)
def test_targets_are_answered_on_tables(target: Measurable, held: int | None) -> None:
    tables = DenseTables(DOMAIN, np.random.default_rng(3).random(DOMAIN.shape), 0)
    np.testing.assert_allclose(target.on(tables), target.of_table(tables.marginals([target.scope])[0]), rtol=1e-12)
    assert held is None or target.held == held  # type: ignore[attr-defined]
