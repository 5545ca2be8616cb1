"""The number of rounds that is best in hindsight. NOT PRIVATE: it is chosen by exact errors, as in the paper."""

from __future__ import annotations

from experiments.experiment import Value
from experiments.results import Average, Results
from hedgerow.report import Point

ORACLE = "oracle T, not private"
"""Label of results whose T was chosen like that."""

ROUNDS = "rounds"
"""The column that is chosen from."""


def oracle(found: Results, quantity: str, **conditions: Value) -> Average:
    """The smallest average of a quantity over all numbers of rounds.

    One number of rounds is chosen for all repetitions together, by their average.

    Args:
        found: Averages of an experiment with a column ``rounds``.
        quantity: An error.
        conditions: Values of all other columns.

    Raises:
        KeyError: There is none.

    Example:
        >>> where = [{"rounds": rounds} for rounds in (1, 2, 4)]
        >>> errors = [Average(each, "error", 1, mean, mean, mean) for each, mean in zip(where, (3.0, 1.0, 2.0))]
        >>> oracle(Results(errors), "error").where["rounds"]
        2
    """
    candidates = [each for each in found.where(**conditions).averages if each.quantity == quantity]
    if not candidates:
        message = f"no average of {quantity} where {conditions}"
        raise KeyError(message)
    return min(candidates, key=lambda each: each.mean)


def oracle_curve(found: Results, along: str, quantity: str, **conditions: Value) -> list[Point]:
    """These averages against a column of numbers, for a drawing; empty where there are none.

    Args:
        found: Averages of an experiment with a column ``rounds``.
        along: Name of the column along the horizontal axis.
        quantity: An error.
        conditions: Values of all other columns.

    Example:
        >>> where = [{"epsilon": 0.1, "rounds": rounds} for rounds in (1, 2)]
        >>> errors = [Average(each, "error", 1, mean, mean, mean) for each, mean in zip(where, (3.0, 1.0))]
        >>> [point.mean for point in oracle_curve(Results(errors), "epsilon", "error")]
        [1.0]
    """
    there = Results(each for each in found.where(**conditions).averages if each.quantity == quantity)
    chosen = [(at, oracle(there.where(**{along: at}), quantity)) for at in there.numbers(along)]
    return [Point(at, each.mean, each.low, each.high) for at, each in chosen]
