"""Comparisons on domains with derived attributes and constraints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow import Table
from hedgerow.algorithms.registry import NAMES
from hedgerow.comparison import ProductTables, Yardstick, compare
from hedgerow.domain import Domain, IntegerRange, KnownTable, listed_records
from hedgerow.models import values_at
from hedgerow.privacy import ZCDP
from hedgerow.queries import Marginal, Workload
from tests.algorithms.test_constrained import DOMAIN, LEVELED, RECORDS, table
from tests.models.strategies import leveled_cliques, leveled_conjunctions, leveled_domains


@given(st.data())
def test_tables_of_independent_attributes_are_sums_over_all_cells(data: st.DataObject) -> None:
    domain = data.draw(leveled_domains(largest=4, longest=4))
    clique, condition = data.draw(leveled_cliques(domain)), data.draw(leveled_conjunctions(domain))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    shares = [rng.dirichlet(np.ones(size)) for size in domain.shape]
    tables = ProductTables(domain, shares)
    every = np.indices(domain.shape).reshape(len(domain), -1).T
    masses = np.prod([share[codes] for share, codes in zip(shares, every.T, strict=True)], axis=0)
    assert tables.conjunctions([condition])[0] == pytest.approx(values_at(condition, every) @ masses, abs=1e-12)
    (found,) = tables.marginals([clique])
    assert found.shape == domain.shape_of(clique)
    if clique:
        expected = [values_at(cell, every) @ masses for cell in Marginal(domain, clique).cells]
        np.testing.assert_allclose(found.reshape(-1), expected, atol=1e-12)


def test_the_uniform_guess_is_over_records_that_can_exist() -> None:
    source = table()
    records = listed_records(DOMAIN)
    assert len(records) == len(RECORDS)
    single = LEVELED.by_query()
    truth = single.answers(source) / source.total()
    uniform = [values_at(single.candidate(number), records).mean() for number in range(single.n_queries)]  # type: ignore[arg-type]
    expected = np.sqrt(np.mean(np.square(truth - uniform)))
    assert Yardstick(source, LEVELED).uniform()["rmse"] == pytest.approx(expected)


def test_all_mechanisms_are_compared_or_say_why_not() -> None:
    found = compare(table(), LEVELED, [ZCDP(0.5)], NAMES, repeats=1, seed=1)
    failed = [each for each in found.outcomes if each.reason]
    assert [each.mechanism for each in failed] == ["fourier"]
    assert found.bounds
    assert Workload.parse(LEVELED.spec, DOMAIN) == LEVELED


def test_mechanisms_that_do_not_keep_known_totals_say_so() -> None:
    domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)], known=[KnownTable(("a",), [4, 2])])
    source = Table(domain, [[0, 0, 0, 0, 1, 1], [0, 1, 2, 0, 1, 2]])
    found = compare(source, Workload.marginals(domain, 2), [ZCDP(0.5)], ["mwem", "pmw", "gaussian"], repeats=1, seed=1)
    reasons = {each.mechanism: each.reason for each in found.outcomes}
    assert reasons == {"mwem": "", **dict.fromkeys(("pmw", "gaussian"), "this mechanism does not keep known totals")}
