"""Drawings that set several files side by side: scores of samples, dots by column, matrices of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.report.curves import STAMP, curve_styles
from hedgerow.report.page import require_extra
from hedgerow.report.plots import BAR, INK, drawing_style, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 0.24
_MOST_NAMED = 40
"""Columns of a matrix whose names can be read."""


def samples_plot(
    curves: Mapping[str, Sequence[tuple[float, float]]], dots: Mapping[str, Mapping[str, tuple[float, float]]]
) -> str:
    """Draw scores of samples against their size, and files where they stand on these lines, as an ``<svg>`` element.

    Args:
        curves: Shares and scores of samples, by panel.
        dots: Share and score of each file, by panel and file.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> drawing = samples_plot({"2-way": [(0.1, 800.0), (0.5, 900.0)]}, {"2-way": {"a.csv": (0.2, 850.0)}})
        >>> "a.csv" in drawing, "NOT PRIVATE" in drawing
        (True, True)
    """
    require_extra()
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

    styles = curve_styles(dict.fromkeys(file for panel in dots.values() for file in panel))
    with drawing_style("evaluation"):
        rows = -(-len(curves) // 2)
        figure = Figure(figsize=(6.6, 2.4 * rows + 0.2 * len(styles) + 0.3), layout="constrained")
        places: list[Axes] = list(np.ravel(figure.subplots(rows, 2)))
        for axes, (panel, line) in zip(places, curves.items(), strict=False):
            axes.plot(*zip(*line, strict=True), color=INK, linewidth=1.2, label="samples of the real table")
            for file, (share, score) in dots[panel].items():
                style = styles[file]
                axes.plot(
                    [share], [score], style.marker, color=style.colour, markersize=7, linestyle="none", label=file
                )
            axes.set(xscale="log", xlabel="share of the real records", ylabel="score")
            axes.set_title(panel, loc="left", fontsize=9.5)
            axes.xaxis.set_major_locator(FixedLocator([0.01, 0.03, 0.1, 0.3, 1.0]))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        for axes in places[len(curves) :]:
            axes.set_axis_off()
        handles, labels = places[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", fontsize=8.5)
        return svg_of(places[0], f"score against the size of a sample: {', '.join(styles)}. {STAMP}")


def dots_plot(subjects: Sequence[str], values: Mapping[str, Sequence[float]], unit: str) -> str:
    """Draw one line for each subject, with a dot for each file, as an ``<svg>`` element.

    Args:
        subjects: Subjects from top to bottom.
        values: Figures of each file, one for each subject; none is drawn of a NaN.
        unit: Label of the axis.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> "age" in dots_plot(["age", "sex"], {"a.csv": [0.1, 0.2], "b.csv": [0.3, float("nan")]}, "distance")
        True
    """
    require_extra()
    from matplotlib.figure import Figure

    with drawing_style("evaluation"):
        height = 1.1 + _ROW * len(subjects) + 0.2 * len(values)
        axes: Axes = Figure(figsize=(6.4, height), layout="constrained").add_subplot()
        places = np.arange(len(subjects))
        styles = curve_styles(values)
        for name, figures in values.items():
            style = styles[name]
            axes.plot(
                figures, places, linestyle="none", marker=style.marker, color=style.colour, markersize=6, label=name
            )
        axes.set_yticks(places, [_short(subject) for subject in subjects])
        axes.set(ylim=(len(subjects) - 0.4, -0.6), xlabel=unit)
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        axes.figure.legend(loc="outside upper left", ncols=1, fontsize=8.5)
        return svg_of(axes, f"{unit}: {', '.join(values)}. {STAMP}")


def matrix_plot(names: Sequence[str], cells: Floats, title: str, unit: str, darkest: float) -> str:
    """Draw a matrix of pairs of columns, darker where the figure is larger, as an ``<svg>`` element.

    Args:
        names: Names of the columns.
        cells: Figures, shape ``(len(names), len(names))``; nothing is drawn of a NaN.
        title: Title above the matrix.
        unit: Label of the shades.
        darkest: The figure that is darkest, the same for matrices that are compared.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> "a.csv" in matrix_plot(["age", "sex"], np.array([[0.0, 0.1], [0.1, 0.0]]), "a.csv", "distance", 0.1)
        True
    """
    require_extra()
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    with drawing_style("evaluation"):
        side = 1.6 + 0.19 * min(len(names), _MOST_NAMED)
        axes: Axes = Figure(figsize=(side, side), layout="constrained").add_subplot()
        for row, column in zip(*np.nonzero(~np.isnan(cells)), strict=True):
            shade = min(1.0, float(cells[row, column]) / darkest)
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=BAR, alpha=shade, edgecolor="none"))
        places = range(len(names)) if len(names) <= _MOST_NAMED else []
        texts = [_short(names[place], 14) for place in places]
        axes.set_xticks(list(places), texts, rotation=90, fontsize=7)
        axes.set_yticks(list(places), texts, fontsize=7)
        axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5), xlabel=f"{unit}, darkest: {darkest:.3g}")
        axes.set_title(_short(title, 48), loc="left", fontsize=9.5)
        axes.set_aspect("equal")
        return svg_of(axes, f"{unit}, {title}. {STAMP}")


def _short(text: str, most: int = 30) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"
