"""``hedgerow serve``: the server."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.options import BUDGET, AsJson, Quiet, prepare
from hedgerow.cli.registering import limit_of
from hedgerow.queries import Neighbours

PLACES = "Places"
LIMITS = "Limits"
TOKENS = "Tokens"
STORE = "hedgerow.db"
TABLES = "tables"
INTERRUPTED = 130

_MEBIBYTE = 2**20
_SEEN = (
    "a password on the command line can be seen in the list of processes. Give the address by the environment variable "
    "HEDGEROW_STORE, or the password by --store-password-file."
)


def serve(
    ctx: typer.Context,
    *,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="FILE|URL",
            envvar="HEDGEROW_STORE",
            help="Where everything is kept: a file (SQLite), or postgresql://user@host/database.",
            show_default=STORE,
            rich_help_panel=PLACES,
        ),
    ] = None,
    store_password_file: Annotated[
        Path | None,
        typer.Option(
            "--store-password-file",
            metavar="FILE",
            envvar="HEDGEROW_STORE_PASSWORD_FILE",
            help="File with the password of a PostgreSQL store.",
            rich_help_panel=PLACES,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            envvar="HEDGEROW_DATA",
            help="The only folder that tables are read from, and uploaded to.",
            show_default=TABLES,
            rich_help_panel=PLACES,
        ),
    ] = None,
    anchor: Annotated[
        Path | None,
        typer.Option(
            "--anchor",
            metavar="FILE",
            envvar="HEDGEROW_ANCHOR",
            help="File outside the store that says how far it has come: a server refuses a store that is older.",
            rich_help_panel=PLACES,
        ),
    ] = None,
    accept_store: Annotated[
        bool,
        typer.Option(
            "--accept-store",
            help="Go on with a store that is older than the anchor says: its older data sets are closed for good.",
            rich_help_panel=PLACES,
        ),
    ] = False,
    host: Annotated[
        str, typer.Option("--host", envvar="HEDGEROW_HOST", help="Address to listen on.", rich_help_panel=PLACES)
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port",
            envvar="HEDGEROW_PORT",
            min=0,
            max=65535,
            help="Port to listen on; 0 takes a free one.",
            rich_help_panel=PLACES,
        ),
    ] = 8000,
    register: Annotated[
        Path | None,
        typer.Option(
            "--register",
            metavar="FILE",
            envvar="HEDGEROW_REGISTER",
            help="Register of what is released: every data set that is registered is charged there with its whole "
            "budget before its table is read. Made by the first start, which names the limit.",
            rich_help_panel=BUDGET,
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            "--limit",
            metavar="EPSILON",
            envvar="HEDGEROW_LIMIT",
            help="What all data sets in the register may add up to: an epsilon, for pure budgets alone, or with "
            "--limit-delta, for all kinds.",
            rich_help_panel=BUDGET,
        ),
    ] = None,
    limit_delta: Annotated[
        float | None,
        typer.Option(
            "--limit-delta",
            metavar="DELTA",
            envvar="HEDGEROW_LIMIT_DELTA",
            help="The delta of --limit.",
            rich_help_panel=BUDGET,
        ),
    ] = None,
    limit_rho: Annotated[
        float | None,
        typer.Option(
            "--limit-rho",
            metavar="RHO",
            envvar="HEDGEROW_LIMIT_RHO",
            help="zCDP, instead of --limit.",
            rich_help_panel=BUDGET,
        ),
    ] = None,
    limit_neighbours: Annotated[
        Neighbours,
        typer.Option(
            "--limit-neighbours",
            envvar="HEDGEROW_LIMIT_NEIGHBOURS",
            help="Between which tables the register adds up, which its data sets must have too.",
            rich_help_panel=BUDGET,
        ),
    ] = Neighbours.ADD_REMOVE,
    rate: Annotated[
        int,
        typer.Option(
            "--rate",
            metavar="N",
            envvar="HEDGEROW_RATE",
            min=0,
            help="Requests a minute with one token; 0 for any number.",
            rich_help_panel=LIMITS,
        ),
    ] = 6000,
    largest_upload: Annotated[
        int,
        typer.Option(
            "--largest-upload",
            metavar="MIB",
            envvar="HEDGEROW_LARGEST_UPLOAD",
            min=1,
            help="Largest table that may be uploaded, in MiB.",
            rich_help_panel=LIMITS,
        ),
    ] = 1024,
    connections: Annotated[
        int | None,
        typer.Option(
            "--connections",
            metavar="N",
            envvar="HEDGEROW_CONNECTIONS",
            min=1,
            help="Connections at a time.",
            show_default="what the files fit that the process may open (ulimit -n)",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    connections_per_address: Annotated[
        int | None,
        typer.Option(
            "--connections-per-address",
            metavar="N",
            envvar="HEDGEROW_CONNECTIONS_PER_ADDRESS",
            min=1,
            help="Connections at a time of one address; proxies that are named are not held to it.",
            show_default="a quarter of all",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    head_timeout: Annotated[
        float,
        typer.Option(
            "--head-timeout",
            metavar="SECONDS",
            envvar="HEDGEROW_HEAD_TIMEOUT",
            min=0.1,
            help="How long a connection may take for the head of a request.",
            rich_help_panel=LIMITS,
        ),
    ] = 10.0,
    stall_timeout: Annotated[
        float,
        typer.Option(
            "--stall-timeout",
            metavar="SECONDS",
            envvar="HEDGEROW_STALL_TIMEOUT",
            min=0.1,
            help="How long a body may stand still on its way here, or an answer on its way out: below 500 bytes a "
            "second.",
            rich_help_panel=LIMITS,
        ),
    ] = 20.0,
    proxies: Annotated[
        str,
        typer.Option(
            "--proxies",
            metavar="ADDRESSES",
            envvar="HEDGEROW_PROXIES",
            help="Reverse proxies whose X-Forwarded-For is believed: addresses or networks with commas between.",
            show_default="none",
            rich_help_panel=PLACES,
        ),
    ] = "",
    quota: Annotated[
        int,
        typer.Option(
            "--quota",
            metavar="MIB",
            envvar="HEDGEROW_QUOTA",
            min=1,
            help="What a person's questions about a data set may add to the store, in MiB; custodians may change it.",
            rich_help_panel=LIMITS,
        ),
    ] = 256,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Serve Adult (public data) from a temporary folder, to try it out."),
    ] = False,
    new_token: Annotated[
        str | None,
        typer.Option(
            "--new-token",
            metavar="NAME",
            help="Print a fresh token for the custodian NAME and exit; serves nothing. Needs --token-datasets.",
            rich_help_panel=TOKENS,
        ),
    ] = None,
    token_datasets: Annotated[
        str | None,
        typer.Option(
            "--token-datasets",
            metavar="NAMES|all",
            help="What the token of --new-token is good for: data sets with commas between, or 'all', also later ones.",
            rich_help_panel=TOKENS,
        ),
    ] = None,
    token_days: Annotated[
        str,
        typer.Option(
            "--token-days",
            metavar="DAYS|ever",
            help="How long tokens are good that this command prints; 'ever' for without end.",
            rich_help_panel=TOKENS,
        ),
    ] = "30",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    r"""Answer questions about private tables over HTTP and in a browser.

    A custodian registers a table once; analysts ask counting questions for as long as its privacy budget lasts. The
    first start with an empty store prints a custodian's token, good for all data sets and 30 days. What is kept
    survives crashes; Ctrl-C or SIGTERM stops the server after what it is at. Every option that the environment can
    set is named in its help.

    Examples:
      hedgerow serve --demo
      hedgerow serve --store /var/lib/hedgerow/hedgerow.db --data /srv/tables
      HEDGEROW_STORE=postgresql://hedgerow@db/hedgerow hedgerow serve \
          --store-password-file /run/secrets/database_password --data /srv/tables
      hedgerow serve --store hedgerow.db --register people.register --limit 3
      hedgerow serve --store hedgerow.db --new-token custodian --token-datasets all
    """
    from hedgerow.cli.serving import Serving, check_installed, days_of, print_new_token, scope_of

    output = prepare(ctx, quiet=quiet, as_json=as_json)
    check_installed()
    scope, days = scope_of(token_datasets, new_token), days_of(token_days)
    given = ctx.get_parameter_source("store")
    if store is not None and given is not None and given.name == "COMMANDLINE":
        _warn_of_password(output, store)
    with ExitStack() as stack:
        here = Path(stack.enter_context(TemporaryDirectory(prefix="hedgerow-demo-"))) if demo else Path()
        asked = Serving(
            output,
            store or str(here / STORE),
            store_password_file,
            data or here / TABLES,
            host,
            port,
            rate=rate or None,
            largest_upload=largest_upload * _MEBIBYTE,
            quota=quota * _MEBIBYTE,
            anchor=None if demo and store is None else anchor,  # nothing of it is kept
            accept_store=accept_store,
            demo=demo,
            register=register,
            limit=limit_of(limit, limit_delta, limit_rho, limit_neighbours),
            days=days,
            connections=connections,
            connections_per_address=connections_per_address,
            head_timeout=head_timeout,
            stall_timeout=stall_timeout,
            proxies=proxies,
        )
        if new_token is not None:
            print_new_token(asked, new_token, scope)
            return
        if data is None:
            asked.data.mkdir(mode=0o700, exist_ok=True)
        stopped_by = asked.run()
    if stopped_by == signal.SIGINT:
        raise typer.Exit(INTERRUPTED)


def _warn_of_password(output: Output, store: str) -> None:
    from urllib.parse import urlsplit

    if urlsplit(store).password is not None:
        output.warn(_SEEN)
