"""What every oracle must do; each is run through it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hedgerow.algorithms import BestResponseProblem, Oracle, Response
from hedgerow.queries import Conjunction
from tests.algorithms.dual_query.oracles.instances import Instance, cells, domain_of, random_instance
from tests.examples import examples

per_oracle = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.differing_executors])
seeds = st.integers(0, 2**32 - 1)


class OracleContract(ABC):
    """Subclass, and say how to make an oracle."""

    exact = True
    """Whether tiny problems are always proved."""
    accuracy = 1e-9
    """How far from the optimum a proved record may be where weights are not whole, per sum of absolute weights."""

    @abstractmethod
    def make(self) -> Oracle:
        """The oracle, with time enough for tiny problems."""

    def respond(self, instance: Instance, seed: int = 0) -> Response:
        """The response, with what must hold for any."""
        problem = instance.problem
        response = self.make().best(problem, seed)
        assert response.codes.shape == (len(instance.domain),)
        assert response.value == problem.value(response.codes)
        assert response.bound is None or response.bound >= response.value
        assert response.proved or not self.exact
        return response

    def test_is_an_oracle(self) -> None:
        assert isinstance(self.make(), Oracle)

    @per_oracle
    @given(seeds)
    def test_value_is_honest_and_bounded_by_the_optimum(self, seed: int) -> None:
        instance = random_instance(seed)
        response = self.respond(instance, seed)
        scale = 1.0 + sum(map(abs, instance.weights))
        assert response.value == pytest.approx(instance.value(response.codes.tolist()), abs=1e-12 * scale)
        optimum = max(instance.values())
        if response.bound is not None:
            assert response.bound >= optimum - 1e-12 * scale
        if response.proved:
            assert response.value >= optimum - self.accuracy * scale
            if all(weight.is_integer() for weight in instance.weights):
                assert response.value == optimum == response.bound

    @per_oracle
    @given(seeds)
    def test_never_below_the_mean_record(self, seed: int) -> None:
        instance = random_instance(seed)
        values = instance.values()
        slack = 1e-12 * (1.0 + sum(map(abs, instance.weights)))
        assert self.respond(instance, seed).value >= np.mean(values) - slack

    def test_nothing_asked(self) -> None:
        assert self.respond(Instance(domain_of(2, 3), [], [], 1.5)).value == 1.5

    def test_weights_of_zero(self) -> None:
        domain = domain_of(2, 3)
        cell = Conjunction.where(domain, {"x0": [1]})
        assert self.respond(Instance(domain, [cell, cell], [0.0, 0.0])).value == 0.0
        assert self.respond(Instance(domain, [cell, cell], [2.0, -2.0])).value == 0.0

    def test_nothing_wanted(self) -> None:
        domain = domain_of(2, 2)
        table = [Conjunction.where(domain, {"x0": [a], "x1": [b]}) for a in range(2) for b in range(2)]
        response = self.respond(Instance(domain, table, [-3.0, -1.0, -2.0, -4.0]))
        assert (response.codes.tolist(), response.value) == ([0, 1], -1.0)

    def test_impossible_conjunctions_count_nothing(self) -> None:
        domain = domain_of(2, 3)
        impossible = Conjunction(domain, ("x0", "x1"), ((1,), ()))
        wanted = Conjunction.where(domain, {"x0": [0]})
        response = self.respond(Instance(domain, [impossible, wanted], [100.0, 1.0]))
        assert (response.codes[0], response.value) == (0, 1.0)

    def test_conjunctions_that_always_hold_count_always(self) -> None:
        domain = domain_of(2, 3)
        always = [Conjunction(domain, (), ()), Conjunction.where(domain, {"x1": range(3)})]
        wanted = Conjunction.where(domain, {"x0": [1], "x1": range(3)})
        response = self.respond(Instance(domain, [*always, wanted], [5.0, -2.0, 1.0]))
        assert (response.codes[0], response.value) == (1, 4.0)

    def test_repeated_conjunctions_add_up(self) -> None:
        domain = domain_of(3)
        one, other = (Conjunction.where(domain, {"x0": [code]}) for code in (0, 2))
        response = self.respond(Instance(domain, [one, other, one, one], [1.0, 2.0, 1.0, 1.0]))
        assert (response.codes.tolist(), response.value) == ([0], 3.0)

    def test_wide_sets_and_mixed_sizes(self) -> None:
        domain = domain_of(2, 1000, 7)
        conditions = [
            Conjunction.where(domain, {"x1": range(300, 600), "x2": [1, 2, 3]}),
            Conjunction.where(domain, {"x0": [1], "x1": range(450)}),
            Conjunction.where(domain, {"x1": range(0, 1000, 2), "x2": [3, 4]}),
            Conjunction.where(domain, {"x0": [0], "x1": [444]}),
        ]
        response = self.respond(Instance(domain, conditions, [1.0, 1.0, 1.0, 0.5]))
        assert response.value == 3.0
        first, second, third = response.codes
        assert (first, third) == (1, 3)
        assert 300 <= second < 450
        assert second % 2 == 0

    def test_codes_that_nothing_tells_apart_are_drawn(self) -> None:
        domain = domain_of(2, 4, 3)
        wanted = Conjunction.where(domain, {"x1": [1, 3]})
        answers = {tuple(self.respond(Instance(domain, [wanted], [1.0]), seed).codes) for seed in range(150)}
        # Each of the 12 is missed with probability (11/12)^150 = 2e-6; the seeds are fixed.
        assert answers == {(a, b, c) for a in range(2) for b in (1, 3) for c in range(3)}

    @per_oracle
    @given(seeds)
    def test_same_seed_same_answer(self, seed: int) -> None:
        instance = random_instance(seed)
        first, second = self.respond(instance, seed), self.respond(instance, seed)
        assert first.codes.tolist() == second.codes.tolist()
        assert (first.value, first.bound, first.proved) == (second.value, second.bound, second.proved)

    def test_a_generator_is_used_up(self) -> None:
        problem = BestResponseProblem(domain_of(*[2] * 40), [], [])
        rng = np.random.default_rng(3)
        first, second = (self.make().best(problem, rng).codes for _ in range(2))
        assert first.tolist() != second.tolist()

    def test_weights_of_very_different_sizes(self) -> None:
        domain = domain_of(4, 4, 4, 4)
        rng = np.random.default_rng(8)
        conjunctions = cells(rng, domain, 40, 2)
        weights = [float(w) for w in 10.0 ** rng.uniform(-6, 6, 40) * rng.choice([-1, 1], 40)]
        instance = Instance(domain, conjunctions, weights)
        assert self.respond(instance).value == pytest.approx(max(instance.values()), rel=1e-5)
