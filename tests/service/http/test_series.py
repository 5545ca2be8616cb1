"""Series: partitions that are asked together, each with a budget of its own."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from hedgerow import OnlinePMW
from hedgerow.client import RemoteSeries, connect
from hedgerow.client.sending import Sending
from hedgerow.errors import ConfigError, ConflictError, HedgerowError
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.service import (
    DataSet,
    Registration,
    Series,
    SessionWorkers,
    Store,
    confidence_of_each,
    open_series,
    read_private,
)
from hedgerow.service.sessions import series as series_module, workers
from tests.privacy.mutants import Mutant, killed
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

    (found,) = series_module.all_series(data_set(number, each) for number, each in enumerate(budgets))
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

    series_module.check_partition(new(1), [])
    with pytest.raises(ConfigError, match="thresholds"):
        series_module.check_partition(new(2), [])


def test_gaussian_budgets_add_up_by_their_squares() -> None:
    assert "0.5" in series_of(2, GDP(0.3), GDP(0.4))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_all_intervals_hold_together(count: int) -> None:
    assert count * (1.0 - confidence_of_each(0.9, count)) == pytest.approx(0.1)


def test_options_of_tests_are_the_usual_ones() -> None:
    assert OPTIONS["first_release"] == 0.0


# Partitions that are unlike


def together_at(address: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *others: dict[str, Any]) -> list[Any]:
    """Register partitions at once, each at a worker of its own as of another process; the result or the error of each.

    All have passed the check of what was registered before, and have read their tables, before one is written.
    """
    (folder / "a.csv").write_text("a\n" + "0\n1\n" * 50)
    met = threading.Barrier(len(others))
    monkeypatch.setattr(workers, "read_private", lambda *read, **how: (read_private(*read, **how), met.wait(20))[0])
    stores = [Store.open(address) for _ in others]
    ada = stores[0].add_person("ada", "custodian", by=None)

    def register(place: int) -> Any:
        made = {"domain": {"a": {"min": 0, "max": 1}}, "budget": PureDP(1.0, "replace").to_dict(), **others[place]}
        source = {"place": "a.csv", "series": "visits", **made.pop("source", {})}
        new = Registration(f"m{place}", "", source, config=OnlinePMW().parameters(), **made)
        at = SessionWorkers(stores[place], folder, noise=lambda _: SeededNoise(1), tick=0.0)
        try:
            return at.register(new, by=ada)
        except HedgerowError as error:
            return error
        finally:
            at.close()

    with ThreadPoolExecutor(len(others)) as pool:
        found = list(pool.map(register, range(len(others))))
    found.append(stores[0].data_sets())
    for each in stores:
        each.close()
    return found


UNLIKE = [
    {"domain": {"a": {"min": 0, "max": 2}}},
    {"source": {"in_partitions": 2}},
    {"budget": PureDP(1.0).to_dict()},
]


@pytest.mark.parametrize("changed", UNLIKE, ids=["domain", "in_partitions", "neighbours"])
def test_of_unlike_partitions_that_are_registered_at_once_one_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    *both, kept = together_at(address, tmp_path, monkeypatch, {}, changed)
    (refused,) = [each for each in both if isinstance(each, HedgerowError)]
    assert isinstance(refused, ConflictError), refused
    assert "has another" in refused.message
    assert refused.remedy
    assert [each.name for each in kept] == [each.name for each in both if isinstance(each, DataSet)]


def test_like_partitions_that_are_registered_at_once_are_all_kept(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *made, kept = together_at(address, tmp_path, monkeypatch, {}, {}, {})
    assert {each.name for each in made} == {each.name for each in kept} == {"m0", "m1", "m2"}


@pytest.mark.parametrize(
    "changed", [{"domain": dict(reversed(DOMAIN.items()))}, {"source": {"columns": ["age", "sex"]}}]
)
def test_columns_that_are_others_or_in_another_order_are_another_domain(here: Api, changed: dict[str, Any]) -> None:
    ada = register(here, "may")
    found = here.call("POST", "/v1/datasets", ada, json=partition("june", **changed))
    assert (found.status_code, "another domain" in found.text) == (409, True), found.text


def planted(here: Api, **changed: Any) -> None:
    """Write a partition into the store that a version without the check may have let in."""
    told = partition("june", **changed)
    budget = PureDP(told["budget"]["epsilon"], told["budget"]["neighbours"]).to_dict()
    config = here.store.data_set("may").registration.config
    here.store.register(Registration("june", "", told["source"], told["domain"], budget, config), by=None)


@pytest.mark.parametrize(
    "changed",
    [
        {"domain": {**DOMAIN, "age": {"min": 0, "max": 10}}},
        {"source": {"in_partitions": 2}},
        {"budget": {**BUDGET, "neighbours": "add-remove"}},
    ],
)
def test_a_series_of_unlike_partitions_states_nothing(here: Api, changed: dict[str, Any]) -> None:
    ada = register(here, "may", "july")
    planted(here, **changed)
    for found in (here.call("GET", "/v1/series", ada), ask(here, ada, "age < 3"), ask(here, ada, "age < 3", key="k")):
        assert found.status_code == 409, found.text
        assert "do not have the same" in found.json()["detail"]
        assert "one by one" in found.json()["remedy"]
    assert spent(here, ada) == [0.0, 0.0, 0.0]
    refused = here.call("POST", "/v1/datasets", ada, json=partition("new", source={"place": "may.csv"}))
    assert refused.status_code == 409
    alone = here.call("POST", "/v1/datasets/may/queries", ada, json={"queries": [{"where": "age < 3"}]})
    assert alone.status_code == 200, "each data set has a guarantee of its own"
    elsewhere = partition("new", source={"place": "may.csv", "series": "later"})
    assert here.call("POST", "/v1/datasets", ada, json=elsewhere).status_code == 201


def test_who_does_not_see_the_unlike_partition_is_refused_too_and_learns_no_name(here: Api) -> None:
    register(here, "may", "july")
    planted(here, source={"in_partitions": 2})
    bob = here.token("bob", data_sets=("may", "july"))
    for found in (here.call("GET", "/v1/series", bob), ask(here, bob, "age < 3")):
        assert found.status_code == 409
        assert "june" not in found.text
    eve = here.token("eve", data_sets=("survey",))
    assert here.call("GET", "/v1/series", eve).json() == {"series": []}


def test_the_client_tells_of_unlike_partitions(here: Api) -> None:
    ada = register(here, "may")
    planted(here, source={"in_partitions": 2})
    with in_a_thread(here.app) as port, pytest.raises(ConflictError, match="do not have the same"):
        connect(f"http://127.0.0.1:{port}", token=ada).series()


# The largest budgets, where some keep a part of delta for thresholds


def test_the_largest_budget_is_the_one_that_promises_least() -> None:
    learnt, listed = ApproxDP(1.0, 1e-6, thresholds=9e-7), ApproxDP(0.93, 1e-6)
    assert learnt.limit < listed.limit, "by rho the second would be the larger"
    for budgets in ((learnt, listed), (listed, learnt)):
        told = series_of(1, *budgets)
        assert "epsilon = 1 and delta = 1e-06" in told
        assert "accounted" not in told, "neither's rho holds for the other"


def test_where_all_keep_the_same_part_the_accounting_is_told() -> None:
    learnt = ApproxDP(1.0, 1e-6, thresholds=9e-7), ApproxDP(0.93, 1e-6, thresholds=9e-7)
    assert series_of(1, *learnt).endswith(learnt[0].statement())


# Planted bugs


def one_of_two_is_refused() -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        *both, _ = together_at(f"sqlite:///{folder}/store.db", Path(folder), patched, {}, UNLIKE[1])
    assert {type(each) for each in both} == {ConflictError, DataSet}


def unlike_partitions_are_not_asked() -> None:
    def of(number: int, at_most: int) -> DataSet:
        source = {"place": "a.csv", "series": "visits", "in_partitions": at_most}
        made = Registration(f"m{number}", "", source, {"a": ["x"]}, PureDP(1.0).to_dict(), {})
        return DataSet(number, made, "open", 1, datetime.now(UTC), None)

    try:
        open_series([of(0, 1), of(1, 2)], lambda _: True)
    except ConflictError:
        return
    raise AssertionError("a series of unlike partitions is told")


def without_the_check(original: Any) -> Any:
    return lambda self, new, *, by, fits: original(self, new, by=by)


def told_with_its_rho(original: Any) -> Any:
    return lambda self, accounted=True: original(self)


MUTANTS = [
    Mutant(
        "partitions are compared with those of a snapshot alone",
        lambda patch: patch.setattr(Store, "register", without_the_check(Store.register)),
        one_of_two_is_refused,
    ),
    Mutant(
        "a series of unlike partitions states a guarantee",
        lambda patch: patch.setattr(Series, "check", lambda self: None),
        unlike_partitions_are_not_asked,
    ),
    Mutant(
        "the largest budget of a series is the one with the largest rho",
        lambda patch: patch.setattr(series_module, "_promised", lambda budget: budget.limit),
        test_the_largest_budget_is_the_one_that_promises_least,
    ),
    Mutant(
        "the rho of one partition is told for all",
        lambda patch: patch.setattr(ApproxDP, "statement", told_with_its_rho(ApproxDP.statement)),
        test_the_largest_budget_is_the_one_that_promises_least,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_planted_bug_of_series_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
