"""Fits from the top down: each division against its slow twin, what the fit keeps, and when it applies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, IntegerRange, KnownTable, edge_level, impossible, places_in, width_level
from hedgerow.models import (
    Histogram,
    Markov,
    Model,
    Proximal,
    coarse_first,
    fit_top_down,
    levels_of,
    measured_levels,
    rake,
    refit,
)
from hedgerow.models.fit.top_down_kernels import children_of, dispersion, spread, subtrees
from hedgerow.queries import Marginal, Measurement, NoiseKind
from tests.examples import examples
from tests.privacy.mutants import Mutant, killed
from tests.reference.top_down_fit import divided, on_simplex

AREA, SEX, RACE = IntegerRange("area", 0, 119), IntegerRange("sex", 0, 1), IntegerRange("race", 0, 3)
LEVELS = [edge_level(AREA, "county", [0, 5, 30, 37, 70, 112, 119]), edge_level(AREA, "state", [0, 37, 119])]
PLAIN = Domain([AREA, SEX, RACE], LEVELS)
RULED = Domain(
    PLAIN.attributes, PLAIN.derived, [impossible(PLAIN, "area < 3 and sex = 1"), impossible(PLAIN, "race = 2")]
)
OTHERS = ("sex", "race")
TOTAL = 20_000.0


def people(domain: Domain, seed: int = 0) -> Floats:
    """Counts of all cells: races by county, few records in most areas, none in some."""
    rng = np.random.default_rng(seed)
    races = rng.dirichlet(np.ones(4), 6)[places_in(PLAIN, ("area",), ("county",))]
    shares = rng.gamma(0.5, 1.0, 120)[:, None, None] * np.stack([races, races], axis=1)
    if domain.constraints:
        shares[:3, 1] = 0.0
        shares[:, :, 2] = 0.0
    return np.asarray(rng.multinomial(int(TOTAL), (shares / shares.sum()).reshape(-1)), dtype=np.float64)


def measured(domain: Domain, scales: Mapping[Clique, float], seed: int = 0) -> list[Measurement]:
    rng, cells, found = np.random.default_rng(seed), people(domain), []
    for names, scale in scales.items():
        target = Marginal(domain, domain.clique(names))
        exact = np.bincount(places_in(domain, domain.names, target.scope).reshape(-1), cells, target.size)
        found.append(Measurement(target, exact + rng.laplace(0.0, scale, target.size), NoiseKind.LAPLACE, scale))
    return found


@st.composite
def children(draw: st.DrawFn) -> tuple[Floats, ...]:
    count, parents = draw(st.integers(1, 25)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    means = rng.gamma(0.3, 10.0 ** rng.uniform(-2.0, 3.0), count) * (rng.random(count) > 0.2)
    dispersions = 10.0 ** rng.uniform(-4.0, 3.0, count)
    variances = np.full(count, 10.0 ** rng.uniform(-2.0, 4.0))
    values = means + rng.normal(size=count) * np.sqrt(variances) * draw(st.sampled_from([0.0, 1.0, 5.0]))
    sums = rng.gamma(1.0, 100.0, parents) * (rng.random(parents) > 0.1)
    return rng.integers(0, parents, count), sums, means, values, variances, dispersions


@settings(max_examples=examples(200))
@given(children())
def test_counts_are_divided_as_by_the_slow_twin(drawn: tuple[Floats, ...]) -> None:
    parents, sums, means, values, variances, dispersions = drawn
    found = np.full(len(means), np.nan)
    firsts = children_of(parents, len(sums))
    spread(0, len(sums), firsts, sums, means, (values, variances, dispersions), found)
    np.testing.assert_allclose(found, divided(*drawn), rtol=1e-6, atol=1e-7 * max(1.0, sums.max()))


def test_where_nothing_is_known_beforehand_counts_are_the_closest_ones() -> None:
    values = np.array([5.0, -3.0, 40.0, 2.0, 11.0])
    found, one = np.zeros(5), np.ones(5)
    spread(
        0, 1, children_of(np.zeros(5, dtype=np.int64), 1), np.array([50.0]), one, (values, 1e-9 * one, 1e9 * one), found
    )
    np.testing.assert_allclose(found, on_simplex(values, 50.0), atol=1e-4)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (2.0, 0.0), (0.0, 0.3), (3.0, 0.1)])
def test_the_dispersion_of_counts_shows_through_the_noise(a: float, b: float) -> None:
    rng = np.random.default_rng(1)
    means = rng.gamma(1.0, 20.0, 200_000)
    counts = means + rng.normal(size=means.size) * np.sqrt(a * means + b * means**2)
    variances = np.full(means.size, 50.0)
    found = dispersion(counts + rng.normal(size=means.size) * np.sqrt(variances), means, variances)
    np.testing.assert_allclose(found, (a, b), atol=0.1 + 0.05 * a)


EVERY = {
    OTHERS: 2.0,
    ("state", *OTHERS): 2.0,
    ("county", *OTHERS): 2.0,
    ("county",): 20.0,
    ("area",): 4.0,
    ("area", *OTHERS): 4.0,
}


@pytest.mark.parametrize("kind", [Histogram, Markov])
@pytest.mark.parametrize("domain", [PLAIN, RULED], ids=["plain", "ruled"])
def test_counts_are_those_of_a_distribution_and_coarse_tables_come_out_well(
    domain: Domain, kind: type[Histogram | Markov]
) -> None:
    model: Model = kind(domain, TOTAL)
    refit(model, measured(domain, EVERY), Proximal())
    (table,) = model.marginals([domain.names])
    assert table.min() >= 0.0
    assert table.sum() == pytest.approx(TOTAL)
    assert (table[people(domain).reshape(table.shape) > 0.0] > 0.0).all()
    if domain.constraints:
        assert table[:3, 1].max() == table[:, :, 2].max() == 0.0
    for names, scale in EVERY.items():
        if "area" not in names:
            scope = domain.clique(names)
            exact = np.bincount(places_in(domain, domain.names, scope).reshape(-1), people(domain))
            assert np.abs(model.marginals([scope])[0].reshape(-1) - exact).mean() < 1.6 * scale


@settings(max_examples=examples(200))
@given(st.lists(st.integers(0, 7), min_size=1, max_size=30), st.integers(1, 9))
def test_a_list_of_children_is_cut_where_no_parent_has_children_on_both_sides(parents: list[int], least: int) -> None:
    ends = subtrees(np.array(parents), 8, least).tolist()
    assert ends[-1] == len(parents)
    cuts = [end for end in range(1, len(parents)) if not set(parents[:end]) & set(parents[end:])]
    expected, start = list[int](), 0
    for end in cuts:
        if end - start >= least:
            expected.append(end)
            start = end
    assert ends[:-1] == expected


def one_subtree_after_another(domain: Domain) -> None:
    """Divided in many parts, counts are those of one division, to the last bit, and nothing measured is changed."""
    noisy, tables = measured(domain, EVERY), []
    kept = [each.values.copy() for each in noisy]
    for most in (1, 7, 2**40):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("hedgerow.models.fit.top_down._SUBTREES", most)
            model = Histogram(domain, TOTAL)
            fitted(model, noisy)
            tables.append(model.marginals([domain.names])[0])
    assert (tables[0] == tables[2]).all()
    assert (tables[1] == tables[2]).all()
    assert all((each.values == before).all() for each, before in zip(noisy, kept, strict=True))


@pytest.mark.parametrize("domain", [PLAIN, RULED], ids=["plain", "ruled"])
def test_one_subtree_is_divided_after_another(domain: Domain) -> None:
    one_subtree_after_another(domain)


def fitted(model: Model, noisy: list[Measurement]) -> None:
    fit_top_down(model, noisy, coarse_first(model.domain, {each.target.scope for each in noisy}))


def test_exact_tables_are_kept_and_mere_noise_moves_nothing() -> None:
    model = Histogram(PLAIN, TOTAL)
    fitted(model, measured(PLAIN, dict.fromkeys(EVERY, 1e-6)))
    np.testing.assert_allclose(model.marginals([PLAIN.names])[0].reshape(-1), people(PLAIN), atol=1e-2)
    model = Histogram(PLAIN, TOTAL)
    fitted(model, measured(PLAIN, dict.fromkeys(EVERY, 1e9)))
    np.testing.assert_allclose(model.marginals([PLAIN.names])[0], TOTAL / 960, rtol=0.05)


def test_it_starts_from_the_hypothesis_as_it_is() -> None:
    """Inside what was measured, records stay as they were spread."""
    base = np.random.default_rng(3).gamma(1.0, 1.0, PLAIN.shape)
    model = Histogram(PLAIN, TOTAL, base=base)
    noisy = measured(PLAIN, {("state", *OTHERS): 1e-6, ("county", *OTHERS): 1e-6})
    fitted(model, noisy)
    counties = places_in(PLAIN, ("area",), ("county",))
    (found,), inside = model.marginals([PLAIN.names]), base / np.array([base[counties == c].sum(0) for c in counties])
    counts = np.bincount(places_in(PLAIN, PLAIN.names, PLAIN.clique(("county", *OTHERS))).reshape(-1), people(PLAIN))
    expected = inside * counts.reshape(2, 4, 6).transpose(2, 0, 1)[counties]
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_noisy_cells_leave_sums_that_are_known_as_they_are() -> None:
    model = Histogram(PLAIN, TOTAL)
    names = ("state", *OTHERS), ("county", *OTHERS), ("area", *OTHERS)
    known = measured(PLAIN, {**dict.fromkeys(names, 3.0), ("county",): 1e-3})
    fitted(model, known)
    np.testing.assert_allclose(model.marginals([("county",)])[0], known[-1].values, rtol=0.005, atol=2.0)


def areas_whose_totals_are_known_leave_coarse_tables_as_they_were() -> None:
    """Raking to them behind the fit moves nothing any more: the fit has kept both, cells of a level and its totals."""
    model = Histogram(PLAIN, TOTAL)
    names = OTHERS, ("state", *OTHERS), ("county", *OTHERS), ("area", *OTHERS)
    noisy = measured(PLAIN, dict(zip(names, (3.0, 3.0, 10.0, 30.0), strict=True)))
    areas = np.bincount(places_in(PLAIN, PLAIN.names, ("area",)).reshape(-1), people(PLAIN), 120)
    known = Measurement(Marginal(PLAIN, ("area",)), areas, NoiseKind.GAUSSIAN, 1e-3)
    fitted(model, [known, *noisy])
    shown = [OTHERS, PLAIN.clique(("state", *OTHERS)), ("area",)]
    before = model.marginals(shown)
    np.testing.assert_allclose(before[2], areas, atol=0.02)
    rake(model, [KnownTable(("area",), areas.astype(np.int64))])
    after = model.marginals(shown[:2])
    for moved, kept in zip(after, before, strict=False):
        np.testing.assert_allclose(moved, kept, atol=0.5)


PARTS = [
    [("race", "area"), ("sex", "race", "county"), OTHERS],
    [("sex", "area"), ("race", "county")],
    [("sex", "race", "area"), ("race", "state"), ("county",), ("race",)],
    [("sex", "area"), ("race", "area"), ("sex", "race", "county"), ("sex", "state")],
]


def _sums(cells: Floats, scope: Clique) -> Floats:
    return np.bincount(places_in(PLAIN, PLAIN.names, scope).reshape(-1), cells, PLAIN.cells(scope))


def in_form(kind: type[Histogram | Markov], domain: Domain, scopes: list[Clique]) -> Model:
    model = kind(domain, TOTAL)
    if isinstance(model, Markov):
        model.cover(scopes)
    return model


@pytest.mark.parametrize("kind", [Histogram, Markov])
@pytest.mark.parametrize("names", PARTS, ids=str)
def test_tables_that_are_not_whole_levels_come_out_as_they_were_measured(
    names: list[Clique], kind: type[Histogram | Markov]
) -> None:
    for domain in (PLAIN, RULED):
        scopes = [domain.clique(each) for each in names]
        exact = [_sums(people(domain), scope) for scope in scopes]
        for scale, most in ((1e-6, 0.05), (3.0, 6.0)):
            model = in_form(kind, domain, scopes)
            fitted(model, measured(domain, dict.fromkeys(names, scale)))
            for found, expected in zip(model.marginals(scopes), exact, strict=True):
                assert np.abs(found.reshape(-1) - expected).mean() < most
                assert (found.reshape(-1)[expected > 0.0] > 0.0).all()
            if domain.constraints:
                assert model.marginals([("race",)])[0][2] == 0.0
    model: Model = kind(PLAIN, TOTAL)
    refit(model, measured(PLAIN, dict.fromkeys(names, 1e9)), Proximal())
    np.testing.assert_allclose(model.marginals([("area",)])[0], TOTAL / 120, rtol=0.05)


def finer_tables_keep_all_coarser_ones() -> None:
    """Sexes of areas keep the sexes of states and the number of records of areas: nothing is left to restore."""
    names: list[Clique] = [("sex", "state"), ("race", "area"), ("sex", "area")]
    calls, reweigh = list[Clique](), Markov.reweigh

    def counting(model: Markov, scope: Clique, table: Floats) -> None:
        calls.append(scope)
        reweigh(model, scope, table)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Markov, "reweigh", counting)
        fitted(in_form(Markov, PLAIN, names), measured(PLAIN, dict.fromkeys(names, 10.0)))
    assert len(calls) <= 2 * len(set(calls))


def what_tables_have_in_common_is_told_by_all() -> None:
    """Counties hold the records of their areas, which were measured well, and not those of their noisy races."""
    noisy = measured(PLAIN, {("race", "county"): 100.0, ("sex", "area"): 1.0})
    model = in_form(Markov, PLAIN, [each.target.scope for each in noisy])
    fitted(model, noisy)
    found = model.marginals([("county",)])[0]
    np.testing.assert_allclose(found, _sums(people(PLAIN), ("county",)), atol=40.0)


def _sums_forgotten(patched: pytest.MonkeyPatch) -> None:
    patched.setattr("hedgerow.models.fit.top_down._EXACT", 0.0)


def _coarser_forgotten(patched: pytest.MonkeyPatch) -> None:
    patched.setattr("hedgerow.models.fit.top_down._fitted", lambda cells, _: cells)


def _in_common_forgotten(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(
        "hedgerow.models.fit.top_down._with_common", lambda domain, scopes, _: sorted(scopes, key=domain.cells)
    )


MUTANTS = [
    Mutant("tables that move what is coarser", _coarser_forgotten, finer_tables_keep_all_coarser_ones),
    Mutant(
        "tables that do not agree on what they have in common",
        _in_common_forgotten,
        what_tables_have_in_common_is_told_by_all,
    ),
    Mutant(
        "levels without the totals that are known",
        _sums_forgotten,
        areas_whose_totals_are_known_leave_coarse_tables_as_they_were,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_is_kept_is_kept_and_planted_bugs_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_the_same_table_twice_counts_twice() -> None:
    scales = {("state", *OTHERS): 30.0, ("county", *OTHERS): 30.0}
    once, twice = (measured(PLAIN, scales, seed) for seed in (1, 2))
    models = [Histogram(PLAIN, TOTAL), Histogram(PLAIN, TOTAL)]
    averages = [
        Measurement(a.target, (a.values + b.values) / 2.0, NoiseKind.GAUSSIAN, a.std / np.sqrt(2.0))
        for a, b in zip(once, twice, strict=True)
    ]
    fitted(models[0], [*once, *twice])
    fitted(models[1], averages)
    tables = [model.marginals([PLAIN.names])[0] for model in models]
    np.testing.assert_allclose(*tables, rtol=1e-9)


def test_levels_follow_each_other_and_tables_lie_on_them() -> None:
    every = [PLAIN.clique(names) for names in EVERY]
    expected = [OTHERS, (*OTHERS, "state"), (*OTHERS, "county"), ("area", *OTHERS)]
    assert levels_of(PLAIN, every) == [PLAIN.clique(names) for names in expected]
    assert levels_of(PLAIN, [*every, ("race",)]) == levels_of(PLAIN, [*every, ("area", "sex")]) == []
    assert coarse_first(PLAIN, every) == levels_of(PLAIN, every)
    assert set(coarse_first(PLAIN, [*every, ("race",)])) == {*every, ("race",), ("state",)}
    assert coarse_first(PLAIN, [("sex", "race", "county"), ("race", "area"), ("sex", "state")]) == [
        ("state",),
        ("sex", "state"),
        ("race", "county"),
        ("sex", "race", "county"),
        ("area", "race"),
    ]
    assert levels_of(PLAIN, [("area",), ("county",)]) == []  # a line, which has a fit of its own
    ages = IntegerRange("age", 0, 9)
    crossed = Domain([AREA, ages, SEX], [*LEVELS, width_level(ages, 5)])
    assert levels_of(crossed, [("area", "age", "sex"), ("sex", "county", "age.5")])
    assert not coarse_first(crossed, [("area", "age", "sex"), crossed.clique(("county", "age.5"))])
    three = Domain([AREA, ages, SEX, RACE], LEVELS)
    loop = [three.clique(names) for names in (("sex", "area"), ("race", "area"), ("age", "area"), ("sex", "county"))]
    assert coarse_first(three, loop)
    loop += [
        three.clique(names) for names in (("sex", "race", "area"), ("sex", "age", "area"), ("race", "age", "area"))
    ]
    assert not coarse_first(three, loop)
    assert not levels_of(
        crossed, [("area", "age", "sex"), crossed.clique(("county", "age", "sex")), ("area", "sex", "age.5")]
    )


def test_other_tables_are_refused() -> None:
    noisy = measured(PLAIN, {("area",): 1.0, ("race",): 1.0})
    assert not measured_levels(noisy)
    assert not measured_levels(noisy[:1])
    parts: list[Clique] = [("sex", "area"), ("race", "county")]
    assert measured_levels(measured(PLAIN, dict.fromkeys(parts, 60.0)))
    assert not measured_levels(measured(PLAIN, dict.fromkeys(parts, 1.0)))  # no noise to speak of
