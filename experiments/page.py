"""The documentation page: every experiment with its notes, its drawings and the figures of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.drawing import file_name
from experiments.experiment import Claim, Experiment
from experiments.pinned import pinned_results
from experiments.registry import find, home_of, names

if TYPE_CHECKING:
    from experiments.results import Results

_TO_EXPERIMENTS = "../experiments"
"""From the folder of the page."""
_DIFFERENCES = "**Where they differ"
"""Where the notes go on after what was measured."""


def page_text() -> str:
    """The whole page, as Markdown."""
    experiments = [find(name) for name in names()]
    opening = Path(__file__).with_name("opening.md").read_text(encoding="utf-8")
    listed = "\n".join(f"- [`{each.name}`](#{each.name}) {each.title}" for each in experiments)
    return "\n\n".join([opening.rstrip(), listed, *map(_section, experiments)]) + "\n"


def page_file() -> Path | None:
    """Where a checkout of the source code has the page; None for an installed package."""
    docs = Path(__file__).resolve().parents[1] / "docs"
    return docs / "experiments.md" if (docs / "theory.md").exists() else None


def notes_of(experiment: Experiment) -> str:
    """What the paper reports, how it is run here, and where the two differ."""
    return (home_of(experiment.name) / f"{experiment.name}.md").read_text(encoding="utf-8").strip()


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
