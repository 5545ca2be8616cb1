"""Questions that are repeated: nothing is written for them, and a reply is given again while nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hedgerow.service import Store
from hedgerow.service.http.admission import Replies
from tests.service.api import Api, api

QUERIES = "/v1/datasets/survey/queries"
TABLES = "/v1/datasets/survey/tables"
ASKED = {"queries": [{"where": "age = 1"}, {"where": "sex = 'F' and age < 3"}]}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as started:
        yield started


def ask(here: Api, token: str, path: str = QUERIES, asked: Any = ASKED, **headers: str) -> Any:
    told = here.call("POST", path, token, json=asked, headers=headers)
    assert told.status_code == 200, told.text
    return told


@pytest.mark.parametrize(
    ("path", "asked"), [(QUERIES, ASKED), (TABLES, {"sql": "SELECT sex, COUNT(*), AVG(age) FROM survey GROUP BY sex"})]
)
def test_a_repeated_question_writes_nothing_and_has_the_same_reply(here: Api, path: str, asked: Any) -> None:
    ada = here.token("ada")
    first, before = ask(here, ada, path, asked).json(), here.store.stamp()
    second, third = ask(here, ada, path, asked), ask(here, ada, path, asked)
    assert here.store.stamp() == before
    assert (third.content, third.headers["content-type"]) == (second.content, second.headers["content-type"])
    told = second.json()
    assert told["dataset"] == first["dataset"]
    if path == QUERIES:
        kept = ("sql", "where", "value", "low", "high", "confidence")
        assert [[each[name] for name in kept] for each in told["answers"]] == [
            [each[name] for name in kept] for each in first["answers"]
        ]
        assert {each["source"] for each in told["answers"]} == {"cache"}
        assert {each["charged"] for each in told["answers"]} == {0.0}
        assert {each["spent"] for each in told["answers"]} == {first["dataset"]["spent"]}
    else:
        assert (told["rows"], told["charged"]) == (first["rows"], 0.0)


def test_repeats_are_neither_counted_nor_listed_nor_limited(here: Api) -> None:
    ada, carol = here.token("ada"), here.token("carol", "custodian")
    here.call("PUT", "/v1/datasets/survey/grants/ada", carol, json={"queries": 2, "budget": None})
    ask(here, ada)
    for _ in range(3):
        assert ask(here, ada).json()["dataset"]["mine"]["asked"] == 2
    assert ask(here, ada, asked={"queries": ASKED["queries"][1:]}).json()["dataset"]["mine"]["asked"] == 2
    assert len(here.call("GET", "/v1/datasets/survey/answers", ada).json()["answers"]) == 2
    refused = here.call("POST", QUERIES, ada, json={"queries": [{"where": "age = 2"}]})
    assert refused.status_code == 403


def test_another_confidence_or_person_is_another_question(here: Api) -> None:
    ada, bob = here.token("ada"), here.token("bob")
    ask(here, ada)
    assert ask(here, ada, asked={**ASKED, "confidence": 0.8}).json()["dataset"]["mine"]["asked"] == 4
    told = ask(here, bob).json()
    assert (told["dataset"]["mine"]["asked"], told["dataset"]["asked"]) == (2, 6)
    assert {each["source"] for each in told["answers"]} == {"cache"}
    assert len(here.call("GET", "/v1/datasets/survey/answers", bob).json()["answers"]) == 2


def test_a_reply_is_made_anew_once_anything_was_committed(here: Api) -> None:
    ada, bob = here.token("ada"), here.token("bob")
    for _ in range(3):
        before = ask(here, ada).json()
    ask(here, bob, asked={"queries": [{"where": "age = 7"}]})
    after = ask(here, ada).json()
    assert after["dataset"]["asked"] == before["dataset"]["asked"] + 1
    assert [each["value"] for each in after["answers"]] == [each["value"] for each in before["answers"]]


def test_replies_are_told_apart_by_token_key_and_words(here: Api) -> None:
    ada, carol = here.token("ada"), here.token("carol", "custodian")
    for token in (ada, carol):
        for _ in range(3):
            told = ask(here, token).json()["dataset"]
            assert (told["account"]["held"] is None) == (token == ada)  # custodians are told more
    keyed = {"Idempotency-Key": "once"}
    first = ask(here, ada, asked={"queries": [{"where": "age = 5"}]}, **keyed).json()
    for _ in range(3):
        assert ask(here, ada, asked={"queries": [{"where": "age = 5"}]}, **keyed).json()["answers"] == first["answers"]
    assert here.call("POST", QUERIES, ada, json=ASKED, headers=keyed).status_code == 409
    for _ in range(2):
        wrong = here.call(
            "POST", QUERIES, ada, content=b'{"queries": [{"where": "age = 1"}]}', headers={"Content-Type": "text/plain"}
        )
        assert wrong.status_code == 422


def test_a_token_that_is_revoked_opens_nothing_from_then_on(here: Api, tmp_path: Path) -> None:
    """Also if another process revokes it, and for requests whose replies are kept."""
    tokens = [here.token("ada"), here.token("ada")]
    for token in tokens:
        for _ in range(3):
            ask(here, token)
    here.store.revoke(tokens[0].split("_")[1], by=None)
    other = Store.open(tmp_path / "store.db")
    other.revoke(tokens[1].split("_")[1], by=None)
    other.close()
    for token in tokens:
        for path in (QUERIES, "/v1/me"):
            refused = here.call("POST" if path == QUERIES else "GET", path, token, json=ASKED)
            assert (refused.status_code, refused.json()["detail"]) == (401, "this token was revoked")


def test_repeats_count_against_the_rate_of_their_token(tmp_path: Path) -> None:
    with api(tmp_path, requests_per_minute=5) as here:
        ada = here.token("ada")
        for _ in range(5):
            ask(here, ada)
        assert here.call("POST", QUERIES, ada, json=ASKED).status_code == 429


def test_what_was_answered_is_given_again_when_the_data_set_is_closed(here: Api) -> None:
    ada, carol = here.token("ada"), here.token("carol", "custodian")
    first = ask(here, ada).json()
    assert here.call("POST", "/v1/datasets/survey/close", carol).status_code in (200, 204)
    told = ask(here, ada).json()
    assert [each["value"] for each in told["answers"]] == [each["value"] for each in first["answers"]]
    assert told["dataset"]["status"] == "closed"


def test_an_answer_of_the_hypothesis_alone_is_not_kept(here: Api) -> None:
    """It changes with the hypothesis, as long as others may correct that."""
    ada, carol = here.token("ada"), here.token("carol", "custodian")
    here.call("PUT", "/v1/datasets/survey/grants/ada", carol, json={"queries": None, "budget": 0.0})
    alone = {"queries": [{"where": "age = 0 and job = 'cook'"}]}
    before = [ask(here, ada, asked=alone).json() for _ in range(2)]
    assert {each["answers"][0]["source"] for each in before} == {"hypothesis only"}
    assert [each["dataset"]["mine"]["asked"] for each in before] == [1, 2]
    ask(here, carol, asked=alone)
    assert ask(here, ada, asked=alone).json()["answers"][0]["source"] == "cache"


# ---- the replies that are kept ---------------------------------------------------------------------------------------


class Stamped:
    """A store of which only the stamp is asked."""

    is_here = True

    def __init__(self) -> None:
        self.now = 0

    def stamp(self) -> int:
        return self.now


def sent(body: bytes, path: str = "/", *headers: tuple[bytes, bytes]) -> Request:
    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": list(headers)}
    return Request(scope, receive)


def told(replies: Replies, request: Request, token: str = "a", content: Any = "x", status: int = 200) -> Any:
    """The body, and whether it was made now."""
    made = []

    async def make() -> Response:
        made.append(True)
        return JSONResponse(content, status)

    reply = asyncio.run(replies.reply(request, token, make))
    return bytes(reply.body), bool(made)


def test_a_reply_is_kept_while_the_stamp_is_the_same() -> None:
    store = Stamped()
    replies = Replies(store)  # type: ignore[arg-type]
    assert told(replies, sent(b"1")) == (b'"x"', True)
    assert told(replies, sent(b"1"), content="y") == (b'"x"', False)
    store.now = 1
    assert told(replies, sent(b"1"), content="y") == (b'"y"', True)
    for other in (sent(b"2"), sent(b"1", "/2"), sent(b"1", "/", (b"idempotency-key", b"k"))):
        assert told(replies, other)[1]
    assert told(replies, sent(b"1"), token="b")[1]
    assert told(replies, sent(b"3"), status=403) == told(replies, sent(b"3"), status=403) == (b'"x"', True)


def test_a_reply_that_committed_something_is_not_kept() -> None:
    store = Stamped()
    replies = Replies(store)  # type: ignore[arg-type]

    async def make() -> Response:
        store.now += 1
        return JSONResponse("x")

    asyncio.run(replies.reply(sent(b"1"), "a", make))
    assert told(replies, sent(b"1")) == (b'"x"', True)


def test_the_oldest_replies_make_room() -> None:
    replies = Replies(Stamped(), most=12)  # type: ignore[arg-type]
    for number in range(6):  # each has three bytes
        told(replies, sent(b"%d" % number))
    assert [told(replies, sent(b"%d" % number))[1] for number in (5, 4, 3, 2)] == [False] * 4
    assert told(replies, sent(b"1"))[1]
    assert told(replies, sent(b"1"))[1] is False
