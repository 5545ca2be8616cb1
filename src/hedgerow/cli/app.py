"""The commands, and what happens when one fails."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from hedgerow.cli.commands.ask import ask
from hedgerow.cli.commands.audit import audit
from hedgerow.cli.commands.compare import compare
from hedgerow.cli.commands.domain import domain
from hedgerow.cli.commands.experiment import experiment
from hedgerow.cli.commands.mechanisms import mechanisms
from hedgerow.cli.commands.plan import plan
from hedgerow.cli.commands.register import show_register
from hedgerow.cli.commands.released import answer, report, sample, show
from hedgerow.cli.commands.serve import serve
from hedgerow.cli.commands.synth import synth
from hedgerow.cli.console import Output
from hedgerow.cli.signing import key
from hedgerow.errors import HedgerowError

FAILED = 1
INTERRUPTED = 130


class _Guarded(TyperGroup):
    """Turns Hedgerow's errors and Ctrl-C into a message and an exit code; nothing is hidden that is a bug."""

    def invoke(self, ctx: Any) -> Any:
        output = ctx.ensure_object(Output)
        try:
            return super().invoke(ctx)
        except HedgerowError as error:
            output.fail(error)
            raise typer.Exit(FAILED) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            output.fail(HedgerowError(f"{error.filename or 'the system'}: {error.strerror or error}"))
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            output.err.print("[bold red]interrupted[/]")
            output.result({"error": {"type": "Interrupted", "message": "interrupted", "remedy": ""}, **output.facts})
            raise typer.Exit(INTERRUPTED) from error


app = typer.Typer(
    cls=_Guarded,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # they can print local variables, and those can be private
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from hedgerow.version import __version__

        typer.echo(f"hedgerow {__version__}")
        raise typer.Exit


def _help(command: Callable[..., None]) -> str:
    """The docstring as the help text: paragraphs are wrapped to the terminal, examples are left as they are."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        f"\b\n{escape(text)}" if text.startswith("Example") else escape(" ".join(text.split())) for text in paragraphs
    )


def _overview(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    r"""Synthetic records and tables from sensitive data, with a differential privacy guarantee.

    Examples:
      hedgerow domain people.csv -o people.yaml      a draft: now edit it
      hedgerow plan --domain people.yaml --epsilon 1 --total 50000
      hedgerow synth people.csv --domain people.yaml --epsilon 1 \
          -o synthetic.csv --report report.html
      hedgerow answer synthetic.release "age < 30 and sex = 'Female'"
      hedgerow audit synthetic.release               is what it says true?
      hedgerow compare public.csv --domain people.yaml --epsilon 0.1,1 -o e.csv
      hedgerow experiment mwem-figure-2              a figure of a paper, again
      hedgerow serve --demo                          a server, and a page to ask on

    Exit codes: 0 done, 1 an error that is explained, 2 wrong usage, 130 interrupted.
    """


app.callback(help=_help(_overview))(_overview)
_COMMANDS = (
    synth, plan, domain, sample, answer, ask, show, report, audit, key, mechanisms, compare, experiment, serve
)  # fmt: skip
for _command in _COMMANDS:
    app.command(help=_help(_command))(_command)

_register = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
_register.command("show", help=_help(show_register))(show_register)
app.add_typer(
    _register,
    name="register",
    help="Registers of tables: what all releases of a table add up to. Made by 'hedgerow synth --register', 'hedgerow "
    "ask --register' and 'hedgerow serve --register'.",
)
