"""Records under conditions, and rows completed: by every model, against listed records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy import stats

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Domain, codes_at
from hedgerow.errors import ConfigError, QueryError
from hedgerow.models import Empirical, Histogram, Markov, Model, ValueClasses
from hedgerow.queries import Explicit
from tests.models.strategies import leveled_conjunctions, leveled_domains, leveled_queries
from tests.reference.feasible_model import FeasibleModel

KINDS = ["dense", "tree", "classes", "records"]
METHODS = ["systematic", "independent"]


def model_of(kind: str, reference: FeasibleModel, updates: list[tuple[Any, float]]) -> Model:
    """The same hypothesis as the reference, after the same updates."""
    domain = reference.domain
    if kind == "records":
        return Empirical(domain, reference.total, reference.records, reference.logs)
    model = {"dense": Histogram, "tree": Markov, "classes": ValueClasses}[kind](domain, reference.total)
    for query, step in updates:
        model.update(query, step)
    return model


def listed(codes: Ints, domain: Domain) -> Ints:
    return np.ravel_multi_index(tuple(codes.T.astype(np.int64)), domain.shape)


def check_law(found: Ints, law: Floats, reference: FeasibleModel) -> None:
    """Chi-square of records against a law over listed records: fails by chance at 1e-6, if they are independent."""
    cells = listed(reference.records, reference.domain)
    counts = np.bincount(found, minlength=reference.domain.size)
    assert counts.sum() == counts[cells[law > 0.0]].sum()
    expected = len(found) * law / law.sum()
    common = expected >= 5.0
    seen = np.append(counts[cells][common], len(found) - counts[cells][common].sum())
    hoped = np.append(expected[common], expected[~common].sum())
    statistic = float(((seen - hoped)[hoped > 0] ** 2 / hoped[hoped > 0]).sum())
    assert statistic <= stats.chi2.isf(1e-6, max(1, int((hoped > 0).sum()) - 1)) + (hoped[-1] == 0.0) * 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_records_meet_a_condition_and_follow_the_conditional(kind: str, method: str, data: st.DataObject) -> None:
    domain = data.draw(leveled_domains(longest=4))
    updates = data.draw(st.lists(st.tuples(leveled_queries(domain), st.floats(-2, 2)), max_size=3))
    reference = FeasibleModel(domain, 50.0)
    for query, step in updates:
        reference.update(query, step)
    condition = data.draw(leveled_conjunctions(domain))
    if data.draw(st.booleans()) and condition.scope:
        table = condition.values()
        condition = Explicit.of(domain, condition.scope, 1.0 - table)  # type: ignore[assignment]
    holds = condition.values().reshape(-1)[reference.cells_of(condition.scope)] > 0.0
    model = model_of(kind, reference, updates)
    if not holds.any():
        with pytest.raises(QueryError, match="no record"):
            model.sample(5, given=condition)
        return
    codes = model.sample(3000, seed=data.draw(st.integers(0, 9)), method=method, given=condition)
    assert codes.shape == (3000, len(domain))
    check_law(listed(codes, domain), reference.masses * holds, reference)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_rows_are_completed_by_the_conditional_given_each(kind: str, method: str, data: st.DataObject) -> None:
    domain = data.draw(leveled_domains(longest=4))
    updates = data.draw(st.lists(st.tuples(leveled_queries(domain), st.floats(-2, 2)), max_size=3))
    reference = FeasibleModel(domain, 50.0)
    for query, step in updates:
        reference.update(query, step)
    known = [*domain.names, *(each.name for each in domain.derived)]
    names = domain.clique(data.draw(st.sets(st.sampled_from(known), min_size=1, max_size=3)))
    model = model_of(kind, reference, updates)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = rng.choice(len(reference.records), 3)
    columns = {name: np.repeat(reference.column(name)[rows], 1000) for name in names}
    codes = model.sample(1, seed=1, method=method, given=columns)
    drawn = dict(zip(domain.names, codes.T.astype(np.int64), strict=True))
    for name, given_codes in columns.items():
        assert np.array_equal(codes_at(domain, name, drawn), given_codes)
    for place, row in enumerate(rows):
        agree = np.all([reference.column(name) == reference.column(name)[row] for name in names], axis=0)
        found = listed(codes[1000 * place : 1000 * (place + 1)], domain)
        check_law(found, reference.masses * agree, reference)
    assert model.sample(7, 1, method, {name: each[::1000] for name, each in columns.items()}).shape == (21, len(domain))


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_the_first_row_that_no_record_has_is_named(kind: str, data: st.DataObject) -> None:
    domain = data.draw(leveled_domains(longest=3))
    reference = FeasibleModel(domain, 1.0)
    known = [*domain.names, *(each.name for each in domain.derived)]
    names = domain.clique(data.draw(st.sets(st.sampled_from(known), min_size=1, max_size=3)))
    every = np.indices(domain.shape_of(names)).reshape(len(names), -1)
    possible = np.zeros(every.shape[1], dtype=np.bool_)
    possible[reference.cells_of(names)] = True
    assume(not possible.all())
    places = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(every.shape[1])
    with pytest.raises(ConfigError, match=rf"row {1 + int(np.flatnonzero(~possible[places])[0])}\b"):
        model_of(kind, reference, []).sample(1, given=dict(zip(names, every[:, places], strict=True)))
