"""The plan of a run of MWEM: memory, time, charges and promise, from public quantities alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from hedgerow.algorithms.mwem.interactions import planned_search, with_search
from hedgerow.algorithms.mwem.opening import annealed_candidates
from hedgerow.algorithms.mwem.settings import (
    MWEMSettings,
    annealed_rounds,
    candidates_of,
    first_rounds,
    is_annealed,
    limit_of,
    round_charge,
)
from hedgerow.algorithms.mwem.strategy_choice import (
    UNIFORM,
    Schedule,
    StrategyChoice,
    grids_are_lost,
    is_over_tree,
    schedule_of,
)
from hedgerow.algorithms.shared import (
    BETA,
    Bound,
    Charges,
    Line,
    RoundCharge,
    Task,
    bound_of,
    expected_noise,
    noise_of_total,
)
from hedgerow.algorithms.shared.bounds import task_of
from hedgerow.algorithms.shared.plans import (
    charges_line,
    fits_into,
    memory_line,
    noisy_values,
    process_bytes,
    total_error,
)
from hedgerow.algorithms.strategies.candidates import Limit
from hedgerow.cards import MOST_ROWS, card
from hedgerow.domain import Categorical, Clique, Domain
from hedgerow.models import LARGEST_TREE, Footprint, Proximal, Refit, Sweeps, cells_read, coarse_first, usable_bytes
from hedgerow.privacy import GRID, LARGEST_MASS, Budget, ExponentialMechanism, additive_noise, noise_of, noises_of
from hedgerow.quantities import human_bytes, human_seconds
from hedgerow.queries import Marginal, Measurable, Parities, Parity, Workload
from hedgerow.system import slowness

_BETA_TOTAL = 0.1 * BETA
"""Part of the failure probability that goes to the noisy number of records."""

_SHOWN = 4
"""Measurements chosen beforehand whose noise is told one by one."""


@dataclass(frozen=True)
class Plan:
    """Plan of a run.

    Attributes:
        rounds: Number of rounds; for adaptive rounds the most that there can be before the charge doubles.
        adaptive: Whether noisy values decide the number of rounds.
        charges: Charges of the parts of the run, in ``unit``.
        round: Charge of one round (the first, where they differ), in ``unit``.
        unit: ``"epsilon"`` or ``"rho"``.
        limit: The budget.
        noise: Text of every family of the workload, with the expected absolute noise of one value, in counts.
        cells: Cells of the domain.
        tree_cells: Cells that the cliques of junction trees may have, or None where a histogram holds the domain.
        required_bytes: Memory of the hypothesis and the work on it.
        process_bytes: Rough memory of the whole process at its peak.
        available_bytes: Memory that may be used.
        seconds: Rough time of the whole run on one core of this machine, from reading to records.
        bound: The theorem's bound on the largest error for these rounds and charges, with what it does not cover.
        decision: Whether rounds adapt or a fixed strategy is measured, with the predicted errors; None where the
            configuration leaves no choice.
        in_turn: Whether what is measured is chosen beforehand, with charges that may differ.
        uniform: Whether ranges of one table are expected to be answered best by the uniform table.

    Example:
        >>> from hedgerow import MWEM
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)
        >>> plan = MWEM(rounds=2).plan(workload, PureDP(1.0), total=1000)
        >>> plan.rounds, plan.unit, round(plan.round.selection, 4), plan.fits
        (2, 'epsilon', 0.2375, True)
    """

    rounds: int
    adaptive: bool
    charges: Charges
    round: RoundCharge
    unit: str
    limit: float
    noise: tuple[tuple[str, float], ...]
    cells: int
    tree_cells: int | None
    required_bytes: int
    process_bytes: int
    available_bytes: int
    seconds: float
    bound: Bound
    decision: StrategyChoice | None = None
    in_turn: bool = False
    uniform: bool = False

    def __repr__(self) -> str:
        """One line; ``lines`` says everything."""
        rounds = f"at most {self.rounds:,}" if self.adaptive else f"{self.rounds:,}"
        memory = human_bytes(self.process_bytes)
        word = "round" if self.rounds == 1 else "rounds"
        return f"Plan({rounds} {word}, {self.limit:.4g} {self.unit}, {memory}{'' if self.fits else ': too much'})"

    def _repr_html_(self) -> str:
        """Memory, charges and noise, for notebooks."""
        noise = ((text, f"{size:,.1f}") for text, size in self.noise)
        more = len(self.noise) - MOST_ROWS
        return card(repr(self), [], ("measured", "expected error of one value, in counts"), noise, more=more)

    @property
    def fits(self) -> bool:
        """Whether the hypothesis, and what the process takes beside it, fits into memory."""
        return fits_into(self.available_bytes, self.required_bytes, self.process_bytes)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        plain = asdict(replace(self, decision=None))
        return {**plain, "decision": self.decision and self.decision.to_dict(), "fits": self.fits}

    def lines(self, total: float) -> list[Line]:
        """The plan as people read it: pairs of a word and a sentence.

        Args:
            total: The public guess of the number of records that the plan was made for.
        """
        held = Footprint(self.cells, self.tree_cells, self.required_bytes)
        return [
            memory_line(self.required_bytes, self.available_bytes, held.words, process=self.process_bytes),
            ("time", f"about {human_seconds(self.seconds)} in all, on one core of this machine"),
            *(() if self.decision is None else self.decision.lines()),
            *([("decision", UNIFORM)] if self.uniform else []),
            ("rounds", self._rounds_sentence()),
            charges_line(self.limit, self.unit, self.charges.shares()),
            *(
                ("noise", f"about {noise:,.1f} counts on each measured value of {_short(text)}")
                for text, noise in self.noise
            ),
            *self._bound_lines(total),
        ]

    def _rounds_sentence(self) -> str:
        each, most = self.round, "at most " if self.adaptive else ""
        if self.in_turn:
            mean = f"on average {each.measurement:.4g} {self.unit} each"
            return f"{self.rounds}, in turn, {mean} (nothing is spent on selecting)"
        if not each.selection:
            note = "(everything is measured, so nothing is spent on selecting)"
            return f"{most}{self.rounds}, each {each.measurement:.4g} {self.unit} to measure {note}"
        parts = f"{each.selection:.4g} {self.unit} to select and {each.measurement:.4g} {self.unit} to measure"
        return f"{most}{self.rounds}, {'at first each' if self.adaptive else 'each'} {parts}"

    def _bound_lines(self, total: float) -> list[Line]:
        bound = self.bound
        if self.in_turn:
            about = "theorem 2.3 is about rounds that select, and nothing is selected"
            return [("bound", f"none: {about}; the release estimates its own error")]
        if bound.error >= total:
            vacuous = "theorem 2.3 allows errors as large as the number of records here"
            return [("bound", f"none: {vacuous}; the release estimates its own error")]
        promise = f"no error above {bound.error:,.0f} counts, except with probability {bound.failure:.3g} (theorem 2.3)"
        if not bound.caveats:
            return [("bound", promise)]
        guide = f"a guide only, for this run is not the theorem's: {'; '.join(bound.caveats)}"
        return [("bound", promise), ("", guide), ("", "the release estimates its own error")]


_LONGEST = 100
"""Letters of a workload that a line of a plan names."""


def _short(spec: str) -> str:
    """A family of a workload, with the first of its scopes where it names many.

    Example:
        >>> _short("marginals:age*sex,age*job")
        'marginals:age*sex,age*job'
        >>> _short("marginals:" + ",".join(f"x{i}*x{i + 1}" for i in range(100)))[70:]
        ',x10*x11,x11*x12,x12*x13, and 87 more'
    """
    if len(spec) <= _LONGEST:
        return spec
    first, _, _ = spec[:_LONGEST].rpartition(",")
    return f"{first}, and {spec.count(',') - first.count(','):,} more" if first else spec


def make_plan(config: MWEMSettings, workload: Workload, budget: Budget, total: float) -> Plan:
    """Plan a run.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run.
        total: A public guess of the number of records.

    Raises:
        CandidatesTooLargeError: Nothing of the workload may be measured.
    """
    charges, schedule = _scheduled(config, workload, budget, total)
    steps, adaptive, annealed = schedule.steps, schedule.rounds is None, is_annealed(config, workload)
    rounds, candidates, each = _selected(config, workload, budget, total, schedule=schedule, amount=charges.rounds)
    limit = limit_of(config, workload)
    if not config.needs_histogram:
        limit.check(config.measured_alone(workload))
    tree_cells = limit.largest_cells if limit.binds and not config.needs_histogram else None
    bound = _bound(config, budget, task_of(workload, total, budget.neighbours), charges, rounds)
    made = len(steps) or (math.ceil(_SHARE_OF_ROUNDS * rounds) if adaptive else rounds)
    grown = _expected_cells(config, limit, budget, charges.rounds, total, annealed=annealed and adaptive)
    held, cells = _held(config, workload, schedule, candidates, tree_cells=tree_cells, made=made, cells=grown)
    noisy = _noisy_values(steps, candidates, made, None if held.tree_cells is None else cells)
    expected = held.required_bytes
    if not steps and held.tree_cells is not None:
        expected = min(expected, Footprint.up_to(workload.domain, cells).required_bytes)
    queries = max(workload.n_candidates, candidates.n_candidates)
    answers = max(workload.n_queries, candidates.n_queries)
    return Plan(
        rounds=rounds,
        adaptive=adaptive,
        charges=charges,
        round=each,
        unit=budget.unit,
        limit=budget.limit,
        noise=tuple(_noise_of(config, steps, budget) if steps else _noise(config, candidates, budget, each)),
        cells=workload.domain.size,
        tree_cells=tree_cells,
        required_bytes=held.required_bytes,
        process_bytes=process_bytes(
            workload.domain, total, expected, measured=made, values=noisy, queries=queries, answers=answers
        ),
        available_bytes=usable_bytes(),
        seconds=seconds_of_run(
            config,
            workload,
            candidates,
            held,
            made=made,
            noisy=noisy,
            cells=cells,
            steps=[target for target, _ in steps],
            total=total,
        ),
        bound=replace(bound, caveats=caveats(config, adaptive=adaptive)),
        decision=schedule.decision,
        in_turn=bool(steps),
        uniform=grids_are_lost(config, workload, budget, charges.rounds, total),
    )


def _selected(
    config: MWEMSettings, workload: Workload, budget: Budget, total: float, *, schedule: Schedule, amount: float
) -> tuple[int, Workload, RoundCharge]:
    """Number of rounds, what is selected from, and the charge of one."""
    annealed = schedule.rounds is None and is_annealed(config, workload)
    rounds = schedule.rounds or first_rounds(workload, annealed=False)
    if annealed:
        rounds = annealed_rounds(config, workload, budget, amount, total)
    candidates = candidates_of(config, workload, schedule.rounds)
    if schedule.steps:
        return rounds, candidates, RoundCharge(0.0, amount / rounds)
    if annealed:
        candidates = annealed_candidates(config, workload, budget, amount, total)
        return rounds, candidates, RoundCharge.split(amount / rounds, config.selecting(annealed=True))
    return rounds, candidates, round_charge(config, candidates, amount, rounds)


def _scheduled(config: MWEMSettings, workload: Workload, budget: Budget, total: float) -> tuple[Charges, Schedule]:
    """Charges and schedule, with what is kept for a search for interactions."""
    charges = config.charges(budget.limit, budget.neighbours, workload.domain)
    schedule = schedule_of(config, workload, budget, charges.rounds, total)
    measured = [target for target, _ in schedule.steps]
    search = planned_search(config, workload, budget, charges.rounds, total, measured=measured)
    return with_search(charges, schedule, search)


def _held(
    config: MWEMSettings,
    workload: Workload,
    schedule: Schedule,
    candidates: Workload,
    *,
    tree_cells: int | None,
    made: int,
    cells: int,
) -> tuple[Footprint, int]:
    """What the hypothesis takes, and the cells that its trees are expected to fill, after so many measurements."""
    decision = schedule.decision
    if schedule.steps and decision is not None and not decision.by_levels and is_over_tree(config, decision.fixed):
        return Footprint.of_fit(decision.fixed.tables, config.largest_tree), cells
    if tree_cells is None and not config.needs_histogram:  # the hypothesis takes the form that costs less
        scopes = [target.scope for target, _ in schedule.steps if not isinstance(target, Parity)]
        if schedule.rounds is None and is_annealed(config, workload):
            scopes = _spread_out(candidates.scopes, made)
        if scopes:
            held = Footprint.of(workload.domain, scopes)
            return held, held.tree_cells or 0
    return Footprint.up_to(workload.domain, tree_cells, config.copies), cells


def _noisy_values(steps: Sequence[tuple[Measurable, float]], candidates: Workload, made: int, cells: int | None) -> int:
    """Values of so many measurements; where trees hold them, with a third of their cells at most."""
    if steps:
        return sum(target.size for target, _ in steps)
    noisy = round(made * candidates.n_queries / max(1, candidates.n_candidates))
    return noisy if cells is None else min(noisy, cells // 3)


def _spread_out(scopes: Sequence[Clique], number: int) -> list[Clique]:
    """So many of some scopes, evenly spread: what rounds choose among them is like that, as far as trees grow by it.

    Example:
        >>> _spread_out([("a",), ("b",), ("a", "b"), ("b", "c")], 2)
        [('a',), ('a', 'b')]
    """
    return [scopes[place] for place in np.arange(0, len(scopes), max(1.0, len(scopes) / number)).astype(int).tolist()]


def _expected_cells(
    config: MWEMSettings, limit: Limit, budget: Budget, amount: float, total: float, *, annealed: bool
) -> int:
    """Cells that trees are expected to fill: annealed rounds leave out what would be noise."""
    if not limit.binds or config.needs_histogram:
        return 0
    worth = annealed and config.largest_tree <= LARGEST_TREE
    return limit.worth(budget, amount, total).largest_cells if worth else limit.largest_cells


def _bound(config: MWEMSettings, budget: Budget, task: Task, charges: Charges, rounds: int) -> Bound:
    """Theorem 2.3 with the noisy number of records, whose chance of failure is part of the whole."""
    beta_total = 0.0 if budget.neighbours.public_total else _BETA_TOTAL
    share, step, beta = config.selecting(), config.step, BETA - beta_total
    relation, amount = budget.neighbours, charges.rounds
    bound = bound_of(task, budget.regime, relation, amount, rounds, share=share, step=step, beta=beta)
    return replace(bound, total=2.0 * total_error(budget, charges.total, beta_total), failure=BETA)


def caveats(config: MWEMSettings, *, adaptive: bool) -> tuple[str, ...]:
    """Why theorem 2.3 does not cover a configuration (theory.md section 10); empty where it does.

    Example:
        >>> from hedgerow import MWEM
        >>> covered = MWEM(rounds=4, refit=None, output="average", offsets=False, repeats=True)
        >>> caveats(covered, adaptive=False)
        ()
    """
    found = {
        "the last hypothesis is returned, the theorem speaks of the average": config.output == "last",
        "measured candidates are masked out of the selection": not config.repeats,
        "expected noise is taken off the scores": config.offsets,
        "the hypothesis is fitted to all measurements, not moved by one step": config.refit is not None,
        "noisy answers are not clipped": not config.clip,
        "the hypothesis does not start uniform": config.initial != "uniform" or config.prior is not None,
        "selection is by permute-and-flip": config.law != "exponential",
        "the charge of a round depends on noisy answers": adaptive,
    }
    return tuple(text for text, applies in found.items() if applies)


def _noise(config: MWEMSettings, workload: Workload, budget: Budget, each: RoundCharge) -> Iterator[tuple[str, float]]:
    expected, first = expected_noise(workload, budget, each.measurement, config.noise), 0
    for family in workload.families:
        yield family.spec, float(expected[first] / noisy_values(family)[0])
        first += family.n_candidates


def _noise_of(
    config: MWEMSettings, steps: Sequence[tuple[Measurable, float]], budget: Budget
) -> Iterator[tuple[str, float]]:
    """Measurements chosen beforehand; of more than a few those with the least and with the most noise."""
    noises = (noise.expected_abs for noise in noises_of(steps, budget, config.noise))
    told = [(target.text, float(noise)) for (target, _), noise in zip(steps, noises, strict=True)]
    ordered = sorted(told, key=itemgetter(1))
    yield from told if len(steps) <= _SHOWN else (ordered[0], ordered[-1])


_START = 1.5
"""Seconds to load libraries and compiled functions, to open files and to write the release."""
_READ, _DRAW = 15e-9, 35e-9
"""A value of a record that is read; one that is drawn and written."""
_NOISE, _MEASURE = 8.4e-6, 45e-6
"""One noisy value; one measurement, beside its values."""
_SCOPE, _ATTRIBUTE = 80e-6, 1e-3
"""Decisions about a scope of candidates before anything is measured; the work for a column."""
_LISTED = 16e-6
"""A value that the file of the domain lists."""
_ANSWER, _ANSWER_CELL = 1.5e-6, 5e-8
"""Answers of the release and of its records to a query, whose distances tell the error: four cells of a table; more."""

_PASS, _CALL = 1.2e-9, 60e-6
"""A pass over a histogram, per cell, between a multiplication and a sum; and however small it is."""
_STEP_CELL = 3.5e-7
"""A measured cell, each time that a step of its table is solved."""
_MOST_PASSED = 40
"""Measurements beyond these are fitted on marginals of the histogram, together."""
_PARITY = 3e-4
"""A parity of a histogram that is fitted to parities alone, by Newton's method."""
_LEVEL_CELL = 1e-6
"""A cell of the finest level, in a fit from the top down."""

_TABLE, _TABLE_CELL, _SHAPE = 60e-6, 10e-6, 1e-2
"""A table that is held over a tree, each of its cells, and a shape of such tables, which are held in one array."""
_COMMON, _MOST_COMMON = 3e-3, 1500
"""Directions that pairs have in common, for each value of all attributes; and most of these values."""
_MOVED, _LOOKED_AT, _AT_ONCE = 6.5e-9, 1 << 30, 1 << 21
"""A cell that is read for a record that is moved; records drawn to be looked at, times candidates, or columns."""

_ROUND, _ROUND_ATTRIBUTE, _ROUND_SCOPE, _ROUND_CELL = 15e-3, 1.2e-3, 60e-6, 60e-9
"""A round over trees; for each attribute, scope of a candidate, and cell that the trees may have at the end."""
_ROUND_QUERY = 2e-8
"""The score of a query in a round."""
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
    made: int,
    noisy: int,
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
        made: Number of measurements that are expected.
        noisy: Number of their values.
        cells: Cells that trees are expected to have at the end.
        steps: Targets that are measured in turn; none where rounds select.
        total: A public guess of the number of records.
    """
    values = total * len(workload.domain)
    fit = _fit_once(config, workload, held, steps) if steps else _rounds(config, candidates, held, made, cells)
    if held.table_cells:
        records = total + min(total, _LOOKED_AT / workload.n_candidates, _AT_ONCE / len(workload.domain))
        fit += _MOVED * records * cells_read(workload.domain, {target.scope for target in steps})
    decided = _SCOPE * max(len(workload.scope_axes), len(candidates.scope_axes)) + _ATTRIBUTE * len(workload.domain)
    answered = _ANSWER * min(workload.n_queries, 4 * workload.n_candidates) + _ANSWER_CELL * workload.n_queries
    listed = _LISTED * sum(attribute.size for attribute in workload.domain if isinstance(attribute, Categorical))
    parts = (_START, (_READ + _DRAW) * values, listed, decided, _NOISE * noisy, _MEASURE * made, fit, answered)
    return slowness() * sum(parts)


def _fit_once(config: MWEMSettings, workload: Workload, held: Footprint, steps: Sequence[Measurable]) -> float:
    """One fit to all that was measured."""
    if held.table_cells:
        tables = {target.scope for target in steps}
        fitted = _TABLE * len(tables) + _TABLE_CELL * held.table_cells
        return _LAST + fitted + _SHAPE * len(set(map(workload.domain.shape_of, tables))) + _common(workload.domain)
    if held.tree_cells is not None:
        return _LAST + _LAST_CELL * held.tree_cells
    if all(isinstance(target, Marginal) for target in steps) and (
        levels := coarse_first(workload.domain, {target.scope for target in steps})
    ):
        return _LEVEL_CELL * workload.domain.cells(levels[-1])
    if all(isinstance(target, Parity) for target in steps):
        return _PARITY * len(steps) + _PASS * workload.domain.size * math.log2(workload.domain.size)
    solved = _STEP_CELL * _passes(config.refit, 1) * sum(target.size for target in steps)
    return solved + _passes(config.refit, min(len(steps), _MOST_PASSED)) * (_CALL + _PASS * workload.domain.size)


def _common(domain: Domain) -> float:
    """Seconds for the directions that pairs have in common."""
    values = sum(attribute.size - 1 for attribute in domain)
    return _COMMON * values if values <= _MOST_COMMON else 0.0


def _rounds(config: MWEMSettings, candidates: Workload, held: Footprint, rounds: int, cells: int) -> float:
    """Rounds that answer all candidates, and fit after each."""
    domain = candidates.domain
    if held.tree_cells is None:
        answers = (rounds + 1) * min(len(candidates.scopes), 2 * len(domain))
        between = sum(_passes(config.refit_between, measured) for measured in range(1, rounds))
        return (answers + between + _passes(config.refit, rounds)) * (_CALL + _PASS * domain.size)
    scopes = sum(len(family.scopes) for family in candidates.families if not isinstance(family, Parities))
    each = _ROUND + _ROUND_ATTRIBUTE * len(domain) + _ROUND_SCOPE * scopes + _ROUND_QUERY * candidates.n_queries
    if isinstance(config.refit, Proximal):
        return rounds * (each + _ROUND_CELL * cells) + _LAST + _LAST_CELL * cells
    sweeps = rounds * _passes(config.refit_between, 1)
    return rounds * each + sweeps * (_CALL * rounds + _SWEEP * cells)


def _passes(rule: Refit | None, measured: int) -> int:
    """Passes of one fit to ``measured`` measurements; proximal fits double their steps from 4 to some thousands."""
    if isinstance(rule, Sweeps):
        return rule.sweeps * measured
    return (1 if rule is None else rule.polish + round(10 / math.log2(rule.growth))) * measured


_TINY = float(1 << 16)
"""Noise of one count, in counts, that the whole budget must buy at least for a closer look."""

_ROOM = 64.0
"""Part of the first charge that noise must still be drawn for: for other numbers of records charges may be smaller."""


def check_drawable(config: MWEMSettings, workload: Workload, budget: Budget, amount: float) -> None:
    """Refuse a budget that is too small for the noise of a run to be drawn.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        amount: The part of it that is left.

    Raises:
        ConfigError: Some noise would be wider than 64-bit integers; nothing was spent.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> workload = Workload.parities(Domain(IntegerRange(name, 0, 1) for name in "abc"), 2)
        >>> check_drawable(MWEM(), workload, PureDP(1e-9), 1e-9)
        >>> check_drawable(MWEM(), workload, PureDP(1e-16), 1e-16)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: a noise scale of ... counts cannot be drawn
          Remedy: spend more on each step: fewer rounds, or a larger budget
    """
    most = float(budget.neighbours.records)
    whole = additive_noise(budget.regime, amount, l1=most, l2=most, step=1.0, kind=None)
    if whole.std < _TINY:
        return
    charges = config.charges(amount, budget.neighbours, workload.domain)
    noise_of_total(budget, charges.total)
    if charges.error > 0.0:
        additive_noise(budget.regime, charges.error / 2.0, l1=most + GRID, l2=most + GRID, step=GRID, kind=None)
    for total in (1.0, float(LARGEST_MASS)):
        _check_rounds(config, workload, budget, charges.rounds, total)


def _check_rounds(config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float) -> None:
    schedule = schedule_of(config, workload, budget, amount, total)
    for target, charge in schedule.steps:
        noise_of(target, budget, charge / _ROOM, config.noise)
    if schedule.steps:
        return
    candidates = candidates_of(config, workload, schedule.rounds)
    if schedule.rounds is not None:
        first = round_charge(config, candidates, amount, schedule.rounds)
    else:
        annealed = is_annealed(config, workload)
        rounds = annealed_rounds(config, workload, budget, amount, total) if annealed else None
        each = amount / (rounds or first_rounds(workload, annealed=False))
        first = RoundCharge.split(each, config.selecting(annealed=annealed))
    expected_noise(candidates, budget, first.measurement / _ROOM, config.noise)
    if first.selection > 0.0:
        sensitive = float(candidates.candidate_weights.max())
        ExponentialMechanism.for_charge(budget.regime, first.selection / _ROOM, sensitive)
