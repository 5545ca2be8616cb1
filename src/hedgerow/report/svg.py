"""Drawings as SVG that belongs into an HTML page: no script, no address, colours and fonts from the page."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#010203"
"""Text, axes and outlines."""
BAR = "#010204"
"""Synthetic counts."""
NOISE = "#010205"
"""Intervals and measured values."""
FAINT = "#010206"
"""Grid and background lines."""

PAPER = "#010207"
"""Background, to set a line off from what it crosses."""

_COLOURS = {INK: "currentColor", BAR: "var(--bar)", NOISE: "var(--noise)", FAINT: "var(--faint)", PAPER: "var(--paper)"}
_PRINTED = {INK: "#1d2329", BAR: "#2f6f9f", NOISE: "#b3470f", FAINT: "#e1e5ea", PAPER: "#ffffff"}
_STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "text.color": INK,
    "text.parse_math": False,  # a label with two dollar signs is no formula
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "legend.frameon": False,
}


def drawing_style(name: str) -> Any:
    """A context in which figures are made and written; ``name`` keeps identifiers of one page apart."""
    import matplotlib as mpl

    return mpl.rc_context({**_STYLE, "svg.hashsalt": name})


def svg_of(axes: Axes, description: str) -> str:
    """The figure of some axes as an ``<svg>`` element, to be put into a page as it is.

    Args:
        axes: Made inside ``drawing_style``.
        description: What it shows, for people who do not see it; plain text.

    Example:
        >>> from matplotlib.figure import Figure
        >>> with drawing_style("example"):
        ...     svg_of(Figure().add_subplot(), "an empty plot")[:40]
        '<svg role="img" aria-label="an empty plo'
    """
    text = _drawn(axes, _COLOURS)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(
        r'<svg([^>]*?) width="[\d.]+pt" height="[\d.]+pt"', r"<svg\1", text, count=1
    )  # the page sets the size
    text = re.sub(r" font-family: [^;\"]*;?", "", text)  # the page's own font
    return _described(text, description)


def svg_file_of(axes: Axes, description: str) -> str:
    """The figure of some axes as the text of an SVG file: dark lines on white paper.

    Args:
        axes: Made inside ``drawing_style``.
        description: What it shows, for people who do not see it; plain text.

    Example:
        >>> from matplotlib.figure import Figure
        >>> with drawing_style("example"):
        ...     "http://www.w3.org/2000/svg" in svg_file_of(Figure().add_subplot(), "an empty plot")
        True
    """
    axes.figure.figure.set_facecolor(PAPER)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + _described(_drawn(axes, _PRINTED), description)


def _drawn(axes: Axes, colours: dict[str, str]) -> str:
    buffer = StringIO()
    axes.figure.figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>[^<]*</style>", "", text)  # it would hold for the whole page
    for sentinel, colour in colours.items():
        text = text.replace(sentinel, colour)
    return text


def _described(text: str, description: str) -> str:
    from html import escape

    return text.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
