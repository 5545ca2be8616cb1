"""Names for code that extends hedgerow from outside: mechanisms, query families, sources and models.

These names are as stable as those of `hedgerow` itself; every other name below ``hedgerow.`` may move between versions.
docs/extending.md has a recipe for each kind of extension. Two of them are plug-ins, which an installed package names in
its entry points: a subclass of `Algorithm` in the group ``hedgerow.mechanisms``, a subclass of `Family` in the group
``hedgerow.families``.

A mechanism reaches the private table through its `Curator` alone, which charges the ledger before it draws noise. That
holds for a plug-in as for our own mechanisms, by what it is handed. It is no sandbox: a plug-in is code in the same
process, and anyone who installs one trusts its author.

Example:
    >>> from hedgerow.extending import Algorithm, Family
    >>> Algorithm.regimes[0].unit, Family.forms
    ('epsilon', {})
"""

from hedgerow.algorithms.shared import (
    Algorithm,
    MeasuringAlgorithm,
    Outline,
    ProgressCallback,
    RoundReport,
    check_domain,
    check_shares,
    make_release,
    number_of_records,
)
from hedgerow.arrays import Floats, Ints
from hedgerow.data import CountSource, PersonSource, PreparedSource, RecordSource
from hedgerow.domain import Clique
from hedgerow.models import Codes, Footprint, HasPotentials, Model, Potentials, SamplingMethod, hypothesis_for, refit
from hedgerow.privacy import Budget, Curator, NoiseSource, Regime
from hedgerow.queries import (
    Conjunction,
    Explicit,
    Family,
    LinearQuery,
    Marginal,
    Measurable,
    Measurement,
    NoiseKind,
    Parity,
    Persons,
    Tables,
    Weight,
)
from hedgerow.release import Release
from hedgerow.system import Seed, generator

__all__ = [
    "Algorithm",
    "Budget",
    "Clique",
    "Codes",
    "Conjunction",
    "CountSource",
    "Curator",
    "Explicit",
    "Family",
    "Floats",
    "Footprint",
    "HasPotentials",
    "Ints",
    "LinearQuery",
    "Marginal",
    "Measurable",
    "Measurement",
    "MeasuringAlgorithm",
    "Model",
    "NoiseKind",
    "NoiseSource",
    "Outline",
    "Parity",
    "PersonSource",
    "Persons",
    "Potentials",
    "PreparedSource",
    "ProgressCallback",
    "RecordSource",
    "Regime",
    "Release",
    "RoundReport",
    "SamplingMethod",
    "Seed",
    "Tables",
    "Weight",
    "check_domain",
    "check_shares",
    "generator",
    "hypothesis_for",
    "make_release",
    "number_of_records",
    "refit",
]
