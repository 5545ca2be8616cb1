"""Settings of a server: limits, and the proxies that are believed."""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from hedgerow.algorithms.shared import is_count
from hedgerow.errors import ConfigError

_LONGEST_SIGN_IN = 24 * 7
"""Hours; what a provider says of a person is asked again after that at the latest."""
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
class Part:
    """What a value of a claim makes of a person.

    Attributes:
        role: Role at this server.
        data_sets: Names of the data sets that may be asked; None for all, also later ones.
    """

    role: Literal["custodian", "analyst"]
    data_sets: tuple[str, ...] | None


@dataclass(frozen=True)
class Oidc:
    """A provider of identities that people sign in with, by OpenID Connect.

    Attributes:
        issuer: Its address, below which it describes itself.
        client: Id of this server at the provider.
        secret: The server's secret there. SECRET.
        address: Public address of the page; the provider sends people back to ``v1/oidc/callback`` below it.
        parts: What the values of the claim make of a person; see `parts_named`.
        claim: Claim that holds them: a text, or a list of texts.
        name: Claim that holds the name of a person.
        hours: Time that a sign-in is good for.

    Example:
        >>> parts = parts_named("staff=analyst:all")
        >>> Oidc("https://id.example.org", "hedgerow", "s3cret", "https://ask.example.org", parts)
        Oidc(issuer='https://id.example.org', client='hedgerow', address='https://ask.example.org', ...)
        >>> Oidc("http://id.example.org", "hedgerow", "", "https://ask.example.org", {})
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: the issuer 'http://id.example.org' is not an address with https
          Remedy: http is for this machine alone, to try it out
    """

    issuer: str
    client: str
    secret: str = field(repr=False)
    address: str
    parts: Mapping[str, Part]
    claim: str = "groups"
    name: str = "preferred_username"
    hours: float = 12.0

    def __post_init__(self) -> None:
        """Check the addresses and the hours.

        Raises:
            ConfigError: One is not right.
        """
        for what, address in (("issuer", self.issuer), ("address", self.address)):
            if not _is_safe(address):
                raise ConfigError(
                    f"the {what} {address!r} is not an address with https",
                    remedy="http is for this machine alone, to try it out",
                )
        if not 0.0 < self.hours <= _LONGEST_SIGN_IN:
            raise ConfigError(f"a sign-in is good for up to {_LONGEST_SIGN_IN} hours", remedy="for example 12")

    @property
    def is_secure(self) -> bool:
        """Whether the page is spoken to with TLS: then its cookies are too."""
        return self.address.startswith("https:")

    def part_of(self, told: Sequence[str]) -> Part | None:
        """What the values of the claim make of a person; None if none of them says anything.

        One that makes a custodian outweighs all others. Analysts may ask what any of them lets them ask.

        Args:
            told: Values of the claim.

        Example:
            >>> oidc = Oidc("https://id.example.org", "h", "s", "https://ask.example.org",
            ...             parts_named("a=analyst:x+y, b=analyst:z, boss=custodian"))
            >>> oidc.part_of(["b", "a"]).data_sets, oidc.part_of(["a", "boss"]).role, oidc.part_of(["c"])
            (('z', 'x', 'y'), 'custodian', None)
        """
        found = [self.parts[value] for value in told if value in self.parts]
        if not found:
            return None
        custodian = next((part for part in found if part.role == "custodian"), None)
        if custodian is not None or any(part.data_sets is None for part in found):
            return custodian or Part("analyst", None)
        return Part("analyst", tuple(dict.fromkeys(name for part in found for name in part.data_sets or ())))


def parts_named(text: str) -> dict[str, Part]:
    """Read what values of a claim make of people, separated by commas.

    Args:
        text: ``VALUE=custodian``, ``VALUE=analyst:all``, or ``VALUE=analyst:NAME+NAME`` with names of data sets.

    Raises:
        ConfigError: It names nothing, or one is not such a pair.

    Example:
        >>> parts_named("data office=custodian, staff=analyst:people+visits")["staff"]
        Part(role='analyst', data_sets=('people', 'visits'))
        >>> parts_named("staff=root")
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: 'staff=root' does not say what a value of the claim makes of a person
          Remedy: give VALUE=custodian, VALUE=analyst:all or VALUE=analyst:people+visits, separated by commas
    """
    found: dict[str, Part] = {}
    for pair in (part.strip() for part in text.split(",")):
        value, _, said = pair.rpartition("=")
        role, _, names = said.partition(":")
        scope = tuple(name.strip() for name in names.split("+"))
        if not value or (role, bool(names)) not in (("custodian", False), ("analyst", True)) or ("" in scope and names):
            raise ConfigError(
                f"{pair!r} does not say what a value of the claim makes of a person",
                remedy="give VALUE=custodian, VALUE=analyst:all or VALUE=analyst:people+visits, separated by commas",
            )
        found[value.strip()] = (
            Part("custodian", None) if role == "custodian" else Part("analyst", None if scope == ("all",) else scope)
        )
    return found


@dataclass(frozen=True)
class AlertSettings:
    """Thresholds that operators are told of, and where.

    Attributes:
        address: Address that alerts are sent to. SECRET: it may hold a key.
        budget_left: Share of the budget of a data set; less that is left is told.
        store_bytes: Size of the store; more is told. None for no limit.
        seconds: Time between two looks.

    Example:
        >>> AlertSettings("http://chat.example.org/hook")
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: alerts are sent to an address with https
          Remedy: http is for this machine alone
    """

    address: str = field(repr=False)
    budget_left: float = 0.1
    store_bytes: int | None = None
    seconds: float = 60.0

    def __post_init__(self) -> None:
        """Check the address and the numbers.

        Raises:
            ConfigError: One is not right.
        """
        if not _is_safe(self.address):
            raise ConfigError("alerts are sent to an address with https", remedy="http is for this machine alone")
        if not 0.0 <= self.budget_left < 1.0 or not self.seconds > 0.0:
            raise ConfigError("the share of a budget that is told of is between 0 and 1", remedy="for example 0.1")


def _is_safe(address: str) -> bool:
    """Whether an address of the web is spoken to with TLS, or is of this machine."""
    parts = urlsplit(address)
    found = _address(parts.hostname or "")
    loopback = parts.hostname == "localhost" or (found is not None and found.is_loopback)
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and loopback))


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
        threads: Threads that work for requests.
        places: Requests of analysts that are worked for at a time; fewer than there are threads.
        longest_wait: Seconds that others wait for a place at most; else they are turned away at once.
        proxies: Proxies that are believed about the addresses of requests.
        oidc: Provider of identities that people sign in with; None for tokens alone.
        sources: Addresses of tables that are counted where they are, by name.
        alerts: What operators are told by a webhook; None for nothing.

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
    places: int = 32
    longest_wait: float = 1.0
    proxies: Proxies = field(default_factory=Proxies)
    oidc: Oidc | None = None
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    alerts: AlertSettings | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: One is not a positive number, or not a whole one where that is needed.
        """
        for name in ("largest_body", "largest_upload", "failures_per_minute", "downloads", "threads", "places"):
            check_count(name, getattr(self, name))
        if self.requests_per_minute is not None:
            check_count("requests_per_minute", self.requests_per_minute)
        if not self.longest_wait > 0.0:
            raise ConfigError("longest_wait must be above 0 seconds", remedy="for example 1")


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
