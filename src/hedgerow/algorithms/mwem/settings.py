"""The settings of MWEM, and the number of rounds that follows from them.

Both are public: the number of rounds is a function of public quantities and, under "add-remove", of the noisy number of
records.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from hedgerow.algorithms.shared import Charges, Output, Prior, RoundCharge, Task, bound_of, expected_noise, task_of
from hedgerow.algorithms.shared.checks import (
    check_choice,
    check_count,
    check_fraction,
    check_shares,
    is_count,
    noise_kind,
)
from hedgerow.algorithms.strategies import has_levels
from hedgerow.algorithms.strategies.candidates import Limit, attributes_of, closure, tables_of
from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, tells
from hedgerow.errors import ConfigError
from hedgerow.models import LARGEST_TREE, Proximal, Refit, Step, wants_classes
from hedgerow.privacy import Budget, Law, Regime
from hedgerow.queries import Family, Marginals, Neighbours, NoiseKind, Workload

NamedRounds = Literal["auto", "bound", "adaptive", "annealed"]
Rounds = int | NamedRounds
Initial = Literal["uniform", "histogram", "one-way"]
OptimizeFor = Literal["records", "answers"]

_REFIT = Proximal(adapted=True)

SCAN = 1 << 16
"""Largest number of rounds that is looked at when a bound is minimised."""

_MOST = 1 << 10
"""Largest number of rounds that ``"auto"`` chooses, unless it measures every candidate."""

_PER_ATTRIBUTE = 4
"""Annealed rounds for each attribute at first."""

_KEPT = 4
"""Workloads whose tables are kept: they are asked for several times in a run."""

_MOST_ANSWERS = 1 << 20
"""Answers of candidates that annealed rounds may look at before they are fewer than that."""

_MOSTLY_NOISE = 0.03
"""Noise of a table of the coarsest levels, as a share of the records, above which annealed rounds are half as many."""

_LONGER = 4.6
"""Fits for boxes over several attributes are as much longer: what is held back a little in many cells adds up."""

_HELD = 4.0
"""Records of a block of cells that are measured together for ranges, as a multiple of the noise."""

_HELD_BY_TABLE = 10.0
"""The same where cells are asked for one by one."""

_NOISE = 0.44
"""Error per noise of one measurement: fits share noise between overlapping measurements."""

_UNSEEN = 0.0145
"""Error left after as many whole marginals as attributes were measured without noise."""


@dataclass(frozen=True)
class MWEMSettings:
    """Fields and checks of `MWEM`, which explains them."""

    rounds: Rounds = "auto"
    selection_share: float | None = None
    step: Step = "source"
    output: Output = "last"
    refit: Refit | None = _REFIT
    quick_fits: bool = True
    initial: Initial = "uniform"
    initial_share: float = 0.1
    uniform_share: float = 0.05
    clip: bool = True
    repeats: bool = False
    law: Law = "exponential"
    noise: NoiseKind | None = None
    offsets: bool = True
    total_share: float = 0.02
    error_share: float = 0.03
    largest_tree: int = LARGEST_TREE
    prior: Prior | None = None
    optimize_for: OptimizeFor = "records"
    higher_orders: bool = False
    search_share: float = 0.0

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: A number is out of its range, or a name is unknown.
        """
        if self.rounds not in get_args(NamedRounds) and not is_count(self.rounds):
            raise ConfigError(
                f"MWEM needs at least one round, not {self.rounds!r}",
                remedy="give a number from 1, 'auto', 'annealed', 'bound' or 'adaptive'",
            )
        if self.noise is not None:
            object.__setattr__(self, "noise", noise_kind(self.noise))
        check_count("largest_tree", self.largest_tree, "give a number of cells, as 4,000,000")
        choices = {"step": Step, "output": Output, "initial": Initial, "law": Law, "optimize_for": OptimizeFor}
        for name, kind in choices.items():
            check_choice(name, getattr(self, name), kind)
        for name in ("selection_share", "initial_share", "uniform_share"):
            if getattr(self, name) is not None:
                check_fraction(name, getattr(self, name))
        check_shares(self.total_share, self.error_share, self.spent_initially)
        if self.search_share:
            check_fraction("search_share", self.search_share)
        if not (self.prior is None or isinstance(self.prior, Prior)):
            raise ConfigError(f"a {type(self.prior).__name__} is no prior", remedy="give hedgerow.Prior.of(...)")
        if self.prior is not None and not (isinstance(self.refit, Proximal) and not self.needs_histogram):
            raise ConfigError(
                "a prior is anchored in proximal fits of the last hypothesis",
                remedy="leave refit, output and initial as they are, or leave the prior out",
            )

    @property
    def refit_between(self) -> Refit | None:
        """The fit between rounds."""
        return self.refit.quick() if isinstance(self.refit, Proximal) and self.quick_fits else self.refit

    @property
    def spent_initially(self) -> float:
        """``initial_share`` where something is measured before the first round, else 0."""
        return 0.0 if self.initial == "uniform" else self.initial_share

    def measured_alone(self, workload: Workload) -> Clique:
        """The attributes of which noisy marginals are the start.

        Args:
            workload: Queries that the release should answer well.
        """
        return attributes_of(workload) if self.initial == "one-way" else ()

    def selecting(self, *, annealed: bool = False) -> float:
        """``selection_share``, or its default.

        Args:
            annealed: Whether rounds are annealed: they are many, and most find something worth measuring.
        """
        return (0.1 if annealed else 0.5) if self.selection_share is None else self.selection_share

    def charges(self, amount: float, neighbours: Neighbours, domain: Domain) -> Charges:
        """Divide an amount of the budget.

        Args:
            amount: epsilon or rho.
            neighbours: Relation of the budget.
            domain: The domain, whose known totals may tell the number of records.
        """
        return Charges.split(
            amount,
            neighbours,
            total=self.total_share,
            initial=self.spent_initially,
            error=self.error_share,
            known=bool(domain.known),
        )

    @property
    def needs_histogram(self) -> bool:
        """Whether every cell is held, however large the domain: averages of hypotheses are no products."""
        return self.output == "average" or self.initial == "histogram"

    @property
    def copies(self) -> int:
        """Arrays over all cells that a run with a histogram holds at once: that, and its base, an average or tables.

        With a prior there are two hypotheses, one of which has a base.
        """
        one = 2 + (self.output == "average") + 2 * (self.initial == "histogram")
        return one if self.prior is None else 2 * one + 1


def rounds_by_bound(
    task: Task, regime: Regime, neighbours: Neighbours, amount: float, *, share: float, step: Step, most: int = SCAN
) -> int:
    """The number of rounds with the smallest bound, found by scanning.

    The scan is over all whole numbers up to 64 and then in steps of 2%, which loses less than 0.01% of the bound.

    Example:
        >>> task = Task(total=1e6, cells=2**16, candidates=560)
        >>> rounds_by_bound(task, Regime.PURE, Neighbours.REPLACE, 1.0, share=0.5, step="source")
        1061
    """
    rounds = list(range(1, min(64, most) + 1))
    if most > 64:
        rounds += np.unique(np.geomspace(64, most, 2 + math.ceil(50 * math.log(most / 64))).astype(int)).tolist()

    def error(count: int) -> float:
        return bound_of(task, regime, neighbours, amount, count, share=share, step=step).error

    return min(rounds, key=error)


def first_rounds(workload: Workload, *, annealed: bool) -> int:
    """Number of rounds that an adaptive or annealed run would make if the charge of a round never grew.

    Where there are very many candidates annealed rounds are fewer: all are answered in each.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)
        >>> first_rounds(workload, annealed=False), first_rounds(workload, annealed=True)
        (6, 12)
    """
    if annealed:
        attributes, candidates = len(attributes_of(workload)), (tables_below(workload) or workload).n_candidates
        return max(attributes, min(_PER_ATTRIBUTE * attributes, _MOST_ANSWERS // candidates))
    return max(2, min(2 * workload.n_candidates, 16 * len(workload.domain)))


def annealed_rounds(config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float) -> int:
    """The same for annealed rounds of a budget: half as many for ranges where even coarse tables would be mostly noise.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        amount: Charge of all rounds together, epsilon or rho.
        total: Number of records (noisy), in counts.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> domain = Domain(IntegerRange(name, 0, 99) for name in "abc")
        >>> workload = Workload.parse("ranges:a,b:100:0; ranges:b,c:100:0", domain)
        >>> [annealed_rounds(MWEM(), workload, PureDP(epsilon), epsilon, 50_000) for epsilon in (0.1, 1.0)]
        [6, 12]
    """
    rounds = first_rounds(workload, annealed=True)
    if candidates_of(config, workload) is workload or not all(family.ordered for family in workload.families):
        return rounds
    domain = workload.domain
    scopes = [[(name, *domain.coarser(name))[-1] for name in scope] for scope in workload.scopes]
    charge = (1.0 - config.selecting(annealed=True)) * amount / rounds
    noise = expected_noise(Workload.marginals(domain, cliques=scopes), budget, charge, config.noise)
    return rounds // 2 if float(noise.max()) > _MOSTLY_NOISE * total else rounds


def in_grids(config: MWEMSettings, workload: Workload) -> bool:
    """Whether a run measures tables from coarse to fine and selects nothing: automatic for one table, or its ranges.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 99) for name in "ab")
        >>> texts = "ranges:a,b:9:0", "marginals:2", "prefixes:a; prefixes:b"
        >>> [in_grids(MWEM(), Workload.parse(text, domain)) for text in texts]
        [True, True, False]
    """
    if config.rounds != "auto" or config.needs_histogram or len(set(workload.scopes)) > 1:
        return False
    small = math.prod(workload.domain.shape_of(workload.scopes[0])) <= config.largest_tree
    boxes = all(family.ordered for family in workload.families)
    return small and (boxes or has_levels(workload)) and closure(workload) is not None


def least_of_parts(config: MWEMSettings, workload: Workload) -> float:
    """Records that a block of a further table should hold, as a multiple of its noise; 0 where cells are never joined.

    Where a prior or constraints say more about cells than that they are alike, or the fit needs whole tables, all are
    measured.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 99) for name in "ab")
        >>> texts = "ranges:a,b:9:0", "marginals:2", "marginals:1"
        >>> [least_of_parts(MWEM(), Workload.parse(text, domain)) for text in texts]
        [4.0, 10.0, 0.0]
    """
    fitted = isinstance(config.refit, Proximal) and config.output == "last" and config.initial == "uniform"
    if not (in_grids(config, workload) and fitted and config.prior is None and not workload.domain.constraints):
        return 0.0
    return _HELD if all(family.ordered for family in workload.families) else _HELD_BY_TABLE


def last_refit(config: MWEMSettings, workload: Workload) -> Refit | None:
    """The fit at the end of a run.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 99) for name in "ab")
        >>> [round(last_refit(MWEM(), Workload.parse(text, domain)).c, 2) for text in ("ranges:a,b:9:0", "marginals:2")]
        [2.76, 0.6]
    """
    several = in_grids(config, workload) and len(workload.scopes[0]) > 1
    boxes = several and all(family.ordered for family in workload.families)
    return (
        replace(config.refit, c=_LONGER * config.refit.c)
        if boxes and isinstance(config.refit, Proximal)
        else config.refit
    )


def is_annealed(config: MWEMSettings, workload: Workload) -> bool:
    """Whether a run anneals the charge of its rounds unless it measures everything: asked for, or automatic.

    Ranges of one table are the exception (`in_grids`).

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange
        >>> workload = Workload.marginals(Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30)), 2)
        >>> is_annealed(MWEM(), workload), is_annealed(MWEM(rounds=5), workload)
        (True, False)
    """
    if config.rounds == "annealed":
        return True
    return takes_tables(config) and not in_grids(config, workload) and tables_below(workload) is not None


def takes_tables(config: MWEMSettings) -> bool:
    """Whether candidates are the tables of a workload rather than what it asks for: automatic rounds."""
    return config.rounds == "auto" and not config.needs_histogram


@lru_cache(maxsize=_KEPT)
def tables_below(workload: Workload) -> Workload | None:
    """The candidates of annealed rounds: tables over levels too, unless they are too many; then up to pairs alone."""
    return closure(workload, levels=True) or closure(workload) or closure(workload, widest=2)


def not_known(workload: Workload) -> Workload:
    """The part of a workload that known totals of its domain do not tell, which alone is worth a measurement.

    Args:
        workload: Queries that the release should answer well.

    Raises:
        ConfigError: They tell all of it.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.domain import with_known
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> known = with_known(domain, [{"columns": ["a", "b"], "counts": [4, 3, 2, 1]}])
        >>> not_known(Workload.marginals(known, 2)).scopes
        (('a', 'c'), ('b', 'c'))
    """
    domain = workload.domain
    if not domain.known:
        return workload
    left = list[tuple[Family, float]]()
    for family, weight in zip(workload.families, workload.weights, strict=True):
        if not isinstance(family, Marginals):
            left.append((family, weight))
        elif scopes := [scope for scope in family.scopes if not is_known(domain, scope)]:
            left.append((family if len(scopes) == len(family.scopes) else Marginals(domain, scopes), weight))
    if not left:
        message = "known totals tell all that the workload asks about, and nothing is left to be measured"
        raise ConfigError(message, remedy="ask for more in the workload")
    return Workload(*zip(*left, strict=True))


def is_known(domain: Domain, scope: Clique) -> bool:
    """Whether known totals tell a whole table.

    Args:
        domain: The domain that holds them.
        scope: Names of the table.
    """
    return any(tells(domain, table, scope) for table in domain.known)


def candidates_of(config: MWEMSettings, workload: Workload, rounds: int | None = None) -> Workload:
    """The candidates of a run: those of the workload, its tables, or in annealed rounds these and those below them.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        rounds: Number of equal rounds, if that is known.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange
        >>> workload = Workload.parse("cells:a*b", Domain(IntegerRange(name, 0, 2) for name in "ab"))
        >>> [candidates_of(config, workload).spec for config in (MWEM(), MWEM(rounds=5))]
        ['marginals:1 @ 2.0; marginals:2 @ 4.0', 'cells:2']
        >>> candidates_of(MWEM(), workload, rounds=1).spec
        'marginals:2 @ 2.0'
    """
    if config.rounds != "annealed" and not takes_tables(config):
        return workload
    alone = len(attributes_of(workload)) == 1
    below = tables_below(workload) if rounds is None or alone else None
    return below or tables_of(workload) or workload


def limit_of(config: MWEMSettings, workload: Workload) -> Limit:
    """The limit that a hypothesis keeps to, on what the workload asks about; ranges are answered from candidates.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange
        >>> limit_of(MWEM(), Workload.prefixes(Domain((IntegerRange("age", 0, 99),)), "age")).binds
        False
    """
    whole = all(family.whole for family in workload.families)
    return Limit(workload if whole else candidates_of(config, workload), config.largest_tree)


def planned_rounds(config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float) -> int | None:
    """The number of rounds of a configuration, or None where noisy values decide.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        amount: Charge of all rounds together, epsilon or rho.
        total: Number of records (noisy), in counts.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)
        >>> planned_rounds(MWEM(rounds=2), workload, PureDP(1.0), 0.95, 100.0)
        2
    """
    if isinstance(config.rounds, int):
        return config.rounds
    if config.rounds in ("adaptive", "annealed"):
        return None
    if config.rounds == "auto":
        return _automatic_rounds(config, workload, budget, amount, total)
    most = SCAN if config.repeats else min(SCAN, workload.n_candidates)
    task, regime = task_of(workload, total, budget.neighbours), budget.regime
    share, step = config.selecting(), config.step
    return rounds_by_bound(task, regime, budget.neighbours, amount, share=share, step=step, most=most)


def _automatic_rounds(
    config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float
) -> int | None:
    """The number of equal rounds where everything is measured, or where nothing can be annealed; else None."""
    annealed = is_annealed(config, workload)
    if annealed and len(attributes_of(workload)) == 1:  # all levels are measured
        return candidates_of(config, workload).n_candidates
    if annealed and (Limit(workload, config.largest_tree).binds or all(each.ordered for each in workload.families)):
        return None
    candidates = candidates_of(config, workload, rounds=1) if takes_tables(config) else workload
    found = automatic_rounds(config, candidates, budget, amount, total)
    return None if annealed and found < candidates.n_candidates else found


def automatic_rounds(config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float) -> int:
    """The number of rounds with the smallest predicted error; a heuristic with public constants.

    Measured on public tables (docs/measurements.md), the mean total variation distance after T rounds is about
    ``0.44 noise(T) x**-0.15 + 0.0145 x**-1.75`` (``x**-2.75`` below 1), with x = T / (number of attributes) for whole
    marginals, x = T / (3 bits of a record) for single queries (half the bits where most values are never told apart),
    and noise(T) the expected noise of one measurement as total variation distance. The first summand grows with T; the
    second falls, and is 0 once every whole marginal is measured (which also saves the selection).

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        amount: Charge of all rounds together, epsilon or rho.
        total: Number of records (noisy), in counts.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, ZCDP
        >>> workload = Workload.marginals(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(10)), 3)
        >>> [automatic_rounds(MWEM(), workload, ZCDP(rho), rho, 10_000.0) for rho in (1e-4, 1e-2, 1.0)]
        [13, 120, 120]
    """
    predicted, unit = _predicted(config, workload, budget, amount, total)
    most = min(_MOST, workload.n_candidates)
    if any(family.signed for family in workload.families):
        most = min(most, math.ceil(3 * unit))  # fits to many signed queries converge slowly
    limit = Limit(workload, config.largest_tree)
    if limit.binds:
        most = min(most, len(workload.domain))  # beyond that noise connects what has nothing in common: trees get wide
    few: list[int] = np.unique(np.geomspace(1, most, 64).astype(int)).tolist()
    whole = any(family.whole for family in workload.families)
    few_enough = whole and workload.n_candidates <= SCAN and limit.allows_all()
    everything = [workload.n_candidates] if few_enough else []
    return min([*few, *everything], key=predicted)


def formula_error(
    config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float, *, rounds: int
) -> float:
    """The mean error that the formula of `automatic_rounds` predicts for a number of rounds, as a share of the records.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run.
        amount: Charge of all rounds together.
        total: Number of records (noisy), in counts.
        rounds: The number.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, ZCDP
        >>> workload = Workload.marginals(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(10)), 3)
        >>> [round(formula_error(MWEM(), workload, ZCDP(1.0), rho, 10_000.0, rounds=120), 4) for rho in (0.01, 0.1)]
        [0.0075, 0.0024]
    """
    return _predicted(config, workload, budget, amount, total)[0](rounds)


def _predicted(
    config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float
) -> tuple[Callable[[int], float], float]:
    """The formula of `automatic_rounds` as a function of the rounds, and the rounds for which its x is 1."""
    spread = _spread(workload) / total
    whole = any(family.whole for family in workload.families)
    per_bit = 0.5 if wants_classes(workload) else 3.0  # rounds after which single queries have said most
    unit = float(len(workload.domain)) if whole else per_bit * math.log2(workload.domain.size)

    def predicted(rounds: int) -> float:
        charge = round_charge(config, workload, amount, rounds)
        noise = float(np.mean(spread * expected_noise(workload, budget, charge.measurement, config.noise)))
        x = rounds / unit
        unseen = 0.0 if whole and charge.selection == 0.0 else _UNSEEN * x ** (-1.75 if x > 1.0 else -2.75)
        return float(_NOISE * noise * max(1.0, x) ** -0.15 + unseen)

    return predicted, unit


def _spread(workload: Workload) -> Floats:
    """Total variation distance of a marginal per L1 noise of measuring it (or a query of its scope), per candidate."""
    return np.concatenate([np.broadcast_to(family.spread, family.n_candidates) for family in workload.families])


def round_charge(config: MWEMSettings, workload: Workload, amount: float, rounds: int) -> RoundCharge:
    """The charge of each of ``rounds`` equal rounds.

    Where every candidate is measured once there is nothing to select, and selection costs nothing.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)
        >>> round_charge(MWEM(), workload, 0.75, 3)
        RoundCharge(selection=0.0, measurement=0.25)
    """
    everything = (
        rounds == workload.n_candidates and not config.repeats and config.rounds not in ("adaptive", "annealed")
    )
    everything = everything and Limit(workload, config.largest_tree).allows_all()
    return RoundCharge.split(amount / rounds, 0.0 if everything else config.selecting())
