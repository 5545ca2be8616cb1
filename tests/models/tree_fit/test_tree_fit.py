"""Compiled fits of junction trees: the same steps as on a histogram, in the same order where it must be kept."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.special import wrightomega

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.models import (
    Beliefs,
    Histogram,
    JunctionTree,
    Markov,
    Proximal,
    Refit,
    Sweeps,
    TreeFit,
    WalkLayout,
    marginal_step,
    refit,
)
from hedgerow.models.fit import refit as refit_module
from hedgerow.models.tree_fit import hosts as tree_hosts, layout as layout_module
from hedgerow.models.tree_fit.omega_kernels import exps, logs, omega, omegas
from hedgerow.models.tree_fit.sweep_kernels import implicit_marginal
from hedgerow.queries import Conjunction, Explicit, Marginal, Measurable, Measurement, NoiseKind, Parity
from tests.examples import examples
from tests.models.fit.test_refit import HARD, KINDS, answers, kl, measured, one_by_one, targets_of, truth
from tests.models.strategies import cliques, domain_of, queries

TOTAL = 500.0

small_domains = st.one_of(
    st.lists(st.integers(2, 5), min_size=1, max_size=5).map(lambda sizes: domain_of(*sizes)),
    st.lists(st.just(2), min_size=2, max_size=9).map(lambda sizes: domain_of(*sizes)),
    st.sampled_from([domain_of(40, 2, 30, 3), domain_of(2, 13, 9, 11), domain_of(3, 200, 2), domain_of(7, 35, 6, 2)]),
)


@st.composite
def noisy(draw: st.DrawFn, domain: Domain, sigma: float = 5.0) -> list[Measurement]:
    real = truth(domain, TOTAL, seed=draw(st.integers(0, 50))) if len(domain) > 1 else Histogram(domain, TOTAL)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = []
    for _ in range(draw(st.integers(1, 8))):
        scope = draw(cliques(domain))
        target: Measurable = Marginal(domain, scope) if scope and draw(st.booleans()) else draw(queries(domain))
        found.append(measured(target, answers(real, target) + rng.normal(0, sigma, target.size), sigma))
    return found


def everything(model: Markov | Histogram) -> Floats:
    return model.marginals([model.domain.names])[0]


def close(found: Floats, expected: Floats, tolerance: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * expected.sum())


def without_fallback(patch: pytest.MonkeyPatch) -> None:
    """Steps in logarithms would hide what the compiled ones do."""

    def refused(model: object, measurements: object, rule: object) -> None:
        raise AssertionError

    patch.setattr(refit_module, "_take_steps", refused)


def with_hosts_everywhere(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tree_hosts, "LARGE", 2)
    patch.setattr(tree_hosts, "PER_ITEM", 0)


# The same steps


@pytest.mark.slow
@settings(max_examples=examples(120))
@given(st.data(), small_domains, st.sampled_from(["source", "sharp"]), st.booleans())
def test_sweeps_equal_those_of_the_histogram(data: st.DataObject, domain: Domain, step: str, hosts: bool) -> None:
    """From wherever the model is, twice, with what was measured in any order on any tree, with and without hosts."""
    known = data.draw(noisy(domain))
    model, dense = Markov(domain, TOTAL), Histogram(domain, TOTAL)
    for each in (model, dense):
        for query in (m.target for m in known[::2] if not isinstance(m.target, Marginal)):
            each.update(query, 0.3)
    rule = Sweeps(4, step)  # type: ignore[arg-type]
    for _ in range(2):
        one_by_one(dense, known, rule)
        with pytest.MonkeyPatch.context() as patch:
            without_fallback(patch)
            if hosts:
                with_hosts_everywhere(patch)
            refit(model, known, rule)
        close(everything(model), everything(dense), 1e-9)


@settings(max_examples=examples(60))
@given(st.data(), small_domains, st.booleans())
def test_potentials_are_those_of_the_fitted_tables(data: st.DataObject, domain: Domain, hosts: bool) -> None:
    """The marginals that the fit hands over equal those of a histogram, and of a model, made from the log-factors."""
    known = data.draw(noisy(domain))
    for rule in (Sweeps(3), Proximal()):
        model = Markov(domain, TOTAL)
        with pytest.MonkeyPatch.context() as patch:
            if hosts:
                with_hosts_everywhere(patch)
            refit(model, known, rule)
        potentials = model.potentials()
        expected = everything(model)
        close(everything(Histogram.from_potentials(domain, TOTAL, potentials)), expected, 1e-10)
        close(everything(Markov.from_potentials(domain, TOTAL, potentials)), expected, 1e-10)
        for part in model.forest:
            sums = [part.sums(i, clique) for i, clique in enumerate(part.tree.cliques)]
            for i, clique in enumerate(part.tree.cliques):
                table = Histogram.from_potentials(domain, 1.0, potentials).marginals([clique])[0]
                close(sums[i] / sums[i].sum(), table, 1e-10)


@settings(max_examples=examples(40))
@given(st.data(), small_domains)
def test_updates_after_a_fit_are_exact(data: st.DataObject, domain: Domain) -> None:
    known = data.draw(noisy(domain))
    model = Markov(domain, TOTAL)
    refit(model, known, Proximal())
    dense = Histogram.from_potentials(domain, TOTAL, model.potentials())
    for query in data.draw(st.lists(queries(domain), min_size=1, max_size=3)):
        for each in (model, dense):
            each.update(query, 0.7)
        close(everything(model), everything(dense), 1e-10)


@pytest.mark.parametrize("rule", [Proximal(), Proximal().quick(), Proximal(c=2.0, growth=3.0)], ids=str)
def test_proximal_fits_of_disjoint_measurements_equal_those_of_the_histogram(rule: Refit) -> None:
    """No measurement touches another: there is one order of steps."""
    domain, rng = domain_of(3, 2, 4, 2, 3, 5), np.random.default_rng(1)
    targets = [
        Marginal(domain, ("x0", "x2")),
        Marginal(domain, ("x5",)),
        Explicit.of(domain, ("x1", "x3"), [[0.0, 1.0], [-0.5, 2.0]]),
        Conjunction.where(domain, {"x4": [0, 2]}),
    ]
    for chosen in ([0], [1], [2], [3], [0, 1, 2, 3]):
        known = [measured(targets[i], rng.uniform(0, 90, targets[i].size), 3.0) for i in chosen]
        model, dense = Markov(domain, TOTAL), Histogram(domain, TOTAL)
        refit(model, known, rule)
        one_by_one(dense, known, rule)
        close(everything(model), everything(dense), 1e-10)


@settings(max_examples=examples(40))
@given(st.data(), st.lists(st.integers(2, 5), min_size=2, max_size=5).map(lambda sizes: domain_of(*sizes)))
def test_proximal_fits_are_close_to_those_of_the_histogram(data: st.DataObject, domain: Domain) -> None:
    """Measurements are visited in another order: the difference is small against the noise of what was measured."""
    known = data.draw(noisy(domain))
    model, dense = Markov(domain, TOTAL), Histogram(domain, TOTAL)
    refit(model, known, Proximal())
    one_by_one(dense, known, Proximal())
    for m in known:
        difference = answers(model, m.target) - answers(dense, m.target)  # type: ignore[arg-type]
        width = max(m.target.bounds[1] - m.target.bounds[0], 1.0)
        assert np.sqrt(np.mean(difference**2)) < 0.75 * m.std * width


def path(domain: Domain, rng: np.random.Generator) -> list[Clique]:
    return [domain.clique(pair) for pair in itertools.pairwise(domain.names)]


@pytest.mark.parametrize("rule", [Sweeps(3), Proximal()], ids=str)
def test_cliques_on_the_way_pass_on_what_arrives(rule: Refit) -> None:
    """Only the ends of a chain of twelve cliques are measured, and one in the middle of a branch that is not."""
    domain, rng = domain_of(*[3] * 13), np.random.default_rng(2)
    start = [rng.normal(size=(3, 3)) for _ in range(12)]
    scopes = path(domain, rng)
    ends = [measured(Marginal(domain, scopes[i]), rng.uniform(0, 100, 9), 4.0) for i in (0, 11, 4)]
    model, dense = Markov(domain, TOTAL), Histogram(domain, TOTAL)
    if isinstance(rule, Proximal):
        model = Markov(domain, TOTAL, start=dict(zip(scopes, start, strict=True)))
        base = Markov.from_potentials(domain, TOTAL, model.potentials())
        dense = Histogram(domain, TOTAL, everything(base))
    else:
        for each in (model, dense):
            for scope, table in zip(scopes, start, strict=True):
                each.reweigh(scope, table)
    refit(model, ends, rule)
    one_by_one(dense, ends, rule)
    assert len(model.trees) == 1
    close(everything(model), everything(dense), 1e-9 if isinstance(rule, Sweeps) else 2e-3)


# Theory


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_step_along_a_tree_drops_the_potential(kind: str) -> None:
    """Drop >= (e**2 - nu**2) / 4 in fractions, summed over cells for a marginal (theory.md section 1), M = 1."""
    domain, total = domain_of(2, 3, 2), 200.0
    real = everything(truth(domain, total, seed=3))
    rng = np.random.default_rng(4)
    chosen = [target for target in targets_of(domain, kind) if target.bounds[0] >= -1 and target.bounds[1] <= 1]
    model = Markov(domain, total)
    model.reweigh(("x0", "x1"), rng.normal(0, 1, (2, 3)))
    for target in chosen * 15:
        others = tuple(i for i, name in enumerate(domain.names) if name not in target.scope)
        exact = target.of_table(real.sum(axis=others))
        noise = rng.normal(0, 15, exact.size)
        noisy = measured(target, np.clip(exact + noise, *(total * bound for bound in target.bounds)))
        before = everything(model)
        error = (exact - answers(model, target)) / total  # type: ignore[arg-type]
        refit(model, [noisy], Sweeps(1))
        drop = kl(real / total, before / total) - kl(real / total, everything(model) / total)
        nu = (noisy.values - exact) / total
        assert drop >= (error @ error - nu @ nu) / 4 - 1e-12


@pytest.mark.parametrize("size", [2, 5, 40, 3000])
@pytest.mark.parametrize("dt", [1e-3, 4.0, 300.0, 1e6, 1e12])
def test_compiled_implicit_steps_equal_those_in_numpy(size: int, dt: float) -> None:
    rng = np.random.default_rng(size)
    for spread in (0.1, 1.0, 5.0):
        mu = rng.dirichlet(np.full(size, 0.7)) + 1e-12
        mu /= mu.sum()
        y = mu + rng.normal(0, spread / size, size)
        expected = marginal_step(mu, y, dt)
        p, theta = mu.copy(), np.zeros(size)
        assert implicit_marginal(p, y, dt, theta, np.empty((6, size)))
        np.testing.assert_allclose(p, mu * np.exp(expected), rtol=1e-8, atol=1e-11)
        np.testing.assert_allclose(np.log(p / mu), theta, rtol=1e-11, atol=1e-11)


def test_elementary_functions_of_tables() -> None:
    x = np.concatenate([np.linspace(-700, 700, 20001), np.linspace(-3, 4, 2001)])
    out, room, more = (np.empty_like(x) for _ in range(3))
    exps(x, out, room)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-15)
    positive = np.exp(np.linspace(-690, 690, 5001))
    logs(positive, out[:5001])
    np.testing.assert_allclose(out[:5001], np.log(positive), rtol=1e-15, atol=1e-16)
    omegas(x, out, room, more)
    np.testing.assert_allclose(out, wrightomega(x), rtol=1e-13)
    np.testing.assert_allclose([omega(float(each)) for each in x[::50]], wrightomega(x[::50]), rtol=1e-13)


# What is refused, skipped, or done in logarithms


@pytest.mark.many(quick=11)
@pytest.mark.parametrize("values", HARD.values(), ids=HARD)
@pytest.mark.parametrize("sigma", [0.0, 1e-9, 1.0, 1e6])
@pytest.mark.parametrize("rule", [Sweeps(20), Sweeps(20, clip=False), Proximal()], ids=str)
def test_hard_targets_leave_a_finite_model(values: list[float], sigma: float, rule: Refit) -> None:
    domain = domain_of(2, 3, 2, 2)
    known = [
        measured(Marginal(domain, ("x0", "x1")), np.array(values), sigma),
        measured(Marginal(domain, ("x0",)), np.array([60.0, -60.0]), sigma),
        measured(Conjunction.where(domain, {"x2": [1]}), np.array([-5.0]), sigma),
        measured(Conjunction.where(domain, {"x1": [1], "x2": [1]}), np.array([1e5]), sigma),
        measured(Parity(domain, ("x0", "x2")), np.array([-400.0]), sigma),
        measured(Conjunction.where(domain, {"x2": []}), np.array([3.0]), sigma),
        measured(Marginal(domain, ("x2", "x3")), np.array([0.0, 60.0, -1.0, 1.0]), sigma),
    ]
    model = Markov(domain, 60.0)
    refit(model, known, rule)
    cells = everything(model)
    assert np.isfinite(cells).all()
    assert (cells >= 0).all()
    assert cells.sum() == pytest.approx(60.0)


def test_probabilities_out_of_range_are_stepped_in_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of(2, 2, 2)
    model = Markov(domain, 8.0)
    model.reweigh(("x0", "x1"), np.array([[0.0, -900.0], [0.3, -900.0]]))
    dense = Histogram.from_potentials(domain, 8.0, model.potentials())
    known = [measured(Marginal(domain, scope), np.arange(4.0)) for scope in (("x0", "x1"), ("x1", "x2"))]
    for each in (model, dense):
        (one_by_one if isinstance(each, Histogram) else refit)(each, known, Sweeps(3))
    close(everything(model), everything(dense), 1e-9)
    without_fallback(monkeypatch)
    with pytest.raises(AssertionError):
        refit(model, known, Sweeps(1))


def counted_fits(patch: pytest.MonkeyPatch) -> list[tuple[Clique, ...]]:
    """The scopes of each compiled fit from now on."""
    seen: list[tuple[Clique, ...]] = []
    make = TreeFit.__init__

    def counted(fit: TreeFit, parts: Sequence[Beliefs], known: Sequence[Measurement], *, ordered: bool) -> None:
        seen.append(tuple(m.target.scope for m in known))
        make(fit, parts, known, ordered=ordered)

    patch.setattr(TreeFit, "__init__", counted)
    return seen


def test_only_parts_with_something_new_are_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, rng = domain_of(2, 3, 2, 4, 3, 2), np.random.default_rng(7)
    scopes: list[Clique] = [("x0", "x1"), ("x2", "x3"), ("x4",)]
    known = [measured(Marginal(domain, s), rng.uniform(0, 90, math.prod(domain.shape_of(s)))) for s in scopes]
    model = Markov(domain, TOTAL)
    seen = counted_fits(monkeypatch)
    refit(model, known, Proximal())
    assert sorted(scope for batch in seen for scope in batch) == sorted(scopes)
    seen.clear()
    refit(model, known, Proximal())
    assert not seen
    new = measured(Marginal(domain, ("x3", "x5")), rng.uniform(0, 90, 8))
    refit(model, [*known, new], Proximal())
    assert seen == [(("x2", "x3"), ("x3", "x5"))]
    fresh = Markov(domain, TOTAL)
    refit(fresh, [*known, new], Proximal())
    close(everything(model), everything(fresh), 1e-12)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.reset(),
        lambda model: model.reweigh(("x0",), np.array([0.0, 1.0])),
        lambda model: model.update(Conjunction.where(model.domain, {"x1": [0]}), 0.5),
        lambda model: model.cover([("x1", "x2")]),
        lambda model: refit(model, [measured(Marginal(model.domain, ("x0",)), np.ones(2))], Sweeps(1)),
        lambda model: refit(model, [measured(Marginal(model.domain, ("x0",)), np.ones(2))], Proximal()),
    ],
)
def test_whatever_changes_a_part_makes_it_forget_its_fit(change: object) -> None:
    domain = domain_of(2, 3, 2)
    known = [measured(Marginal(domain, ("x0", "x1")), np.arange(6.0)), measured(Marginal(domain, ("x2",)), np.ones(2))]
    model, fresh = Markov(domain, 9.0), Markov(domain, 9.0)
    refit(model, known, Proximal())
    change(model)  # type: ignore[operator]
    refit(model, known, Proximal())
    refit(fresh, known, Proximal())
    close(everything(model), everything(fresh), 1e-10)


def test_a_copy_remembers_and_another_rule_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of(2, 3)
    known = [measured(Marginal(domain, ("x0", "x1")), np.arange(6.0))]
    model = Markov(domain, 9.0)
    refit(model, known, Proximal())
    seen = counted_fits(monkeypatch)
    twin = model.copy()
    refit(twin, known, Proximal())
    assert not seen
    refit(twin, known, Proximal().quick())
    refit(model, [measured(known[0].target, known[0].values)], Proximal())
    assert len(seen) == 2


def test_parts_with_other_noise_are_fitted_apart() -> None:
    """The number of sweeps follows the most precise measurement of a part; no other part changes that."""
    domain = domain_of(2, 3, 2, 2)
    first = [measured(Marginal(domain, ("x0", "x1")), np.arange(6.0) * 3, 0.5)]
    second = [measured(Marginal(domain, ("x2", "x3")), np.arange(4.0) * 7, 9.0)]
    together, alone = Markov(domain, 45.0), Markov(domain, 45.0)
    refit(together, first + second, Proximal())
    refit(alone, second, Proximal())
    close(together.marginals([("x2", "x3")])[0], alone.marginals([("x2", "x3")])[0], 1e-13)


def test_a_part_without_measurements_starts_again() -> None:
    domain = domain_of(2, 3)
    model = Markov(domain, 6.0)
    model.reweigh(("x1",), np.array([0.0, 1.0, 2.0]))
    refit(model, [measured(Marginal(domain, ("x0",)), np.array([4.0, 2.0]))], Proximal())
    assert model.marginals([("x1",)])[0].tolist() == pytest.approx([2.0, 2.0, 2.0])
    assert list(model.potentials().tables) == [("x0",)]


def test_scopes_outside_every_clique_are_refused() -> None:
    domain = domain_of(2, 2, 2)
    tree = JunctionTree.of(domain, [("x0", "x1"), ("x1", "x2")])
    with pytest.raises(QueryError):
        WalkLayout.of([tree], [(0, 2)], ordered=False)


# Walks


def crossings(layout: WalkLayout) -> list[tuple[int, int]]:
    """Cliques that a message goes from and to."""
    return [
        (node, int(layout.edges[out].sum()) - node)
        for node, out in layout.visits[:, [0, 4]].tolist()
        if out < len(layout.edges)
    ]


@given(st.lists(st.sampled_from(list(itertools.combinations(range(9), 2))), min_size=1, max_size=9), st.booleans())
def test_walks_are_closed_and_cross_only_edges_between_what_is_measured(
    pairs: list[tuple[int, int]], ordered: bool
) -> None:
    domain = domain_of(*[2] * 9)
    names = domain.names
    tree = JunctionTree.of(domain, list(itertools.pairwise(names)))
    inside = [(pair[0],) if pair[1] - pair[0] > 1 else pair for pair in pairs]
    layout = WalkLayout.of([tree], inside, ordered=ordered)
    visits = layout.visits
    assert visits[:, 2].tolist() == [visits[i - 1, 4] for i in range(len(visits))]
    at = [node for node, _ in crossings(layout)]
    to = [node for _, node in crossings(layout)]
    assert to[-1:] == at[:1]
    assert all(a == b for a, b in zip(to, at[1:], strict=False))
    measured_at = [node for node, first, last in visits[:, [0, 5, 6]].tolist() if first < last]
    assert set(at) <= set(range(min(measured_at), max(measured_at) + 1))
    if not ordered:
        assert len(set(crossings(layout))) == len(at) == 2 * (max(measured_at) - min(measured_at))
    steps = [m for first, last in visits[:, 5:].tolist() for m in layout.members[first:last].tolist()]
    assert sorted(steps) == list(range(len(pairs)))
    assert steps == list(range(len(pairs))) or not ordered


@given(
    st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=4), min_size=1, max_size=12),
    st.lists(st.integers(2, 9), min_size=7, max_size=7),
)
def test_hosts_leave_junction_trees_and_fewer_cells_to_pass_over(scopes: list[set[int]], sizes: list[int]) -> None:
    domain = domain_of(*sizes)
    tree = JunctionTree.of(domain, [tuple(domain.names[place] for place in sorted(scope)) for scope in scopes])
    assume(len(tree.edges) == len(tree.cliques) - 1)
    wanted = [sorted(scope) for scope in scopes]
    plain = WalkLayout.of([tree], wanted, ordered=False)
    with pytest.MonkeyPatch.context() as patch:
        with_hosts_everywhere(patch)
        hosted = WalkLayout.of([tree], wanted, ordered=False)
    names = [tuple(domain.names[place] for place in host) for host in hosted.hosts]
    nodes = [*tree.cliques, *names]
    edges = [tuple(edge) for edge in hosted.edges.tolist()]
    for host, (i, j) in zip(names, edges[len(tree.edges) :], strict=True):
        assert nodes[j] == host
        assert set(host) < set(nodes[i])
    for (i, j), (a, b) in zip(tree.edges, edges, strict=False):
        assert set(nodes[a]) & set(nodes[b]) == set(tree.cliques[i]) & set(tree.cliques[j])
    JunctionTree(domain, tuple(nodes), tuple(edges))  # checks the running-intersection property
    assert passed(hosted) <= 1.5 * passed(plain)


def passed(layout: WalkLayout, visits: Ints | None = None) -> int:
    nodes = layout.nodes[(layout.visits if visits is None else visits)[:, 0]]
    return int((nodes[:, 1] * nodes[:, 2]).sum())


def test_hosts_save_passes_over_a_wide_clique() -> None:
    """All 15 pairs of six attributes lie in one clique; most of its passes move to tables of three attributes."""
    domain = domain_of(*[10] * 6)
    tree = JunctionTree.of(domain, [domain.names])
    pairs = list(itertools.combinations(range(6), 2))
    hosted = WalkLayout.of([tree], pairs, ordered=False)
    assert passed(hosted) < 0.3 * len(pairs) * domain.size


# Cores


@pytest.fixture
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits of any size are divided among three cores."""
    for module, least in ((layout_module, "_SHARED"), (refit_module, "_LARGE")):
        monkeypatch.setattr(module, least, 0)
        monkeypatch.setattr(module, "usable_cores", lambda: 3)


@given(
    st.lists(st.lists(st.integers(2, 6), min_size=2, max_size=4), min_size=2, max_size=7),
    st.booleans(),
)
def test_work_is_divided_by_whole_trees(groups: list[list[int]], ordered: bool) -> None:
    domain = domain_of(*itertools.chain.from_iterable(groups))
    places = np.split(np.arange(len(domain)), np.cumsum([len(group) for group in groups])[:-1])
    pairs = [tuple(pair) for group in places for pair in itertools.pairwise(group.tolist())]
    trees = [
        JunctionTree.of(domain, [(domain.names[a], domain.names[b]) for a, b in itertools.pairwise(group.tolist())])
        for group in places
    ]
    layout = WalkLayout.of(trees, pairs, ordered=ordered)
    for visits in (layout.visits, layout.outward):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(layout_module, "_SHARED", 0)
            patch.setattr(layout_module, "usable_cores", lambda: 3)
            parts = layout.divided(visits, 1)
        assert len(parts) == min(3, len(groups))
        owners = [set(layout.trees[part[:, 0]].tolist()) for part in parts]
        assert all(not a & b for a, b in itertools.combinations(owners, 2))
        for part, mine in zip(parts, owners, strict=True):
            assert part.tolist() == visits[np.isin(layout.trees[visits[:, 0]], sorted(mine))].tolist()
        assert sum(len(part) for part in parts) == len(visits)
        work = [passed(layout, part) for part in parts]
        assert max(work) - min(work) <= max(
            passed(layout, visits[layout.trees[visits[:, 0]] == tree]) for tree in set(layout.trees)
        )


def test_small_fits_and_single_trees_are_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of(40, 40, 40, 40)
    trees = [JunctionTree.of(domain, [scope]) for scope in (("x0", "x1"), ("x2", "x3"))]
    layout = WalkLayout.of(trees, [(0, 1), (2, 3)], ordered=False)
    monkeypatch.setattr(layout_module, "usable_cores", lambda: 2)
    assert [len(layout.divided(layout.visits, sweeps)) for sweeps in (1, 1000)] == [1, 2]
    assert len(layout.divided(layout.visits[:1], 1000)) == 1
    monkeypatch.setattr(layout_module, "usable_cores", lambda: 1)
    assert len(layout.divided(layout.visits, 1000)) == 1


@pytest.mark.parametrize("apart", [0.0, 1.0])
@pytest.mark.parametrize("rule", [Proximal(), Sweeps(3)])
def test_cores_do_not_change_a_bit(rule: Refit, apart: float, request: pytest.FixtureRequest) -> None:
    """Trees of several cliques, marginals beside queries; more trees than cores, which share their sweeps or not."""
    domain, rng = domain_of(*[4, 2, 2] * 5), np.random.default_rng(3)
    known: list[Measurement] = []
    for first in range(0, 15, 3):
        sigma = 9.0 + apart * first
        a, b, c = domain.names[first : first + 3]
        for target in (
            Marginal(domain, (a, b)),
            Parity(domain, (b, c)),
            Conjunction.where(domain, {a: [1, 3], c: [0]}),
        ):
            cells = 8 if isinstance(target, Marginal) else 1
            known.append(Measurement(target, rng.normal(TOTAL / cells, 9.0, cells), NoiseKind.GAUSSIAN, sigma))

    def fitted() -> Markov:
        model = Markov(domain, TOTAL)
        refit(model, known, rule)
        return model

    alone = fitted()
    request.getfixturevalue("three_cores")
    divided = fitted()
    assert len(alone.forest) == 5
    for one, other in zip(alone.forest, divided.forest, strict=True):
        for i, clique in enumerate(one.tree.cliques):
            assert one.sums(i, clique).tobytes() == other.sums(i, clique).tobytes()
    for before, after in zip(alone.potentials().tables.items(), divided.potentials().tables.items(), strict=True):
        assert before[0] == after[0]
        assert before[1].tobytes() == after[1].tobytes()
    assert alone.updates().steps == divided.updates().steps


def test_a_part_out_of_range_is_noticed_on_every_core(three_cores: None) -> None:
    domain = domain_of(*[2] * 6)
    pairs = [("x0", "x1"), ("x2", "x3"), ("x4", "x5")]
    known = [measured(Marginal(domain, pair), np.arange(4.0)) for pair in pairs]
    for lost in pairs:
        model = Markov(domain, 8.0)
        model.reweigh(lost, np.array([[0.0, -900.0], [0.3, -900.0]]))
        dense = Histogram.from_potentials(domain, 8.0, model.potentials())
        for each in (model, dense):
            (one_by_one if isinstance(each, Histogram) else refit)(each, known, Sweeps(3))
        close(everything(model), everything(dense), 1e-9)


@pytest.mark.slow
def test_a_thousand_binary_attributes() -> None:
    """Parities of a chain with distant partners; the answers approach what was measured."""
    domain, rng = domain_of(*[2] * 1000), np.random.default_rng(3)
    pairs = [domain.clique((f"x{i}", f"x{i + step}")) for i, step in enumerate(rng.integers(1, 4, 997))]
    real = [0.2 * rng.uniform(-1, 1) for _ in pairs]
    known = [
        Measurement(Parity(domain, pair), np.array([1e5 * each]), NoiseKind.GAUSSIAN, 100.0)
        for pair, each in zip(dict.fromkeys(pairs), real, strict=False)
    ]
    model = Markov(domain, 1e5)
    refit(model, known, Proximal())
    found = np.array([m.target.of_table(model.marginals([m.target.scope])[0])[0] for m in known])
    assert np.abs(found - np.concatenate([m.values for m in known])).max() < 300.0
