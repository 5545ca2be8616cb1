"""A search for sets of attributes whose tables say more than the hypothesis knows of them (theory.md section 2.3).

Where nobody says which tables must be accurate, pairs are measured. A column that is the parity of three others is
independent of each pair of them, so that nothing measured tells of it. A few looks, for a small part of the budget,
select the set of three to six attributes that the hypothesis answers worst, and measure it. Of binary attributes that
is their parity, a single number: its noise does not grow with the set. Of others it is their table, over coarse levels.

A look is a round of MWEM with candidates of its own: a selection and a measurement, which are charged as such.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np

from hedgerow.algorithms.mwem.opening import coarsened
from hedgerow.algorithms.mwem.settings import MWEMSettings, is_known
from hedgerow.algorithms.mwem.strategy_choice import Schedule
from hedgerow.algorithms.shared import Charges, RoundCharge
from hedgerow.algorithms.strategies.candidates import attributes_of
from hedgerow.arrays import Floats
from hedgerow.domain import Clique
from hedgerow.models import Model, Overlay, Proximal, wants_classes
from hedgerow.privacy import Budget, Regime, noise_of
from hedgerow.queries import Family, Marginal, Marginals, Measurable, Parities, Workload

_ORDERS = range(3, 7)
"""Attributes of a set."""

_MOST_SETS = 4_000
"""Sets that are looked at: those of an order as long as they are at most so many with those before."""

_CELLS = (256, 64, 16, 8)
"""Cells of the largest table of attributes that are not all binary: the first for which looks can be paid."""

_EFFECTS = {0.1: 0.5, 0.25: 1.0}
"""L1 size of what a look should find, as a share of the records, and the part of what may be spent that it may cost."""

_SEVERAL = 0.5
"""The part that several looks may cost together."""

_MISSED = 0.05
"""Chance that a look selects another set than one with such an effect, if the others have none."""

_MOST_LOOKS = 4
"""Looks that are planned at most."""

_ROUNDED = 1.0 + 1e-9
"""Charge that is kept for looks, for theirs."""

_SWEEPS = 20
"""Sweeps over the pairs of a candidate."""


@dataclass(frozen=True, eq=False)
class Search:
    """A search that is planned; public.

    Attributes:
        candidates: A parity for each set of binary attributes, and a table for each other set.
        charge: Charge of one look.
        looks: Most of them.
    """

    candidates: Workload
    charge: RoundCharge
    looks: int

    @property
    def each(self) -> float:
        """The charge of one look, selection and measurement."""
        return self.charge.selection + self.charge.measurement

    @property
    def reserved(self) -> float:
        """The charge of all looks; a little more, that rounding leaves none of them out."""
        return self.looks * self.each * _ROUNDED

    def offsets(self, total: float) -> Floats:
        """What the errors of the candidates are expected to be where there is nothing to find, in counts.

        Records are a sample: a cell with the share p of them is off by about ``sqrt(2 p N / pi)``, a parity by
        ``sqrt(2 N / pi)``, and a table of K cells at most by K^(1/2) times that.

        Args:
            total: Number of records (noisy), in counts.
        """
        return np.asarray(np.sqrt(2.0 * total / math.pi * self.candidates.lengths))

    def answers(self, model: Model) -> Floats:
        """What a hypothesis answers to the candidates, in counts.

        Consistent tables over a tree know pairs, and of larger sets what the tree says; in its place each candidate is
        answered from the table with the largest entropy among those that have its pairs.

        Args:
            model: The hypothesis.
        """
        if not isinstance(model, Overlay):
            return self.candidates.answers(model)
        targets = [self.candidates.candidate(place) for place in range(self.candidates.n_candidates)]
        return np.concatenate(
            [target.of_table(table) for target, table in zip(targets, _of_pairs(model, targets), strict=True)]
        )

    def tells(self, shown: float, noise: float, chosen: int, total: float) -> bool:
        """Whether a measurement shows more than noise does, and than the largest of as many differences by chance.

        Args:
            shown: L1 difference from the hypothesis, in counts.
            noise: Expected absolute noise of one value, in counts.
            chosen: Number of the candidate.
            total: Number of records (noisy), in counts.
        """
        cells = int(self.candidates.lengths[chosen])
        chance = float(self.offsets(total)[chosen]) + math.sqrt(2.0 * total * math.log(self.candidates.n_candidates))
        return shown > noise * (cells + 2.0 * math.sqrt(cells)) + chance


def planned_search(
    config: MWEMSettings,
    workload: Workload,
    budget: Budget,
    amount: float,
    total: float,
    *,
    measured: Iterable[Measurable] = (),
) -> Search | None:
    """The looks that a run makes; None where none of them could find an effect of a quarter of the records.

    Args:
        config: The configuration; `MWEM.search_share` is the most that may be spent.
        workload: Queries that the release should answer well; with ``target:`` sets must hold the target.
        budget: Budget of the run; its regime and neighbours matter.
        amount: Charge of all measurements together, searching included.
        total: Number of records (noisy), in counts.
        measured: What is measured anyway: sets that this tells of are not looked at.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> pairs = Workload.marginals(Domain(IntegerRange(f"x{place}", 0, 1) for place in range(10)), 2)
        >>> config = MWEM(search_share=0.02)
        >>> found = [planned_search(config, pairs, PureDP(1.0), 0.95, total) for total in (2_000.0, 15_000.0, 1e6)]
        >>> [None if each is None else (each.looks, round(each.reserved, 4)) for each in found]
        [None, (1, 0.0103), (4, 0.0015)]
    """
    fitted = isinstance(config.refit, Proximal) and not config.needs_histogram and config.prior is None
    if not (config.search_share and fitted) or len(attributes_of(workload)) < _ORDERS[0] or wants_classes(workload):
        return None
    share, told = config.search_share * amount, _told(measured)
    for candidates in (_interactions(workload, cells, told) for cells in _CELLS):
        if candidates is None:
            continue
        for effect, most in _EFFECTS.items():
            charge = _charge_of(candidates, budget, effect * total)
            each = charge.selection + charge.measurement
            if each <= most * share:
                return Search(candidates, charge, max(1, min(_MOST_LOOKS, int(_SEVERAL * share / each))))
    return None


def with_search(charges: Charges, schedule: Schedule, search: Search | None) -> tuple[Charges, Schedule]:
    """The charges and the schedule of a run, what a search may spend taken off its rounds.

    Args:
        charges: Without the search.
        schedule: The same.
        search: The search, if one is planned.
    """
    if search is None:
        return charges, schedule
    left = charges.rounds - search.reserved
    steps = [(target, charge * left / charges.rounds) for target, charge in schedule.steps]
    return replace(charges, rounds=left, search=search.reserved), replace(schedule, steps=steps)


def _charge_of(candidates: Workload, budget: Budget, effect: float) -> RoundCharge:
    """The least charge of a look that finds an effect of so many counts, and sees that it is one."""
    units = float((effect / candidates.sensitivities(budget.neighbours.single)).min())
    odds = math.log(candidates.n_candidates / _MISSED)
    selection = budget.regime.of_bounded_range(2.0 * budget.neighbours.records * odds / units)
    widest = candidates.candidate(int(np.argmax(candidates.lengths)))
    tried = 0.01
    noise = noise_of(widest, budget, tried, None).expected_abs * (widest.size + 3)
    grown = (noise / effect) ** (1.0 if budget.regime is Regime.PURE else 2.0)
    return RoundCharge(selection, max(selection, tried * grown))


def _told(measured: Iterable[Measurable]) -> set[Clique]:
    """The sets that measurements tell of: those of parities, and all subsets of tables."""
    told = set[Clique]()
    for target in measured:
        scope = target.domain.base(target.scope)
        told.add(scope)
        if isinstance(target, Marginal) and target.within is None:
            told.update(chain.from_iterable(combinations(scope, order) for order in _ORDERS))
    return told


def _interactions(workload: Workload, cells: int, told: set[Clique]) -> Workload | None:
    """Candidates of a search: sets that nothing tells of; with the target, where the workload is for one."""
    domain, target = workload.domain, target_of(workload)
    names = [name for name in attributes_of(workload) if name != target]
    held = () if target is None else (target,)
    sets: list[Clique] = []
    for order in _ORDERS:
        more = math.comb(len(names), order - len(held))
        if not 0 < more <= _MOST_SETS - len(sets):
            break
        sets += (domain.clique((*each, *held)) for each in combinations(names, order - len(held)))
    left = [each for each in sets if each not in told and not is_known(domain, each)]
    binary = [each for each in left if all(domain[name].size == 2 for name in each)]
    tables = {coarsened(domain, each, cells) for each in set(left) - set(binary)} - {()}
    families: list[Family] = [Parities(domain, binary)] if binary else []
    families += [Marginals(domain, sorted(tables))] if tables else []
    return Workload(families) if families else None


def _of_pairs(model: Overlay, targets: Sequence[Measurable]) -> list[Floats]:
    """The table of each target with the largest entropy that has its pairs, by iterative proportional fitting."""
    pairs: list[Clique] = list(dict.fromkeys(pair for target in targets for pair in combinations(target.scope, 2)))
    known = dict(zip(pairs, model.marginals(pairs), strict=True))
    found: dict[int, Floats] = {}
    shapes: dict[tuple[int, ...], list[int]] = {}
    for place, target in enumerate(targets):
        shapes.setdefault(target.domain.shape_of(target.scope), []).append(place)
    for shape, places in shapes.items():
        tables = np.full((len(places), *shape), model.total / math.prod(shape))
        wanted = {
            axes: np.stack([known[tuple(targets[place].scope[axis] for axis in axes)] for place in places])
            for axes in combinations(range(len(shape)), 2)
        }
        for _ in range(_SWEEPS):
            for axes, pair in wanted.items():
                others = tuple(1 + axis for axis in range(len(shape)) if axis not in axes)
                sums = tables.sum(axis=others, keepdims=True)
                tables *= np.divide(pair.reshape(sums.shape), sums, out=np.zeros_like(sums), where=sums > 0.0)
        found.update(zip(places, tables, strict=True))
    return [found[place] for place in range(len(targets))]


def target_of(workload: Workload) -> str | None:
    """The attribute whose tables a workload asks for by ``target:``, if any."""
    found = (family.target for family in workload.families if isinstance(family, Marginals))
    return next((name for name in found if name is not None), None)
