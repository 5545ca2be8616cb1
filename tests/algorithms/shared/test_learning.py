"""The drop table of theory.md section 1, step by step, on random and adversarial instances."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.algorithms import clipped, exponent_of, step_size
from hedgerow.algorithms.shared.learning import cell_steps, guaranteed_drop, potential_drop
from hedgerow.arrays import Floats
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Step
from hedgerow.queries import Conjunction, Explicit, Marginal, Parity

DOMAIN = Domain((IntegerRange("x", 0, 6),))
STEPS: tuple[Step, ...] = ("source", "sharp")
SLACK = 1e-12


def divergence(b: Floats, p: Floats) -> float:
    positive = b > 0
    return float(np.sum(b[positive] * np.log(b[positive] / p[positive])))


def distributions(generator: np.random.Generator, cells: int) -> tuple[Floats, Floats]:
    """Random (b, p): smooth, spiky, or b a point mass; p is positive everywhere."""
    concentration = generator.choice([0.05, 0.5, 5.0])
    b = generator.dirichlet(np.full(cells, concentration))
    if generator.random() < 0.3:
        b = np.eye(cells)[generator.integers(cells)]
    p = generator.dirichlet(np.full(cells, generator.choice([0.2, 1.0, 20.0]))) + 1e-12
    return b, p / p.sum()


def moved(p: Floats, exponent: Floats) -> Floats:
    after = p * np.exp(exponent)
    return after / after.sum()


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("rule", STEPS)
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (-3.0, 2.0)])
def test_the_drop_is_at_least_the_guaranteed_one(rule: Step, bounds: tuple[float, float]) -> None:
    generator = np.random.default_rng(11)
    low, high = bounds
    for _ in range(2000):
        b, p = distributions(generator, 7)
        values = generator.uniform(low, high, 7) if generator.random() < 0.5 else generator.choice([low, high], 7)
        query = Explicit(DOMAIN, ("x",), "q", values, bounds)
        exact, noise = float(values @ b), generator.normal(0, 1) * generator.choice([0.0, 0.1, 1.0]) * (high - low)
        answer = float(clipped(np.array([exact + noise]), query, 1.0)[0])
        error, nu = exact - float(values @ p), answer - exact
        exponent = exponent_of(query, np.array([error + nu]), rule)
        drop = potential_drop(p, b, exponent)
        assert drop == pytest.approx(divergence(b, p) - divergence(b, moved(p, exponent)), abs=1e-9)
        assert drop >= guaranteed_drop(np.array([error]), np.array([nu]), query, rule) - SLACK


@pytest.mark.parametrize(("bounds", "factor"), [((0.0, 1.0), 15 / 32), ((-1.0, 1.0), 3 / 8)])
def test_noiseless_source_steps_do_better(bounds: tuple[float, float], factor: float) -> None:
    generator = np.random.default_rng(12)
    for _ in range(1000):
        b, p = distributions(generator, 7)
        values = generator.choice(bounds, 7)
        error = float(values @ (b - p))
        drop = potential_drop(p, b, step_size(error, bounds, "source") * values)
        assert drop >= factor * error**2 - SLACK


@pytest.mark.parametrize("rule", STEPS)
def test_marginals_drop_by_the_sum_over_their_cells(rule: Step) -> None:
    generator = np.random.default_rng(13)
    marginal = Marginal(DOMAIN, ("x",))
    for _ in range(2000):
        b, p = distributions(generator, 7)
        answer = clipped(b + generator.normal(0, generator.choice([0.0, 0.05, 1.0]), 7), marginal, 1.0)
        exponent = exponent_of(marginal, answer - p, rule)
        drop = potential_drop(p, b, exponent)
        assert drop >= guaranteed_drop(b - p, answer - b, marginal, rule) - SLACK


@pytest.mark.parametrize("rule", STEPS)
def test_parts_of_marginals_drop_by_the_sum_over_their_cells(rule: Step) -> None:
    generator = np.random.default_rng(16)
    part = Marginal(DOMAIN, ("x",), Conjunction.where(DOMAIN, {"x": [1, 2, 5]}))
    for _ in range(2000):
        b, p = distributions(generator, 7)
        answer = clipped(part.of_table(b) + generator.normal(0, generator.choice([0.0, 0.05, 1.0]), 3), part, 1.0)
        exponent = exponent_of(part, answer - part.of_table(p), rule)
        assert not exponent[[0, 3, 4, 6]].any()
        gain = guaranteed_drop(part.of_table(b - p), answer - part.of_table(b), part, rule)
        assert potential_drop(p, b, exponent) >= gain - SLACK


def test_fixed_steps_in_the_right_direction() -> None:
    # theory.md section 1, rows 3 and 4: |eta| = alpha / 2 gives 15 alpha**2 / 32, and |eta| = 4 alpha gives 2 alpha**2
    generator = np.random.default_rng(14)
    for _ in range(1000):
        b, p = distributions(generator, 7)
        values = generator.choice([0.0, 1.0], 7)
        error = float(values @ (b - p))
        alpha = abs(error) * generator.uniform(0.2, 1.0)
        for eta, drop in ((alpha / 2, 15 * alpha**2 / 32), (4 * alpha, 2 * alpha**2)):
            assert potential_drop(p, b, np.sign(error) * eta * values) >= drop - SLACK


def test_a_constant_in_the_query_changes_nothing() -> None:
    generator = np.random.default_rng(15)
    for _ in range(200):
        b, p = distributions(generator, 7)
        values, shift, eta = generator.uniform(0, 1, 7), generator.normal(), generator.normal()
        assert moved(p, eta * values) == pytest.approx(moved(p, eta * (values + shift)), abs=1e-12)
        assert potential_drop(p, b, eta * values) == pytest.approx(potential_drop(p, b, eta * (values + shift)))
        # the form of Dwork and Roth: penalise f where the hypothesis is above, 1 - f where it is below
        assert moved(p, -eta * (1 - values)) == pytest.approx(moved(p, eta * values), abs=1e-12)


def test_step_sizes_follow_the_table() -> None:
    assert step_size(0.3, (0.0, 1.0), "source") == pytest.approx(0.15)
    assert step_size(0.3, (0.0, 1.0), "sharp") == pytest.approx(1.2)
    assert step_size(0.3, (-1.0, 1.0), "sharp") == pytest.approx(0.3)
    assert step_size(3.0, (-2.0, 1.0), "source") == pytest.approx(3.0 / 8)
    assert step_size(0.3, (1.0, 1.0), "sharp") == 0.0
    assert cell_steps(np.array([0.2]), "source") == pytest.approx([0.1])


def test_a_constant_query_promises_nothing() -> None:
    query = Explicit(DOMAIN, ("x",), "one", np.ones(7), (1.0, 1.0))
    assert guaranteed_drop(np.array([0.0]), np.array([0.0]), query, "sharp") == 0.0


def test_clipping_never_adds_noise() -> None:
    domain = Domain((IntegerRange("a", 0, 1),))
    assert clipped(np.array([130.0]), Parity(domain, ("a",)), 100.0) == pytest.approx([100.0])
    assert clipped(np.array([-130.0]), Parity(domain, ("a",)), 100.0) == pytest.approx([-100.0])
