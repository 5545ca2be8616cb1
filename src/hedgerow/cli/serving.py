"""The work of ``hedgerow serve``: open the store, say how to sign in, serve, and close everything."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.cli.console import Output
from hedgerow.cli.spending import open_register
from hedgerow.errors import ConfigError, DomainError, MissingExtraError, NotThereError

if TYPE_CHECKING:
    from hedgerow.privacy import Limit, Register
    from hedgerow.service.http import ConnectionLimits
    from hedgerow.service.running import TlsFiles
    from hedgerow.service.sessions import SessionWorkers
    from hedgerow.service.settings import Settings
    from hedgerow.service.store import Store

_NEEDED = ("alembic", "fastapi", "itsdangerous", "limits", "prometheus_client", "psycopg", "sqlalchemy", "uvicorn")
_ANALYST = "analyst"
_MOST_DAYS = 36_500  # as the API has it
_TLS = (
    "other machines can reach this server, and it speaks plain HTTP: anyone between can read tokens and answers. "
    "Put a reverse proxy with TLS before it, or give --tls-certificate (docs/server.md)."
)
_BEGUN = "there is no anchor {anchor} yet: it is made from the present store, which may be an older copy."
_ACCEPTED = "accepted although the anchor says otherwise: {what}. The older part is closed permanently."
_SOURCES = "write lines such as  visits: /srv/lake/visits/  or  claims: postgresql://hedgerow@db/claims#claims"
_NOT_KEPT = "Nothing of this demo is kept when it is stopped (Ctrl-C)."


def check_installed() -> None:
    """Check that the libraries of the server are installed.

    Raises:
        MissingExtraError: One is missing.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"the server needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            remedy="pip install 'hedgerow[service]'",
        )


def check_there(address: str) -> None:
    """Check that a store that is a file is there.

    Raises:
        NotThereError: There is no such file.
    """
    file = address.removeprefix("sqlite:///")
    if "://" not in file and not Path(file).exists():
        raise NotThereError(f"{file}: there is no store", remedy="give the --store that the server is started with")


@dataclass(frozen=True)
class StorePlace:
    """The store of a server, and what it is checked against.

    Attributes:
        address: A file, or the address of a PostgreSQL database.
        password_file: File with the password of the database.
        quota: Bytes that a person's questions about a data set may add to the store.
        anchor: The file that says how far the store has come; None for none.
        accept_older: Whether to continue with a store that is older than that.
    """

    address: str
    password_file: Path | None
    quota: int
    anchor: Path | None = field(kw_only=True)
    accept_older: bool = field(kw_only=True)

    def open(self, output: Output) -> Store:
        """Open the store, and see whether it is as it was left.

        Raises:
            ConfigError: The password does not go with the address; or a store is to be accepted without an anchor.
            StoreError: It cannot be opened, its audit log was changed, or it is older than its anchor says.
        """
        from hedgerow.service.running import with_password
        from hedgerow.service.store import Anchor, Store, hold_to

        if self.accept_older and self.anchor is None:
            raise ConfigError("--accept-store needs an anchor", remedy="give --anchor FILE too")
        anchor = None if self.anchor is None else Anchor(self.anchor)
        store = Store.open(with_password(self.address, self.password_file), anchor=anchor, quota=self.quota)
        try:
            if anchor is None:
                store.check_audit()
            else:
                if not anchor.path.exists() and store.people():
                    output.warn(_BEGUN.format(anchor=anchor.path))
                for sentence in hold_to(store, anchor, accept=self.accept_older).sentences():
                    output.warn(_ACCEPTED.format(what=sentence))
        except BaseException:
            store.close()
            raise
        return store


@dataclass(frozen=True)
class Serving:
    """A server to run.

    Attributes:
        output: Prints the address, the tokens and warnings.
        store: The store.
        settings: Limits of the server, and its folder of tables.
        connections: Limits of connections.
        register: File of the register that data sets are charged to; None for none.
        limit: Limit of the register, if it is named.
        demo: Whether to register Adult.
        days: Days until printed tokens expire; None for tokens that do not.
        tls: Certificate and key; None for plain HTTP.
        logs_json: Whether the log is in JSON.
        peer_address: Address at which other servers of the store reach this one; None for that of the socket.
    """

    output: Output
    store: StorePlace
    settings: Settings
    connections: ConnectionLimits
    register: Path | None = field(kw_only=True)
    limit: Limit | None = field(kw_only=True)
    demo: bool = field(kw_only=True)
    days: int | None = field(kw_only=True)
    tls: TlsFiles | None = field(kw_only=True)
    logs_json: bool = field(kw_only=True)
    peer_address: str | None = field(kw_only=True)

    def run(self, host: str, port: int) -> int:
        """Serve until a signal comes.

        Args:
            host: Address to listen on.
            port: Port to listen on; 0 for a free one.

        Returns:
            The number of the signal.

        Raises:
            ConfigError: The address is taken.
            StoreError: The store cannot be opened.
        """
        from hedgerow.service.http import Alerting, create_app, log_as_json
        from hedgerow.service.running import is_reachable, listen, peer_url_of, run
        from hedgerow.service.sessions import SessionWorkers

        if self.logs_json:
            log_as_json(quiet=self.output.quiet)
        with ExitStack() as stack:
            listening = stack.enter_context(closing(listen(host, port)))
            if self.tls is None and is_reachable(listening):
                self.output.warn(_TLS)
            store = stack.enter_context(closing(self.store.open(self.output)))
            register = open_register(self.register, self.limit)
            if register is not None:
                self._warn_of_others(store, register)
            folder, sources = self.settings.data_folder, self.settings.sources
            workers = stack.enter_context(closing(SessionWorkers(store, folder, register=register, sources=sources)))
            workers.divide(self.peer_address or peer_url_of(listening, tls=self.tls is not None))
            if self.demo:
                self._register(store, workers)
            if self.settings.alerts is not None:
                stack.enter_context(closing(alerting := Alerting(store, self.settings.alerts)))
                alerting.start()
            return run(
                create_app(workers, store, self.settings),
                listening,
                self.connections,
                started=lambda: self._started(store, workers, listening),
                quiet=self.output.quiet,
                tls=self.tls,
                own_log=self.logs_json,
            )

    def _register(self, store: Store, workers: SessionWorkers) -> None:
        from hedgerow.service.demo import demo
        from hedgerow.service.running import FIRST_CUSTODIAN, person_of

        demo.lay_out(self.settings.data_folder)
        if demo.NAME not in [data_set.name for data_set in store.data_sets()]:
            demo.register(workers, person_of(store, FIRST_CUSTODIAN, "custodian"))

    def _warn_of_others(self, store: Store, register: Register) -> None:
        """Name the data sets of the store that the register knows nothing of."""
        from hedgerow.privacy import DATA_SET

        known = {entry.name for entry in register.entries if entry.kind == DATA_SET}
        others = sorted({data_set.name for data_set in store.data_sets()} - known)
        if others:
            self.output.warn(
                f"{register.path} does not count {', '.join(others)}: registered without it. Charge them by hand if "
                "they are about the same people (docs/server.md)."
            )

    def _started(self, store: Store, workers: SessionWorkers, listening: Any) -> None:
        from hedgerow.service.running import url_of, without_password

        tokens, address = self._tokens(store), url_of(listening, tls=self.tls is not None)
        self.output.result(
            {
                "address": address,
                "store": without_password(self.store.address),
                "data": str(self.settings.data_folder),
                "tokens": tokens,
            }
        )
        _show(self.output, address, tokens, demo=self.demo, days=self.days)
        threading.Thread(target=_ahead, args=(workers,), name="ahead", daemon=True).start()

    def _tokens(self, store: Store) -> dict[str, str]:
        from hedgerow.service.running import FIRST_CUSTODIAN, first_token, person_of, token_of

        if self.demo:
            custodian, analyst = person_of(store, FIRST_CUSTODIAN, "custodian"), person_of(store, _ANALYST, "analyst")
            return {
                person.name: token_of(store, person, data_sets=None, days=self.days, note="demo")
                for person in (custodian, analyst)
            }
        token = first_token(store, self.days)
        return {} if token is None else {FIRST_CUSTODIAN: token}


def scope_of(text: str | None, new_token: str | None) -> tuple[str, ...] | None:
    """Names of the data sets in ``--token-datasets``; None for all of them.

    Args:
        text: Value of the option.
        new_token: Value of ``--new-token``, which alone needs it.

    Raises:
        ConfigError: It names nothing, or one of the two options is given without the other.

    Example:
        >>> scope_of("people,visits", "ada"), scope_of("all", "ada")
        (('people', 'visits'), None)
    """
    if (text is None) != (new_token is None):
        raise ConfigError(
            "--new-token and --token-datasets go together: a token names its data sets",
            remedy="--new-token NAME --token-datasets people,visits; or 'all', later ones included",
        )
    if text is None or text == "all":
        return None
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise ConfigError(
            "--token-datasets does not name a data set", remedy="give names separated by commas, or 'all'"
        )
    return names


def secret_in(file: Path) -> str:
    """The secret in a file.

    Raises:
        ConfigError: It cannot be read, or holds nothing.
    """
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"the file {file} with the secret cannot be read") from None
    if not secret:
        raise ConfigError(f"the file {file} holds no secret", remedy="write what the provider gave you into it")
    return secret


def sources_in(file: Path | None) -> dict[str, str]:
    """The tables that a server counts where they are: names and addresses, as YAML or JSON.

    Args:
        file: The file; None for none.

    Raises:
        ConfigError: It cannot be read, or does not map names to addresses.
    """
    from hedgerow.domain import parsed_text

    if file is None:
        return {}
    try:
        told = parsed_text(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, DomainError):
        raise ConfigError(f"--sources: the file {file} cannot be read, or is no YAML", remedy=_SOURCES) from None
    if not isinstance(told, dict) or not all(
        isinstance(name, str) and isinstance(at, str) for name, at in told.items()
    ):
        raise ConfigError(f"--sources: {file} does not map names to addresses", remedy=_SOURCES)
    return told


def days_of(text: str) -> int | None:
    """Number of days in ``--token-days``; None for tokens that do not expire.

    Raises:
        ConfigError: It is neither a number of days nor 'ever'.

    Example:
        >>> days_of("90"), days_of("ever")
        (90, None)
    """
    if text == "ever":
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= _MOST_DAYS):
        raise ConfigError(
            f"--token-days is a number from 1 to {_MOST_DAYS:,}, or 'ever'; not {text!r}", remedy="for example 30"
        )
    return int(text)


def print_new_token(
    output: Output, place: StorePlace, name: str, data_sets: tuple[str, ...] | None, days: int | None
) -> None:
    """Print a fresh token for a custodian whose own is lost or about to expire.

    Args:
        output: Prints the token.
        place: The store.
        name: Name of the custodian.
        data_sets: Data sets that the token is good for; None for all.
        days: Days until it expires; None if it does not.

    Raises:
        NotThereError: There is no custodian or data set of this name, or no store.
        StoreError: The store cannot be opened.
    """
    from hedgerow.service.running import another_token

    check_there(place.address)
    with closing(place.open(output)) as store:
        token = another_token(store, name, data_sets=data_sets, days=days)
    scope = "all" if data_sets is None else list(data_sets)
    output.result({"tokens": {name: token}, "datasets": scope, "days": days or "ever"})
    if not output.as_json:
        output.out.print(token, soft_wrap=True)


def _show(output: Output, address: str, tokens: dict[str, str], *, demo: bool, days: int | None) -> None:
    if output.as_json:
        return
    if output.quiet:
        for token in tokens.values():  # never shown again: they are the result
            output.out.print(token)
        return
    good = "without expiry" if days is None else f"{days:,} days"
    lines = [f"Hedgerow answers at [bold]{address}[/]"]
    for name, token in tokens.items():
        lines += ["", f"Token of the {name}, for all data sets and {good}, shown this once:", f"[bold]{token}[/]"]
    if demo:
        lines += ["", "Open the address and sign in with either token; the data set is 'adult'.", _NOT_KEPT]
    elif tokens:
        lines += ["", "Open the address and sign in, register a table, and make tokens for analysts.",
                  "Before it expires, or if it is lost, make another, with the same --store:",
                  "hedgerow serve --new-token custodian --token-datasets all"]  # fmt: skip
    output.panel("\n".join(lines), title="demo" if demo else "ready")


def _ahead(workers: SessionWorkers) -> None:
    """Do in the background what the first questions would wait for."""
    from hedgerow.service.running import compile_kernels

    workers.warm()
    compile_kernels()
