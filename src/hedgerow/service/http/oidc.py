"""Signing in with a provider of identities, by OpenID Connect: the code flow with PKCE, a state and a nonce.

Whoever the provider vouches for gets a token, as a custodian could make it: with a scope, an end, an entry in the audit
log. It goes into a cookie that no script reads and no other site can use (`request_parsing.credential`). What is
needed between leaving for the provider and coming back is in a signed cookie of ten minutes.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from hedgerow.errors import HedgerowError, NotAllowedError
from hedgerow.service.http.problems import shortened
from hedgerow.service.http.request_parsing import SECURE_SESSION, SESSION
from hedgerow.service.http.requests import PERSON_NAME
from hedgerow.service.settings import Oidc, Part
from hedgerow.service.store import identity_of

_LOG = logging.getLogger("hedgerow.service")
WAY = "-way"
"""End of the name of the cookie of those who are on their way to the provider and back."""
_ON_THE_WAY = 600
_PATIENCE = 10.0
_CODE = re.compile(r"[a-z_]{1,60}")
_AGAIN = "go back to the page, and sign in again"
_LONGEST = 255
_BY_KEYS = ("RS", "PS", "ES", "Ed")
_MOST_TOLD = 20


class Provider:
    """The provider of identities of one server.

    Args:
        oidc: What is known about it.
        secret: Secret that cookies are signed with.

    Raises:
        MissingExtraError: The library for it is not installed.
    """

    def __init__(self, oidc: Oidc, secret: bytes) -> None:
        """Ask nothing of it yet."""
        from authlib.integrations.starlette_client import OAuth

        self.oidc = oidc
        self._signed = URLSafeTimedSerializer(secret, salt="hedgerow sign-in")
        described = f"{oidc.issuer.rstrip('/')}/.well-known/openid-configuration"
        told = {"scope": "openid profile email", "code_challenge_method": "S256", "timeout": _PATIENCE}
        self._client = OAuth().register(
            "oidc", server_metadata_url=described, client_id=oidc.client, client_secret=oidc.secret, client_kwargs=told
        )

    @property
    def back(self) -> str:
        """Address that the provider sends people back to."""
        return f"{self.oidc.address.rstrip('/')}/v1/oidc/callback"

    async def begin(self, request: Request) -> Response:
        """Send a browser to the provider.

        Raises:
            NotAllowedError: The provider does not answer as one does.
        """
        request.scope["session"] = {}
        with _asking():
            await self._known()
            answer: Response = await self._client.authorize_redirect(request, self.back)
        self._set(answer, WAY, str(self._signed.dumps(request.session)), _ON_THE_WAY, same_site="lax")
        return answer

    async def claims(self, request: Request) -> Mapping[str, Any]:
        """What the provider says about the person whom it sent back, proved by its signature.

        Raises:
            NotAllowedError: It says nothing, or nothing that is proved.
        """
        try:
            way = request.cookies.get(self._named(WAY), "")
            request.scope["session"] = self._signed.loads(way, max_age=_ON_THE_WAY)
        except BadData:
            raise NotAllowedError(
                "this sign-in was not begun in this browser, or over ten minutes ago", remedy=_AGAIN
            ) from None
        with _asking():
            await self._known()
            token = await self._client.authorize_access_token(request)
            told = dict(token.get("userinfo") or {})
            if told and not {self.oidc.claim, self.oidc.name} <= told.keys():
                more = await self._client.userinfo(token=token) if self._tells_more else {}
                told = {**more, **told} if more.get("sub") == told["sub"] else told
        if not told:
            raise _unproved()
        return told

    async def _known(self) -> None:
        """What the provider says about itself; signatures are those of its own keys, never none or by a shared secret.

        Raises:
            NotAllowedError: It is another one.
        """
        told = await self._client.load_server_metadata()
        if str(told.get("issuer", "")).rstrip("/") != self.oidc.issuer.rstrip("/"):
            raise NotAllowedError(
                "the provider of identities calls itself by another address than this server does",
                remedy="tell the operator of this server: --oidc-issuer must be what the provider calls itself",
            )
        named = told.get("id_token_signing_alg_values_supported") or ["RS256"]
        told["id_token_signing_alg_values_supported"] = [each for each in named if each[:2] in _BY_KEYS]

    @property
    def _tells_more(self) -> bool:
        return bool(self._client.server_metadata.get("userinfo_endpoint"))

    def identity_of(self, claims: Mapping[str, Any]) -> str:
        """The account, whatever its name is: see `store.identity_of`."""
        return identity_of(self.oidc.issuer, str(claims["sub"])[:_LONGEST])

    def part_of(self, claims: Mapping[str, Any]) -> Part:
        """What a person may do.

        Raises:
            NotAllowedError: Nothing.
        """
        found = claims.get(self.oidc.claim)
        listed = found if isinstance(found, list) else [found]
        values = [each for each in listed if isinstance(each, str)]
        part = self.oidc.part_of(values)
        if part is None:
            told = ", ".join(values[:_MOST_TOLD]) or "nothing"
            raise NotAllowedError(
                f"your account has no role here: its claim {self.oidc.claim!r} holds {shortened(told)}",
                remedy="ask whoever manages your accounts for a group that this server knows",
            )
        return part

    def name_of(self, claims: Mapping[str, Any]) -> str:
        """The name of a person.

        Raises:
            NotAllowedError: There is none, or none that a person can have here.
        """
        name = claims.get(self.oidc.name)
        if not isinstance(name, str) or not re.fullmatch(PERSON_NAME, name):
            raise NotAllowedError(
                f"the claim {self.oidc.name!r} of your account is not a name that a person can have here",
                remedy="ask the operator of this server to name another claim: --oidc-name",
            )
        return name

    def stay(self, answer: Response, token: str) -> None:
        """Let a browser keep a token for as long as it is good."""
        self._set(answer, "", token, int(self.oidc.hours * 3600), same_site="strict")

    def leave(self, answer: Response, end: str = "") -> None:
        """Let a browser forget a cookie."""
        self._set(answer, end, "", 0, same_site="strict")

    def _named(self, end: str) -> str:
        return f"{SECURE_SESSION if self.oidc.is_secure else SESSION}{end}"

    def _set(self, answer: Response, end: str, value: str, seconds: int, *, same_site: Any) -> None:
        secure = self.oidc.is_secure
        answer.set_cookie(self._named(end), value, max_age=seconds, httponly=True, secure=secure, samesite=same_site)


@contextmanager
def _asking() -> Iterator[None]:
    """Turn what goes wrong between this server and the provider into a refusal; the log has its kind."""
    from authlib.common.errors import AuthlibBaseError
    from authlib.integrations.base_client.errors import MismatchingStateError
    from httpx2 import HTTPError

    try:
        yield
    except HedgerowError:
        raise
    except MismatchingStateError:
        raise NotAllowedError("this sign-in was begun anew meanwhile, or elsewhere", remedy=_AGAIN) from None
    except AuthlibBaseError as error:
        code = error.error if _CODE.fullmatch(str(error.error)) else "an unknown reason"
        raise NotAllowedError(f"the provider refused: {code.replace('_', ' ')}", remedy=_AGAIN) from None
    except HTTPError as error:
        _log(error)
        raise NotAllowedError(
            "the provider of identities does not answer", remedy="try again later, or sign in with a token"
        ) from None
    except Exception as error:  # noqa: BLE001 - whatever is wrong with an answer, it proves nothing
        _log(error)
        raise _unproved() from None


def _log(error: Exception) -> None:
    _LOG.warning("signing in: %s between this server and the provider", type(error).__name__)


def _unproved() -> NotAllowedError:
    return NotAllowedError(
        "the provider's answer does not prove who you are", remedy="tell the operator of this server; its log has more"
    )
