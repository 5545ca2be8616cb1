"""Running the server in this process: the address it listens on, who may sign in first, and how it stops."""

import errno
import ipaddress
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import uvicorn
from fastapi import FastAPI

from hedgerow.algorithms.online_pmw import OnlinePMW
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, ConflictError, NotThereError
from hedgerow.privacy import ApproxDP
from hedgerow.service.http import (
    BACKLOG,
    DEFAULT_DAYS,
    QUEUE,
    ConnectionLimits,
    Connections,
    GuardedProtocol,
    new_token,
)
from hedgerow.service.sessions import made_up
from hedgerow.service.store import Person, Role, Store

FIRST_CUSTODIAN = "custodian"
"""Name of the custodian of an empty store."""
_PATIENCE = 30
"""Seconds that requests at work have to finish when the server is stopped."""
_KEPT_ALIVE = 5
"""Seconds that a connection stays open for another request, if nothing comes."""

_REASONS = {
    errno.EADDRINUSE: ("something else listens there", "stop that, or take another port; --port 0 finds a free one"),
    errno.EACCES: ("that is not allowed", "take a port from 1024"),
    errno.EADDRNOTAVAIL: ("this machine has no such address", "give --host 127.0.0.1, or 0.0.0.0 for all addresses"),
}


def listen(host: str, port: int) -> socket.socket:
    """Take an address to listen on, before anything else begins.

    Args:
        host: Name or number.
        port: 0 for a free one.

    Raises:
        ConfigError: It is taken, or not available.

    Example:
        >>> taken = listen("127.0.0.1", 0)
        >>> url_of(taken).startswith("http://127.0.0.1:"), taken.close()
        (True, None)
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise ConfigError(f"--host {host!r} is not an address", remedy="give --host 127.0.0.1") from None
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        reason, remedy = _REASONS.get(error.errno or 0, (error.strerror or "it does not work", "take another address"))
        raise ConfigError(f"the server cannot listen on port {port} of {host}: {reason}", remedy=remedy) from None
    return made


@dataclass(frozen=True)
class TlsFiles:
    """The files that a server proves its name with.

    Attributes:
        certificate: Certificate in PEM, with those between it and its root.
        key: Its private key in PEM; None if it is in the same file.
    """

    certificate: Path
    key: Path | None = None

    def __post_init__(self) -> None:
        """Check them before anything else begins.

        Raises:
            ConfigError: One cannot be read or used, or needs a passphrase.
        """
        try:  # with a passphrase of ours, or a terminal would be asked for one
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, password="")
        except (OSError, ValueError) as error:
            reason = "cannot be read" if not isinstance(error, ssl.SSLError) and error.args else "cannot be used"
            raise ConfigError(
                f"the certificate {self.certificate} or its key {reason}",
                remedy="give both in PEM, the key without a passphrase, and let the server's user read them",
            ) from None

    @property
    def options(self) -> dict[str, Any]:
        """What uvicorn is told."""
        return {"ssl_certfile": self.certificate, "ssl_keyfile": self.key}


def url_of(listening: socket.socket, *, tls: bool = False) -> str:
    """The address of the web page; that of this machine if the server listens on all addresses.

    Args:
        listening: Socket from `listen`.
        tls: Whether it is spoken to with TLS.

    Example:
        >>> with listen("0.0.0.0", 0) as taken:
        ...     url_of(taken).startswith("http://localhost:")
        True
    """
    host, port = listening.getsockname()[:2]
    found = ipaddress.ip_address(host.partition("%")[0])
    name = "localhost" if found.is_unspecified else f"[{host}]" if found.version == 6 else host
    return f"http{'s' if tls else ''}://{name}:{port}/"


def peer_url_of(listening: socket.socket, *, tls: bool = False) -> str:
    """The address at which other servers of the store reach this one: by this machine's name if it listens everywhere.

    Args:
        listening: Socket from `listen`.
        tls: Whether it is spoken to with TLS.

    Example:
        >>> with listen("127.0.0.1", 0) as taken:
        ...     peer_url_of(taken) + "/" == url_of(taken)
        True
    """
    host, port = listening.getsockname()[:2]
    if not ipaddress.ip_address(host.partition("%")[0]).is_unspecified:
        return url_of(listening, tls=tls).rstrip("/")
    return f"http{'s' if tls else ''}://{socket.gethostname()}:{port}"


def is_reachable(listening: socket.socket) -> bool:
    """Whether other machines can reach a listening socket.

    Example:
        >>> with listen("127.0.0.1", 0) as taken:
        ...     is_reachable(taken)
        False
    """
    return not ipaddress.ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def with_password(store: str, file: Path | None) -> str:
    """The address of a store with the password from a file.

    Args:
        store: See `Store.open`.
        file: File with the password of a PostgreSQL server, or None.

    Raises:
        ConfigError: The address is of a file, or holds a password already; or the password cannot be read.

    Example:
        >>> with_password("hedgerow.db", None)
        'hedgerow.db'
    """
    if file is None:
        return store
    parts = urlsplit(store)
    if not parts.scheme.startswith("postgres") or parts.password is not None:
        raise ConfigError(
            "a file with a password needs the address of a PostgreSQL store without one",
            remedy="write the store as postgresql://user@host/database",
        )
    try:
        password = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"the file {file} with the store's password cannot be read") from None
    user, mark, place = parts.netloc.rpartition("@")
    if not mark:
        raise ConfigError("the address of the store does not name a user", remedy="postgresql://user@host/database")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{place}"))


def without_password(store: str) -> str:
    """The address of a store, to show.

    Example:
        >>> without_password("postgresql://ada:secret@db/hedgerow"), without_password("hedgerow.db")
        ('postgresql://ada@db/hedgerow', 'hedgerow.db')
    """
    parts = urlsplit(store)
    if not parts.scheme.startswith("postgres"):
        return store
    user, mark, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}{mark}{place}", query=""))


def first_token(store: Store, days: int | None = DEFAULT_DAYS) -> str | None:
    """A token of all data sets for the first custodian of an empty store; None if there are people already.

    Args:
        store: Store of the people.
        days: Lifetime in days; None for a token that does not expire.

    Example:
        >>> import tempfile
        >>> from hedgerow.service.store.store import Store
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store.open(f"{folder}/store.db")
        ...     made = first_token(store), first_token(store)
        ...     store.close()
        >>> made[0].startswith("hgr_"), made[1]
        (True, None)
    """
    if store.people():
        return None
    try:
        person = store.add_person(FIRST_CUSTODIAN, "custodian", by=None)
    except ConflictError:  # another process was quicker
        return None
    return token_of(store, person, data_sets=None, days=days, note="first start")


def another_token(store: Store, name: str, *, data_sets: tuple[str, ...] | None, days: int | None) -> str:
    """A new token for a custodian who has lost hers.

    Args:
        store: Store of the people.
        name: The custodian's name.
        data_sets: Names of the data sets that it opens; None for all.
        days: Lifetime in days; None for a token that does not expire.

    Raises:
        NotThereError: There is no custodian of this name, or no such data set.
    """
    for each in data_sets or ():
        store.data_set(each)
    custodians = [person for person in store.people() if person.role == "custodian"]
    for person in custodians:
        if person.name == name:
            return token_of(store, person, data_sets=data_sets, days=days, note="made at the server")
    listed = ", ".join(person.name for person in custodians)
    raise NotThereError(
        f"there is no custodian named {name!r} in this store",
        remedy=f"the custodians are: {listed}" if listed else "start the server: it makes the first custodian",
    )


def person_of(store: Store, name: str, role: Role) -> Person:
    """Find a person by name, or add one."""
    try:
        return store.person(name)
    except NotThereError:
        return store.add_person(name, role, by=None)


def token_of(store: Store, person: Person, *, data_sets: tuple[str, ...] | None, days: int | None, note: str) -> str:
    """A new token. SECRET: to be shown once.

    Args:
        store: Store of the tokens.
        person: The person who gets it.
        data_sets: Names of the data sets that it opens; None for all.
        days: Lifetime in days; None for a token that does not expire.
        note: Purpose, in words.
    """
    expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
    made = new_token(person.id, data_sets=data_sets, expires=expires, note=note)
    store.add_token(made.token, made.salt, made.digest, by=None)
    return made.text


class _Server(uvicorn.Server):
    """A server that tells when it listens, and which signal stopped it."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = started
        self.stopped_by: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(QUEUE)  # the event loop queues as many as it accepts at once
        if self.started:
            self._tell()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture signals as uvicorn does, but do not raise them again afterwards."""
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first asks requests to finish; a second Ctrl-C does not wait for them."""
        self.stopped_by = self.stopped_by or sig
        super().handle_exit(sig, frame)


def configured(app: FastAPI, limits: ConnectionLimits, **more: Any) -> uvicorn.Config:
    """Configure uvicorn to serve an application.

    Addresses of requests are not logged: they may hold conditions.

    Args:
        app: Application from `create_app`, which reads the addresses that proxies report, and whose settings name the
            proxies; uvicorn's own trust in proxies is off, and so is ``FORWARDED_ALLOW_IPS``.
        limits: Limits of connections.
        more: Other options of uvicorn.
    """
    proxies = app.state.service.settings.proxies
    made = partial(GuardedProtocol, connections=Connections(limits), proxies=proxies)
    options: dict[str, Any] = {"http": made, "ws": "none", "lifespan": "on", "server_header": False, **more}
    return uvicorn.Config(
        app,
        access_log=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=_KEPT_ALIVE,
        timeout_graceful_shutdown=_PATIENCE,
        **options,
    )


def run(
    app: FastAPI,
    listening: socket.socket,
    limits: ConnectionLimits,
    *,
    started: Callable[[], None],
    quiet: bool = False,
    tls: TlsFiles | None = None,
    own_log: bool = False,
) -> int:
    """Serve until a signal comes; requests at work are finished.

    Args:
        app: The application.
        listening: Socket from `listen`.
        limits: Limits of connections.
        started: Called when requests are answered.
        quiet: Whether nothing but errors is logged.
        tls: Certificate and key; None for plain HTTP.
        own_log: Whether the log is set up already.

    Returns:
        The number of the signal.
    """
    options: dict[str, Any] = {"log_config": None} if own_log else {"log_level": "error" if quiet else "warning"}
    config = configured(app, limits, **options, **({} if tls is None else tls.options))
    server = _Server(config, started)
    server.run(sockets=[listening])
    return server.stopped_by or signal.SIGTERM


_RECORDS = 100_000
_SIZES = ((40, 16, 16, 16, 8, 8, 5, 5), (5, 4, 3, 2))
"""Sizes of a domain that is held as a junction tree, and of one that is held as a histogram."""
_QUESTIONS = ("a = 0", "b = 0 and c = 0", "not (c = 0 and d = 0) or a = 1", "a in (0, 1) and b between 0 and 1")


def compile_kernels() -> None:
    """Ask throw-away sessions about made-up records, so that every kernel is in memory and in numba's cache.

    The first time on a machine it takes half a minute, later a second. Nothing private is touched.
    """
    for sizes in _SIZES:
        domain = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcdefgh", sizes, strict=False))
        session = OnlinePMW(updates=20, queries=100).start(made_up(domain, _RECORDS), ApproxDP(1.0, 1e-9))
        for question in _QUESTIONS:
            session.ask(question)
        release = session.release()
        release.model.marginals([("a", "b")])
        release.sample(100)
