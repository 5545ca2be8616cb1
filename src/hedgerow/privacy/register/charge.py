"""What a release costs in the register of its table: its whole budget, in the register's unit.

A register adds up either epsilons or rhos (theory.md section 0), never both. Into one that adds up rhos goes
everything: an epsilon-differentially private release is (epsilon tanh(epsilon / 2))-zCDP. Into one that adds up
epsilons go pure releases alone, since a rho has no epsilon without a delta.

**Samples.** A budget that is spent on a secret sample holds for the whole table as the epsilon that it is amplified
to, if it is pure. If it is zCDP, its own rho holds for the whole table: the release is a mixture, over the same
uniform choices of positions on both tables, of releases whose Renyi divergences are at most ``rho alpha`` each, and
that divergence is jointly quasi-convex (van Erven and Harremoes 2014, theorem 13). What amplification gains of a rho
has no rho, and is not counted.
"""

from __future__ import annotations

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets import ABOVE, ZCDP, ApproxDP, Budget, PureDP, Regime, pure_rho

Limit = PureDP | ZCDP | ApproxDP
"""What all that is in a register may add up to."""


def charge_of(budget: Budget, limit: Limit) -> float:
    """What a release under a budget is charged in a register, rounded up.

    Args:
        budget: The release's budget.
        limit: The register's limit.

    Returns:
        epsilon or rho, as the limit's unit says.

    Raises:
        ConfigError: The budget is of another neighbouring relation, or has no charge in the register's unit.

    Example:
        >>> charge_of(PureDP(1.0), PureDP(3.0)), round(charge_of(PureDP(1.0), ZCDP(3.0)), 6)
        (1.0, 0.462117)
        >>> charge_of(ZCDP(0.1), PureDP(3.0))
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: the register adds up epsilons, and a budget in rho has none
          Remedy: give the release a pure budget (an epsilon without a delta), or keep a register in rho
    """
    _check_relation(budget, limit)
    if limit.unit == "epsilon":
        if budget.regime is not Regime.PURE:
            raise ConfigError(
                "the register adds up epsilons, and a budget in rho has none",
                remedy="give the release a pure budget (an epsilon without a delta), or keep a register in rho",
            )
        return budget.approximate()[0]
    if budget.regime is Regime.ZCDP:
        return budget.limit
    return pure_rho(budget.approximate()[0]) * ABOVE


def _check_relation(budget: Budget, limit: Limit) -> None:
    asked, kept = budget.neighbours.unfiltered, limit.neighbours
    if asked is not kept:
        raise ConfigError(
            f"the register adds up releases between tables that are neighbours by {kept.value!r}, not by "
            f"{asked.value!r}",
            remedy=f"give the release neighbours={kept.value!r}",
        )
