"""The drawings of an experiment as SVG files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.experiment import SECONDS, Experiment
from experiments.results import FEWEST_RUNS

if TYPE_CHECKING:
    from experiments.results import Results


def svgs_of(experiment: Experiment, found: Results) -> dict[str, str]:
    """SVG texts by the names of their files, without ``.svg``.

    Args:
        experiment: What was run.
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
    """What bands are, for the legend; empty where there are none.

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
