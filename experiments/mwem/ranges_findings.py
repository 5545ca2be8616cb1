"""Claims and drawings from the averages of the range queries."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.experiment import Claim, Drawing
from experiments.mwem.divergences import listed
from experiments.mwem.oracle import ORACLE, ROUNDS, oracle, oracle_curve
from experiments.results import Results
from hedgerow.report import Panel

ERROR = "mean squared error [counts^2]"
BOUND = "least mean squared error [counts^2]"
CHOSEN = "rounds chosen"

AUTOMATIC = "mwem (automatic T)"
PROVEN = f"mwem (theorem, {ORACLE})"
LISTING = f"mwem (listing, {ORACLE})"
AVERAGED = f"mwem (listing averaged, {ORACLE})"
OWN = f"mwem (own fits, {ORACLE})"
LAPLACE = "laplace (raw answers)"
UNIFORM = "uniform (no data)"
PAPER_BOUND = "SVD bound (paper)"
TIGHT_BOUND = "SVD bound (replace, zCDP)"

_OVER_EPSILON = (AUTOMATIC, LISTING, PROVEN, UNIFORM)
_OVER_QUERIES = (AUTOMATIC, LISTING, PROVEN, LAPLACE, UNIFORM)
"""Laplace noise is left out of the drawing over epsilon, where it would leave no room for the others."""

_SMALL = 2
"""Number of epsilons that count as small in the claim about these."""
_OFTEN = 0.5
_MUCH = 10.0
_STEADY = 2.0


def claims(found: Results) -> list[Claim]:
    """The paper's claims, for each table where they can be, and what they leave open.

    Args:
        found: Averages of `RangeQueries`.
    """
    main = _against_epsilon(found)
    return [
        *(_below(main, data) for data in main.texts("data")),
        _much(main),
        _diminishing(main),
        _tight(main),
        _automatic(main),
        _beyond_uniform(main),
        _last_or_average(main),
        _growth(found),
    ]


def _against_epsilon(found: Results) -> Results:
    """The averages at the number of queries at which all mechanisms run."""
    return found.where(queries=found.where(mechanism=TIGHT_BOUND).values("queries")[0])


def _error(found: Results, mechanism: str, data: str, epsilon: float) -> float:
    return oracle(found, ERROR, mechanism=mechanism, data=data, epsilon=epsilon).mean


def _advantages(found: Results, mechanism: str, data: str, bound: str = PAPER_BOUND) -> list[float]:
    """Ratios of a bound to the error, from the smallest to the largest epsilon."""
    return [
        found.mean(BOUND, mechanism=bound, data=data, epsilon=epsilon) / _error(found, mechanism, data, epsilon)
        for epsilon in found.numbers("epsilon")
    ]


def _below(found: Results, data: str) -> Claim:
    ratios = _advantages(found, LISTING, data)
    epsilons = listed(found.numbers("epsilon"))
    return Claim(
        f"{data}: MWEM with T chosen by hand has less error than the SVD bound at the smallest epsilon",
        holds=ratios[0] > 1.0,
        figures=f"bound / error = {listed(ratios)} at epsilon = {epsilons}",
    )


def _much(found: Results) -> Claim:
    ratios = [ratio for data in found.texts("data") for ratio in _advantages(found, LISTING, data)[:_SMALL]]
    many = sum(ratio > _MUCH for ratio in ratios)
    return Claim(
        f"at the {_SMALL} smallest epsilons it has often, in half of the cases or more, less than a tenth of the bound",
        holds=many >= _OFTEN * len(ratios),
        figures=f"{many} of {len(ratios)} cases; bound / error = {listed(ratios)}",
    )


def _diminishing(found: Results) -> Claim:
    pairs = [(ratios[0], ratios[-1]) for ratios in (_advantages(found, LISTING, d) for d in found.texts("data"))]
    return Claim(
        "its advantage is less at the largest epsilon than at the smallest, on every table",
        holds=all(first > last for first, last in pairs),
        figures="; ".join(f"{first:.3g} to {last:.3g}" for first, last in pairs),
    )


def _tight(found: Results) -> Claim:
    ratios = {data: _advantages(found, LISTING, data, TIGHT_BOUND) for data in found.texts("data")}
    return Claim(
        "at the smallest epsilon it is below the second bound, too, on every table",
        holds=all(each[0] > 1.0 for each in ratios.values()),
        figures="; ".join(f"{data}: bound / error = {listed(each)}" for data, each in ratios.items()),
    )


def _automatic(found: Results) -> Claim:
    epsilon = found.numbers("epsilon")[0]
    ratios = {data: _advantages(found, AUTOMATIC, data)[0] for data in found.texts("data")}

    def rounds(data: str) -> str:
        chosen = found.mean(CHOSEN, mechanism=AUTOMATIC, data=data, epsilon=epsilon)
        best = oracle(found, ERROR, mechanism=OWN, data=data, epsilon=epsilon)
        return (
            f"T = {chosen:.0f}; with T = {best.where[ROUNDS]} {_error(found, AUTOMATIC, data, epsilon) / best.mean:.2g}"
        )

    return Claim(
        "with the private, automatic T it is below the bound at the smallest epsilon on every table, too",
        holds=all(each > 1.0 for each in ratios.values()),
        figures="bound / error = "
        + ", ".join(f"{each:.3g} on {data} ({rounds(data)} times less error)" for data, each in ratios.items()),
    )


def _beyond_uniform(found: Results) -> Claim:
    pairs = [
        pair
        for data in found.texts("data")
        for pair in zip(_advantages(found, LISTING, data), _advantages(found, UNIFORM, data), strict=True)
    ]
    below = [(listing, uniform) for listing, uniform in pairs if listing > 1.0]
    better, easy = sum(listing > uniform for listing, uniform in below), sum(uniform > 1.0 for _, uniform in below)
    return Claim(
        "wherever it is below the bound it has less error than the uniform distribution, which looks at no data",
        holds=better == len(below),
        figures=f"in {better} of {len(below)} cases, in {easy} of which the uniform distribution is below it, too; "
        f"uniform / MWEM = {listed([listing / uniform for listing, uniform in below])}",
    )


def _last_or_average(found: Results) -> Claim:
    ratios = [
        _error(found, AVERAGED, data, epsilon) / _error(found, LISTING, data, epsilon)
        for data in found.texts("data")
        for epsilon in found.numbers("epsilon")
    ]
    better = sum(ratio >= 1.0 for ratio in ratios)
    return Claim(
        "the last hypothesis of the listing, which no theorem covers, has no more error than the average of all",
        holds=better == len(ratios),
        figures=f"in {better} of {len(ratios)} cases; average / last = {listed(ratios)}",
    )


def _growth(found: Results) -> Claim:
    few, *_, many = found.numbers("queries")
    epsilon = found.numbers("epsilon")[-1]

    def growth(mechanism: str, data: str) -> float:
        first, last = (_error(found.where(queries=int(at)), mechanism, data, epsilon) for at in (few, many))
        return last / first

    ratios, noise = ([growth(each, data) for data in found.texts("data")] for each in (LISTING, LAPLACE))
    return Claim(
        f"{many / few:.0f} times as many queries make its error at most {_STEADY:.0f} times as large",
        holds=max(ratios) <= _STEADY,
        figures=f"{listed(ratios)} times at epsilon = {epsilon:g}; independent noise {listed(noise)} times",
    )


def drawings(found: Results) -> dict[str, Drawing]:
    """Errors of every table against epsilon, and against the number of queries at both ends of the epsilons.

    Args:
        found: Averages of `RangeQueries`.
    """
    main, epsilons = _against_epsilon(found), found.numbers("epsilon")
    queries = int(main.numbers("queries")[0])
    ends = [(data, epsilon) for data in found.texts("data") for epsilon in (epsilons[0], epsilons[-1])]
    return {
        "": Drawing(
            [_panel(main.where(data=data), "epsilon", data, _OVER_EPSILON) for data in main.texts("data")],
            "epsilon",
            f"Mean squared error of {queries:,} random range queries against epsilon.",
        ),
        "queries": Drawing(
            [
                _panel(
                    found.where(data=data, epsilon=epsilon), "queries", f"{data}, epsilon = {epsilon:g}", _OVER_QUERIES
                )
                for data, epsilon in ends
            ],
            "number of queries",
            "Mean squared error against the number of random range queries, at the smallest and the largest epsilon.",
        ),
    }


def _panel(found: Results, along: str, title: str, mechanisms: Sequence[str]) -> Panel:
    curves = {name: oracle_curve(found, along, ERROR, mechanism=name) for name in mechanisms}
    bounds = {name: found.curve(along, BOUND, mechanism=name) for name in (PAPER_BOUND, TIGHT_BOUND)}
    return Panel(title, ERROR, curves, bounds={name: points for name, points in bounds.items() if len(points) > 1})
