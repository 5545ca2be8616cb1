"""Refit: progress, robustness, agreement of the fast paths with the plain ones."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram, Markov, Proximal, Refit, Sweeps, components, consistent, refit, required_bytes
from hedgerow.models.core import steps as steps_module
from hedgerow.models.dense import layout
from hedgerow.models.fit import refit as refit_module
from hedgerow.queries import (
    Blocks,
    Conjunction,
    Explicit,
    LinearQuery,
    Marginal,
    Measurable,
    Measurement,
    NoiseKind,
    Parity,
)
from tests.models.strategies import domain_of
from tests.reference.dense_model import DenseModel, over_domain

RULES: list[Refit] = [Sweeps(20), Sweeps(20, "sharp"), Proximal(), Proximal().quick()]


def measured(target: Measurable, values: Floats, sigma: float = 2.0) -> Measurement:
    return Measurement(target, np.asarray(values, dtype=np.float64), NoiseKind.GAUSSIAN, sigma)


def truth(domain: Domain, total: float, seed: int) -> Histogram:
    rng = np.random.default_rng(seed)
    model = Histogram(domain, total)
    for pair in itertools.combinations(domain.names, 2):
        model.reweigh(pair, rng.normal(0, 1, domain.shape_of(pair)))
    return model


def answers(model: Histogram, target: Measurable) -> Floats:
    return target.of_table(model.marginals([target.scope])[0])


def targets_of(domain: Domain, kind: str) -> list[Measurable]:
    pairs = list(itertools.combinations(domain.names, 2))
    rng = np.random.default_rng(9)
    if kind == "marginals":
        return [Marginal(domain, pair) for pair in pairs]
    if kind == "cells":
        return [Conjunction.where(domain, {a: [0], b: [1]}) for a, b in pairs]
    if kind == "explicit":
        return [Explicit.of(domain, pair, rng.uniform(-1, 2, domain.shape_of(pair))) for pair in pairs]
    if kind == "parities":
        return [Parity(domain, pair) for pair in pairs if domain.shape_of(pair) == (2, 2)]
    return [target for kind in ("cells", "marginals", "parities", "cells", "explicit")
            for target in targets_of(domain, kind)[:3]]  # fmt: skip


def one_by_one(model: Histogram, known: Sequence[Measurement], rule: Any) -> None:
    """Fit a histogram by single steps along its cells, without compiled sweeps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refit_module, "_by_slices", lambda known: True)
        refit(model, known, rule)


KINDS = ["marginals", "cells", "explicit", "parities", "mixed"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_residuals_shrink(rule: Refit, kind: str) -> None:
    domain = domain_of(2, 3, 2, 4)
    real = truth(domain, 5000.0, seed=1)
    known = [measured(target, answers(real, target)) for target in targets_of(domain, kind)]
    model = Histogram(domain, 5000.0)
    before = sum(np.abs(answers(model, m.target) - m.values).sum() for m in known)
    refit(model, known, rule)
    after = sum(np.abs(answers(model, m.target) - m.values).sum() for m in known)
    assert after < (0.8 if rule == Sweeps(20) else 0.4) * before
    assert model.marginals([()])[0] == pytest.approx(5000.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_fit_is_the_same_every_time_and_from_a_saved_model(rule: Refit, kind: str) -> None:
    domain = domain_of(2, 3, 2, 4)
    real = truth(domain, 300.0, seed=2)
    known = [measured(target, answers(real, target) + 3.0) for target in targets_of(domain, kind)]
    first, second = Histogram(domain, 300.0), Histogram(domain, 300.0)
    refit(first, known, rule)
    refit(second, known, rule)
    cells = first.marginals([domain.names])[0]
    assert np.array_equal(cells, second.marginals([domain.names])[0])
    loaded = Histogram.from_potentials(domain, 300.0, first.potentials())
    np.testing.assert_allclose(loaded.marginals([domain.names])[0], cells, rtol=1e-9, atol=1e-9)


def kl(b: Floats, p: Floats) -> float:
    held = b > 0
    return float((b[held] * np.log(b[held] / p[held])).sum())


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_step_of_a_sweep_drops_the_potential(kind: str) -> None:
    """Drop >= (e**2 - nu**2) / 4 in fractions, summed over cells for a marginal (theory.md section 1), M = 1."""
    domain = domain_of(2, 3, 2)
    total = 200.0
    real = truth(domain, total, seed=3).marginals([domain.names])[0]
    rng = np.random.default_rng(4)
    chosen = [target for target in targets_of(domain, kind) if target.bounds[0] >= -1 and target.bounds[1] <= 1]
    for target in chosen * 3:
        exact = target.of_table(real.sum(axis=tuple(
            i for i, name in enumerate(domain.names) if name not in target.scope)))  # fmt: skip
        noisy = measured(target, np.clip(exact + rng.normal(0, 15, exact.size), *(total * b for b in target.bounds)))
        model = Histogram(domain, total)
        model.reweigh(("x0", "x1"), rng.normal(0, 1, (2, 3)))
        for _ in range(5):
            before = model.marginals([domain.names])[0]
            error = exact / total - answers(model, target) / total
            refit(model, [noisy], Sweeps(1))
            drop = kl(real / total, before / total) - kl(real / total, model.marginals([domain.names])[0] / total)
            nu = (noisy.values - exact) / total
            assert drop >= (error @ error - nu @ nu) / 4 - 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_sweeps_equal_the_plain_loop(kind: str) -> None:
    domain = domain_of(2, 3, 2, 4)
    total = 80.0
    real = truth(domain, total, seed=5)
    known = [measured(target, answers(real, target) + 1.0) for target in targets_of(domain, kind)]
    model, reference = Histogram(domain, total), DenseModel(domain, total)
    refit(model, known, Sweeps(4))
    for m in known * 4:
        low, high = m.target.bounds
        shown = m.target.of_table(reference.marginal(m.target.scope))
        step = (np.clip(m.values, low * total, high * total) - shown) / (2 * total) / max(1, -low, high) ** 2
        if isinstance(m.target, Marginal):
            reference.reweigh(m.target.scope, step.reshape(domain.shape_of(m.target.scope)))
        else:
            reference.update(m.target, float(step[0]))
    np.testing.assert_allclose(model.marginals([domain.names])[0], reference.cells, rtol=1e-9)


@pytest.mark.many(quick=6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES[:2], ids=str)
def test_compiled_sweeps_equal_steps_one_by_one(rule: Refit, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From wherever the histogram is, also over attributes that nothing connects."""
    monkeypatch.setattr(layout, "ROW_CELLS", 16)
    monkeypatch.setattr(layout, "BLOCK_CELLS", 64)
    domain = domain_of(3, 2, 4, 2, 7, 2)
    total = 400.0
    real = truth(domain, total, seed=7)
    known = [measured(target, answers(real, target) - 2.0) for target in targets_of(domain, kind)[::2]]
    known.append(measured(Conjunction.where(domain, {}), np.array([390.0])))
    compiled, plain = (Histogram(domain, total) for _ in range(2))
    for model in (compiled, plain):
        model.reweigh(("x4",), np.linspace(0, 2, 7))
        model.update(Conjunction.where(domain, {"x1": [1]}), 0.7)
    one_by_one(plain, known, rule)
    with monkeypatch.context() as patch:
        patch.setattr(refit_module, "_by_slices", lambda known: False)
        patch.setattr(refit_module, "_take_steps", lambda *given: pytest.fail("not compiled"))
        refit(compiled, known, rule)
    found, expected = (model.marginals([domain.names])[0] for model in (compiled, plain))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    loaded = Histogram.from_potentials(domain, total, compiled.potentials())
    np.testing.assert_allclose(loaded.marginals([domain.names])[0], found, rtol=1e-8)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_fit_needs_little_more_memory_than_the_hypothesis(rule: Refit) -> None:
    """At most 4 times the hypothesis, whatever is measured, and the samples drawn after it."""
    domain = domain_of(4, 5, 6, 7, 8, 10, 16, 8)
    pairs = list(itertools.combinations(domain.names, 2))[::2]
    known = [measured(Marginal(domain, pair), np.full(np.prod(domain.shape_of(pair)), 3.0)) for pair in pairs]
    known += [measured(Conjunction.where(domain, {name: range(2)}), np.array([20.0])) for name in domain.names]
    refit(Histogram(domain_of(2, 2), 1.0), [measured(Marginal(domain_of(2, 2), ("x0",)), np.ones(2))], rule)
    tracemalloc.start()
    model = Histogram(domain, 1000.0)
    refit(model, known[:2], replace_sweeps(rule))
    refit(model, known, replace_sweeps(rule))
    model.marginals(pairs)
    model.sample(1000, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= required_bytes(domain, copies=4)


def replace_sweeps(rule: Refit) -> Refit:
    return Sweeps(1, rule.step) if isinstance(rule, Sweeps) else rule


def test_components() -> None:
    domain = domain_of(2, 2, 2, 2, 2)
    assert components(domain, []) == ()
    assert components(domain, [(), ("x1", "x4"), ("x0",), ("x2", "x3"), ("x3", "x4")]) == (
        ("x0",), ("x1", "x2", "x3", "x4"),
    )  # fmt: skip


HARD = {
    "negative": [-500.0, -30.0, 20.0, -1.0, 0.0, -7.0],
    "far too large": [1e9, 3.0, 2.0, 5.0, 1.0, 1e7],
    "one cell": [0.0, 0.0, 0.0, 0.0, 0.0, 60.0],
    "nothing": [0.0] * 6,
}


@pytest.mark.many(quick=16)
@pytest.mark.parametrize("values", HARD.values(), ids=HARD)
@pytest.mark.parametrize("total", [1.0, 60.0, 1e12])
@pytest.mark.parametrize("sigma", [0.0, 1e-9, 1.0, 1e6])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_hard_targets_leave_a_finite_model(values: list[float], total: float, sigma: float, rule: Refit) -> None:
    domain = domain_of(2, 3, 2)
    known = [
        measured(Marginal(domain, ("x0", "x1")), np.array(values), sigma),
        measured(Marginal(domain, ("x0",)), np.array([60.0, -60.0]), sigma),
        measured(Conjunction.where(domain, {"x2": [1]}), np.array([-5.0]), sigma),
        measured(Conjunction.where(domain, {"x1": [1], "x2": [1]}), np.array([1e5]), sigma),
        measured(Parity(domain, ("x0", "x2")), np.array([-400.0]), sigma),
        measured(Explicit.of(domain, ("x1",), [0.0, 5.0, -9.0]), np.array([77.0]), sigma),
    ]
    model = Histogram(domain, total)
    refit(model, known, rule)
    cells = model.marginals([domain.names])[0]
    assert np.isfinite(cells).all()
    assert (cells >= 0).all()
    assert cells.sum() == pytest.approx(total)


@pytest.mark.parametrize("kind", ["marginals", "cells"])
def test_noisy_targets_are_fitted_the_less_closely_the_noisier_they_are(kind: str) -> None:
    domain, total = domain_of(2, 3, 2, 4), 1000.0
    real = truth(domain, total, seed=8)
    left = []
    for sigma in (0.01, 1.0, 100.0, 1e4):
        known = [measured(target, answers(real, target), sigma) for target in targets_of(domain, kind)]
        model = Histogram(domain, total)
        refit(model, known, Proximal())
        left.append(sum(np.abs(answers(model, m.target) - m.values).sum() for m in known))
    assert left[0] > 0.0
    assert all(finer < 0.6 * noisier for finer, noisier in itertools.pairwise(left))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_part_that_was_updated_but_not_measured(rule: Refit) -> None:
    """Sweeps keep its updates, a proximal fit undoes them."""
    domain = domain_of(2, 3, 2, 5)
    model = Histogram(domain, 12.0)
    model.reweigh(("x0",), np.array([0.0, np.log(3.0)]))
    refit(model, [measured(Marginal(domain, ("x1",)), np.array([8.0, 2.0, 2.0]))], rule)
    expected = [3.0, 9.0] if isinstance(rule, Sweeps) else [6.0, 6.0]
    np.testing.assert_allclose(model.marginals([("x0",)])[0], expected, rtol=1e-12)
    assert model.marginals([("x1",)])[0][0] > 4.5


def test_a_base_is_respected() -> None:
    domain = domain_of(2, 30)
    base = np.exp(np.random.default_rng(1).normal(0, 1, domain.shape))
    model = Histogram(domain, 50.0, base)
    refit(model, [measured(Marginal(domain, ("x0",)), np.array([40.0, 10.0]), 0.01)], Proximal())
    cells = model.marginals([domain.names])[0]
    np.testing.assert_allclose(cells / cells.sum(axis=1, keepdims=True), base / base.sum(axis=1, keepdims=True))
    assert cells.sum(axis=1) == pytest.approx([40.0, 10.0], abs=0.1)


def test_nothing_measured_changes_nothing() -> None:
    model = Histogram(domain_of(2, 2), 4.0)
    refit(model, [], Proximal())
    assert model.marginals([("x0",)])[0].tolist() == [2.0, 2.0]


def test_a_measurement_that_is_not_finite_is_refused() -> None:
    domain = domain_of(2, 2)
    with pytest.raises(ConfigError, match="not finite"):
        refit(Histogram(domain, 4.0), [measured(Marginal(domain, ("x0",)), np.array([np.nan, 1.0]))], Sweeps(1))


@pytest.mark.parametrize(
    "make",
    [lambda: Sweeps(0), lambda: Proximal(c=0.0), lambda: Proximal(c=float("nan")), lambda: Proximal(growth=1.0),
     lambda: Proximal(polish=-1)],
)  # fmt: skip
def test_rules_out_of_range_are_refused(make: object) -> None:
    with pytest.raises(ConfigError):
        make()  # type: ignore[operator]


def test_models_without_their_own_sweeps_are_fitted_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of(2, 3, 2)
    known = [measured(Conjunction.where(domain, {"x0": [1], "x1": [i]}), np.array([5.0 * i])) for i in range(3)]
    fitted = []
    for rule in (Sweeps(5), Proximal()):
        for plain in (False, True):
            if plain:
                monkeypatch.setattr(steps_module, "SweepsConjunctions", Plain)
            model = Histogram(domain, 40.0)
            refit(model, known, rule)
            fitted.append(model.marginals([domain.names])[0])
            monkeypatch.undo()
    np.testing.assert_allclose(fitted[0], fitted[1], rtol=1e-9)
    np.testing.assert_allclose(fitted[2], fitted[3], rtol=1e-7)


class Plain:
    """No model is one of these."""


def test_the_reference_spreads_tables_over_the_domain() -> None:
    domain = domain_of(2, 3)
    assert over_domain(domain, ("x1",), np.arange(3.0))[1].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("rule", [Proximal(), Sweeps(20)])
def test_trees_with_many_unmeasured_cliques_between_measured_ones(rule: Refit) -> None:
    domain = domain_of(*[2] * 14)
    pairs = list(itertools.pairwise(domain.names))
    known = [measured(Marginal(domain, pair), [10.0, 20.0, 30.0, 40.0]) for pair in (pairs[0], pairs[-1])]
    tree, dense = Markov(domain, 100.0, pairs), Histogram(domain, 100.0)
    for model in (tree, dense):
        refit(model, known, rule)
    for each in known:
        scope = each.target.scope
        np.testing.assert_allclose(tree.marginals([scope])[0], dense.marginals([scope])[0], rtol=1e-3)


@pytest.mark.many(quick=3)
@pytest.mark.parametrize(("make", "kind"), [case for case in itertools.product([Histogram, Markov], KINDS)
                                            if case != (Histogram, "parities")])  # fmt: skip
def test_repeated_last_steps_converge_to_one_step_of_all(make: type[Histogram | Markov], kind: str) -> None:
    """All log-factors are then length times (noisy answer - answer), up to a constant for a marginal."""
    domain, total = domain_of(2, 3, 2, 4), 1000.0
    real = truth(domain, total, seed=11)
    rng = np.random.default_rng(12)
    targets = [target for target in targets_of(domain, kind) if not (kind == "mixed" and isinstance(target, Marginal))]
    known = [measured(t, answers(real, t) + rng.normal(0, 20, t.size), 20.0 + 3.0 * i) for i, t in enumerate(targets)]
    model = make(domain, total)
    refit(model, known, Proximal(c=0.07, growth=1e6, polish=400))
    whole = Histogram(domain, total)
    whole.reset()
    for m, wanted in zip(known, consistent(known, total), strict=True):
        factors = 0.07 * total / m.std * (wanted - answers(model, m.target) / total)
        if isinstance(m.target, LinearQuery):
            whole.update(m.target, float(factors[0]))
        else:
            whole.reweigh(m.target.scope, factors.reshape(domain.shape_of(m.target.scope)))
    for pair in itertools.combinations(domain.names, 2):
        np.testing.assert_allclose(whole.marginals([pair])[0], model.marginals([pair])[0], atol=1e-5)


@pytest.mark.parametrize("kind", [Histogram, Markov])
def test_single_attributes_spread_records_inside_blocks(kind: type[Histogram | Markov]) -> None:
    """Inside a block, cells are as in the product of the tables of single attributes, which a block does not change."""
    domain = Domain(IntegerRange(name, 0, 7) for name in "abc")
    places = (np.arange(8)[:, None] // 4) * 2 + np.arange(8) // 4
    counts, each = np.array([320.0, 160.0, 40.0, 120.0]), np.array([3.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 1.0])
    blocks = [Blocks(domain, ("a", "b"), places), Blocks(domain, ("a", "b"), places // 2)]
    known = [Measurement(Marginal(domain, (name,)), each * 640.0 / 12.0, NoiseKind.GAUSSIAN, 1e-3) for name in "ab"]
    known.append(Measurement(blocks[0], counts, NoiseKind.GAUSSIAN, 1e-3))
    known.append(Measurement(blocks[1], counts.reshape(2, 2).sum(axis=1), NoiseKind.GAUSSIAN, 1e-3))
    model = kind(domain, 640.0)
    refit(model, [known[3], known[0], known[2], known[1]], Proximal(adapted=True))
    found = model.marginals([("a", "b")])[0]
    shares = np.outer(each, each)
    for number, count in enumerate(counts.tolist()):
        inside = places == number
        np.testing.assert_allclose(
            found[inside] / found[inside].sum(), shares[inside] / shares[inside].sum(), rtol=0.02
        )
        assert found[inside].sum() == pytest.approx(count, abs=1.0)


@pytest.mark.parametrize("kind", [Histogram, Markov])
def test_blocks_beside_tables_that_are_not_nested_are_refused(kind: type[Histogram | Markov]) -> None:
    """Compiled sweeps would read beyond their counts."""
    domain = Domain(IntegerRange(name, 0, 7) for name in "abc")
    blocks = Blocks(domain, ("a", "b"), np.arange(64).reshape(8, 8) % 5)
    beside = Measurement(Marginal(domain, ("b", "c")), np.full(64, 10.0), NoiseKind.GAUSSIAN, 1.0)
    measured = Measurement(blocks, np.full(5, 128.0), NoiseKind.GAUSSIAN, 1.0)
    with pytest.raises(ConfigError, match="blocks are fitted where tables are nested"):
        refit(kind(domain, 640.0), [beside, measured], Proximal(adapted=True))


def test_a_table_of_everything_is_kept_beside_noisier_tables_of_single_attributes() -> None:
    """The steps of a sweep that count most are the last: they were those of the single attributes."""
    domain = Domain(IntegerRange(f"c{i}", 0, size - 1) for i, size in enumerate((2, 2, 2, 2, 3, 4, 10, 16)))
    rng = np.random.default_rng(1)
    counts = np.bincount(rng.choice(domain.size, 40, replace=False).repeat(12), minlength=domain.size).astype(float)
    table = counts.reshape(domain.shape)
    scopes: list[tuple[tuple[str, ...], float]] = [*(((name,), 12.0) for name in domain.names), (domain.names, 0.2)]
    noisy = []
    for scope, std in scopes:
        beside = tuple(axis for axis, name in enumerate(domain.names) if name not in scope)
        values = table.sum(axis=beside).reshape(-1)
        noise = rng.normal(0.0, std, values.size) if std > 1.0 else 0.0  # of the table nearly all is 0
        noisy.append(measured(Marginal(domain, scope), values + noise, std))
    model = Histogram(domain, float(counts.sum()))
    refit(model, noisy, Proximal(adapted=True))
    assert np.abs(model.marginals([domain.names])[0].reshape(-1) - counts).sum() < 5.0
