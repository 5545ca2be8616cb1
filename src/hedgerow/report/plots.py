"""Drawings as SVG, and those of the report; every figure in them is public.

A drawing for a page has no script and no address, and takes its colours and fonts from the page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from io import StringIO
from itertools import accumulate, combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Attribute, Binned, IntegerRange
from hedgerow.privacy import Event
from hedgerow.quantities import at_most
from hedgerow.queries import Conjunction
from hedgerow.release import Answer, Knowledge, Release, each_of

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
    """Context in which figures are made and written; ``name`` keeps the identifiers of one page apart."""
    import matplotlib as mpl

    return mpl.rc_context({**_STYLE, "svg.hashsalt": name})


def svg_of(axes: Axes, description: str) -> str:
    """The figure of some axes as an ``<svg>`` element, to be put into a page as it is.

    Args:
        axes: Axes made inside ``drawing_style``.
        description: Plain text for people who do not see the drawing.

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
        axes: Axes made inside ``drawing_style``.
        description: Plain text for people who do not see the drawing.

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
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)


MOST_BARS = 24
MOST_STEPS = 120
LONGEST_LABEL = 26
_VANISHING = 0.02
"""Share of the longest bar below which a bar is hardly seen; a fifth of them is too many."""
_MOST_ADDED = 1000
"""Values whose intervals are added up, at most."""
_WIDTH = 4.5
_WIDE = 5.4


def shortened(text: str, longest: int = LONGEST_LABEL) -> str:
    """The text, cut where it is too long for its place.

    Example:
        >>> shortened("Outlying-US(Guam-USVI-etc) and more")
        'Outlying-US(Guam-USVI-etc…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def spending_plot(events: Sequence[Event], limit: float, unit: str) -> str:
    """Sum of the charges after each event, and the limit, as SVG.

    Example:
        >>> from hedgerow.privacy import MeasuredQuery
        >>> asked = MeasuredQuery("marginal", ("sex",))
        >>> event = Event("measure", "discrete Laplace", asked, 1.0, 4.0, 0.5, "epsilon", "add-remove", 2)
        >>> "looks at the data" in spending_plot([event], 1.0, "epsilon")
        True
    """
    spent = list(accumulate(event.charge for event in events))
    with drawing_style("spending"):
        axes = _axes(_WIDE, 2.2)
        edges = 0.5 + np.arange(len(spent) + 1)
        axes.stairs(spent, edges, fill=True, color=BAR, alpha=0.3)
        axes.stairs(spent, edges, baseline=None, color=BAR, linewidth=1.6)
        axes.axhline(limit, color=NOISE, linewidth=1.2, linestyle=(0, (5, 3)))
        axes.set_title(f"dashed: the limit, {at_most(limit, 4)}", loc="right", fontsize=9, color=NOISE)
        axes.set(
            xlabel="looks at the data", ylabel=f"{unit} spent", xlim=(0.5, max(1.5, edges[-1])), ylim=(0, 1.08 * limit)
        )
        _few_ticks(axes, whole=True)
        return svg_of(axes, f"{unit} spent after each of {len(events)} looks at the data, limit {at_most(limit, 4)}")


def fit_plot(ratios: Sequence[float]) -> str:
    """Distance of the model from each measurement, in standard deviations of its noise, as SVG.

    Example:
        >>> fit_plot([0.9, 1.1]).startswith("<svg")
        True
    """
    with drawing_style("fit"):
        axes = _axes(_WIDE, 1.9)
        numbers = np.arange(1, len(ratios) + 1)
        axes.vlines(numbers, 0.0, ratios, color=BAR, linewidth=max(0.6, min(8.0, 200.0 / len(ratios))))
        axes.axhline(1.0, color=NOISE, linewidth=1.2, linestyle=(0, (5, 3)))
        axes.set_title("dashed: noise alone", loc="right", fontsize=9, color=NOISE)
        axes.set(xlabel="measurement", ylabel="distance / noise", xlim=(0.5, len(ratios) + 0.5), ylim=(0, None))
        _few_ticks(axes, whole=True)
        return svg_of(axes, "distance of the model from each measurement in standard deviations of its noise")


_FEWEST_AROUND = 12
"""Columns from which there is room for a legend above the diagonal; with fewer it stands beside."""


def pairs_plot(knowledge: Mapping[tuple[str, str], Knowledge], names: Sequence[str]) -> str:
    """A square for each pair of columns, filled by what is known about it, as SVG.

    Args:
        knowledge: Origin of what is known about each pair.
        names: Columns to be drawn, in order.

    Example:
        >>> "unknown" in pairs_plot({("a", "b"): Knowledge.UNKNOWN}, ["a", "b"])
        True
    """
    from matplotlib.patches import Patch, Rectangle

    styles: dict[Knowledge, Any] = {
        Knowledge.MEASURED: {"facecolor": BAR, "edgecolor": BAR},
        Knowledge.PART: {"facecolor": PAPER, "edgecolor": BAR, "hatch": "//////"},
        Knowledge.IMPLIED: {"facecolor": FAINT, "edgecolor": FAINT},
        Knowledge.UNKNOWN: {"facecolor": PAPER, "edgecolor": NOISE},
    }
    shown = list(names)
    with drawing_style("pairs"):
        side = max(2.2, 1.1 + 0.17 * len(shown))
        axes = _axes(min(1.9 + side, 7.6), 0.5 + side)
        for column, row in combinations(range(len(shown)), 2):
            kind = knowledge[shown[column], shown[row]]
            axes.add_patch(Rectangle((column - 0.4, row - 0.4), 0.8, 0.8, linewidth=0.8, **styles[kind]))
        labels = [shortened(name, 22) for name in shown]
        axes.set(xlim=(-0.6, len(shown) - 1.4), ylim=(len(shown) - 0.4, 0.4), aspect="equal")
        axes.set_xticks(range(len(shown) - 1), labels[:-1], rotation=90)
        axes.set_yticks(range(1, len(shown)), labels[1:])
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        used = [kind for kind in Knowledge if kind in set(knowledge.values())]
        handles = [Patch(linewidth=0.8, label=str(kind), **styles[kind]) for kind in used]
        place: Literal["upper left", "upper right"] = "upper right" if len(shown) >= _FEWEST_AROUND else "upper left"
        axes.legend(handles=handles, loc=place, bbox_to_anchor=(1.0, 1.0), fontsize=9)
        return svg_of(axes, f"what is known about each pair of {len(shown)} columns")


def marginal_plot(
    release: Release,
    attribute: Attribute,
    counts: Floats | None,
    confidence: float,
    purpose: Literal["file", "page"] = "page",
) -> str:
    """Synthetic counts of one attribute with the intervals for the true counts, as SVG.

    Args:
        release: The release.
        attribute: One of its attributes.
        counts: The model's counts, shape ``(attribute.size,)``; None where there are too many values to hold them, and
            the model is asked about ranges.
        confidence: Confidence of all intervals together.
        purpose: ``"file"`` for a file of its own, ``"page"`` for a place in a page.
    """
    steps = MOST_STEPS if isinstance(attribute, Binned | IntegerRange) else attribute.size
    each = each_of(confidence, min(attribute.size, steps))

    def query(codes: range) -> Conjunction:
        return Conjunction.where(release.domain, {attribute.name: codes})

    def sums(steps: Sequence[range]) -> Floats:
        if counts is None:
            return release.hypothesis.conjunctions([query(codes) for codes in steps])
        return np.array([counts[codes.start : codes.stop].sum() for codes in steps])

    def answer(codes: range, count: float) -> Answer:
        return release.bound(query(codes), count, each)

    with drawing_style(f"marginal {attribute.name}"):
        if attribute.size > MOST_BARS and isinstance(attribute, Binned | IntegerRange):
            axes = _ordered(attribute, sums, answer)
        else:
            table = release.hypothesis.marginals([(attribute.name,)])[0] if counts is None else counts
            axes = _bars(attribute, table, answer)
        written = svg_file_of if purpose == "file" else svg_of
        return written(axes, f"synthetic counts of {attribute.name}")


def _bars(attribute: Attribute, counts: Floats, answer: Callable[[range, float], Answer]) -> Axes:
    """A bar for each value, and one for all those together that are too many to draw."""
    groups = [[code] for code in range(len(counts))]
    if more := max(0, len(counts) - MOST_BARS):
        order = np.argsort(-counts, kind="stable")
        groups = [[code] for code in sorted(order[:MOST_BARS].tolist())] + [sorted(order[MOST_BARS:].tolist())]
    labels = [shortened(attribute.label(group[0])) for group in groups]
    if more:
        labels[-1] = f"{more:,} more together"
    axes = _axes(_WIDTH, 0.55 + 0.2 * len(groups))
    places, heights = np.arange(len(groups))[::-1], [float(counts[group].sum()) for group in groups]
    axes.barh(places, heights, height=0.72, color=BAR)
    answers: list[Answer] = []
    for place, group in zip(places, groups, strict=True):
        # noise took part in the choice of those together, so the ends of their intervals are added up
        of_group = [answer(range(code, code + 1), float(counts[code])) for code in group[:_MOST_ADDED]]
        ends = [(each.low, each.high) for each in of_group if each.has_interval]
        answers += of_group
        if len(ends) == len(group):
            interval = np.array(ends, dtype=float).sum(axis=0)
            axes.plot(interval, [place, place], color=PAPER, linewidth=3.4, solid_capstyle="butt")
            axes.plot(interval, [place, place], color=NOISE, linewidth=1.6, marker="|", markersize=7)
    axes.set_yticks(places, labels)
    axes.set_ylim(-0.6, len(groups) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(left=0)
    _few_ticks(axes)
    _show_rare(axes, "x", heights, answers)
    axes.set_xlabel("records")
    return axes


def _show_rare(axes: Axes, axis: Literal["x", "y"], heights: Sequence[float], answers: Sequence[Answer]) -> None:
    """Make an axis of counts logarithmic above the noise where rare values would vanish."""
    from matplotlib.ticker import FixedLocator

    halves = [(each.high - each.low) / 2.0 for each in answers if each.low is not None and each.high is not None]
    most = max(heights, default=0.0)
    noise = max(1.0, float(np.median(halves))) if halves else 1.0
    if most < 10.0 * noise or sum(height < _VANISHING * most for height in heights) * 5 < len(heights):
        return
    (axes.set_xscale if axis == "x" else axes.set_yscale)("symlog", linthresh=noise, linscale=0.6)
    decades = np.arange(math.ceil(math.log10(noise)), math.floor(math.log10(most)) + 1)
    if axis == "x":
        axes.set_xlim(0.0, 1.6 * most)
    else:
        axes.set_ylim(0.0, 1.6 * most)
    ticks = axes.xaxis if axis == "x" else axes.yaxis
    ticks.set_major_locator(FixedLocator([0.0, *(10.0**decades)]))
    ticks.set_minor_locator(FixedLocator([]))
    ticks.set_major_formatter(_with_separators)
    axes.set_title(f"logarithmic above {noise:,.0f}", loc="right", fontsize=8)


def _ordered(
    attribute: Binned | IntegerRange,
    sums: Callable[[Sequence[range]], Floats],
    answer: Callable[[range, float], Answer],
) -> Axes:
    """Ordinary codes as steps over their values, several to a step where there are many; the others in the label."""
    from matplotlib.ticker import FuncFormatter

    size = -(-attribute.ordinary // MOST_STEPS)
    bounds = np.append(np.arange(0, attribute.ordinary, size), attribute.ordinary)
    edges = (
        bounds + attribute.minimum - 0.5 if isinstance(attribute, IntegerRange) else np.array(attribute.edges)[bounds]
    )
    steps = [range(start, stop) for start, stop in pairwise(bounds.tolist())]
    extra = [range(code, code + 1) for code in range(attribute.ordinary, attribute.size)]
    heights, others = np.split(sums([*steps, *extra]), [len(steps)])
    axes = _axes(_WIDTH, 2.3)
    axes.stairs(heights, edges, fill=True, color=BAR, alpha=0.85)
    answers = [answer(codes, height) for codes, height in zip(steps, heights.tolist(), strict=True)]
    for estimate, middle in zip(answers, (edges[:-1] + edges[1:]) / 2, strict=True):
        if estimate.low is not None and estimate.high is not None:
            axes.plot([middle, middle], [estimate.low, estimate.high], color=NOISE, linewidth=1.0)
    beside = [f"{attribute.label(codes.start)}: {count:,.0f}" for codes, count in zip(extra, others, strict=True)]
    unit = "value" if isinstance(attribute, IntegerRange) else "bin"
    axes.set(xlabel=shortened("; ".join([attribute.name, *beside]), 60), ylim=(0, None))
    _few_ticks(axes)
    _show_rare(axes, "y", heights.tolist(), answers)
    axes.set_ylabel(f"records per {unit}" if size == 1 else f"records per {size:,} {unit}s")
    if (scale_of := attribute.scale) is not None:  # dates, times or decimals beside the ticks, none beyond the ends
        low, high = scale_of.number(attribute.first_text), scale_of.number(attribute.last_text)

        def text(value: float, _: Any) -> str:
            number = round(value)
            return scale_of.text(number) if low is not None and high is not None and low <= number <= high else ""

        axes.xaxis.set_major_formatter(FuncFormatter(text))
    return axes


def _axes(width: float, height: float) -> Axes:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def _with_separators(value: float, _: Any) -> str:
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:,.6g}"


def _few_ticks(axes: Axes, *, whole: bool = False) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(5, integer=whole, min_n_ticks=1 if whole else 2))
    for axis in (axes.xaxis, axes.yaxis):
        if not isinstance(axis.get_major_locator(), FixedLocator):  # names stay names
            axis.set_major_formatter(FuncFormatter(_with_separators))
