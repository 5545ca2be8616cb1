"""``solve-game``: nearly optimal play of a zero-sum game, by multiplicative weights against best responses."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

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
