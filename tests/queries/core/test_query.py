"""Single queries: what they refuse, and their answers from any table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.queries import Conjunction, Explicit, Marginal, Measurement, NoiseKind, Parity
from tests.queries.strategies import conjunctions, domains
from tests.reference import evaluator
from tests.reference.dense_tables import DenseTables

DOMAIN = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))


@given(st.data())
def test_a_conjunction_counts_the_cells_of_its_codes(data: st.DataObject) -> None:
    domain = data.draw(domains())
    query = data.draw(conjunctions(domain))
    tables = DenseTables.random(domain, 300, data.draw(st.integers(0, 9)))
    (table,) = tables.marginals([query.scope])
    np.testing.assert_allclose(query.of_table(table), evaluator.answer(query, tables), atol=1e-10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Marginal(DOMAIN, ()),
        lambda: Conjunction(DOMAIN, ("b", "a"), ((0,), (0,))),
        lambda: Conjunction(DOMAIN, ("a", "b"), ((0,),)),
        lambda: Conjunction(DOMAIN, ("a",), ((1, 0),)),
        lambda: Conjunction(DOMAIN, ("a",), ((0, 0),)),
        lambda: Conjunction(DOMAIN, ("a",), ((0, 2),)),
        lambda: Conjunction.where(DOMAIN, {"a": [-1]}),
        lambda: Parity(DOMAIN, ("a", "b")),
        lambda: Explicit.of(DOMAIN, ["a"], [1, 2, 3]),
        lambda: Explicit.of(DOMAIN, ["a"], [1, np.nan]),
        lambda: Explicit.of(DOMAIN, ["a"], [1, 2e6]),
    ],
)
def test_what_makes_no_sense_is_refused(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(QueryError):
        make()


@pytest.mark.parametrize(("kind", "std"), [(NoiseKind.GAUSSIAN, 2.0), (NoiseKind.LAPLACE, 8.0**0.5)])
def test_standard_deviation_of_a_measurement(kind: NoiseKind, std: float) -> None:
    measured = Measurement(Marginal(DOMAIN, ("a",)), np.zeros(2), kind, 2.0)
    assert measured.std == pytest.approx(std, rel=1e-15)
