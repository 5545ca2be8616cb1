"""Tokens: made, parsed, found right or wrong, forgotten by nobody."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from hedgerow.errors import NotSignedInError, RateError
from hedgerow.service import Caller, Person, Token, Verifier, new_token
from hedgerow.service.http import tokens
from hedgerow.service.http.tokens import NewToken, WrongTokenError, bearer, parse

ADA = Person(1, "ada", "analyst", datetime.now(UTC))


class Kept:
    """A store of tokens in memory."""

    def __init__(self, *made: NewToken) -> None:
        self.rows: dict[str, tuple[Token, bytes, bytes, Person]] = {
            each.token.id: (each.token, each.salt, each.digest, ADA) for each in made
        }
        self.asked = 0

    def token(self, id: str) -> tuple[Token, bytes, bytes, Person] | None:
        self.asked += 1
        return self.rows.get(id)


@pytest.fixture
def scrypts(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The salts that scrypt ran with."""
    ran: list[bytes] = []
    real = tokens.digest_of

    def counted(secret: str, salt: bytes) -> bytes:
        ran.append(salt)
        return real(secret, salt)

    monkeypatch.setattr(tokens, "digest_of", counted)
    return ran


def test_the_digest_is_scrypt_as_documented() -> None:
    made = new_token(1)
    secret = made.text.split("_", 2)[2]
    assert made.digest == hashlib.scrypt(secret.encode(), salt=made.salt, n=2**14, r=8, p=1)
    assert len(made.salt) == 16


def test_two_tokens_share_nothing() -> None:
    first, second = new_token(1), new_token(1)
    assert len({first.text, second.text, first.token.id, second.token.id}) == 4
    assert first.salt != second.salt


def test_no_representation_holds_the_secret_or_its_digest() -> None:
    made = new_token(1)
    assert made.text.split("_", 2)[2] not in repr(made)
    assert repr(made.digest) not in repr(made)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hgr",
        "hgr__",
        "hgr_0123456789abcdef_short",
        "HGR_0123456789abcdef_" + "x" * 43,
        "hgr_0123456789ABCDEF_" + "x" * 43,
        "hgr_0123456789abcdef_" + "x" * 44,
        "hgr_0123456789abcdef_" + "x" * 42 + "\n",
        "hgr_0123456789abcdef_" + "é" * 43,
        "hgr_\u0660123456789abcdef_" + "x" * 43,
        "x" * 100_000,
    ],
)
def test_what_is_no_token_is_not_parsed(text: str) -> None:
    assert parse(text) is None


def test_a_secret_may_hold_the_separator() -> None:
    assert parse("hgr_0123456789abcdef_" + "_" * 43) == ("0123456789abcdef", "_" * 43)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "hgr_1_2"])
def test_a_header_without_a_token_is_told_so(header: str | None) -> None:
    with pytest.raises(NotSignedInError, match="needs a token"):
        bearer(header)


def test_scrypt_runs_once_for_a_token_and_the_store_is_asked_every_time(scrypts: list[bytes]) -> None:
    made = new_token(1)
    kept = Kept(made)
    verifier = Verifier(kept)
    scrypts.clear()
    for _ in range(5):
        assert verifier.caller(made.text) == Caller(ADA, made.token)
    assert (len(scrypts), kept.asked) == (1, 5)


def test_scrypt_runs_once_for_a_token_that_many_threads_bring(scrypts: list[bytes]) -> None:
    made = new_token(1)
    verifier = Verifier(Kept(made))
    scrypts.clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: verifier.caller(made.text).person, range(32)))
    assert found == [ADA] * 32
    assert len(scrypts) == 1


def test_an_unknown_id_costs_what_a_wrong_secret_costs(scrypts: list[bytes]) -> None:
    made = new_token(1)
    verifier = Verifier(Kept(made))
    wrong = f"hgr_{made.token.id}_{'x' * 43}"
    for text in (wrong, new_token(2).text):
        scrypts.clear()
        with pytest.raises(WrongTokenError) as found:
            verifier.caller(text)
        assert len(scrypts) == 1
        assert str(found.value) == str(WrongTokenError())


def test_a_wrong_secret_stays_wrong_after_the_right_one(scrypts: list[bytes]) -> None:
    made = new_token(1)
    verifier = Verifier(Kept(made))
    verifier.caller(made.text)
    for _ in range(2):
        with pytest.raises(WrongTokenError):
            verifier.caller(f"hgr_{made.token.id}_{'x' * 43}")


def test_an_expired_token_is_refused_also_when_it_is_known() -> None:
    now = datetime.now(UTC)
    made = new_token(1, expires=now + timedelta(seconds=1))
    verifier = Verifier(Kept(made))
    assert verifier.caller(made.text, now=now).person == ADA
    with pytest.raises(NotSignedInError, match="expired"):
        verifier.caller(made.text, now=now + timedelta(seconds=1))


def test_a_revoked_token_is_refused_also_when_it_is_known() -> None:
    made, now = new_token(1), datetime.now(UTC)
    kept = Kept(made)
    verifier = Verifier(kept)
    verifier.caller(made.text)
    token = made.token
    revoked = Token(token.id, token.person, token.data_sets, token.created, revoked=now)
    kept.rows[token.id] = (revoked, made.salt, made.digest, ADA)
    with pytest.raises(NotSignedInError, match="revoked"):
        verifier.caller(made.text)


def test_whoever_guesses_does_not_learn_that_a_token_has_expired() -> None:
    made = new_token(1, expires=datetime.now(UTC) - timedelta(days=1))
    with pytest.raises(WrongTokenError):
        Verifier(Kept(made)).caller(f"hgr_{made.token.id}_{'x' * 43}")


def test_a_token_that_was_made_anew_under_the_same_id_is_looked_at_again() -> None:
    made, other = new_token(1), new_token(1)
    kept = Kept(made)
    verifier = Verifier(kept)
    verifier.caller(made.text)
    kept.rows[made.token.id] = (made.token, other.salt, other.digest, ADA)
    with pytest.raises(WrongTokenError):
        verifier.caller(made.text)


def test_few_tokens_are_remembered_and_the_latest_used_ones(scrypts: list[bytes]) -> None:
    made = [new_token(1) for _ in range(3)]
    verifier = Verifier(Kept(*made), known=2)
    for text in (made[0].text, made[1].text, made[0].text, made[2].text):
        verifier.caller(text)
    scrypts.clear()
    verifier.caller(made[0].text)
    verifier.caller(made[2].text)
    assert scrypts == []
    verifier.caller(made[1].text)
    assert scrypts == [made[1].salt]


def test_what_may_refuse_is_asked_before_the_work_and_not_for_known_tokens(scrypts: list[bytes]) -> None:
    made = new_token(1)
    verifier = Verifier(Kept(made))
    verifier.caller(made.text)
    other = new_token(2)
    scrypts.clear()

    def refuse() -> None:
        raise RateError("no", seconds=1.0)

    assert verifier.caller(made.text, before_work=refuse).person == ADA
    with pytest.raises(RateError):
        verifier.caller(other.text, before_work=refuse)
    assert scrypts == []


def test_unknown_tokens_do_not_pile_up_behind_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    made, other = new_token(1), new_token(2)
    verifier, started, go_on = Verifier(Kept(made)), threading.Event(), threading.Event()

    def slow(secret: str, salt: bytes) -> bytes:
        started.set()
        go_on.wait(10)
        return b""

    monkeypatch.setattr(tokens, "digest_of", slow)
    monkeypatch.setattr(tokens, "_PATIENCE", 0.01)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(verifier.caller, made.text)
        started.wait(10)
        with pytest.raises(RateError, match="unknown tokens"):
            verifier.caller(other.text)
        go_on.set()
        with pytest.raises(WrongTokenError):
            first.result()
