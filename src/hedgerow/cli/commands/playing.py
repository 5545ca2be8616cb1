"""Commands that need no data.

``solve-game``: nearly optimal play of a zero-sum game, by multiplicative weights against best responses. ``bound``: the
least error of a family of mechanisms, from a workload and a budget alone.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from hedgerow.cli import options
from hedgerow.cli.console import Output
from hedgerow.errors import ConfigError

_SHOWN = 10


def solve_game(
    *,
    payoffs: Annotated[
        Path,
        typer.Argument(
            metavar="PAYOFFS",
            help="A .csv file of numbers in [-1, 1], without headings: a line for each choice of the player who pays, "
            "and in it what each choice of the other player wins.",
        ),
    ],
    alpha: Annotated[float | None, typer.Option(help="Largest gap wanted; the rounds are then the theorem's.")] = None,
    rounds: Annotated[int | None, typer.Option(metavar="T", help="Number of rounds, instead of --alpha.")] = None,
    shown: Output,
) -> None:
    """Solve a zero-sum game to a chosen accuracy by multiplicative weights. Not private, for public payoffs alone.

    The player of the rows pays the player of the columns. It plays multiplicative weights (Hedge), the other player
    the best response to each of its mixtures. The averages of both are shown, with the least that the one wins and the
    most that the other pays; the value of the game lies between. The theorem: the gap is at most
    sqrt(2 ln(rows) / T) (Freund and Schapire 1999).

    Examples:
      hedgerow solve-game payoffs.csv --alpha 0.02
      hedgerow solve-game payoffs.csv --rounds 1000 --json
    """
    from hedgerow.algorithms.yardsticks.game import solve_game as solved

    matrix = _matrix(payoffs)
    with shown.busy("playing"):
        found = solved(matrix, alpha=alpha, rounds=rounds)
    row, column = found.row.tolist(), found.column_vector(len(matrix[0])).tolist()
    shown.say(f"{'value':8} between {found.lower:.6g} and {found.upper:.6g}")
    shown.say(f"{'gap':8} {found.gap:.4g}, by the theorem at most {found.bound:.4g} after {found.rounds:,} rounds")
    shown.say(f"{'rows':8} {_heaviest(row)}")
    shown.say(f"{'columns':8} {_heaviest(column)}")
    told = {"lower": found.lower, "upper": found.upper, "gap": found.gap, "bound": found.bound, "rounds": found.rounds}
    shown.result({**told, "row": row, "column": column})


def _matrix(path: Path) -> list[list[str]]:
    """The cells of a file, which the solver turns into numbers."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            return [line for line in csv.reader(stream) if line]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a .csv file in UTF-8: {error}", remedy="write it as plain text") from error


def _heaviest(weights: Iterable[float]) -> str:
    """The choices of most weight, numbered from 1."""
    ranked = sorted(((weight, -place) for place, weight in enumerate(weights, 1) if weight > 0.0), reverse=True)
    more = f" and {len(ranked) - _SHOWN:,} more (--json has all)" if len(ranked) > _SHOWN else ""
    return ", ".join(f"{-place} with {weight:.4g}" for weight, place in ranked[:_SHOWN]) + more


def bound(
    *,
    domain: options.DomainFile,
    budgeted: options.BudgetOptions,
    workload: options.WorkloadText = None,
    calibration: Annotated[
        Literal["zcdp", "paper"],
        typer.Option(
            help="Conversion of --epsilon with --delta into Gaussian noise: in its own regime (zcdp), or by the "
            "constant of the paper."
        ),
    ] = "zcdp",
    shown: Output,
) -> None:
    """Show the least error that any matrix mechanism can have on a workload (the SVD bound). Spends nothing.

    The bound is of Li and Miklau (ICDT 2013): for all mechanisms that add noise to linear measurements and answer by
    unbiased linear estimates. A mechanism that fits a model to its noisy answers, as mwem does, may do better.

    Examples:
      hedgerow bound --domain people.yaml --rho 0.1 --workload marginals:2
      hedgerow bound --domain people.yaml --epsilon 1 --delta 1e-9 --calibration paper
    """
    from hedgerow.algorithms.yardsticks.matrix_bound import svd_bound
    from hedgerow.runs import workload_over

    asked = workload_over(options.domain_of(domain, None, accept_draft=True), workload)
    found = svd_bound(asked, budgeted.budget(budgeted.between(None)), calibration=calibration)
    shown.say(f"{'asked':8} {asked.spec}, {found.n_queries:,} queries")
    shown.say(f"{'noise':8} of variance {found.variance:.4g} at sensitivity 1")
    shown.say(f"{'bound':8} root mean squared error of a query at least {found.rmse:.4g} counts, for matrix mechanisms")
    shown.result({**found.to_dict(), "workload": asked.spec, "variance": found.variance})
