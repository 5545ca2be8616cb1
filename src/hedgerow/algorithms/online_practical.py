"""Online private multiplicative weights where no theorem says anything: rules that have proved useful."""

from __future__ import annotations

import math

from hedgerow.algorithms.online_parameters import check_variant, shared_watch
from hedgerow.algorithms.online_rules import Rules, Stream, Variant
from hedgerow.errors import ConfigError
from hedgerow.privacy.budget import Budget, Regime
from hedgerow.queries.measurement import NoiseKind

USEFUL_ERROR = 0.25
"""Fraction of the records: a theorem that promises no less is of no use, and the practical rule takes its place."""
PRACTICAL_THRESHOLD = 4.0
"""[H] The practical threshold, in scales of the threshold's and the test's noise together."""
ANSWER_SHARE = 0.3
"""[H] Share of the budget for noisy answers; the rest watches."""


def practical_rules(
    stream: Stream,
    budget: Budget,
    amount: float,
    variant: Variant,
    *,
    updates: int | None,
    threshold: float | None,
    answer_share: float,
) -> Rules:
    """Rules without a theorem: as many updates and as low a threshold as have proved useful.

    [H] The number of updates and the multiple of the test's noise at which the threshold lies were tuned on tables
    of tens of thousands of records; see the guide.

    Args:
        stream: Sizes.
        budget: Pure, zCDP or (epsilon, delta).
        amount: What may be spent.
        variant: 4b, 4c or pay-as-you-go.
        updates: c; chosen here if None.
        threshold: A fraction of the unit; chosen here if None.
        answer_share: Share of the amount for answers.

    Raises:
        ConfigError: The variant does not fit.

    Example:
        >>> from hedgerow.privacy.budget import PureDP
        >>> stream = Stream(48_842.0, math.log(1e6), 1000)
        >>> rules = practical_rules(
        ...     stream, PureDP(1.0), 1.0, "4c", updates=20, threshold=0.02, answer_share=0.3
        ... )
        >>> round(rules.threshold), round(rules.watch.test_scale, 1), rules.error is None
        (977, 62.0, True)
    """
    check_variant(variant, budget)
    if variant == "4a":
        raise ConfigError("variant 4a is its theorem", remedy="use 4b, 4c or pay-as-you-go with a chosen threshold")
    c = practical_updates(stream, budget.regime, amount) if updates is None else updates
    watch = shared_watch(stream, budget.regime, (1.0 - answer_share) * amount, c, once=variant == "4c")
    level = PRACTICAL_THRESHOLD * (watch.test_scale + watch.threshold_scale)
    return Rules(
        variant=variant,
        updates=c,
        watch=watch,
        answer_charge=answer_share * amount / c,
        answer_kind=NoiseKind.LAPLACE if budget.regime is Regime.PURE else NoiseKind.GAUSSIAN,
        threshold=level if threshold is None else threshold * stream.unit,
        queries=None if variant == "pay-as-you-go" else stream.queries,
    )


def practical_updates(stream: Stream, regime: Regime, amount: float) -> int:
    """[H] How many updates a table of so many records bears.

    Example:
        >>> practical_updates(Stream(48_842.0, math.log(1e6), 1000), Regime.PURE, 1.0)
        22
    """
    strength = amount if regime is Regime.PURE else math.sqrt(2.0 * amount)
    return max(1, round(0.1 * math.sqrt(stream.unit * strength / stream.sensitivity)))
