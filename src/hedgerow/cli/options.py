"""Options that several commands share, and budgets from options."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.algorithms.registry import ENTRIES, entry, names
from hedgerow.cli.console import Output
from hedgerow.errors import ConfigError, UndeclaredColumnError
from hedgerow.queries import Neighbours

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm
    from hedgerow.privacy import Budget
    from hedgerow.queries import Workload


_NAMES = ", ".join(each.name for each in ENTRIES)
BUDGET = "Budget"
OUTPUT = "Output"
TABLE = "Table"
ALGORITHM = "Algorithm"

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors and warnings only.", rich_help_panel=OUTPUT)]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output.", rich_help_panel=OUTPUT)
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing output files.", rich_help_panel=OUTPUT)]

DomainFile = Annotated[
    Path,
    typer.Option(
        "--domain", metavar="FILE", help="Domain file (YAML or JSON): what records could exist.", rich_help_panel=TABLE
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B,...", help="Use these columns only.", rich_help_panel=TABLE),
]
CountColumn = Annotated[
    str | None,
    typer.Option(
        "--count-column",
        metavar="NAME",
        help="Column that says how many records a row stands for.",
        rich_help_panel=TABLE,
    ),
]
Coded = Annotated[
    bool,
    typer.Option(
        "--coded",
        help="The table holds codes 0, 1, ... (places in the domain file's lists) instead of values.",
        rich_help_panel=TABLE,
    ),
]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", help="Pure epsilon, or the epsilon of --delta.", rich_help_panel=BUDGET)
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta", help="With it the run is (epsilon, delta)-private, accounted for as zCDP.", rich_help_panel=BUDGET
    ),
]
Rho = Annotated[float | None, typer.Option("--rho", help="zCDP, instead of --epsilon.", rich_help_panel=BUDGET)]
NeighboursOption = Annotated[
    Neighbours,
    typer.Option(
        "--neighbours",
        help="What one person can change: add or remove a record (the number of records is private), or "
        "replace one (it is public; after a filter, only that of the whole table is).",
        rich_help_panel=BUDGET,
    ),
]
WorkloadText = Annotated[
    str | None,
    typer.Option(
        "--workload",
        metavar="SPEC",
        help="What should come out right: marginals:2, cells:2, parities:3, prefixes:age, ranges:age,hours:2000:7, "
        "marginals:age*sex,race*sex, marginals:3<=10000 (those of at most 10,000 cells); several joined by ;",
        show_default="marginals:2; marginals:1 for one column",
        rich_help_panel=ALGORITHM,
    ),
]


def _known(name: str) -> str:
    try:
        return entry(name).name
    except ConfigError as error:
        raise typer.BadParameter(f"{error.message}; {error.remedy}") from error


MechanismOption = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        callback=_known,
        autocompletion=names,
        help=f"Which algorithm: {_NAMES}, or a plug-in. 'hedgerow mechanisms' tells what each does.",
        rich_help_panel=ALGORITHM,
    ),
]
Rounds = Annotated[
    str | None,
    typer.Option(
        "--rounds",
        metavar="auto|annealed|bound|adaptive|N",
        help="How many looks at the data. Of mwem: chosen from public numbers (auto), by the theorem's bound, while "
        "noisy values show progress (adaptive; annealed, after all single attributes), or a number.",
        show_default="auto",
        rich_help_panel=ALGORITHM,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        metavar="SHARE",
        help="Of pmw, dual-query and small-db: the error to aim at, as a share of the records. By default chosen from "
        "public numbers.",
        rich_help_panel=ALGORITHM,
    ),
]


def workload_of(domain_file: Path, columns: Sequence[str] | None, text: str | None) -> Workload:
    """The workload that the options describe, over the columns that they select.

    Args:
        domain_file: Path of the domain file.
        columns: What ``--columns`` selects; None for all.
        text: The workload; None for all pairs of columns, or the only column.

    Raises:
        DomainError: The domain file is wrong, or does not declare a column.
        QueryError: The text is wrong, or does not fit the domain.
    """
    from hedgerow.domain import read_domain
    from hedgerow.queries import Workload

    declared = read_domain(domain_file)
    domain = declared if columns is None else declared.project(columns)
    return Workload.parse(f"marginals:{min(2, len(domain))}" if text is None else text, domain)


def prepare(ctx: typer.Context, *, quiet: bool = False, as_json: bool = False) -> Output:
    """The output of this call, with its options set."""
    output = ctx.ensure_object(Output)
    output.quiet, output.as_json = quiet, as_json
    return output


def split_names(text: str | None) -> list[str] | None:
    """Names separated by commas.

    Example:
        >>> split_names("age, sex")
        ['age', 'sex']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


@contextmanager
def naming_options(names: Sequence[str]) -> Iterator[None]:
    """Let an error about undeclared columns name options in place of Python arguments.

    Args:
        names: What the domain declares.

    Example:
        >>> with naming_options(["age", "birth region"]):
        ...     raise UndeclaredColumnError("the domain does not declare it", column="n")
        Traceback (most recent call last):
            ...
        hedgerow.errors.UndeclaredColumnError: column 'n': the domain does not declare it
          Remedy: declare it in the domain file, or read the declared columns only: --columns 'age,birth region'
    """
    try:
        yield
    except UndeclaredColumnError as error:
        remedy = "declare it in the domain file, or read the declared columns only: "
        remedy += f"--columns {shlex.quote(','.join(names))}"
        if error.looks_like_counts:
            option = f"--count-column {shlex.quote(error.column or '')}"
            remedy = f"if it says how many records a row stands for, add {option}; else {remedy}"
        error.remedy = remedy
        error.args = (f"{error.message}\n  Remedy: {remedy}",)
        raise


def budget_of(epsilon: float | None, delta: float | None, rho: float | None, neighbours: Neighbours) -> Budget:
    """The budget that the options describe.

    Raises:
        typer.BadParameter: They describe none, or two.
        ConfigError: An amount is out of its range.

    Example:
        >>> budget_of(1.0, None, None, Neighbours.REPLACE)
        PureDP(epsilon=1.0, neighbours=<Neighbours.REPLACE: 'replace'>)
    """
    from hedgerow.privacy import ZCDP, ApproxDP, PureDP

    if rho is not None:
        if epsilon is not None or delta is not None:
            raise typer.BadParameter("give either --rho, or --epsilon with or without --delta")
        return ZCDP(rho, neighbours)
    if epsilon is None:
        raise typer.BadParameter("a budget is needed: --epsilon, --epsilon with --delta, or --rho")
    return PureDP(epsilon, neighbours) if delta is None else ApproxDP(epsilon, delta, neighbours)


def warn_of_budget(output: Output, budget: Budget, total: float) -> None:
    """Warn if the guarantee promises next to nothing.

    Args:
        output: Where to warn.
        budget: What is spent.
        total: Number of records that is known in public: a guess, or a noisy value.

    Example:
        >>> warn_of_budget(Output(), budget_of(1.0, 1e-9, None, Neighbours.REPLACE), 1000.0)
    """
    from hedgerow.privacy import weaknesses

    for reason in weaknesses(budget, total):
        output.warn(reason)


def algorithm_of(mechanism: str, rounds: str | None = None, alpha: float | None = None) -> Algorithm:
    """The configured algorithm.

    Raises:
        typer.BadParameter: The mechanism does not take an option that was given, or the rounds are neither a number
            nor a known word.
        ConfigError: A number is out of its range.

    Example:
        >>> algorithm_of("mwem", rounds="12").parameters()["rounds"]
        12
    """
    given: dict[str, Any] = {"rounds": _rounds_of(rounds), "alpha": alpha}
    chosen = entry(mechanism)
    takes = (
        " and ".join(f"--{option}" for option in given if option in chosen.options) or "neither --rounds nor --alpha"
    )
    options = {option: value for option, value in given.items() if value is not None}
    for option in options:
        if option not in chosen.options:
            raise typer.BadParameter(f"--mechanism {mechanism} takes no --{option}; it takes {takes}")
    return chosen.make(options)


def _rounds_of(text: str | None) -> int | str | None:
    if text is None or text in ("auto", "annealed", "bound", "adaptive"):
        return text
    if not text.isdigit():
        raise typer.BadParameter(f"--rounds {text!r}: give auto, annealed, bound, adaptive or a whole number")
    return int(text)
