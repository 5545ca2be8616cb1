"""What a session would need, spend and promise, from public quantities alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.algorithms.online_pmw.answer import Basis, Known
from hedgerow.algorithms.online_pmw.rules import Rules, Stream
from hedgerow.algorithms.shared import Outline, memory_line, noise_of_total
from hedgerow.domain import Domain
from hedgerow.models import Footprint, may_be_dense, usable_bytes
from hedgerow.privacy import AdditiveNoise, Budget, grid_sensitivity
from hedgerow.queries import Conjunction, Explicit, LinearQuery, of_query
from hedgerow.release import FIRST_SHARE, TOTAL_SHARE

if TYPE_CHECKING:
    from hedgerow.algorithms.online_pmw.online_pmw import OnlinePMW

_COPIES, _WARM_COPIES = 3, 5
"""Arrays over all cells that a session with a histogram holds at once."""

_TOTAL_RISK = 0.1
"""Share of beta for the noisy number of records."""
_CONFIDENCE = 0.95


def footprint(config: OnlinePMW, domain: Domain, *, warm: bool) -> Footprint:
    """What the hypothesis of a session takes, whatever is asked.

    Args:
        config: Says how large trees may get.
        domain: Of the records.
        warm: Whether the session starts from a release.

    Example:
        >>> from hedgerow.algorithms.online_pmw.online_pmw import OnlinePMW
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> footprint(OnlinePMW(), Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30)), warm=False).tree_cells
        4194304
    """
    largest = None if may_be_dense(domain) else config.largest_tree
    return Footprint.up_to(domain, largest, _WARM_COPIES if warm else _COPIES)


def stream_of(
    config: OnlinePMW, budget: Budget, domain: Domain, total: float, noise: AdditiveNoise | None, *, warm: bool
) -> Stream:
    """The public quantities that fix the rules of a session.

    Args:
        config: The configuration.
        budget: What is spent, and between which tables.
        domain: Of the records.
        total: Number of records, noisy or public.
        noise: Of that number.
        warm: Whether the session starts from a release.
    """
    low, high = config.bounds
    slack = 0.0 if noise is None else max(abs(low), abs(high)) * noise.quantile(1.0 - _TOTAL_RISK * config.beta)
    return Stream(
        records=total,
        log_cells=math.log(domain.size) - (mixed(domain) * math.log(config.uniform_share) if warm else 0.0),
        queries=config.queries,
        beta=config.beta * (1.0 if noise is None else 1.0 - _TOTAL_RISK),
        sensitivity=float(grid_sensitivity(of_query(low, high, budget.neighbours).l1)),
        width=high - low,
        slack=slack,
        warm=warm,
    )


def mixed(domain: Domain) -> int:
    """Into how many factors of a warm start the uniform distribution is mixed, at most (see ``online_start.py``)."""
    return 1 if may_be_dense(domain) else len(domain)


def make_plan(config: OnlinePMW, domain: Domain, budget: Budget, total: float, *, warm: bool) -> Outline:
    """The plan of a session; nothing is read and nothing is spent.

    Args:
        config: The configuration.
        domain: Of the records.
        budget: What may be spent by the session, without what a release that it starts from has spent.
        total: A public guess of the number of records.
        warm: Whether it would start from a release.

    Raises:
        ConfigError: The configuration does not fit the budget.
    """
    charge = config.total_share * budget.limit
    noise = noise_of_total(budget, charge)
    spent = 0.0 if noise is None else charge
    rules = config.rules(stream_of(config, budget, domain, total, noise, warm=warm), budget, budget.limit - spent)
    held, available = footprint(config, domain, warm=warm), usable_bytes()
    tested, fired = _widths(Basis(config, budget, rules, total, noise, secure=True), domain)
    facts = {
        "algorithm": "OnlinePMW",
        **rules.to_dict(),
        "theorem": rules.error is not None,
        "half_interval_tested": tested,
        "half_interval_answered": fired,
        "total_charge": spent,
        "unit": budget.unit,
        "limit": budget.limit,
        "cells": domain.size,
    }
    text = (memory_line(held.required_bytes, available, held.words), *_told(rules, budget, total, facts))
    return Outline(text, facts, held.required_bytes, available)


def _widths(basis: Basis, domain: Domain) -> tuple[float, float]:
    """Half of the intervals of the first query: if its test stays quiet, and if it fires."""
    query = _largest_query(domain, basis.config.bounds)
    known = (Known(query, 0.0, basis.rules.threshold_at(1)), Known(query, 0.0, None))
    kept = 1.0 if basis.total_noise is None else 1.0 - TOTAL_SHARE
    tested, fired = (basis.radius(each)(FIRST_SHARE * kept * (1.0 - _CONFIDENCE)) for each in known)
    return tested, fired


def _largest_query(domain: Domain, bounds: tuple[float, float]) -> LinearQuery:
    name, size = domain.names[0], domain.shape[0]
    if bounds == (0.0, 1.0):
        return Conjunction.where(domain, {name: [0]})
    return Explicit.of(domain, [name], np.resize(bounds, size))


def _told(rules: Rules, budget: Budget, total: float, facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    epoch, unit = rules.watch.charge(budget.regime), budget.unit
    queries = "any number" if rules.queries is None else f"up to {rules.queries:,}"
    epochs = f"{rules.draws:,} epochs of {epoch:.3g}" if rules.draws > 1 else f"one sparse vector of {epoch:.3g}"
    return (
        ("variant", rules.variant),
        ("queries", f"{queries} tested against the data"),
        ("updates", f"at most {rules.updates:,}, each an answer for {rules.answer_charge:.3g} {unit}"),
        (
            "charges",
            f"{budget.limit:.6g} {unit}: number of records {facts['total_charge']:.4g}, {epochs}, and the answers",
        ),
        ("fires", f"above an error of about {_share(rules.threshold_at(1), total)}"),
        (
            "answers",
            f"with {100 * _CONFIDENCE:g}% confidence within {_share(facts['half_interval_tested'], total)} where a "
            f"test stays quiet, and {_share(facts['half_interval_answered'], total)} where the data answer",
        ),
        ("bound", _bound(rules, total)),
    )


def _bound(rules: Rules, total: float) -> str:
    if rules.error is None:
        return "none: the numbers are ones that have proved useful; alpha asks for a promise"
    return f"no answer is off by more than {_share(rules.error, total)}, by the theorem"


def _share(counts: float, total: float) -> str:
    return f"{counts:,.0f} records ({100.0 * counts / total:.2g}%)"
