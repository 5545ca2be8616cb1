"""Regressions: coefficients solve the score equations, intervals hold, and what was not measured has none."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import (
    GDP,
    MWEM,
    ZCDP,
    Binned,
    Categorical,
    Domain,
    IntegerRange,
    PureDP,
    Release,
    SeededNoise,
    Workload,
    read_table,
    regress,
    replicate,
)
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError, MissingExtraError, QueryError
from hedgerow.inference import Regression, Source
from hedgerow.privacy import Budget
from hedgerow.queries import Formula
from hedgerow.release import Target, fitted_to, traced
from tests.privacy.mutants import Mutant, killed

DOMAIN = Domain(
    [
        IntegerRange("age", 20, 27),
        Categorical("sex", ("F", "M"), missing="?"),
        Categorical("job", ("a", "b", "c")),
        IntegerRange("years-of-school", 0, 3),
        Categorical("rich", ("no", "yes")),
    ]
)


def made(workload: str = "marginals:2", budget: Budget | None = None, *, n: int = 6000, seed: int = 0) -> Release:
    """A release of a table in which men and the older are more often rich; pairs have enough records for intervals."""
    rng = np.random.default_rng(seed)
    age, sex, school = rng.integers(20, 28, n), rng.integers(0, 2, n), rng.integers(0, 4, n)
    rich = rng.random(n) < 1.0 / (1.0 + np.exp(1.5 - 0.1 * (age - 20) - 0.8 * sex - 0.3 * school))
    rows = {
        "age": age,
        "sex": np.array(["F", "M"])[sex],
        "job": np.array(list("abc"))[rng.integers(0, 3, n)],
        "years-of-school": school,
        "rich": np.array(["no", "yes"])[rich.astype(int)],
    }
    read = Workload.parse(workload, DOMAIN)
    return MWEM().run(read_table(pa.table(rows), DOMAIN), read, budget or PureDP(3.0), noise=SeededNoise(seed))


@pytest.fixture(scope="module")
def release() -> Release:
    return made()


def columns(records: pa.Table) -> tuple[Floats, Floats, Floats, Floats]:
    """A constant, whether a man and the years of school; whether rich."""
    man, rich = (np.array(records[name].to_pylist()) == label for name, label in (("sex", "M"), ("rich", "yes")))
    school = records["years-of-school"].to_numpy().astype(float)
    return np.ones(len(man)), man.astype(float), school, rich.astype(float)


SOURCES: tuple[Source, ...] = ("replicates", "moments")
LINKS = {"linear": lambda x: x, "logistic": lambda x: 1.0 / (1.0 + np.exp(-x)), "poisson": np.exp}


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_coefficients_solve_the_score_equations_of_each_replicate(release: Release, family: str) -> None:
    made = replicate(release, 6, seed=1)
    formula = "rich ~ sex + years-of-school"
    found = regress(made, formula, family)  # type: ignore[arg-type]
    assert found.names == ["Intercept", "sex[T.M]", "years-of-school"]
    records = made.records.to_arrow()
    *left, right = columns(records)
    design = np.column_stack(left)
    known = np.array([value is not None for value in records["sex"].to_pylist()])
    assert made.weights is not None
    fits = [(made.weight, found.estimate.raw), *zip(made.weights.T, found.estimate.replicates, strict=True)]
    for weights, coefficients in fits:
        score = design.T @ (weights * known * (right - LINKS[family](design @ coefficients)))
        np.testing.assert_allclose(score / weights.sum(), 0.0, atol=1e-9)
    expected = 2.0 * found.estimate.raw - found.estimate.replicates.mean(axis=0)
    np.testing.assert_allclose(found.estimate.value, expected)
    assert ((found.p_values < 0.05) == ((found.estimate.low > 0.0) | (found.estimate.high < 0.0))).all()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["population", "file"])
def test_intervals_hold_the_truth(target: Target) -> None:
    """Of 24 coefficients of 12 releases intervals of 95 % hold nearly all; those of the file are shorter."""
    held, widths = 0, 0.0
    for seed in range(12):
        found = regress(made(seed=seed), "rich ~ age + sex", "logistic", target=target, replicates=20, seed=seed)
        truth = 0.8 * 0.96  # school is left out, so that the coefficient of a man shrinks a little
        held += int(found.estimate.low[2] <= truth <= found.estimate.high[2])
        held += int(found.estimate.low[1] <= 0.1 * 0.96 <= found.estimate.high[1])
        widths += float(found.estimate.high[2] - found.estimate.low[2])
    if target == "population":
        assert held >= 20
        assert 0.2 < widths / 12 < 0.8
    else:
        assert 0.0 < widths / 12 < 0.3


def test_what_was_not_measured_has_no_interval_and_is_named() -> None:
    release = made("marginals:age*rich,sex*rich,job")
    found = regress(release, "rich ~ age + sex", "logistic", replicates=4, seed=0)
    assert found.traced.missing == (("age", "sex"),)
    assert np.isnan([found.estimate.error, found.estimate.low, found.estimate.high, found.p_values]).all()
    assert np.isfinite(found.estimate.value).all()
    note = found.notes[0]
    assert "needs age x sex, which no measurement holds" in note
    assert "'logistic: rich ~ age + sex' in the workload would measure it (24 cells)" in note
    assert "-  -  -  -" in " ".join(repr(found).replace("  ", " ").split("\n")[2].split()).replace(" ", "  ")
    assert regress(release, "rich ~ age", "logistic", replicates=4, seed=0).traced.missing == ()


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.1), GDP(0.5)])
def test_the_price_is_the_noise_of_the_missing_table(budget: Budget) -> None:
    """A release that spends a twentieth of its budget on that table alone has it."""
    release = made("marginals:age*rich,sex*rich", budget)
    note = regress(release, "rich ~ age + sex", replicates=2, seed=0).notes[0]
    told = float(note.split("deviation of ")[1].split(" ")[0].replace(",", ""))
    measured = next(each for each in release.measurements if each.target.text == "age * rich")
    event = next(each for each in release.events if each.target == "age * rich")
    ratio = event.charge / (0.05 * budget.limit)
    assert told == pytest.approx(
        measured.std * (ratio if isinstance(budget, PureDP) else np.sqrt(ratio)), rel=0.02, abs=0.06
    )


def test_logistic_intervals_say_that_columns_were_measured_in_pairs_only(release: Release) -> None:
    assert made("marginals:age*sex*job*rich").measurements[0].target.size > 8
    found = regress(made("marginals:age*sex,age*job,sex*job,age*rich,sex*rich,job*rich"), "rich ~ age + sex + job",
                    "logistic", replicates=3, seed=0)  # fmt: skip
    whole = any(len(each.target.scope) > 2 for each in found.replicates.release.measurements)
    assert any("beyond their pairs" in note for note in found.notes) != whole
    together = regress(made("marginals:age*sex*job*rich"), "rich ~ age + sex + job", "logistic", replicates=3, seed=0)
    assert not any("beyond their pairs" in note for note in together.notes)


def test_replicate_files_have_the_same_coefficients(release: Release) -> None:
    files = replicate(release, 8, seed=0, files=True)
    weights = regress(release, "age ~ C(job) + sex", replicates=8, seed=0)
    found = regress(files, "age ~ C(job) + sex")
    assert found.names == weights.names
    np.testing.assert_allclose(found.estimate.raw, weights.estimate.raw)
    assert (np.abs(found.estimate.value - weights.estimate.value) < 3.0 * weights.estimate.error).all()


def test_groups_with_one_outcome_are_told() -> None:
    domain = Domain([IntegerRange("x", 0, 1), IntegerRange("y", 0, 1)])
    table = read_table(pa.table({"x": [0] * 500 + [1] * 500, "y": [0] * 500 + [0, 1] * 250}), domain)
    release = MWEM().run(table, Workload.marginals(domain, 2), PureDP(1e5), noise=SeededNoise(0))
    found = regress(release, "y ~ x", "logistic", replicates=3, seed=0)
    assert any("no end" in note for note in found.notes)


@pytest.mark.parametrize(
    ("formula", "family", "error", "words"),
    [
        ("rich", "linear", QueryError, "not understood"),
        ("rich ~ age +", "linear", QueryError, "not understood"),
        ("rich ~ agee", "linear", QueryError, "did you mean 'age'"),
        ("rich ~ open('x')", "linear", QueryError, "names 'open'"),
        ("rich + age ~ sex", "linear", QueryError, "2 outcomes"),
        ("age ~ np.nothing(age)", "linear", QueryError, "cannot be evaluated"),
        ("job ~ age", "logistic", ConfigError, "3 values"),
        ("age ~ sex", "logistic", ConfigError, "two values"),
        ("I(-age) ~ sex", "poisson", ConfigError, "is a count"),
        ("rich ~ sex + C(sex)", "linear", ConfigError, "is a combination"),
        ("rich ~ sex", "probit", ConfigError, "give one of"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    release: Release, formula: str, family: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        regress(release, formula, family, replicates=2, seed=0)  # type: ignore[arg-type]
    assert words in f"{caught.value} {getattr(caught.value, 'remedy', '')}"


def test_without_its_libraries_the_extra_is_named(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.errors.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="formulaic is not installed") as caught:
        regress(release, "rich ~ age")
    assert "hedgerow[regress]" in str(caught.value.remedy)


def test_names_that_are_no_identifiers_stand_as_they_are() -> None:
    for text in ("age ~ years-of-school", "age ~ `years-of-school`", "age ~ C(years-of-school)"):
        assert Formula.parse(text, DOMAIN).terms == (("years-of-school",),)
    assert Formula.parse("age ~ I(sex == 'years-of-school')", DOMAIN).terms == (("sex",),)


def test_least_squares_need_pairs_of_terms() -> None:
    formula = Formula.parse("rich ~ age * sex + job", DOMAIN)
    assert set(map(frozenset, formula.tables)) == {
        frozenset(names) for names in (("rich", "age", "sex"), ("age", "sex", "job"), ("rich", "job"))
    }


def test_a_regression_is_shown_and_told_as_json(release: Release) -> None:
    found: Regression = regress(release, "age ~ sex", replicates=3, seed=0)
    assert "sex[T.M]" in found._repr_html_()
    told = json.loads(json.dumps(found.to_dict()))
    assert [each["name"] for each in told["coefficients"]] == ["Intercept", "sex[T.M]"]
    assert told["coefficients"][1]["value"] == pytest.approx(found.estimate.value[1])


def test_columns_within_calls_are_columns_of_their_term(release: Release) -> None:
    """``scale(age)`` reads age: with a third column beside it no table of pairs determines the coefficient."""
    read = Formula.parse("rich ~ scale(age):sex + Q('years-of-school')", DOMAIN)
    assert {*read.terms} == {("age", "sex"), ("years-of-school",)}
    assert Formula.parse("rich ~ scale(age):sex", DOMAIN).tables == (("rich", "age", "sex"),)
    plain, scaled = (
        regress(release, f"rich ~ {age}", source="replicates", replicates=3, seed=0) for age in ("age", "center(age)")
    )
    assert scaled.estimate.value[1] == pytest.approx(plain.estimate.value[1])


def test_a_formula_that_explains_by_nothing_is_refused(release: Release) -> None:
    with pytest.raises(QueryError, match="nothing that explains"):
        regress(release, "rich ~ 0", replicates=2, seed=0)


def test_a_label_whose_records_weigh_nothing_has_no_coefficient() -> None:
    """Nobody has the label z; where its records weigh 0 there is nothing to say of it, and nothing to refuse."""
    domain = Domain([IntegerRange("age", 0, 9), Categorical("job", ("a", "b", "z")), IntegerRange("y", 0, 1)])
    rng = np.random.default_rng(0)
    rows = {"age": rng.integers(0, 10, 3000), "job": np.array(["a", "b"])[rng.integers(0, 2, 3000)]}
    table = read_table(pa.table(rows | {"y": rng.integers(0, 2, 3000)}), domain)
    names = set()
    for seed in range(9):
        made = MWEM().run(table, Workload.marginals(domain, 2), PureDP(3.0), noise=SeededNoise(seed))
        names.add(tuple(regress(made, "age ~ job", replicates=2, seed=0).names))
    assert ("Intercept", "job[T.b]") in names


def test_seeds_below_0_are_refused(release: Release) -> None:
    with pytest.raises(ConfigError, match="a seed -1"):
        regress(release, "rich ~ age", replicates=2, seed=-1)
    with pytest.raises(ConfigError, match="a seed -1"):
        release.sample(5, -1)


def test_a_table_that_is_mostly_noise_gives_no_intervals() -> None:
    """Fits of it are biased towards few records everywhere, which replicates do not show."""
    noisy = regress(made(budget=PureDP(0.3)), "rich ~ age", "logistic", source="replicates", replicates=4, seed=0)
    assert noisy.traced.missing == ()
    assert noisy.traced.thin == (("age", "rich"),)
    assert np.isnan(noisy.estimate.error).all()
    assert np.isnan(noisy.estimate.low).all()
    assert "age x rich, whose noise is more than 3% of the mean number of records" in noisy.notes[0]
    assert "No intervals" in repr(noisy)
    clear = regress(made(budget=PureDP(20.0)), "rich ~ age", "logistic", replicates=4, seed=0)
    assert clear.traced.suffices
    assert np.isfinite(clear.estimate.low).all()


def numbers_inside_wide_bins_are_no_guess() -> None:
    """Records have even numbers in bins, so that a slope between binned columns is a sixth too small."""
    rng = np.random.default_rng(0)
    domain = Domain(
        [*(Binned(name, range(0, 101, 20), whole=True) for name in "ab"), Categorical("sex", ("F", "M"))],
    )
    a, man = np.clip(rng.normal(50, 20, 6000), 0, 99), rng.random(6000) < 0.5
    b = np.clip(0.8 * a + 10 + 8 * rng.normal(size=6000), 0, 99)
    rows = {"a": a.astype(int), "b": b.astype(int), "sex": np.array(["F", "M"])[man.astype(int)]}
    table = read_table(pa.table(rows), domain)
    release = MWEM().run(table, Workload.marginals(domain, 2), PureDP(20.0), noise=SeededNoise(0))
    made = replicate(release, 8, target="file", seed=0)
    for formula in ("b ~ a", "b ~ np.log1p(a) * sex", "sex ~ a * b"):
        guessed = regress(made, formula, "logistic" if formula[0] == "s" else "linear")
        assert np.isnan(guessed.estimate.low).all(), formula
        assert "inside the bins of" in guessed.notes[-1]
        assert "by 17%" in guessed.notes[-1]
    assert np.isfinite(regress(made, "b ~ sex").estimate.low).all()  # nothing to lose


def the_bound_on_noise_is_three_hundredths() -> None:
    """A table with .02 to .03 of its mean records as noise is known well enough; one with .03 to .045 is not."""
    rng = np.random.default_rng(0)
    domain = Domain(IntegerRange(name, 0, 9) for name in "ab")
    table = read_table(pa.table({name: rng.integers(0, 10, 4000) for name in "ab"}), domain)
    for epsilon, low, high in ((1.4, 0.021, 0.0299), (1.0, 0.0301, 0.045)):
        release = MWEM().run(table, Workload.parse("marginals:a*b", domain), PureDP(epsilon), noise=SeededNoise(0))
        (measured,) = (each for each in release.measurements if each.target.size == 100)
        assert low < 100 * measured.std / release.n_records < high
        assert bool(traced(release, [("a", "b")]).thin) == (low > 0.03)


def the_bound_on_noise_of_measured_cells_is_five_hundredths() -> None:
    """Pairs of a table of thousand cells, whose sums have little noise, are as smooth as its fit."""
    rng = np.random.default_rng(0)
    domain = Domain(IntegerRange(name, 0, 9) for name in "abc")
    table = read_table(pa.table({name: rng.integers(0, 10, 24_000) for name in "abc"}), domain)
    for epsilon, low, high in ((1.4, 0.036, 0.0499), (1.0, 0.0501, 0.074)):
        release = MWEM().run(table, Workload.parse("marginals:a*b*c", domain), PureDP(epsilon), noise=SeededNoise(0))
        (measured,) = (each for each in release.measurements if each.target.size == 1000)
        assert low < 1000 * measured.std / release.n_records < high
        assert bool(traced(release, [("a", "b")]).thin) == (low > 0.05)


def a_table_that_nothing_was_fitted_to_gives_no_intervals() -> None:
    """Small tables are measured with much noise for their own intervals; replicates know nothing of them."""
    rng = np.random.default_rng(0)
    sizes = (2, 2, 3, 8, 40, 60, 80, 100)
    domain = Domain(IntegerRange(f"x{place}", 0, size - 1) for place, size in enumerate(sizes))
    rows = {column.name: rng.integers(0, size, 20_000) for column, size in zip(domain.columns, sizes, strict=True)}
    workload = Workload.marginals(domain, 2)
    release = MWEM().run(read_table(pa.table(rows), domain), workload, PureDP(1.0), noise=SeededNoise(0))
    fitted = fitted_to(release, release.measurements)
    (small, *_) = (each for each in release.measurements if each not in fitted)
    first, second = small.target.scope
    assert not any({first, second} <= {*each.target.scope} for each in fitted)
    assert traced(release, [(first, second)]).unfitted == ((first, second),)
    told = regress(release, f"{first} ~ {second}", replicates=2, seed=0, source="replicates")
    assert np.isnan(told.estimate.error).all()
    wanted = f"regression: {first} ~ {second} @ 20"
    assert f"no records are fitted to it: {wanted!r}" in told.notes[0]
    assert Workload.parse(wanted, domain).scopes == ((first, second),)
    assert told.to_dict()["unfitted"] == [[first, second]]


def _bound(value: float, name: str = "release.tracing.MOST_NOISE") -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(f"hedgerow.{name}", value)


MUTANTS = [
    Mutant(
        "numbers inside bins are taken for known",
        _bound(1e9, "release.replicates._MOST_GUESSED"),
        numbers_inside_wide_bins_are_no_guess,
    ),
    Mutant(
        "numbers inside bins are never known well enough",
        _bound(0.0, "release.replicates._MOST_GUESSED"),
        numbers_inside_wide_bins_are_no_guess,
    ),
    Mutant(
        "tables with half as much noise again give intervals", _bound(0.045), the_bound_on_noise_is_three_hundredths
    ),
    Mutant("tables with two thirds of the noise give none", _bound(0.021), the_bound_on_noise_is_three_hundredths),
    Mutant(
        "sums of finer cells with half as much noise again give intervals",
        _bound(0.075, "release.tracing.MOST_NOISE_MEASURED"),
        the_bound_on_noise_of_measured_cells_is_five_hundredths,
    ),
    Mutant(
        "sums of finer cells with two thirds of the noise give none",
        _bound(0.035, "release.tracing.MOST_NOISE_MEASURED"),
        the_bound_on_noise_of_measured_cells_is_five_hundredths,
    ),
    Mutant(
        "tables that nothing was fitted to give intervals",
        lambda patch: patch.setattr("hedgerow.release.tracing.fitted_to", lambda release, measurements: measurements),
        a_table_that_nothing_was_fitted_to_gives_no_intervals,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_bound_on_noise_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_json_names_what_is_missing_and_what_is_mostly_noise() -> None:
    noisy = regress(made(budget=PureDP(0.3)), "rich ~ age", "logistic", replicates=2, seed=0).to_dict()
    assert (noisy["missing"], noisy["mostly_noise"], noisy["unfitted"]) == ([], [["age", "rich"]], [])
    lacking = regress(made("marginals:age*rich,sex*rich,job"), "rich ~ age + sex", replicates=2, seed=0).to_dict()
    assert lacking["missing"] == [["age", "sex"]]


def test_groups_of_few_records_have_no_interval() -> None:
    """A label of 6 records, and where it is the one that others are compared with."""
    for few, flagged in (("z", ["job[T.z]"]), ("a", ["Intercept", "job[T.b]", "job[T.z]"])):
        domain = Domain([Categorical("job", ("a", "b", "z")), IntegerRange("y", 0, 1)])
        rng = np.random.default_rng(0)
        job = np.where(np.arange(3000) < 6, few, rng.choice([label for label in "abz" if label != few], 3000))
        table = read_table(pa.table({"job": job, "y": rng.integers(0, 2, 3000)}), domain)
        release = MWEM().run(table, Workload.marginals(domain, 2), PureDP(2.0), noise=SeededNoise(0))
        for source in SOURCES:
            found = regress(release, "y ~ job", source=source, replicates=20, seed=0)
            unsure = [name for name, error in zip(found.names, found.estimate.error, strict=True) if np.isnan(error)]
            assert unsure == flagged
            assert f"No interval for {', '.join(flagged)}: a group" in found.notes[-1]
            assert np.isfinite(found.estimate.value).all()
