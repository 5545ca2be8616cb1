"""When offline PMW keeps its promise, how it chooses what to aim at, and its plan (theory.md section 3).

All quantities are fractions, of queries scaled to [0, 1]: ``(q - lo) / w`` with the query's own bounds and width w. Let
n be the public number of records, or n-hat, its noisy value; Delta the sensitivity of a scaled answer in counts (1, or
M / w under "add-remove", M the largest magnitude of the query); m the number of queries, L that of rounds.

**The promise, with a noisy number of records.** By ``n >= 2 Delta ln(2 L m / beta) / (alpha eps0)`` the exponential
mechanism loses more than alpha in some round with probability ``beta (m - 1) / 2m`` at most. The noise of the answers
passes not only alpha but ``alpha / 2`` in some round with probability ``beta / m`` at most, as discrete Laplace noise
has ``Pr(|nu| > t) <= 2 exp(-t eps0 n / Delta)``. The two sum to beta or less. So there is room for s, the largest
difference between answers divided by n-hat and by n, if it stays below ``alpha / 2``: an update then has
``|e| > 2 alpha - alpha / 2 - s >= alpha`` and the right sign, and an early stop leaves at most
``2 alpha + alpha / 2 + alpha + s <= 4 alpha``. With ``s <= M |n-hat - n| / (w n-hat)`` that is a second condition on
n-hat. A tenth of beta goes to it. Rounding of the scores to multiples of 2^-10 counts is left out.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from hedgerow.algorithms.offline_pmw.parameters import (
    OfflinePMWSettings,
    Setting,
    alpha_of,
    boundary,
    most_rounds,
    round_charge,
    round_epsilon,
)
from hedgerow.algorithms.shared import Charges, Line, Outline, charges_line, process_bytes, says_nothing, total_error
from hedgerow.domain import possible_records
from hedgerow.errors import ConfigError
from hedgerow.models import Footprint
from hedgerow.privacy import Budget, laplace_reach
from hedgerow.queries import Neighbours, Workload

_BETA_TOTAL = 0.1
"""Part of the failure probability that goes to the noisy number of records."""

_SMALLEST_ALPHA = 1e-6
_LARGEST_ALPHA = math.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class Scale:
    """The numbers of a workload that the promise depends on.

    Attributes:
        cells: Cells of the domain, |X|.
        queries: m.
        sensitivity: Delta, of a scaled answer in counts: l1 / w.
        magnitude: M / w, largest over the queries: the change of an answer if the number of records is off by one.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> parities = Workload.parities(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2)
        >>> Scale.of(parities, Neighbours.ADD_REMOVE)
        Scale(cells=4, queries=3, sensitivity=0.5, magnitude=0.5)
    """

    cells: int
    queries: int
    sensitivity: float
    magnitude: float

    @classmethod
    def of(cls, workload: Workload, neighbours: Neighbours) -> Scale:
        """The numbers of a workload of single queries.

        Raises:
            ConfigError: A query is constant, or Delta is not the same for all queries.
        """
        widths = workload.sensitivities(Neighbours.REPLACE)
        if not (widths > 0).all():
            raise ConfigError(
                "a query has the same value for every record; its answer is public", remedy="leave it out"
            )
        ratios = workload.sensitivities(neighbours) / widths
        if ratios.max() > ratios.min() * (1.0 + 1e-9):
            raise ConfigError(
                "the queries have ranges of different kinds, such as [0, 1] and [-1, 1], so that one record moves "
                "their scaled answers differently",
                remedy="ask for one kind of queries, for example 'cells:2' alone or 'parities:3' alone",
            )
        magnitude = float((workload.sensitivities(Neighbours.ADD_REMOVE) / widths).max())
        return cls(possible_records(workload.domain), workload.n_queries, float(ratios.max()), magnitude)


@dataclass(frozen=True)
class Chooser:
    """Fixes alpha, rounds and noise from public numbers.

    Attributes:
        config: The settings.
        scale: Numbers of the workload that the promise depends on.
        budget: Budget of the whole run.
        charges: Parts of the budget.
        total: Number of records (noisy).

    Example:
        >>> from hedgerow import PureDP
        >>> scale, budget = Scale(1024, 500, 1.0, 1.0), PureDP(1.0, "replace")
        >>> chosen = Chooser(OfflinePMWSettings(), scale, budget, Charges(0.0, 0.0, 1.0, 0.0), 1e6).choose()
        >>> round(chosen.alpha, 4), chosen.rounds, chosen.promised
        (0.1245, 1789, True)
    """

    config: OfflinePMWSettings
    scale: Scale
    budget: Budget
    charges: Charges
    total: float

    def choose(self) -> Setting:
        """Choose what to aim at.

        ``alpha="auto"`` is the smallest alpha whose required number of records there are. If there is none below 1, no
        promise can be made; then it is the one with the smallest error that the proof would give.

        Raises:
            ConfigError: Too few rounds were asked for.
        """
        if self.config.rounds is not None:
            alpha = alpha_of(self.config.rounds, self.scale.cells, self.config.step)
            return self.setting(alpha, self.config.rounds)
        if self.config.alpha != "auto":
            return self.setting(self.config.alpha)
        if not self.promises(_LARGEST_ALPHA):
            alphas: list[float] = np.geomspace(0.005, _LARGEST_ALPHA, 400).tolist()
            return self.setting(min(alphas, key=self.loss))
        return self.setting(boundary(self.promises, _SMALLEST_ALPHA, _LARGEST_ALPHA)[1])

    def promises(self, alpha: float) -> bool:
        """Whether there are enough records for an alpha."""
        return self.setting(alpha).promised

    def setting(self, alpha: float, rounds: int | None = None) -> Setting:
        """The setting of an alpha; with the most rounds that it can need, unless they are given."""
        most = most_rounds(alpha, self.scale.cells, self.config.step) if rounds is None else rounds
        epsilon = round_epsilon(self.config.calibration, self.budget, self.charges.rounds, most)
        needed = max(
            2.0 * self.scale.sensitivity * self._log_odds(most) / (alpha * epsilon),
            2.0 * self.scale.magnitude * self._total_error / alpha,
        )
        charge = round_charge(self.budget.regime, epsilon)
        return Setting(alpha, most, epsilon, charge, self.total, needed, self.config.beta)

    def loss(self, alpha: float) -> tuple[bool, float]:
        """Whether the proof breaks down, and the error after an early stop: 2 alpha, noise, loss of the selection."""
        setting = self.setting(alpha)
        unit = self.scale.sensitivity / (setting.epsilon * self.total)
        scale = self.scale.sensitivity / setting.epsilon
        noise = laplace_reach(scale, self._beta / (4.0 * setting.rounds)) / self.total
        moved = self.scale.magnitude * self._total_error / self.total
        lost = 2.0 * unit * self._log_odds(setting.rounds)
        return noise + moved > alpha, 2.0 * alpha + noise + lost + moved

    @property
    def _beta(self) -> float:
        return self.config.beta * (1.0 if self.budget.neighbours.public_total else 1.0 - _BETA_TOTAL)

    def _log_odds(self, rounds: int) -> float:
        return math.log(2.0 * rounds * self.scale.queries / self._beta)

    @property
    def _total_error(self) -> float:
        """The error of n-hat that is passed with a tenth of the failure probability at most, in counts."""
        return total_error(self.budget, self.charges.total, _BETA_TOTAL * self.config.beta)


def make_plan(setting: Setting, charges: Charges, budget: Budget, held: Footprint, workload: Workload) -> Outline:
    """The plan of a run.

    Args:
        setting: Everything that is fixed before the first round.
        charges: Parts of the budget.
        budget: Budget of the run.
        held: Memory that the hypothesis takes.
        workload: The single queries.
    """
    facts = {
        "algorithm": "OfflinePMW",
        **setting.to_dict(),
        "records_given": setting.total,
        "round_charge": asdict(setting.charge),
        "total_charge": charges.total,
        "error_charge": charges.error,
        "unit": budget.unit,
        "limit": budget.limit,
        "cells": held.cells,
    }
    required, asked = held.required_bytes, workload.n_candidates
    process = process_bytes(workload.domain, setting.total, required, measured=0, values=0, queries=asked)
    return Outline.of(required, held.words, _told(setting, charges, budget), facts, process=process)


def _told(setting: Setting, charges: Charges, budget: Budget) -> tuple[Line, ...]:
    """Rounds, noise and promise in sentences."""
    each, alpha, unit = setting.charge, setting.alpha, budget.unit
    rounds = setting.rounds * (each.selection + each.measurement)
    near = f"{2 * alpha:.3g} of the records"
    shares = {"number of records": charges.total, "rounds at most": rounds, "error estimate": charges.error}
    return (
        ("rounds", f"at most {setting.rounds:,}, each {each.selection:.3g} + {each.measurement:.3g} {unit}"),
        charges_line(budget.limit, unit, shares),
        ("alpha", f"{alpha:.4g}; a run stops when hypothesis and noisy answer differ by {near} or less"),
        ("records", f"{math.ceil(setting.required):,} needed for the promise, {setting.total:,.0f} given"),
        ("bound", _bound(setting)),
    )


def _bound(setting: Setting) -> str:
    if not setting.promised:
        return "none: there are too few records for the theorem; the release estimates its own error"
    alpha = setting.alpha
    return (
        f"every answer, as a fraction of the records, within {4 * alpha:.3g} of its query's width (if all rounds are "
        f"used: {alpha:.3g}), except with probability {setting.failure:g}{says_nothing(4 * alpha, 1.0)}"
    )
