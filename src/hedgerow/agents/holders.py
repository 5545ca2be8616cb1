"""Agents over HTTP: each brings a token of the Hedgerow server, and has caps of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial

import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from hedgerow.agents.conversation import Conversation
from hedgerow.agents.sources import ServerSource, Source
from hedgerow.client import Client
from hedgerow.errors import ConfigError, NotSignedInError


class TokenHolders:
    """Everyone with a token of a server; a conversation is a token.

    A token is checked by the server when it first comes. After that the server refuses it with each question, if it was
    revoked or has expired.

    Args:
        connect: The server, as the holder of a token sees it.
        caps: A conversation with nothing used of it.
    """

    def __init__(self, connect: Callable[[str], Client], caps: Callable[[], Conversation]) -> None:
        """Know nobody yet."""
        self._connect, self._caps = connect, caps
        self._held: dict[str, tuple[Source, Conversation]] = {}

    async def verify_token(self, token: str) -> AccessToken | None:
        """See the package's ``TokenVerifier``; None for a token that the server refuses."""
        holder = hashlib.sha256(token.encode()).hexdigest()
        if holder not in self._held:
            try:
                client = await anyio.to_thread.run_sync(partial(self._connect, token))
            except (NotSignedInError, ConfigError):
                return None
            self._held.setdefault(holder, (ServerSource(client), self._caps()))
        return AccessToken(token=token, client_id=holder, scopes=[])

    def current(self) -> tuple[Source, Conversation]:
        """What the holder of the running request's token may ask.

        Raises:
            NotSignedInError: There is no token.
        """
        access = get_access_token()
        if access is None:
            raise NotSignedInError("there is no token", remedy="send 'Authorization: Bearer hgr_...'")
        return self._held[access.client_id]
