"""Routes of signing in and out in a browser."""

from datetime import UTC, datetime, timedelta

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hedgerow.errors import HedgerowError, NotAllowedError, StoreError
from hedgerow.service.http import problems, web
from hedgerow.service.http.admission import (
    By,
    ForAnyone,
    ForProviders,
    ForTokens,
    Here,
    Operation,
    Service,
    the_service,
)
from hedgerow.service.http.middleware import address_of
from hedgerow.service.http.oidc import WAY, Provider
from hedgerow.service.http.problems import kind_of
from hedgerow.service.http.request_parsing import authorization, session_of
from hedgerow.service.http.responses import RevokedResponse, SignInResponse
from hedgerow.service.http.tokens import new_token
from hedgerow.service.settings import Oidc, Part
from hedgerow.service.store import Person, Store

_NOTE = "signed in at {issuer}"


async def signin(request: Request, here: Here) -> SignInResponse:
    """How people sign in here: with a token, and with a provider of identities if there is one.

    Whether the cookie of the page came along too; `GET /v1/me` says whether it is still good.
    """
    provider = here.provider
    return SignInResponse(
        provider=None if provider is None else provider.oidc.issuer, cookie=session_of(request) is not None
    )


def signout(request: Request, here: Here, by: By, response: Response) -> RevokedResponse:
    """Sign out: the token in the cookie of the page is revoked. One that a program sends is not."""
    if authorization(request) is not None or here.provider is None:
        return RevokedResponse(revoked=0)
    here.store.revoke(by.token.id, by=by.person.id)
    here.provider.leave(response)
    return RevokedResponse(revoked=1)


async def start(request: Request) -> Response:
    """Send a browser to the provider of identities."""
    provider = _provider(await the_service(request))
    try:
        return await provider.begin(request)
    except NotAllowedError as error:
        return _refused(error)


async def callback(request: Request) -> Response:
    """Sign in whom the provider of identities sends back, or say why not."""
    service, address = await the_service(request), address_of(request.scope)
    provider = _provider(service)
    try:
        service.rates.check_failures(address)
        claims = await provider.claims(request)
        part, name = provider.part_of(claims), provider.name_of(claims)
        identity = provider.identity_of(claims)
        token = await anyio.to_thread.run_sync(
            _token, service.store, provider.oidc, identity, name, part, limiter=service.sign_ins
        )
    except HedgerowError as error:
        if kind_of(error) is None:
            raise
        if service.rates.failed(address):
            await anyio.to_thread.run_sync(_note, service.store, address, limiter=service.sign_ins)
        return _refused(error)
    answer = RedirectResponse(provider.oidc.address, status_code=303)
    provider.stay(answer, token)
    provider.leave(answer, WAY)
    return answer


def _provider(service: Service) -> Provider:
    assert service.provider is not None  # noqa: S101 - these routes are there with a provider alone
    return service.provider


def _token(store: Store, oidc: Oidc, identity: str, name: str, part: Part) -> str:
    """A token of the person, who is added when they come first."""
    person: Person = store.vouched(identity, name, part.role)
    now = datetime.now(UTC)
    made = new_token(
        person.id,
        data_sets=part.data_sets,
        expires=now + timedelta(hours=oidc.hours),
        note=_NOTE.format(issuer=oidc.issuer),
        now=now,
    )
    store.add_token(made.token, made.salt, made.digest, by=person.id)
    return made.text


def _note(store: Store, address: str) -> None:
    try:
        store.note(None, "sign-in refused", address, {"by": "provider"})
    except StoreError:  # the refusal itself matters more
        return


def _refused(error: HedgerowError) -> HTMLResponse:
    kind = kind_of(error) or problems.INTERNAL
    return HTMLResponse(web.told("You are not signed in", error.message, error.remedy), status_code=kind.status)


OPERATIONS = (
    Operation("GET", "/v1/signin", signin, ForAnyone),
    Operation("DELETE", "/v1/signin", signout, ForTokens),
)
AT_PROVIDER = (
    Operation("GET", "/v1/oidc/start", start, ForAnyone, in_schema=False),
    Operation("GET", "/v1/oidc/callback", callback, ForProviders, in_schema=False),
)
"""Routes for browsers alone, where there is a provider."""
