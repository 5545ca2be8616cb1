"""Variant 4a of online private multiplicative weights: its source's numbers (theory.md section 4).

Hardt and Rothblum's algorithm as Dwork and Roth teach it (algorithms 1-3, 5, 6), with the corrections of theory.md: two
one-sided tests per query, threshold ``2 max(alpha, alpha_s)``, at most ``4 L / alpha**2`` updates. Fractions are of the
unit, the number of records times the width of the queries.
"""

from __future__ import annotations

import math

from hedgerow.algorithms.online_pmw.rules import Rules, Stream
from hedgerow.errors import ConfigError
from hedgerow.privacy import ApproxDP, Budget, PureDP, Regime, SparseVector, pure_rho
from hedgerow.queries import NoiseKind

_ROUNDING = 1.0 + 1e-12
_DWORK_ROTH = math.sqrt(512.0)
_MOST_UPDATES = 1 << 40


def sparse_error(stream: Stream, budget: Budget, updates: int, epsilon: float | None = None) -> float:
    """alpha_s of theory.md section 4, a fraction: how far NumericSparse is off, with probability ``1 - beta``.

    Args:
        stream: Sizes.
        budget: Pure or (epsilon, delta).
        updates: c.
        epsilon: What may be spent; the budget's unless given.

    Example:
        >>> f"{sparse_error(Stream(1.5e8, math.log(1024), 1000), PureDP(1.0), 24_953):.4f}"
        '0.0331'
    """
    spent = epsilon_of_budget(budget) if epsilon is None else epsilon
    logs = math.log(2.0 * stream.queries) + math.log(4.0 * updates / stream.beta)
    if isinstance(budget, ApproxDP):
        factor = (_DWORK_ROTH + 1.0) * math.sqrt(updates * math.log(2.0 / budget.delta))
    else:
        factor = 9.0 * updates
    return factor * logs * stream.sensitivity / (spent * stream.unit)


def two_sided_updates(stream: Stream, alpha: float) -> int:
    """Number of updates c of variant 4a: ``floor(4 L / alpha**2)``, at least 1.

    Example:
        >>> two_sided_updates(Stream(1e8, math.log(1024), 1000), alpha=1 / 30)
        24953
    """
    return max(1, math.floor(min(4.0 * stream.log_cells / alpha**2, _MOST_UPDATES)))


def two_sided_scales(stream: Stream, budget: Budget, updates: int, epsilon: float) -> tuple[float, float]:
    """sigma_1 and sigma_2 of theory.md section 4, in counts: of the threshold and of the answers; tests have 2 sigma_1.

    Example:
        >>> two_sided_scales(Stream(1e8, math.log(1024), 1000), PureDP(1.0), 4, 1.0)
        (9.0, 36.0)
    """
    if isinstance(budget, ApproxDP):
        root = stream.sensitivity * math.sqrt(32.0 * updates * math.log(2.0 / budget.delta))
        share = epsilon / (_DWORK_ROTH + 1.0)
        return root / (_DWORK_ROTH * share), root / (2.0 * share)
    scale = updates * stream.sensitivity / epsilon
    return 2.25 * scale, 9.0 * scale


def two_sided_rules(stream: Stream, budget: Budget, amount: float, alpha: float) -> Rules:
    """Variant 4a for a distinguishing error alpha; final error ``3 max(alpha, alpha_s)``.

    Under an (epsilon, delta) budget the scales are the source's, from its own composition theorem; the ledger is
    charged what they cost in zCDP, which is less.

    Args:
        stream: Sizes.
        budget: Pure or (epsilon, delta).
        amount: What may be spent of a pure budget.
        alpha: A fraction.

    Raises:
        ConfigError: The budget is zCDP, or an (epsilon, delta) budget of which too little is left.

    Example:
        >>> rules = two_sided_rules(Stream(1.5e8, math.log(1024), 1000), PureDP(1.0), 1.0, 1 / 30)
        >>> rules.updates, round(rules.error / 1.5e8, 3)
        (24953, 0.1)
    """
    epsilon = _spendable(budget, amount)
    updates = two_sided_updates(stream, alpha)
    level = max(alpha + stream.slack / stream.unit, sparse_error(stream, budget, updates, epsilon))
    sigma, answer = (_ROUNDING * scale for scale in two_sided_scales(stream, budget, updates, epsilon))
    loss = stream.sensitivity / answer
    rules = Rules(
        variant="4a",
        updates=updates,
        watch=SparseVector(sigma, 2.0 * sigma, stream.sensitivity),
        answer_charge=loss if budget.regime is Regime.PURE else pure_rho(loss),
        answer_kind=NoiseKind.LAPLACE,
        threshold=2.0 * level * stream.unit,
        queries=stream.queries,
        step=alpha / 2.0,
        error=3.0 * level * stream.unit,
    )
    if rules.spending(budget.regime) > amount:
        raise ConfigError(
            f"variant 4a takes its scales from the whole epsilon, and only {amount:.4g} {budget.unit} is left",
            remedy="give it a budget of its own, or use variant 4b",
        )
    return rules


def best_two_sided_rules(stream: Stream, budget: Budget, amount: float) -> Rules:
    """Variant 4a with the smallest alpha that alpha_s does not pass: alpha_s falls as alpha grows.

    Args:
        stream: Sizes.
        budget: Pure or (epsilon, delta).
        amount: What may be spent of a pure budget.

    Raises:
        ConfigError: See `two_sided_rules`.

    Example:
        >>> rules = best_two_sided_rules(Stream(1.5e8, math.log(1024), 1000), PureDP(1.0), 1.0)
        >>> round(rules.error / 1.5e8, 3)
        0.1
    """
    epsilon = _spendable(budget, amount)
    low, high = 1e-12, 1e12
    while high > low * (1.0 + 1e-9):
        alpha = math.sqrt(low * high)
        enough = sparse_error(stream, budget, two_sided_updates(stream, alpha), epsilon) <= alpha
        low, high = (low, alpha) if enough else (alpha, high)
    return two_sided_rules(stream, budget, amount, high)


def epsilon_of_budget(budget: Budget) -> float:
    """Epsilon of a budget that variant 4a can be paid from.

    Raises:
        ConfigError: It has none.

    Example:
        >>> epsilon_of_budget(ApproxDP(0.5, 1e-6))
        0.5
    """
    if not isinstance(budget, PureDP | ApproxDP):
        raise ConfigError("variant 4a needs an epsilon", remedy="give PureDP or ApproxDP, or use variant 4b")
    return budget.epsilon


def _spendable(budget: Budget, amount: float) -> float:
    """The scales of an (epsilon, delta) budget follow from its whole epsilon, whatever is left of it."""
    return min(epsilon_of_budget(budget), amount) if isinstance(budget, PureDP) else epsilon_of_budget(budget)
