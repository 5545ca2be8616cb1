"""How a budget is divided, and what follows from that: functions of public quantities alone.

Charges are amounts of the ledger's unit (epsilon or rho). A round that may spend c selects with ``f c`` and measures
with ``(1 - f) c``; theory.md's parameters follow in both regimes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.algorithms.shared.bounds import BETA, Bound, Task, pure_bound, zcdp_bound
from hedgerow.arrays import Floats
from hedgerow.models import Step
from hedgerow.privacy import AdditiveNoise, Budget, Regime, additive_noise, step_of
from hedgerow.queries import Family, Measurable, Neighbours, NoiseKind, Workload, of_marginal


@final
@dataclass(frozen=True)
class Charges:
    """What a run spends, in the ledger's unit.

    Attributes:
        total: For the noisy number of records; 0 where it is public.
        initial: For the measurements before the first round; 0 where the run starts uniform.
        rounds: For all rounds together.
        error: For the noisy error of the workload at the end; 0 where none is asked for.

    Example:
        >>> charges = Charges.split(1.0, Neighbours.ADD_REMOVE, total=0.02, initial=0.0, error=0.03)
        >>> round(charges.rounds, 6), charges.total
        (0.95, 0.02)
    """

    total: float
    initial: float
    rounds: float
    error: float

    @classmethod
    def split(cls, limit: float, neighbours: Neighbours, *, total: float, initial: float, error: float) -> Charges:
        """Shares of the limit; the number of records is free where it is public."""
        share = 0.0 if neighbours.public_total else total
        return cls(share * limit, initial * limit, (1.0 - share - initial - error) * limit, error * limit)


@final
@dataclass(frozen=True)
class RoundCharge:
    """What one round spends.

    Attributes:
        selection: 0 where every candidate is measured, so that there is nothing to select.
        measurement: Always positive.

    Example:
        >>> RoundCharge.split(0.2, share=0.25)
        RoundCharge(selection=0.05, measurement=0.15000000000000002)
    """

    selection: float
    measurement: float

    @classmethod
    def split(cls, amount: float, share: float) -> RoundCharge:
        """Give ``share`` of the amount to the selection."""
        return cls(share * amount, (1.0 - share) * amount)


def task_of(workload: Workload, total: float, neighbours: Neighbours) -> Task:
    """What the error bounds need to know of a workload.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> domain = Domain(IntegerRange(name, 0, 2) for name in "ab")
        >>> task_of(Workload.marginals(domain, 2), 100.0, Neighbours.REPLACE)
        Task(total=100.0, cells=9, candidates=1, sensitivity=2.0, width=1.0, size=9)
    """
    return Task(
        total=max(1.0, total),
        cells=workload.domain.size,
        candidates=workload.n_candidates,
        sensitivity=float(workload.sensitivities(neighbours).max()),
        width=max(high - low for low, high in (family.bounds for family in workload.families)),
        size=int(workload.lengths.max()),
    )


def bound_of(
    task: Task,
    regime: Regime,
    neighbours: Neighbours,
    amount: float,
    rounds: int,
    *,
    share: float,
    step: Step,
    beta: float = BETA,
) -> Bound:
    """Theorem 2.3 (pure) or corollary 2.6 (zCDP) for ``rounds`` rounds that spend ``amount`` together.

    Example:
        >>> task = Task(total=10_000, cells=2**16, candidates=560)
        >>> round(bound_of(task, Regime.PURE, Neighbours.REPLACE, 1.0, 8, share=0.5, step="source").error, 1)
        24027.6
    """
    if regime is Regime.PURE:
        return pure_bound(task, amount, rounds, share=share, step=step, beta=beta)
    l2 = of_marginal(neighbours).l2 if task.size > 1 else None
    return zcdp_bound(task, amount, rounds, share=share, step=step, beta=beta, l2=l2)


def noise_of(target: Measurable, budget: Budget, charge: float, kind: NoiseKind | None) -> AdditiveNoise:
    """The noise that a curator with this budget adds when it measures; public.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> from hedgerow.queries.core.query import Marginal
        >>> target = Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",))
        >>> round(noise_of(target, PureDP(1.0), 0.5, None).scale, 6)
        2.0
    """
    found = target.sensitivity(budget.neighbours)
    return additive_noise(budget.regime, charge, l1=found.l1, l2=found.l2, step=step_of(target), kind=kind)


def noise_of_total(budget: Budget, charge: float) -> AdditiveNoise | None:
    """The noise of the number of records that a curator with this budget gives; None where that number is public.

    Example:
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> noise_of_total(PureDP(1.0, "replace"), 0.02) is None, round(noise_of_total(PureDP(1.0), 0.02).scale, 6)
        (True, 50.0)
    """
    if budget.neighbours.public_total:
        return None
    return additive_noise(budget.regime, charge, l1=1.0, l2=1.0, step=1.0, kind=None)


def total_error(budget: Budget, charge: float, beta: float) -> float:
    """What ``|n-hat - n|`` passes with probability ``beta`` at most, in counts; 0 where n is public.

    Example:
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> total_error(PureDP(1.0), 0.02, 0.005), total_error(PureDP(1.0, "replace"), 0.02, 0.005)
        (265.0, 0.0)
    """
    noise = noise_of_total(budget, charge)
    return 0.0 if noise is None else noise.quantile(1.0 - beta)


def expected_noise(workload: Workload, budget: Budget, charge: float, kind: NoiseKind | None) -> Floats:
    """Expected L1 noise of measuring each candidate, in counts, shape ``(n_candidates,)``; public.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> workload = Workload.marginals(Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2))), 1)
        >>> expected_noise(workload, PureDP(1.0), 0.1, None).round(3)
        array([19.967, 29.95 ])
    """
    return np.concatenate([_family_noise(family, budget, charge, kind) for family in workload.families])


def _family_noise(family: Family, budget: Budget, charge: float, kind: NoiseKind | None) -> Floats:
    """Candidates of a family with equal sensitivities get equal noise; mostly all of them have the same."""
    sensitivities = family.sensitivities(budget.neighbours)
    same = bool((sensitivities == sensitivities[0]).all())
    distinct, first = (sensitivities[:1], [0]) if same else np.unique(sensitivities, return_index=True)
    each = np.array([noise_of(family.candidate(int(index)), budget, charge, kind).expected_abs for index in first])
    return np.asarray(family.lengths * (each if same else each[np.searchsorted(distinct, sensitivities)]))
