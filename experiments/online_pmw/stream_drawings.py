"""Drawings of the adaptive stream."""

from __future__ import annotations

from dataclasses import replace

from experiments.experiment import Drawing
from experiments.online_pmw.adult import RECORDS
from experiments.online_pmw.stream_findings import (
    CORRECTIONS,
    FITTED,
    FREE,
    LARGEST,
    LATE,
    MEAN,
    PROMISED,
    SO_FAR,
    TESTED,
    THEOREM,
    UNIFORM,
    VARIANTS,
    cases_of,
    noise_of,
)
from experiments.results import Results
from hedgerow.report import Panel, Point, Scale

_UNIT = "fraction of the records"
_COUNTED = (CORRECTIONS, SO_FAR)
_LINEAR: tuple[Scale, Scale] = ("log", "linear")


def drawings_of(found: Results) -> dict[str, Drawing]:
    """Against the number of records, against epsilon, and along the stream; as far as there is something to draw."""
    by_records, by_epsilon = found.where(epsilon=1.0), found.where(records=RECORDS)
    usual = by_epsilon.where(epsilon=1.0)
    made = {}
    if len(by_records.values("records")) > 1:
        panels = _panels(by_records, "records", "epsilon = 1", _shares(by_records, "records", "free answers", FREE))
        made["records"] = Drawing(panels, "records n, thousands", _caption("the number of records"))
    if len(by_epsilon.values("epsilon")) > 1:
        free = _shares(by_epsilon, "epsilon", "free answers", FREE)
        told = _shares(by_epsilon, "epsilon", "with an interval", TESTED)
        panels = _panels(by_epsilon, "epsilon", f"n = {RECORDS:,}", free, told)
        made["epsilon"] = Drawing(panels, "epsilon", _caption("epsilon"))
    made["course"] = _course(usual if usual.has(MEAN, variant=FITTED[0]) else _first(by_records))
    return made


def _caption(what: str) -> str:
    return (
        f"Against {what}, for 10,000 questions that depend on earlier answers. Thin lines beside mean errors: "
        "independent noise on every answer, at the same cost; beside largest errors: promises. Averages of less than "
        "one correction are not drawn."
    )


def _panels(found: Results, along: str, where: str, *shares: Panel) -> list[Panel]:
    noises = {"Gaussian noise": THEOREM[1], "Laplace noise": THEOREM[2]}
    bounds = {f"independent {what}": _noises(found.where(variant=name), along) for what, name in noises.items()}
    promised = {f"promised by {name[:2]}": _curve(found, along, PROMISED, name) for name in THEOREM}
    uniform = _curve(found, along, UNIFORM, THEOREM[0])
    return [
        Panel(f"mean error, {where}", _UNIT, {**_curves(found, along, MEAN), "uniform": uniform}, bounds=bounds),
        Panel(f"largest error, {where}", _UNIT, _curves(found, along, LARGEST), bounds=promised),
        *shares,
        Panel("corrections used", "corrections", _curves(found, along, CORRECTIONS)),
    ]


def _shares(found: Results, along: str, title: str, quantity: str) -> Panel:
    """Shares of the answers; no interval passes 1."""
    curves = {
        name: [replace(point, high=min(1.0, point.high)) for point in points]
        for name, points in _curves(found, along, quantity).items()
    }
    return Panel(title, "share of the answers", curves, scales=_LINEAR)


def _curves(found: Results, along: str, quantity: str) -> dict[str, list[Point]]:
    """All variants, so that each has its look in every drawing."""
    return {name: _curve(found, along, quantity, name) for name in VARIANTS}


def _curve(found: Results, along: str, quantity: str, name: str) -> list[Point]:
    """Without what a logarithm cannot show; records in thousands."""
    least = 1.0 if quantity in _COUNTED else 0.0
    points = found.curve(along, quantity, variant=name)
    return [replace(point, at=point.at / _unit(along)) for point in points if point.mean > 0.0 and point.mean >= least]


def _unit(along: str) -> float:
    return 1000.0 if along == "records" else 1.0


def _noises(found: Results, along: str) -> list[Point]:
    points = [(case.numbers(along)[0] / _unit(along), noise_of(case)) for case in cases_of(found)]
    return [Point(at, noise, noise, noise) for at, noise in sorted(points)]


def _first(found: Results) -> Results:
    return found.where(records=int(found.numbers("records")[0]))


def _course(found: Results) -> Drawing:
    where = f"n = {found.numbers('records')[0]:,.0f}, epsilon = 1"
    panels = [
        Panel(where, "corrections so far", _curves(found, "asked", SO_FAR)),
        Panel(where, "mean error since the mark before", _curves(found, "asked", LATE)),
    ]
    return Drawing(
        panels,
        "questions asked",
        "Along the stream: corrections so far, and the mean error of the questions between one mark and the next. "
        "Averages of less than one correction are not drawn.",
    )
