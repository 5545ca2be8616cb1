"""``hedgerow compare``: several mechanisms on public or test data, with exact errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.algorithms.registry import NAMES, parse
from hedgerow.cli import options
from hedgerow.cli.console import Output, showing_runs
from hedgerow.cli.outputs import check_ending, check_outputs, check_report
from hedgerow.cli.reading import PLACES, Reading, inputs_of
from hedgerow.queries import Neighbours, Relation

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm, Prior
    from hedgerow.comparison import Comparison
    from hedgerow.privacy import Budget

NOT_PRIVATE = (
    "NOT PRIVATE: these are exact errors, for public or test data only. Do not publish them for a private table."
)


def compare(
    *,
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"A public or test table: {PLACES}.")],
    domain: options.DomainFile,
    output: Annotated[
        Path,
        options.output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="Errors of all runs, as .csv: one row per mechanism, budget, run and metric. Their averages go into "
            "a second file beside it, with the ending .summary.csv.",
        ),
    ],
    mechanisms: Annotated[
        str | None,
        options.algorithm_option(
            "--mechanisms",
            metavar="A,B,...",
            help=f"{', '.join(NAMES)}, or plug-ins. Options follow a colon, as in mwem:rounds=30.",
            show_default="all",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        options.budget_option(
            "--epsilon",
            metavar="E,E,...",
            help="Pure epsilons, or the epsilons of --delta; each run has one of them for itself.",
        ),
    ] = None,
    delta: options.Delta = None,
    rho: Annotated[
        str | None,
        options.budget_option("--rho", metavar="R,R,...", help="zCDP, instead of --epsilon."),
    ] = None,
    mu: Annotated[
        str | None,
        options.budget_option("--mu", metavar="M,M,...", help="Gaussian differential privacy, instead of --epsilon."),
    ] = None,
    neighbours: options.NeighboursOption = Relation.ADD_REMOVE,
    workload: options.WorkloadText = None,
    prior: options.PriorFile = None,
    repeats: Annotated[
        int,
        options.algorithm_option("--repeats", min=1, help="Number of runs of each mechanism with each budget."),
    ] = 5,
    chosen: options.TableOptions,
    plot: Annotated[
        Path | None, options.output_option("--plot", metavar="FILE", help="Error against budget, .svg.")
    ] = None,
    html: Annotated[
        Path | None,
        options.output_option("--html", metavar="FILE", help="Drawing and table on one page, .html."),
    ] = None,
    seed: Annotated[
        int | None,
        options.algorithm_option("--seed", help="Seed of the noise, to get the same figures again."),
    ] = None,
    resume: Annotated[
        bool,
        options.output_option(
            "--resume",
            help="Continue from the runs that --output holds already: after an interruption, or with more runs, "
            "mechanisms or budgets.",
        ),
    ] = False,
    force: options.Force = False,
    shown: Output,
) -> None:
    r"""Compare mechanisms on a public or test table. NOT PRIVATE: it prints exact errors.

    Runs every mechanism with every budget several times, each run with noise of its own, and prints the mean and the
    largest error over the workload: the total variation distance of a marginal, the absolute error of a single query
    as a share of the records. The reason is printed of a mechanism that cannot run; the others continue.

    Examples:
      hedgerow compare test.csv --domain test.yaml --epsilon 0.1,1,10 \
          -o errors.csv
      hedgerow compare test.csv --domain test.yaml --epsilon 0.1,1 --delta 1e-9 \
          --mechanisms mwem,mwem:rounds=30,gaussian --repeats 10 \
          -o errors.csv --plot errors.svg --html errors.html
      hedgerow compare test.csv --domain test.yaml --epsilon 0.1,1 --delta 1e-9 \
          --mechanisms mwem --prior public.csv -o errors.csv
    """
    from hedgerow.synthesis import workload_over

    how = chosen.reading()
    between = options.between(neighbours, how.persons)
    budgets = _budgets_of(epsilon, delta, rho, mu, between)
    check_ending("--output", output, (".csv",), "let it end in .csv")
    if plot is not None:
        from hedgerow.report import require_extra

        check_ending("--plot", plot, (".svg",), "let it end in .svg")
        require_extra()
    check_report("--html", html)
    summary = output.with_suffix(".summary.csv")
    made = {"--output": output, "--output, the summary": summary, "--plot": plot, "--html": html}
    options.check_public(prior, inputs_of(data))
    inputs = [*inputs_of(data), domain, *([] if prior is None else [prior])]
    check_outputs(made, inputs=inputs, force=force or resume)
    asked = workload_over(options.domain_of(domain, chosen.columns, accept_draft=True), workload)
    known = options.prior_of(prior, asked.domain, how)
    shown.warn(NOT_PRIVATE)
    opened = Reading(asked.domain, how).read_data(shown, data, asked)

    from hedgerow.comparison import compare as run

    named = _named(NAMES if mechanisms is None else options.split_names(mechanisms) or [], known)
    kept = f"the runs that were over are in {output}: give the same command with --resume to continue"
    with (
        shown.warning_if_it_stops(lambda: ({"outcomes": str(output)}, kept), KeyboardInterrupt),
        showing_runs(shown) as progress,
    ):
        compared = run(opened, asked, budgets, named, repeats, seed=seed, progress=progress, path=output, resume=resume)
    _tell(shown, compared)
    compared.write_summary(summary)
    if plot is not None:
        compared.write_plot(plot)
    if html is not None:
        compared.write_page(html)
    files = shown.say_files({"rows": output, "summary": summary, "plot": plot, "page": html})
    shown.result({**compared.to_dict(), "files": files})


def _named(texts: Sequence[str], prior: Prior | None) -> list[str] | dict[str, Algorithm]:
    """The mechanisms; those that can start from a prior once more with it, beside themselves."""
    if prior is None:
        return list(texts)
    named = {text: parse(text) for text in texts}
    started = {f"{text} with prior": options.with_prior(each, prior) for text, each in named.items()}
    return {**named, **{name: each for name, each in started.items() if each is not None}}


def _budgets_of(
    epsilon: str | None, delta: float | None, rho: str | None, mu: str | None, neighbours: Neighbours
) -> list[Budget]:
    """One budget for every amount; ``budget_of`` says what goes together."""
    amounts = product(_amounts("--epsilon", epsilon), _amounts("--rho", rho), _amounts("--mu", mu))
    return [options.budget_of(first, delta, second, neighbours, third) for first, second, third in amounts]


def _amounts(option: str, text: str | None) -> list[float] | list[None]:
    try:
        return [float(part) for part in options.split_names(text) or []] or [None]
    except ValueError:
        raise typer.BadParameter(f"{option} {text!r}: give numbers, separated by commas") from None


def _tell(output: Output, found: Comparison) -> None:
    from hedgerow.comparison import headings_of, notes_of, rows_of, title_of

    headings = headings_of(found)
    output.tell(title_of(found))
    output.table(headings, rows_of(found), right=headings[1:])
    for note in notes_of(found):
        output.tell(note)
