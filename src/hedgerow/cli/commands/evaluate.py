"""``hedgerow evaluate``: synthetic files, whoever made them, beside the table that they imitate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import options
from hedgerow.cli.console import Output
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.lists import split_names
from hedgerow.cli.outputs import check_ending, check_outputs, check_report
from hedgerow.cli.reading import PLACES, inputs_of


@dataclass(frozen=True)
class _Columns(Options, panel="Table"):
    """The columns that are compared.

    Attributes:
        domain: Domain file, also a draft: says which columns are numbers, which labels are one, and which records are
            impossible. Without it numbers and labels are told apart by the real table.
        by: Figures of each subgroup, one for each value of this column, and a score over its tables with every pair of
            other columns, as NIST's with PUMA.
    """

    domain: Annotated[Path | None, option(metavar="FILE")] = None
    columns: options.Columns = None
    by: Annotated[str | None, option(metavar="COLUMN")] = None


@dataclass(frozen=True)
class _Models(Options, panel="Algorithm"):
    """Models that are trained.

    Attributes:
        target: Columns that models learn to predict from synthetic records, tested on real ones.
        models: Train models: propensities and predictions, which need scikit-learn (the extra 'evaluate').
        seed: Seed of all draws.
    """

    target: Annotated[
        str | None, option(metavar="A,B,...", show_default="three of few values that depend most on the others")
    ] = None
    models: Annotated[bool, option("--models/--no-models")] = True
    seed: Annotated[int, option(min=0)] = 0


@dataclass(frozen=True)
class _Files(Options, panel="Output"):
    """What is written.

    Attributes:
        csv: All figures, one row each, .csv.
        html: Drawings and tables on one page, .html.
    """

    csv: Annotated[Path | None, option(metavar="FILE")] = None
    html: Annotated[Path | None, option(metavar="FILE")] = None
    force: options.Force = False


def evaluate(
    *,
    real: Annotated[str, typer.Argument(metavar="REAL", help=f"The real table: {PLACES}.")],
    synthetic: Annotated[
        list[str], typer.Argument(metavar="SYNTHETIC", help="One or more synthetic tables with the same columns.")
    ],
    compared: _Columns,
    training: _Models,
    files: _Files,
    shown: Output,
) -> None:
    r"""Judge synthetic files beside the real table. NOT PRIVATE: it prints exact figures.

    The files may come from anywhere. Printed are the total variation of tables of one to three columns as NIST's
    k-marginal score, with the random sample of the real records that is as close; models that tell synthetic records
    from real ones; models trained on synthetic and tested on real records; correlations; records that equal a real one;
    and, with --domain, records that cannot exist. --csv, --json and --html have every column, pair and subgroup.

    Examples:
      hedgerow evaluate people.csv synthetic.csv
      hedgerow evaluate people.csv ours.csv theirs.csv --domain people.yaml \
          --by region --html evaluation.html --csv evaluation.csv
      hedgerow evaluate people.csv synthetic.csv --target income,sex --json
    """
    if files.csv is not None:
        check_ending("--csv", files.csv, (".csv",), "let it end in .csv")
    check_report("--html", files.html)
    inputs = [path for place in (real, *synthetic) for path in inputs_of(place)]
    check_outputs(
        {"--csv": files.csv, "--html": files.html},
        inputs=[*inputs, *([] if compared.domain is None else [compared.domain])],
        force=files.force,
    )
    declared = None if compared.domain is None else options.opened(compared.domain, compared.columns, accept_draft=True)

    from hedgerow.evaluation import NOT_PRIVATE, evaluate as run, headings_of, rows_of, title_of

    shown.warn(NOT_PRIVATE)
    with shown.busy(f"evaluating {', '.join(synthetic)}"):
        evaluation = run(
            real,
            synthetic,
            declared,
            columns=split_names(compared.columns),
            by=compared.by,
            targets=split_names(training.target),
            models=training.models,
            seed=training.seed,
        )
    headings = headings_of(evaluation)
    shown.tell(title_of(evaluation))
    shown.table(headings, rows_of(evaluation), right=headings[1:])
    for note in evaluation.notes:
        shown.tell(note)
    if files.csv is not None:
        evaluation.write_csv(files.csv)
    if files.html is not None:
        evaluation.write_page(files.html)
    written = shown.say_files({"figures": files.csv, "page": files.html})
    shown.result({**evaluation.to_dict(), "files": written})
