"""Regressions from measured sums: the law of their errors, by noise that is drawn again and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.inference.moments as moments_module
from hedgerow import (
    MWEM,
    Categorical,
    Domain,
    IntegerRange,
    PureDP,
    Release,
    SeededNoise,
    Workload,
    read_table,
    regress,
    synthesize,
)
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.inference import ModelFamily
from hedgerow.inference.fitting import Design, fitted
from hedgerow.queries import Formula, Measurement, NoiseKind
from tests.privacy.mutants import Mutant, killed

DOMAIN = Domain(
    [
        IntegerRange("age", 17, 90),
        IntegerRange("hours", 1, 99),
        Categorical("sex", ("F", "M")),
        Categorical("job", ("a", "b", "c")),
    ]
)
FORMULA = "hours ~ age + sex + job"
NAMES = ["Intercept", "age", "sex[T.M]", "job[T.b]", "job[T.c]"]
N = 4000


@cache
def rows() -> pa.Table:
    rng = np.random.default_rng(0)
    sex, job = rng.integers(0, 2, N), rng.choice(3, N, p=[0.5, 0.3, 0.2])
    age = np.clip(np.rint(rng.normal(40, 12, N) + 5 * sex), 17, 90).astype(int)
    hours = np.clip(np.rint(rng.normal(30, 9, N) + 0.2 * (age - 40) + 6 * sex + 3 * job), 1, 99).astype(int)
    return pa.table({"age": age, "hours": hours, "sex": np.array(["F", "M"])[sex], "job": np.array(list("abc"))[job]})


TOGETHER = "hours ~ age + sex * job"
MODELS: dict[str, ModelFamily] = {
    FORMULA: "linear",
    "sex ~ age + hours + job": "logistic",
    "hours ~ age + sex + C(job)": "poisson",
    TOGETHER: "linear",
    "hours ~ age * sex": "linear",
    "hours ~ sex + age:sex": "linear",
    "hours ~ 0 + sex + age": "linear",
    "sex ~ age * job": "logistic",
    "hours ~ sex * C(job)": "poisson",
}
INTERACTIONS = list(MODELS)[3:]


@cache
def truth(formula: str = FORMULA) -> Floats:
    """Coefficients of the table itself."""
    family = MODELS[formula]
    design = Design.of(Formula.parse(formula, DOMAIN), family, rows(), DOMAIN)
    return fitted(design, design.summed(np.ones(N)), family)


@cache
def made(
    epsilon: float, workload: str = f"marginals:1; regression: {FORMULA}", neighbours: str = "add-remove"
) -> Release:
    return synthesize(
        rows(), epsilon, 1e-9, domain=DOMAIN, workload=workload, neighbours=neighbours, seed=0, records=50
    ).release


def _asked(formula: str) -> str:
    return f"marginals:1; regression: {formula}"


def _answered(release: Release, clear: Release) -> list[Floats]:
    """Exact answers to what was measured: those of a release with next to no noise."""
    known = {each.target.text: each.values for each in (*clear.measurements, *clear.positions)}
    return [known[each.target.text] for each in (*release.measurements, *release.positions)]


def _again(measured: Measurement, exact: Floats, rng: np.random.Generator) -> Measurement:
    draw = rng.laplace if measured.noise is NoiseKind.LAPLACE else rng.normal
    return replace(measured, values=exact + draw(0.0, measured.scale, len(exact)))


def errors_follow_their_law(formula: str = FORMULA, draws: int = 100, bias: float = 0.35) -> None:
    """Over draws of all noise, what `regress` says of its errors: their mean is 0, their size as told."""
    asked = (_asked(formula),) if formula in INTERACTIONS else ()
    release, rng = made(3.0, *asked), np.random.default_rng(1)
    exact, number = _answered(release, made(1e7, *asked)), len(release.measurements)
    (count,) = release.count_noises
    family, exactly, found = MODELS[formula], truth(formula), []
    for _ in range(draws):
        drawn = [
            _again(each, values, rng)
            for each, values in zip((*release.measurements, *release.positions), exact, strict=True)
        ]
        draw = rng.laplace if count.kind is NoiseKind.LAPLACE else rng.normal
        counted = N + float(draw(0.0, count.scale))
        redrawn = replace(release, measurements=tuple(drawn[:number]), positions=tuple(drawn[number:]), counted=counted)
        told = regress(redrawn, formula, family, target="file", source="moments", seed=0).estimate
        found.append([told.value - exactly, told.error, (told.low <= exactly) & (exactly <= told.high)])
    error, said, held = (np.array(each) for each in zip(*found, strict=True))
    assert (np.abs(error.mean(axis=0)) < bias * error.std(axis=0)).all()
    assert (np.abs(np.log(error.std(axis=0) / np.sqrt(np.square(said).mean(axis=0)))) < 0.2).all()
    assert (held.mean(axis=0) > 0.9).all()


def sums_without_noise_are_least_squares() -> None:
    """The coefficients of the table, from moments and products."""
    found = regress(made(1e7), FORMULA, target="file", source="moments", seed=0)
    assert found.names == NAMES
    np.testing.assert_allclose(found.estimate.value, truth(), rtol=1e-4, atol=1e-4)


def sums_without_noise_are_interactions() -> None:
    """The coefficients of the table, from moments by several labels and tables of three columns."""
    for formula in INTERACTIONS:
        release = made(1e7, _asked(formula))
        found = regress(release, formula, MODELS[formula], target="file", source="moments", seed=0)
        np.testing.assert_allclose(found.estimate.value, truth(formula), rtol=1e-3, atol=2e-3)


def errors_of_curved_models_follow_their_law() -> None:
    """The bias of the second order is left in, so that it may be somewhat larger."""
    errors_follow_their_law("sex ~ age + hours + job", draws=60, bias=0.6)


def _as_if(factor: float, method: str = "_solved") -> Callable[[pytest.MonkeyPatch], None]:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        solved = getattr(moments_module.FromSums, method)

        def other(sums: object, values: Floats, covariance: Floats, *rows: object) -> object:
            return solved(sums, values, factor * covariance, *rows)

        monkeypatch.setattr(moments_module.FromSums, method, other)

    return patch


def _without_weighing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coefficients are those of the records as they are."""

    def other(design: Design, weights: Floats, family: ModelFamily, start: Floats) -> Floats:
        return start

    monkeypatch.setattr(moments_module, "solved", other)


def _with_other_half(monkeypatch: pytest.MonkeyPatch) -> None:
    told = moments_module._Sums._of_positions

    def other(self: moments_module._Sums, measured: Measurement) -> list[tuple[Floats, Floats]]:
        return [(np.where(row < 0.0, 1.2 * row, row), weights) for row, weights in told(self, measured)]

    monkeypatch.setattr(moments_module._Sums, "_of_positions", other)


def _from_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of interactions are counted from the middle of their columns."""
    all_of = moments_module._Factor.all_of

    def other(domain: Domain, name: str) -> object:
        found = all_of(domain, name)
        return [replace(each, middle=0.0) for each in found] if found and len(found) > 1 else found

    monkeypatch.setattr(moments_module._Factor, "all_of", other)


MUTANTS = [
    Mutant(
        "numbers of interactions are counted from the middle", _from_the_middle, sums_without_noise_are_interactions
    ),
    Mutant("squares in groups are taken with six tenths", _with_other_half, sums_without_noise_are_interactions),
    Mutant("noise of sums is taken for half", _as_if(0.25), errors_follow_their_law),
    Mutant("noise of sums is taken for twice", _as_if(4.0), errors_follow_their_law),
    Mutant("noise of weights is taken for half", _as_if(0.25, "_weighed"), errors_of_curved_models_follow_their_law),
    Mutant("noise of weights is taken for twice", _as_if(4.0, "_weighed"), errors_of_curved_models_follow_their_law),
    Mutant("records are not weighed", _without_weighing, errors_of_curved_models_follow_their_law),
    Mutant(
        "squares of positions are taken with six tenths for a half",
        _with_other_half,
        sums_without_noise_are_least_squares,
    ),
]


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_wrong_sums_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


@pytest.mark.slow
def test_errors_of_rates_follow_their_law() -> None:
    errors_follow_their_law("hours ~ age + sex + C(job)")


@pytest.mark.slow
def test_errors_of_interactions_follow_their_law() -> None:
    errors_follow_their_law(TOGETHER, draws=60, bias=0.5)


def test_interactions_ask_for_moments_by_several_labels() -> None:
    texts = [each.target.text for each in made(3.0, _asked(TOGETHER)).positions]
    assert texts == ["moments of hours * sex * job", "moments of age * sex * job", "products of age * hours"]


def test_an_interaction_without_its_table_names_it() -> None:
    found = regress(made(3.0), "hours ~ age * sex", replicates=2, seed=0)
    assert found.source == "replicates"
    assert np.isnan(found.estimate.error).all()
    assert found.traced.missing == (("age", "hours", "sex"),)
    assert "'regression: hours ~ age * sex' in the workload would measure it" in found.notes[0]
    assert "of this budget buys cells with a standard deviation of" in found.notes[0]


def test_regressions_ask_for_moments_and_products() -> None:
    texts = [each.target.text for each in made(3.0).positions]
    assert texts == [
        "moments of hours * sex",
        "moments of hours * job",
        "moments of age * sex",
        "moments of age * job",
        "products of age * hours",
    ]


def test_a_public_number_of_records_is_a_sum_too() -> None:
    found = regress(made(1e7, neighbours="replace"), FORMULA, target="file", source="moments", seed=0)
    np.testing.assert_allclose(found.estimate.value, truth(), rtol=1e-4, atol=1e-4)


def test_the_population_adds_the_sampling_error_of_least_squares() -> None:
    found = regress(made(1e7), FORMULA, source="moments", seed=0)
    table = rows()
    left = np.column_stack(
        [np.ones(N), table["age"].to_numpy()]
        + [np.array(table[n].to_pylist()) == v for n, v in (("sex", "M"), ("job", "b"), ("job", "c"))]
    ).astype(float)
    apart = table["hours"].to_numpy() - left @ truth()
    inverse = np.linalg.inv(left.T @ left)
    usual = np.sqrt(np.diag(inverse) * np.square(apart).mean())
    assert (np.abs(np.log(found.estimate.error / usual)) < 0.4).all()
    assert found.target == "population"
    assert found.replicates is None
    assert found.to_dict()["replicates"] is None
    assert "for the population, 95 % intervals" in repr(found)


@pytest.mark.parametrize(
    ("formula", "family"),
    [("hours ~ age * sex", "linear"), ("hours ~ np.log(age)", "linear"), ("sex ~ age * job", "logistic")],
)
def test_what_is_no_sum_of_products_is_refused(formula: str, family: str) -> None:
    with pytest.raises(ConfigError, match="were not measured, or with too much noise") as caught:
        regress(made(3.0), formula, family, source="moments", seed=0)  # type: ignore[arg-type]
    assert f"{formula}' in the workload" in str(caught.value.remedy)


def test_sums_that_are_mostly_noise_are_refused() -> None:
    with pytest.raises(ConfigError, match="too much noise"):
        regress(made(0.05), FORMULA, source="moments", seed=0)


def test_curved_models_have_less_noise_than_least_squares() -> None:
    """At .5 the curvature has more than .3 of itself as noise, and X'X less than half."""
    assert regress(made(0.8), "sex ~ age + hours + job", "logistic", target="file", seed=0).source == "moments"
    with pytest.raises(ConfigError, match="too much noise"):
        regress(made(0.5), "sex ~ age + hours + job", "logistic", target="file", source="moments", seed=0)
    assert regress(made(0.5), FORMULA, target="file", seed=0).source == "moments"


def test_a_table_that_is_mostly_noise_gives_intervals_by_moments() -> None:
    """Replicates have none for it; sums over its cells say something all the same, and without noise all."""
    rng = np.random.default_rng(0)
    domain = Domain([IntegerRange("x", 0, 49), IntegerRange("y", 0, 1)])
    x = rng.integers(0, 50, 4000)
    y = (rng.random(4000) < x / 50).astype(int)
    table, workload = read_table(pa.table({"x": x, "y": y}), domain), Workload.parse("marginals:x*y", domain)
    release, clear = (MWEM().run(table, workload, PureDP(e), noise=SeededNoise(0)) for e in (0.3, 1e6))
    assert np.isnan(regress(release, "y ~ x", replicates=2, seed=0, source="replicates").estimate.error).all()
    found = regress(release, "y ~ x", seed=0)
    assert found.traced.thin == (("x", "y"),)
    assert found.replicates is None
    assert found.estimate.low[1] < 0.02 < found.estimate.high[1]
    exact = regress(clear, "y ~ x", target="file", seed=0, source="moments").estimate.value
    np.testing.assert_allclose(exact, np.polyfit(x, y, 1)[::-1], rtol=1e-4)
