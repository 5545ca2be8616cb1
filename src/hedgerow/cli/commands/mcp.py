"""``hedgerow mcp``: tools for agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli.console import INTERRUPTED, Output
from hedgerow.cli.declaring import Options, option
from hedgerow.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from hedgerow.release import Release


@dataclass(frozen=True)
class _Asked(Options, panel="What is asked"):
    """What agents ask.

    Attributes:
        server: Address of a Hedgerow server, as https://hedgerow.example. The token is that of HEDGEROW_TOKEN, or of
            the file that HEDGEROW_TOKEN_FILE names; over HTTP each agent sends its own.
        token_file: A file that holds the token.
        release: A release file; may be given several times. Costs no budget.
    """

    server: Annotated[str | None, option(metavar="URL")] = None
    token_file: Annotated[Path | None, option(metavar="FILE")] = None
    release: Annotated[list[Path] | None, option(metavar="FILE")] = None


@dataclass(frozen=True)
class _Caps(Options, panel="Caps of a conversation with a server's data sets"):
    """Caps of a conversation: of this process, or over HTTP of a token.

    Attributes:
        questions: Most questions; all counts of a statement are one, a mean of each group is one.
        corrections: Most corrections, each of which spends budget.
    """

    questions: Annotated[int, option(metavar="N", min=0)] = 500
    corrections: Annotated[int, option(metavar="N", min=0)] = 10


def mcp(
    *,
    asked: _Asked,
    caps: _Caps,
    http: Annotated[
        int | None,
        option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Speak streamable HTTP at this port of this machine, in place of standard input and output; 0 takes a "
            "free one.",
        ),
    ] = None,
    output: Output,
) -> None:
    r"""Let agents ask a server or releases, by the Model Context Protocol.

    Tools list data sets, describe columns, tell prices and what is left of a budget, and ask: a statement that can cost
    something is refused with its price until the agent accepts it, and a conversation has caps. Each number comes with
    its interval and with what that covers. The person's limits on the server hold besides.

    Examples:
      hedgerow mcp --release people.release
      HEDGEROW_TOKEN_FILE=token hedgerow mcp --server https://hedgerow.example
      hedgerow mcp --server https://hedgerow.example --http 8008 --corrections 5
    """
    if find_spec("mcp") is None:
        raise MissingExtraError("the package mcp is not installed", remedy="pip install 'hedgerow[mcp]'")
    if (asked.server is None) == (not asked.release):
        raise ConfigError("there is nothing to ask, or too much", remedy="give --server URL, or --release FILE")
    server = _of_releases(asked.release) if asked.release else _of_server(asked, caps, http is not None)
    if http is None:
        server.run("stdio")
    else:
        _serve(server, http, output)


def _of_releases(files: list[Path]) -> MCPServer[object]:
    from hedgerow.agents import Conversation, ReleaseSource, agent_server
    from hedgerow.release import Release

    found: Mapping[str, Release] = {file.stem: Release.load(file) for file in files}
    if repeated := [name for name, number in Counter(file.stem for file in files).items() if number > 1]:
        raise ConfigError(f"two releases are called {repeated[0]!r}", remedy="rename one of the files")
    source, free = ReleaseSource(found), Conversation()
    return agent_server(lambda: (source, free), spends=False)


def _of_server(asked: _Asked, caps: _Caps, over_http: bool) -> MCPServer[object]:
    from hedgerow.agents import Conversation, ServerSource, TokenHolders, agent_server
    from hedgerow.client import connect

    address = asked.server or ""
    fresh = partial(Conversation, caps.questions, caps.corrections)
    if over_http:
        if asked.token_file is not None:
            raise ConfigError("over HTTP each agent sends a token of its own", remedy="leave --token-file out")
        holders = TokenHolders(partial(connect, address), fresh)
        return agent_server(holders.current, spends=True, verifier=holders, issuer=address)
    source, conversation = ServerSource(connect(address, token_file=asked.token_file)), fresh()
    return agent_server(lambda: (source, conversation), spends=True)


def _serve(server: MCPServer[object], port: int, output: Output) -> None:
    """Speak HTTP until a signal comes.

    Raises:
        ConfigError: The port is taken.
    """
    import socket

    import uvicorn

    try:
        listening = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise ConfigError(f"port {port} cannot be listened on: {error.strerror}", remedy="give another one") from error
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    output.say(f"agents ask at {address}; Ctrl-C stops it")
    output.result({"address": address})
    config = uvicorn.Config(server.streamable_http_app(host="127.0.0.1"), log_level="warning")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
