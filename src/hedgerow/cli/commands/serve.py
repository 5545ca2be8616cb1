"""``hedgerow serve``: the server."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli.console import INTERRUPTED, Output
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.options import RegisterOptions, between
from hedgerow.errors import ConfigError
from hedgerow.queries import Persons, Relation

if TYPE_CHECKING:
    from hedgerow.cli.serving import StorePlace
    from hedgerow.privacy import Limit
    from hedgerow.service.http import ConnectionLimits
    from hedgerow.service.running import TlsFiles
    from hedgerow.service.settings import AlertSettings, Oidc

STORE = "hedgerow.db"
TABLES = "tables"

_MEBIBYTE = 2**20
_SEEN = (
    "a password on the command line can be seen in the list of processes. Give the address by the environment variable "
    "HEDGEROW_STORE, or the password by --store-password-file."
)


class LogFormat(StrEnum):
    """How the log of the server is written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True)
class _Places(Options, panel="Places", environment=True):
    """Where everything is kept, and where the server listens.

    Attributes:
        store: Store of everything that is kept: a file (SQLite), or postgresql://user@host/database.
        store_password_file: File with the password of a PostgreSQL store.
        data: The only folder that tables are read from, and uploaded to.
        sources: File with names and addresses of tables that stay where they are, for data sets to name.
        anchor: File outside the store that says how far the store has come: a server refuses a store that is older.
        accept_store: Continue with a store that is older than the anchor says: its older data sets are closed
            permanently.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        peer_address: Address at which the other servers of a PostgreSQL store reach this one, as http://host:port.
        proxies: Reverse proxies whose X-Forwarded-For is believed: addresses or networks, separated by commas.
        tls_certificate: Certificate in PEM, with those between it and its root: the server speaks HTTPS itself.
        tls_key: Its private key in PEM, without a passphrase.
        log_format: Warnings and errors as text; or, in JSON, requests too, each with its id, its person and its route.
    """

    store: Annotated[str | None, option(metavar="FILE|URL", show_default=STORE)] = None
    store_password_file: Annotated[Path | None, option(metavar="FILE")] = None
    data: Annotated[Path | None, option(metavar="FOLDER", show_default=TABLES)] = None
    sources: Annotated[Path | None, option(metavar="FILE")] = None
    anchor: Annotated[Path | None, option(metavar="FILE")] = None
    accept_store: Annotated[bool, option(envvar=None)] = False
    host: str = "127.0.0.1"
    port: Annotated[int, option(min=0, max=65535)] = 8000
    peer_address: Annotated[str | None, option(metavar="URL", show_default="by host and port")] = None
    proxies: Annotated[str, option(metavar="ADDRESSES", show_default="none")] = ""
    tls_certificate: Annotated[Path | None, option(metavar="FILE")] = None
    tls_key: Annotated[Path | None, option(metavar="FILE", show_default="the file of the certificate")] = None
    log_format: LogFormat = LogFormat.TEXT

    def stored(self, here: Path, quota: int, *, demo: bool) -> StorePlace:
        """The place of the store.

        Args:
            here: Folder of what has no other place.
            quota: Space of one person's questions about a data set, in MiB.
            demo: Whether the server is a demonstration.
        """
        from hedgerow.cli.serving import StorePlace

        return StorePlace(
            self.store or str(here / STORE),
            self.store_password_file,
            quota * _MEBIBYTE,
            anchor=None if demo and self.store is None else self.anchor,  # nothing of it is kept
            accept_older=self.accept_store,
        )

    @property
    def peers(self) -> str | None:
        """Address at which other servers reach this one.

        Raises:
            ConfigError: It is not an address of the web.
        """
        from urllib.parse import urlsplit

        parts = urlsplit(self.peer_address or "http://localhost")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ConfigError("--peer-address is not an address", remedy="for example http://10.0.0.5:8000")
        return self.peer_address and self.peer_address.rstrip("/")

    @property
    def tls(self) -> TlsFiles | None:
        """The certificate, and its key; None for plain HTTP.

        Raises:
            ConfigError: There is a key alone, or the two cannot be used.
        """
        from hedgerow.service.running import TlsFiles

        if self.tls_certificate is None:
            if self.tls_key is not None:
                raise ConfigError("--tls-key needs the certificate", remedy="give --tls-certificate FILE too")
            return None
        return TlsFiles(self.tls_certificate, self.tls_key)

    def tables(self, here: Path) -> Path:
        """The folder of the tables, which is made where nobody names one.

        Args:
            here: Folder of what has no other place.

        Raises:
            ConfigError: There is no such folder.
        """
        if self.data is None:
            (here / TABLES).mkdir(mode=0o700, exist_ok=True)
            return here / TABLES
        if not self.data.is_dir():
            raise ConfigError(f"--data: there is no folder {self.data}", remedy="make it, and put tables there")
        return self.data


@dataclass(frozen=True)
class _Register(RegisterOptions, environment=True):
    """The register of all data sets, and its limit.

    Attributes:
        register: Register, a file in which the budgets of all data sets add up: each is charged there with its whole
            budget before its table is read. Made by the first start, which names the limit.
        limit: Limit on the sum of all data sets in the register: an epsilon, for pure budgets alone, or with
            --limit-delta, for all kinds.
        limit_neighbours: The change that one person can make in the tables of the register; its data sets must agree.
        limit_person: Column that tells persons apart in the tables of the register, where it is about persons with
            several records.
    """

    limit_neighbours: Relation = Relation.ADD_REMOVE
    limit_person: Annotated[str | None, option(metavar="NAME")] = None

    @property
    def limited(self) -> Limit | None:
        """The limit of the register; None if none is named."""
        persons = None if self.limit_person is None else Persons(self.limit_person)
        return self.bound(between(self.limit_neighbours, persons))


@dataclass(frozen=True)
class _Limits(Options, panel="Limits", environment=True):
    """Limits on requests, connections and space.

    Attributes:
        rate: Requests a minute with one token; 0 for any number.
        largest_upload: Largest table that may be uploaded, in MiB.
        connections: Connections at a time.
        connections_per_address: Connections at a time from one address; the proxies of --proxies are not held to it.
        head_timeout: Longest time that a connection may take for the head of a request.
        stall_timeout: Longest time that the body of a request, or an answer, may stall: below 500 bytes a second.
        quota: Space that a person's questions about a data set may take in the store, in MiB; custodians may change it.
    """

    rate: Annotated[int, option(metavar="N", min=0)] = 6000
    largest_upload: Annotated[int, option(metavar="MIB", min=1)] = 1024
    connections: Annotated[
        int | None,
        option(metavar="N", min=1, show_default="as many as the files that the process may open allow (ulimit -n)"),
    ] = None
    connections_per_address: Annotated[int | None, option(metavar="N", min=1, show_default="a quarter of all")] = None
    head_timeout: Annotated[float, option(metavar="SECONDS", min=0.1)] = 10.0
    stall_timeout: Annotated[float, option(metavar="SECONDS", min=0.1)] = 20.0
    quota: Annotated[int, option(metavar="MIB", min=1)] = 256

    @property
    def of_connections(self) -> ConnectionLimits:
        """Limits on connections."""
        from hedgerow.service.http import ConnectionLimits

        return ConnectionLimits.of(
            self.connections,
            self.connections_per_address,
            head_seconds=self.head_timeout,
            stall_seconds=self.stall_timeout,
        )


@dataclass(frozen=True)
class _Alerts(Options, panel="Alerts", environment=True):
    """What operators are told by a webhook, when it begins and when it is over.

    Attributes:
        alert_url_file: File with the address that alerts are sent to, as JSON; it may hold a key.
        alert_budget: Tell of data sets with a smaller share of their budget left.
        alert_store: Tell of a store that takes more on its disk, in MiB.
    """

    alert_url_file: Annotated[Path | None, option(metavar="FILE")] = None
    alert_budget: Annotated[float, option(metavar="SHARE", min=0.0, max=1.0)] = 0.1
    alert_store: Annotated[int | None, option(metavar="MIB", min=1)] = None

    @property
    def told(self) -> AlertSettings | None:
        """Thresholds and address; None if no address is named.

        Raises:
            ConfigError: The address cannot be read, or is not one.
        """
        from hedgerow.cli.serving import secret_in
        from hedgerow.service.settings import AlertSettings

        if self.alert_url_file is None:
            return None
        size = None if self.alert_store is None else self.alert_store * _MEBIBYTE
        return AlertSettings(secret_in(self.alert_url_file), self.alert_budget, size)


@dataclass(frozen=True)
class _SignIn(Options, panel="Sign-in", environment=True):
    """A provider of identities that people sign in with, beside tokens.

    Attributes:
        oidc_issuer: Address of an OpenID Connect provider: the page has a button for it.
        oidc_client: Id of this server at the provider.
        oidc_secret_file: File with its secret there.
        oidc_address: Public address of the page; the provider sends people back to v1/oidc/callback below it.
        oidc_roles: What values of the claim make of people: VALUE=custodian, VALUE=analyst:all or
            VALUE=analyst:people+visits, separated by commas. Others are refused.
        oidc_claim: Claim that holds them.
        oidc_name: Claim that holds the name of a person.
        oidc_hours: How long a sign-in is good for.
    """

    oidc_issuer: Annotated[str | None, option(metavar="URL")] = None
    oidc_client: Annotated[str | None, option(metavar="ID")] = None
    oidc_secret_file: Annotated[Path | None, option(metavar="FILE")] = None
    oidc_address: Annotated[str | None, option(metavar="URL")] = None
    oidc_roles: Annotated[str | None, option(metavar="ROLES")] = None
    oidc_claim: Annotated[str, option(metavar="NAME")] = "groups"
    oidc_name: Annotated[str, option(metavar="NAME")] = "preferred_username"
    oidc_hours: Annotated[float, option(metavar="HOURS", min=0.1, max=168.0)] = 12.0

    @property
    def provider(self) -> Oidc | None:
        """The provider; None if none is named.

        Raises:
            ConfigError: Something is missing, or wrong.
            MissingExtraError: The library for it is not installed.
        """
        from hedgerow.cli.serving import secret_in
        from hedgerow.errors import require
        from hedgerow.service.settings import Oidc, parts_named

        needed = (self.oidc_client, self.oidc_secret_file, self.oidc_address, self.oidc_roles)
        if self.oidc_issuer is None:
            if any(each is not None for each in needed):
                raise ConfigError("signing in with a provider needs its address", remedy="give --oidc-issuer URL too")
            return None
        client, secret_file, address, roles = needed
        if client is None or secret_file is None or address is None or roles is None:
            raise ConfigError(
                "a provider of identities needs to know this server, and this server its people",
                remedy="give --oidc-client, --oidc-secret-file, --oidc-address and --oidc-roles beside --oidc-issuer",
            )
        require("authlib", "signing in with a provider needs authlib", "pip install 'hedgerow[oidc]'")
        return Oidc(
            self.oidc_issuer,
            client,
            secret_in(secret_file),
            address,
            parts_named(roles),
            claim=self.oidc_claim,
            name=self.oidc_name,
            hours=self.oidc_hours,
        )


@dataclass(frozen=True)
class _Tokens(Options, panel="Tokens"):
    """Tokens that are printed.

    Attributes:
        new_token: Print a fresh token for the custodian NAME and exit; serves nothing. Needs --token-datasets.
        token_datasets: Data sets that the token of --new-token opens, separated by commas; or 'all', later ones
            included.
        token_days: Days until the tokens that this command prints expire; 'ever' for tokens that do not.
    """

    new_token: Annotated[str | None, option(metavar="NAME")] = None
    token_datasets: Annotated[str | None, option(metavar="NAMES|all")] = None
    token_days: Annotated[str, option(metavar="DAYS|ever")] = "30"


def serve(
    ctx: typer.Context,
    *,
    places: _Places,
    registering: _Register,
    limits: _Limits,
    signing_in: _SignIn,
    alerting: _Alerts,
    tokens: _Tokens,
    demo: Annotated[bool, option(help="Serve Adult (public data) from a temporary folder, to try it out.")] = False,
    output: Output,
) -> None:
    r"""Answer questions about private tables over HTTP and in a browser.

    A custodian registers a table once; analysts ask counting questions for as long as its privacy budget lasts. The
    first start with an empty store prints a custodian's token, good for all data sets and 30 days. What is kept
    survives crashes; Ctrl-C or SIGTERM stops the server after the requests at work. Options that the environment can
    set name their variable.

    Examples:
      hedgerow serve --demo
      hedgerow serve --store /var/lib/hedgerow/hedgerow.db --data /srv/tables
      HEDGEROW_STORE=postgresql://hedgerow@db/hedgerow hedgerow serve \
          --store-password-file /run/secrets/database_password --data /srv/tables
      hedgerow serve --store hedgerow.db --register people.register --limit 3
      hedgerow serve --store hedgerow.db --new-token custodian --token-datasets all
    """
    from hedgerow.cli.serving import Serving, check_installed, days_of, print_new_token, scope_of, sources_in

    check_installed()
    scope, days = scope_of(tokens.token_datasets, tokens.new_token), days_of(tokens.token_days)
    origin = ctx.get_parameter_source("store")
    if places.store is not None and origin is not None and origin.name == "COMMANDLINE":
        _warn_of_password(output, places.store)
    table_limit = registering.limited
    with ExitStack() as stack:
        here = Path(stack.enter_context(TemporaryDirectory(prefix="hedgerow-demo-"))) if demo else Path()
        place = places.stored(here, limits.quota, demo=demo)
        if tokens.new_token is not None:
            print_new_token(output, place, tokens.new_token, scope, days)
            return
        tables = places.tables(here)

        from hedgerow.service.settings import Proxies, Settings

        settings = Settings(
            tables,
            requests_per_minute=limits.rate or None,
            largest_upload=limits.largest_upload * _MEBIBYTE,
            proxies=Proxies.named(places.proxies),
            oidc=signing_in.provider,
            sources=sources_in(places.sources),
            alerts=alerting.told,
        )
        stopped_by = Serving(
            output,
            place,
            settings,
            limits.of_connections,
            register=registering.register,
            limit=table_limit,
            demo=demo,
            days=days,
            tls=places.tls,
            logs_json=places.log_format is LogFormat.JSON,
            peer_address=places.peers,
        ).run(places.host, places.port)
    if stopped_by == signal.SIGINT:
        raise typer.Exit(INTERRUPTED)


def _warn_of_password(output: Output, store: str) -> None:
    from urllib.parse import urlsplit

    if urlsplit(store).password is not None:
        output.warn(_SEEN)
