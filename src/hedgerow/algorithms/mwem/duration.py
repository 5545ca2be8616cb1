"""The time that a run takes on one core: what is to be done, rates that were measured, and how slow this machine is.

A run whose hypothesis is a histogram passes over its cells; over trees each round answers every candidate and sweeps
over the cliques; consistent tables are put together once. Whatever is measured costs its noise, and every record that
is read or drawn a little. Where noisy answers decide the number of rounds, about three quarters of the most are taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hedgerow.algorithms.mwem.settings import MWEMSettings
from hedgerow.models import Footprint, Proximal, Refit, Sweeps
from hedgerow.queries import Measurable, Parities, Parity, Workload
from hedgerow.system import slowness

_START = 1.5
"""Seconds to load libraries and compiled functions, to open files and to write the release."""
_READ, _DRAW = 15e-9, 35e-9
"""A value of a record that is read; one that is drawn and written."""
_NOISE, _MEASURE = 8.4e-6, 45e-6
"""One noisy value; one measurement, beside its values."""
_CANDIDATE = 80e-6
"""Decisions about a candidate before anything is measured."""

_PASS, _CALL = 1.2e-9, 60e-6
"""A pass over a histogram, per cell, between a multiplication and a sum; and however small it is."""
_MOST_PASSED = 40
"""Measurements beyond these are fitted on marginals of the histogram, together."""
_PARITY = 3e-4
"""A parity of a histogram that is fitted to parities alone, by Newton's method."""

_TABLE, _TABLE_CELL = 60e-6, 10e-6
"""A table that is held over a tree, and each of its cells."""

_ROUND, _ROUND_ATTRIBUTE, _ROUND_SCOPE, _ROUND_CELL = 15e-3, 1.2e-3, 60e-6, 60e-9
"""A round over trees; for each attribute, scope of a candidate, and cell that the trees may have at the end."""
_SWEEP = 5e-9
"""A sweep over trees with steps that do not start anew, per cell."""
_LAST, _LAST_CELL = 0.2, 1e-6
"""The last fit of trees."""

_SHARE_OF_ROUNDS = 0.75


def seconds_of_run(
    config: MWEMSettings,
    workload: Workload,
    candidates: Workload,
    held: Footprint,
    *,
    rounds: int,
    adaptive: bool,
    cells: int,
    steps: Sequence[Measurable],
    total: float,
) -> float:
    """Rough seconds of a whole run of the command line on one core of this machine, with noise that protects.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        candidates: Candidates of rounds that select.
        held: The hypothesis.
        rounds: Number of rounds, the most there can be if they adapt.
        adaptive: Whether noisy answers decide the number of rounds.
        cells: Cells that trees are expected to have at the end.
        steps: Targets that are measured in turn; none where rounds select.
        total: A public guess of the number of records.
    """
    values = total * len(workload.domain)
    made = math.ceil(_SHARE_OF_ROUNDS * rounds) if adaptive else rounds
    if steps:
        fit, noisy = _fit_once(config, workload, held, steps), sum(target.size for target in steps)
        made = len(steps)
    else:
        fit = _rounds(config, candidates, held, made, cells)
        noisy = round(made * candidates.n_queries / max(1, candidates.n_candidates))
        if held.tree_cells is not None:  # cliques hold what is measured
            noisy = min(noisy, cells // 3)
    decided = _CANDIDATE * max(workload.n_candidates, candidates.n_candidates)
    parts = (_START, (_READ + _DRAW) * values, decided, _NOISE * noisy, _MEASURE * made, fit)
    return slowness() * sum(parts)


def _fit_once(config: MWEMSettings, workload: Workload, held: Footprint, steps: Sequence[Measurable]) -> float:
    """One fit to all that was measured."""
    if held.table_cells:
        return _LAST + _TABLE * len({target.scope for target in steps}) + _TABLE_CELL * held.table_cells
    if held.tree_cells is not None:
        return _LAST + _LAST_CELL * held.tree_cells
    if all(isinstance(target, Parity) for target in steps):
        return _PARITY * len(steps) + _PASS * workload.domain.size * math.log2(workload.domain.size)
    return _passes(config.refit, min(len(steps), _MOST_PASSED)) * (_CALL + _PASS * workload.domain.size)


def _rounds(config: MWEMSettings, candidates: Workload, held: Footprint, rounds: int, cells: int) -> float:
    """Rounds that answer all candidates, and fit after each."""
    domain = candidates.domain
    if held.tree_cells is None:
        answers = (rounds + 1) * min(len(candidates.scopes), 2 * len(domain))
        between = sum(_passes(config.refit_between, measured) for measured in range(1, rounds))
        return (answers + between + _passes(config.refit, rounds)) * (_CALL + _PASS * domain.size)
    scopes = sum(len(family.scopes) for family in candidates.families if not isinstance(family, Parities))
    each = _ROUND + _ROUND_ATTRIBUTE * len(domain) + _ROUND_SCOPE * scopes
    if isinstance(config.refit, Proximal):
        return rounds * (each + _ROUND_CELL * cells) + _LAST + _LAST_CELL * cells
    sweeps = rounds * _passes(config.refit_between, 1)
    return rounds * each + sweeps * (_CALL * rounds + _SWEEP * cells)


def _passes(rule: Refit | None, measured: int) -> int:
    """Passes of one fit to ``measured`` measurements; proximal fits double their steps from 4 to some thousands."""
    if isinstance(rule, Sweeps):
        return rule.sweeps * measured
    return (1 if rule is None else rule.polish + round(10 / math.log2(rule.growth))) * measured
