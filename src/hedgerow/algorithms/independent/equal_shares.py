"""Measure every candidate of a workload once, with equal shares of a budget, and fit a hypothesis to the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.algorithms.shared.algorithm import make_release, number_of_records
from hedgerow.algorithms.shared.bounds import BETA
from hedgerow.algorithms.shared.charges import Charges, noise_of
from hedgerow.algorithms.shared.outline import Outline, charges_line, memory_line, says_nothing
from hedgerow.algorithms.shared.progress import ProgressCallback, RoundReport
from hedgerow.domain import Domain
from hedgerow.models import Footprint, Hypothesis, hypothesis, hypothesis_for, refit, suited, usable_bytes
from hedgerow.privacy import Budget
from hedgerow.queries import Measurable, Measurement, Workload

if TYPE_CHECKING:
    from hedgerow.algorithms.independent.independent_noise import IndependentNoise
    from hedgerow.privacy import Curator
    from hedgerow.release import Release

Retelling = Callable[[Domain, Sequence[Measurement], float], Sequence[Measurement]]
"""Says what measurements say in another way, given the domain and the number of records."""


def footprint(config: IndependentNoise, measured: Workload) -> Footprint:
    """What the hypothesis of a run takes; where nothing is fitted it stays uniform.

    Args:
        config: Says whether there is a fit.
        measured: Whose candidates are measured.

    Example:
        >>> from hedgerow.algorithms.independent.independent_noise import IndependentNoise
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> workload = Workload.marginals(Domain(IntegerRange(f"x{i}", 0, 9) for i in range(20)), 2)
        >>> footprint(IndependentNoise(fit=None), workload).tree_cells
        0
        >>> footprint(IndependentNoise(), workload).tree_cells == 10**20
        True
    """
    return Footprint.of(measured.domain, ()) if config.fit is None else Footprint.of_workload(measured)


def run_equal_shares(
    config: IndependentNoise,
    curator: Curator,
    measured: Workload,
    workload: Workload,
    *,
    name: str,
    parameters: dict[str, Any],
    fitted: Retelling | None = None,
    progress: ProgressCallback | None = None,
) -> Release:
    """Measure every candidate of a workload with an equal share, fit a hypothesis, and make the release.

    Args:
        config: Noise, fit and shares.
        curator: Its whole remaining budget is spent.
        measured: Whose candidates are measured.
        workload: What the release should answer well.
        name: Of the algorithm, for the release.
        parameters: Its configuration, for the release.
        fitted: What the hypothesis is fitted to, made of the domain, the measurements and the number of records; the
            measurements themselves unless given.
        progress: Called after every measurement.

    Raises:
        QueryError: A query depends on no record; nothing was spent.
    """
    charges = _charges(config, curator.ledger.remaining, curator.budget)
    each = charges.rounds / measured.n_candidates
    targets = [measured.candidate(index) for index in range(measured.n_candidates)]
    for target in targets:  # all that could be refused is refused before anything is spent
        curator.noise_for(target, each, config.noise)
    total = number_of_records(curator, charges.total)
    model = hypothesis(workload.domain, total) if config.fit is None else hypothesis_for(measured, total)
    found: list[Measurement] = []
    for target in targets:
        found.append(curator.measure(target, each, kind=config.noise))
        if progress is not None:
            progress(_report(curator, model, found, len(targets)))
    if config.fit is not None:
        told = found if fitted is None else fitted(workload.domain, found, model.total)
        model = suited(model, [measured.target for measured in told])
        refit(model, told, config.fit)
    return make_release(
        curator, workload, model, name=name, parameters=parameters, measurements=found, error_charge=charges.error
    )


def _report(curator: Curator, model: Hypothesis, found: list[Measurement], wanted: int) -> RoundReport:
    target, ledger = found[-1].target, curator.ledger
    residual = float(np.abs(found[-1].values - target.on(model)).sum())
    return RoundReport(len(found), wanted, ledger.spent, ledger.limit, ledger.unit, target.text, residual)


def plan_equal_shares(
    config: IndependentNoise, measured: Workload, workload: Workload, budget: Budget, total: float
) -> Outline:
    """The plan of `run_equal_shares`.

    Args:
        config: Noise, fit and shares.
        measured: Whose candidates would be measured.
        workload: What the release should answer well.
        budget: What may be spent.
        total: A public guess of the number of records.
    """
    charges = _charges(config, budget.limit, budget)
    each, values = charges.rounds / measured.n_candidates, measured.n_queries
    noises = [noise_of(target, budget, each, config.noise) for target in _different(measured, budget)]
    bound = max(noise.quantile(1.0 - BETA, values) for noise in noises)
    loudest = max(noises, key=lambda noise: noise.expected_abs)
    held, available = footprint(config, measured), usable_bytes()
    shares = {"number of records": charges.total, "measurements": charges.rounds, "error estimate": charges.error}
    text = (
        memory_line(held.required_bytes, available, held.words),
        ("rounds", f"{measured.n_candidates:,} measurements, each {each:.4g} {budget.unit}"),
        charges_line(budget.limit, budget.unit, shares),
        ("noise", f"about {loudest.expected_abs:,.1f} counts on each of {values:,} measured values"),
        bound_line("no measured value", bound, total),
        ("", "of the hypothesis fitted to them no theorem speaks; the release estimates its error"),
    )
    facts = {
        "measured": measured.n_candidates,
        "values": values,
        "charge": each,
        "unit": budget.unit,
        "noise": loudest.kind.value,
        "scale": max(noise.scale for noise in noises),
        "bound": bound,
        "failure": BETA,
        "charges": {"total": charges.total, "measurements": charges.rounds, "error": charges.error},
    }
    return Outline(text, facts, held.required_bytes, available)


def bound_line(what: str, bound: float, total: float) -> tuple[str, str]:
    """What a plan says about the noise of all measurements together.

    Args:
        what: That does not err by more, in words.
        bound: In counts, but for probability ``BETA``.
        total: Number of records, which no count errs by.

    Example:
        >>> bound_line("no measured value", 1200.0, 1000.0)
        ('bound', 'no measured value errs by more than 1,200 counts, except with probability 0.05; that says nothing')
    """
    sentence = f"{what} errs by more than {bound:,.0f} counts, except with probability {BETA:.3g}"
    return "bound", f"{sentence}{says_nothing(bound, total)}"


def _different(measured: Workload, budget: Budget) -> list[Measurable]:
    """One candidate of each family and sensitivity: all others have the same noise."""
    families = [measured.family_of(index) for index in range(measured.n_candidates)]
    keys = zip(families, measured.sensitivities(budget.neighbours).tolist(), strict=True)
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    return [measured.candidate(index) for index in sorted(first.values())]


def _charges(config: IndependentNoise, limit: float, budget: Budget) -> Charges:
    error = config.error_share if config.fit is not None else 0.0  # nothing is promised of a hypothesis never fitted
    return Charges.split(limit, budget.neighbours, total=config.total_share, initial=0.0, error=error)
