"""Claims and drawings of figure 5, from the averages of the data cubes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from experiments.experiment import Claim, Drawing
from experiments.results import Results
from hedgerow.report import Panel, Point

FIXED, AUTOMATIC, LAPLACE, UNIFORM = "mwem (fixed T)", "mwem (automatic T)", "laplace (raw answers)", "uniform"
ANNEALED = "mwem (annealed rounds)"
ADVANCE = "chosen in advance (expected noise)"
ORACLE = "mwem (oracle T, not private)"

AVERAGE, MAXIMUM = "average cuboid error", "maximum cuboid error"
AVERAGE_TV, MAXIMUM_TV = "average total variation distance", "maximum total variation distance"
ROUNDS = "cuboids chosen"
CHOSEN = {1: "one-way cuboids chosen", 2: "two-way cuboids chosen", 3: "three-way cuboids chosen"}
WIDER = "wider cuboids chosen"


def claims_of(found: Results) -> list[Claim]:
    """The comparisons of the paper, as far as they can be made, and questions of our own."""
    return [
        *(_beats_laplace(found, cuboids) for cuboids in found.texts("cuboids")),
        *(_beats_advance(found, cuboids) for cuboids in found.where(mechanism=ADVANCE).texts("cuboids")),
        _beats_uniform(found),
        _against_oracle(
            found,
            AUTOMATIC,
            "the automatic T gives at most twice the average error of the best T, which is chosen by exact errors",
            2.0,
        ),
        _against_oracle(
            found,
            ANNEALED,
            "annealed rounds, which need no T, give at most 1.25 times the average error of the best T",
            1.25,
        ),
        *(_few_triples(found, cuboids) for cuboids in found.where(mechanism=ADVANCE).texts("cuboids")),
    ]


def drawings_of(found: Results) -> dict[str, Drawing]:
    """Errors against epsilon; what was chosen; total variation distances."""
    sets = found.texts("cuboids")
    errors = [_panel(found, cuboids, quantity) for cuboids in sets for quantity in (AVERAGE, MAXIMUM)]
    cubes = found.where(mechanism=ADVANCE).texts("cuboids")
    chosen = [panel for cuboids in cubes for panel in _choice_panels(found, cuboids)]
    return {
        "": Drawing(errors, "epsilon", "Mean absolute error of a cell, averaged or maximised over the cuboids."),
        "chosen": Drawing(chosen, "epsilon", "Cuboids that were measured where all are candidates, by attributes."),
        "distance": Drawing(
            [_panel(found, cuboids, AVERAGE_TV, most=1.0) for cuboids in sets],
            "epsilon",
            "The same errors as total variation distances, as far as they are below 1.",
        ),
    }


def oracle(found: Results, quantity: str, cuboids: str, epsilon: float) -> tuple[int, Point]:
    """The result of the number of rounds with the smallest average cuboid error: chosen by looking at exact errors.

    Returns:
        The number of rounds, and the quantity with its interval.
    """
    here = found.where(cuboids=cuboids, mechanism=FIXED, epsilon=epsilon)
    best = min(map(int, here.numbers("rounds")), key=lambda rounds: here.mean(AVERAGE, rounds=rounds))
    each = here.one(quantity, rounds=best)
    return best, Point(epsilon, each.mean, each.low, each.high)


def _spent(found: Results, cuboids: str) -> list[float]:
    """The values of epsilon at which something private was run."""
    return found.where(cuboids=cuboids, mechanism=AUTOMATIC).numbers("epsilon")


def _curve(found: Results, mechanism: str, quantity: str, cuboids: str) -> list[Point]:
    if mechanism == ORACLE:
        return [oracle(found, quantity, cuboids, epsilon)[1] for epsilon in _spent(found, cuboids)]
    return found.curve("epsilon", quantity, cuboids=cuboids, mechanism=mechanism)


def _gains(found: Results, better: str, worse: str, quantity: str, cuboids: str) -> list[float]:
    """Factor by which one error is smaller than the other, at each epsilon."""
    curves = (_curve(found, mechanism, quantity, cuboids) for mechanism in (worse, better))
    return [other.mean / one.mean for other, one in zip(*curves, strict=True)]


def _times(gains: Sequence[float]) -> str:
    return f"{min(gains):.3g} to {max(gains):.3g} times"


def _below(found: Results, text: str, better: str, worse: str, cuboids: str) -> Claim:
    """A claim about the average and the maximum error at every epsilon."""
    average, maximum = (_gains(found, better, worse, quantity, cuboids) for quantity in (AVERAGE, MAXIMUM))
    return Claim(
        text,
        holds=min(average + maximum) > 1.0,
        figures=f"average {_times(average)}, maximum {_times(maximum)} lower",
    )


def _beats_laplace(found: Results, cuboids: str) -> Claim:
    text = (
        f"{cuboids} cuboids: MWEM with the best T has smaller average and maximum errors than independent Laplace noise"
    )
    return _below(found, f"{text} at every epsilon", ORACLE, LAPLACE, cuboids)


def _beats_advance(found: Results, cuboids: str) -> Claim:
    gains = {quantity: _gains(found, ORACLE, ADVANCE, quantity, cuboids) for quantity in (AVERAGE, MAXIMUM)}
    return Claim(
        f"{cuboids} cuboids: the average error of MWEM with the best T is at least four times below what Laplace noise "
        "on cuboids chosen in advance is expected to leave",
        holds=min(gains[AVERAGE]) >= 4.0,
        figures=f"average {_times(gains[AVERAGE])} lower, maximum {_times(gains[MAXIMUM])}",
    )


def _beats_uniform(found: Results) -> Claim:
    gains = []
    for cuboids in found.texts("cuboids"):
        uniform = found.mean(AVERAGE, cuboids=cuboids, mechanism=UNIFORM)
        gains += [uniform / point.mean for point in _curve(found, AUTOMATIC, AVERAGE, cuboids)]
    return Claim(
        "MWEM with the automatic T has a smaller average error than the uniform answer, at every epsilon",
        holds=min(gains) > 1.0,
        figures=_times(gains),
    )


def _against_oracle(found: Results, mechanism: str, text: str, most: float) -> Claim:
    losses = {cuboids: _gains(found, ORACLE, mechanism, AVERAGE, cuboids) for cuboids in found.texts("cuboids")}
    return Claim(
        text,
        holds=max(max(each) for each in losses.values()) <= most,
        figures="; ".join(f"{cuboids}: {_times(each)}" for cuboids, each in losses.items()),
    )


def _few_triples(found: Results, cuboids: str) -> Claim:
    shares = [share for share, _ in _triples(found, ORACLE, cuboids)]
    ends = {name: _triples(found, name, cuboids) for name in (ORACLE, AUTOMATIC, ANNEALED)}
    return Claim(
        f"{cuboids} cuboids: of those that MWEM with the best T chooses few are three-way, at most a quarter",
        holds=max(shares) <= 0.25,
        figures="; ".join(f"{name}: {each[0][1]} to {each[-1][1]}" for name, each in ends.items()),
    )


def _triples(found: Results, mechanism: str, cuboids: str) -> list[tuple[float, str]]:
    """At each epsilon the share of three-way cuboids, and how many that are."""
    curves = (_curve(found, mechanism, quantity, cuboids) for quantity in (CHOSEN[3], ROUNDS))
    return [
        (few.mean / every.mean, f"{few.mean:.3g} of {every.mean:.3g} at epsilon {few.at:g}")
        for few, every in zip(*curves, strict=True)
    ]


def _panel(found: Results, cuboids: str, quantity: str, most: float = math.inf) -> Panel:
    """Errors against epsilon, as far as they are no larger than some value."""

    def shown(mechanism: str) -> list[Point]:
        return [point for point in _curve(found, mechanism, quantity, cuboids) if point.mean <= most]

    curves = {name: points for name in (AUTOMATIC, ORACLE, ANNEALED, LAPLACE) if (points := shown(name))}
    advance = shown(ADVANCE)
    return Panel(
        f"{cuboids} cuboids",
        quantity if quantity in (AVERAGE_TV, MAXIMUM_TV) else f"{quantity}, counts per cell",
        curves,
        lines={UNIFORM: found.mean(quantity, cuboids=cuboids, mechanism=UNIFORM)},
        bounds={ADVANCE: advance} if advance else {},
    )


def _choice_panels(found: Results, cuboids: str) -> list[Panel]:
    """Number of measured cuboids by their number of attributes."""
    quantities = (*CHOSEN.values(), WIDER)
    return [
        Panel(
            f"{cuboids} cuboids, {mechanism}",
            "cuboids measured",
            {name.removesuffix(" cuboids chosen"): _curve(found, mechanism, name, cuboids) for name in quantities},
            scales=("log", "linear"),
        )
        for mechanism in (ORACLE, AUTOMATIC, ANNEALED)
    ]
