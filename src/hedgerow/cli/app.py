"""All commands, and how they appear in the help."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hedgerow.cli.commands.ask import ask
from hedgerow.cli.commands.auditing import audit, show_register
from hedgerow.cli.commands.compare import compare
from hedgerow.cli.commands.evaluate import evaluate
from hedgerow.cli.commands.inference import regress, test
from hedgerow.cli.commands.linked import synth_linked
from hedgerow.cli.commands.mcp import mcp
from hedgerow.cli.commands.playing import bound, solve_game
from hedgerow.cli.commands.preparing import domain, key, mechanisms, plan, warm
from hedgerow.cli.commands.released import answer, metadata, report, sample, show
from hedgerow.cli.commands.serve import serve
from hedgerow.cli.commands.server import server_commands
from hedgerow.cli.commands.synth import synth
from hedgerow.cli.console import Output
from hedgerow.cli.declaring import help_of, spelled_out


class _Guarded(TyperGroup):
    """Explains errors of every command."""

    def invoke(self, ctx: Any) -> Any:
        with ctx.ensure_object(Output).explaining():
            return super().invoke(ctx)


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
      hedgerow evaluate public.csv synthetic.csv --html e.html
      hedgerow serve --demo                          a server, and a page to ask on

    Exit codes: 0 done, 1 an error that is explained, 2 wrong usage, 130 interrupted.
    """


app.callback(help=help_of(_overview))(_overview)
_COMMANDS = (
    synth, synth_linked, plan, domain, sample, answer, regress, test, ask, show, report, metadata, audit, key,
    mechanisms, bound, solve_game, compare, evaluate, serve, mcp, warm,
)  # fmt: skip
for _command in _COMMANDS:
    app.command(help=help_of(_command))(spelled_out(_command))

_register = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
_register.command("show", help=help_of(show_register))(spelled_out(show_register))
app.add_typer(
    _register,
    name="register",
    help="Registers of tables: what all releases of a table add up to. Made by 'hedgerow synth --register', 'hedgerow "
    "ask --register' and 'hedgerow serve --register'.",
)
app.add_typer(
    server_commands(),
    name="server",
    help="The store of a server, also while it runs: backup and restore, checks, people, tokens, the audit log.",
)
