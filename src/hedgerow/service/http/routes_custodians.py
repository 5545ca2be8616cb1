"""Routes of custodians: the ledger, limits, people, tokens, the audit log."""

from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any

from hedgerow.errors import ConflictError, NotThereError
from hedgerow.service.http import problems, responses
from hedgerow.service.http.admission import By, ForCustodians, Here, Operation, Service
from hedgerow.service.http.request_parsing import Place
from hedgerow.service.http.requests import (
    Cursor,
    GrantRequest,
    Limit,
    Name,
    PersonRequest,
    RoleRequest,
    TokenId,
    TokenRequest,
    Who,
)
from hedgerow.service.http.tokens import Caller, check_may_have, end_of, new_token, people_in, person_in, tokens_in
from hedgerow.service.sessions import ledger_file_of, ledger_of
from hedgerow.service.store import Grant, Person, Role, Token


def get_ledger(name: Name, here: Here, by: By, limit: Limit = 100, cursor: Cursor = None) -> responses.LedgerResponse:
    """The ledger of a data set: what was spent of its budget, newest event first."""
    data_set = here.data_set(name, by)
    place = Place("ledger", data_set.id, by.person.id)
    read = partial(here.store.events, data_set.id)
    found, after = here.cursors.page(place, cursor, limit, read, lambda entry: entry.number)
    events = [each.event.described() | {"number": each.number, "at": each.at, "person": each.person} for each in found]
    return responses.LedgerResponse.model_validate(ledger_of(here.store, data_set) | {"events": events, "next": after})


def get_ledger_file(name: Name, here: Here, by: By) -> responses.LedgerFileResponse:
    """The whole ledger of a data set, which `hedgerow audit` checks without trust in the server."""
    return responses.LedgerFileResponse(**ledger_file_of(here.store, here.data_set(name, by)))


def list_grants(
    name: Name, here: Here, by: By, limit: Limit = 100, cursor: Cursor = None
) -> responses.GrantListResponse:
    """Limits of people on a data set, and how much of them is used; people who were added last come first."""
    names, data_set = {person.id: person.name for person in here.store.people()}, here.data_set(name, by)
    place, grants = Place("grants", data_set.id, by.person.id), here.store.grants(data_set.id)
    found, after = here.cursors.listed(place, cursor, limit, grants, lambda each: each.person)
    return responses.GrantListResponse(grants=[_grant(grant, names[grant.person]) for grant in found], next=after)


def set_grant(name: Name, person: Who, asked: GrantRequest, here: Here, by: By) -> responses.GrantResponse:
    """Limit how much an analyst may ask of a data set, and what it may cost."""
    data_set, whom = here.data_set(name, by), person_in(here.store, person, by)
    grant = here.store.set_grant(data_set.id, whom.id, asked.queries, asked.budget, asked.storage, by=by.person.id)
    return _grant(grant, whom.name)


def _grant(grant: Grant, person: str) -> responses.GrantResponse:
    return responses.GrantResponse(**asdict(grant) | {"person": person})


def list_people(here: Here, by: By, limit: Limit = 100, cursor: Cursor = None) -> responses.PersonListResponse:
    """All people who may have tokens, newest first; with a token for some data sets, those concerned with these."""
    place = Place("people", 0, by.person.id, by.token.id)
    found, after = here.cursors.listed(place, cursor, limit, people_in(here.store, by), lambda each: each.id)
    return responses.PersonListResponse.model_validate({"people": found, "next": after})


def add_person(asked: PersonRequest, here: Here, by: By) -> responses.PersonResponse:
    """Add a person who may have tokens.

    This needs a token for all data sets: people belong to the whole server.
    """
    by.check_reaches_all()
    return responses.PersonResponse.model_validate(here.store.add_person(asked.name, asked.role, by=by.person.id))


def set_role(person: Who, asked: RoleRequest, here: Here, by: By) -> responses.PersonResponse:
    """Change the role of somebody else, with the tokens that there are too; one who was removed comes back.

    This needs a token for all data sets.
    """
    return responses.PersonResponse.model_validate(_given_role(here, person, asked.role, by))


def remove_person(person: Who, here: Here, by: By) -> None:
    """Remove somebody else: all tokens are revoked, and no other can be made.

    Questions and what they cost stay in the ledgers, and the name in the audit log. This needs a token for all data
    sets.
    """
    _given_role(here, person, "removed", by)


def _given_role(here: Service, name: str, role: Role, by: Caller) -> Person:
    by.check_reaches_all()
    if name == by.person.name:  # so there is always one custodian
        raise ConflictError("nobody changes or removes themselves", remedy="ask another custodian")
    return here.store.set_role(name, role, by=by.person.id)


def revoke_tokens(person: Who, here: Here, by: By) -> responses.RevokedResponse:
    """Revoke all tokens of a person permanently, in one step. This needs a token for all data sets."""
    by.check_reaches_all()
    return responses.RevokedResponse(revoked=here.store.revoke_all(person, by=by.person.id))


def list_tokens(here: Here, by: By, limit: Limit = 100, cursor: Cursor = None) -> responses.TokenListResponse:
    """Tokens, without their secrets, newest first; with a token for some data sets, those that open no others."""
    names = {person.id: person.name for person in here.store.people()}
    place, tokens = Place("tokens", 0, by.person.id, by.token.id), list(enumerate(tokens_in(here.store, by)))
    found, after = here.cursors.listed(place, cursor, limit, tokens, lambda each: each[0])
    told = [_token(token, names[token.person]) for _, token in found]
    return responses.TokenListResponse.model_validate({"tokens": told, "next": after})


def make_token(asked: TokenRequest, here: Here, by: By) -> responses.NewTokenResponse:
    """Make a token for a person; its secret is shown only now.

    With a token for some data sets, the new token opens no others, does not outlive it, and is for an analyst or
    yourself.
    """
    person, now = person_in(here.store, asked.person, by), datetime.now(UTC)
    scope = _scope(asked, here, by)
    check_may_have(person, by)
    days = asked.days if "days" in asked.model_fields_set else None
    made = new_token(person.id, data_sets=scope, expires=end_of(days, by, now), note=asked.note, now=now)
    here.store.add_token(made.token, made.salt, made.digest, by=by.person.id)
    return responses.NewTokenResponse(**_token(made.token, person.name), token=made.text)


def _scope(asked: TokenRequest, here: Service, by: Caller) -> tuple[str, ...] | None:
    if asked.datasets == "all":
        by.check_reaches_all()
        return None
    return tuple(here.data_set(name, by).name for name in dict.fromkeys(asked.datasets))


def revoke_token(id: TokenId, here: Here, by: By) -> None:
    """Revoke a token permanently; idempotent."""
    found = here.store.token(id)
    if found is None or not found[0].lies_within(by.token.data_sets):
        raise NotThereError("there is no such token", remedy="GET /v1/tokens lists them")
    here.store.revoke(id, by=by.person.id)


def _token(token: Token, person: str) -> dict[str, Any]:
    return asdict(token) | {"person": person, "datasets": responses.scope_of(token)}


def get_audit(here: Here, by: By, limit: Limit = 100, cursor: Cursor = None) -> responses.AuditResponse:
    """The audit log, newest entry first; with a token for some data sets, entries about these and their tokens."""
    scope = by.token.data_sets
    place = Place("audit", 0, by.person.id, "" if scope is None else " ".join(scope))
    tokens = None if scope is None else [token.id for token in tokens_in(here.store, by)]
    read = partial(here.store.audit, data_sets=scope, tokens=tokens)
    found, after = here.cursors.page(place, cursor, limit, read, lambda entry: entry.id)
    head = found[0].link if cursor is None and scope is None and found else here.store.audit_point().head
    return responses.AuditResponse.model_validate({"entries": found, "head": head, "next": after})


_OF_PEOPLE = (problems.NOT_THERE, problems.CONFLICT)
OPERATIONS = (
    Operation("GET", "/v1/datasets/{name}/ledger", get_ledger, ForCustodians),
    Operation("GET", "/v1/datasets/{name}/ledger/file", get_ledger_file, ForCustodians),
    Operation("GET", "/v1/datasets/{name}/grants", list_grants, ForCustodians),
    Operation("PUT", "/v1/datasets/{name}/grants/{person}", set_grant, ForCustodians),
    Operation("GET", "/v1/people", list_people, ForCustodians),
    Operation("POST", "/v1/people", add_person, ForCustodians, 201, problems=(problems.CONFLICT,)),
    Operation("PUT", "/v1/people/{person}", set_role, ForCustodians, problems=_OF_PEOPLE),
    Operation("DELETE", "/v1/people/{person}", remove_person, ForCustodians, 204, problems=_OF_PEOPLE),
    Operation("DELETE", "/v1/people/{person}/tokens", revoke_tokens, ForCustodians, problems=_OF_PEOPLE),
    Operation("GET", "/v1/tokens", list_tokens, ForCustodians),
    Operation("POST", "/v1/tokens", make_token, ForCustodians, 201, problems=(problems.NOT_THERE,)),
    Operation("DELETE", "/v1/tokens/{id}", revoke_token, ForCustodians, 204, problems=(problems.NOT_THERE,)),
    Operation("GET", "/v1/audit", get_audit, ForCustodians),
)
