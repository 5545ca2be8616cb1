"""A fit to one table ends where step by step fits end."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.domain import Constraint, Domain, IntegerRange
from hedgerow.models import Histogram, Proximal, refit
from hedgerow.models.fit import refit as refit_module
from hedgerow.models.fit.rules import Onward
from hedgerow.queries import Marginal, Measurement, NoiseKind
from tests.models.fit.test_refit import one_by_one
from tests.models.strategies import domain_of

RULE = Proximal(c=2.0, polish=3)
ORDERED = Constraint("x0 <= x1", ("x0", "x1"), [[0, 1, 2], [0, 1, 2]], np.triu(np.ones((3, 3))).astype(int).tolist())


def noisy(domain: Domain, scope: tuple[str, ...], sigma: float) -> Measurement:
    rng, target = np.random.default_rng(4), Marginal(domain, scope)
    values = 1000.0 * rng.dirichlet(np.full(target.size, 0.3)) + rng.normal(0, sigma, target.size)
    return Measurement(target, values, NoiseKind.GAUSSIAN, sigma)


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("scope", [("x0",), ("x0", "x2"), ("x0", "x1", "x2")])
@pytest.mark.parametrize("sigma", [1e-3, 3.0, 300.0])
def test_it_ends_where_single_steps_end(constrained: bool, scope: tuple[str, ...], sigma: float) -> None:
    names = [IntegerRange(f"x{k}", 0, size - 1) for k, size in enumerate((3, 3, 5))]
    domain = Domain(names, (), (ORDERED,) if constrained else ())
    measured = noisy(domain, scope, sigma)
    quick, plain = Histogram(domain, 1000.0), Histogram(domain, 1000.0)
    for rule in (RULE, Onward(Proximal(c=6.0, polish=3), 2.0)):
        refit(quick, [measured], rule)
        one_by_one(plain, [measured], rule)
    (found,), (expected,) = quick.marginals([domain.names]), plain.marginals([domain.names])
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_repeats_of_the_last_step_of_a_lone_table_change_nothing() -> None:
    domain = domain_of(4, 3)
    measured = noisy(domain, ("x0", "x1"), 5.0)
    assert Proximal(polish=16).repeats([measured]) == 0
    assert Proximal(polish=16).repeats([measured, measured]) == 16
    implicit, joint = RULE.phases([measured], 1000.0)
    repeated = type(joint)(joint.kind, joint.targets, joint.rates, np.ones(9))
    found = []
    for phases in ((implicit, joint), (implicit, repeated)):
        model = Histogram(domain, 1000.0)
        for phase in phases:
            run_phase(model, measured, phase)
        found.append(model.marginals([domain.names])[0])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def run_phase(model: Histogram, measured: Measurement, phase: object) -> None:
    """The steps one by one, where a repeated step moves with the last answer in the place of the value."""
    from hedgerow.models import Phase, Run, implicit
    from hedgerow.models.core.steps import joint

    assert isinstance(phase, Phase)
    steps = Run([measured.target], [phase.targets], phase.rates.tolist(), [None])
    for share in phase.shares:
        if phase.kind == "joint":
            joint(model, steps)
        else:
            implicit(model, Run(steps.targets, steps.values, [share * phase.rates[0]], [None]))


def test_a_lost_cell_sends_the_fit_to_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of(3)
    models = [Histogram(domain, 10.0, np.array([1.0, 1e-290, 1.0])) for _ in range(2)]
    measured = Measurement(Marginal(domain, ("x0",)), np.array([5.0, 3.0, 2.0]), NoiseKind.GAUSSIAN, 1.0)
    one_by_one(models[0], [measured], RULE)
    steps, taken = refit_module._take_steps, []
    monkeypatch.setattr(refit_module, "_take_steps", lambda *given: (taken.append(1), steps(*given)))
    refit(models[1], [measured], RULE)
    assert taken == [1]
    found, expected = (model.marginals([domain.names])[0] for model in models)
    np.testing.assert_array_equal(found, expected)
