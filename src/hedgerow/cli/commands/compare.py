"""``hedgerow compare``: several mechanisms on public or test data, with exact errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.algorithms.registry import NAMES, parse
from hedgerow.cli import options
from hedgerow.cli.console import Output, showing_runs
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.lists import split_names
from hedgerow.cli.mechanisms import PriorFile, prior_of, with_prior
from hedgerow.cli.outputs import check_ending, check_outputs, check_public, check_report
from hedgerow.cli.reading import PLACES, Reading, inputs_of
from hedgerow.queries import Persons, Relation

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm, Prior
    from hedgerow.comparison import Comparison
    from hedgerow.privacy import Budget

NOT_PRIVATE = (
    "NOT PRIVATE: these are exact errors, for public or test data only. Do not publish them for a private table."
)


@dataclass(frozen=True)
class _Budgets(Options, panel="Budget"):
    """Budgets, of which each run has one for itself.

    Attributes:
        epsilon: Pure epsilons, or the epsilons of --delta; each run has one of them for itself.
        delta: Makes the run (epsilon, delta)-private, counted in zCDP, or in GDP if that is better.
        rho: zCDP, instead of --epsilon.
        mu: Gaussian differential privacy, instead of --epsilon.
        neighbours: The change that one person can make: add or remove a record (the number of records is private), or
            replace one (it is public; after a filter, only that of the whole table is).
        sampled: Run on a secret sample of so many records, each budget being for the sample: dual-query alone can.
        population: The number of records of the table. It is checked.
    """

    epsilon: Annotated[str | None, option(metavar="E,E,...")] = None
    delta: float | None = None
    rho: Annotated[str | None, option(metavar="R,R,...")] = None
    mu: Annotated[str | None, option(metavar="M,M,...")] = None
    neighbours: Relation = Relation.ADD_REMOVE
    sampled: Annotated[int | None, option(metavar="M", min=1)] = None
    population: Annotated[int | None, option(metavar="N", min=1)] = None

    def budgets(self, persons: Persons | None) -> list[Budget]:
        """One budget for every amount; ``budget_of`` says what goes together.

        Args:
            persons: Persons with several records, if there are.
        """
        neighbours = options.between(self.neighbours, persons)
        amounts = product(_amounts("--epsilon", self.epsilon), _amounts("--rho", self.rho), _amounts("--mu", self.mu))
        described = (
            options.SampledBudgetOptions(epsilon, self.delta, rho, mu, sampled=self.sampled, population=self.population)
            for epsilon, rho, mu in amounts
        )
        return [each.budget(neighbours) for each in described]


@dataclass(frozen=True)
class _Files(Options, panel="Output"):
    """What is written.

    Attributes:
        output: Errors of all runs, as .csv: one row per mechanism, budget, run and metric. Their averages go into a
            second file beside it, with the ending .summary.csv.
        plot: Error against budget, .svg.
        html: Drawing and table on one page, .html.
        resume: Continue from the runs that --output holds already: after an interruption, or with more runs, mechanisms
            or budgets.
    """

    output: Annotated[Path, option("-o", metavar="FILE")]
    plot: Annotated[Path | None, option(metavar="FILE")] = None
    html: Annotated[Path | None, option(metavar="FILE")] = None
    resume: bool = False
    force: options.Force = False

    @property
    def summary(self) -> Path:
        """The file of averages."""
        return self.output.with_suffix(".summary.csv")

    def check(self, inputs: Sequence[Path]) -> None:
        """Refuse files that cannot be written.

        Args:
            inputs: Files that nothing may be written over.

        Raises:
            ConfigError: One cannot.
        """
        check_ending("--output", self.output, (".csv",), "let it end in .csv")
        if self.plot is not None:
            from hedgerow.report import require_extra

            check_ending("--plot", self.plot, (".svg",), "let it end in .svg")
            require_extra()
        check_report("--html", self.html)
        written = {"--output": self.output, "--output, the summary": self.summary}
        check_outputs(
            {**written, "--plot": self.plot, "--html": self.html}, inputs=inputs, force=self.force or self.resume
        )


@dataclass(frozen=True)
class _Runs(Options, panel="Algorithm"):
    """What is run, and how often.

    Attributes:
        repeats: Number of runs of each mechanism with each budget.
        seed: Seed of the noise, to get the same figures again.
    """

    mechanisms: Annotated[
        str | None,
        option(
            metavar="A,B,...",
            help=f"{', '.join(NAMES)}, or plug-ins. Options follow a colon, as in mwem:rounds=30,output=average; "
            "'hedgerow mechanisms NAME' lists them.",
            show_default="all",
        ),
    ] = None
    repeats: Annotated[int, option(min=1)] = 5
    seed: int | None = None


def compare(
    *,
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"A public or test table: {PLACES}.")],
    domain: options.DomainFile,
    workload: options.WorkloadText = None,
    prior: PriorFile = None,
    chosen: options.TableOptions,
    budgeted: _Budgets,
    running: _Runs,
    files: _Files,
    shown: Output,
) -> None:
    r"""Compare mechanisms on a public or test table. NOT PRIVATE: it prints exact errors.

    Runs every mechanism with every budget several times, each run with noise of its own, and prints the mean and the
    largest error over the workload: the total variation distance of a marginal, the absolute error of a single query
    as a share of the records. If a mechanism cannot run, the reason is printed and the others continue.

    Examples:
      hedgerow compare test.csv --domain test.yaml --epsilon 0.1,1,10 \
          -o errors.csv
      hedgerow compare test.csv --domain test.yaml --epsilon 0.1,1 --delta 1e-9 \
          --mechanisms mwem,mwem:rounds=30,gaussian --repeats 10 \
          -o errors.csv --plot errors.svg --html errors.html
      hedgerow compare test.csv --domain test.yaml --epsilon 0.1,1 --delta 1e-9 \
          --mechanisms mwem --prior public.csv -o errors.csv
    """
    from hedgerow.runs import workload_over

    how = chosen.reading()
    budgets = budgeted.budgets(how.persons)
    check_public(prior, inputs_of(data))
    files.check([*inputs_of(data), domain, *([] if prior is None else [prior])])
    asked = workload_over(options.domain_of(domain, chosen.columns, accept_draft=True), workload)
    known = prior_of(prior, asked.domain, how)
    shown.warn(NOT_PRIVATE)
    opened = Reading(asked.domain, how).read_data(shown, data, asked)

    from hedgerow.comparison import compare as run

    named = _named(NAMES if running.mechanisms is None else _texts(running.mechanisms), known)
    kept = f"the runs that were over are in {files.output}: give the same command with --resume to continue"
    with (
        shown.warning_if_it_stops(lambda: ({"outcomes": str(files.output)}, kept), KeyboardInterrupt),
        showing_runs(shown) as progress,
    ):
        compared = run(
            opened,
            asked,
            budgets,
            named,
            running.repeats,
            seed=running.seed,
            progress=progress,
            path=files.output,
            resume=files.resume,
        )
    _tell(shown, compared)
    compared.write_summary(files.summary)
    if files.plot is not None:
        compared.write_plot(files.plot)
    if files.html is not None:
        compared.write_page(files.html)
    written = {"rows": files.output, "summary": files.summary, "plot": files.plot, "page": files.html}
    shown.result({**compared.to_dict(), "files": shown.say_files(written)})
    if all(outcome.reason for outcome in compared.outcomes):
        raise typer.Exit(1)


def _texts(listed: str) -> list[str]:
    """The texts of mechanisms in a list; an option belongs to the mechanism before it."""
    texts = list[str]()
    for part in split_names(listed) or []:
        if texts and "=" in part.partition(":")[0]:
            texts[-1] += f",{part}"
        else:
            texts.append(part)
    return texts


def _named(texts: Sequence[str], prior: Prior | None) -> list[str] | dict[str, Algorithm]:
    """The mechanisms; those that can start from a prior once more with it, beside themselves."""
    if prior is None:
        return list(texts)
    named = {text: parse(text) for text in texts}
    started = {f"{text} with prior": with_prior(each, prior) for text, each in named.items()}
    return {**named, **{name: each for name, each in started.items() if each is not None}}


def _amounts(option: str, text: str | None) -> list[float] | list[None]:
    try:
        return [float(part) for part in split_names(text) or []] or [None]
    except ValueError:
        raise typer.BadParameter(f"{option} {text!r}: give numbers, separated by commas") from None


def _tell(output: Output, found: Comparison) -> None:
    from hedgerow.comparison import headings_of, notes_of, rows_of, title_of

    headings = headings_of(found)
    output.tell(title_of(found))
    output.table(headings, rows_of(found), right=headings[1:])
    for note in notes_of(found):
        output.warn(note)
