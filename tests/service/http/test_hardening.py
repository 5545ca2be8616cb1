"""What somebody tried who wanted to spend what is not theirs, or to learn what was not paid for."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

import hedgerow
from hedgerow import OnlinePMW, OnlineSession
from hedgerow.algorithms import OnlineAnswer
from hedgerow.algorithms.online_pmw.hypothesis import OnlineHypothesis
from hedgerow.domain import domain_to_mapping
from hedgerow.errors import (
    ConfigError,
    DataError,
    HedgerowError,
    MarginalTooLargeError,
    ModelTooLargeError,
    QueryError,
    StoreBusyError,
    TooMuchError,
)
from hedgerow.queries import LinearQuery
from hedgerow.service import MOST_CONFIDENCE, Caller, domain_of, ledger_of, new_token, read_private, summary_of
from hedgerow.service.http.problems import problem_of
from hedgerow.service.http.requests import QuestionRequest
from hedgerow.service.http.routes_questions import _drawn, parsed_questions
from hedgerow.service.sessions import group
from hedgerow.service.sessions.tables import checked_place
from tests.service.api import DOMAIN, api, registration
from tests.service.stack import AtWorker, Lens, at_worker, question, skewed


def test_a_confidence_that_vanishes_in_rounding_spends_nothing(tmp_path: Path) -> None:
    """It was found out only after the look at the data: each such question lost a hold, whatever the person's share."""
    with api(tmp_path) as here:
        analyst, name = here.token("ada"), "/v1/datasets/survey"
        before = ledger_of(here.store, here.store.data_set("survey"))
        for confidence in (0.9999999999999999, 1.0 - 1e-12):
            asked = {"queries": [{"where": "age = 1"}], "confidence": confidence}
            assert here.call("POST", f"{name}/queries", analyst, json=asked).status_code == 422
            with pytest.raises(ConfigError, match="confidence"):
                here.workers.ask(here.store.data_set("survey"), [], person=here.person("ada"), confidence=confidence)
        assert ledger_of(here.store, here.store.data_set("survey")) == before
        asked = {"queries": [{"where": "age = 1"}, {"where": "age < 3 or sex = 'F'"}], "confidence": MOST_CONFIDENCE}
        assert here.call("POST", f"{name}/queries", analyst, json=asked).status_code == 200


@pytest.fixture
def databases(tmp_path: Path) -> Path:
    """A DuckDB file in the server's folder, and one beside that folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    for file in (folder / "in side.db", tmp_path / "secret.db"):
        with duckdb.connect(str(file)) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    return folder


@pytest.mark.parametrize(
    "place",
    [
        "duckdb:..%252fsecret.db#t",
        "duckdb:..%2fsecret.db#t",
        "duckdb:../secret.db#t",
        "duckdb:///../secret.db#t",
        "duckdb:////secret.db#t",
        "duckdb://{folder}/..%252fsecret.db#t",
        "duckdb://{folder}/../secret.db#t",
        "{folder}/../secret.db",
        " postgresql:../secret.csv",
        " postgresql://host/secret#t",
    ],
)
def test_nothing_beside_the_folder_is_read(databases: Path, place: str) -> None:
    """A path that was unquoted twice led out of the folder."""
    source = {"place": place.format(folder=databases)}
    with pytest.raises(HedgerowError) as caught:
        read_private(source, domain_of({"a": [1, 2]}, {}), databases)
    if isinstance(caught.value, DataError):  # it was looked for in the folder
        assert caught.value.message.startswith(f"{databases.resolve()}/")


@pytest.mark.parametrize(
    "place", ["duckdb:in%20side.db#t", "duckdb:///in%20side.db#t", "duckdb://{folder}/in%20side.db#t"]
)
def test_what_lies_in_the_folder_is_read(databases: Path, place: str) -> None:
    """The form of the documentation, with three slashes, too."""
    source: dict[str, Any] = {"place": place.format(folder=databases)}
    assert checked_place(source["place"], databases).endswith("/in%20side.db#t")
    assert read_private(source, domain_of({"a": [1, 2]}, {}), databases).total() == 1


def test_the_summary_never_shows_less_than_was_spent(tmp_path: Path) -> None:
    """While the data are looked at, or after a crash then, it had lost its numbers where an epoch had been opened."""
    people: list[AtWorker] = []
    shown: list[tuple[float, float, float]] = []

    def reached(step: str) -> None:
        if step == "held" and people:
            data_set = people[0].data_set
            summary = summary_of(people[0].store, data_set, people[0].bob)
            ledger = ledger_of(people[0].store, data_set)
            shown.append((summary["spent"], ledger["spent"], summary["total"]))

    with at_worker(tmp_path, reached=reached) as started:
        people.append(started)
        started.ask("a = 1", "b = 1")
    assert shown
    assert all(spent == booked > 0.0 and total == 19984.0 for spent, booked, total in shown)


def test_a_custodian_of_some_data_sets_is_none_of_the_others(tmp_path: Path) -> None:
    """Another data set over the same table, with any budget, would give away what the scope keeps."""
    with api(tmp_path) as here:
        scoped, whole = here.token("carol", "custodian", data_sets=("survey",)), here.token("carol", "custodian")
        refused = [
            here.call("POST", "/v1/datasets", scoped, json=registration("more", budget={"epsilon": 1000.0})),
            here.call("PUT", "/v1/files/more.csv", scoped, content=b"a\n1\n"),
            here.call("DELETE", f"/v1/tokens/{whole.split('_')[1]}", scoped),
        ]
        assert [each.status_code for each in refused] == [403, 403, 404]
        assert [each.name for each in here.store.data_sets()] == ["survey"]
        assert here.call("DELETE", f"/v1/tokens/{scoped.split('_')[1]}", scoped).status_code == 204


def test_nothing_tells_how_much_memory_is_free() -> None:
    """The size of the private tables shows in it."""
    needs = {"cells": 10**12, "required_bytes": 2**43, "available_bytes": 123_456_789}
    for error in (
        ModelTooLargeError(**needs),
        MarginalTooLargeError(attributes=("a",), **needs),
    ):
        assert "117" in error.message
        told = json.loads(bytes(problem_of(error).body))
        assert "117" not in str(told)
        assert "123" not in str(told)
        assert "8,192.0 GiB" in told["detail"]


def test_a_question_that_does_not_fit_into_memory_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peek = OnlineSession.peek

    def peeked(self: OnlineSession, query: LinearQuery, *args: Any, **kwargs: Any) -> OnlineAnswer:
        if query.scope == ("c",):
            raise MarginalTooLargeError(attributes=("c",), cells=1, required_bytes=1, available_bytes=0)
        return peek(self, query, *args, **kwargs)

    monkeypatch.setattr(OnlineSession, "peek", peeked)
    with at_worker(tmp_path) as people:
        people.ask("a = 1")
        people.store.close_data_set(people.data_set.id, by=None)
        wide, narrow = people.together(["c = 1"], ["b = 1"])
        assert isinstance(wide, MarginalTooLargeError)
        assert isinstance(narrow, list)
        assert narrow[0].source == "hypothesis only"


def test_clocks_are_coarse(tmp_path: Path) -> None:
    """To the microsecond they would tell how long the data were looked at, in spite of the ticks."""
    with api(tmp_path) as here:
        analyst = here.token("ada")
        here.call("POST", "/v1/datasets/survey/queries", analyst, json={"queries": [{"where": "age = 1"}]})
        (told,) = here.call("GET", "/v1/datasets/survey/answers", analyst).json()["answers"]
        assert datetime.fromisoformat(told["at"]).microsecond == 0
        lines = here.call("GET", "/v1/metrics").text.splitlines()
        sums = [float(line.split()[-1]) for line in lines if line.startswith("hedgerow_request_seconds_sum")]
        assert sums
        assert all(round(100 * each, 6).is_integer() for each in sums)


def test_conditions_of_a_batch_fit_into_memory_together(tmp_path: Path) -> None:
    """A thousand of them, of a million cells each, were in memory at the same time."""
    wide = {"a": {"min": 0, "max": 999}, "b": {"min": 0, "max": 999}}
    domain = domain_of(wide, {})
    asked = [QuestionRequest(where=f"a = {number} or b = 1") for number in range(1000)]
    with pytest.raises(TooMuchError, match="first 5 questions are larger"):
        parsed_questions(asked, domain, "wide")
    assert len(parsed_questions(asked[:4], domain, "wide")) == 4
    codes = domain_of({"code": [f"code-{number:05}" * 100 for number in range(20_000)]}, {})
    short = parsed_questions([QuestionRequest(where=f"code != '{'code-00001' * 100}'")] * 100, codes, "wide")
    assert sum(len(each.text) for each in short) < 110_000  # 2 GB, where all others were listed
    long = domain_of({"code": ["x", *(f"{number}" * 9000 for number in range(8))]}, {})
    with pytest.raises(TooMuchError, match="canonical form"):
        parsed_questions([QuestionRequest(where="code != 'x'")] * 100, long, "wide")
    listed = {"attribute": "a", "in": [1] * 4500}
    with pytest.raises(TooMuchError, match="characters together"):
        parsed_questions([QuestionRequest(predicate=listed)] * 20, domain, "wide")
    assert len(parsed_questions([QuestionRequest(predicate=listed)] * 10, domain, "wide")) == 10


def test_files_that_nobody_fetches_do_not_pile_up(tmp_path: Path) -> None:
    """They have no name any more, but take room on the disk."""
    with api(tmp_path, downloads=1) as here:
        service, data_set = here.app.state.service, here.store.data_set("survey")
        by = Caller(here.person("carol"), new_token(1).token)
        files = [_drawn(service, data_set, 5, "csv", by)[0] for _ in range(8)]
        with pytest.raises(StoreBusyError):
            _drawn(service, data_set, 5, "csv", by)
        files.pop().close()
        _drawn(service, data_set, 5, "csv", by)[0].close()
        for each in files:
            each.close()


@pytest.mark.parametrize("option", ["password=x", "pass%77ord=x", "passfile=/etc/x", "service=other", "dbname=x"])
def test_an_address_names_no_other_password(tmp_path: Path, option: str) -> None:
    with pytest.raises(ConfigError, match="password"):
        checked_place(f"postgresql://host/db?{option}#t", tmp_path)


def test_what_a_failure_loses_is_charged_to_whoever_asked(tmp_path: Path) -> None:
    """Else a share of the budget bounds nothing, as soon as somebody finds a question that fails after the hold."""
    broken = [True]

    def looked() -> None:
        if broken[0]:
            raise RuntimeError

    with at_worker(tmp_path, source=Lens(skewed(), looked)) as people:
        people.worker.look_at(lambda _: None)
        price = people.worker.look_at(lambda session: session.price)
        people.store.set_grant(people.data_set.id, people.bob.id, None, 1.5 * price, by=None)
        for _ in range(5):
            with suppress(RuntimeError):
                people.ask("a = 1")
        assert 1 <= people.labels().count("lost") <= 2
        assert people.store.grant(people.data_set.id, people.bob.id).spent > 0.5 * price
        broken[0] = False
        assert people.ask("a = 1")[0].source == "hypothesis only"
        assert people.ask("a = 1", by=people.ada)[0].source in ("data", "hypothesis")


def test_an_opening_that_must_fail_is_tried_once(tmp_path: Path) -> None:
    """Each question of an analyst had begun it anew, and spent on the number of records."""
    with api(tmp_path) as here:
        custodian, analyst = here.token("carol", "custodian"), here.token("ada")
        hopeless = registration("bad", budget={"epsilon": 1.0}, options={"variant": "4a", "alpha": 0.01})
        assert here.call("POST", "/v1/datasets", custodian, json=hopeless).status_code == 422
        asked = [
            here.call("POST", "/v1/datasets/bad/queries", analyst, json={"queries": [{"where": "age = 1"}]})
            for _ in range(3)
        ]
        assert [each.status_code for each in asked] == [409] * 3
        ledger = here.call("GET", "/v1/datasets/bad/ledger", custodian).json()
        assert [each["label"] for each in ledger["events"]] == ["lost"]
        told = here.call("GET", "/v1/datasets/bad", analyst).json()
        assert 0.0 < told["retry_price"] <= told["limit"] - told["spent"]
        assert (told["status"], told["spent"]) == ("failed", ledger["spent"])


@pytest.mark.parametrize("content", [None, b"junk"])
def test_an_earlier_release_that_cannot_be_read_is_told(tmp_path: Path, content: bytes | None) -> None:
    with api(tmp_path) as here:
        if content is not None:
            (here.folder / "old.release").write_bytes(content)
        source = {"place": "survey.csv", "warm": "old.release"}
        sent = registration("warm", source=source)
        answer = here.call("POST", "/v1/datasets", here.token("carol", "custodian"), json=sent)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
        assert "old.release" in answer.json()["detail"]
        assert str(tmp_path) not in answer.text


def test_a_data_set_from_a_release_with_learnt_values_keeps_their_delta(tmp_path: Path) -> None:
    domain = {**DOMAIN, "job": {"values": {"learn": 2}, "missing": True}}
    with api(tmp_path) as here:
        (here.folder / "open.yaml").write_text(json.dumps({"attributes": domain}))
        found = hedgerow.synthesize(
            str(here.folder / "survey.csv"), epsilon=4.0, delta=1e-6, domain=str(here.folder / "open.yaml")
        )
        found.release.save(here.folder / "old.release")
        spent = sum(event.delta for event in found.release.events)
        assert spent > 0.0
        told = {
            "source": {"place": "survey.csv", "warm": "old.release"},
            "domain": domain_to_mapping(found.release.domain),
            "budget": {"epsilon": 8.0, "delta": 1e-6, "neighbours": "add-remove"},
        }
        carol = here.token("carol", "custodian")
        made = here.call("POST", "/v1/datasets", carol, json=registration("warm", **told))
        assert made.status_code == 201, made.text
        assert f"{spent:.3g} of delta kept for thresholds" in made.json()["statement"]
        told["budget"] = {"rho": 2.0, "neighbours": "add-remove"}
        short = here.call("POST", "/v1/datasets", carol, json=registration("short", **told))
        assert short.status_code == 422
        assert "learnt values by thresholds" in short.text


def test_what_is_remembered_for_ever_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question about a million cells took 15 MB until the data set was closed, and after each start again."""
    monkeypatch.setattr(group, "MOST_REMEMBERED", 20)
    with at_worker(tmp_path) as people:
        first = people.ask("a = 1 or b = 2", "a = 1 or b = 1", "a = 0 or c = 2")
        assert [each.source in ("hypothesis", "data") for each in first] == [True, True, False]
        assert first[2].source == "hypothesis only"
        assert "as many groups and conditions" in first[2].covers
        assert people.ask("a = 1 or b = 2")[0].source == "cache"
        assert people.ask("b = 3")[0].source in ("hypothesis", "data")
        remembered = people.worker.look_at(lambda session: session.remembered)
        people.repository.forget()
        assert people.worker.look_at(lambda session: session.remembered) == remembered == 16


def test_the_counts_of_groups_are_remembered_within_the_same_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each took 40 bytes for each of its counts, and groups of 10,000 counts are as many as pairs of attributes."""
    monkeypatch.setattr(group, "MOST_REMEMBERED", 100)
    with at_worker(tmp_path, config=OnlinePMW(variant="4c", updates=6, threshold=0.02)) as people:
        first = people.ask("by b,c", "by a,c")
        assert [each.source in ("hypothesis", "data") for each in first] == [True, False]
        assert "as many groups and conditions" in first[1].covers
        assert people.worker.look_at(lambda session: session.remembered) == 80


def test_a_refused_group_does_not_have_the_session_put_together_again(tmp_path: Path) -> None:
    with at_worker(tmp_path) as people:  # it learns by the steps of a theorem
        people.worker.look_at(lambda _: None)
        before = people.repository.changes
        with pytest.raises(QueryError):
            people.worker.look_at(lambda session: session.check_group(question("by a")))  # type: ignore[arg-type]
        people.worker.look_at(lambda _: None)
        assert people.repository.changes == before


def test_a_hypothesis_without_room_for_an_answer_loses_no_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails before the look, although something is held."""
    value = OnlineHypothesis.value

    def full(self: OnlineHypothesis, query: LinearQuery) -> float:
        if query.scope == ("c",):
            raise MarginalTooLargeError(attributes=("c",), cells=1, required_bytes=1, available_bytes=0)
        return value(self, query)

    monkeypatch.setattr(OnlineHypothesis, "value", full)
    with at_worker(tmp_path) as people:
        for _ in range(3):
            with pytest.raises(MarginalTooLargeError):
                people.ask("c = 1")
        assert people.labels() == ["watch"]
        assert people.hold() is None
        assert people.ask("b = 1")[0].source in ("hypothesis", "data")
        assert "lost" not in people.labels()
