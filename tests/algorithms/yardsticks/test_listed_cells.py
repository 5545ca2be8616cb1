"""Yardsticks on domains with derived attributes and constraints, against lists of all records that can exist."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow import MultiplicativeWeights, svd_bound
from hedgerow.algorithms import nuclear_norm
from hedgerow.algorithms.yardsticks import listed_cells
from hedgerow.algorithms.yardsticks.listed_cells import listed_norm, listed_rows
from hedgerow.domain import Domain, IntegerRange, listed_records
from hedgerow.errors import QueryError
from hedgerow.models import Empirical, Step, values_at
from hedgerow.privacy import ZCDP
from hedgerow.queries import LinearQuery, Neighbours, Workload
from tests.algorithms.yardsticks.test_matrix_bound import dense_bound
from tests.models.strategies import leveled_cliques, leveled_conjunctions, leveled_domains
from tests.queries.strategies import workloads


@st.composite
def leveled_workloads(draw: st.DrawFn) -> Workload:
    """Marginals, cells, conditions and given values over attributes and derived ones."""
    domain = draw(leveled_domains(largest=3, longest=4))
    cliques = [draw(leveled_cliques(domain)) or domain.names[:1] for _ in range(3)]
    workload = Workload.marginals(domain, cliques=cliques[:1]).weighted(0.5)
    workload += Workload.parse(f"cells:{'*'.join(cliques[1])}", domain)
    conditions = [each for each in draw(st.lists(leveled_conjunctions(domain), max_size=3)) if each.scope]
    if conditions:
        workload += Workload.conjunctions(domain, conditions)
    rows = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(2, math.prod(domain.shape_of(cliques[2]))))
    return workload + Workload.explicit(domain, cliques[2], rows)


def by_record(workload: Workload, *, weighted: bool) -> np.ndarray:
    """A row for each query, a column for each combination of what is looked at that any record has."""
    domain, single = workload.domain, workload.by_query()
    axes = domain.axes(domain.base(name for scope in workload.scopes for name in scope))
    records = listed_records(domain)
    _, first = np.unique(records[:, axes], axis=0, return_index=True)
    rows = []
    for number, weight in enumerate(single.candidate_weights):
        query = single.candidate(number)
        assert isinstance(query, LinearQuery)
        rows.append((weight if weighted else 1.0) * values_at(query, records[first]))
    return np.array(rows)


@settings(deadline=None)
@given(leveled_workloads(), st.booleans(), st.sampled_from(Neighbours.OF_RECORDS))
def test_the_bound_is_that_of_records_that_can_exist(
    workload: Workload, weighted: bool, neighbours: Neighbours
) -> None:
    matrix = by_record(workload, weighted=weighted)
    found = svd_bound(workload, ZCDP(0.5, neighbours), weighted=weighted)
    expected = dense_bound(matrix, neighbours) if matrix.shape[1] > 1 or neighbours is not Neighbours.REPLACE else 0.0
    assert found.total_squared == pytest.approx(expected, rel=1e-6, abs=1e-6)


@settings(deadline=None)
@given(workloads(3), st.booleans(), st.booleans())
def test_listed_cells_and_structure_give_the_same(workload: Workload, weighted: bool, centred: bool) -> None:
    listed = listed_norm(workload, centred=centred, weighted=weighted)
    assert listed == pytest.approx(nuclear_norm(workload, centred=centred, weighted=weighted), rel=1e-6, abs=1e-6)


def test_what_is_too_large_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain(IntegerRange(name, 0, 99) for name in "abcd")
    with pytest.raises(QueryError, match=r"11,000 queries over 10,000 cells of a \* b") as caught:
        svd_bound(Workload.parse("marginals:a.10*b,a*b", domain), ZCDP(1.0))
    assert caught.value.remedy
    with pytest.raises(QueryError, match=r"cells of a \* b \* c \* d"):
        svd_bound(Workload.parse("marginals:a.10*b,c*d", domain), ZCDP(1.0))
    monkeypatch.setattr(listed_cells, "LARGEST_LISTED", 999)
    with pytest.raises(QueryError, match="10 queries over 100 cells"):
        listed_rows(Workload.parse("marginals:a.10", domain), weighted=False)


@pytest.mark.parametrize("step", ["source", "sharp"])
@settings(deadline=None, max_examples=20)
@given(workload=leveled_workloads(), seed=st.integers(0, 99))
def test_multiplicative_weights_learn_among_records_that_can_exist(step: Step, workload: Workload, seed: int) -> None:
    """Claim 1 with the number of these, for queries in [0, 1]; every step gains what theory says."""
    domain = workload.domain
    workload = Workload(family for family in workload.families if family.bounds == (0.0, 1.0)).by_query()
    records = listed_records(domain)
    rng = np.random.default_rng(seed)
    truth = Empirical(domain, 30.0, records[rng.integers(len(records), size=30)])
    run = MultiplicativeWeights(60, step).run(truth, workload)
    assert all(each.drop >= each.guaranteed - 1e-9 for each in run.trace)
    gaps = np.abs(workload.answers(run.model) - workload.answers(truth)) / 30.0
    assert gaps.max() <= 2.0 * math.sqrt(math.log(len(records)) / 60) + 1e-9
    cells = run.model.marginals([domain.names])[0].copy()
    cells[tuple(records.T)] = 0.0
    assert (cells == 0.0).all()
