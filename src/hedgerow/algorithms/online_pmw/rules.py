"""The numbers of a session of online private multiplicative weights, and those that have proved useful for them.

A session tests each query against a noisy *threshold*; a query whose test fires leads to a *correction* of the
hypothesis. How many corrections there may be, how high the threshold is and how large the noises are, is fixed before
the first query: by the theorems (`parameters`), or by rules without one (`practical_rules`).

The theorems speak of fractions of n for queries with values in [0, 1]. For queries whose values lie in a range of
width w the unit of a fraction is n w, so that a query is first brought to width 1. Rules are in counts (theory.md
section 4).
"""

import math
from dataclasses import asdict, astuple, dataclass
from typing import Any, Literal

from hedgerow.errors import ConfigError
from hedgerow.privacy import GRID, ApproxDP, Budget, PureDP, Regime, SparseVector
from hedgerow.queries import NoiseKind

Variant = Literal["4a", "4b", "4c", "pay-as-you-go"]

FALSE_FIRES = 0.2
"""Share of the updates that may go to queries which the hypothesis answers exactly [H]."""
MOST_UPDATES = 500
"""Largest number of updates: more measurements at once take long to fit [H]."""
_ANSWER_SHARE, _ANSWER_SHARE_ZCDP = 0.25, 0.4
"""Shares of the budget for noisy answers; the rest pays for tests [H]."""


@dataclass(frozen=True)
class Stream:
    """The public quantities that the formulas need: sizes of the table and of what is asked.

    Attributes:
        records: n, exact or noisy.
        log_cells: L, a bound on the potential of the first hypothesis in nats: ln|X| for a uniform one.
        queries: k_max, the number of queries that may be tested.
        beta: Probability with which the accuracy may fail.
        sensitivity: Largest change of a query by one record, in counts.
        width: Largest minus smallest value of the queries.
        slack: Bound on the error of ``records``, in counts; 0 where it is public.
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


@dataclass(frozen=True)
class Rules:
    """All numbers of a session, fixed before its first query.

    Attributes:
        variant: Name of the algorithm.
        updates: c, the number of corrections of the hypothesis.
        watch: Noise and charge of one epoch; of all epochs together where the threshold noise is drawn once.
        answer_charge: epsilon or rho of the noisy answer of a query that fired.
        answer_kind: Shape of its noise.
        threshold: In counts, of the first query.
        growth: Counts that the threshold grows by when the number of queries grows by a factor of e.
        queries: Number of queries that may be tested; None for any number.
        step: Size of eta for a query of width 1, or another way to correct: ``"residual"`` or ``"refit"``.
        error: Bound on the largest error of all answers in counts, with probability ``1 - beta``; None without a
            theorem. For pay-as-you-go it is the bound at the planned number of queries.

    Example:
        >>> from hedgerow.algorithms.online_pmw.parameters import best_rules
        >>> from hedgerow import PureDP
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
        """Number of threshold noises that may be drawn."""
        return self.updates // self.watch.fires

    def threshold_at(self, test: int) -> float:
        """Threshold of a test, in counts, on the grid of the tests.

        Args:
            test: Number of the test, from 1.
        """
        return math.ceil((self.threshold + self.growth * math.log(test)) / GRID) * GRID

    def spending(self, regime: Regime) -> float:
        """Charge of all epochs and answers together."""
        return self.draws * self.watch.charge(regime) + self.updates * self.answer_charge

    def price(self, regime: Regime) -> float:
        """Price of a correction: its answer, and its part of the sparse vector that found the need for it."""
        return self.answer_charge + self.watch.charge(regime) / self.watch.fires

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `rules_from_dict` reads it."""
        watch = [number for number in astuple(self.watch) if number is not None]  # the bound is named if there is one
        return {**asdict(self), "answer_kind": self.answer_kind.value, "watch": watch}


def rules_from_dict(mapping: dict[str, Any]) -> Rules:
    """Read what ``Rules.to_dict`` wrote.

    Raises:
        KeyError, TypeError, ValueError: It was something else.

    Example:
        >>> from hedgerow.algorithms.online_pmw.parameters import best_rules
        >>> from hedgerow import PureDP
        >>> rules = best_rules(Stream(1e6, math.log(1024), 1000), PureDP(1.0), 1.0, "4c")
        >>> rules_from_dict(rules.to_dict()) == rules
        True
    """
    watch, answer_kind = SparseVector(*mapping["watch"]), NoiseKind(mapping["answer_kind"])
    return Rules(**{**mapping, "watch": watch, "answer_kind": answer_kind})


def shared_watch(stream: Stream, regime: Regime, amount: float, updates: int, *, once: bool) -> SparseVector:
    """The sparse vector of all updates together (``once``), or of one epoch.

    The scales of an epoch are Dwork and Roth's; in zCDP those that cost least (theory.md section 4.1).
    """
    if once:
        return SparseVector.for_charge(regime, amount, stream.sensitivity, fires=updates)
    share = None if regime is Regime.ZCDP else 0.5
    return SparseVector.for_charge(regime, amount / updates, stream.sensitivity, threshold_share=share)


def check_variant(variant: Variant, budget: Budget) -> None:
    """Refuse a variant that a budget cannot pay for.

    Raises:
        ConfigError: Variant 4a with a zCDP budget, or 4b with a pure one.

    Example:
        >>> from hedgerow import PureDP
        >>> check_variant("4b", PureDP(1.0))
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: variant 4b answers with Gaussian noise, which has no pure epsilon
          Remedy: use variant 4c, or give a ZCDP or ApproxDP budget
    """
    if variant == "4a":
        epsilon_of_budget(budget)
    if variant == "4b" and budget.regime is Regime.PURE:
        raise ConfigError(
            "variant 4b answers with Gaussian noise, which has no pure epsilon",
            remedy="use variant 4c, or give a ZCDP or ApproxDP budget",
        )


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


def practical_rules(
    stream: Stream,
    budget: Budget,
    amount: float,
    variant: Variant,
    *,
    updates: int | None,
    threshold: float | None,
    answer_share: float | None,
) -> Rules:
    """Rules without a theorem: as many updates and as low a threshold as have proved useful.

    [H] The threshold lies so high that few queries pass it by noise alone. What the choices do to streams of random
    conditions about Adult is in docs/measurements.md.

    Args:
        stream: Sizes.
        budget: Pure, zCDP or (epsilon, delta).
        amount: Amount for epochs and answers.
        variant: 4b, 4c or pay-as-you-go.
        updates: c; chosen here if None.
        threshold: A fraction of the unit; chosen here if None.
        answer_share: Share of the amount for answers; chosen here if None.

    Raises:
        ConfigError: The variant does not fit.

    Example:
        >>> from hedgerow import PureDP
        >>> stream = Stream(48_842.0, math.log(1e6), 1000)
        >>> rules = practical_rules(
        ...     stream, PureDP(1.0), 1.0, "4c", updates=20, threshold=0.02, answer_share=0.3
        ... )
        >>> round(rules.threshold), round(rules.watch.test_scale, 1), rules.error is None
        (977, 62.0, True)
    """
    check_variant(variant, budget)
    if variant == "4a":
        raise ConfigError(
            "variant 4a takes its numbers from its theorem",
            remedy="use 4b, 4c or pay-as-you-go with a chosen threshold",
        )
    c = practical_updates(stream, budget.regime, amount) if updates is None else updates
    share = practical_answer_share(stream, budget.regime) if answer_share is None else answer_share
    watch = shared_watch(stream, budget.regime, (1.0 - share) * amount, c, once=variant == "4c")
    level = watch.test_scale * math.log(max(math.e, stream.queries / (2.0 * FALSE_FIRES * c)))
    return Rules(
        variant=variant,
        updates=c,
        watch=watch,
        answer_charge=share * amount / c,
        answer_kind=NoiseKind.LAPLACE if budget.regime is Regime.PURE else NoiseKind.GAUSSIAN,
        threshold=level if threshold is None else threshold * stream.unit,
        queries=None if variant == "pay-as-you-go" else stream.queries,
    )


def practical_answer_share(stream: Stream, regime: Regime) -> float:
    """Share of a session's amount that pays for noisy answers [H].

    In zCDP tests are cheap and thresholds low, so that sessions from nothing find more to correct than they may. A
    larger share for answers raises thresholds by a ninth, and corrections last. Sessions that start from a release need
    few corrections, and keep lower thresholds.

    Example:
        >>> [practical_answer_share(Stream(48_842.0, math.log(1e6), 1000), regime) for regime in Regime]
        [0.25, 0.4, 0.25]
    """
    return _ANSWER_SHARE_ZCDP if regime is Regime.ZCDP and not stream.warm else _ANSWER_SHARE


def practical_updates(stream: Stream, regime: Regime, amount: float) -> int:
    """Number of updates that a table of so many records bears [H].

    More updates describe the table better, and each is noisier: noise grows with c (pure) or sqrt(c) (zCDP), and what c
    updates leave unseen falls about as 1 / c. The factors were fitted on Adult. After a warm start little is left to
    correct: a tenth of the updates, each with ten times the charge. In zCDP tests have 2.8 times less noise than in
    GDP, where a sparse vector costs what any mechanism of its epsilon does: twice the updates.

    Example:
        >>> [practical_updates(Stream(48_842.0, math.log(1e6), 1000), regime, 0.02) for regime in Regime]
        [14, 256, 128]
    """
    strength = amount if regime is Regime.PURE else math.sqrt(2.0 * amount)
    signal = stream.unit * strength / stream.sensitivity
    best = {
        Regime.PURE: 0.45 * math.sqrt(signal),
        Regime.ZCDP: 0.56 * math.pow(signal, 2.0 / 3.0),
        Regime.GDP: 0.28 * math.pow(signal, 2.0 / 3.0),
    }[regime]
    return min(MOST_UPDATES, max(1, round(best / 10.0 if stream.warm else best)))
