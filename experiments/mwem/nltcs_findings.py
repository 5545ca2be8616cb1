"""Claims and drawings of figure 4, from the averages of the survey."""

from __future__ import annotations

import math
from collections.abc import Sequence

from experiments.experiment import Claim, Drawing
from experiments.mwem.contingency import AUTOMATIC, BY_HAND, DIVERGENCE, FOURIER, HISTOGRAM, PROVEN
from experiments.mwem.divergences import crossing, curve, divergences, epsilons, floors, listed, panel, ratios
from experiments.mwem.oracle import ROUNDS, oracle
from experiments.results import Results
from hedgerow.report import Panel

PAIRS, TRIPLES = "2-way", "3-way"
PARITIES = {PAIRS: 2, TRIPLES: 3}
"""Attributes of a parity, at most."""

_MECHANISMS = (AUTOMATIC, HISTOGRAM, PROVEN, FOURIER)
_NEAR = 1.25
"""Multiple of the best relative entropy in hindsight that still counts as near it."""
_AT_FLOOR = 1.1


def claims(found: Results) -> list[Claim]:
    """Where curves cross, and what the floors say.

    Args:
        found: Averages of `Survey`.
    """
    return [
        *(_two_and_three(found, mechanism) for mechanism in _MECHANISMS),
        _few_are_overtaken(found),
        _many_are_not(found),
        _more_rounds(found),
        _near_oracle(found),
        _at_floor(found),
    ]


def _sets(found: Results) -> dict[str, Results]:
    return {parities: found.where(parities=parities) for parities in PARITIES}


def _two_and_three(found: Results, mechanism: str) -> Claim:
    pairs, triples = _sets(found).values()
    at = crossing(curve(pairs, mechanism), curve(triples, mechanism))
    return Claim(
        f"{mechanism}: with little budget the 2-way parities bring it closer to the table, with more the 3-way ones",
        holds=at is not None and math.isfinite(at),
        figures=f"{_crossed(at)}; 3-way / 2-way = {_gains(pairs, triples, mechanism)}",
    )


def _gains(pairs: Results, triples: Results, mechanism: str) -> str:
    both = zip(divergences(triples, mechanism), divergences(pairs, mechanism), strict=True)
    return listed([three / two for three, two in both])


def _crossed(at: float | None) -> str:
    if at is None:
        return "the 3-way ones are closer at every epsilon"
    return f"the curves cross at epsilon = {at:.2g}" if math.isfinite(at) else "the curves do not cross for good"


def _few_are_overtaken(found: Results) -> Claim:
    pairs = _sets(found)[PAIRS]
    gains = ratios(pairs, FOURIER, HISTOGRAM)
    behind = next((place for place, gain in enumerate(gains) if gain < 1.0), len(gains))
    at = crossing(curve(pairs, HISTOGRAM)[: behind + 1], curve(pairs, FOURIER)[: behind + 1])
    return Claim(
        "2-way: MWEM from a histogram, with T chosen by hand, is closer than uniform measurement of all parities with "
        "the least budget, and overtaken with more",
        holds=at is not None and math.isfinite(at),
        figures=_overtaken(at) + _gains_text(gains, pairs),
    )


def _overtaken(at: float | None) -> str:
    return (
        "never closer" if at is None else f"overtaken at epsilon = {at:.2g}" if math.isfinite(at) else "not overtaken"
    )


def _gains_text(gains: Sequence[float], of_set: Results) -> str:
    return f"; uniform measurement / MWEM = {listed(gains)} at epsilon = {listed(epsilons(of_set))}"


def _many_are_not(found: Results) -> Claim:
    triples = _sets(found)[TRIPLES]
    gains = ratios(triples, FOURIER, HISTOGRAM)
    return Claim(
        "3-way: it is closer at every epsilon",
        holds=min(gains) > 1.0,
        figures=_gains_text(gains, triples).removeprefix("; "),
    )


def _more_rounds(found: Results) -> Claim:
    triples = _sets(found)[TRIPLES]
    best = {
        mechanism: [
            int(oracle(triples, DIVERGENCE, mechanism=mechanism, epsilon=epsilon).where[ROUNDS])
            for epsilon in epsilons(triples)
        ]
        for mechanism in (HISTOGRAM, PROVEN, BY_HAND)
    }
    return Claim(
        "3-way: the best T grows with epsilon, so that curves of fewer and of more rounds cross",
        holds=all(each == sorted(each) and each[0] < each[-1] for each in best.values()),
        figures="; ".join(f"{name}: T = {', '.join(map(str, each))}" for name, each in best.items()),
    )


def _near_oracle(found: Results) -> Claim:
    each = {parities: ratios(of_set, AUTOMATIC, BY_HAND) for parities, of_set in _sets(found).items()}
    return Claim(
        f"this package with its private, automatic T is at most {_NEAR:g} times as far off as with its best T",
        holds=max(max(found) for found in each.values()) <= _NEAR,
        figures="automatic / best: " + "; ".join(f"{parities} {listed(found)}" for parities, found in each.items()),
    )


def _at_floor(found: Results) -> Claim:
    known = floors(found)
    last = {parities: divergences(of_set, AUTOMATIC)[-1] for parities, of_set in _sets(found).items()}
    return Claim(
        "at the largest epsilon it is within a tenth of what the marginals of as many attributes allow",
        holds=all(last[parities] <= _AT_FLOOR * known[order] for parities, order in PARITIES.items()),
        figures="; ".join(f"{each}: {last[each]:.3g}, floor {known[order]:.3g}" for each, order in PARITIES.items()),
    )


def drawings(found: Results) -> dict[str, Drawing]:
    """Both sets of parities beside each other; against each other; and numbers of rounds.

    Args:
        found: Averages of `Survey`.
    """
    of_sets = _sets(found)
    return {
        "": Drawing(
            [_panel_of(found, table, f"all {each} parities", _MECHANISMS) for each, table in of_sets.items()],
            "epsilon",
            "Relative entropy of the survey against epsilon, by all 2-way and by all 3-way parities.",
        ),
        "crossing": Drawing(
            [_against_each_other(found, mechanism) for mechanism in _MECHANISMS],
            "epsilon",
            "2-way and 3-way parities against each other, for every mechanism.",
        ),
        "rounds": Drawing(
            [_rounds(found, HISTOGRAM, "as published, from a histogram"), _rounds(found, BY_HAND, "with our fits")],
            "epsilon",
            "3-way parities by the number of rounds T, as published, and with the fits of this package.",
        ),
    }


def _panel_of(found: Results, table: Results, title: str, mechanisms: Sequence[str]) -> Panel:
    return panel(table, title, {each: curve(table, each) for each in mechanisms}, among=found)


def _against_each_other(found: Results, mechanism: str) -> Panel:
    curves = {f"{each} parities": curve(table, mechanism) for each, table in _sets(found).items()}
    return panel(_sets(found)[PAIRS], mechanism, curves, among=found)


def _rounds(found: Results, mechanism: str, title: str) -> Panel:
    triples = _sets(found)[TRIPLES]
    tried = [int(rounds) for rounds in triples.where(mechanism=mechanism).numbers(ROUNDS)]
    curves = {
        f"mwem (T = {rounds})": triples.curve("epsilon", DIVERGENCE, mechanism=mechanism, rounds=rounds)
        for rounds in tried
    }
    return panel(triples, title, curves, among=found)
