"""What a custodian of some data sets sees and makes: nothing of the rest of the server shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import hedgerow.service
from hedgerow.service import Token
from hedgerow.service.store import lists as store_lists
from tests.service.api import Api, api, registration

HIDDEN = ("elsewhere", "olga", "otto", "ortrud", "osman", "secret")
"""Names that stand only outside the scope: a data set, people, notes."""


@dataclass
class Scoped:
    """A server with two data sets, and people of each.

    Attributes:
        here: The server.
        sue: Token of a custodian of the data set "survey".
        carol: Token of a custodian of everything.
        ids: Public parts of tokens by what they are for.
    """

    here: Api
    sue: str
    carol: str
    ids: dict[str, str]

    def call(self, method: str, path: str, token: str | None = None, **sent: Any) -> Any:
        return self.here.call(method, f"/v1/{path}", token or self.sue, **sent)

    def make(self, token: str | None = None, **asked: Any) -> Any:
        return self.call("POST", "tokens", token, json={"person": "ada", "datasets": ["survey"], **asked})


@pytest.fixture
def scoped(tmp_path: Path) -> Iterator[Scoped]:
    with api(tmp_path) as here:
        carol = here.token("carol", "custodian")
        assert here.call("POST", "/v1/datasets", carol, json=registration("elsewhere")).status_code == 201
        made = {
            "ada": here.token("ada", data_sets=("survey",)),
            "dora": here.token("dora"),
            "both": here.token("bert", data_sets=("survey", "elsewhere")),
            "olga": here.token("olga", data_sets=("elsewhere",)),
            "otto": here.token("otto", "custodian", data_sets=("elsewhere",)),
            "empty": here.token("osman", data_sets=()),
            "gone": here.token("gus", data_sets=("survey",), days=-1),
            "ortrud": here.token("ortrud", days=-1),
            "sue": here.token("sue", "custodian", data_sets=("survey",), days=10),
        }
        here.person("petra")
        ids = {name: text.split("_")[1] for name, text in made.items()}
        for name in ("survey", "elsewhere"):
            for token in ("both", "dora"):
                asked = {"queries": [{"where": "age = 1"}]}
                assert here.call("POST", f"/v1/datasets/{name}/queries", made[token], json=asked).status_code == 200
        here.call("PUT", "/v1/datasets/survey/grants/petra", carol, json={"queries": 1, "budget": None})
        here.call("PUT", "/v1/datasets/elsewhere/grants/olga", carol, json={"queries": 1, "budget": None})
        here.call("GET", "/v1/datasets/elsewhere/records?n=2", made["olga"])
        here.call("GET", "/v1/datasets/survey/records?n=2", made["ada"])
        here.call("PUT", "/v1/files/secret.csv", carol, content=b"a\n1\n")
        here.call("DELETE", f"/v1/tokens/{ids['olga']}", carol)
        yield Scoped(here, made["sue"], carol, ids)


def test_nothing_that_she_is_told_names_what_lies_outside(scoped: Scoped) -> None:
    paths = (
        *("me", "datasets", "people", "tokens", "audit?limit=1000"),
        *(f"datasets/survey{rest}" for rest in ("", "/ledger?limit=1000", "/grants", "/answers?limit=1000")),
    )
    for path in paths:
        answer = scoped.call("GET", path)
        assert answer.status_code == 200
        for hidden in (*HIDDEN, *(scoped.ids[name] for name in ("olga", "otto", "both", "dora", "empty"))):
            assert hidden not in answer.text, (path, hidden)


def test_she_sees_people_who_have_to_do_with_her_data_sets(scoped: Scoped) -> None:
    told = scoped.call("GET", "people").json()["people"]
    assert sorted(each["name"] for each in told) == ["ada", "bert", "carol", "dora", "gus", "petra", "sue"]
    everybody = scoped.call("GET", "people", scoped.carol).json()["people"]
    assert {"olga", "otto", "ortrud", "osman"} <= {each["name"] for each in everybody}


def test_she_sees_and_revokes_tokens_that_are_good_for_nothing_else(scoped: Scoped) -> None:
    told = scoped.call("GET", "tokens").json()["tokens"]
    assert {each["id"] for each in told} == {scoped.ids[name] for name in ("ada", "gone", "sue")}
    nothing = scoped.call("DELETE", "tokens/0123456789abcdef")
    for name in ("both", "dora", "olga", "otto", "empty"):
        answer = scoped.call("DELETE", f"tokens/{scoped.ids[name]}")
        assert (answer.status_code, answer.text) == (nothing.status_code, nothing.text) == (404, nothing.text)
    found = {each.id: each.revoked for each in scoped.here.store.tokens()}
    assert [name for name, id in scoped.ids.items() if found[id] is not None] == ["olga"]
    assert scoped.call("DELETE", f"tokens/{scoped.ids['ada']}").status_code == 204


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("person", ["olga", "otto", "ortrud", "osman"])
def test_people_outside_are_like_nobody(scoped: Scoped, person: str) -> None:
    for method, path, sent in (
        ("PUT", "datasets/survey/grants/{}", {"json": {"queries": 1, "budget": None}}),
        ("GET", "datasets/survey/answers?person={}", {}),
    ):
        outside, nobody = (scoped.call(method, path.format(name), **sent) for name in (person, "nobody"))
        assert (outside.status_code, outside.text) == (404, nobody.text)
        assert scoped.call(method, path.format("petra"), **sent).status_code == 200
    outside, nobody = (scoped.make(person=name) for name in (person, "nobody"))
    assert (outside.status_code, outside.text) == (404, nobody.text)


def test_she_adds_nobody(scoped: Scoped) -> None:
    """Not even to be told that a name is taken."""
    for name in ("olga", "nobody"):
        answer = scoped.call("POST", "people", json={"name": name, "role": "analyst"})
        assert (answer.status_code, answer.json()["code"]) == (403, "not-allowed")


def test_the_tokens_that_she_makes_open_no_more_than_hers(scoped: Scoped) -> None:
    before = len(scoped.here.store.tokens())
    refused = [scoped.make(datasets=scope) for scope in ("all", ["elsewhere"], ["survey", "elsewhere"], ["nothing"])]
    assert [each.status_code for each in refused] == [403, 404, 404, 404]
    assert refused[1].text == refused[3].text.replace("nothing", "elsewhere")
    assert len(scoped.here.store.tokens()) == before
    made = scoped.make(datasets=["survey", "survey"])
    assert (made.status_code, made.json()["datasets"]) == (201, ["survey"])
    assert scoped.call("GET", "datasets/elsewhere", made.json()["token"]).status_code == 404


def test_the_tokens_that_she_makes_do_not_outlive_hers(scoped: Scoped) -> None:
    own = datetime.fromisoformat(scoped.call("GET", "me").json()["expires"])
    assert [scoped.make(days=days).status_code for days in ("ever", 30, 10, 9)] == [403, 403, 403, 201]
    assert datetime.fromisoformat(scoped.make().json()["expires"]) == own
    lasting = scoped.here.token("sue", "custodian", data_sets=("survey",))
    assert scoped.make(lasting, days="ever").json()["expires"] is None
    assert scoped.make(scoped.carol, days="ever", datasets="all").status_code == 201


def test_she_makes_tokens_for_analysts_and_herself_and_for_no_other_custodian(scoped: Scoped) -> None:
    """Whatever is done with it would stand in the audit log under another name."""
    found = {name: scoped.make(person=name).status_code for name in ("ada", "dora", "petra", "sue", "carol")}
    assert found == {"ada": 201, "dora": 201, "petra": 201, "sue": 201, "carol": 403}


def test_she_sees_what_was_done_to_her_data_sets_and_their_tokens(scoped: Scoped) -> None:
    scoped.make()
    scoped.call("DELETE", f"tokens/{scoped.ids['ada']}")
    whole = scoped.call("GET", "audit?limit=1000", scoped.carol).json()["entries"]
    mine = scoped.call("GET", "audit?limit=1000").json()["entries"]
    done = [(each["action"], each["person"]) for each in mine if each["person"] is not None]
    assert done == [
        ("revoke token", "sue"),
        ("add token", "sue"),
        ("records", "ada"),
        ("grant", "carol"),
        ("register", "carol"),
    ]
    assert [each for each in whole if each in mine] == mine
    paged, cursor = [], ""
    while cursor is not None:
        page = scoped.call("GET", f"audit?limit=2{cursor and f'&cursor={cursor}'}").json()
        paged, cursor = [*paged, *page["entries"]], page["next"]
    assert paged == mine


def test_a_page_of_the_audit_log_belongs_to_a_scope(scoped: Scoped) -> None:
    whole = scoped.here.token("sue", "custodian")
    cursor = scoped.call("GET", "audit?limit=1", whole).json()["next"]
    assert scoped.call("GET", f"audit?limit=1&cursor={cursor}").status_code == 422


def test_names_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    """The id of a token may be the name of a data set, and so may the name of a person."""
    with api(tmp_path) as here:
        carol = here.token("carol", "custodian")
        outside = here.token("ada", data_sets=("survey",)).split("_")[1]
        assert here.call("POST", "/v1/datasets", carol, json=registration(outside)).status_code == 201
        here.call("POST", "/v1/people", carol, json={"name": outside, "role": "analyst"})
        here.call("DELETE", f"/v1/tokens/{outside}", carol)
        token = here.token("sue", "custodian", data_sets=(outside,))
        entries = here.call("GET", "/v1/audit", token).json()["entries"]
        assert [each["action"] for each in entries] == ["add token", "register"]
        assert entries[0]["subject"] == token.split("_")[1]


def test_every_action_of_the_audit_log_is_about_something_known() -> None:
    """What is new is hidden from custodians of some data sets until somebody says what it is about."""
    of_the_server = {"add person", "set role", "set identity", "upload", "delete upload", "sign-in refused"}
    of_the_server |= {"accept store", "restore store"}
    found = set()
    for file in Path(hedgerow.service.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and len(node.args) >= 3:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                texts = [each.value for each in node.args[:4] if isinstance(each, ast.Constant)]
                actions = [text for text in texts if name in ("audited", "note", "run_sync") and isinstance(text, str)]
                found |= set(actions[:1])  # what comes after it is the subject
    assert found == of_the_server | {*store_lists.ABOUT_DATA_SETS, *store_lists.ABOUT_TOKENS}


@pytest.mark.parametrize(
    ("token", "scope", "lies"),
    [
        (None, None, True),
        (("a",), None, True),
        (None, ("a",), False),
        ((), ("a",), False),
        (("a",), ("a", "b"), True),
        (("a", "b"), ("a",), False),
        (("a",), (), False),
    ],
)
def test_scopes_lie_within_each_other(token: tuple[str, ...] | None, scope: tuple[str, ...] | None, lies: bool) -> None:
    assert Token("0123456789abcdef", 1, token, datetime.now(UTC)).lies_within(scope) == lies


# What tokens say of themselves


@pytest.mark.many(quick=3)
@pytest.mark.parametrize(
    "asked",
    [
        {"datasets": None},
        {"datasets": []},
        {"datasets": "survey"},
        {"datasets": "ALL"},
        {"datasets": ["all", None]},
        {"days": None},
        {"days": 0},
        {"days": 36_501},
        {"days": "30"},
        {"days": "never"},
        {"days": 1.5},
        {"days": True},
    ],
    ids=str,
)
def test_for_ever_and_for_all_are_said_in_so_many_words(scoped: Scoped, asked: dict[str, Any]) -> None:
    answer = scoped.make(scoped.carol, **asked)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


def test_a_token_names_its_data_sets_and_expires_after_30_days(scoped: Scoped) -> None:
    unnamed = scoped.call("POST", "tokens", scoped.carol, json={"person": "ada"})
    assert unnamed.status_code == 422
    assert unnamed.json()["fields"][0]["where"] == "body.datasets"
    before = datetime.now(UTC)
    made = scoped.make(scoped.carol, datasets="all").json()
    after = datetime.now(UTC)
    assert before <= datetime.fromisoformat(made["expires"]) - timedelta(days=30) <= after
    assert made["datasets"] == scoped.call("GET", "me", made["token"]).json()["datasets"] == "all"
    assert scoped.make(scoped.carol, days=90).json()["datasets"] == ["survey"]
    told = scoped.call("GET", "audit", scoped.carol).json()["entries"][1]["details"]
    assert told == {"person": "ada", "datasets": None, "expires": made["expires"].split(".")[0] + "+00:00"}


@pytest.mark.parametrize("hops", ["1", "2"])
def test_a_request_that_says_it_was_sent_on_learns_of_no_hidden_name(scoped: Scoped, hops: str) -> None:
    ada = scoped.here.token("anna", data_sets=("survey",))
    asked = {"json": {"sql": "SELECT COUNT(*) FROM t"}, "headers": {"hedgerow-hops": hops}}
    for token in (ada, scoped.sue):
        hidden, unknown = (
            scoped.call("POST", f"datasets/{name}/tables", token, **asked) for name in ("elsewhere", "nowhere")
        )
        assert hidden.status_code == unknown.status_code == 404
        assert hidden.text.replace("elsewhere", "nowhere") == unknown.text
    assert scoped.here.call("POST", "/v1/datasets/elsewhere/tables", "hgr_wrong", **asked).status_code == 401
