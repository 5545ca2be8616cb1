"""Servers that let somebody in whom they should not, in one way each; a check notices every one of them."""

from __future__ import annotations

import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import ConflictError, NotAllowedError
from hedgerow.service import Person, Store
from tests.privacy.mutants import Mutant, killed
from tests.service.api import api

ACCOUNT, OTHER = "https://id.example.org 1", "https://id.example.org 2"


def a_cookie_needs_the_header_of_the_page() -> None:
    with tempfile.TemporaryDirectory() as folder, api(Path(folder)) as here:
        cookie = {"Cookie": f"hedgerow={here.token('ada')}"}
        assert here.call("GET", "/v1/me", headers=cookie | {"Hedgerow-Page": "1"}).status_code == 200
        for more in ({}, {"Hedgerow-Page": "0"}, {"Origin": "https://evil.example"}):
            assert here.call("GET", "/v1/me", headers=cookie | more).status_code == 401


def a_token_that_is_sent_counts_before_a_cookie() -> None:
    with tempfile.TemporaryDirectory() as folder, api(Path(folder)) as here:
        headers = {"Cookie": f"hedgerow={here.token('carol', 'custodian')}", "Hedgerow-Page": "1"}
        assert here.call("GET", "/v1/me", here.token("ada"), headers=headers).json()["person"] == "ada"


def an_account_is_one_person() -> None:
    with tempfile.TemporaryDirectory() as folder, closing(Store.open(Path(folder, "store.db"))) as store:
        ada = store.vouched(ACCOUNT, "ada", "analyst")
        assert store.vouched(ACCOUNT, "someone else", "analyst").id == ada.id
        store.add_person("bob", "custodian", by=None)
        for name in ("ada", "bob"):
            try:
                found: Any = store.vouched(OTHER, name, "analyst")
            except ConflictError:
                found = None
            assert found is None, name


def one_who_was_removed_stays_out() -> None:
    with tempfile.TemporaryDirectory() as folder, closing(Store.open(Path(folder, "store.db"))) as store:
        store.vouched(ACCOUNT, "ada", "analyst")
        store.set_role("ada", "removed", by=None)
        with suppress(NotAllowedError):
            store.vouched(ACCOUNT, "ada", "custodian")
        assert store.person("ada").role == "removed"


def the_role_is_that_of_the_claim() -> None:
    with tempfile.TemporaryDirectory() as folder, closing(Store.open(Path(folder, "store.db"))) as store:
        store.vouched(ACCOUNT, "ada", "custodian")
        assert store.vouched(ACCOUNT, "ada", "analyst").role == "analyst"
        assert store.person("ada").role == "analyst"


def _either(request: Any) -> str | None:
    return request.headers.get("authorization") or f"Bearer {request.cookies['hedgerow']}"


def _cookie_first(request: Any) -> str | None:
    cookie = request.cookies.get("hedgerow")
    return request.headers.get("authorization") if cookie is None else f"Bearer {cookie}"


def _by_name(original: Any) -> Any:
    def vouched(self: Store, identity: str, name: str, role: Any) -> Person:
        known = {person.name: person for person in self.people()}
        return known.get(name) or original(self, identity, name, role)

    return vouched


def _forgiving(original: Any) -> Any:
    def vouched(self: Store, identity: str, name: str, role: Any) -> Person:
        for person in self.people():
            if person.identity == identity and person.role == "removed":
                self.set_role(person.name, role, by=None)
        return original(self, identity, name, role)

    return vouched


def _for_good(original: Any) -> Any:
    def vouched(self: Store, identity: str, name: str, role: Any) -> Person:
        known = {person.identity: person for person in self.people()}
        return known.get(identity) or original(self, identity, name, role)

    return vouched


def _vouching(made: Any) -> Any:
    original = Store.vouched
    return lambda patch: patch.setattr(Store, "vouched", made(original))


MUTANTS = [
    Mutant(
        "a cookie is enough, whoever makes the browser send it",
        lambda patch: patch.setattr("hedgerow.service.http.admission.credential", _either),
        a_cookie_needs_the_header_of_the_page,
    ),
    Mutant(
        "the cookie counts before the token that is sent",
        lambda patch: patch.setattr("hedgerow.service.http.admission.credential", _cookie_first),
        a_token_that_is_sent_counts_before_a_cookie,
    ),
    Mutant("a name is enough to be somebody who is here", _vouching(_by_name), an_account_is_one_person),
    Mutant("who was removed comes back by signing in", _vouching(_forgiving), one_who_was_removed_stays_out),
    Mutant("a role stays although the claim has changed", _vouching(_for_good), the_role_is_that_of_the_claim),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_planted_bugs_in_signing_in_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
