"""Budgets that are too small for a run, refused before anything is counted or spent.

Noise is drawn on 64-bit integers. What a run measures, and with which charges, may depend on the number of records,
which is noisy and paid for; so a tiny budget is tried with the fewest and with the most that a table can have.
"""

from __future__ import annotations

from hedgerow.algorithms.mwem.settings import (
    MWEMSettings,
    annealed_rounds,
    candidates_of,
    first_rounds,
    is_annealed,
    round_charge,
)
from hedgerow.algorithms.mwem.strategy_choice import schedule_of
from hedgerow.algorithms.shared import RoundCharge, expected_noise, noise_of, noise_of_total
from hedgerow.privacy import GRID, LARGEST_MASS, Budget, ExponentialMechanism, additive_noise
from hedgerow.queries import Workload

_TINY = float(1 << 16)
"""Noise of one count, in counts, that the whole budget must buy at least for a closer look."""

_ROOM = 64.0
"""Part of the first charge that noise must still be drawn for: for other numbers of records charges may be smaller."""


def check_drawable(config: MWEMSettings, workload: Workload, budget: Budget, amount: float) -> None:
    """Refuse a budget that is too small for the noise of a run to be drawn.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        amount: The part of it that is left.

    Raises:
        ConfigError: Some noise would be wider than 64-bit integers; nothing was spent.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> workload = Workload.parities(Domain(IntegerRange(name, 0, 1) for name in "abc"), 2)
        >>> check_drawable(MWEM(), workload, PureDP(1e-9), 1e-9)
        >>> check_drawable(MWEM(), workload, PureDP(1e-16), 1e-16)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: a noise scale of ... counts cannot be drawn
          Remedy: spend more on each step: fewer rounds, or a larger budget
    """
    most = float(budget.neighbours.records)
    whole = additive_noise(budget.regime, amount, l1=most, l2=most, step=1.0, kind=None)
    if whole.std < _TINY:
        return
    charges = config.charges(amount, budget.neighbours)
    noise_of_total(budget, charges.total)
    if charges.error > 0.0:
        additive_noise(budget.regime, charges.error / 2.0, l1=most + GRID, l2=most + GRID, step=GRID, kind=None)
    for total in (1.0, float(LARGEST_MASS)):
        _check_rounds(config, workload, budget, charges.rounds, total)


def _check_rounds(config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float) -> None:
    schedule = schedule_of(config, workload, budget, amount, total)
    for target, charge in schedule.steps:
        noise_of(target, budget, charge / _ROOM, config.noise)
    if schedule.steps:
        return
    candidates = candidates_of(config, workload, schedule.rounds)
    if schedule.rounds is not None:
        first = round_charge(config, candidates, amount, schedule.rounds)
    else:
        annealed = is_annealed(config, workload)
        rounds = annealed_rounds(config, workload, budget, amount, total) if annealed else None
        each = amount / (rounds or first_rounds(workload, annealed=False))
        first = RoundCharge.split(each, config.selecting(annealed=annealed))
    expected_noise(candidates, budget, first.measurement / _ROOM, config.noise)
    if first.selection > 0.0:
        sensitive = float(candidates.candidate_weights.max())
        ExponentialMechanism.for_charge(budget.regime, first.selection / _ROOM, sensitive)
