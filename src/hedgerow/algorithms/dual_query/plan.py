"""What a run of DualQuery would need, spend and promise: from public quantities alone."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from hedgerow.algorithms.dual_query.accounting import (
    ANY_ZCDP,
    BOUNDED_ZCDP,
    HETEROGENEOUS,
    PAPER,
    PURE,
    TIGHT_ZCDP,
    Accounting,
)
from hedgerow.algorithms.dual_query.parameters import Game, Parameters, predicted_error, smallest_alpha
from hedgerow.algorithms.dual_query.session import beta_of, choose, outside_error, stated_delta
from hedgerow.algorithms.shared import Outline, charges_line, memory_line
from hedgerow.models import usable_bytes
from hedgerow.privacy import Budget, Subsampled
from hedgerow.quantities import human
from hedgerow.queries import Workload

if TYPE_CHECKING:
    from hedgerow.algorithms.dual_query.dual_query import DualQuery

_BYTES_PER_QUERY = 250
"""Measured on three-way cells of 100 attributes: sums, answers, scores and weights, and the objects of the scopes."""


def make_plan(config: DualQuery, workload: Workload, budget: Budget, total: float) -> Outline:
    """Plan a run.

    Args:
        config: The configuration.
        workload: What the release should answer well.
        budget: What may be spent.
        total: A public guess of the number of records.

    Raises:
        ConfigError: The configuration does not fit the budget or the workload.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP, Workload
        >>> from hedgerow.algorithms.dual_query.dual_query import DualQuery
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "abcd"), 2)
        >>> make_plan(DualQuery(rounds=20), workload, PureDP(1.0), 10_000).facts["rounds"]
        20
    """
    config.check(workload, budget.regime)
    queries = workload.by_query()
    seen = budget.sampled if isinstance(budget, Subsampled) else total
    game = Game.of(queries, budget, max(1.0, seen), beta_of(config, budget))
    charges = config.charges(budget.limit, budget)
    play = choose(config, game, budget.regime, charges.rounds)
    cost = play.accounting(game, stated_delta(budget))
    bound = play.bound(game) + outside_error(config, budget, game, charges.total)
    alpha = smallest_alpha(config.constants, game, budget.regime, charges.rounds)
    facts = {
        "algorithm": "DualQuery",
        **asdict(play),
        "queries": queries.n_queries,
        "accounting": cost.to_dict(),
        "charges": asdict(charges),
        "unit": budget.unit,
        "limit": budget.limit,
        "bound": bound,
        "predicted_error": predicted_error(play, game),
        "smallest_alpha": alpha,
        "beta": config.beta,
    }
    required, available = _BYTES_PER_QUERY * queries.n_queries, usable_bytes()
    needing = f"{queries.n_queries:,} queries, none for the cells of the domain ({human(workload.domain.size)})"
    shares = {"number of records": charges.total, "rounds": charges.rounds, "error estimate": charges.error}
    text = (
        memory_line(required, available, needing),
        ("rounds", f"{play.rounds}, each {play.samples:,} drawn queries and a step of {play.step:.3g}"),
        charges_line(budget.limit, budget.unit, shares),
        *_sample(budget),
        *_composition(cost),
        *_promise(play, game, alpha, bound, config.beta),
    )
    return Outline(text, facts, required, available)


def _sample(budget: Budget) -> list[tuple[str, str]]:
    if not isinstance(budget, Subsampled):
        return []
    epsilon, delta = budget.approximate()
    drawn = f"{budget.sampled:,} of {budget.population:,} records, kept secret"
    return [("sample", f"{drawn}: for the whole table epsilon {epsilon:.4g} and delta {delta:.3g}")]


def _composition(cost: Accounting) -> tuple[tuple[str, str], ...]:
    """The same rounds by every composition theorem."""
    found = cost.epsilons
    text = {
        PURE: "pure",
        PAPER: "the paper's",
        HETEROGENEOUS: "heterogeneous",
        ANY_ZCDP: "zCDP",
        BOUNDED_ZCDP: "zCDP of bounded range",
        TIGHT_ZCDP: "zCDP of bounded range at its tightest",
    }
    others = ", ".join(f"{words} {found[name]:.4g}" for name, words in text.items() if name != cost.best)
    best = f"the rounds alone: epsilon {found[cost.best]:.4g} with delta {cost.delta:.3g}, by {text[cost.best]}"
    return ("costs", best), ("", f"by other compositions: {others}")


def _promise(play: Parameters, game: Game, alpha: float, bound: float, beta: float) -> list[tuple[str, str]]:
    """The theorem, if it says anything here, and what the rule expects."""
    exact = f"within {play.slack:.3g}" if play.slack else "exact"
    text = (
        f"no error above {bound:.3g} of the records, except with probability {beta:.3g}, if best responses are {exact}"
    )
    if bound >= 1.0:
        text = f"none: the smallest alpha that this budget pays for is {alpha:.3g}; the release estimates its own error"
    near = f"{predicted_error(play, game):.2g} of the records"
    expected = f"largest errors of single queries near {near}: a rule of thumb, no theorem"
    return [("bound", text), *([("expect", expected)] if play.rule == "practical" else [])]
