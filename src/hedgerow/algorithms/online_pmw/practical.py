"""Online private multiplicative weights where no theorem is asked for: rules that have proved useful."""

from __future__ import annotations

import math

from hedgerow.algorithms.online_pmw.parameters import check_variant, shared_watch
from hedgerow.algorithms.online_pmw.rules import Rules, Stream, Variant
from hedgerow.errors import ConfigError
from hedgerow.privacy import Budget, Regime
from hedgerow.queries import NoiseKind

FALSE_FIRES = 0.2
"""[H] So large a share of the updates may go to queries that the hypothesis answers exactly."""
MOST_UPDATES = 500
"""[H] More measurements at once take long to fit."""
ANSWER_SHARE = 0.25
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

    [H] The threshold lies so high that few queries pass it by noise alone. What the choices do to streams of random
    conditions about Adult is in docs/design.md.

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
        >>> from hedgerow.privacy.budgets.budget import PureDP
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
    level = watch.test_scale * math.log(max(math.e, stream.queries / (2.0 * FALSE_FIRES * c)))
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

    More updates describe the table better, and each is noisier: noise grows with c (pure) or sqrt(c) (zCDP), and what c
    updates leave unseen falls about as 1 / c. The factors were fitted on Adult. After a warm start little is left to
    correct: a tenth of the updates, each with ten times the charge.

    Example:
        >>> practical_updates(Stream(48_842.0, math.log(1e6), 1000), Regime.PURE, 1.0)
        99
    """
    strength = amount if regime is Regime.PURE else math.sqrt(2.0 * amount)
    signal = stream.unit * strength / stream.sensitivity
    best = 0.45 * math.sqrt(signal) if regime is Regime.PURE else 0.28 * math.pow(signal, 2.0 / 3.0)
    return min(MOST_UPDATES, max(1, round(best / 10.0 if stream.warm else best)))
