"""What the errors of DualQuery and its rivals say: claims and drawings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from hedgerow.experiments.experiment import Claim, Drawing
from hedgerow.experiments.results import Results
from hedgerow.report.curves import Panel

ALL = 80_088
"""Cells of the 56 marginals of three of the eight attributes."""
DELTA = 1e-6
EPSILON_OF_SIZES = 1.0
"""The budget with which numbers of conjunctions are compared."""

NEW, MIDDLE, ORIGINAL = "dual-query (zCDP)", "dual-query (zCDP, eps^2/2)", "dual-query (original bound)"
MWEM_CELLS, MWEM_WHOLE = "mwem", "mwem (whole marginals)"
LAPLACE, WHOLE_LAPLACE = "laplace", "laplace (whole marginals)"
GAUSSIAN, WHOLE_GAUSSIAN = "gaussian", "gaussian (whole marginals)"
UNIFORM, ZERO = "uniform", "zero"

AVERAGE, LARGEST = "average error", "largest error"
UNITS = {AVERAGE: "average error (fraction of records)", LARGEST: "largest error (fraction of records)"}

WORTH = 2.0 * math.sqrt(3.0)
"""How many times cheaper zCDP of bounded range makes DualQuery, by theory, before the tight conversion."""


def claims_of(found: Results) -> list[Claim]:
    """All claims."""
    return [*_of_accounting(found), *_of_rivals(found), *_of_numbers(found)]


def _of_accounting(found: Results) -> list[Claim]:
    old, new = (_ratios(found, ORIGINAL, name, LARGEST) for name in (MIDDLE, NEW))
    dearer = _dearer(found)
    typical = math.exp(math.fsum(map(math.log, dearer)) / len(dearer)) if dearer else 0.0
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
            "for the same largest error the original bound needs more than 2 root 3 = 3.46 times the epsilon, "
            "as the costs of the rounds say",
            holds=typical > WORTH,
            figures=f"{typical:.2g} times in the geometric mean over {len(dearer)} epsilons"
            if dearer
            else "too few epsilons to say",
        ),
    ]


def _of_rivals(found: Results) -> list[Claim]:
    guess = {name: {kind: found.mean(kind, queries=ALL, mechanism=name) for kind in UNITS} for name in (UNIFORM, ZERO)}
    smaller = {
        (name, kind): [guess[name][kind] / _mean(found, kind, NEW, epsilon) for epsilon in _epsilons(found)]
        for name in guess
        for kind in UNITS
    }
    beaten = [ratio for kind in UNITS for ratio in smaller[UNIFORM, kind]]
    mwem = {kind: _ratios(found, NEW, MWEM_CELLS, kind) for kind in UNITS}
    return [
        Claim(
            "DualQuery (zCDP) is better than the uniform answer at every epsilon, on average and at worst",
            holds=min(beaten) > 1.0,
            figures=f"average errors {_span(smaller[UNIFORM, AVERAGE])} times smaller, largest errors "
            f"{_span(smaller[UNIFORM, LARGEST])} times",
        ),
        Claim(
            "its average error is below that of answering 0 to every query at every epsilon",
            holds=min(smaller[ZERO, AVERAGE]) > 1.0,
            figures=_where(found, smaller[ZERO, AVERAGE]),
        ),
        Claim(
            "its average error is below that of Laplace noise on whole marginals at every epsilon",
            holds=min(_ratios(found, WHOLE_LAPLACE, NEW, AVERAGE)) > 1.0,
            figures=_where(found, _ratios(found, WHOLE_LAPLACE, NEW, AVERAGE)),
        ),
        Claim(
            "its largest error is below that of Laplace noise on whole marginals at every epsilon",
            holds=min(_ratios(found, WHOLE_LAPLACE, NEW, LARGEST)) > 1.0,
            figures=_where(found, _ratios(found, WHOLE_LAPLACE, NEW, LARGEST)),
        ),
        Claim(
            "MWEM, where it can run, is better than DualQuery at every epsilon, on average and at worst",
            holds=min(min(each) for each in mwem.values()) > 1.0,
            figures=f"average errors {_span(mwem[AVERAGE])} times smaller, largest errors {_span(mwem[LARGEST])} times",
        ),
    ]


def _of_numbers(found: Results) -> list[Claim]:
    numbers = [int(number) for number in found.numbers("queries") if number < ALL]

    def mean(kind: str, mechanism: str, number: int) -> float:
        return found.mean(kind, queries=number, mechanism=mechanism)

    def growth(mechanism: str) -> float:
        return mean(LARGEST, mechanism, numbers[-1]) / mean(LARGEST, mechanism, numbers[0])

    better = [number for number in numbers if mean(LARGEST, NEW, number) < mean(LARGEST, LAPLACE, number)]
    return [
        Claim(
            "from few conjunctions to many, the largest error of Laplace noise on each of them grows at least as their "
            "number, that of DualQuery far less",
            holds=growth(LAPLACE) >= numbers[-1] / numbers[0] > 3.0 * growth(NEW),
            figures=f"{growth(LAPLACE):.3g} and {growth(NEW):.2g} times from {numbers[0]:,} to {numbers[-1]:,}",
        ),
        Claim(
            f"of {numbers[-1]:,} drawn conjunctions the worst is answered better by DualQuery than by Laplace noise on "
            "each of them",
            holds=numbers[-1] in better,
            figures=f"{mean(LARGEST, NEW, numbers[-1]):.2g} and {mean(LARGEST, LAPLACE, numbers[-1]):.2g} of the "
            f"records; so it is {f'from {better[0]:,} conjunctions on' if better else 'nowhere'}",
        ),
    ]


def drawings_of(found: Results) -> dict[str, Drawing]:
    """Both drawings."""
    return {"": _against_epsilon(found), "numbers": _against_number(found)}


def _against_epsilon(found: Results) -> Drawing:
    here = found.where(queries=ALL)
    names = [name for name in here.texts("mechanism") if name not in (UNIFORM, ZERO)]
    lines = {UNIFORM: UNIFORM, "0 to every query": ZERO}
    panels = [
        Panel(
            f"{ALL:,} conjunctions",
            unit,
            {name: here.curve("epsilon", kind, mechanism=name) for name in names},
            {text: here.mean(kind, mechanism=name) for text, name in lines.items()},
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
    return found.mean(kind, queries=ALL, mechanism=mechanism, epsilon=epsilon)


def _ratios(found: Results, worse: str, better: str, kind: str) -> list[float]:
    """How many times the error of one mechanism is that of another, by epsilon."""
    return [_mean(found, kind, worse, e) / _mean(found, kind, better, e) for e in _epsilons(found)]


def _dearer(found: Results) -> list[float]:
    """How many times the epsilon the original bound needs for the largest errors that zCDP reaches.

    Between epsilons, the logarithm of the error is taken as linear in that of epsilon.
    """
    points = [(_mean(found, LARGEST, ORIGINAL, e), e) for e in _epsilons(found)]
    reached = [(_mean(found, LARGEST, NEW, e), e) for e in _epsilons(found)]
    needed = [(_between(points, error), epsilon) for error, epsilon in reached]
    return [each / epsilon for each, epsilon in needed if each is not None]


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


def _where(found: Results, ratios: Sequence[float]) -> str:
    """At which epsilons a ratio is above 1."""
    there = [f"{epsilon:g}" for epsilon, ratio in zip(_epsilons(found), ratios, strict=True) if ratio > 1.0]
    return f"{_span(ratios)} times smaller; below at epsilon " + (", ".join(there) if there else "none")
