"""Differentially private query release and synthetic data with multiplicative weights.

Public names are loaded when they are first used, so that ``import hedgerow`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hedgerow.version import __version__

if TYPE_CHECKING:
    from hedgerow import errors
    from hedgerow.algorithms.baselines import IndependentNoise
    from hedgerow.algorithms.dual_query import DualQuery
    from hedgerow.algorithms.fourier import FourierMeasurement
    from hedgerow.algorithms.game import GameSolution, solve_game
    from hedgerow.algorithms.matrix_bound import svd_bound
    from hedgerow.algorithms.mw import MultiplicativeWeights
    from hedgerow.algorithms.mwem import MWEM
    from hedgerow.algorithms.online_file import SessionFile
    from hedgerow.algorithms.online_session import OnlineSession
    from hedgerow.algorithms.pmw_offline import OfflinePMW
    from hedgerow.algorithms.pmw_online import OnlinePMW
    from hedgerow.algorithms.small_db import SmallDB
    from hedgerow.attribute import Binned, Categorical, IntegerRange
    from hedgerow.comparison import Comparison, compare
    from hedgerow.data.chunks import scan_table
    from hedgerow.data.scan import ScannedTable
    from hedgerow.data.table import Table, read_table
    from hedgerow.domain import Domain
    from hedgerow.domain_file import read_domain, write_domain
    from hedgerow.models.histogram import Histogram
    from hedgerow.models.refit import Proximal, Sweeps
    from hedgerow.privacy.budget import ZCDP, ApproxDP, PureDP
    from hedgerow.privacy.curator import Curator
    from hedgerow.privacy.noise import SeededNoise
    from hedgerow.privacy.register import Register
    from hedgerow.privacy.subsampling import Subsampled
    from hedgerow.queries.predicate import parse_predicate
    from hedgerow.queries.sensitivity import Neighbours
    from hedgerow.queries.workload import Workload
    from hedgerow.records import Records
    from hedgerow.release import Release

_HOMES = {
    "ApproxDP": "privacy.budget",
    "Binned": "attribute",
    "Categorical": "attribute",
    "Comparison": "comparison",
    "Curator": "privacy.curator",
    "Domain": "domain",
    "DualQuery": "algorithms.dual_query",
    "FourierMeasurement": "algorithms.fourier",
    "GameSolution": "algorithms.game",
    "Histogram": "models.histogram",
    "IndependentNoise": "algorithms.baselines",
    "IntegerRange": "attribute",
    "MWEM": "algorithms.mwem",
    "MultiplicativeWeights": "algorithms.mw",
    "Neighbours": "queries.sensitivity",
    "OfflinePMW": "algorithms.pmw_offline",
    "OnlinePMW": "algorithms.pmw_online",
    "OnlineSession": "algorithms.online_session",
    "Proximal": "models.refit",
    "PureDP": "privacy.budget",
    "Records": "records",
    "Register": "privacy.register",
    "Release": "release",
    "ScannedTable": "data.scan",
    "SeededNoise": "privacy.noise",
    "SessionFile": "algorithms.online_file",
    "SmallDB": "algorithms.small_db",
    "Subsampled": "privacy.subsampling",
    "Sweeps": "models.refit",
    "Table": "data.table",
    "Workload": "queries.workload",
    "ZCDP": "privacy.budget",
    "compare": "comparison",
    "parse_predicate": "queries.predicate",
    "read_domain": "domain_file",
    "read_table": "data.table",
    "scan_table": "data.chunks",
    "solve_game": "algorithms.game",
    "svd_bound": "algorithms.matrix_bound",
    "write_domain": "domain_file",
}

__all__ = [
    "MWEM",
    "ZCDP",
    "ApproxDP",
    "Binned",
    "Categorical",
    "Comparison",
    "Curator",
    "Domain",
    "DualQuery",
    "FourierMeasurement",
    "GameSolution",
    "Histogram",
    "IndependentNoise",
    "IntegerRange",
    "MultiplicativeWeights",
    "Neighbours",
    "OfflinePMW",
    "OnlinePMW",
    "OnlineSession",
    "Proximal",
    "PureDP",
    "Records",
    "Register",
    "Release",
    "ScannedTable",
    "SeededNoise",
    "SessionFile",
    "SmallDB",
    "Subsampled",
    "Sweeps",
    "Table",
    "Workload",
    "__version__",
    "compare",
    "errors",
    "parse_predicate",
    "read_domain",
    "read_table",
    "scan_table",
    "solve_game",
    "svd_bound",
    "write_domain",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use."""
    if name == "errors":
        return import_module("hedgerow.errors")
    if name not in _HOMES:
        message = f"module 'hedgerow' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"hedgerow.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Public names, for completion."""
    return sorted(__all__)
