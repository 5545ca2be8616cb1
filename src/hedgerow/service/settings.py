"""Settings of a server: limits, and the proxies that are believed."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from hedgerow.algorithms.shared import is_count
from hedgerow.errors import ConfigError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


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
        """Read proxies from a list separated by commas.

        Args:
            text: Addresses, and networks such as ``10.0.0.0/8``; may be empty.

        Raises:
            ConfigError: One is not an address.

        Example:
            >>> Proxies.named("proxy.example.org")
            Traceback (most recent call last):
                ...
            hedgerow.errors.ConfigError: 'proxy.example.org' is not the address of a proxy
              Remedy: give addresses or networks separated by commas, such as 127.0.0.1,10.0.0.0/8
        """
        names = [part.strip() for part in text.split(",") if part.strip()]
        return cls(tuple(_network(name) for name in names))

    def __contains__(self, address: str) -> bool:
        """Whether an address is that of a proxy."""
        found = _address(address)
        return found is not None and any(found in network for network in self.networks)

    def origin(self, peer: str, forwarded: Sequence[str]) -> str:
        """Find the address that a request comes from.

        Each proxy appends to the list it was sent, so the list is read from its end: the first address that is not a
        proxy's is the one that a proxy saw itself. The client can write anything before it.

        Args:
            peer: Address that the connection comes from.
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


@dataclass(frozen=True)
class Settings:
    """Limits of a server.

    Attributes:
        data_folder: Folder of uploads, and of tables to register.
        largest_body: Most bytes of a request's body.
        largest_upload: Most bytes of an uploaded table.
        requests_per_minute: Requests of one token; None for no limit.
        failures_per_minute: Wrong tokens from one address before its unknown tokens are refused for a while.
        downloads: Files of synthetic records that are made at a time.
        threads: Requests that are handled at a time.
        longest_wait: Seconds that a request is expected to take at most; else it is turned away at once.
        proxies: Proxies that are believed about the addresses of requests.

    Example:
        >>> Settings(Path("data")).largest_body
        1048576
        >>> Settings(Path("data"), threads=0)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: threads must be a whole number from 1, not 0
    """

    data_folder: Path
    largest_body: int = 2**20
    largest_upload: int = 2**30
    requests_per_minute: int | None = 6000
    failures_per_minute: int = 20
    downloads: int = 2
    threads: int = 128
    longest_wait: float = 2.0
    proxies: Proxies = field(default_factory=Proxies)

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: One is not a positive number, or not a whole one where that is needed.
        """
        for name in ("largest_body", "largest_upload", "failures_per_minute", "downloads", "threads"):
            check_count(name, getattr(self, name))
        if self.requests_per_minute is not None:
            check_count("requests_per_minute", self.requests_per_minute)
        if not self.longest_wait > 0.0:
            raise ConfigError("longest_wait must be above 0 seconds", remedy="for example 2")


def check_count(name: str, value: int) -> None:
    """Refuse what is not a whole number from 1.

    Raises:
        ConfigError: It is not one.
    """
    if not is_count(value):
        raise ConfigError(f"{name} must be a whole number from 1, not {value!r}")


def _network(name: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(name)
    except ValueError:
        raise ConfigError(
            f"{name!r} is not the address of a proxy",
            remedy="give addresses or networks separated by commas, such as 127.0.0.1,10.0.0.0/8",
        ) from None


def _address(text: str) -> _Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _without_port(hop: str) -> str:
    """Drop the port of an address such as ``192.0.2.1:5000`` or ``[2001:db8::1]:5000``.

    Example:
        >>> [_without_port(hop) for hop in ("192.0.2.1:5000", "[2001:db8::1]:5000", "2001:db8::1", "192.0.2.1")]
        ['192.0.2.1', '2001:db8::1', '2001:db8::1', '192.0.2.1']
    """
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
