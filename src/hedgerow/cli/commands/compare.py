"""``hedgerow compare``: several mechanisms on public or test data, with exact errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, final

import typer

from hedgerow.algorithms.registry import ENTRIES
from hedgerow.cli.comparison_table import print_comparison
from hedgerow.cli.console import Output
from hedgerow.cli.options import (
    ALGORITHM,
    BUDGET,
    OUTPUT,
    AsJson,
    Coded,
    Columns,
    CountColumn,
    Delta,
    DomainFile,
    Force,
    NeighboursOption,
    Quiet,
    WorkloadText,
    budget_of,
    prepare,
    split_names,
    workload_of,
)
from hedgerow.cli.outputs import check_ending, check_outputs, check_report_ending
from hedgerow.cli.progress import showing_runs
from hedgerow.cli.reading import DataPlace, Where, inputs_of, read_data
from hedgerow.queries import Neighbours

if TYPE_CHECKING:
    from hedgerow.comparison import Comparison
    from hedgerow.privacy import Budget

_NAMES = ", ".join(each.name for each in ENTRIES)
NOT_PRIVATE = (
    "NOT PRIVATE: these are exact errors, for public or test data only. Do not publish them for a private table."
)


@final
@dataclass(frozen=True)
class _Files:
    data: str
    domain: Path
    rows: Path
    plot: Path | None
    page: Path | None

    @property
    def summary(self) -> Path:
        return self.rows.with_suffix(".summary.csv")

    def check(self, *, force: bool, resume: bool) -> None:
        check_ending("--output", self.rows, (".csv",), "let it end in .csv")
        if self.plot is not None:
            check_ending("--plot", self.plot, (".svg",), "let it end in .svg")
        if self.page is not None:
            check_report_ending("--html", self.page)
        if self.plot is not None or self.page is not None:
            from hedgerow.report import require_extra

            require_extra()
        inputs = (*inputs_of(self.data), self.domain)
        check_outputs({"--output": self.rows}, inputs=inputs, force=force or resume)
        made = {"--output, the summary": self.summary, "--plot": self.plot, "--html": self.page}
        check_outputs(made, inputs=(*inputs, self.rows), force=force or resume)


def compare(
    ctx: typer.Context,
    *,
    data: DataPlace,
    domain: DomainFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Errors of all runs, as .csv: one row per mechanism, budget, run and metric. Their averages go into "
            "a second file beside it, with the ending .summary.csv.",
        ),
    ],
    mechanisms: Annotated[
        str,
        typer.Option(
            "--mechanisms",
            metavar="A,B,...",
            rich_help_panel=ALGORITHM,
            help=f"Which algorithms: {_NAMES}, or plug-ins. Options follow a colon: mwem:rounds=30.",
            show_default="all",
        ),
    ] = _NAMES,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            metavar="E,E,...",
            rich_help_panel=BUDGET,
            help="Pure epsilons, or the epsilons of --delta; each run has one of them for itself.",
        ),
    ] = None,
    delta: Delta = None,
    rho: Annotated[
        str | None,
        typer.Option("--rho", metavar="R,R,...", rich_help_panel=BUDGET, help="zCDP, instead of --epsilon."),
    ] = None,
    neighbours: NeighboursOption = Neighbours.ADD_REMOVE,
    workload: WorkloadText = None,
    repeats: Annotated[
        int,
        typer.Option("--repeats", min=1, rich_help_panel=ALGORITHM, help="How often each is run with each budget."),
    ] = 5,
    columns: Columns = None,
    count_column: CountColumn = None,
    where: Where = None,
    coded: Coded = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", rich_help_panel=OUTPUT, help="Error against budget, .svg.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", rich_help_panel=OUTPUT, help="Drawing and table on one page, .html."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", rich_help_panel=ALGORITHM, help="Of the noise, to get the same figures again."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            rich_help_panel=OUTPUT,
            help="Go on from the runs that --output holds already: after an interruption, or with more runs, "
            "mechanisms or budgets.",
        ),
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    r"""Compare mechanisms on a public or test table. NOT PRIVATE: it prints exact errors.

    Runs every mechanism with every budget several times, each run with noise of its own, and prints the mean and the
    largest error over the workload: the total variation distance of a marginal, the absolute error of a single query
    as a share of the records. A mechanism that cannot run is told with its reason; the others go on.

    Examples:
      hedgerow compare test.csv --domain test.yaml --epsilon 0.1,1,10 \
          -o errors.csv
      hedgerow compare test.csv --domain test.yaml --epsilon 0.1,1 --delta 1e-9 \
          --mechanisms mwem,mwem:rounds=30,gaussian --repeats 10 \
          -o errors.csv --plot errors.svg --html errors.html
    """
    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    files = _Files(data, domain, output, plot, html)
    budgets = _budgets_of(epsilon, delta, rho, neighbours)
    files.check(force=force, resume=resume)
    selected = split_names(columns)
    asked = workload_of(domain, selected, workload)
    shown.warn(NOT_PRIVATE)
    extra = "error" if selected is None else "ignore"
    table = read_data(
        shown, data, asked.domain,
        where=where, workload=asked, count_column=count_column, extra_columns=extra, coded=coded,
    )  # fmt: skip

    from hedgerow.comparison import compare as run

    with _keeping(shown, output), showing_runs(shown) as progress:
        named = split_names(mechanisms) or []
        found = run(table, asked, budgets, named, repeats, seed=seed, progress=progress, path=output, resume=resume)
    _write(shown, files, found)


def _budgets_of(epsilon: str | None, delta: float | None, rho: str | None, neighbours: Neighbours) -> list[Budget]:
    """One budget for every amount; ``budget_of`` says what goes together."""
    pairs = product(_amounts("--epsilon", epsilon), _amounts("--rho", rho))
    return [budget_of(first, delta, second, neighbours) for first, second in pairs]


def _amounts(option: str, text: str | None) -> list[float] | list[None]:
    try:
        return [float(part) for part in split_names(text) or []] or [None]
    except ValueError:
        raise typer.BadParameter(f"{option} {text!r}: give numbers, separated by commas") from None


@contextmanager
def _keeping(output: Output, rows: Path) -> Iterator[None]:
    """Say where the outcomes are if a run does not end well."""
    try:
        yield
    except KeyboardInterrupt:
        output.facts |= {"outcomes": str(rows)}
        output.warn(f"the runs that were over are in {rows}: give the same command with --resume to go on")
        raise


def _write(output: Output, files: _Files, found: Comparison) -> None:
    print_comparison(output, found)
    found.write_summary(files.summary)
    if files.plot is not None:
        found.write_plot(files.plot)
    if files.page is not None:
        found.write_page(files.page)
    made = {"rows": files.rows, "summary": files.summary, "plot": files.plot, "page": files.page}
    paths = {name: str(path) for name, path in made.items() if path is not None}
    for name, path in paths.items():
        output.say(f"{name:8} {path}")
    output.result({**found.to_dict(), "files": paths})
