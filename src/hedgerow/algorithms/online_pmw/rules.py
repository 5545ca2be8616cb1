"""The numbers that a session of online private multiplicative weights goes by (theory.md section 4).

The theorems speak of fractions of n for queries with values in [0, 1]. For queries whose values lie in a range of
width w the unit of a fraction is n w, so that a query is first brought to width 1. Rules are in counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, final

from hedgerow.privacy import GRID, Regime, SparseVector, additive_noise
from hedgerow.queries import NoiseKind

Variant = Literal["4a", "4b", "4c", "pay-as-you-go"]
VARIANTS: tuple[Variant, ...] = ("4a", "4b", "4c", "pay-as-you-go")


@final
@dataclass(frozen=True)
class Stream:
    """What is asked about what: the public quantities that the formulas need.

    Attributes:
        records: n, or its noisy value.
        log_cells: L, a bound on the potential of the first hypothesis in nats: ln|X| for a uniform one.
        queries: k_max, how many queries may be tested.
        beta: Probability with which the accuracy may fail.
        sensitivity: How far one record moves a query, in counts.
        width: Largest minus smallest value of the queries.
        slack: Bound on how far ``records`` is from the truth, in counts; 0 where it is public.
        warm: Whether the first hypothesis describes the table already.

    Example:
        >>> Stream(records=1000.0, log_cells=7.0, queries=100).unit
        1000.0
    """

    records: float
    log_cells: float
    queries: int
    beta: float = 0.05
    sensitivity: float = 1.0
    width: float = 1.0
    slack: float = 0.0
    warm: bool = False

    @property
    def unit(self) -> float:
        """Counts per fraction: n w."""
        return self.records * self.width


@final
@dataclass(frozen=True)
class Rules:
    """All numbers of a session, fixed before its first query.

    Attributes:
        variant: Which algorithm.
        updates: c, how many times the hypothesis may be corrected.
        watch: Noise and charge of one epoch; of all epochs together where the threshold noise is drawn once.
        answer_charge: epsilon or rho of the noisy answer of a query that fired.
        answer_kind: Shape of its noise.
        threshold: In counts, of the first query.
        growth: Counts that the threshold grows by when the number of queries grows by a factor of e.
        queries: How many queries may be tested; None for any number.
        step: Size of eta for a query of width 1, or how corrections are made instead: ``"residual"`` or ``"refit"``.
        error: Bound on the largest error of all answers in counts, with probability ``1 - beta``; None without a
            theorem. For pay-as-you-go it is the bound at the planned number of queries.

    Example:
        >>> from hedgerow.algorithms.online_pmw.parameters import best_rules
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> rules = best_rules(Stream(1e6, math.log(1024), 1000), PureDP(1.0), 1.0, "4c")
        >>> rules.watch.fires == rules.updates, rules.draws
        (True, 1)
    """

    variant: Variant
    updates: int
    watch: SparseVector
    answer_charge: float
    answer_kind: NoiseKind
    threshold: float
    growth: float = 0.0
    queries: int | None = None
    step: float | Literal["residual", "refit"] = "refit"
    error: float | None = None

    @property
    def draws(self) -> int:
        """How many threshold noises may be drawn."""
        return self.updates // self.watch.fires

    def threshold_at(self, test: int) -> float:
        """Threshold of a test, in counts, on the grid of the tests.

        Args:
            test: Number of the test, from 1.
        """
        return math.ceil((self.threshold + self.growth * math.log(test)) / GRID) * GRID

    def spending(self, regime: Regime) -> float:
        """What all epochs and answers cost together."""
        return self.draws * self.watch.charge(regime) + self.updates * self.answer_charge

    def price(self, regime: Regime) -> float:
        """What a correction costs in all: its answer, and its part of the sparse vector that found the need for it."""
        return self.answer_charge + self.watch.charge(regime) / self.watch.fires

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `rules_from_dict` reads it."""
        watch = self.watch
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "answer_kind": self.answer_kind.value,
            "watch": [watch.threshold_scale, watch.test_scale, watch.sensitivity, watch.fires],
        }


_PLAIN = ("variant", "updates", "answer_charge", "threshold", "growth", "queries", "step", "error")


def rules_from_dict(mapping: dict[str, Any]) -> Rules:
    """Read what ``Rules.to_dict`` wrote.

    Raises:
        KeyError, TypeError, ValueError: It was something else.

    Example:
        >>> from hedgerow.algorithms.online_pmw.parameters import best_rules
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> rules = best_rules(Stream(1e6, math.log(1024), 1000), PureDP(1.0), 1.0, "4c")
        >>> rules_from_dict(rules.to_dict()) == rules
        True
    """
    threshold, test, sensitivity, fires = mapping["watch"]
    plain = {name: mapping[name] for name in _PLAIN}
    watch = SparseVector(float(threshold), float(test), float(sensitivity), int(fires))
    return Rules(**plain, watch=watch, answer_kind=NoiseKind(mapping["answer_kind"]))


def noise_quantile(rules: Rules, regime: Regime, sensitivity: float, step: float, confidence: float) -> float:
    """A bound on the absolute noise of an answer, in counts.

    Args:
        rules: Of the session.
        regime: Of its budget.
        sensitivity: Of the query, in counts.
        step: Lattice of its answers, in counts.
        confidence: That the bound holds.

    Example:
        >>> from hedgerow.algorithms.online_pmw.parameters import best_rules
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> rules = best_rules(Stream(1e6, math.log(1024), 1000), PureDP(1.0), 1.0, "4c")
        >>> noise_quantile(rules, Regime.PURE, 1.0, 1.0, 0.95) < noise_quantile(rules, Regime.PURE, 1.0, 1.0, 0.99)
        True
    """
    noise = additive_noise(
        regime, rules.answer_charge, l1=sensitivity, l2=sensitivity, step=step, kind=rules.answer_kind
    )
    return noise.quantile(confidence)
