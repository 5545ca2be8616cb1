"""``hedgerow domain``: draft a domain file from data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.options import OUTPUT, AsJson, CountColumn, Force, Quiet, prepare
from hedgerow.cli.outputs import check_outputs

WARNING = (
    "This draft was read off the data. Its values are as private as the data until somebody decides that they are "
    "public: replace them by answer lists, legal ranges or code books, and do not publish the draft."
)


def domain(
    ctx: typer.Context,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The private table: .csv or .parquet.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Domain file to write (.yaml or .json); printed if not given.",
        ),
    ] = None,
    count_column: CountColumn = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    r"""Draft a domain file: what records could exist.

    A domain must be public knowledge. The draft shows what the data hold, as a form to fill in; it is private until you
    have made it public knowledge.

    \b
    Examples:
      hedgerow domain people.csv
      hedgerow domain people.parquet -o people.domain.yaml
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    if output is not None:
        check_outputs({"--output": output}, inputs=[data], force=force)
    _draft(shown, data, output, count_column)
