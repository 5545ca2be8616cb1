"""One run, described: from a private table, over what is learnt of its domain, to a release.

It opens nothing and reads nothing exact: whoever describes a run gives the functions that read its table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.algorithms.learning import (
    POSITIONS_SHARE,
    PositionTargets,
    budget_with_thresholds,
    learn_domain,
    learning_share,
    workload_before,
)
from hedgerow.domain import Domain, OpenDomain, with_known
from hedgerow.errors import ConfigError, ReleaseError
from hedgerow.queries import (
    LostWeight,
    Marginal,
    Measurable,
    Measurement,
    Neighbours,
    Persons,
    WeightPower,
    WeightSum,
    Workload,
    in_workload,
    summed_columns,
)
from hedgerow.system import done_by

if TYPE_CHECKING:
    from hedgerow.algorithms import Trials
    from hedgerow.algorithms.learning import Need
    from hedgerow.algorithms.shared import Algorithm, ProgressCallback
    from hedgerow.data import Labels, ReadOptions, ScannedTable, Table
    from hedgerow.domain import Known
    from hedgerow.privacy import Budget, Curator, Event, NoiseSource
    from hedgerow.release import Criteria, Release

LARGE_BYTES = 1 << 30
"""Files above this size are counted where they are; smaller ones are read into memory, which is faster."""


def workload_over(domain: Domain, text: str | None = None) -> Workload:
    """The queries of a text; where nobody says which, all pairs of columns, or the only column.

    Args:
        domain: The domain.
        text: The workload, as for `Workload.parse`.

    Raises:
        QueryError: The text is wrong, or does not fit the domain.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> workload_over(Domain([IntegerRange("age", 0, 99)])).spec
        'marginals:1'
    """
    return Workload.marginals(domain, min(2, len(domain))) if text is None else Workload.parse(text, domain)


OTHER_PAIRS = 0.1
"""Weight of all pairs beside the tables of a target, where nobody says what else must be accurate."""


def workload_with(
    text: str | None, means: Iterable[str] = (), families: Iterable[str] = (), target: str | None = None
) -> str | None:
    """A workload text that asks for more.

    Args:
        text: The workload, as for `Workload.parse`; None for all pairs of columns.
        means: What stands behind ``means:`` there.
        families: Texts of others.
        target: A column that models will predict from the others; all pairs then have the weight `OTHER_PAIRS` where
            the text is None.

    Example:
        >>> workload_with(None, ["pay by sex", "age by sex"])
        'marginals:2; means:pay by sex; means:age by sex'
        >>> workload_with(None, target="income")
        'target:income; marginals:2 @ 0.1'
    """
    wanted = [*(f"means:{each}" for each in means), *families]
    if target is not None:
        first = f"target:{in_workload(target)}"
        text = f"{first}; marginals:2 @ {OTHER_PAIRS}" if text is None else f"{text}; {first}"
    return "; ".join(["marginals:2" if text is None else text, *wanted]) if wanted else text


SEARCH_SHARE = 0.02
"""Most that a search for interactions may spend, as a share of the budget, where nobody says what must be accurate."""


def for_questions(algorithm: Algorithm, workload: str | None, target: str | None) -> Algorithm:
    """The mechanism for what is asked, where its rounds are automatic and it is MWEM.

    For a column that models will predict, rounds adapt. Fixed measurements are chosen by the mean error of all tables
    of the workload, and models gain from the few tables that say most about the target, which rounds find. Where nobody
    says which tables must be accurate, those of higher orders join as far as the budget carries them.

    Args:
        algorithm: The mechanism.
        workload: The text of the workload, if there is one.
        target: The column, if any.

    Example:
        >>> from hedgerow import MWEM
        >>> [for_questions(MWEM(rounds=each), "marginals:2", "income").rounds for each in ("auto", 9)]
        ['annealed', 9]
        >>> for_questions(MWEM(), None, None).higher_orders
        True
    """
    from hedgerow.algorithms.mwem import MWEM

    if not isinstance(algorithm, MWEM) or algorithm.rounds != "auto":
        return algorithm
    if target is not None:
        return replace(algorithm, rounds="annealed", search_share=SEARCH_SHARE)
    return replace(algorithm, higher_orders=True, search_share=SEARCH_SHARE) if workload is None else algorithm


def unasked_in_words(workload: Workload, otherwise: str, found: Iterable[str] = ()) -> str:
    """Sentences about what joined or was found where nobody said which tables must be accurate; else nothing.

    Args:
        workload: The workload of a run without a text.
        otherwise: What the sentence about tables of higher orders ends with.
        found: Texts of what a search for interactions found.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain([IntegerRange(name, 0, 1) for name in "abc"])
        >>> unasked_in_words(Workload.parse("marginals:2; marginals:3", domain), ".")
        'The workload has tables of 3 columns too, because their predicted error is small.'
        >>> unasked_in_words(Workload.parse("marginals:2", domain), ".", ["a * b * c"])
        'A search for interactions found what pairs do not tell: a * b * c.'
    """
    highest = max(map(len, workload.scopes), default=0)
    columns = "3 columns" if highest == 3 else f"3 to {highest} columns"
    joined = f"The workload has tables of {columns} too, because their predicted error is small{otherwise}"
    texts = ", ".join(found)
    searched = f"A search for interactions found what pairs do not tell: {texts}." if texts else ""
    return " ".join(filter(None, [joined if highest >= 3 else "", searched]))


def knowing(wanted: Domain | OpenDomain, known: Iterable[Known]) -> Domain | OpenDomain:
    """The domain with further known totals, which the release keeps.

    Args:
        wanted: The domain.
        known: Numbers of records, files or tables of columns or levels and ``count``, or ``population`` where records
            have weights; see ``hedgerow.domain.known``.

    Raises:
        DomainError: They are wrong, or contradict each other or a rule; the cells are named.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> knowing(Domain([IntegerRange("age", 0, 99)]), [50]).known_total
        50
    """
    given = list(known)
    if not given:
        return wanted
    return with_known(wanted, given, Path()) if isinstance(wanted, Domain) else wanted.with_known(given)


def criteria_of(given: Criteria | str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any] | None) -> Criteria | None:
    """The criteria that are given, if any.

    Args:
        given: See `Criteria.of`.

    Raises:
        ConfigError: They cannot be read, or are something else.

    Example:
        >>> criteria_of(None), criteria_of([{"mean": "age", "within": 0.5}]).share
        (None, 0.1)
    """
    from hedgerow.release import Criteria

    return None if given is None else Criteria.of(given)


def trials_of(
    given: Trials | str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any] | None, *, alone: bool = True
) -> Trials | None:
    """The configurations to choose from that are given, if any.

    Args:
        given: See ``Trials.of``.
        alone: Whether no mechanism is named beside them.

    Raises:
        ConfigError: They cannot be read, or are something else; or a mechanism is named beside them.
    """
    from hedgerow.algorithms import Trials

    if given is not None and not alone:
        raise ConfigError("a mechanism beside configurations, which name theirs", remedy="leave one of them out")
    return None if given is None else Trials.of(given)


def is_counted_in_place(source: object, where: str | None = None) -> bool:
    """Whether a table is counted where it is, and not read into memory.

    Args:
        source: A place or an object, as for `synthesize`.
        where: The condition that rows must meet, if any.

    Example:
        >>> is_counted_in_place("people/*.parquet"), is_counted_in_place("people.csv", where="age < 30")
        (True, True)
    """
    from hedgerow.data import is_place

    if where is not None:
        return True
    if not isinstance(source, str | os.PathLike):
        return type(source).__module__.startswith("pyspark.")
    path = Path(source)
    return is_place(str(source)) or (path.is_file() and path.stat().st_size > LARGE_BYTES)


def budget_between(
    epsilon: float, delta: float | None, neighbours: Neighbours | str, persons: Persons | None
) -> Budget:
    """The budget that an epsilon describes, with or without a delta.

    Args:
        epsilon: Pure epsilon, or the epsilon of ``delta``.
        delta: See `synthesize`.
        neighbours: The change that one person can make.
        persons: Persons with several records, if there are.

    Raises:
        ConfigError: An amount is out of its range, or there is no such change.

    Example:
        >>> budget_between(1.0, None, "replace", None).to_dict()
        {'kind': 'pure', 'epsilon': 1.0, 'neighbours': 'replace'}
    """
    from hedgerow.privacy import ApproxDP, PureDP

    between = (neighbours if isinstance(neighbours, Neighbours) else Neighbours.of(neighbours)).between(persons)
    return PureDP(epsilon, between) if delta is None else ApproxDP(epsilon, delta, between)


def noise_of(seed: int | None) -> NoiseSource | None:
    """Noise that can be drawn again from a seed; None, which stands for the secure one, without a seed.

    Args:
        seed: The seed.
    """
    from hedgerow.privacy import SeededNoise

    return None if seed is None else SeededNoise(seed)


Reading = Callable[["Domain", "Workload", "Callable[[], object] | None"], "Table | ScannedTable"]
"""Reads the private table: its domain, the queries that will be asked, and what is called before the first row."""


@dataclass(frozen=True)
class Opened:
    """A private table that is ready for a mechanism.

    Attributes:
        table: The table.
        workload: Queries over its domain.
        budget: Budget of the whole release.
        events: Charges of what was learnt of its domain, and of positions.
        positions: Noisy sums of where in their bins records lie.
        lost: The noisy sum of what the cap on weights takes away, if it is measured.
        needed: Noisy answers of questions that must have an interval.
        criteria: What the release must hold, if anything.
        runs: Mechanisms and workloads that it is chosen from, as the first run that holds the criteria; empty for one
            run.
        tries: Mean number of such runs, at most.
    """

    table: Table | ScannedTable
    workload: Workload
    budget: Budget
    events: Sequence[Event] = ()
    positions: Sequence[Measurement] = ()
    lost: Sequence[Measurement] = ()
    needed: Sequence[Measurement] = ()
    criteria: Criteria | None = None
    runs: Sequence[tuple[Algorithm, Workload]] = ()
    tries: int = 0

    def released(
        self,
        algorithm: Algorithm,
        noise: NoiseSource | None,
        watching: Callable[[Curator], AbstractContextManager[ProgressCallback | None]] | None = None,
    ) -> Release:
        """Run an algorithm on what is left of the budget, and test the criteria by what was set aside.

        Args:
            algorithm: The mechanism; not used where it is chosen from several.
            noise: Source of the noise; None for the secure one.
            watching: Context of the run, which gives the callback for its rounds; not used where there are several.

        Raises:
            ReleaseError: No run of several held all criteria.
        """
        from hedgerow.privacy import Curator

        if self.runs:
            return self._first_that_holds(noise)
        moments = self._moments(self.workload)
        curator = Curator(self.table, self.budget, noise=noise, events=self.events, moments=moments)
        with nullcontext() if watching is None else watching(curator) as progress:
            return self._made(curator, algorithm, self.workload, self.budget.limit, progress)

    def _first_that_holds(self, noise: NoiseSource | None) -> Release:
        """The first of several runs that holds all criteria. Nothing of the others is told, nor how many there were."""
        from hedgerow.privacy import first_that_passes
        from hedgerow.release import all_held

        def run(curator: Curator, place: int) -> tuple[Release, bool]:
            made = self._made(curator, *self.runs[place], curator.ledger.remaining)
            return made, all_held(made.verdicts)

        found = first_that_passes(
            self.table,
            self.budget,
            run,
            configurations=len(self.runs),
            tries=self.tries,
            noise=noise,
            events=self.events,
            moments=lambda place: self._moments(self.runs[place][1]),
        )
        if found is None:
            raise ReleaseError(
                "no run held all criteria before chance ended them. Nothing is released",
                remedy="what was spent stays spent: the whole budget. Give wider criteria, other configurations, or "
                "more tries",
            )
        return found

    def _moments(self, workload: Workload) -> Sequence[Measurement]:
        from hedgerow.algorithms.shared import moments_told

        return moments_told(workload.domain, self.positions, workload.scopes) if self.positions else ()

    def _made(
        self,
        curator: Curator,
        algorithm: Algorithm,
        workload: Workload,
        whole: float,
        progress: ProgressCallback | None = None,
    ) -> Release:
        """One run and the test of its criteria, for their share of a whole."""
        charge = 0.0 if self.criteria is None else self.criteria.share * whole
        with curator.setting_aside(charge), done_by(getattr(self.table, "tasks", None)):
            made = algorithm.run_with(curator, workload, progress)
        if self.criteria is not None:
            from hedgerow.algorithms.learning import with_verdicts

            made = with_verdicts(curator, made, self.criteria, charge)
        if not (self.positions or self.lost or self.needed):
            return made
        measured = (*self.needed, *made.measurements)
        return replace(made, positions=tuple(self.positions), lost=tuple(self.lost), measurements=measured)


def share_of_positions(wanted: Domain | OpenDomain, options: ReadOptions) -> float:
    """The share of a budget for where in their bins records lie, unless another is given.

    It is 0 for a table of codes, which does not tell it, and where rules between columns leave records out.

    Args:
        wanted: The domain.
        options: How the table is read.

    Example:
        >>> from hedgerow.data import ReadOptions
        >>> from hedgerow.domain import Binned
        >>> share_of_positions(Domain([Binned("pay", [0, 1000, 5000])]), ReadOptions(coded=True))
        0.0
    """
    rules = wanted.has_rules if isinstance(wanted, Domain) else wanted.fine.has_rules
    return 0.0 if options.coded or (rules and options.violations == "drop") else POSITIONS_SHARE


LOST_SHARE = 0.05
"""Share of a budget for what the cap on weights takes away, and for their design effect, where these are asked for."""


def lost_of(possible: int | None, options: ReadOptions, *, effect: bool = False) -> tuple[WeightSum, ...]:
    """What the cap on weights takes away, and what their design effect follows from, as far as somebody asks for it.

    Args:
        possible: The largest possible weight; None not to measure what the cap takes away.
        options: How the table is read.
        effect: Whether the design effect is wanted.

    Raises:
        ConfigError: Records have no weights, or those that count are not known by their weights alone, as where persons
            have several records or rules leave records out; or the number is not above the cap.

    Example:
        >>> from hedgerow.data import ReadOptions
        >>> lost_of(900, ReadOptions(weight="PWGTP", largest_weight=200))[0].bounds
        (0.0, 700.0)
    """
    if possible is None and not effect:
        return ()
    persons = options.persons
    asked = "a largest possible weight" if possible is not None else "a design effect of weights"
    if persons is None or persons.weight is None:
        raise ConfigError(f"{asked}, and no weights", remedy="give weight and largest_weight too")
    if persons.column is not None or options.coded or options.fractional_weights or options.violations == "drop":
        message = "sums of weights are measured of whole weights of all records, none left out by person or rule"
        raise ConfigError(message, remedy=f"leave {asked} out")
    weight = persons.weight
    lost = () if possible is None else (LostWeight(weight, possible),)
    return (*lost, *((WeightPower(weight, 0), WeightPower(weight, 2)) if effect else ()))


@dataclass(frozen=True)
class RunSpec:
    """One run from a private table to a release, described; public. `synthesize` and ``hedgerow synth`` do the same.

    Attributes:
        wanted: The domain, of which bins and values may be to be learnt.
        algorithm: The mechanism.
        budget: Budget of the whole run; if values are to be learnt, with a part of its delta for thresholds.
        workload: Text of the queries; None for all pairs of columns, which higher orders join; see `for_questions`.
        noise: Source of the noise; None for the secure one.
        positions: Share of the budget for where in the bins of its columns records lie; see `share_of_positions`.
        needs: Questions that must have an interval, as `Need.parse` reads them; they are measured beside MWEM.
        criteria: What the release must hold; it is tested with a share of the budget.
        trials: Configurations that the release is chosen from, in place of the mechanism: the first run that holds all
            criteria.
        target: A column that models will predict, which configurations without a workload of their own serve.
        lost: Sums of weights that are to be measured; see `lost_of`.
        of: Another with the same queries, which may be very many and are read once.

    Raises:
        ConfigError: Values are to be learnt, and the budget has no delta; or needs cost too much; or the budget is for
            a sample of the records, which the mechanism or what is to be learnt cannot do with.

    Example:
        >>> from hedgerow import MWEM, PureDP
        >>> from hedgerow.domain import IntegerRange
        >>> RunSpec(Domain([IntegerRange("age", 0, 99)]), MWEM(), PureDP(1.0)).asked.spec
        'marginals:1'
    """

    wanted: Domain | OpenDomain
    algorithm: Algorithm
    budget: Budget
    workload: str | None = None
    noise: NoiseSource | None = None
    positions: float = POSITIONS_SHARE
    needs: tuple[str, ...] = ()
    criteria: Criteria | None = None
    trials: Trials | None = None
    target: str | None = None
    lost: tuple[WeightSum, ...] = ()
    of: RunSpec | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Keep a part of the delta for thresholds, and check which sums and questions are wanted."""
        from hedgerow.algorithms.shared import check_known

        self._check_sample()
        check_known(self._outline, self.budget, takes=self.algorithm.takes_known)
        if isinstance(self.wanted, OpenDomain):
            object.__setattr__(self, "budget", budget_with_thresholds(self.budget, self.wanted))
        if self.needs:
            self._check_needs()
        self.targets(self._outline)
        if self.criteria is not None:
            self._check_criteria(self.criteria)
        if self.trials is not None:
            self._check_trials()

    def _check_trials(self) -> None:
        """Refuse a choice among runs that has no test, no price, or a mechanism that does not run here."""
        from hedgerow.algorithms.shared import check_known
        from hedgerow.privacy import check_selects_runs

        check_selects_runs(self.budget.regime)
        if self.criteria is None or self.needs:
            message = "configurations are tried by their criteria, and questions that need an interval go with one run"
            raise ConfigError(message, remedy="give criteria (--require), and leave --needs out")
        for algorithm, workload in self.runs(self._outline):
            algorithm.check(workload, self.budget.regime)
            check_known(self._outline, self.budget, takes=algorithm.takes_known)

    def runs(self, domain: Domain) -> list[tuple[Algorithm, Workload]]:
        """The mechanisms and workloads that the release is chosen from, over a domain that is closed."""
        from hedgerow.algorithms.registry import parse

        found: list[tuple[Algorithm, Workload]] = []
        for each in self.trials.configurations if self.trials else ():
            own = each.workload is not None
            text, target = (each.workload, None) if own else (self.workload, self.target)
            found.append((for_questions(parse(each.mechanism), text, target), workload_over(domain, text)))
        return found

    def _check_sample(self) -> None:
        """Refuse a budget for a sample where something else than DualQuery would spend of it."""
        from hedgerow.privacy import Subsampled

        if not isinstance(self.budget, Subsampled):
            return
        if not self.algorithm.takes_samples or self.lost:
            raise ConfigError("this mechanism does not work on a sample of the records", remedy="take dual-query")
        if isinstance(self.wanted, OpenDomain):
            message = "values are learnt from all records, and the budget is for a sample of them"
            raise ConfigError(message, remedy="list the values in a domain file, or take no sample")

    def _check_criteria(self, criteria: Criteria) -> None:
        """Refuse criteria that the domain does not have, or that leave nothing for the run."""
        from hedgerow.privacy import Subsampled

        if isinstance(self.budget, Subsampled):
            message = "criteria are tested on all records, and the budget is for a sample of them"
            raise ConfigError(message, remedy="leave them out, or take no sample")
        criteria.check(self._outline)
        before = sum(self._shares_before) + criteria.share
        if before >= 1.0:
            message = f"criteria and what goes before them take {before:.0%} of the budget"
            raise ConfigError(message, remedy="give the criteria a smaller share")

    @property
    def _shares_before(self) -> tuple[float, float]:
        """Shares of the budget that are spent before the run: by what is learnt and positions, and by needs."""
        before = self.targets(self._outline).share(self.positions) + self.share_of_lost
        before += learning_share(self.wanted) if isinstance(self.wanted, OpenDomain) else 0.0
        return before, sum(charge / self.budget.limit for _, charge in self.needed_steps(self._outline, self.budget))

    @property
    def share_of_lost(self) -> float:
        """The share of the budget for sums of weights."""
        return sum(share for _, share in self.shared_sums)

    @property
    def shared_sums(self) -> list[tuple[WeightSum, float]]:
        """The sums of weights with their shares of the budget: those of a design effect have half of one each."""
        return [(each, LOST_SHARE / (1 if isinstance(each, LostWeight) else 2)) for each in self.lost]

    def _check_needs(self) -> None:
        """Refuse questions that cannot be measured."""
        from hedgerow.algorithms.learning import check_needs
        from hedgerow.algorithms.mwem import MWEM
        from hedgerow.privacy import Subsampled

        if isinstance(self.budget, Subsampled) or not isinstance(self.algorithm, MWEM):
            message = "questions that must have an interval are measured of all records, beside mwem"
            raise ConfigError(message, remedy="leave them out, or take mwem and no sample")
        check_needs(self.needs, self.wanted)
        before, needed = self._shares_before
        if before + needed >= 1.0:
            raise ConfigError(
                f"what the questions need costs {needed:.0%} of the budget, and {before:.0%} goes before it",
                remedy="allow wider intervals, or a larger budget",
            )

    @property
    def _outline(self) -> Domain:
        return self.wanted if isinstance(self.wanted, Domain) else self.wanted.outline

    @cached_property
    def text(self) -> str | None:
        """The workload, with the sums of questions that must have an interval."""
        return workload_with(self.workload, (), (each for need in self.needed(self._outline) for each in need.sums))

    def needed(self, domain: Domain) -> list[Need]:
        """The questions that must have an interval, over a domain that is closed.

        Counts of the groups by which the workload asks for moments are among them: these are divided by the counts, and
        tables of more columns tell them worse than moments are told (theory.md section 14.1).
        """
        from hedgerow.algorithms.learning import Need
        from hedgerow.algorithms.mwem import MWEM

        needs = [Need.parse(line, domain) for line in self.needs]
        measured = (
            self._targets_of(self.workload, domain).asked and isinstance(self.algorithm, MWEM) and not self.trials
        )
        asked = summed_columns(self.workload or "", domain, regressed=False) if measured else []
        for by in sorted((by for _, by in asked if by), key=len, reverse=True):
            if not any(set(by) <= set(target.scope) for need in needs for target in need.targets):
                group = Marginal(domain, tuple(by))
                needs.append(Need(f"the number of records by {group.text}", None, (group,)))
        return needs

    def needed_steps(self, domain: Domain, budget: Budget) -> list[tuple[Measurable, float]]:
        """What is measured for these questions, each with its charge."""
        from hedgerow.algorithms.learning import needed_steps

        return needed_steps(self.needed(domain), budget)

    @cached_property
    def asked(self) -> Workload:
        """The queries, before anything is learnt.

        Raises:
            ConfigError: See `workload_before`.
            QueryError: The text is wrong, or does not fit the domain.
        """
        return self.of.asked if self.of else workload_before(self.wanted, partial(workload_over, text=self.text))

    def targets(self, domain: Domain) -> PositionTargets:
        """The positions in bins that are measured, over a domain that is closed."""
        return self._targets_of(self.text, domain)

    def _targets_of(self, text: str | None, domain: Domain) -> PositionTargets:
        return PositionTargets.of(domain, self.budget, text) if self.positions else PositionTargets()

    def accounted(self) -> RunSpec:
        """The same with the budget as a run without a register counts it; see `Algorithm.accounted`."""
        from hedgerow.privacy import for_any_steps

        budget = self.algorithm.accounted(self.asked, self.budget)
        beside = self.needs or self.criteria or self.lost
        if not isinstance(self.wanted, Domain) or self.targets(self.wanted).counted or beside:
            budget = for_any_steps(budget)  # others than the algorithm's are paid for too
        return replace(self, budget=budget, of=self)

    def opened(
        self,
        read: Reading,
        labels: Callable[[OpenDomain], Labels],
        before_rows: Callable[[], object] | None = None,
        watching: Callable[[Curator], AbstractContextManager[object]] = nullcontext,
    ) -> Opened:
        """Read the table; where something is to be learnt of its domain, in fine cells first, and again in those.

        All that can be wrong with its cells shows before anything is spent. Where columns have bins of several numbers
        they are read once more, to measure where in their bins records lie.

        Args:
            read: Reads the table.
            labels: Reads the labels of columns whose values are to be learnt.
            before_rows: What ``read`` calls before anything is told of a row; it charges a register.
            watching: Context of what is learnt.
        """
        from hedgerow.privacy import Curator, budget_for

        wanted = self.wanted
        if isinstance(wanted, Domain):
            table = read(wanted, self.asked, before_rows)
            return self._prepared(Opened(table, self.asked, budget_for(self.budget, table)), read, watching)
        names = [*wanted.bins, *wanted.listed] or list(wanted.values)
        table = read(wanted.fine, Workload.marginals(wanted.fine, cliques=[(name,) for name in names]), before_rows)
        listed = labels(wanted) if wanted.values else None
        curator = Curator(table, budget_for(self.budget, table), noise=self.noise)
        with watching(curator):
            domain = learn_domain(curator, wanted, listed)
            asked = workload_over(domain, self.text)
            opened = Opened(read(domain, asked, None), asked, curator.budget, curator.ledger.events)
        return self._prepared(opened, read, watching)

    def _prepared(
        self, opened: Opened, read: Reading, watching: Callable[[Curator], AbstractContextManager[object]]
    ) -> Opened:
        """The same with measured positions, where there are bins, and with the answers of needs."""
        from hedgerow.privacy import Curator

        tries = self.trials.tries if self.trials else 0
        opened = replace(opened, criteria=self.criteria, runs=self.runs(opened.workload.domain), tries=tries)
        domain = opened.workload.domain
        targets = self.targets(domain)
        if targets.counted is not None:
            scopes = dict.fromkeys(target.scope for target in targets)
            fine = read(targets.counted, Workload.marginals(targets.counted, cliques=scopes), None)
            curator = Curator(fine, opened.budget, noise=self.noise, events=opened.events)
            with watching(curator):
                positions = targets.measure(curator, self.positions)
            opened = replace(opened, events=curator.ledger.events, positions=positions)
        for asked, share in self.shared_sums:
            counted = asked.read_beside(domain)
            weights = read(counted, Workload.marginals(counted, 1), None)
            curator = Curator(weights, opened.budget, noise=self.noise, events=opened.events)
            label = "lost weight" if isinstance(asked, LostWeight) else "design effect"
            with watching(curator):
                found = curator.measure(asked, share * opened.budget.limit, label=label)
            opened = replace(opened, events=curator.ledger.events, lost=(*opened.lost, found))
        if steps := self.needed_steps(domain, opened.budget):
            curator = Curator(opened.table, opened.budget, noise=self.noise, events=opened.events)
            with watching(curator):
                needed = curator.measure_all(steps, label="need")
            opened = replace(opened, events=curator.ledger.events, needed=needed)
        return opened
