"""Refits of histograms over levels, on the records that constraints allow: the same as steps over listed records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from hedgerow.domain import Constraint, Derived, Domain, IntegerRange
from hedgerow.models import Histogram, Newton, Proximal, Refit, Sweeps, refit, solvable
from hedgerow.models.fit import refit as refit_module
from hedgerow.queries import Conjunction, Marginal, Measurable, Measurement, NoiseKind, Parity
from tests.examples import examples
from tests.models.strategies import leveled_domains
from tests.models.tree_fit.test_levels import TOTAL, close, noisy, order_of
from tests.reference import feasible_fit
from tests.reference.feasible_model import FeasibleModel


def measured(target: Measurable, values: list[float], sigma: float = 2.0) -> Measurement:
    return Measurement(target, np.array(values), NoiseKind.GAUSSIAN, sigma)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("rule", [Sweeps(1), Sweeps(3, "sharp"), Proximal(growth=4.0, polish=3)], ids=str)
@settings(max_examples=examples(60))
@given(st.data(), st.booleans())
def test_histograms_take_the_steps_of_listed_records(rule: Refit, data: st.DataObject, compiled: bool) -> None:
    domain = data.draw(leveled_domains())
    known = data.draw(noisy(domain))
    assume(known)
    model, expected = Histogram(domain, TOTAL), FeasibleModel(domain, TOTAL)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("nested", "measured_levels"):  # it takes no such steps
            patch.setattr(f"hedgerow.models.fit.refit.{name}", lambda known: False)
        patch.setattr(refit_module, "_by_slices", lambda known: not compiled)
        refit(model, known, rule)
    order = order_of([model], known, ordered=not rule.anew) if compiled else range(len(known))
    feasible_fit.fit(expected, known, rule.phases(known, TOTAL), order)
    found = model.marginals([domain.names])[0]
    close(found, expected.marginal(domain.names), 1e-8)
    again = Histogram.from_potentials(domain, TOTAL, model.potentials())
    close(again.marginals([domain.names])[0], expected.marginal(domain.names), 1e-8)


def ruled() -> Domain:
    """``a`` and ``b`` are never both 1, ``c`` is 1 wherever ``a`` is."""
    rules = [
        Constraint("not both", ("a", "b"), [[0, 1], [0, 1]], [[1, 1], [1, 0]]),
        Constraint("c if a", ("a", "c"), [[0, 1], [0, 1]], [[1, 1], [0, 1]]),
    ]
    either = Derived(IntegerRange("either", 0, 1), ("a", "b"), [[0, 1], [1, 1]])
    return Domain([IntegerRange(name, 0, 1) for name in "abcd"], [either], rules)


def test_what_is_known_is_not_fitted() -> None:
    """Neither cells that no record can have, nor queries that constraints leave one value."""
    domain = ruled()
    pair = measured(Marginal(domain, ("a", "b")), [50.0, 30.0, 20.0, 0.0])
    noisier = measured(Marginal(domain, ("a", "b")), [50.0, 30.0, 20.0, 900.0])
    never = measured(Conjunction.where(domain, {"a": [1], "b": [1]}), [40.0])
    always = measured(Conjunction.where(domain, {"a": [0, 1], "either": [0, 1]}), [-7.0])
    for rule in (Sweeps(5), Proximal()):
        found = []
        for known in ([pair], [noisier], [never, pair, always]):
            model = Histogram(domain, 100.0)
            refit(model, known, rule)
            found.append(model.marginals([domain.names])[0])
        np.testing.assert_allclose(found[1], found[0], atol=1e-10)
        np.testing.assert_allclose(found[2], found[0], atol=1e-10)


def test_nothing_but_what_is_known_leaves_the_start() -> None:
    domain = ruled()
    model = Histogram(domain, 100.0)
    model.reweigh(("d",), np.array([0.0, 1.0]))
    refit(model, [measured(Conjunction.where(domain, {"a": [1], "b": [1]}), [40.0])], Proximal())
    assert model.marginals([("d",)])[0].tolist() == pytest.approx([50.0, 50.0])


def test_newton_solves_for_parities_of_records_that_can_exist() -> None:
    """Each multiplier is the length of the step times what the answer still lacks."""
    domain, rng = ruled(), np.random.default_rng(3)
    known = [
        measured(Parity(domain, scope), rng.uniform(-50, 50, 1).tolist(), 4.0) for scope in ("ab", "c", "bd", "ad")
    ]
    model, expected = Histogram(domain, 100.0), FeasibleModel(domain, 100.0)
    Newton(c=0.3, steps=1).fit(model, known)
    factors = model.potentials().tables
    for scope, table in factors.items():
        expected.reweigh(scope, table)
    close(model.marginals([domain.names])[0], expected.marginal(domain.names), 1e-10)
    for m in known:
        multiplier = factors[m.target.scope].reshape(-1)[0]
        lacking = (m.values[0] - expected.answer(m.target)) / 100.0  # type: ignore[arg-type]
        assert multiplier == pytest.approx(0.3 * 100.0 / 4.0 * lacking, rel=1e-8)


def test_newton_fits_parities_where_rules_and_functions_stand_beside() -> None:
    domain = ruled()
    parities = [measured(Parity(domain, scope), [1.0]) for scope in (("a",), ("b", "d"))]
    assert solvable(parities)
    model = Histogram(domain, 100.0)
    refit(model, parities, Proximal())
    found, codes = model.marginals([domain.names])[0], np.indices(domain.shape)
    impossible = (codes[0] & codes[1] | codes[0] & ~codes[2] & 1).astype(bool)
    assert (found[impossible] == 0.0).all()
    assert found.sum() == pytest.approx(100.0)
    for parity in (Parity(domain, ("a",)), Parity(domain, ("b", "d"))):
        assert parity.of_table(model.marginals([parity.scope])[0])[0] == pytest.approx(1.0, abs=0.2)
