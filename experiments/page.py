"""The drawings of an experiment, and the documentation page with the notes, drawings and claims of every one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.experiment import SECONDS, Claim, Experiment
from experiments.pinned import pinned_results
from experiments.registry import find, home_of, names
from experiments.results import FEWEST_RUNS

if TYPE_CHECKING:
    from experiments.results import Results

_TO_EXPERIMENTS = "../experiments"
"""From the folder of the page."""
_DIFFERENCES = "**Where they differ"
"""The place where the notes continue after what was measured."""


def page_text() -> str:
    """The whole page, as Markdown."""
    experiments = [find(name) for name in names()]
    opening = Path(__file__).with_name("opening.md").read_text(encoding="utf-8")
    listed = "\n".join(f"- [`{each.name}`](#{each.name}) {each.title}{_tally(each)}" for each in experiments)
    return "\n\n".join([opening.rstrip(), listed, *map(_section, experiments)]) + "\n"


def page_file() -> Path:
    """The file of the page."""
    return Path(__file__).resolve().parents[1] / "docs" / "experiments.md"


def notes_of(experiment: Experiment) -> str:
    """The notes of an experiment: what the paper reports, how it is run here, and where the two differ."""
    return (home_of(experiment.name) / f"{experiment.name}.md").read_text(encoding="utf-8").strip()


def _tally(experiment: Experiment) -> str:
    """The number of claims that hold; empty before a first run is pinned."""
    found = pinned_results(experiment)
    claims = experiment.claims(found) if found.averages else ()
    return f": {sum(claim.holds for claim in claims)} of {len(claims)} claims hold" if claims else ""


def _section(experiment: Experiment) -> str:
    found = pinned_results(experiment)
    before, mark, after = notes_of(experiment).partition(_DIFFERENCES)
    parts = [f"## {experiment.name}", f"{experiment.title}. Source: {experiment.source}.", before.strip()]
    if not found.averages:  # a new experiment, before its first run is pinned
        return "\n\n".join([*parts, mark + after])
    parts += ["**What we measure.**", claims_table(experiment.claims(found)), mark + after]
    return "\n\n".join([*parts, *_pictures(experiment, found)])


def _pictures(experiment: Experiment, found: Results) -> list[str]:
    folder = f"{_TO_EXPERIMENTS}/{home_of(experiment.name).name}"
    return [
        f"![{drawing.caption}]({folder}/{file_name(experiment, ending)}.svg)\n\n*{drawing.caption}*"
        for ending, drawing in experiment.drawings(found).items()
    ]


def claims_table(claims: Sequence[Claim]) -> str:
    """Claims as a Markdown table.

    Example:
        >>> print(claims_table([Claim("noise shrinks", holds=True, figures="0.2 to 0.1")]))
        | claim | holds | figures |
        |---|---|---|
        | noise shrinks | yes | 0.2 to 0.1 |
    """
    cells = ((claim.text, "yes" if claim.holds else "**no**", claim.figures) for claim in claims)
    rows = [f"| {' | '.join(text.replace('|', chr(92) + '|') for text in row)} |" for row in cells]
    return "\n".join(["| claim | holds | figures |", "|---|---|---|", *rows])


def svgs_of(experiment: Experiment, found: Results) -> dict[str, str]:
    """SVG texts by the names of their files, without ``.svg``.

    Args:
        experiment: The experiment.
        found: Its averages.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    from hedgerow.report import curves_plot, require_extra

    require_extra()
    return {
        file_name(experiment, ending): curves_plot(
            drawing.panels, along=drawing.along, runs=runs_text(found), stamp=drawing.stamp
        )
        for ending, drawing in experiment.drawings(found).items()
    }


def file_name(experiment: Experiment, ending: str) -> str:
    """Name of the file of a drawing, without ``.svg``."""
    return f"{experiment.name}-{ending}" if ending else experiment.name


def runs_text(found: Results) -> str:
    """The meaning of bands, for the legend; empty where there are none.

    Example:
        >>> from experiments.results import Average, Results
        >>> runs_text(Results([Average({}, "error", 5, 0.1, 0.08, 0.12)]))
        'band: 95% for the average of 5 runs'
    """
    runs = sorted({each.runs for each in found.averages if each.quantity != SECONDS})
    if not runs or runs[-1] == 1:
        return ""
    many = f"{runs[-1]} runs" if runs[0] in (1, runs[-1]) else f"{runs[0]} to {runs[-1]} runs"
    return f"band: 95% for the average of {many}" if runs[-1] >= FEWEST_RUNS else f"average of {many}"
