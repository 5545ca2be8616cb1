"""Hypotheses over a few records: the contract with a record in every cell, and multisets against sums over records."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Constraint, Domain, IntegerRange
from hedgerow.errors import ConfigError, DamagedReleaseError, MarginalTooLargeError, QueryError
from hedgerow.models import Empirical, Model, values_at
from hedgerow.models.records import empirical
from hedgerow.models.records.empirical import cells_of, holding
from hedgerow.queries import Workload
from hedgerow.release import StoredModel, model_to_dict
from tests.models.contract import LeveledContract, Makes, ModelContract
from tests.models.strategies import cliques, conjunctions, domain_of, domains, queries
from tests.reference.dense_model import over_domain
from tests.reference.dense_tables import DenseTables
from tests.reference.feasible_model import feasible_codes

WIDE = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(120))


def reloaded(model: Model) -> Model:
    return StoredModel(model.domain, model.total, *model_to_dict(model)).build()


class OfEveryRecord(Makes):
    """With one record in every cell that there may be nothing is out of reach, and the whole contract holds."""

    def make(self, domain: Domain, total: float) -> Empirical:
        return Empirical(domain, total, feasible_codes(domain))

    def reload(self, model: Model) -> Model:
        return reloaded(model)


class TestContract(OfEveryRecord, ModelContract): ...


class TestLevels(OfEveryRecord, LeveledContract): ...


class TestContractInParts(TestContract):
    """The same with one question looked up at a time."""

    @pytest.fixture(autouse=True)
    def _small_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(empirical, "_LOOKED_UP", 1)


def test_records_that_cannot_exist_are_refused() -> None:
    rule = Constraint("both", ("x0", "x1"), [[0, 1], [0, 1, 1]], [[True, True], [True, False]])
    domain = Domain(domain_of(2, 3).attributes, (), (rule,))
    assert Empirical(domain, 1.0, [[1, 0], [0, 2]]).codes.tolist() == [[1, 0], [0, 2]]
    with pytest.raises(ConfigError, match="both"):
        Empirical(domain, 1.0, [[1, 0], [1, 2]])


def drawn(domain: Domain, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(size, size=n) for size in domain.shape], axis=1)


def dense(model: Empirical) -> Floats:
    """Cell by cell, one record after the other."""
    cells = np.zeros(model.domain.shape)
    for record, mass in zip(model.codes.tolist(), model.masses().tolist(), strict=True):
        cells[tuple(record)] += mass
    return cells


@given(st.data(), domains, st.integers(1, 30), st.integers(0, 100))
def test_answers_are_sums_over_the_records(data: st.DataObject, domain: Domain, n: int, seed: int) -> None:
    model = Empirical(domain, 40.0, drawn(domain, n, seed))
    expected = np.full(n, 40.0 / n)
    for query in data.draw(st.lists(queries(domain), max_size=3)):
        model.update(query, 0.9)
        table = over_domain(domain, query.scope, query.values())
        expected *= np.exp(0.9 * np.array([table[tuple(record)] for record in model.codes.tolist()]))
    np.testing.assert_allclose(model.masses(), 40.0 * expected / expected.sum(), rtol=1e-12)
    reference = DenseTables(domain, dense(model))
    asked, wanted = data.draw(st.lists(conjunctions(domain), max_size=4)), data.draw(st.lists(cliques(domain)))
    np.testing.assert_allclose(model.conjunctions(asked), reference.conjunctions(asked), rtol=1e-9, atol=1e-9)
    for found, expected_table in zip(model.marginals(wanted), reference.marginals(wanted), strict=True):
        np.testing.assert_allclose(found, expected_table, rtol=1e-9, atol=1e-9)


def test_equal_records_are_counted_exactly() -> None:
    domain = domain_of(2, 3)
    model = Empirical(domain, 7.0, np.array([[0, 2]] * 4 + [[1, 0]] * 3, dtype=np.int64))
    assert model.marginals([("x0",)])[0].tolist() == [4.0, 3.0]
    assert model.marginals([domain.names])[0].tolist() == [[0.0, 0.0, 4.0], [3.0, 0.0, 0.0]]


def test_a_wide_domain_costs_no_more_than_its_records() -> None:
    model = Empirical(WIDE, 1000.0, drawn(WIDE, 50, 1))
    workload = Workload.marginals(WIDE, 2)
    answers = workload.answers(model)
    assert answers.shape == (4 * math.comb(120, 2),)
    assert answers.reshape(-1, 4).sum(axis=1) == pytest.approx(1000.0)
    parities = Workload.parities(WIDE, 2).answers(model)
    signs = 1.0 - 2.0 * (model.codes[:, 3] ^ model.codes[:, 17])
    at = list(Workload.parities(WIDE, 2).scopes).index(("x3", "x17"))
    assert parities[at] == pytest.approx(1000.0 * signs.mean())
    with pytest.raises(MarginalTooLargeError) as caught:
        model.marginals([("x0",), WIDE.names])
    assert caught.value.cells == 2**120


def test_updates_that_underflow_come_back() -> None:
    model = Empirical(domain_of(2), 2.0, [[0], [1]])
    table = np.array([0.0, -2000.0])
    model.reweigh(("x0",), table)
    assert model.marginals([("x0",)])[0].tolist() == [2.0, 0.0]
    model.reweigh(("x0",), -table)
    assert model.marginals([("x0",)])[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("n", [1, 7, 64, 1000])
def test_systematic_samples_hold_every_record_its_expected_number_of_times(n: int) -> None:
    domain = domain_of(5)
    model = Empirical(domain, 1.0, [[0], [1], [3], [4]], [0.0, 1.0, -1.0, -5.0])
    counts = np.bincount(model.sample(n, seed=0)[:, 0], minlength=5)
    assert np.abs(counts - n * model.marginals([("x0",)])[0]).max() < 1.0 + 1e-9
    assert counts[2] == 0


def test_independent_samples_follow_the_weights() -> None:
    # Chi-square with 2 degrees of freedom passes 27.6 with probability 1e-6.
    model = Empirical(domain_of(3), 1.0, [[0], [1], [2], [2]])
    counts = np.bincount(model.sample(20_000, seed=4, method="independent")[:, 0], minlength=3)
    expected = 20_000 * np.array([0.25, 0.25, 0.5])
    assert float(((counts - expected) ** 2 / expected).sum()) < 27.6


def test_a_saved_model_keeps_records_and_weights() -> None:
    model = Empirical(WIDE, 90.0, drawn(WIDE, 20, 3))
    entry, arrays = model_to_dict(model)
    assert (entry["kind"], entry["weighted"], arrays["model_records"].dtype) == ("records", False, np.uint8)
    model.update(Workload.parities(WIDE, 1).candidate(5), 0.3)  # type: ignore[arg-type]
    again = reloaded(reloaded(model))
    np.testing.assert_array_equal(again.marginals([("x5",)])[0], model.marginals([("x5",)])[0])
    np.testing.assert_array_equal(again.sample(30, seed=2), model.sample(30, seed=2))


FAULTS: list[tuple[dict[str, object], dict[str, np.ndarray]]] = [
    ({"kind": "records", "records": 3, "weighted": False}, {"model_records": np.zeros((2, 1), dtype=np.uint8)}),
    ({"kind": "records", "records": 2, "weighted": False}, {"model_records": np.full((2, 1), 9)}),
    ({"kind": "records", "records": 2, "weighted": False}, {"model_records": np.zeros((2, 1))}),
    ({"kind": "records", "records": 2, "weighted": False}, {"model_records": np.zeros(2, dtype=np.uint8)}),
    ({"kind": "records", "records": 2, "weighted": True}, {"model_records": np.zeros((2, 1), dtype=np.uint8)}),
    ({"kind": "records"}, {"model_records": np.zeros((2, 1), dtype=np.uint8)}),
    ({"kind": "riddles"}, {}),
]


@pytest.mark.parametrize(("entry", "arrays"), FAULTS)
def test_a_damaged_file_is_named(entry: dict[str, object], arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(DamagedReleaseError):
        StoredModel(domain_of(3), 5.0, entry, arrays).build()


@pytest.mark.parametrize(
    ("total", "codes"),
    [(0.0, [[0]]), (math.nan, [[0]]), (1.0, [[3]]), (1.0, [[-1]]), (1.0, [0]), (1.0, [[0, 0]]), (1.0, [[0.5]]),
     (1.0, np.zeros((0, 1), dtype=np.int64))],
)  # fmt: skip
def test_bad_starts_are_refused(total: float, codes: Sequence[Sequence[int]]) -> None:
    with pytest.raises(ConfigError):
        Empirical(domain_of(3), total, codes)


@pytest.mark.parametrize("logs", [[0.0], [0.0, math.inf], [[0.0, 0.0]]])
def test_bad_weights_are_refused(logs: object) -> None:
    with pytest.raises(ConfigError):
        Empirical(domain_of(3), 1.0, [[0], [1]], logs)  # type: ignore[arg-type]


def test_records_are_copied_and_cannot_be_changed() -> None:
    given_codes = np.array([[0], [1]], dtype=np.uint8)
    model = Empirical(domain_of(3), 1.0, given_codes)
    given_codes[:] = 2
    assert model.codes.tolist() == [[0], [1]]
    with pytest.raises(ValueError, match="read-only"):
        model.codes[0, 0] = 2
    with pytest.raises(ConfigError):
        model.sample(-1)
    with pytest.raises(QueryError):
        model.reweigh(("x0",), np.zeros(4))


@given(st.data(), domains, st.integers(0, 20))
def test_lookups_equal_the_tables(data: st.DataObject, domain: Domain, seed: int) -> None:
    codes = drawn(domain, 5, seed)
    wanted: list[Clique] = data.draw(st.lists(cliques(domain), max_size=4))
    found = cells_of(domain, codes, wanted)  # type: ignore[arg-type]
    for clique, cells in zip(wanted, found, strict=True):
        expected = np.arange(math.prod(domain.shape_of(clique))).reshape(domain.shape_of(clique))
        assert cells.tolist() == [expected[tuple(record[list(domain.axes(clique))])] for record in codes]
    asked = data.draw(st.lists(queries(domain), max_size=4))
    for query in asked:
        table = over_domain(domain, query.scope, query.values())
        assert values_at(query, codes).tolist() == [table[tuple(record)] for record in codes]  # type: ignore[arg-type]
    conditions = data.draw(st.lists(conjunctions(domain), max_size=4))
    together = holding(domain, codes, conditions)  # type: ignore[arg-type]
    assert together.shape == (len(conditions), 5)
    for query, row in zip(conditions, together, strict=True):
        assert row.tolist() == [bool(value) for value in values_at(query, codes)]  # type: ignore[arg-type]
