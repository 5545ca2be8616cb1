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
    *,
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
    """Draft a domain file: what records could exist.

    A domain must be public knowledge. The draft shows what the data hold, as a form to fill in; it is private until you
    have made it public knowledge.

    Examples:
      hedgerow domain people.csv
      hedgerow domain people.parquet -o people.yaml
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    if output is not None:
        check_outputs({"--output": output}, inputs=[data], force=force)
    _draft(shown, data, output, count_column)


def _draft(shown: Output, data: Path, output: Path | None, count_column: str | None) -> None:
    from hedgerow.data.draft import draft_domain
    from hedgerow.domain_file import domain_to_mapping, write_domain, yaml_text

    with shown.busy(f"reading {data}"):
        draft = draft_domain(data, count_column=count_column)
    shown.warn(WARNING)
    for note in draft.notes:
        shown.note(note)
    mapping = domain_to_mapping(draft.domain)
    if output is not None:
        write_domain(draft.domain, output)
        shown.say(f"domain   {output} ({len(draft.domain)} attributes, {draft.domain.size:,} cells)")
    else:
        shown.say(yaml_text(mapping).rstrip())
    shown.result({"domain": mapping, "notes": list(draft.notes), "file": None if output is None else str(output)})
