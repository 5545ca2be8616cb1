"""Numbers of online private multiplicative weights, from public quantities alone (theory.md section 4).

The theorems speak of fractions of n for queries with values in [0, 1]. For queries whose values lie in a range of
width w everything here is a fraction of n w ("of the unit"), so that a query is first brought to width 1; counts are
fractions times the unit. Noise scales and quantiles are in counts, as the mechanisms give them.

Four variants. Let L be a bound on the potential KL(b || p) of the first hypothesis: ln|X| if it is uniform.

- ``"4a"``: Hardt and Rothblum's algorithm as Dwork and Roth teach it (algorithms 1-3, 5, 6), with the corrections of
  theory.md: two one-sided tests per query, threshold ``2 max(alpha, alpha_s)``, at most ``4 L / alpha**2`` updates.
- ``"4b"``: one absolute test per query, step 4 a, at most ``L / (2 a**2)`` updates; the default under GDP.
- ``"4c"``: as 4b, but the threshold noise is drawn once (Lyu, Su, Li 2017); the default under pure budgets and zCDP.
- ``"pay-as-you-go"``: as 4b in every regime, and the number of queries need not be known: query j may use the failure
  probability ``2 beta / (pi**2 j**2)`` for its test, so that its threshold grows with ``ln j``. Each epoch and each
  answer costs a fixed charge, until the budget is spent.

Why the error of the last three is at most ``a + s + 2 alpha_t`` is theorem 4.0 of theory.md: alpha_t bounds the
threshold's and a test's noise together, s how far the number of records is off, as a fraction.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeGuard

from hedgerow.algorithms.online_pmw.rules import Rules, Stream, Variant, check_variant, epsilon_of_budget, shared_watch
from hedgerow.errors import ConfigError
from hedgerow.privacy import RENYI, ApproxDP, Budget, Regime, SparseVector, laplace_scale
from hedgerow.queries import NoiseKind

_ROUNDING = 1.0 + 1e-12
_DWORK_ROTH = math.sqrt(512.0)
_MOST_UPDATES = 1 << 40


def distinguishing_error(stream: Stream, updates: int) -> float:
    """The smallest a, a fraction, with ``floor(L / (2 a**2)) = updates``, up to rounding.

    Example:
        >>> a = distinguishing_error(Stream(1e6, math.log(1024), 1000), 100)
        >>> math.floor(math.log(1024) / (2 * a * a))
        100
    """
    return math.sqrt(stream.log_cells / (2.0 * (updates + 1))) * (1.0 + 1e-9)


def _answer_charge(stream: Stream, regime: Regime, updates: int, radius: float) -> float:
    """Charge that keeps the noise of all answers below a radius in counts, except with probability beta / 3."""
    risk = stream.beta / (3.0 * updates)
    if regime is Regime.PURE:
        return stream.sensitivity / laplace_scale(radius, risk)
    return regime.of_gaussian(stream.sensitivity, radius / math.sqrt(2.0 * math.log(2.0 / risk)))


def noise_margin(stream: Stream, watch: SparseVector, draws: int, test: float) -> float:
    """alpha_t in counts: what the noise of thresholds and tests adds up to, except with probability 2 beta / 3.

    Args:
        stream: Sizes.
        watch: Noise of an epoch.
        draws: Number of threshold noises.
        test: k_max; or for the j-th query of a stream of any length ``(pi j)**2 / 6``.

    Example:
        >>> watch = SparseVector(20.0, 40.0)
        >>> round(noise_margin(Stream(1e6, math.log(1024), 1000), watch, 10, 1000), 1)
        568.0
    """
    thresholds = watch.threshold_scale * math.log(3.0 * draws / stream.beta)
    return thresholds + watch.test_scale * math.log(3.0 * test / stream.beta)


def theorem_rules(stream: Stream, budget: Budget, amount: float, variant: Variant, updates: int) -> Rules | None:
    """Variant 4b, 4c or pay-as-you-go with so many updates; None where the answers alone would cost too much.

    Args:
        stream: Sizes.
        budget: Its regime counts.
        amount: Amount for epochs and answers, in the unit of the regime.
        variant: Name of the variant.
        updates: c.

    Example:
        >>> from hedgerow import ApproxDP
        >>> budget = ApproxDP(1.0, 1e-6)
        >>> rules = theorem_rules(Stream(1.1e5, math.log(1024), 1000), budget, budget.limit, "4c", 1300)
        >>> round(rules.error / 1.1e5, 3), rules.watch.bound
        (0.099, 'renyi')
    """
    a = distinguishing_error(stream, updates) * stream.unit
    answer = _answer_charge(stream, budget.regime, updates, a)
    if not updates * answer < amount:
        return None
    watch = shared_watch(stream, budget.regime, amount - updates * answer, updates, once=variant == "4c")
    draws = updates // watch.fires
    endless = variant == "pay-as-you-go"
    first, last = (math.pi**2 / 6.0, (math.pi * stream.queries) ** 2 / 6.0) if endless else (stream.queries,) * 2
    return Rules(
        variant=variant,
        updates=updates,
        watch=watch,
        answer_charge=answer,
        answer_kind=NoiseKind.LAPLACE if budget.regime is Regime.PURE else NoiseKind.GAUSSIAN,
        threshold=a + stream.slack + noise_margin(stream, watch, draws, first),
        growth=2.0 * watch.test_scale if endless else 0.0,
        queries=None if endless else stream.queries,
        step=4.0 * a / stream.unit,
        error=a + stream.slack + 2.0 * noise_margin(stream, watch, draws, last),
    )


def best_rules(stream: Stream, budget: Budget, amount: float, variant: Variant) -> Rules:
    """Find the rules of a variant with the smallest error bound for an amount.

    Args:
        stream: Sizes.
        budget: Pure, zCDP or (epsilon, delta).
        amount: Amount for epochs and answers, in the unit of the budget.
        variant: Name of the variant.

    Raises:
        ConfigError: The variant does not fit the budget.

    Example:
        >>> from hedgerow import PureDP
        >>> rules = best_rules(Stream(1e6, math.log(1024), 1000), PureDP(1.0), 1.0, "4c")
        >>> round(rules.error / 1e6, 2)
        0.11
    """
    check_variant(variant, budget)
    if variant == "4a":
        return best_two_sided_rules(stream, budget, amount)
    rules = _smallest(lambda updates: theorem_rules(stream, budget, amount, variant, updates))
    if rules is None:
        raise ConfigError("the budget does not cover a single answer", remedy="give a larger one, or `updates`")
    return rules


def _smallest(rules: Callable[[int], Rules | None]) -> Rules | None:
    """The rules with the smallest error: a geometric grid of the numbers of updates, then ever finer ones.

    More than 2^24 updates are not looked at: tables that would bear them have more records than any has.
    """

    def error(found: Rules | None) -> float:
        return math.inf if found is None or found.error is None else found.error

    most = 2**24
    best = min((rules(2**power) for power in range(25)), key=error)
    reach = best.updates if best is not None else 0
    while best is not None and reach > 0:
        near = {min(max(1, best.updates + step * reach // 4), most) for step in (-4, -3, -2, -1, 1, 2, 3, 4)}
        better = min((rules(updates) for updates in sorted(near)), key=error)
        best, reach = (better, reach) if error(better) < error(best) else (best, reach // 2)
    return best


def cheapest_rules(stream: Stream, budget: Budget, amount: float, variant: Variant, target: float) -> Rules:
    """Find the rules that spend least among those whose error bound is at most a target.

    Args:
        stream: Sizes.
        budget: Pure, zCDP or (epsilon, delta).
        amount: Largest amount for epochs and answers.
        variant: Name of the variant.
        target: Largest error, as a fraction of the unit.

    Raises:
        ConfigError: The whole amount does not reach the target; the message says how many records would.

    Example:
        >>> from hedgerow import PureDP
        >>> rules = cheapest_rules(Stream(1e7, math.log(1024), 1000), PureDP(1.0), 1.0, "4c", 0.2)
        >>> 0.0 < rules.spending(Regime.PURE) < 0.2, rules.error <= 0.2e7
        (True, True)
    """
    best = best_rules(stream, budget, amount, variant)
    if (best.error or 0.0) > target * stream.unit:
        needed = required_records(replace(stream, slack=0.0), budget, amount, variant, target)
        raise ConfigError(
            f"with {stream.records:,.0f} records no error below {(best.error or 0.0) / stream.unit:.3g} is guaranteed",
            remedy=f"aim higher than {target:g}"
            + (f", spend more, or use about {needed:.2g} records" if math.isfinite(needed) else "")
            + "; without a target the session does what it can",
        )
    if variant == "4a":  # its scales follow from the whole epsilon
        return best
    low, high = 0.0, amount
    while high > low * (1.0 + 1e-6) and high > 1e-9 * amount:
        middle = 0.5 * (low + high)
        rules = _smallest(lambda updates: theorem_rules(stream, budget, middle, variant, updates))  # noqa: B023
        if rules is not None and (rules.error or math.inf) <= target * stream.unit:
            best, high = rules, middle
        else:
            low = middle
    return best


def required_records(stream: Stream, budget: Budget, amount: float, variant: Variant, target: float) -> float:
    """Number of records that brings the error bound to a target, to three digits; infinite if 10^17 do not.

    Args:
        stream: Sizes; its number of records is not used.
        budget: Pure, zCDP or (epsilon, delta).
        amount: Amount for epochs and answers.
        variant: Name of the variant.
        target: Largest error, as a fraction of the unit.

    Example:
        >>> from hedgerow import PureDP
        >>> f"{required_records(Stream(1.0, math.log(1024), 1000), PureDP(1.0), 1.0, '4a', 0.1):.1e}"
        '1.5e+08'
    """
    low, high = 1.0, 1e18
    while high > low * 1.0005:
        records = math.sqrt(low * high)
        try:
            error = best_rules(replace(stream, records=records), budget, amount, variant).error or math.inf
        except ConfigError:  # so few records that no noise is small enough
            error = math.inf
        low, high = (low, records) if error <= target * records * stream.width else (records, high)
        if low > 1e17:
            return math.inf
    return high


def sparse_error(stream: Stream, budget: Budget, updates: int, epsilon: float | None = None) -> float:
    """alpha_s of theory.md section 4, a fraction: how far NumericSparse is off, with probability ``1 - beta``.

    Args:
        stream: Sizes.
        budget: Pure or (epsilon, delta).
        updates: c.
        epsilon: Epsilon to spend; the budget's unless given.

    Example:
        >>> from hedgerow import PureDP
        >>> f"{sparse_error(Stream(1.5e8, math.log(1024), 1000), PureDP(1.0), 24_953):.4f}"
        '0.0331'
    """
    spent = epsilon_of_budget(budget) if epsilon is None else epsilon
    logs = math.log(2.0 * stream.queries) + math.log(4.0 * updates / stream.beta)
    if _composes_in_delta(budget):
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
        >>> from hedgerow import PureDP
        >>> two_sided_scales(Stream(1e8, math.log(1024), 1000), PureDP(1.0), 4, 1.0)
        (9.0, 36.0)
    """
    if _composes_in_delta(budget):
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
        amount: Amount to spend of a pure budget.
        alpha: A fraction.

    Raises:
        ConfigError: The budget is zCDP, or an (epsilon, delta) budget of which too little is left.

    Example:
        >>> from hedgerow import PureDP
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
        watch=SparseVector(sigma, 2.0 * sigma, stream.sensitivity, bound=RENYI if _composes_in_delta(budget) else None),
        answer_charge=budget.regime.of_pure(loss),
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
        amount: Amount to spend of a pure budget.

    Raises:
        ConfigError: See `two_sided_rules`.

    Example:
        >>> from hedgerow import PureDP
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


def _spendable(budget: Budget, amount: float) -> float:
    """The scales of an (epsilon, delta) budget follow from its whole epsilon, whatever is left of it."""
    return epsilon_of_budget(budget) if _composes_in_delta(budget) else min(epsilon_of_budget(budget), amount)


def _composes_in_delta(budget: Budget) -> TypeGuard[ApproxDP]:
    """Whether the source's composition in (epsilon, delta) is covered by what the ledger adds up."""
    return isinstance(budget, ApproxDP) and budget.regime is not Regime.PURE
