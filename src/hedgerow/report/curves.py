"""Drawings of curves with bands, legible without colours: error against budget, rounds, records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

from hedgerow.report.plots import INK, NOISE, PAPER, drawing_style, svg_file_of, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STAMP = "NOT PRIVATE: exact errors, for public or test data only"
_PANEL = (4.2, 3.3)
_COLUMNS = 3
_LEGEND_ROW = 0.2
_LEGEND: Any = {"fontsize": 8.5, "handlelength": 4.6}
_QUIET = "#7a828a"
_LINES = ((0, (6, 3)), (0, (1, 2)), (0, (4, 2, 1, 2)))


@dataclass(frozen=True)
class CurveStyle:
    """Colour, marker and line of a mechanism.

    Attributes:
        colour: Readable on white and on dark paper, from a palette that people with colour blindness tell apart.
        marker: Shape of the points.
        dashes: Dashes of the line.
        filled: Whether the points are filled.
    """

    colour: str
    marker: str
    dashes: Any
    filled: bool = True


CURVE_STYLES = {
    "mwem": CurveStyle("#0072b2", "o", "solid"),
    "pmw": CurveStyle("#d55e00", "s", (0, (6, 1.5))),
    "dual-query": CurveStyle("#009e73", "^", (0, (6, 1.5, 1, 1.5))),
    "small-db": CurveStyle("#8a63c4", "D", (0, (1.5, 1.5))),
    "laplace": CurveStyle("#c08000", "v", (0, (4, 1, 1, 1, 1, 1))),
    "gaussian": CurveStyle("#d6498f", "P", (0, (5, 2.5))),
    "fourier": CurveStyle("#737373", "X", (0, (3, 1))),
}
"""Colours and markers of the mechanisms, the same in every drawing."""

_OTHERS = (
    CurveStyle("#2f9bd6", "*", (0, (8, 1, 1, 1))),
    CurveStyle("#9a6633", "p", (0, (2, 1))),
    CurveStyle("#c04040", "h", (0, (5, 3))),
    CurveStyle("#5f8f2f", "<", (0, (3, 1, 1, 1))),
    CurveStyle("#b05ab8", ">", (0, (1, 1))),
    CurveStyle("#4f83c8", "d", (0, (10, 2))),
)

_BOUNDS = ("solid", (0, (7, 2)), (0, (2, 1.5)), (0, (7, 2, 1, 2)), (0, (7, 2, 1, 2, 1, 2)), (0, (12, 3)))
_MARKERS = 12
"""Points of a curve that have a marker, at most."""
_LONG = 10_000
"""Numbers from here on have separators."""

_VARIANTS = ((0, (1, 1)), (0, (3, 1.5)), (0, (6, 1, 1, 1, 1, 1)), "solid")


def curve_styles(names: Iterable[str]) -> dict[str, CurveStyle]:
    """Colours, markers and lines of the mechanisms of a drawing.

    A mechanism with options, or its raw answers, has the colour and the marker of the mechanism with hollow points.

    Args:
        names: Names in the drawing: ``"mwem"``, ``"mwem:rounds=30"``, ``"laplace (raw answers)"``, or any others.

    Example:
        >>> styles = curve_styles(["laplace", "laplace (raw answers)"])
        >>> [(style.marker, style.filled) for style in styles.values()]
        [('v', True), ('v', False)]
    """
    styles: dict[str, CurveStyle] = {}
    own: dict[str, CurveStyle] = {}
    for name in names:
        base = name.partition(" (")[0].partition(":")[0]
        style = CURVE_STYLES.get(base) or own.setdefault(base, _OTHERS[len(own) % len(_OTHERS)])
        variants = sum(other.marker == style.marker for other in styles.values())
        dashes = _VARIANTS[(variants - 1) % len(_VARIANTS)]
        styles[name] = replace(style, filled=False, dashes=dashes) if variants else style
    return styles


Scale = Literal["log", "linear"]


@dataclass(frozen=True)
class Point:
    """An average at one place of the horizontal axis, with the ends of its interval."""

    at: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: Title above the axes.
        unit: Label of the vertical axis.
        curves: Points by the name of the mechanism.
        lines: Horizontal lines: constants, by name.
        bounds: Theoretical curves, drawn in ink, by name.
        along: Label of the horizontal axis; empty for the label of the whole drawing.
        scales: Scales of the horizontal and of the vertical axis.
    """

    title: str
    unit: str
    curves: Mapping[str, Sequence[Point]]
    lines: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    along: str = ""
    scales: tuple[Scale, Scale] = ("log", "log")


def curves_plot(
    panels: Sequence[Panel], *, along: str, runs: str, purpose: Literal["file", "page"] = "file", stamp: str = STAMP
) -> str:
    """Draw curves as SVG.

    Args:
        panels: Panels from left to right, two to a row.
        along: Label of the horizontal axes.
        runs: Text of the legend for the bands; empty where there are none.
        purpose: ``"file"`` for a file of its own, ``"page"`` for a place in an HTML page.
        stamp: Text above all panels.

    Example:
        >>> points = [Point(0.1, 0.05, 0.04, 0.06), Point(1.0, 0.01, 0.009, 0.011)]
        >>> panel = Panel("mean", "total variation distance", {"mwem": points}, {"uniform": 0.6})
        >>> "NOT PRIVATE" in curves_plot([panel], along="epsilon", runs="5 runs")
        True
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    lines = dict.fromkeys(name for panel in panels for name in panel.lines)
    bounds = dict.fromkeys(name for panel in panels for name in panel.bounds)
    of_names = curve_styles(names)
    styles = {**dict(zip(lines, cycle(_LINES), strict=False)), **dict(zip(bounds, cycle(_BOUNDS), strict=False))}
    # two panels to a row; the legend takes the place that is left, or a strip below
    n_entries, n_rows = len({*names, *lines, *bounds}) + 1, -(-len(panels) // 2)
    strip = 0.0 if len(panels) % 2 else _LEGEND_ROW * -(-n_entries // _COLUMNS)
    size = (2 * _PANEL[0], n_rows * _PANEL[1] + strip + 0.35)
    with drawing_style("comparison"):
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08))
        places: list[Axes] = list(figure.subplots(n_rows, 2).ravel())
        axes, rest = places[: len(panels)], places[len(panels) :]
        for place, panel in zip(axes, panels, strict=True):
            _draw(place, panel, of_names, styles)
            place.set_xlabel(panel.along or along)
        _legend(figure, axes, rest[0] if rest else None, runs)
        figure.suptitle(stamp, x=0.01, ha="left", fontsize=9.5, fontweight="bold", color=NOISE)
        what = f"{panels[0].unit} against {panels[0].along or along}"
        description = f"{what}: {', '.join(names)}. {stamp}"
        return (svg_file_of if purpose == "file" else svg_of)(axes[0], description)


def _draw(axes: Axes, panel: Panel, of_names: dict[str, CurveStyle], styles: dict[str, Any]) -> None:
    for name, value in panel.lines.items():
        axes.axhline(value, color=_QUIET, linewidth=1.1, linestyle=styles[name], label=name)
    for name, points in panel.bounds.items():
        places, values = [point.at for point in points], [point.mean for point in points]
        alone = "_" if len(points) == 1 else ""  # one point is no line
        axes.plot(
            places, values, color=INK, linewidth=1.0, linestyle=styles[name], label=name, marker=alone, markersize=24.0
        )
    for name, points in panel.curves.items():
        _curve(axes, name, points, of_names[name])
    axes.set(xscale=panel.scales[0], yscale=panel.scales[1], ylabel=panel.unit)
    axes.set_title(panel.title, loc="left", fontsize=9.5)
    _ticks(axes, panel)


def _curve(axes: Axes, name: str, points: Sequence[Point], style: CurveStyle) -> None:
    places = [point.at for point in points]
    low, high = [point.low for point in points], [point.high for point in points]
    if len(points) > 1:
        axes.fill_between(places, low, high, color=style.colour, alpha=0.16, linewidth=0)
    else:
        axes.vlines(places, low, high, color=style.colour, linewidth=1.2)
    axes.plot(
        places,
        [point.mean for point in points],
        color=style.colour,
        marker=style.marker,
        markersize=5.5,
        markevery=max(1, len(points) // _MARKERS),
        markerfacecolor=style.colour if style.filled else PAPER,
        markeredgewidth=1.1,
        linestyle=style.dashes,
        linewidth=1.5,
        label=name,
    )


def _ticks(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    def plain(value: float, _: Any) -> str:
        return f"{value:,.12g}" if abs(value) >= _LONG else f"{value:.12g}"

    if panel.scales[0] == "log":
        places = sorted({point.at for points in panel.curves.values() for point in points})
        if len(places) <= _MARKERS:
            axes.xaxis.set_major_locator(FixedLocator(places))
        axes.xaxis.set_minor_locator(NullLocator())
        if places:
            margin = (places[-1] / places[0]) ** 0.06 if len(places) > 1 else 3.0
            axes.set_xlim(places[0] / margin, places[-1] * margin)
    if panel.scales[1] == "log":
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 1000 * low else (1.0, 2.0, 5.0), numticks=12))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(plain))


def _legend(figure: Figure, axes: Sequence[Axes], place: Axes | None, runs: str) -> None:
    from matplotlib.patches import Patch

    entries: dict[str, Any] = {
        label: handle
        for panel_axes in axes
        for handle, label in zip(*panel_axes.get_legend_handles_labels(), strict=True)
    }
    order = sorted(entries, key=lambda label: entries[label].get_color() in (_QUIET, INK))
    handles, labels = [entries[label] for label in order], list(order)
    if runs:
        handles, labels = [*handles, Patch(color=_QUIET, alpha=0.3)], [*labels, runs]
    if place is None:
        figure.legend(handles, labels, loc="outside lower left", ncols=_COLUMNS, **_LEGEND)
    else:
        place.set_axis_off()
        place.legend(handles, labels, loc="center left", **_LEGEND)
