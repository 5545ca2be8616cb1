"""Which proxies are believed about where a request comes from."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hedgerow.errors import ConfigError

_HEADER = "x-forwarded-for"
_LOG = logging.getLogger("hedgerow.service")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@final
@dataclass(frozen=True)
class Proxies:
    """Addresses of the reverse proxies before a server; none unless they are named.

    Attributes:
        networks: Single addresses are networks of one.

    Example:
        >>> proxies = Proxies.named("127.0.0.1, 10.1.0.0/16")
        >>> "10.1.2.3" in proxies, "::ffff:127.0.0.1" in proxies, "192.0.2.1" in proxies
        (True, True, False)
        >>> "127.0.0.1" in Proxies()
        False
    """

    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = ()

    @classmethod
    def named(cls, text: str) -> Self:
        """Proxies from a list with commas between.

        Args:
            text: Addresses, and networks as ``10.0.0.0/8``; may be empty.

        Raises:
            ConfigError: One is no address.

        Example:
            >>> Proxies.named("proxy.example.org")
            Traceback (most recent call last):
                ...
            hedgerow.errors.ConfigError: 'proxy.example.org' is no address of a proxy
              Remedy: give addresses or networks with commas between, as 127.0.0.1,10.0.0.0/8
        """
        names = [part.strip() for part in text.split(",") if part.strip()]
        return cls(tuple(_network(name) for name in names))

    def __contains__(self, address: str) -> bool:
        """Whether an address is that of a proxy."""
        found = _address(address)
        return found is not None and any(found in network for network in self.networks)

    def origin(self, peer: str, forwarded: Sequence[str]) -> str:
        """Where a request comes from.

        Each proxy writes behind what it was sent, so the list is read from its end: the first address that is no
        proxy's is the one that a proxy has seen itself. What stands before it is whatever the client likes.

        Args:
            peer: Where the connection comes from.
            forwarded: The headers ``X-Forwarded-For``, in their order.

        Example:
            >>> proxies = Proxies.named("10.0.0.1, 10.0.0.2")
            >>> proxies.origin("10.0.0.1", ["1.2.3.4, 192.0.2.7", "10.0.0.2"])
            '192.0.2.7'
            >>> proxies.origin("192.0.2.9", ["1.2.3.4"])
            '192.0.2.9'
        """
        nearest = peer
        hops = [hop for header in forwarded for hop in header.split(",")]
        while nearest in self and hops:
            found = _address(_without_port(hops.pop().strip()))
            if found is None:  # the proxy did not say: then it is the proxy itself
                break
            nearest = str(found)
        return nearest


@final
class Forwarded:
    """Replaces the address of a request by the one that a named proxy tells of; others are not believed.

    Args:
        app: What it stands before.
        proxies: Who is believed.
    """

    def __init__(self, app: ASGIApp, proxies: Proxies) -> None:
        """Stand before an application."""
        self._app = app
        self._proxies = proxies
        self._has_warned = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        client = scope.get("client")
        forwarded = Headers(scope=scope).getlist(_HEADER) if scope["type"] == "http" and client else []
        if client and forwarded:
            if client[0] in self._proxies:
                scope["client"] = (self._proxies.origin(client[0], forwarded), 0)
            else:
                self._warn(client[0])
        await self._app(scope, receive, send)

    def _warn(self, peer: str) -> None:
        """Once: a proxy that was forgotten would share one address among all its clients."""
        if not self._has_warned:
            self._has_warned = True
            _LOG.warning("%s sends X-Forwarded-For and is not believed; if it is your proxy, name it: --proxies", peer)


def _network(name: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(name)
    except ValueError:
        raise ConfigError(
            f"{name!r} is no address of a proxy",
            remedy="give addresses or networks with commas between, as 127.0.0.1,10.0.0.0/8",
        ) from None


def _address(text: str) -> _Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _without_port(hop: str) -> str:
    """Of ``192.0.2.1:5000`` and ``[2001:db8::1]:5000`` the address.

    Example:
        >>> [_without_port(hop) for hop in ("192.0.2.1:5000", "[2001:db8::1]:5000", "2001:db8::1", "192.0.2.1")]
        ['192.0.2.1', '2001:db8::1', '2001:db8::1', '192.0.2.1']
    """
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
