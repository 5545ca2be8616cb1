"""Claims and drawings of figure 3, from the averages of the small contingency tables."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.experiment import Claim, Drawing
from experiments.mwem.contingency import (
    AUTOMATIC,
    BY_HAND,
    FOURIER,
    HISTOGRAM,
    HISTOGRAM_AUTOMATIC,
    PROVEN,
    PROVEN_AUTOMATIC,
    PUBLISHED,
)
from experiments.mwem.divergences import curve, divergences, epsilons, floors, listed, panel, ratios
from experiments.results import Results

Tables = dict[str, Results]

_NEAR = 1.25
"""Multiple of the best relative entropy in hindsight that still counts as near it."""
_FORMS = (PUBLISHED, PROVEN, HISTOGRAM)
_USABLE = 3.0
"""The largest epsilon that might be spent."""
_BY_HAND = (AUTOMATIC, *_FORMS, FOURIER)
_WITHOUT_HAND = (AUTOMATIC, BY_HAND, HISTOGRAM_AUTOMATIC, PROVEN_AUTOMATIC, FOURIER)


def claims(found: Results) -> list[Claim]:
    """The paper's claims, for each table where they can be, and what they leave open.

    Args:
        found: Averages of `ContingencyTables`.
    """
    tables = {data: found.where(data=data) for data in found.texts("data")}
    return [
        *(_beats_measuring_all(data, table) for data, table in tables.items()),
        _so_from_histogram(tables),
        _reuse_helps(tables),
        _histogram_helps(tables),
        _ours_is_closer(tables),
        _near_oracle(tables),
        _reaches(tables, 1, "independent attributes"),
        _reaches(tables, 2, "all two-way marginals"),
    ]


def _beats_measuring_all(data: str, table: Results) -> Claim:
    found = ratios(table, FOURIER, PUBLISHED)
    return Claim(
        f"{data}: MWEM as published, with T chosen by hand, is closer to the table than uniform measurement of all "
        f"parities at every epsilon up to {_USABLE:g}",
        holds=min(_usable(table, found)) > 1.0,
        figures=f"uniform measurement / MWEM = {listed(found)} at epsilon = {listed(epsilons(table))}",
    )


def _usable(table: Results, found: Sequence[float]) -> list[float]:
    """Those of the ratios whose epsilon might be spent."""
    return [ratio for ratio, epsilon in zip(found, epsilons(table), strict=True) if epsilon <= _USABLE]


def _so_from_histogram(tables: Tables) -> Claim:
    found = {data: ratios(table, FOURIER, HISTOGRAM) for data, table in tables.items()}
    return Claim(
        "so it is on every table if it starts from a noisy histogram",
        holds=min(min(_usable(tables[data], each)) for data, each in found.items()) > 1.0,
        figures=_by_table("uniform measurement / MWEM", found),
    )


def _reuse_helps(tables: Tables) -> Claim:
    found = {data: ratios(table, PROVEN, PUBLISHED) for data, table in tables.items()}
    return Claim(
        "with their best T, MWEM that uses measurements again is everywhere closer than the theoretically pure form",
        holds=_least(found) > 1.0,
        figures=_by_table("pure / with reuse", found),
    )


def _histogram_helps(tables: Tables) -> Claim:
    found = {data: ratios(table, PUBLISHED, HISTOGRAM) for data, table in tables.items()}
    return Claim(
        "a noisy histogram for a tenth of the budget is everywhere a better start than the uniform distribution",
        holds=_least(found) > 1.0,
        figures=_by_table("uniform start / histogram", found),
    )


def _ours_is_closer(tables: Tables) -> Claim:
    def best(table: Results) -> list[float]:
        return [min(each) for each in zip(*(ratios(table, form, AUTOMATIC) for form in _FORMS), strict=True)]

    found = {data: best(table) for data, table in tables.items()}
    return Claim(
        "this package with its private, automatic T is everywhere closer than all forms of the paper with their best T",
        holds=_least(found) > 1.0,
        figures=_by_table("the best form / ours", found),
    )


def _near_oracle(tables: Tables) -> Claim:
    found = {data: ratios(table, AUTOMATIC, BY_HAND) for data, table in tables.items()}
    return Claim(
        f"its automatic T is at most {_NEAR:g} times as far off as its best T in hindsight",
        holds=max(max(each) for each in found.values()) <= _NEAR,
        figures=_by_table("automatic / best", found),
    )


def _reaches(tables: Tables, order: int, words: str) -> Claim:
    reached = {data: _first_below(table, floors(table)[order]) for data, table in tables.items()}
    return Claim(
        f"with a large enough epsilon of the grid it is closer than the noiseless model of {words}",
        holds=all(each is not None for each in reached.values()),
        figures="; ".join(
            f"{data}: {'never' if epsilon is None else f'from {epsilon:g}'}" for data, epsilon in reached.items()
        ),
    )


def _first_below(table: Results, floor: float) -> float | None:
    pairs = zip(epsilons(table), divergences(table, AUTOMATIC), strict=True)
    return next((epsilon for epsilon, divergence in pairs if divergence < floor), None)


def _least(found: dict[str, list[float]]) -> float:
    return min(min(each) for each in found.values())


def _by_table(what: str, found: dict[str, list[float]]) -> str:
    return f"{what}: " + "; ".join(f"{data} {listed(each)}" for data, each in found.items())


def drawings(found: Results) -> dict[str, Drawing]:
    """Relative entropy against epsilon, with the T of the paper, and with automatic ones.

    Args:
        found: Averages of `ContingencyTables`.
    """
    return {
        "": _drawing(found, _BY_HAND, "Relative entropy against epsilon: MWEM with T chosen by hand as in the paper."),
        "automatic": _drawing(found, _WITHOUT_HAND, "The same with T from public quantities."),
    }


def _drawing(found: Results, mechanisms: Sequence[str], caption: str) -> Drawing:
    panels = [
        panel(table, data, {mechanism: curve(table, mechanism) for mechanism in mechanisms})
        for data, table in ((data, found.where(data=data)) for data in found.texts("data"))
    ]
    return Drawing(panels, "epsilon", caption)
