"""What configurations of several algorithms check of their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hedgerow.errors import ConfigError, MarginalTooLargeError
from hedgerow.models import has_room, usable_bytes
from hedgerow.privacy import Regime
from hedgerow.queries import NoiseKind, Workload

_ANSWER_BYTES = 48
"""Exact answers, those of the hypothesis, and what scores are computed with."""


def is_number(value: object) -> bool:
    """Whether it is one; True and False are none.

    Example:
        >>> is_number(0.5), is_number(True), is_number("0.5")
        (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: object) -> bool:
    """Whether it is a whole number from 1.

    Example:
        >>> is_count(3), is_count(0), is_count(3.0), is_count(True)
        (True, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def check_noise(kind: NoiseKind | None, regime: Regime) -> None:
    """Refuse noise that a regime does not allow.

    Args:
        kind: Its shape; None lets the regime choose.
        regime: Of the budget.

    Raises:
        ConfigError: It is Gaussian under pure differential privacy.

    Example:
        >>> check_noise(NoiseKind.GAUSSIAN, Regime.PURE)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: Gaussian noise is not purely private
          Remedy: use Laplace noise, or give a delta
    """
    if kind is NoiseKind.GAUSSIAN and regime is Regime.PURE:
        raise ConfigError("Gaussian noise is not purely private", remedy="use Laplace noise, or give a delta")


def check_shares(total: float, error: float, initial: float = 0.0) -> None:
    """Refuse shares of a budget that cannot be, or that leave nothing for the rounds.

    Args:
        total: For the noisy number of records.
        error: For the noisy error of the workload at the end; may be 0.
        initial: For what is measured before the first round.

    Raises:
        ConfigError: One is out of its range, or their sum is 1 or more.

    Example:
        >>> check_shares(total=0.5, error=0.5)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: total_share = 0.5 and error_share = 0.5 leave nothing for the rounds
          Remedy: give a total_share above 0, and an error_share from 0 on, that sum to less than 1
    """
    if 0.0 < total < 1.0 and 0.0 <= error < 1.0 and total + error + initial < 1.0:
        return
    beside = f" beside initial_share = {initial!r}" if initial else ""
    raise ConfigError(
        f"total_share = {total!r} and error_share = {error!r}{beside} leave nothing for the rounds",
        remedy="give a total_share above 0, and an error_share from 0 on, that sum to less than 1",
    )


def check_answers(workloads: Sequence[Workload]) -> None:
    """Refuse workloads whose answers do not fit into memory, before anything is counted or spent.

    Args:
        workloads: All that a run asks about.

    Raises:
        MarginalTooLargeError: They do not.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> check_answers([Workload.marginals(Domain((IntegerRange("a", 0, 1),)), 1)])
    """
    required = _ANSWER_BYTES * sum(workload.n_queries for workload in workloads)
    if has_room(required):
        return
    domain, scopes = workloads[0].domain, workloads[0].scopes
    sizes = [math.prod(domain.shape_of(scope)) for scope in scopes]
    largest = max(range(len(scopes)), key=sizes.__getitem__)
    raise MarginalTooLargeError(
        attributes=scopes[largest],
        cells=sizes[largest],
        required_bytes=required,
        available_bytes=usable_bytes(),
        n_marginals=len(scopes),
    )
