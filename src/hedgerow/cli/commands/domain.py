"""``hedgerow domain``: draft a domain file from data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.options import OUTPUT, AsJson, Columns, CountColumn, Force, Quiet, prepare, split_names
from hedgerow.cli.outputs import check_outputs
from hedgerow.errors import ConfigError
from hedgerow.system import replacing

WARNING = (
    "This draft was read off the data. Its values are as private as the data until somebody decides that they are "
    "public: replace them by answer lists, legal ranges or code books, and do not publish the draft."
)


def domain(
    ctx: typer.Context,
    *,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The private table: .csv or .parquet.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Domain file to write (.yaml); printed if not given.",
        ),
    ] = None,
    columns: Columns = None,
    count_column: CountColumn = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draft a domain file: what records could exist.

    A domain must be public knowledge. The draft shows what the data hold, as a form to fill in; it is private until you
    have made it public knowledge.

    Examples:
      hedgerow domain people.csv
      hedgerow domain people.parquet -o people.yaml
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    if output is not None:
        _check_ending(output)
        check_outputs({"--output": output}, inputs=[data], force=force)
    with shown.busy(f"reading {data}"):
        text = _draft(data, split_names(columns), count_column)
    shown.warn(WARNING)
    if output is None:
        shown.say(text.rstrip())
    else:
        _write(output, text)
        shown.say(f"draft in {output}")
    shown.result({"draft": text, "file": None if output is None else str(output)})


def _check_ending(path: Path) -> None:
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise ConfigError(f"--output: {path} does not end in .yaml", remedy="a draft holds comments; name it .yaml")


def _draft(data: Path, columns: list[str] | None, count_column: str | None) -> str:
    from hedgerow.data import draft_domain, open_table

    if count_column is not None and columns is None:
        columns = [name for name in open_table(data).names if name != count_column]
    return draft_domain(data, columns=columns)


def _write(path: Path, text: str) -> None:
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
