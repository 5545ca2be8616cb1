"""Surveys that were drawn by clusters in strata: replicates and linearised errors of their designs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import MWEM, Domain, PureDP, SeededNoise, Workload, read_table, replicate
from hedgerow.domain import domain_from_mapping
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram
from hedgerow.release import Release
from hedgerow.simulation import Design, design_error
from tests.privacy.mutants import Mutant, killed

STRATA, CLUSTERS, TAKEN, CAP = 4, 6, 60, 30
DOMAIN = domain_from_mapping(
    {
        "attributes": {
            "village": {"min": 0, "max": STRATA * CLUSTERS - 1, "levels": [CLUSTERS]},
            "ill": [0, 1],
            "sex": [0, 1],
        }
    }
)
DESIGN = Design("village", f"village.{CLUSTERS}")


def survey(seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """A sample of 60 persons from each of 24 villages, which differ, and their weights, which strata decide."""
    rng = np.random.default_rng(seed)
    village = np.repeat(np.arange(STRATA * CLUSTERS), TAKEN)
    chance = 0.3 + 0.1 * (village // CLUSTERS) % 2 + rng.normal(0.0, 0.12, STRATA * CLUSTERS)[village]
    ill = (rng.random(len(village)) < chance).astype(np.int64)
    return {
        "village": village,
        "ill": ill,
        "sex": rng.integers(0, 2, len(village)),
        "w": 10 + 5 * (village // CLUSTERS),
    }


def released(workload: str = "marginals:village*ill; marginals:ill*sex", epsilon: float = 20.0) -> Release:
    table = read_table(pa.table(survey()), DOMAIN, weight="w", largest_weight=CAP)
    return MWEM().run(table, Workload.parse(workload, DOMAIN), PureDP(epsilon), noise=SeededNoise(1))


def linearised(columns: dict[str, np.ndarray[Any, Any]]) -> float:
    """The textbook's standard error of the weighted share of those who are ill."""
    weights, ill = columns["w"], columns["ill"]
    share = np.average(ill, weights=weights)
    sums = np.bincount(columns["village"], weights=weights * (ill - share)).reshape(STRATA, CLUSTERS)
    apart = np.square(sums - sums.mean(axis=1, keepdims=True)).sum()
    return float(np.sqrt(CLUSTERS / (CLUSTERS - 1) * apart) / weights.sum())


def draws_have_the_linearised_variance() -> None:
    sums, rng = np.random.default_rng(2).normal(100.0, 20.0, STRATA * CLUSTERS), np.random.default_rng(3)
    factors = np.array([DESIGN.factors(DOMAIN, rng) for _ in range(4000)])
    assert np.allclose(factors.reshape(-1, STRATA, CLUSTERS).sum(axis=2), CLUSTERS)
    each = sums.reshape(STRATA, CLUSTERS)
    wanted = CLUSTERS / (CLUSTERS - 1) * np.square(each - each.mean(axis=1, keepdims=True)).sum()
    assert (factors @ sums).var() == pytest.approx(wanted, rel=0.1)
    assert (factors @ sums).mean() == pytest.approx(sums.sum(), rel=0.01)


def test_draws_have_the_linearised_variance() -> None:
    draws_have_the_linearised_variance()


def test_a_hypothesis_of_other_clusters_has_them_as_often_as_they_were_drawn() -> None:
    model = Histogram(DOMAIN, 900.0)
    other = DESIGN.redrawn(model, np.random.default_rng(4))
    factors = DESIGN.factors(DOMAIN, np.random.default_rng(4))
    assert other.total == pytest.approx(900.0)
    wanted = model.marginals([("village", "ill")])[0] * factors[:, None]
    assert other.marginals([("village", "ill")])[0] == pytest.approx(wanted, abs=1e-6)
    assert model.marginals([("village",)])[0] == pytest.approx(np.full(24, 37.5))


def test_replicates_of_a_survey_need_its_design() -> None:
    release = released()
    with pytest.raises(ConfigError, match="name the clusters it was drawn by"):
        replicate(release, 4, seed=0)
    with pytest.raises(ConfigError, match="a design is about a population"):
        replicate(release, 4, seed=0, target="file", design=DESIGN)
    with pytest.raises(ConfigError, match="runs again as a whole"):
        replicate(release, 4, seed=0, rerun=True, design=DESIGN)


@pytest.mark.slow
def test_replicates_show_the_design() -> None:
    release = released()

    def share(table: pa.Table, weights: Any) -> float:
        return float(np.average(table["ill"].to_numpy(), weights=weights))

    of_file = replicate(release, 40, seed=0, target="file").estimate(share, columns=["ill"])
    of_design = replicate(release, 40, seed=0, design=DESIGN)
    found = of_design.estimate(share, columns=["ill"])
    assert not found.notes
    own = linearised(survey())
    assert 0.7 * own < found.error < 1.6 * own
    assert of_file.error < 0.5 * own
    assert of_design.to_dict()["clusters"] == "village"
    assert "other clusters (village) drawn" in of_design.says
    apart = of_design.estimate(lambda t, w: float(np.average(t["sex"].to_numpy(), weights=w)), columns=["sex"])
    assert np.isnan(apart.error)
    assert "'marginals:sex*village'" in apart.notes[0]


@pytest.mark.parametrize(
    ("design", "said"),
    [
        (Design("town"), "no column 'town'"),
        (Design("village", "sex"), "does not say which sex each village lies in"),
        (Design("ill", "ill"), "has one cluster"),
    ],
)
def test_what_is_no_design_is_refused(design: Design, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        design.stratum_of(DOMAIN)


def test_strata_follow_from_a_rule() -> None:
    entry = {"village": ["a", "b", "c", "d"], "north": ["no", "yes"]}
    rule = {"determines": ["village", "north"], "table": [["a", "no"], ["b", "yes"], ["c", "no"], ["d", "yes"]]}
    domain = domain_from_mapping({"attributes": entry, "constraints": [rule]})
    assert Design("village", "north").stratum_of(domain).tolist() == [0, 1, 0, 1]


def intervals_hold_the_linearised_error(draws: int = 300) -> None:
    """Noise is drawn anew around the exact table; the variance has no bias, and intervals hold the error."""
    release, columns = released(), survey()
    (measured,) = (each for each in release.measurements if each.target.scope == ("village", "ill"))
    exact = np.zeros((STRATA * CLUSTERS, 2))
    np.add.at(exact, (columns["village"], columns["ill"]), columns["w"])
    rng, found = np.random.default_rng(5), []
    for _ in range(draws):
        noisy = replace(measured, values=exact.reshape(-1) + rng.laplace(0.0, 60.0, exact.size), scale=60.0)
        found.append(design_error(replace(release, measurements=(noisy,)), "ill = 1", DESIGN, records=1440))
    own = linearised(columns)
    assert np.mean([each.error**2 for each in found]) == pytest.approx(own**2, rel=0.1)
    assert np.mean([each.low <= own <= each.high for each in found]) > 0.9
    assert np.std([each.share for each in found]) == pytest.approx(found[0].noise, rel=0.15)
    share = np.average(columns["ill"], weights=columns["w"])
    effects = [each.effect for each in found if each.effect is not None]
    assert np.mean(effects) == pytest.approx(own**2 / (share * (1.0 - share) / 1440), rel=0.15)


def test_intervals_hold_the_linearised_error() -> None:
    intervals_hold_the_linearised_error()
    with pytest.raises(ConfigError, match="no table of village x sex was measured"):
        design_error(released(), "sex = 1", DESIGN)


def test_small_noise_has_the_variance_of_its_lattice() -> None:
    """A continuous law of the same scale has more of it: clusters that are nearly alike seemed to be more alike."""
    release, rng = released(), np.random.default_rng(6)
    (measured,) = (each for each in release.measurements if each.target.scope == ("village", "ill"))
    ill = np.arange(STRATA * CLUSTERS) % 2 + 3
    exact, apart = np.column_stack([8 - ill, ill]), STRATA * CLUSTERS * 0.25 * CLUSTERS / (CLUSTERS - 1)
    found = []
    for _ in range(500):
        one, other = rng.geometric(1.0 - np.exp(-1.0 / 0.3), (2, *exact.shape))
        noisy = replace(measured, values=(exact + one - other).reshape(-1).astype(np.float64), scale=0.3)
        found.append(design_error(replace(release, measurements=(noisy,)), "ill = 1", DESIGN).error)
    assert np.mean(np.square(found)) == pytest.approx(apart / exact.sum() ** 2, rel=0.05)


def _noise_left_in(patched: pytest.MonkeyPatch) -> None:
    patched.setattr("hedgerow.simulation.design.LaplaceNoise.std", property(lambda _: 1e-9))


def _all_clusters_drawn(patched: pytest.MonkeyPatch) -> None:
    """As many draws as clusters, and no factor."""

    def plain(design: Design, domain: Domain, draw: Any) -> Any:
        stratum = design.stratum_of(domain)
        return np.concatenate([draw.multinomial(n, np.full(n, 1.0 / n)) for n in np.bincount(stratum)])

    patched.setattr(Design, "factors", plain)


def _strata_forgotten(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Design, "stratum_of", lambda *_: np.zeros(STRATA * CLUSTERS, dtype=np.int64))


MUTANTS = [
    Mutant("noise between clusters taken for their differences", _noise_left_in, intervals_hold_the_linearised_error),
    Mutant("as many clusters drawn as there are", _all_clusters_drawn, draws_have_the_linearised_variance),
    Mutant("clusters drawn without their strata", _strata_forgotten, draws_have_the_linearised_variance),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_design_that_is_lost_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
