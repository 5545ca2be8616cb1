"""Signing in with a provider of identities: a real one in another process, and one that lies."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from hedgerow.errors import ConfigError
from hedgerow.service import parts_named
from tests.service.api import Api, api
from tests.service.providers import ADDRESS, account, oidc, provider

PAGE = {"Hedgerow-Page": "1"}


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with provider(tmp_path_factory.mktemp("provider")) as address:
        yield address


@pytest.fixture
def here(tmp_path: Path, issuer: str) -> Iterator[Api]:
    with api(tmp_path, oidc=oidc(issuer)) as started:
        yield started


def cookies(answer: Any) -> dict[str, str]:
    found = [line.partition(";")[0].partition("=") for line in answer.headers.get_list("set-cookie")]
    return {name: value.strip('"') for name, _, value in found}


def begun(here: Api) -> tuple[str, dict[str, str]]:
    """The address that a browser is sent to, and its cookies."""
    answer = here.call("GET", "/v1/oidc/start")
    assert answer.status_code == 302, answer.text
    return answer.headers["location"], cookies(answer)


def at_provider(address: str, subject: str, action: str = "login") -> str:
    """The path that the provider sends a browser back to, when somebody has signed in there."""
    answer = httpx.post(address, data={"sub": subject, "action": action})
    assert answer.status_code == 302, answer.text
    back = urlsplit(answer.headers["location"])
    return f"{back.path}?{back.query}"


def come_back(here: Api, path: str, sent: dict[str, str]) -> Any:
    return here.call("GET", path, headers={"Cookie": "; ".join(f"{name}={value}" for name, value in sent.items())})


def signed_in(here: Api, subject: str) -> Any:
    address, sent = begun(here)
    return come_back(here, at_provider(address, subject), sent)


def session(here: Api, subject: str) -> dict[str, str]:
    """Headers of a page whose browser has signed in."""
    answer = signed_in(here, subject)
    assert answer.status_code == 303, answer.text
    return {"Cookie": f"hedgerow={cookies(answer)['hedgerow']}", **PAGE}


def refused(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "hedgerow" not in cookies(answer)
    told = re.findall(r"<p>(.*?)</p>", answer.text)
    assert len(told) >= 2, answer.text
    assert told[1]  # what to try
    return str(told[0])


def test_one_whom_the_provider_vouches_for_is_in_with_the_role_of_the_claim(here: Api, issuer: str) -> None:
    account(issuer, "ada", groups=["staff", "chess club"])
    answer = signed_in(here, "ada")
    assert (answer.status_code, answer.headers["location"]) == (303, ADDRESS)
    (line,) = [line for line in answer.headers.get_list("set-cookie") if line.startswith("hedgerow=hgr_")]
    assert "HttpOnly" in line
    assert "SameSite=strict" in line
    assert "Path=/" in line
    assert "Max-Age=7200" in line
    headers = {"Cookie": f"hedgerow={cookies(answer)['hedgerow']}", **PAGE}
    me = here.call("GET", "/v1/me", headers=headers).json()
    assert (me["person"], me["role"], me["datasets"]) == ("ada", "analyst", ["survey"])
    asked = {"queries": [{"where": "age < 3"}]}
    assert here.call("POST", "/v1/datasets/survey/queries", headers=headers, json=asked).status_code == 200
    assert here.call("GET", "/v1/people", headers=headers).status_code == 403
    told = [(entry.action, entry.subject) for entry in here.store.audit(limit=2)]
    assert told[1] == ("add person", "ada")
    assert told[0][0] == "add token"


def test_a_custodian_of_the_claim_may_do_everything(here: Api, issuer: str) -> None:
    account(issuer, "olga", groups=["all", "office"])
    me = here.call("GET", "/v1/me", headers=session(here, "olga")).json()
    assert (me["role"], me["datasets"]) == ("custodian", "all")
    assert here.call("GET", "/v1/people", headers=session(here, "olga")).status_code == 200


@pytest.mark.parametrize("leave_out", ["header", "cookie"])
def test_the_cookie_counts_beside_the_header_of_the_page_alone(here: Api, issuer: str, leave_out: str) -> None:
    """A form or a picture of another site sends the cookie, and cannot send the header."""
    account(issuer, "olga", groups="office")
    headers = session(here, "olga")
    headers.pop("Hedgerow-Page" if leave_out == "header" else "Cookie")
    for method, path, sent in (
        ("GET", "/v1/me", {}),
        ("POST", "/v1/people", {"json": {"name": "mallory", "role": "custodian"}}),
        ("DELETE", "/v1/people/carol", {}),
        ("DELETE", "/v1/signin", {}),
    ):
        answer = here.call(method, path, headers=headers, **sent)
        assert (answer.status_code, answer.json()["code"]) == (401, "not-signed-in")
        assert answer.json()["remedy"]
    assert [person.name for person in here.store.people()] == ["carol", "olga"]
    assert (
        here.call("GET", "/v1/me", headers={**headers, "Origin": "https://evil.example", **PAGE}).headers.get(
            "access-control-allow-origin"
        )
        is None
    )


def test_nobody_of_another_origin_gets_leave_to_send_the_header(here: Api) -> None:
    asks = {"Origin": "https://evil.example", "Access-Control-Request-Headers": "hedgerow-page"}
    answer = here.call("OPTIONS", "/v1/me", headers={**asks, "Access-Control-Request-Method": "GET"})
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_signing_out_revokes_the_token_of_the_cookie_and_no_other(here: Api, issuer: str) -> None:
    account(issuer, "ada", groups=["staff"])
    headers, token = session(here, "ada"), here.token("carol", "custodian")
    assert here.call("GET", "/v1/signin", headers=headers).json() == {"provider": issuer, "cookie": True}
    answer = here.call("DELETE", "/v1/signin", headers=headers)
    assert answer.json() == {"revoked": 1}
    assert 'hedgerow=""; ' in answer.headers["set-cookie"]
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert here.call("GET", "/v1/me", headers=headers).status_code == 401
    assert here.call("DELETE", "/v1/signin", token).json() == {"revoked": 0}
    assert here.call("GET", "/v1/me", token).status_code == 200
    assert here.call("GET", "/v1/signin").json() == {"provider": issuer, "cookie": False}


def test_a_token_that_a_program_sends_counts_before_the_cookie(here: Api, issuer: str) -> None:
    account(issuer, "ada", groups=["staff"])
    headers = session(here, "ada")
    assert here.call("GET", "/v1/me", here.token("carol", "custodian"), headers=headers).json()["person"] == "carol"
    assert here.call("GET", "/v1/me", "hgr_wrong", headers=headers).status_code == 401


def test_the_role_follows_the_claim_at_the_next_sign_in_with_the_tokens_that_there_are(here: Api, issuer: str) -> None:
    account(issuer, "olga", groups=["office"])
    before = session(here, "olga")
    account(issuer, "olga", groups=["guests"])
    me = here.call("GET", "/v1/me", headers=session(here, "olga")).json()
    assert (me["role"], me["datasets"]) == ("analyst", ["elsewhere"])
    assert here.call("GET", "/v1/people", headers=before).status_code == 403


def test_an_account_is_known_by_its_subject_whatever_name_it_takes(here: Api, issuer: str) -> None:
    account(issuer, "s-1", preferred_username="ada", groups=["staff"])
    session(here, "s-1")
    account(issuer, "s-1", preferred_username="ada.new", groups=["staff"])
    assert here.call("GET", "/v1/me", headers=session(here, "s-1")).json()["person"] == "ada"
    account(issuer, "s-2", preferred_username="ada", groups=["office"])
    told = refused(signed_in(here, "s-2"), 409)
    assert "already" in told
    assert here.store.person("ada").role == "analyst"


def test_a_name_makes_nobody_the_person_of_that_name_until_somebody_at_the_server_says_so(
    here: Api, issuer: str
) -> None:
    account(issuer, "s-3", preferred_username="carol", groups=["staff"])
    answer = signed_in(here, "s-3")
    assert "does not sign in with this account" in refused(answer, 409)
    assert f"hedgerow server people carol --identity &#x27;{issuer} s-3&#x27;" in answer.text
    here.store.set_identity("carol", f"{issuer} s-3", by=None)
    assert here.call("GET", "/v1/me", headers=session(here, "s-3")).json()["person"] == "carol"


def test_one_who_was_removed_here_stays_out_whatever_the_provider_says(here: Api, issuer: str) -> None:
    account(issuer, "ada", groups=["staff"])
    headers = session(here, "ada")
    assert here.call("DELETE", "/v1/people/ada", here.token("carol", "custodian")).status_code == 204
    assert here.call("GET", "/v1/me", headers=headers).status_code == 401
    account(issuer, "ada", groups=["office"])
    assert "was removed" in refused(signed_in(here, "ada"), 403)
    assert here.store.person("ada").role == "removed"


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({}, "claim &#x27;groups&#x27; holds nothing"),
        ({"groups": []}, "holds nothing"),
        ({"groups": ["chess club", "<b>"]}, "holds chess club, &lt;b&gt;"),
        ({"groups": {"office": True}}, "holds nothing"),
        ({"groups": 7}, "holds nothing"),
        ({"groups": ["staff"], "preferred_username": "a b"}, "is not a name that a person can have"),
        ({"groups": ["staff"], "preferred_username": None}, "is not a name that a person can have"),
    ],
)
def test_an_account_without_a_role_or_a_name_is_told_why(here: Api, issuer: str, claims: Any, told: str) -> None:
    account(issuer, "nina", **claims)
    assert told in refused(signed_in(here, "nina"), 403)
    assert [person.name for person in here.store.people()] == ["carol"]


def test_one_who_says_no_at_the_provider_is_told_so(here: Api) -> None:
    address, sent = begun(here)
    assert "access denied" in refused(come_back(here, at_provider(address, "x", "deny"), sent), 403)


def test_a_way_back_is_good_once_in_the_browser_that_left_and_for_ten_minutes(
    here: Api, issuer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account(issuer, "ada", groups=["staff"])
    address, sent = begun(here)
    path = at_provider(address, "ada")
    assert "not begun in this browser" in refused(come_back(here, path, {}), 403)
    _, others = begun(here)
    assert "begun anew" in refused(come_back(here, path, others), 403)
    forged = {name: value[:-2] + "xx" for name, value in sent.items()}
    assert "not begun in this browser" in refused(come_back(here, path, forged), 403)
    later = time.time() + 601
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: later)
        assert "over ten minutes" in refused(come_back(here, path, sent), 403)
    assert come_back(here, path, sent).status_code == 303
    assert "refused" in refused(come_back(here, path, sent), 403)


def test_state_nonce_and_challenge_are_fresh_each_time(here: Api) -> None:
    seen = [parse_qs(urlsplit(begun(here)[0]).query) for _ in range(2)]
    for each in seen:
        assert (each["code_challenge_method"], each["redirect_uri"]) == (["S256"], [f"{ADDRESS}v1/oidc/callback"])
    for name in ("state", "nonce", "code_challenge"):
        assert seen[0][name] != seen[1][name]


def test_over_tls_the_cookies_are_tied_to_this_host(tmp_path: Path, issuer: str) -> None:
    account(issuer, "ada", groups=["staff"])
    with api(tmp_path, oidc=oidc(issuer, address="https://ask.example.org/")) as here:
        answer = signed_in(here, "ada")
        lines = [line for line in answer.headers.get_list("set-cookie") if "hgr_" in line]
        assert lines[0].startswith("__Host-hedgerow=")
        assert "Secure" in lines[0]
        headers = {"Cookie": lines[0].partition(";")[0], **PAGE}
        assert here.call("GET", "/v1/me", headers=headers).json()["person"] == "ada"


KEYS = RSAKey.generate_key(2048, {"kid": "a"}), RSAKey.generate_key(2048, {"kid": "a"})
LIES: dict[str, dict[str, Any]] = {
    "none": {},
    "another's signature": {"key": KEYS[1]},
    "a shared secret": {"key": OctKey.import_key("s3cret-that-is-long-enough-for-a-key"), "algorithm": "HS256"},
    "for another client": {"aud": "others"},
    "of another issuer": {"iss": "https://evil.example"},
    "over": {"exp": 1_000_000_000},
    "from the future": {"iat": 4_000_000_000},
    "another sign-in's": {"nonce": "n"},
    "without a nonce": {"nonce": None},
    "without a subject": {"sub": None},
}


def answered(
    here: Api, issuer: str, patch: pytest.MonkeyPatch, changed: dict[str, Any], more: dict[str, Any] | None = None
) -> Any:
    """What comes of an identity that the provider signs with the first key, unless something is changed."""
    address, sent = begun(here)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    now, changed = int(time.time()), dict(changed)
    key, algorithm = changed.pop("key", KEYS[0]), changed.pop("algorithm", "RS256")
    claims = {"iss": issuer, "sub": "eve", "aud": "hedgerow", "exp": now + 60, "iat": now, "nonce": asked["nonce"]}
    claims |= {"preferred_username": "eve", "groups": ["office"], **changed}
    claims = {name: value for name, value in claims.items() if value is not None}
    client = here.app.state.service.provider._client

    async def told(**_: Any) -> dict[str, str]:
        signed = jwt.encode({"alg": algorithm, "kid": "a"}, claims, key, algorithms=[algorithm])
        return {"access_token": "x", "id_token": signed}

    async def keys(force: bool = False) -> Any:
        return {"keys": [KEYS[0].as_dict(private=False)]}

    async def userinfo(**_: Any) -> Any:
        return more or {}

    patch.setattr(client, "fetch_access_token", told)
    patch.setattr(client, "fetch_jwk_set", keys)
    patch.setattr(client, "userinfo", userinfo)
    return come_back(here, f"/v1/oidc/callback?code=c&state={asked['state']}", sent)


@pytest.mark.parametrize("lie", sorted(LIES))
def test_an_identity_that_is_not_proved_lets_nobody_in(
    here: Api, issuer: str, lie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answered(here, issuer, monkeypatch, LIES[lie])
    if lie == "none":
        assert answer.status_code == 303, answer.text
        return
    assert "does not prove who you are" in refused(answer, 403)
    assert [person.name for person in here.store.people()] == ["carol"]


def test_claims_that_are_not_signed_are_asked_for_of_the_same_account(
    here: Api, issuer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, more = {"groups": None, "preferred_username": None}, {"groups": ["staff"], "preferred_username": "eve"}
    assert answered(here, issuer, monkeypatch, short, {"sub": "eve", **more}).status_code == 303
    assert here.store.person("eve").role == "analyst"
    told = answered(here, issuer, monkeypatch, {**short, "sub": "mallory"}, {"sub": "eve", **more})
    assert "holds nothing" in refused(told, 403)
    signed = {"preferred_username": None, "groups": ["guests"]}  # what is signed outweighs what is not
    assert answered(here, issuer, monkeypatch, signed, {"sub": "eve", **more, "groups": ["office"]}).status_code == 303
    assert here.store.person("eve").role == "analyst"


def test_too_many_refusals_from_one_address_are_shut_out(tmp_path: Path, issuer: str) -> None:
    with api(tmp_path, oidc=oidc(issuer), failures_per_minute=3) as here:
        for _ in range(3):
            refused(here.call("GET", "/v1/oidc/callback?code=x&state=y"), 403)
        assert "too many" in refused(here.call("GET", "/v1/oidc/callback?code=x&state=y"), 429)
        assert [entry.action for entry in here.store.audit()].count("sign-in refused") == 1


def test_without_a_provider_there_are_tokens_alone(tmp_path: Path) -> None:
    with api(tmp_path) as here:
        assert here.call("GET", "/v1/signin").json() == {"provider": None, "cookie": False}
        for path in ("start", "callback"):
            assert here.call("GET", f"/v1/oidc/{path}").status_code == 404


def test_a_provider_that_does_not_answer_is_named_as_the_reason(tmp_path: Path) -> None:
    with api(tmp_path, oidc=oidc("http://127.0.0.1:1")) as here:
        assert "does not answer" in refused(here.call("GET", "/v1/oidc/start"), 403)


def test_a_provider_that_calls_itself_otherwise_is_not_believed(tmp_path: Path, issuer: str) -> None:
    with api(tmp_path, oidc=oidc(issuer.replace("127.0.0.1", "localhost") + "/x/..")) as here:
        assert "another address" in refused(here.call("GET", "/v1/oidc/start"), 403)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "does not say"),
        ("staff", "does not say"),
        ("staff=analyst", "does not say"),
        ("staff=analyst:", "does not say"),
        ("staff=custodian:people", "does not say"),
        ("=custodian", "does not say"),
        ("staff=analyst:a++b", "does not say"),
        ("staff=root", "does not say"),
        ("a=custodian,,b=custodian", "does not say"),
    ],
)
def test_roles_that_say_nothing_are_refused(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        parts_named(text)


@pytest.mark.parametrize("address", ["http://id.example.org", "ftp://id.example.org", "id.example.org", "https://", ""])
def test_a_provider_elsewhere_speaks_tls(address: str) -> None:
    with pytest.raises(ConfigError, match="https"):
        oidc(address)
    with pytest.raises(ConfigError, match="https"):
        oidc("https://id.example.org", address=address)
