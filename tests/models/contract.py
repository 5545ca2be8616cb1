"""What every model must do, checked against the slow reference; each model is run through it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Constraint, Derived, Domain, IntegerRange
from hedgerow.errors import ConfigError, QueryError
from hedgerow.models import Model
from hedgerow.queries import Conjunction
from tests.examples import examples
from tests.models.strategies import (
    cliques,
    conjunctions,
    domain_of,
    domains,
    leveled_cliques,
    leveled_conjunctions,
    leveled_domains,
    leveled_queries,
    queries,
)
from tests.reference.dense_model import DenseModel
from tests.reference.feasible_model import FeasibleModel

TOLERANCE = 1e-10

# A test runs once per model, with examples that are derived from its name: no example database is shared between them.
per_model = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.differing_executors])


class Makes(ABC):
    """Says how to make a model."""

    @abstractmethod
    def make(self, domain: Domain, total: float) -> Model:
        """A uniform model."""

    @abstractmethod
    def reload(self, model: Model) -> Model:
        """The model rebuilt from what a file holds of it."""

    @staticmethod
    def close(found: Floats, expected: Floats) -> None:
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)


class ModelContract(Makes):
    """Subclass, and say how to make a model."""

    def updated(self, data: st.DataObject, domain: Domain, total: float = 50.0) -> tuple[Model, DenseModel]:
        model, reference = self.make(domain, total), DenseModel(domain, total)
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        for _ in range(data.draw(st.integers(0, 6))):
            if data.draw(st.booleans()):
                query = data.draw(queries(domain))
                step = data.draw(st.floats(-3, 3))
                model.update(query, step)
                reference.update(query, step)
            else:
                clique = data.draw(cliques(domain))
                table = rng.normal(0.0, 1.0, domain.shape_of(clique))
                model.reweigh(clique, table)
                reference.reweigh(clique, table)
            if data.draw(st.booleans()):
                clique = data.draw(cliques(domain))
                self.close(model.marginals([clique])[0], reference.marginal(clique))
        return model, reference

    @per_model
    @given(st.data(), domains)
    def test_marginals_equal_those_of_the_reference(self, data: st.DataObject, domain: Domain) -> None:
        model, reference = self.updated(data, domain)
        wanted = data.draw(st.lists(cliques(domain), max_size=4))
        for table, clique in zip(model.marginals(wanted), wanted, strict=True):
            self.close(table, reference.marginal(clique))

    @per_model
    @given(st.data(), domains)
    def test_conjunctions_equal_those_of_the_reference(self, data: st.DataObject, domain: Domain) -> None:
        model, reference = self.updated(data, domain)
        asked = data.draw(st.lists(conjunctions(domain), max_size=4))
        self.close(model.conjunctions(asked), np.array([reference.answer(query) for query in asked]))

    @per_model
    @given(st.data(), domains)
    def test_the_total_is_kept(self, data: st.DataObject, domain: Domain) -> None:
        model, _ = self.updated(data, domain, total=7.25)
        assert model.total == 7.25
        assert model.marginals([()])[0] == pytest.approx(7.25, rel=1e-12)
        assert model.conjunctions([Conjunction.where(domain, {})])[0] == pytest.approx(7.25, rel=1e-11)

    @per_model
    @given(st.data(), domains)
    def test_a_copy_is_independent_and_reset_is_uniform(self, data: st.DataObject, domain: Domain) -> None:
        model, reference = self.updated(data, domain)
        twin = model.copy()
        model.update(data.draw(queries(domain)), 1.5)
        model.reset()
        clique = data.draw(cliques(domain))
        self.close(twin.marginals([clique])[0], reference.marginal(clique))
        self.close(model.marginals([clique])[0], DenseModel(domain, 50.0).marginal(clique))

    @per_model
    @given(st.data(), domains)
    def test_a_saved_model_comes_back(self, data: st.DataObject, domain: Domain) -> None:
        model, reference = self.updated(data, domain)
        clique = data.draw(cliques(domain))
        self.close(self.reload(model).marginals([clique])[0], reference.marginal(clique))

    @per_model
    @given(st.data(), domains, st.integers(0, 300), st.sampled_from(["systematic", "independent"]))
    def test_samples_are_records_of_the_domain(self, data: st.DataObject, domain: Domain, n: int, method: str) -> None:
        model, _ = self.updated(data, domain)
        codes = model.sample(n, seed=3, method=method)
        assert codes.shape == (n, len(domain))
        assert (codes < np.array(domain.shape)).all()
        assert np.array_equal(codes, model.sample(n, seed=3, method=method))

    def test_marginals_are_counts_of_their_own(self) -> None:
        model = self.make(domain_of(2, 3), 12.0)
        for table in model.marginals([("x0",), ("x0", "x1")]):
            table[:] = -1.0
        assert model.marginals([("x0",)])[0].tolist() == [6.0, 6.0]

    def test_bad_updates_are_refused(self) -> None:
        model = self.make(domain_of(2, 3), 12.0)
        with pytest.raises(ConfigError):
            model.update(Conjunction.where(model.domain, {"x0": [0]}), float("nan"))
        with pytest.raises(ConfigError):
            model.reweigh(("x0",), np.array([0.0, np.inf]))
        with pytest.raises(QueryError):
            model.reweigh(("x0",), np.zeros(3))
        with pytest.raises(QueryError):
            model.marginals([("x1", "x0")])
        assert model.marginals([("x0",)])[0].tolist() == [6.0, 6.0]


class LeveledContract(Makes):
    """The same over domains with levels, functions of several attributes, and constraints."""

    def updated(self, data: st.DataObject, domain: Domain, total: float = 50.0) -> tuple[Model, FeasibleModel]:
        model, reference = self.make(domain, total), FeasibleModel(domain, total)
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        for _ in range(data.draw(st.integers(0, 5))):
            if data.draw(st.booleans()):
                query = data.draw(leveled_queries(domain))
                step = data.draw(st.floats(-3, 3))
                model.update(query, step)
                reference.update(query, step)
            else:
                clique = data.draw(leveled_cliques(domain))
                table = rng.normal(0.0, 1.0, domain.shape_of(clique))
                model.reweigh(clique, table)
                reference.reweigh(clique, table)
            if data.draw(st.booleans()):
                clique = data.draw(leveled_cliques(domain))
                self.close(model.marginals([clique])[0], reference.marginal(clique))
        return model, reference

    @per_model
    @given(st.data(), leveled_domains())
    def test_marginals_over_levels_equal_those_of_the_reference(self, data: st.DataObject, domain: Domain) -> None:
        model, reference = self.updated(data, domain)
        wanted = data.draw(st.lists(leveled_cliques(domain), max_size=5))
        for table, clique in zip(model.marginals(wanted), wanted, strict=True):
            self.close(table, reference.marginal(clique))

    @per_model
    @given(st.data(), leveled_domains())
    def test_conditions_on_levels_equal_those_of_the_reference(self, data: st.DataObject, domain: Domain) -> None:
        model, reference = self.updated(data, domain)
        asked = data.draw(st.lists(leveled_conjunctions(domain), max_size=5))
        self.close(model.conjunctions(asked), np.array([reference.answer(query) for query in asked]))

    def test_conditions_on_functions_of_two_attributes_and_on_levels_that_do_not_nest(self) -> None:
        plain = domain_of(6, 3, 2)
        derived = [
            Derived(IntegerRange("both", 0, 2), ("x0", "x1"), np.arange(18).reshape(6, 3) % 5 % 3),
            Derived(IntegerRange("half", 0, 1), ("x0",), np.arange(6) // 3),
            Derived(IntegerRange("odd", 0, 1), ("x0",), np.arange(6) % 2),
        ]
        rule = Constraint("no pair", ("x1", "x2"), [[0, 1, 1], [0, 1]], [[True, True], [True, False]])
        domain = Domain(plain.attributes, derived, [rule])
        model, reference = self.make(domain, 10.0), FeasibleModel(domain, 10.0)
        conditions = [{"both": [1]}, {"half": [1], "odd": [0]}, {"x2": [1], "both": [0, 2]}, {"odd": [1], "x1": [2]}]
        asked = [Conjunction.where(domain, each) for each in conditions]
        for query in asked:
            model.update(query, 0.9)
            reference.update(query, 0.9)
            self.close(model.conjunctions(asked), np.array([reference.answer(each) for each in asked]))
        wanted = [("both", "half"), ("half", "odd"), ("x2", "both"), ("x0", "x2"), ("x1", "half", "odd")]
        for table, clique in zip(model.marginals(wanted), wanted, strict=True):
            self.close(table, reference.marginal(clique))

    @per_model
    @given(st.data(), leveled_domains())
    def test_records_that_cannot_exist_have_no_mass(self, data: st.DataObject, domain: Domain) -> None:
        model, reference = self.updated(data, domain, total=7.25)
        (cells,) = model.marginals([domain.names])
        assert (cells[~reference.feasible] == 0.0).all()
        assert cells.sum() == pytest.approx(7.25, rel=1e-11)
        assert model.marginals([()])[0] == pytest.approx(7.25, rel=1e-11)

    @per_model
    @given(st.data(), leveled_domains())
    def test_a_copy_is_independent_and_reset_is_uniform_on_records_that_can_exist(
        self, data: st.DataObject, domain: Domain
    ) -> None:
        model, reference = self.updated(data, domain)
        twin = model.copy()
        model.update(data.draw(leveled_queries(domain)), 1.5)
        model.reset()
        clique = data.draw(leveled_cliques(domain))
        self.close(twin.marginals([clique])[0], reference.marginal(clique))
        self.close(model.marginals([clique])[0], FeasibleModel(domain, 50.0).marginal(clique))

    @per_model
    @given(st.data(), leveled_domains())
    def test_a_saved_model_comes_back(self, data: st.DataObject, domain: Domain) -> None:
        model, reference = self.updated(data, domain)
        clique = data.draw(leveled_cliques(domain))
        self.close(self.reload(model).marginals([clique])[0], reference.marginal(clique))

    @per_model
    @given(st.data(), leveled_domains(), st.integers(1, 300), st.sampled_from(["systematic", "independent"]))
    def test_samples_can_exist(self, data: st.DataObject, domain: Domain, n: int, method: str) -> None:
        model, reference = self.updated(data, domain)
        codes = model.sample(n, seed=3, method=method)
        assert codes.shape == (n, len(domain))
        assert reference.feasible[tuple(codes.T)].all()
