"""A synthesizer as a measurement of OpenDP, which composes it with others and keeps their common budget."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from hedgerow.domain import Domain, OpenDomain, open_domain
from hedgerow.errors import ConfigError
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP
from hedgerow.queries import Neighbours, Relation, persons_of
from hedgerow.runs import budget_between
from hedgerow.synthesizer import Synthesizer

_FEATURES = "contrib", "honest-but-curious"
_UP = 1.0 + 2.0**-40
"""Factor that covers the rounding of the delta of a group."""


def opendp_measurement(synthesizer: Synthesizer) -> Any:
    """Turn a synthesizer into an OpenDP ``Measurement``: called with a private table, it gives a `Synthesis`.

    Its privacy map is that of the synthesizer's budget: pure epsilon is measured by ``max_divergence()``; zCDP and GDP
    (as zCDP with rho = mu^2/2) by ``zero_concentrated_divergence()``; epsilon with delta by
    ``fixed_smoothed_max_divergence()``. Distances count records that are added or left out (``symmetric_distance()``),
    or replaced (``change_one_distance()``), and persons where the synthesizer has a ``person``. A distance of k is
    k epsilon, k^2 rho, and for (epsilon, delta) k epsilon with delta (e^(k epsilon) - 1) / (e^epsilon - 1).

    OpenDP calls what users define "honest-but-curious": it takes their word for the privacy map. The word is
    Hedgerow's, whose releases can be audited by themselves.

    Args:
        synthesizer: The synthesizer; it is not fitted, and each call of the measurement spends.

    Raises:
        ConfigError: Its budget does not cover all that it reads: the domain is a draft or is learnt, the noise is
            seeded, or rows of the table stand for several records.

    Example:
        >>> import pyarrow as pa
        >>> domain = {"sex": ["F", "M"], "smokes": ["no", "yes"]}
        >>> measurement = opendp_measurement(Synthesizer(epsilon=0.5, domain=domain))
        >>> measurement.map(1), measurement.map(3)
        (0.5, 1.5)
        >>> people = pa.table({"sex": ["F", "M"] * 200, "smokes": ["no", "yes", "no", "no"] * 100})
        >>> measurement(people).sample(10).num_rows
        10
    """
    import opendp.prelude as dp

    _check(synthesizer)
    persons = persons_of(
        synthesizer.person,
        synthesizer.at_most,
        synthesizer.weight,
        synthesizer.largest_weight,
        fractional=synthesizer.fractional_weights,
    )
    amounts = synthesizer.epsilon, synthesizer.delta
    budget = synthesizer.budget or budget_between(*amounts, synthesizer.neighbours, persons)
    dp.enable_features(*_FEATURES)
    measure, privacy_map = _measure(dp, budget)
    return dp.m.make_user_measurement(
        dp.user_domain("tables of people", lambda _: True),
        _metric(dp, budget.neighbours.between(persons)),
        measure,
        lambda table: Synthesizer(**synthesizer.get_params()).fit(table).synthesis_,
        privacy_map,
    )


def _check(synthesizer: Synthesizer) -> None:
    """Refuse what the measurement's map would not cover.

    Raises:
        ConfigError: There is something.
    """
    if synthesizer.seed is not None:
        raise ConfigError("a measurement whose noise is seeded is not private", remedy="leave the seed out")
    if synthesizer.accept_draft:
        raise ConfigError("a draft of a domain is read off the data", remedy="declare the domain, and accept no draft")
    if synthesizer.count_column is not None:
        raise ConfigError(
            "rows that stand for several records are not those that OpenDP's distances count",
            remedy="give a table with a row for each record",
        )
    if not _is_known(synthesizer.domain, synthesizer.columns):
        raise ConfigError(
            "the domain is not known before the data are read", remedy="declare all values and bins of the domain"
        )


def _is_known(domain: Domain | Mapping[str, Any] | str | os.PathLike[str] | None, columns: Any) -> bool:
    """Whether a domain is public as it stands."""
    if domain is None:
        return False
    if isinstance(domain, Domain):
        return not domain.draft
    chosen = None if columns is None else list(columns)
    if isinstance(domain, Mapping):
        wanted: Domain | OpenDomain = OpenDomain(domain, columns=chosen)
    else:
        wanted = open_domain(domain, chosen)
    return isinstance(wanted, Domain) or not wanted.learns


def _metric(dp: Any, neighbours: Neighbours) -> Any:
    """The distance between tables that the relation of neighbours counts steps of."""
    if neighbours.persons is not None and neighbours.persons.column is not None:
        return dp.user_distance(f"persons: {neighbours.relation.value}")
    return dp.symmetric_distance() if neighbours.relation is Relation.ADD_REMOVE else dp.change_one_distance()


def _measure(dp: Any, budget: Budget) -> tuple[Any, Callable[[int], Any]]:
    """The measure of a budget, and the map from distances to it."""
    match budget:
        case PureDP():
            epsilon = budget.epsilon
            return dp.max_divergence(), lambda steps: _times(steps, epsilon)
        case ZCDP() | GDP():
            rho = budget.rho if isinstance(budget, ZCDP) else budget.mu**2 / 2.0
            return dp.zero_concentrated_divergence(), lambda steps: _times(steps**2, rho)
        case ApproxDP():
            smoothed = budget.epsilon, budget.delta
            return dp.fixed_smoothed_max_divergence(), lambda steps: _smoothed(steps, *smoothed)
        case _:
            raise ConfigError(f"OpenDP has no measure for a budget of {budget.unit}", remedy="take PureDP or ZCDP")


def _times(steps: int, charge: float) -> float:
    """The charge of so many steps, rounded up.

    Example:
        >>> _times(3, 0.5), _times(3, 0.1)
        (1.5, 0.30000000000000004)
    """
    charged = steps * charge
    return charged if Fraction(charged) >= steps * Fraction(charge) else math.nextafter(charged, math.inf)


def _smoothed(steps: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Epsilon and delta of a group of so many.

    Example:
        >>> _smoothed(1, 0.5, 1e-9), _smoothed(0, 0.5, 1e-9)
        ((0.5, 1e-09), (0.0, 0.0))
    """
    if steps < 2:
        return steps * epsilon, steps * delta
    grown = math.expm1(steps * epsilon) / math.expm1(epsilon) if steps * epsilon < 700.0 else math.inf
    return _times(steps, epsilon), min(1.0, delta * grown * _UP)
