"""Claims and drawings from the errors of DualQuery and its rivals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from experiments.experiment import Claim, Drawing
from experiments.results import Results
from hedgerow.report import Panel

ALL = 80_088
"""Cells of the 56 marginals of three of the eight attributes."""
DELTA = 1e-6
EPSILON_OF_SIZES = 1.0
"""The budget with which numbers of conjunctions are compared."""

NEW, MIDDLE, ORIGINAL = "dual-query (zCDP)", "dual-query (zCDP, eps^2/2)", "dual-query (original bound)"
MWEM_CELLS, MWEM_WHOLE = "mwem", "mwem (whole marginals)"
LAPLACE, WHOLE_LAPLACE = "laplace", "laplace (whole marginals)"
GAUSSIAN, WHOLE_GAUSSIAN = "gaussian", "gaussian (whole marginals)"
UNIFORM, ZERO = "uniform", "0 to every query"

AVERAGE, LARGEST = "average error", "largest error"
UNITS = {AVERAGE: "average error (fraction of records)", LARGEST: "largest error (fraction of records)"}

WORTH = 2.0 * math.sqrt(3.0)
"""Factor by which zCDP of bounded range makes DualQuery cheaper, by theory, before the tight conversion."""


def claims_of(found: Results) -> list[Claim]:
    """All claims."""
    return [*_of_accounting(found), *_of_rivals(found), *_of_numbers(found)]


def _of_accounting(found: Results) -> list[Claim]:
    old, new = (_ratios(found, ORIGINAL, name, LARGEST) for name in (MIDDLE, NEW))
    dearer = _dearer(found)
    typical = math.exp(math.fsum(map(math.log, dearer.values())) / len(dearer)) if dearer else 0.0
    return [
        Claim(
            "at the same epsilon and delta, zCDP with eps^2/2 gives smaller largest errors than the original bound",
            holds=min(old) > 1.0,
            figures=f"{_span(old)} times smaller; averages {_span(_ratios(found, ORIGINAL, MIDDLE, AVERAGE))} times",
        ),
        Claim(
            "zCDP as it is used here (eps^2/8, tight conversion) gives smaller errors still",
            holds=min(new) > 1.0 and min(_ratios(found, MIDDLE, NEW, LARGEST)) > 1.0,
            figures=f"largest errors {_span(new)} times smaller than with the original bound, averages "
            f"{_span(_ratios(found, ORIGINAL, NEW, AVERAGE))} times",
        ),
        Claim(
            "for the same largest error the original bound needs on average more than 2 root 3 = 3.46 times the "
            "epsilon, as the costs of the rounds say",
            holds=typical > WORTH,
            figures=f"{typical:.2g} times as much as epsilon {_list(dearer)}" if dearer else "too few epsilons to say",
        ),
    ]


def _of_rivals(found: Results) -> list[Claim]:
    """Where the errors of others are those of DualQuery or more."""
    others = (UNIFORM, ZERO, WHOLE_LAPLACE, WHOLE_GAUSSIAN)
    ratios = {(name, kind): _ratios(found, name, NEW, kind) for name in others for kind in UNITS}
    uniform = [ratios[UNIFORM, kind] for kind in UNITS]
    zero = ratios[ZERO, AVERAGE]
    mwem = [_ratios(found, NEW, MWEM_CELLS, kind) for kind in UNITS]
    noise = {kind: [ratios[name, kind] for name in (WHOLE_LAPLACE, WHOLE_GAUSSIAN)] for kind in UNITS}
    return [
        Claim(
            "DualQuery (zCDP) is better than the uniform answer at every epsilon, on average and at worst",
            holds=min(map(min, uniform)) > 1.0,
            figures="average errors {} times smaller, largest errors {} times".format(*map(_span, uniform)),
        ),
        Claim(
            "its average error is below that of answering 0 to every query, at every epsilon",
            holds=min(zero) > 1.0,
            figures=_where(found, "answering 0", zero),
        ),
        *(
            Claim(
                f"its {kind} is below that of noise on whole marginals, Laplace or Gaussian, at every epsilon",
                holds=min(map(min, noise[kind])) > 1.0,
                figures="; ".join(
                    _where(found, *pair) for pair in zip(("Laplace", "Gaussian"), noise[kind], strict=True)
                ),
            )
            for kind in UNITS
        ),
        Claim(
            "MWEM, given the same conjunctions, is better than DualQuery at every epsilon, on average and at worst",
            holds=min(map(min, mwem)) > 1.0,
            figures="average errors {} times smaller, largest errors {} times".format(*map(_span, mwem)),
        ),
    ]


def _of_numbers(found: Results) -> list[Claim]:
    numbers = [int(number) for number in found.numbers("queries") if number < ALL]

    def worst(mechanism: str, number: int) -> float:
        return found.mean(LARGEST, queries=number, mechanism=mechanism)

    laplace, ours = ([worst(name, number) for number in numbers] for name in (LAPLACE, NEW))
    better = [f"{n:,}" for n, noise, own in zip(numbers, laplace, ours, strict=True) if own < noise]
    return [
        Claim(
            "from few conjunctions to many, the largest error of Laplace noise on each of them grows at least as their "
            "number, and that of DualQuery less than a third as much",
            holds=laplace[-1] / laplace[0] >= numbers[-1] / numbers[0]
            and 3.0 * ours[-1] / ours[0] < numbers[-1] / numbers[0],
            figures=f"{laplace[-1] / laplace[0]:.3g} and {ours[-1] / ours[0]:.2g} times from {numbers[0]:,} to "
            f"{numbers[-1]:,}; DualQuery is better at {', '.join(better) or 'none'}",
        ),
    ]


def drawings_of(found: Results) -> dict[str, Drawing]:
    """Both drawings."""
    return {"": _against_epsilon(found), "numbers": _against_number(found)}


def _against_epsilon(found: Results) -> Drawing:
    here = found.where(queries=ALL)
    names = [name for name in here.texts("mechanism") if name not in (UNIFORM, ZERO)]
    panels = [
        Panel(
            f"{ALL:,} conjunctions",
            unit,
            {name: here.curve("epsilon", kind, mechanism=name) for name in names},
            {name: here.mean(kind, mechanism=name) for name in (UNIFORM, ZERO)},
        )
        for kind, unit in UNITS.items()
    ]
    caption = "Errors of all 3-way conjunctions on eight attributes of Adult, by mechanism."
    return Drawing(panels, f"epsilon (delta = {DELTA:g}; laplace: delta = 0)", caption)


def _against_number(found: Results) -> Drawing:
    here = Results(each for each in found.averages if each.where["queries"] != ALL)
    panels = [
        Panel(
            f"epsilon = {EPSILON_OF_SIZES:g}",
            unit,
            {name: here.curve("queries", kind, mechanism=name) for name in here.texts("mechanism")},
        )
        for kind, unit in UNITS.items()
    ]
    caption = "Errors of drawn conjunctions against their number; Laplace and Gaussian noise are put on each of them."
    return Drawing(panels, "number of conjunctions", caption)


def _epsilons(found: Results) -> list[float]:
    return found.where(queries=ALL).numbers("epsilon")


def _mean(found: Results, kind: str, mechanism: str, epsilon: float) -> float:
    here = found.where(queries=ALL, mechanism=mechanism)
    return here.mean(kind) if mechanism in (UNIFORM, ZERO) else here.mean(kind, epsilon=epsilon)


def _ratios(found: Results, worse: str, better: str, kind: str) -> list[float]:
    """Ratio of the error of one mechanism to that of another, by epsilon."""
    return [_mean(found, kind, worse, e) / _mean(found, kind, better, e) for e in _epsilons(found)]


def _dearer(found: Results) -> dict[float, float]:
    """Ratio of the epsilon that the original bound needs for the largest errors of zCDP, by epsilon of zCDP.

    Between epsilons, the logarithm of the error is taken as linear in that of epsilon.
    """
    points = [(_mean(found, LARGEST, ORIGINAL, e), e) for e in _epsilons(found)]
    needed = {e: _between(points, _mean(found, LARGEST, NEW, e)) for e in _epsilons(found)}
    return {epsilon: each / epsilon for epsilon, each in needed.items() if each is not None}


def _between(points: Sequence[tuple[float, float]], error: float) -> float | None:
    """The first epsilon at which a curve of (error, epsilon) falls to an error; None where it does not."""
    for (high, before), (low, after) in pairwise(points):
        if low <= error <= high:
            share = math.log(high / error) / math.log(high / low) if high > low else 0.0
            return before * math.pow(after / before, share)
    return None


def _span(values: Sequence[float]) -> str:
    """From the smallest to the largest, in few digits."""
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def _where(found: Results, name: str, ratios: Sequence[float]) -> str:
    """At which epsilons a rival's error is larger."""
    there = [epsilon for epsilon, ratio in zip(_epsilons(found), ratios, strict=True) if ratio > 1.0]
    return f"{name} errs {_span(ratios)} times as much, more at epsilon {_list(there) or 'none'}"


def _list(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
