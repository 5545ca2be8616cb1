"""How many rounds MWEM runs: functions of public quantities and, under "add-remove", of the noisy number of records."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.algorithms.mwem.candidates import Limit, closure
from hedgerow.algorithms.shared import RoundCharge, Task, bound_of, expected_noise, task_of
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.models import Step, wants_classes
from hedgerow.privacy import Budget, Regime
from hedgerow.queries import Neighbours, Workload

if TYPE_CHECKING:
    from hedgerow.algorithms.mwem.mwem import MWEM

SCAN = 1 << 16
"""Largest number of rounds that is looked at when a bound is minimised."""

_MOST = 1 << 10
"""Largest number of rounds that ``"auto"`` chooses, unless it measures every candidate."""

_NOISE = 0.44
"""Error per noise of one measurement: fits share noise between overlapping measurements."""

_UNSEEN = 0.0145
"""Error left after as many whole marginals as attributes were measured without noise."""


def rounds_by_bound(
    task: Task, regime: Regime, neighbours: Neighbours, amount: float, *, share: float, step: Step, most: int = SCAN
) -> int:
    """The number of rounds with the smallest bound, found by scanning.

    The scan is over all whole numbers up to 64 and then in steps of 2%, which loses less than 0.01% of the bound.

    Example:
        >>> task = Task(total=1e6, cells=2**16, candidates=560)
        >>> rounds_by_bound(task, Regime.PURE, Neighbours.REPLACE, 1.0, share=0.5, step="source")
        1061
    """
    rounds = list(range(1, min(64, most) + 1))
    if most > 64:
        rounds += np.unique(np.geomspace(64, most, 2 + math.ceil(50 * math.log(most / 64))).astype(int)).tolist()

    def error(count: int) -> float:
        return bound_of(task, regime, neighbours, amount, count, share=share, step=step).error

    return min(rounds, key=error)


def first_rounds(workload: Workload) -> int:
    """How many rounds an adaptive run would make if its charge never doubled.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> first_rounds(Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2))
        6
    """
    return max(2, min(2 * workload.n_candidates, 16 * len(workload.domain)))


def annealed_rounds(workload: Workload) -> int:
    """How many rounds an annealed run would make if its charge never grew.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> annealed_rounds(Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2))
        12
    """
    return 4 * len(workload.domain)


def is_annealed(config: MWEM, workload: Workload) -> bool:
    """Whether a run anneals the charge of its rounds: asked for, or automatic over a domain too large for a histogram.

    Example:
        >>> from hedgerow.algorithms.mwem.mwem import MWEM
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
        >>> workload = Workload.marginals(domain, 2)
        >>> is_annealed(MWEM(), workload), is_annealed(MWEM(rounds=5), workload)
        (True, False)
    """
    if config.rounds != "auto" or config.needs_histogram:
        return config.rounds == "annealed"
    return Limit(workload, config.largest_tree).binds and closure(workload) is not None


def check_rounds(config: MWEM, workload: Workload) -> None:
    """Refuse more rounds than there are candidates, where none may repeat.

    Raises:
        ConfigError: There are too many.

    Example:
        >>> from hedgerow.algorithms.mwem.mwem import MWEM
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> check_rounds(MWEM(rounds=3), Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2))
    """
    most = workload.n_candidates
    if isinstance(config.rounds, int) and config.rounds > most and not config.repeats:
        raise ConfigError(
            f"{config.rounds} rounds are too many: the workload has {most} candidates and each is measured once",
            remedy=f"ask for at most {most} rounds, or allow repeats (in Python: MWEM(..., repeats=True))",
        )


def planned_rounds(config: MWEM, workload: Workload, budget: Budget, amount: float, total: float) -> int | None:
    """The number of rounds of a configuration, or None where noisy values decide.

    Args:
        config: The configuration.
        workload: The workload.
        budget: Its regime and neighbours count.
        amount: What all rounds may spend together.
        total: Number of records (noisy), in counts.

    Example:
        >>> from hedgerow.algorithms.mwem.mwem import MWEM
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)
        >>> planned_rounds(MWEM(rounds=2), workload, PureDP(1.0), 0.95, 100.0)
        2
    """
    if isinstance(config.rounds, int):
        return config.rounds
    if config.rounds in ("adaptive", "annealed") or is_annealed(config, workload):
        return None
    most = SCAN if config.repeats else min(SCAN, workload.n_candidates)
    if config.rounds == "auto":
        return automatic_rounds(config, workload, budget, amount, total)
    task, regime = task_of(workload, total, budget.neighbours), budget.regime
    share, step = config.selecting(), config.step
    return rounds_by_bound(task, regime, budget.neighbours, amount, share=share, step=step, most=most)


def automatic_rounds(config: MWEM, workload: Workload, budget: Budget, amount: float, total: float) -> int:
    """The number of rounds with the smallest predicted error; a heuristic with public constants.

    Measured on public tables (docs/design.md), the mean total variation distance after T rounds is about
    ``0.44 noise(T) x**-0.15 + 0.0145 x**-1.75`` (``x**-2.75`` below 1), with x = T / (number of attributes) for whole
    marginals, x = T / (3 bits of a record) for single queries (half the bits where most values are never told apart),
    and noise(T) the expected noise of one measurement as total variation distance. The first summand grows with T; the
    second falls, and is 0 once every whole marginal is measured (which also saves the selection).

    Args:
        config: The configuration.
        workload: The workload.
        budget: Its regime and neighbours count.
        amount: What all rounds may spend together.
        total: Number of records (noisy), in counts.

    Example:
        >>> from hedgerow.algorithms.mwem.mwem import MWEM
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.privacy.budgets.budget import ZCDP
        >>> workload = Workload.marginals(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(10)), 3)
        >>> [automatic_rounds(MWEM(), workload, ZCDP(rho), rho, 10_000.0) for rho in (1e-4, 1e-2, 1.0)]
        [13, 120, 120]
    """
    spread = _spread(workload) / total
    whole = any(family.whole for family in workload.families)
    unit = float(len(workload.domain)) if whole else _bits(workload) * math.log2(workload.domain.size)

    def predicted(rounds: int) -> float:
        charge = round_charge(config, workload, amount, rounds)
        noise = float(np.mean(spread * expected_noise(workload, budget, charge.measurement, config.noise)))
        x = rounds / unit
        unseen = 0.0 if whole and charge.selection == 0.0 else _UNSEEN * x ** (-1.75 if x > 1.0 else -2.75)
        return float(_NOISE * noise * max(1.0, x) ** -0.15 + unseen)

    most = min(_MOST, workload.n_candidates)
    if any(family.signed for family in workload.families):
        most = min(most, math.ceil(3 * unit))  # fits to many signed queries converge slowly
    limit = Limit(workload, config.largest_tree)
    if limit.binds:
        most = min(most, len(workload.domain))  # beyond that noise connects what has nothing in common: trees get wide
    few: list[int] = np.unique(np.geomspace(1, most, 64).astype(int)).tolist()
    few_enough = whole and workload.n_candidates <= SCAN and limit.allows_all()
    everything = [workload.n_candidates] if few_enough else []
    return min([*few, *everything], key=predicted)


def _bits(workload: Workload) -> float:
    """Rounds per bit of a record after which single queries have said most."""
    return 0.5 if wants_classes(workload) else 3.0


def _spread(workload: Workload) -> Floats:
    """Total variation distance of a marginal per L1 noise of measuring it (or a query of its scope), per candidate."""
    return np.concatenate([np.broadcast_to(family.spread, family.n_candidates) for family in workload.families])


def round_charge(config: MWEM, workload: Workload, amount: float, rounds: int) -> RoundCharge:
    """What each of ``rounds`` equal rounds spends.

    Where every candidate is measured once there is nothing to select, and selection costs nothing.

    Example:
        >>> from hedgerow.algorithms.mwem.mwem import MWEM
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)
        >>> round_charge(MWEM(), workload, 0.75, 3)
        RoundCharge(selection=0.0, measurement=0.25)
    """
    everything = (
        rounds == workload.n_candidates and not config.repeats and config.rounds not in ("adaptive", "annealed")
    )
    everything = everything and Limit(workload, config.largest_tree).allows_all()
    return RoundCharge.split(amount / rounds, 0.0 if everything else config.selecting())
