"""Known totals of a population beside weights: exact in answers and records; intervals of what is calibrated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import MWEM, Domain, IntegerRange, PureDP, SeededNoise, Workload, read_table, replicate, synthesize
from hedgerow.audit import audit_files
from hedgerow.domain import (
    Categorical,
    KnownTable,
    codes_at,
    domain_from_mapping,
    domain_to_mapping,
    impossible,
    with_known,
)
from hedgerow.errors import ConfigError, DomainError
from hedgerow.queries import parse_predicate
from hedgerow.release import Answer, Release, select_from
from tests.privacy.mutants import Mutant, killed

DOMAIN = Domain([Categorical("sex", ("F", "M")), IntegerRange("race", 0, 3), IntegerRange("age", 0, 99)])
N, CAP = 2000, 40
ASKED = ("race = 1", "race = 3 and sex = 'M'", "age < 20", "sex = 'F' and age >= 60", "race = 0 or age < 30")


def survey(seed: int = 0) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """Codes of some people, and their weights, some above the cap."""
    rng = np.random.default_rng(seed)
    race = rng.choice(4, N, p=[0.6, 0.2, 0.15, 0.05])
    age = np.minimum(99, rng.gamma(3.0, 10.0, N).astype(np.int64) + race)
    sex = (rng.random(N) < 0.4 + 0.05 * race).astype(np.int64)
    weights = np.maximum(1, np.round(rng.lognormal(3.0, 0.7, N) * (1.0 + 0.3 * race))).astype(np.int64)
    return {"sex": sex, "race": race, "age": age}, weights


def sums(weights: np.ndarray[Any, Any], names: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """What weights add up to in each cell of a table, flat."""
    codes, _ = survey()
    shape = DOMAIN.shape_of(names)
    places = np.ravel_multi_index(tuple(codes_at(DOMAIN, name, codes) for name in names), shape)
    return np.bincount(places, weights=weights, minlength=int(np.prod(shape)))


def calibrated(*scopes: tuple[str, ...]) -> Domain:
    """The domain with totals of the population, which is somewhat larger than all weights together."""
    _, weights = survey()
    tables = [
        KnownTable(DOMAIN.clique(names), sums(3 * weights // 2, names).astype(np.int64), population=True)
        for names in scopes
    ]
    return with_known(DOMAIN, tables)


def released(domain: Domain, seed: int = 1, **options: Any) -> Release:
    codes, weights = survey()
    columns = {**codes, "sex": np.array(["F", "M"])[codes["sex"]], "w": weights}
    table = read_table(pa.table(columns), domain, weight="w", largest_weight=CAP)
    workload = Workload.marginals(domain, 2)
    return MWEM(**options).run(table, workload, PureDP(2.0), noise=SeededNoise(seed))


OVERLAPPING = ("sex", "age.10"), ("race",), ("sex", "race")


def answers_and_records_have_the_population(rounds: Any = "auto") -> None:
    release = released(calibrated(*OVERLAPPING), rounds=rounds)
    _, weights = survey()
    total = int((3 * weights // 2).sum())
    assert release.stands_for == total
    assert release.total == pytest.approx(np.minimum(weights, CAP).sum(), rel=0.05)  # what counts is fitted as it was
    assert release.model.total == pytest.approx(release.total)
    assert release.spent == pytest.approx(2.0)
    for table in release.domain.population:
        found = release.hypothesis.marginals([table.names])[0].reshape(-1)
        assert np.abs(found - table.counts).max() < 1e-6 * total
    answer = release.answer("sex = 'M' and age >= 50")
    truth = sums(3 * weights // 2, ("sex", "age.10"))[10 + 5 :].sum()
    assert (answer.value, answer.low, answer.high) == (truth, truth, truth)
    assert answer.covers.endswith("taken for public")
    assert release.answer("race >= 0").low == release.answer("race >= 0").high == total
    asked = [parse_predicate(text, release.domain) for text in ("race = 1", "age < 20")]
    widths = [release.half_width(query) for query in asked]
    assert widths[0] == 0.0
    answer = release.answer(asked[1])
    assert answer.high is not None
    assert answer.low is not None
    assert widths[1] == pytest.approx((answer.high - answer.low) / 2.0)


@pytest.mark.parametrize("rounds", ["auto", 3])
def test_answers_and_records_have_the_population(rounds: Any) -> None:
    answers_and_records_have_the_population(rounds)


def test_as_many_records_as_the_population_have_its_totals_and_fewer_have_them_by_weights() -> None:
    release = released(calibrated(*OVERLAPPING))
    drawn = release.sample(int(release.stands_for), seed=2)
    few = replicate(release, 2, target="file", n=3000, seed=0)
    for table in release.domain.population:
        for codes, weights in ((drawn.codes, np.ones(len(drawn))), (few.records.codes, few.weight)):
            columns = dict(zip(release.domain.names, codes.T.astype(np.int64), strict=True))
            at = tuple(codes_at(release.domain, name, columns) for name in table.names)
            places = np.ravel_multi_index(at, release.domain.shape_of(table.names))
            found = np.bincount(places, weights=weights, minlength=len(table.counts))
            assert np.abs(found - table.counts).max() < 0.01  # weights have six digits
    assert few.weights is not None
    assert np.allclose(few.weights.sum(axis=0), release.stands_for)
    with pytest.raises(ConfigError, match="draw more records"):
        replicate(release, 2, target="file", n=5, seed=0)


def intervals_hold_what_calibrated_weights_tell(releases: int = 20) -> None:
    """With the g of each release, T = g.K + B(q - g) of the private weights; and the released number is near it."""
    codes, weights = survey()
    counted, held, apart = np.minimum(weights, CAP), 0, list[float]()
    for seed in range(releases):
        release = released(calibrated(("sex",), ("sex", "age.10")), seed)
        for text in ASKED:
            query = parse_predicate(text, release.domain)
            (question,) = release._calibrated([query])
            assert question is not None
            left = np.broadcast_to(question.left.values(), DOMAIN.shape_of(question.left.scope))
            truth = question.known + float((left[tuple(codes[n] for n in question.left.scope)] * counted).sum())
            answer = release.answer(text)
            held += answer.low is not None and answer.low <= truth <= answer.high
            apart.append(abs(answer.value - truth) / release.stands_for)
    assert held >= 0.88 * releases * len(ASKED)  # of 95 %, answers of one release together
    assert np.mean(apart) < 0.02


def test_intervals_hold_what_calibrated_weights_tell() -> None:
    intervals_hold_what_calibrated_weights_tell(6)


@pytest.mark.slow
def test_intervals_of_many_releases_hold_what_calibrated_weights_tell() -> None:
    intervals_hold_what_calibrated_weights_tell(60)


def test_means_and_groups_are_calibrated_too() -> None:
    release = released(calibrated(("sex",), ("race",)))
    groups = select_from(release, "SELECT race, COUNT(*), AVG(age) FROM t GROUP BY race")
    _, weights = survey()
    truth, counts = sums(3 * weights // 2, ("race",)), [row[0] for row in groups.cells]
    assert [round(each.value) for each in counts] == truth.astype(int).tolist()
    ages = np.bincount(survey()[0]["race"], weights=weights * survey()[0]["age"]) / np.bincount(
        survey()[0]["race"], weights=weights
    )
    assert groups.covers.startswith("the weights calibrated to the known population, with 95% confidence")
    for row, age in zip(groups.cells, ages, strict=True):
        assert row[1].low is not None
        assert row[1].low - 3.0 < age < row[1].high + 3.0


def test_a_hypothesis_without_mass_makes_no_number_public() -> None:
    release = released(calibrated(("sex",)), rounds=1)
    model = release.model.copy()
    model.reweigh(("race",), np.array([0.0, 0.0, 0.0, -1e4]))
    model.rescale(release.total)
    assert model.marginals([("race",)])[0][3] == 0.0
    answer = replace(release, model=model).answer("race = 3")
    assert answer.low is not None
    assert answer.high is not None
    codes, weights = survey()
    assert answer.low < np.minimum(weights, CAP)[codes["race"] == 3].sum() < answer.high
    assert "public" not in answer.covers


def test_totals_of_the_population_are_kept_by_files_and_audit(tmp_path: Path) -> None:
    domain = calibrated(("sex",))
    assert domain_from_mapping(domain_to_mapping(domain)) == domain
    assert domain_to_mapping(with_known(DOMAIN, ["population=90"]))["known"] == [{"population": 90}]
    release = released(domain)
    place = tmp_path / "survey.release"
    release.save(place)
    again = Release.load(place)
    assert again.domain.population == domain.population
    assert again.answer("race = 1") == release.answer("race = 1")
    assert "Known totals of the population (sex) are taken for public" in again.guarantee()
    assert "conditional on them" in again.guarantee()
    findings = {each.check: each for each in audit_files([place]).files[0].findings}
    assert findings["sentence"].severity.value == "holds"
    assert findings["number of records"].severity.value == "holds"  # it was measured, unlike that of known records


def test_what_numbers_are_of_must_be_said_and_fit() -> None:
    codes, weights = survey()
    rows = pa.table({**codes, "sex": np.array(["F", "M"])[codes["sex"]], "w": weights})
    persons = {"weight": "w", "largest_weight": CAP}
    with pytest.raises(ConfigError, match="only what is bounded counts"):
        synthesize(rows, domain=DOMAIN, known=[N], seed=0, **persons)
    with pytest.raises(ConfigError, match="records have none"):
        synthesize(rows.drop_columns("w"), domain=DOMAIN, known=["population=90000"], seed=0)
    with pytest.raises(DomainError, match="counts records, and the known population those whom"):
        with_known(DOMAIN, [N, "population=90000"])
    both = [{"columns": ["sex"], "population": [40, 50]}, {"columns": ["race"], "population": [40, 20, 20, 11]}]
    with pytest.raises(DomainError, match="the known population by race has 91 records"):
        with_known(DOMAIN, both)
    ruled = Domain(DOMAIN.attributes, (), [impossible(DOMAIN, "sex = 'M' and race = 3")])
    with pytest.raises(DomainError, match="sex = M, race = 3"):
        with_known(ruled, [{"columns": ["sex", "race"], "population": [9, 9, 9, 9, 9, 9, 9, 9]}])


def _capped_all_the_same(patched: pytest.MonkeyPatch) -> None:
    """The population taken for the sum of the weights that count."""
    patched.setattr("hedgerow.release.release.Release.stands_for", property(lambda release: release.total))


def _not_raked(patched: pytest.MonkeyPatch) -> None:
    patched.setattr("hedgerow.release.population.rake", lambda *_: 0.0)


def _as_without_totals(patched: pytest.MonkeyPatch) -> None:
    """The interval of what the weights that count tell of the whole question."""

    def capped(release: Release, query: Any, confidence: float) -> Answer:
        value, reach = float(query.on(release.model)[0]), release.half_width(query, confidence) or 0.0
        return Answer(value, value - reach, value + reach, "the weights that count")

    patched.setattr(Release, "_calibrated_bound", capped)


MUTANTS = [
    Mutant(
        "a known population taken for the weights that count",
        _capped_all_the_same,
        answers_and_records_have_the_population,
    ),
    Mutant(
        "a hypothesis that is not calibrated to the population", _not_raked, answers_and_records_have_the_population
    ),
    Mutant(
        "calibrated answers with the interval of capped ones",
        _as_without_totals,
        lambda: intervals_hold_what_calibrated_weights_tell(4),
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_population_that_is_lost_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
