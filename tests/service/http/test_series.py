"""Series: partitions that are asked together, each with a budget of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hedgerow.client import RemoteSeries
from hedgerow.client.sending import Sending
from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.budget import GDP, ZCDP, ApproxDP, Budget, PureDP
from hedgerow.service.desks.series import all_series, check_partition, confidence_of_each
from hedgerow.service.store.entries import DataSet, Registration
from tests.service.api import BUDGET, DOMAIN, OPTIONS, RECORDS, Api, api, registration
from tests.service.serving import in_a_thread

MONTHS = ("may", "june", "july")


def partition(name: str, **changed: Any) -> dict[str, Any]:
    source = {"place": f"{name}.csv", "series": "visits", **changed.pop("source", {})}
    return registration(name, source=source, **changed)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as found:
        for name in MONTHS:
            shutil.copy(tmp_path / "data" / "survey.csv", tmp_path / "data" / f"{name}.csv")
        yield found


def register(here: Api, *names: str, **changed: Any) -> str:
    ada = here.token("ada", "custodian")
    for name in names:
        made = here.call("POST", "/v1/datasets", ada, json=partition(name, **changed))
        assert made.status_code == 201, made.text
    return ada


def ask(here: Api, token: str, *texts: str, key: str = "", **more: Any) -> Any:
    body = {"queries": [{"where": text} for text in texts], **more}
    headers = {"Idempotency-Key": key} if key else {}
    return here.call("POST", "/v1/series/visits/queries", token, json=body, headers=headers)


def spent(here: Api, token: str) -> list[float]:
    return [here.call("GET", f"/v1/datasets/{name}", token).json()["spent"] for name in MONTHS]


def test_answers_of_partitions_add_up(here: Api) -> None:
    ada = register(here, *MONTHS)
    told = ask(here, ada, "age < 3", "sex = 'F'", confidence=0.97).json()
    assert [each["where"] for each in told["answers"]] == ["age between 0 and 2", "sex = 'F'"]
    for each in told["answers"]:
        parts = each["parts"]
        assert list(parts) == list(MONTHS)
        for end in ("value", "low", "high", "charged"):
            assert each[end] == pytest.approx(sum(part[end] for part in parts.values()))
        assert each["confidence"] == 0.97
        assert all(part["confidence"] == pytest.approx(0.99) for part in parts.values())
    assert told["series"]["partitions"] == list(MONTHS)


def test_the_parts_are_what_each_data_set_answers(here: Api) -> None:
    ada = register(here, *MONTHS)
    told = ask(here, ada, "age < 3", partitions=["may", "july"], confidence=0.9).json()["answers"][0]
    for name in ("may", "july"):
        alone = here.call(
            "POST", f"/v1/datasets/{name}/queries", ada, json={"queries": [{"where": "age < 3"}], "confidence": 0.95}
        ).json()["answers"][0]
        assert {end: alone[end] for end in ("value", "low", "high")} == {
            end: told["parts"][name][end] for end in ("value", "low", "high")
        }


def test_a_new_partition_costs_the_others_nothing(here: Api) -> None:
    ada = register(here, "may", "june")
    ask(here, ada, "age < 3", "sex = 'F'")
    before = [here.call("GET", f"/v1/datasets/{name}", ada).json()["spent"] for name in ("may", "june")]
    register(here, "july")
    assert ask(here, ada, "age < 3", partitions=["july"]).status_code == 200
    assert spent(here, ada)[:2] == before


def test_a_question_that_is_repeated_is_charged_once(here: Api) -> None:
    ada = register(here, *MONTHS)
    first = ask(here, ada, "age < 3", key="k")
    after = spent(here, ada)
    again = ask(here, ada, "age < 3", key="k")
    assert again.json()["answers"][0]["value"] == first.json()["answers"][0]["value"]
    assert spent(here, ada) == after
    assert ask(here, ada, "age < 4", key="k").status_code == 409


def test_without_one_interval_there_is_none(here: Api) -> None:
    ada = register(here, *MONTHS)
    here.call("POST", "/v1/datasets/june/close", ada)
    found = ask(here, ada, "age < 3").json()["answers"][0]
    assert (found["low"], found["high"], found["confidence"]) == (None, None, None)
    assert found["value"] == pytest.approx(sum(part["value"] for part in found["parts"].values()))
    assert ask(here, ada, "age < 3", partitions=["may", "july"]).json()["answers"][0]["low"] is not None


def test_a_token_sees_the_partitions_that_it_opens(here: Api) -> None:
    register(here, *MONTHS)
    bob = here.token("bob", data_sets=("may", "july"))
    (series,) = here.call("GET", "/v1/series", bob).json()["series"]
    assert series["partitions"] == ["may", "july"]
    assert list(ask(here, bob, "age < 3").json()["answers"][0]["parts"]) == ["may", "july"]
    assert ask(here, bob, "age < 3", partitions=["june"]).status_code == 404
    eve = here.token("eve", data_sets=("survey",))
    assert here.call("GET", "/v1/series", eve).json() == {"series": []}
    assert ask(here, eve, "age < 3").status_code == 404


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"domain": {**DOMAIN, "age": {"min": 0, "max": 10}}}, "domain"),
        ({"budget": {"rho": 1.0, "neighbours": "replace"}}, "unit of budget"),
        ({"budget": {**BUDGET, "neighbours": "add-remove"}}, "neighbours"),
        ({"source": {"in_partitions": 2}}, "number of partitions for a person"),
    ],
)
def test_a_partition_that_does_not_fit_is_refused(here: Api, changed: dict[str, Any], what: str) -> None:
    ada = register(here, "may")
    found = here.call("POST", "/v1/datasets", ada, json=partition("june", **changed))
    assert found.status_code == 409
    assert f"has another {what}" in found.json()["detail"]
    assert here.call("GET", "/v1/datasets/june", ada).status_code == 404
    register(here, "june", budget={"epsilon": 1.0, "neighbours": "replace"})  # another amount is one's own affair


@pytest.mark.parametrize("names", [[], ["may", "may"]])
def test_which_partitions_are_none(here: Api, names: list[str]) -> None:
    ada = register(here, "may", "june")
    assert ask(here, ada, "age < 3", partitions=names).status_code == 422
    assert ask(here, ada, "aage < 3").status_code == 422


def test_the_client_asks_series(here: Api) -> None:
    ada = register(here, *MONTHS)
    with in_a_thread(here.app) as port:
        sending = Sending(f"http://127.0.0.1:{port}", ada)
        (series,) = [RemoteSeries(sending, each) for each in sending.get("/v1/series")["series"]]
        found = series.ask("age < 3", partitions=["may", "june"])
    assert found.value == pytest.approx(sum(each.value for each in found.parts.values()))
    assert list(found.parts) == ["may", "june"]
    assert found.low is not None
    assert 0 < found.value < 2 * RECORDS
    assert repr(series) == "RemoteSeries('visits': may, june, july)"


# The guarantee


def series_of(at_most: int, *budgets: Budget) -> str:
    def data_set(number: int, budget: Budget) -> DataSet:
        source = {"place": "a.csv", "series": "visits", "in_partitions": at_most}
        made = Registration(f"m{number}", "", source, {}, budget.to_dict(), {})
        return DataSet(number, made, "open", 1, datetime.now(UTC), None)

    (found,) = all_series(data_set(number, each) for number, each in enumerate(budgets))
    return found.statement


@pytest.mark.parametrize(
    ("budgets", "at_most", "together"),
    [
        ((PureDP(1.0), PureDP(2.0), PureDP(0.5)), 1, PureDP(2.0)),
        ((PureDP(1.0), PureDP(2.0), PureDP(0.5)), 2, PureDP(3.0000000000000004)),
        ((ZCDP(0.25), ZCDP(0.5)), 5, ZCDP(0.7500000000000001)),
        ((ApproxDP(1.0, 1e-9), ApproxDP(0.5, 1e-9)), 1, ApproxDP(1.0, 1e-9)),
    ],
)
def test_the_guarantee_is_that_of_the_largest_budgets(
    budgets: tuple[Budget, ...], at_most: int, together: Budget
) -> None:
    assert series_of(at_most, *budgets).endswith(f": {together.statement()}")
    assert series_of(at_most, *budgets).startswith(
        "Where each person is in one partition" if at_most == 1 else f"Where each person is in at most {at_most}"
    )


def test_deltas_for_thresholds_do_not_add_up() -> None:
    def new(at_most: int) -> Registration:
        source = {"place": "a.csv", "series": "visits", "in_partitions": at_most}
        return Registration("m", "", source, {}, ApproxDP(1.0, 1e-6, thresholds=1e-7).to_dict(), {})

    check_partition(new(1), [])
    with pytest.raises(ConfigError, match="thresholds"):
        check_partition(new(2), [])


def test_gaussian_budgets_add_up_by_their_squares() -> None:
    assert "0.5" in series_of(2, GDP(0.3), GDP(0.4))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_all_intervals_hold_together(count: int) -> None:
    assert count * (1.0 - confidence_of_each(0.9, count)) == pytest.approx(0.1)


def test_options_of_tests_are_the_usual_ones() -> None:
    assert OPTIONS["first_release"] == 0.0
