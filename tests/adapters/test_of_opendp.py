"""Measurements of OpenDP: their maps, what they refuse, and that OpenDP composes and spends them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import opendp.prelude as dp
import pyarrow as pa
import pytest
from opendp.mod import OpenDPException

from hedgerow import Categorical, Domain, Synthesizer
from hedgerow.adapters import opendp_measurement
from hedgerow.errors import ConfigError, DomainError
from hedgerow.privacy import GDP, ZCDP, Budget

DOMAIN = {"sex": ["F", "M"], "smokes": ["no", "yes"]}
PEOPLE = pa.table({"sex": ["F", "M"] * 400, "smokes": ["no", "yes", "no", "no"] * 200, "who": list(range(400)) * 2})


def made(**options: Any) -> Synthesizer:
    return Synthesizer(**{"domain": DOMAIN, "columns": ("sex", "smokes"), **options})


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_pure_epsilon_adds_up(epsilon: float) -> None:
    found = opendp_measurement(made(epsilon=epsilon))
    assert (found.output_measure, found.input_metric) == (dp.max_divergence(), dp.symmetric_distance())
    assert found.map(1) == epsilon
    assert found.map(0) == 0.0
    assert 3 * epsilon <= found.map(3) <= 3 * epsilon * (1 + 1e-11)


@pytest.mark.parametrize(("budget", "rho"), [(ZCDP(0.05), 0.05), (GDP(0.4), 0.08)])
def test_rho_grows_with_the_square(budget: Budget, rho: float) -> None:
    found = opendp_measurement(made(budget=budget))
    assert found.output_measure == dp.zero_concentrated_divergence()
    assert found.map(1) == pytest.approx(rho, rel=1e-12)
    assert 9 * rho <= found.map(3) * (1 + 1e-15) <= 9 * rho * (1 + 1e-11)


def test_delta_of_a_group_is_that_of_the_lemma() -> None:
    found = opendp_measurement(made(epsilon=0.5, delta=1e-9))
    assert found.output_measure == dp.fixed_smoothed_max_divergence()
    assert found.map(1) == (0.5, 1e-9)
    epsilon, delta = found.map(3)
    exact = 1e-9 * (1 + math.exp(0.5) + math.exp(1.0))
    assert (epsilon, delta) == (pytest.approx(1.5), pytest.approx(exact))
    assert (epsilon, delta) >= (1.5, exact)
    assert found.map(10**6)[1] == 1.0


def test_distances_are_those_of_the_neighbours() -> None:
    assert opendp_measurement(made(neighbours="replace")).input_metric == dp.change_one_distance()
    of_persons = opendp_measurement(made(person="who", at_most=2))
    assert of_persons.input_metric not in (dp.symmetric_distance(), dp.change_one_distance())
    assert "persons: add-remove" in str(of_persons.input_metric)
    weighted = opendp_measurement(made(weight="who", largest_weight=9))
    assert weighted.input_metric == dp.symmetric_distance()


def test_a_call_makes_records_and_leaves_the_synthesizer_alone() -> None:
    synthesizer = made(epsilon=2.0, person="who", at_most=2)
    found = opendp_measurement(synthesizer)(PEOPLE)
    assert found.sample(5).column_names == ["sex", "smokes"]
    assert 1.0 < found.release.spent <= 2.0
    assert found.release.provenance.secure
    with pytest.raises(ConfigError, match="not fitted"):
        synthesizer.sample(1)


def test_opendp_composes_it_and_keeps_the_common_budget() -> None:
    cheap, dear = opendp_measurement(made(epsilon=0.5)), opendp_measurement(made(epsilon=2.0))
    composed = dp.c.make_adaptive_composition(
        cheap.input_domain, cheap.input_metric, cheap.output_measure, d_in=1, d_mids=[0.5, 1.0]
    )
    assert composed.map(1) == 1.5
    queryable = composed(PEOPLE.select(["sex", "smokes"]))
    assert queryable(cheap).sample(3).num_rows == 3
    with pytest.raises(OpenDPException, match="insufficient budget"):
        queryable(dear)


def test_it_follows_transformations_of_opendp() -> None:
    found = opendp_measurement(made(epsilon=1.0))
    dropped = dp.t.make_user_transformation(
        found.input_domain,
        found.input_metric,
        found.input_domain,
        found.input_metric,
        lambda table: table.select(["sex", "smokes"]),
        lambda d_in: d_in,
    )
    chained = dropped >> found
    assert chained.map(2) == found.map(2)
    assert chained(PEOPLE).sample(2).num_rows == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seed": 0}, "seeded"),
        ({"accept_draft": True}, "draft"),
        ({"count_column": "who"}, "rows that stand for several"),
        ({"domain": None}, "not known before"),
        ({"domain": {"sex": ["F", "M"], "smokes": {"values": {"learn": 5}}}}, "not known before"),
        ({"domain": Domain([Categorical("sex", ("F", "M"))], draft=True), "columns": None}, "not known before"),
    ],
)
def test_what_the_map_would_not_cover_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as found:
        opendp_measurement(made(**options))
    assert found.value.remedy


def test_a_file_may_say_the_domain(tmp_path: Path) -> None:
    (tmp_path / "domain.yaml").write_text("sex: [F, M]\nsmokes: ['no', 'yes']\n")
    assert opendp_measurement(made(domain=tmp_path / "domain.yaml")).map(1) == 1.0
    with pytest.raises(DomainError):
        opendp_measurement(made(domain=tmp_path / "other.yaml"))
