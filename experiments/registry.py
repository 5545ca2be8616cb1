"""All experiments, by name."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import cast

from experiments.experiment import Experiment
from hedgerow.errors import ConfigError

_HOMES = {
    "mwem-figure-2": ("mwem.ranges", "RangeQueries"),
    "mwem-figure-3": ("mwem.tables", "ContingencyTables"),
    "mwem-figure-4": ("mwem.nltcs", "Survey"),
    "mwem-figure-5": ("mwem.cubes", "Cubes"),
    "mwem-figure-6": ("mwem.scaling", "Scaling"),
    "mwem-figure-7": ("mwem.bits", "AdultBits"),
    "dual-query-accounting": ("dual_query.accounting", "Accounts"),
    "dual-query-errors": ("dual_query.errors", "DualQueryErrors"),
    "online-pmw-stream": ("online_pmw.stream", "AdaptiveStream"),
    "online-pmw-threshold": ("online_pmw.threshold", "FailingThreshold"),
    "theory-bounds": ("theory.bounds", "Bounds"),
}
"""Module below this package, and class."""


def names() -> list[str]:
    """The names, in the order of the documentation."""
    return list(_HOMES)


def find(name: str) -> Experiment:
    """The experiment of a name.

    Raises:
        ConfigError: There is none.
    """
    if name not in _HOMES:
        close = get_close_matches(name, names(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ConfigError(f"there is no experiment {name!r}{hint}", remedy=f"give one of: {', '.join(names())}")
    module, kind = _HOMES[name]
    return cast("Experiment", getattr(import_module(f"experiments.{module}"), kind)())


def home_of(name: str) -> Path:
    """The folder with the script of an experiment, its pinned table, its drawings and its notes."""
    module, _ = _HOMES[name]
    return Path(__file__).parent.joinpath(*module.split(".")).parent
