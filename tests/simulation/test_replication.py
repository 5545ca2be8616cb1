"""Replicates: weights are ratios of hypotheses, fits are those of the run, and intervals from them hold the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from hedgerow import (
    MWEM,
    Binned,
    Categorical,
    Domain,
    DualQuery,
    IntegerRange,
    Prior,
    PureDP,
    Release,
    SeededNoise,
    Table,
    Workload,
    impossible,
    replicate,
    synthesize,
)
from hedgerow.algorithms import made_by
from hedgerow.domain import Calendar, Durations, Span
from hedgerow.errors import ConfigError, DomainError
from hedgerow.models import Empirical, Overlay
from hedgerow.privacy import ZCDP, ApproxDP
from hedgerow.queries import Marginal, Parity, Persons, PublicData, Weight
from hedgerow.release import ReplicateEstimate, Replicates, Target, traced
from tests.privacy.mutants import Mutant, killed

Statistic = Callable[[pa.Table, np.ndarray], object]
FREE = [IntegerRange(name, 0, size - 1) for name, size in zip("abcd", (2, 3, 2, 4), strict=True)]
DOMAIN = Domain(FREE)
RULED = Domain(FREE, constraints=[impossible(DOMAIN, "a = 0 and b = 2")])


def table(n: int = 2000, seed: int = 0, domain: Domain = DOMAIN, persons: Persons | None = None) -> Table:
    """Columns that depend on the first one."""
    rng = np.random.default_rng(seed)
    first = (rng.random(n) < 0.3).astype(np.int64)
    second = np.minimum(first + rng.integers(0, 2, n), 2)
    return Table(
        domain,
        [first, second, (rng.random(n) < 0.2 + 0.4 * first).astype(np.int64), rng.integers(0, 4, n)],
        persons=persons,
    )


def made(config: MWEM | None = None, *, epsilon: float = 1.0, seed: int = 0, domain: Domain = DOMAIN) -> Release:
    workload = Workload.marginals(domain, 2)
    return (config or MWEM()).run(table(seed=seed, domain=domain), workload, PureDP(epsilon), noise=SeededNoise(seed))


def shares(records: pa.Table, weights: np.ndarray) -> np.ndarray:
    a, c = records["a"].to_numpy(), records["c"].to_numpy()
    return np.array([np.average(a, weights=weights), np.average(c[a == 1], weights=weights[a == 1]), weights.sum()])


def share_of_a(records: pa.Table, weights: np.ndarray) -> float:
    return float(np.average(records["a"], weights=weights))


@pytest.mark.parametrize("domain", [DOMAIN, RULED])
def test_records_weigh_what_was_measured(domain: Domain) -> None:
    """Columns of at most four codes are their own groups, so noisy tables of pairs are met."""
    release = made(domain=domain)
    (measured,) = release.measurements
    noisy = measured.values.reshape(domain.shape)
    found = replicate(release, 4, seed=1)
    assert found.weights is not None
    for which, weights in zip([release, *found.runs], [found.weight, *found.weights.T], strict=True):
        assert weights.sum() == pytest.approx(which.total, rel=1e-4)
    for a, b in (("a", "b"), ("a", "c"), ("b", "d")):
        axes, shape = domain.axes((a, b)), domain.shape_of((a, b))
        held = np.zeros(shape)
        np.add.at(held, tuple(found.records.codes[:, axes].T), found.weight)
        wanted = noisy.sum(axis=tuple({0, 1, 2, 3} - {*axes}))
        assert np.abs(held - wanted)[held > 0].sum() < 0.01 * release.total + np.abs(wanted[held == 0]).sum()


def test_weights_follow_the_hypothesis_of_each_replicate() -> None:
    """Without whole tables there is nothing to calibrate to: weights are ratios of hypotheses, raked."""
    workload = Workload.conjunctions(DOMAIN, ["a = 1", "a = 1 and c = 1", "b = 2 and d < 2", "d = 3"])
    release = MWEM(rounds=3).run(table(), workload, PureDP(1.0), noise=SeededNoise(0))
    found = replicate(release, 4, seed=1)
    assert found.weights is not None
    assert set(found.weight.tolist()) == {round(release.total / len(found.records), 6)}
    (cells,) = release.model.marginals([DOMAIN.names])
    for run, weights in zip(found.runs, found.weights.T, strict=True):
        (after,) = run.model.marginals([DOMAIN.names])
        ratios = (after / cells)[tuple(found.records.codes.T)]
        np.testing.assert_allclose(weights, run.total * ratios / ratios.sum(), rtol=1e-4)


@pytest.mark.slow
def test_records_of_tables_over_a_tree_are_raked() -> None:
    """No tree holds all pairs, so records have no probability in closed form."""
    domain = Domain(IntegerRange(f"x{number}", 0, 1) for number in range(40))
    rng = np.random.default_rng(0)
    common = rng.integers(0, 2, 3000)
    columns = [np.where(rng.random(3000) < 0.4, common, rng.integers(0, 2, 3000)) for _ in range(40)]
    release = MWEM().run(Table(domain, columns), Workload.marginals(domain, 2), ZCDP(2.0), noise=SeededNoise(0))
    assert isinstance(release.model, Overlay)
    found = replicate(release, 3, target="file", seed=0)
    assert found.weights is not None
    pairs = release.workload.scopes
    before, codes = release.model.marginals(pairs), found.records.codes
    drawn = Empirical(domain, release.total, codes).marginals(pairs)
    for run, weights in zip(found.runs, found.weights.T, strict=True):
        weighed = Empirical(domain, run.total, codes, np.log(weights)).marginals(pairs)
        tables = list(zip(weighed, drawn, before, run.model.marginals(pairs), strict=True))
        left = [np.abs(held - own * other / one).sum() for held, own, one, other in tables]
        assert np.mean(left) < 0.1 * np.mean([np.abs(one - other).sum() for _, _, one, other in tables])


@pytest.mark.parametrize(
    "config",
    [MWEM(), MWEM(rounds=3), MWEM(rounds="annealed"), MWEM(rounds="adaptive"), MWEM(initial="one-way")],
    ids=lambda config: str(config.rounds) + str(config.initial),
)
def test_a_fit_of_the_measurements_as_they_were_is_the_hypothesis(config: MWEM) -> None:
    """Those that the run fitted, and no others: small tables beside annealed rounds are not among them."""
    release = made(config)
    again = made_by("MWEM", release.provenance.parameters).refitted(
        release, release.measurements, release.counted or release.total
    )
    assert again is not None
    assert again.total == pytest.approx(release.total)
    scopes = release.workload.scopes
    for one, other in zip(release.model.marginals(scopes), again.marginals(scopes), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("config", [MWEM(), MWEM(rounds="annealed")], ids=lambda config: str(config.rounds))
def test_answers_of_needs_are_not_fitted_again(config: MWEM) -> None:
    """They stand before the measurements of the run, which did not see them."""
    release = synthesize(
        pa.table(dict(zip(DOMAIN.names, table().columns, strict=True))),
        budget=ZCDP(0.5),
        domain=DOMAIN,
        mechanism=config,
        needs=[f"{DOMAIN.names[0]} = 1 and {DOMAIN.names[1]} = 0", f"{DOMAIN.names[2]} = 1"],
        seed=0,
        records=1,
    ).release
    assert sum(event.label == "need" for event in release.events) == 2
    again = config.refitted(release, release.measurements, release.counted or release.total)
    assert again is not None
    scopes = release.workload.scopes
    for one, other in zip(release.model.marginals(scopes), again.marginals(scopes), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_fit_with_other_values_is_left_to_whole_runs_where_it_rests_on_more() -> None:
    prior = Prior.of(PublicData(table(seed=5), 2000))
    for config in (MWEM(rounds=2, output="average"), MWEM(initial="histogram"), MWEM(prior=prior), MWEM(refit=None)):
        release = made(config)
        assert config.refitted(release, release.measurements, release.total) is None


@pytest.mark.slow
def test_errors_for_the_population_hold_those_of_sampling() -> None:
    """One share that was measured: its variance is that of noise, and p (1 - p) / n."""
    release = MWEM().run(table(), Workload.marginals(DOMAIN, 1), ZCDP(0.5), noise=SeededNoise(0))
    targets: tuple[Target, Target] = ("file", "population")
    file, population = (replicate(release, 100, target=each, seed=2).estimate(share_of_a).error for each in targets)
    assert file < 0.3 * population
    assert population == pytest.approx((0.3 * 0.7 / 2000) ** 0.5, rel=0.25)


def test_what_a_smooth_fit_loses_is_put_back() -> None:
    """A rare column: where small cells are measured one by one, the fit gives empty ones what the noise is."""
    domain = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcdef", (2, 2, 4, 7, 2, 2), strict=True))
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, size, 4000) for size in domain.shape[:5]]
    rare = (rng.random(4000) < 0.01 + 0.012 * columns[3]).astype(np.int64)
    workload = Workload.marginals(domain, 6)  # all 448 cells; pairs alone lose .4 %, not 1.8 %
    off, left = [], []
    for seed in range(6):
        release = MWEM().run(Table(domain, [*columns, rare]), workload, ApproxDP(1.0, 1e-9), noise=SeededNoise(seed))
        found = replicate(release, 2, target="file", seed=seed)
        drawn = found.records.to_arrow()["f"].to_numpy()
        off.append(drawn.mean() - rare.mean())
        left.append(np.average(drawn, weights=found.weight) - rare.mean())
    assert np.mean(off) > 0.01
    assert abs(np.mean(left)) < 0.3 * np.mean(off)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "releases"), [("file", 24), ("population", 100)])
def test_intervals_hold_the_truth(target: Target, releases: int) -> None:
    """Two statistics of each release: below .85 together once in 200 releases where each holds .95 of the time."""
    held = []
    for seed in range(releases):
        release = made(epsilon=2.0, seed=seed)
        found = replicate(release, 15, target=target, seed=seed).estimate(shares)
        own = table(seed=seed).columns
        truth = (own[0].mean(), own[2][own[0] == 1].mean()) if target == "file" else (0.3, 0.6)
        held += [low <= true <= high for low, true, high in zip(found.low, truth, found.high, strict=False)]
    assert np.mean(held) >= 0.85


def test_the_same_seed_gives_the_same_replicates_and_records_are_as_many_as_asked() -> None:
    release = made()
    one, other = (replicate(release, 3, seed=7, n=500) for _ in "12")
    assert one.weights is not None
    assert other.weights is not None
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.records.codes, other.records.codes)
    assert one.weights.shape == (500, 3)
    np.testing.assert_allclose(one.weights.sum(axis=0), [run.total for run in one.runs], rtol=1e-4)
    fresh = replicate(release, 3).weights
    assert fresh is not None
    assert not np.array_equal(fresh, replicate(release, 3).weights)


def test_files_hold_what_weights_do() -> None:
    release = made(epsilon=3.0)
    weights = replicate(release, 30, seed=0)
    files = replicate(release, 30, seed=0, files=True)
    assert (weights.form, files.form, len(list(files.files()))) == ("weights", "files", 30)
    one, other = weights.estimate(shares), files.estimate(shares)
    np.testing.assert_allclose(one.value, other.value, rtol=0.01)
    np.testing.assert_allclose(one.error[:2], other.error[:2], rtol=0.25)


def test_files_are_chosen_where_weights_would_rest_on_few_records() -> None:
    domain = Domain([IntegerRange(f"x{number}", 0, 5) for number in range(30)])
    columns = [np.random.default_rng(number).integers(0, 6, 300) ** 2 // 6 for number in range(30)]
    workload = Workload.marginals(domain, 1)
    release = MWEM().run(Table(domain, columns), workload, PureDP(2.0), noise=SeededNoise(0))
    found = replicate(release, 3, seed=0)
    assert found.share is not None
    assert (found.form, found.share < 0.25, "would rest on" in found.says) == ("files", True, True)
    assert replicate(release, 3, seed=0, files=False).form == "weights"


def test_mechanisms_that_make_records_run_again_and_have_files() -> None:
    workload = Workload.marginals(DOMAIN, 1)
    release = DualQuery(rounds=5).run(table(300), workload, PureDP(5.0), noise=SeededNoise(0))
    found = replicate(release, 2, target="file", seed=0)
    assert found.form == "files"
    assert found.origin == "each a whole run of the mechanism on the hypothesis of the release"
    with pytest.raises(ConfigError, match=r"no replicate weights\n.*--replicate-files"):
        replicate(release, 2, seed=0, files=False)


def test_whole_runs_choose_again() -> None:
    release = made(MWEM(rounds=1), epsilon=0.01)
    scopes = [
        {tuple(measured.target.scope for measured in run.measurements) for run in found.runs}
        for found in (replicate(release, 8, seed=0, rerun=rerun) for rerun in (False, True))
    ]
    assert len(scopes[0]) == 1 < len(scopes[1])


@pytest.mark.parametrize("persons", [Persons("id", 5), Persons(None, 1, Weight("w", 4))])
def test_a_population_behind_persons_or_weights_is_refused(persons: Persons) -> None:
    workload = Workload.marginals(DOMAIN, 1)
    release = MWEM().run(table(persons=persons), workload, PureDP(3.0), noise=SeededNoise(0))
    with pytest.raises(ConfigError, match=r"no simple random sample(.|\n)*target='file'"):
        replicate(release, 3)
    assert replicate(release, 3, target="file", seed=0).number == 3


def test_nonsense_is_refused() -> None:
    release = made()
    with pytest.raises(ConfigError, match="1 replicates show no spread"):
        replicate(release, 1)
    with pytest.raises(ConfigError, match="0 records"):
        replicate(release, 2, n=0)
    with pytest.raises(ConfigError, match="'sample'"):
        replicate(release, 2, target="sample")  # type: ignore[arg-type]


def test_files_say_what_memory_does(tmp_path: Path) -> None:
    found = replicate(made(), 3, seed=0, n=200)
    assert found.weights is not None
    assert found.write(tmp_path / "a.csv") == [str(tmp_path / "a.csv")]
    found.write(tmp_path / "a.parquet")
    for read in (pyarrow.csv.read_csv(tmp_path / "a.csv"), pyarrow.parquet.read_table(tmp_path / "a.parquet")):
        assert read.column_names == [*"abcd", "weight", "repweight_1", "repweight_2", "repweight_3"]
        np.testing.assert_array_equal(np.column_stack(read.columns[5:]), found.weights)
        np.testing.assert_array_equal(read["weight"].to_numpy(), found.weight)
    files = replicate(made(), 12, seed=0, n=200, files=True)
    places = files.write(tmp_path / "b.parquet")
    assert [Path(place).name for place in places[:2]] == ["b.parquet", "b_rep01.parquet"]
    read = pyarrow.parquet.read_table(places[3])
    assert read.column_names == [*"abcd", "weight"]
    assert sum(read["weight"].to_pylist()) == pytest.approx(files.runs[2].total, abs=1e-3)
    with pytest.raises(ConfigError, match="no room for replicate files"):
        files.write(f"duckdb:{tmp_path}/c.db#people")


def test_a_column_called_weight_keeps_its_name() -> None:
    domain = Domain([IntegerRange("weight", 0, 3)])
    release = MWEM().run(
        Table(domain, [np.arange(400) % 4]), Workload.marginals(domain, 1), PureDP(1.0), noise=SeededNoise(0)
    )
    assert replicate(release, 2, seed=0).weighted.schema.names == [
        "weight",
        "hedgerow_weight",
        "hedgerow_repweight_1",
        "hedgerow_repweight_2",
    ]


def test_estimates_without_correction_are_those_of_r() -> None:
    raw, each = np.array([1.0, 2.0]), np.array([[1.5, 2.0], [1.0, 2.5], [2.0, 1.5]])
    found = ReplicateEstimate.of(raw, each, corrected=False)
    np.testing.assert_allclose(found.error**2, ((each - raw) ** 2).sum(axis=0) / 3)
    corrected = ReplicateEstimate.of(raw, each)
    np.testing.assert_allclose(corrected.value, 2.0 * raw - each.mean(axis=0))
    np.testing.assert_allclose(
        corrected.high - corrected.value, 4.302653 * each.std(axis=0, ddof=1) * (4 / 3) ** 0.5, rtol=1e-6
    )


def paired(workload: str, epsilon: float = 5.0) -> Replicates:
    """Replicates of a release that measured the tables of its workload."""
    read = Workload.parse(workload, DOMAIN)
    return replicate(
        MWEM(rounds=workload.count(",") + 1).run(table(), read, PureDP(epsilon), noise=SeededNoise(0)), 5, seed=0
    )


def of_pandas(records: pa.Table, weights: np.ndarray) -> float:
    """Reads all columns into a frame, and needs two."""
    frame = records.to_pandas()
    return float(np.average(frame["c"][frame["a"] == 1], weights=weights[frame["a"] == 1]))


def product(records: pa.Table, weights: np.ndarray) -> float:
    a, c, d = (records[name].to_numpy() for name in "acd")
    return float(np.average(a * c + c * d, weights=weights))


def total(_: pa.Table, weights: np.ndarray) -> float:
    return float(weights.sum())


def drawn_anew(records: pa.Table, _: np.ndarray) -> float:
    """Never the same, so that nothing shows which columns it needs."""
    return float(records["a"].to_numpy().mean() + np.random.default_rng().random())


@pytest.mark.parametrize(
    ("statistic", "columns", "missing"),
    [
        (of_pandas, None, ("a", "c")),
        (shares, None, ("a", "c")),
        (lambda records, weights: np.average(records["a"], weights=weights), None, None),
        (
            lambda records, weights: np.average(records["a"].to_numpy() * records["b"].to_numpy(), weights=weights),
            None,
            None,
        ),
        (total, None, None),
        (product, None, ("a", "c", "d")),
        (product, [["a", "c"], ["c", "d"]], ("a", "c")),
        (product, "acd", ("a", "c", "d")),
        (drawn_anew, None, ("a", "b", "c", "d")),
    ],
)
def test_statistics_of_what_was_not_measured_have_no_interval(
    statistic: Statistic, columns: Sequence[str | Sequence[str]] | None, missing: tuple[str, ...] | None
) -> None:
    """a with b and c with d were; what a function needs is seen by leaving columns out."""
    found = paired("marginals:a*b,c*d").estimate(statistic, columns=columns)
    assert found.traced is not None
    assert found.traced.missing == (() if missing is None else (missing,))
    assert np.isnan(found.low).all() == (missing is not None) == np.isnan(found.error).all()
    assert np.isfinite(found.value).all()
    if missing is not None:
        np.testing.assert_array_equal(found.value, found.raw)
        assert f"needs {' x '.join(missing)}, which no measurement holds" in found.notes[0]
        assert f"'marginals:{'*'.join(missing)}' in the workload would measure it" in found.notes[0]


def test_a_column_that_no_measurement_holds_has_no_interval() -> None:
    made = paired("marginals:a*b")
    found = made.estimate(lambda records, weights: np.average(records["d"], weights=weights))
    assert found.traced is not None
    assert (found.traced.missing, bool(np.isnan(found.low))) == ((("d",),), True)
    assert np.isfinite(made.estimate(lambda records, weights: np.average(records["b"], weights=weights)).low)


def test_a_statistic_is_given_the_columns_that_are_named_and_no_others() -> None:
    made = paired("marginals:2")
    seen = set[tuple[str, ...]]()

    def tell(records: pa.Table, weights: np.ndarray) -> float:
        seen.add(tuple(records.column_names))
        return float(weights.sum())

    made.estimate(tell, columns=["c", "a"])
    assert seen == {("a", "c")}
    with pytest.raises(KeyError):
        made.estimate(of_pandas, columns=["a", "b"])
    with pytest.raises(DomainError, match="'z'"):
        made.estimate(tell, columns=["z"])
    unchecked = paired("marginals:a*b,c*d").estimate(of_pandas, columns=[])
    assert np.isfinite(unchecked.low)
    assert "is not checked" in unchecked.notes[0]


def noise_of_finer_cells_counts_unless_records_have_the_one_table() -> None:
    """Columns of at most four values: records are weighed to have each pair, however smooth the fit of all cells is."""
    made = paired("marginals:a*b*c*d", epsilon=0.6)
    (measured,) = (each for each in made.release.measurements if each.target.size == 48)
    assert measured.std * 48 / 2000 > 0.05
    assert np.isfinite(made.estimate(of_pandas).low)
    together = made.estimate(product, columns=[["a", "c"], ["c", "d"]])
    assert together.traced is not None
    assert (together.traced.thin, bool(np.isnan(together.low))) == ((("a", "c"), ("c", "d")), True)
    assert "5% in the finer cells" in together.notes[0]
    (joint,) = made.estimate(product).notes  # no pair tells it
    assert "a x c x d, whose noise is more than" in joint
    noisy = paired("marginals:a*b*c*d", epsilon=0.02).estimate(share_of_a)
    assert noisy.traced is not None
    assert (noisy.traced.thin, bool(np.isnan(noisy.low))) == ((("a",),), True)


def tables_with_many_empty_cells_have_no_interval() -> None:
    """Noise puts records into empty cells, and none can have fewer than none: of 30 cells up to 6.8 may be empty."""
    for empty, thin in ((6, ()), (7, (("level", "rich"),))):
        found = of_empty_cells(empty, ruled=False)
        assert found.traced is not None
        assert (found.traced.thin, bool(np.isnan(found.low))) == (thin, bool(thin))
        assert ("fills many cells that are nearly empty" in " ".join(found.notes)) == bool(thin)


def rules_keep_noise_out_of_cells() -> None:
    found = of_empty_cells(14, ruled=True)
    assert found.traced is not None
    assert (found.traced.thin, bool(np.isfinite(found.low))) == ((), True)


def of_empty_cells(empty: int, *, ruled: bool) -> ReplicateEstimate:
    """A covariance of 15 levels and who is rich, which nobody of the first levels is."""
    domain = Domain([IntegerRange("level", 0, 14), IntegerRange("rich", 0, 1)])
    if ruled:
        domain = Domain(list(domain), constraints=[impossible(domain, f"level < {empty} and rich = 1")])
    level = np.arange(8000) % 15
    rich = np.where(level < empty, 0, np.arange(8000) // 15 % 2)
    release = MWEM().run(Table(domain, [level, rich]), Workload.marginals(domain, 2), PureDP(5.0), noise=SeededNoise(0))

    def covariance(records: pa.Table, weights: np.ndarray) -> float:
        return float(np.cov(records["level"], records["rich"], aweights=weights)[0, 1])

    return replicate(release, 4, seed=0).estimate(covariance)


def test_a_column_that_was_measured_in_part_has_an_interval_that_says_so() -> None:
    workload = Workload.conjunctions(DOMAIN, ["a = 1", "a = 1 and c = 1", "d = 3"])
    release = MWEM(rounds=3).run(table(), workload, PureDP(1.0), noise=SeededNoise(0))
    found = replicate(release, 5, seed=0).estimate(share_of_a)
    assert np.isfinite(found.low)
    assert found.notes == ("Of a no whole table was measured: the interval leaves out what lies between.",)


@pytest.mark.slow
def test_parities_tell_columns_of_two_values_and_their_pairs() -> None:
    domain = Domain(IntegerRange(f"x{number}", 0, 1) for number in range(24))
    rng = np.random.default_rng(0)
    rows = Table(domain, [rng.integers(0, 2, 3000) for _ in range(24)])
    for rho, suffices in ((1.0, True), (0.0005, False)):
        release = MWEM().run(rows, Workload.marginals(domain, 2), ZCDP(rho), noise=SeededNoise(0))
        assert {type(each.target) for each in release.measurements} == {Parity}
        assert traced(release, [("x0",), ("x1", "x5")]).suffices == suffices
        assert traced(release, [("x0", "x1", "x2")]).missing


def test_ends_of_spans_follow_from_their_start_and_length() -> None:
    days = IntegerRange("day", 0, 9, scale=Calendar())
    stay = IntegerRange("stay", 0, 3, scale=Durations(86_400))
    domain = Domain([days, stay], spans=[Span("stay", "day", "left")])
    rng = np.random.default_rng(0)
    rows = Table(domain, [rng.integers(0, 10, 3000), rng.integers(0, 4, 3000)])
    release = MWEM(rounds=2).run(rows, Workload.parse("marginals:day,stay", domain), PureDP(9.0), noise=SeededNoise(0))

    def weekends(records: pa.Table, weights: np.ndarray) -> float:
        return float(np.average([each.weekday() > 4 for each in records["left"].to_pylist()], weights=weights))

    found = replicate(release, 3, seed=0).estimate(weekends)
    assert found.traced is not None
    assert found.traced.missing == (("day", "stay"),)


BINNED = Domain([Binned("pay", list(range(0, 100_001, 10_000))), Categorical("sex", ("F", "M"))])


def pay_release(seed: int, n: int = 4000) -> tuple[Release, float]:
    """A release with measured positions in bins, and the mean of the private column."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    pay = np.minimum(np.exp(rng.normal(10.2 + 0.2 * sex, 0.6, n)), 99_999.0)
    rows = pa.table({"pay": pay, "sex": np.array(["F", "M"])[sex]})
    return synthesize(rows, 1.0, 1e-9, BINNED).release, float(pay.mean())


def mean_pay(records: pa.Table, weights: np.ndarray) -> float:
    return float(np.average(records["pay"].to_numpy(), weights=weights))


@pytest.mark.many(quick=1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("files", [False, True])
def test_errors_of_positions_inside_bins_are_part_of_a_replicate(files: bool) -> None:
    """Of 8 intervals nearly all hold the mean of the file; by the counts of bins alone a third did."""
    held = []
    for seed in range(8):
        release, truth = pay_release(seed)
        found = replicate(release, 12, target="file", seed=seed, files=files).estimate(mean_pay)
        held.append(found.low <= truth <= found.high)
    assert sum(held) >= 6


@pytest.mark.filterwarnings("ignore")
def test_numbers_inside_wide_bins_decide_no_interval() -> None:
    """How pay in a bin goes with sex was not measured: a difference of means needs it; shares of bins do not."""
    release, _ = pay_release(0, 20_000)
    made = replicate(release, 8, target="file", seed=0)

    def both(records: pa.Table, weights: np.ndarray) -> list[float]:
        pay, man = records["pay"].to_numpy(), np.array(records["sex"].to_pylist()) == "M"
        apart = np.average(pay[man], weights=weights[man]) - np.average(pay[~man], weights=weights[~man])
        return [apart, np.average(pay[man] >= 40_000, weights=weights[man]), weights[man].sum()]

    found = made.estimate(both)
    assert np.isnan(found.low).tolist() == [True, False, False]
    assert "how numbers inside the bins of pay go with other columns was not measured" in found.notes[0]
    assert np.isfinite(made.estimate(mean_pay).low)


def test_positions_move_means_inside_bins_and_no_count() -> None:
    release, _ = pay_release(0)
    found = replicate(replace(release, positions=()), 30, target="file", seed=0)
    assert found.weights is not None
    bins, pay = found.records.codes[:, 0], found.records.to_arrow()["pay"].to_numpy()
    inside = bins == 2
    means = np.array([np.average(pay[inside], weights=each[inside]) for each in found.weights.T])
    assert 600.0 < means.std() < 1500.0  # a tenth of a width of 10,000
    inside_bins = tuple(each for each in release.positions if "positions" in each.target.text)
    measured = replicate(replace(release, positions=inside_bins), 30, target="file", seed=0)
    assert measured.weights is not None
    again = np.array([np.average(pay[inside], weights=each[inside]) for each in measured.weights.T])
    assert again.std() < 0.5 * means.std()
    for one, other in zip(found.weights.T, measured.weights.T, strict=True):
        counts = [np.bincount(bins, each, len(BINNED["pay"].edges) - 1) for each in (one, other)]
        np.testing.assert_allclose(counts[0], counts[1], atol=0.05)


def what_a_function_needs_is_seen_by_leaving_columns_out() -> None:
    """a with b and c with d were measured."""
    found = paired("marginals:a*b,c*d").estimate(product)
    assert found.traced is not None
    assert (found.traced.tables, bool(np.isnan(found.low))) == ((("a", "c", "d"),), True)


def summed_by_visits(epsilon: float) -> tuple[Replicates, np.ndarray, np.ndarray]:
    """Replicates of twelve numbers of visits by two places, the noisy table, and that of the weighted records."""
    domain = Domain([IntegerRange("visits", 0, 11), IntegerRange("place", 0, 1)])
    rng = np.random.default_rng(0)
    place = rng.integers(0, 2, 6000)
    visits = np.minimum(rng.poisson(1.5 + place), 11)
    release = MWEM().run(
        Table(domain, [visits, place]), Workload.marginals(domain, 2), PureDP(epsilon), noise=SeededNoise(0)
    )
    (measured,) = (each for each in release.measurements if each.target.size == 24)
    found = replicate(release, 3, seed=0)
    held = np.zeros((12, 2))
    np.add.at(held, tuple(found.records.codes.T), found.weight)
    return found, measured.values.reshape(12, 2), held


def records_have_the_noisy_sums_of_numbers() -> None:
    """Inside the groups of a column the fit decides; noisy sums are unbiased, where they have little noise."""
    numbers = np.arange(12) - 5.5
    found, noisy, held = summed_by_visits(1.0)
    rests = held.sum(axis=0) - noisy.sum(axis=0)
    np.testing.assert_allclose(numbers @ held, numbers @ noisy, atol=0.002 * found.release.total + 6 * abs(rests).max())
    drawn = np.zeros((12, 2))
    np.add.at(drawn, tuple(found.records.codes.T), found.release.total / len(found.records))
    assert abs(numbers @ (held - noisy)).max() < 0.5 * abs(numbers @ (drawn - noisy)).max()
    noisiest, *_ = summed_by_visits(0.02)
    assert not [scope for scope, number in noisiest._calibrated.factors if number]


def noise_is_added_to_what_records_have() -> None:
    """Of a rare value the fit has more than the records are weighed to have: noise keeps its size beside these."""
    domain = Domain(IntegerRange(name, 0, size) for name, size in (("rare", 1), ("x", 5), ("y", 5)))
    rng = np.random.default_rng(0)
    columns = [(rng.random(3000) < 0.1).astype(int), *rng.integers(0, 6, (2, 3000))]
    release = MWEM().run(Table(domain, columns), Workload.marginals(domain, 2), PureDP(0.3), noise=SeededNoise(0))
    (own,) = release.model.marginals([("rare",)])
    found = replicate(release, 20, target="file", seed=1)
    assert found.weights is not None
    rare = found.records.codes[:, 0] == 1
    held = found.weight[rare].sum()
    assert held < 0.92 * own[1]
    tables = [run.measurements[0].values.reshape(domain.shape).sum(axis=(1, 2)) - own for run in found.runs]
    totals = [run.total - release.total for run in found.runs]  # the noise of both values is known to be this
    noise = [table[1] - (table.sum() - total) / 2.0 for table, total in zip(tables, totals, strict=True)]
    np.testing.assert_allclose(found.weights[rare].sum(axis=0), held + noise, atol=1.0)


def measured_as(variances: dict[tuple[str, ...], float], release: Release) -> Release:
    """A release that has other tables of its hypothesis, one normal noise in each cell."""
    rng, (first, *_) = np.random.default_rng(0), release.measurements
    tables = release.model.marginals(list(variances))
    measurements = tuple(
        replace(
            first,
            target=Marginal(release.domain, scope),
            values=table.reshape(-1) + rng.normal(0.0, variance**0.5, table.size),
            scale=variance**0.5,
        )
        for (scope, variance), table in zip(variances.items(), tables, strict=True)
    )
    return replace(release, measurements=measurements)


def test_columns_of_noisy_pairs_have_the_counts_that_all_tables_tell() -> None:
    """Counts of a have the variance 1,200 by a x b and 1,800 by a x c, so .6 and .4 of these; of a sample 1,000."""
    release = MWEM().run(table(), Workload.marginals(DOMAIN, 2), ZCDP(1.0), noise=SeededNoise(0))
    release = measured_as({("a", "b"): 400.0, ("a", "c"): 900.0}, replace(release, total=2000.0))

    def of_a(which: Release) -> np.ndarray:
        shares = zip((0.6, 0.4), which.measurements, strict=True)
        mean = sum(share * each.values.reshape(2, -1).sum(axis=1) for share, each in shares)
        return np.asarray(mean + (which.total - mean.sum()) / 2.0)

    found = replicate(release, 3, target="file", seed=1)
    (own,) = found._calibrated.coarse.tables(release.measurements, release.total).items()
    assert own[0] == ("a",)
    np.testing.assert_allclose(own[1], of_a(release))
    assert found.weights is not None
    first, (hypothesis,) = found.records.codes[:, 0], release.model.marginals([("a",)])
    hypothesis = hypothesis + (release.total - hypothesis.sum()) / 2.0
    np.testing.assert_allclose(np.bincount(first, found.weight), own[1], atol=0.01)
    for run, weights in zip(found.runs, found.weights.T, strict=True):
        np.testing.assert_allclose(np.bincount(first, weights), own[1] + of_a(run) - hypothesis, atol=0.01)


def test_a_table_tells_a_column_once() -> None:
    """What its pairs with two others tell of a column is one measurement, and not two."""
    domain = Domain(IntegerRange(name, 0, size) for name, size in (("visits", 11), ("b", 1), ("c", 1)))
    rng = np.random.default_rng(0)
    columns = [np.minimum(rng.poisson(2.0, 2000), 11), *rng.integers(0, 2, (2, 2000))]
    release = MWEM().run(Table(domain, columns), Workload.marginals(domain, 3), ZCDP(1.0), noise=SeededNoise(0))
    coarse = replicate(release, 2, seed=0)._calibrated.coarse
    numbers = coarse.numbers["visits"]
    for times, held in ((1.5, 0), (0.9, 3)):  # of the variance of a sample: of counts, and of the sum of visits
        counts = measured_as({domain.names: times * 2000.0 / 48.0}, release).measurements
        assert len(coarse.tables(counts, 2000.0)) == held
        variance = times * coarse.spreads["visits"] / (4.0 * float(numbers @ numbers))
        assert len(coarse.tilts(measured_as({domain.names: variance}, release).measurements)) == held


def _anything(patch: pytest.MonkeyPatch, name: str, value: object) -> None:
    patch.setattr(f"hedgerow.release.{name}", value)


MUTANTS = [
    Mutant(
        "tables with a fifth more empty cells give intervals",
        lambda patch: _anything(patch, "tracing.MOST_EMPTY", 1.5),
        tables_with_many_empty_cells_have_no_interval,
    ),
    Mutant(
        "tables with a fifth fewer empty cells give none",
        lambda patch: _anything(patch, "tracing.MOST_EMPTY", 1.0),
        tables_with_many_empty_cells_have_no_interval,
    ),
    Mutant(
        "cells that rules exclude count as empty",
        lambda patch: _anything(
            patch, "tracing._holdable", lambda domain, scope: np.ones(domain.shape_of(scope), dtype=np.bool_)
        ),
        rules_keep_noise_out_of_cells,
    ),
    Mutant(
        "what was not measured gives intervals",
        lambda patch: _anything(patch, "tracing._unmeasured", lambda release, measurements, tables: ()),
        what_a_function_needs_is_seen_by_leaving_columns_out,
    ),
    Mutant(
        "nobody looks at what a function needs",
        lambda patch: _anything(patch, "replicates._needed", lambda statistic, table, raw: []),
        what_a_function_needs_is_seen_by_leaving_columns_out,
    ),
    Mutant(
        "noise of finer cells counts for nothing",
        lambda patch: _anything(patch, "tracing.MOST_NOISE_MEASURED", 1e9),
        noise_of_finer_cells_counts_unless_records_have_the_one_table,
    ),
    Mutant(
        "records are weighed by counts alone",
        lambda patch: _anything(patch, "calibration.Coarse.tilts", lambda self, measurements: {}),
        records_have_the_noisy_sums_of_numbers,
    ),
    Mutant(
        "records are weighed by sums with any noise",
        lambda patch: _anything(patch, "calibration._MOST_NOISE", 1e9),
        records_have_the_noisy_sums_of_numbers,
    ),
    Mutant(
        "replicates have the tables of their own fit",
        lambda patch: _anything(patch, "calibration.Coarse.moved", lambda self, codes, weights, new, old: new),
        noise_is_added_to_what_records_have,
    ),
    Mutant(
        "replicates keep the tables of the records",
        lambda patch: _anything(patch, "calibration.Coarse.moved", lambda self, codes, weights, new, old: old),
        noise_is_added_to_what_records_have,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_wrong_replicates_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
