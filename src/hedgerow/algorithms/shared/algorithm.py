"""The algorithms that make a release: how they are called, what they report, and how a release is put together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import Any, ClassVar, Protocol

import numpy as np

from hedgerow.algorithms.shared.learning import possible_values
from hedgerow.algorithms.shared.plans import Outlined
from hedgerow.algorithms.shared.prior import Prior
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError
from hedgerow.models import Model, runs_within
from hedgerow.privacy import (
    LARGEST_MASS,
    Budget,
    Curator,
    Event,
    NoiseSource,
    Regime,
    Register,
    Subsampled,
    budget_for,
    for_any_steps,
    prepare,
)
from hedgerow.privacy.register.earlier_runs import before_a_run, note_release, warn_of_weakness
from hedgerow.queries import Measurable, Measurement, NoiseKind, Parity, PublicData, Workload, answered
from hedgerow.release import Provenance, Release
from hedgerow.system import done_by


@dataclass(frozen=True)
class RoundReport:
    """A finished round, as the release will show it too; nothing in it is exact.

    Attributes:
        round: Number of the round, from 1.
        rounds: Number of rounds planned; None where noisy values decide when to stop.
        spent: Charges in the ledger after the round.
        limit: Most that the ledger may hold.
        unit: ``"epsilon"`` or ``"rho"``.
        chosen: Text of the candidate that was measured.
        residual: Noisy answer minus the hypothesis' answer before the round, L1 over its cells, in counts.
        hypothesis: Model of the data after the round, as public as the release; None where there is none to show. The
            run continues with this very object: ask it at once, and change nothing.

    Example:
        >>> RoundReport(1, 4, 0.25, 1.0, "epsilon", "sex * age", 120.0).share_spent
        0.25
    """

    round: int
    rounds: int | None
    spent: float
    limit: float
    unit: str
    chosen: str
    residual: float
    hypothesis: Model | None = field(default=None, repr=False, compare=False)

    @property
    def share_spent(self) -> float:
        """Share of the budget that is spent."""
        return self.spent / self.limit


ProgressCallback = Callable[[RoundReport], None]
"""Called after every round, in the thread that runs the algorithm."""


def tell(
    progress: ProgressCallback | None,
    curator: Curator,
    chosen: str,
    residual: float,
    *,
    number: int,
    of: int | None,
    model: Model | None = None,
) -> None:
    """Report a finished round, if anybody asked for that.

    Args:
        progress: Called with the report, unless None.
        curator: Curator before the private table; its ledger says what is spent.
        chosen: Text of the candidate that was measured.
        residual: Noisy answer minus the hypothesis' answer, L1 over the cells of the candidate, in counts.
        number: Number of the round, from 1.
        of: Number of rounds planned; None where noisy values decide when to stop.
        model: Hypothesis that the round ended with, to show it.
    """
    if progress is not None:
        ledger = curator.ledger
        progress(RoundReport(number, of, ledger.spent, ledger.limit, ledger.unit, chosen, residual, model))


_TOGETHER, _LEAST_CELLS = 1 << 18, 1 << 6
"""Cells that are measured together; so many for a smaller target, that progress is seen."""


def measured_together(
    steps: Sequence[tuple[Measurable, float]],
    curator: Curator,
    kind: NoiseKind | None,
    model: Model,
    progress: ProgressCallback | None,
) -> list[Measurement]:
    """Noisy answers of queries and marginals that were chosen beforehand, each told as a round.

    Args:
        steps: Queries or marginals with their charges.
        curator: Curator before the private table.
        kind: Shape of the noise; see `Curator.measure`.
        model: Hypothesis, which does not learn from them yet.
        progress: Called with a report for each, unless None.
    """
    measurements = list[Measurement]()
    sizes = [1 if isinstance(target, Parity) else max(target.size, _LEAST_CELLS) for target, _ in steps]
    for run in runs_within(sizes, _TOGETHER):  # parities share noise
        measured = curator.measure_all(steps[run], kind=kind)
        answers = [] if progress is None else answered([target for target, _ in steps[run]], model)
        for number, (each, before) in enumerate(zip(measured, answers, strict=False), len(measurements) + 1):
            residual = float(np.abs(each.values - before)[possible_values(each.target)].sum())
            tell(progress, curator, each.target.text, residual, number=number, of=len(steps))
        measurements += measured
    return measurements


class Algorithm(Protocol):
    """The configuration of a mechanism that makes a release: frozen, public, for any number of runs.

    What all of them do in the same way is inherited from this class.

    Example:
        >>> from hedgerow import MWEM
        >>> algorithm: Algorithm = MWEM(rounds=3)
        >>> algorithm.parameters()["rounds"]
        3
    """

    takes_samples: ClassVar[bool] = False
    """Whether it can work on a secret sample of the records: under a `Subsampled` budget."""
    takes_known: ClassVar[bool] = False
    """Whether its releases keep known totals of the domain."""
    regimes: ClassVar[tuple[Regime, ...]] = tuple(Regime)
    """Budgets that it can be run under, for the lists of mechanisms; `check` refuses others."""

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the workload, the regime or the memory does not allow, before anything is read or spent."""

    def warnings(self, workload: Workload) -> tuple[str, ...]:
        """What is known to be weak in a run on a workload, before it; public.

        Args:
            workload: Queries that the release should answer well.
        """
        return ()

    def check_budget(self, workload: Workload, budget: Budget) -> None:
        """Refuse what `check` does, and budgets that are too small for noise to be drawn, if an algorithm knows these.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.

        Raises:
            ConfigError: The configuration does not fit; or some noise would be wider than 64-bit integers.
            ModelTooLargeError: The hypothesis does not fit into memory.
        """
        self.check(workload, budget.regime)

    def accounted(self, workload: Workload, budget: Budget) -> Budget:
        """The budget as a run without a register counts it: an (epsilon, delta) in the regime that needs less noise.

        Charges of a register add up in its own unit, so that a run with one keeps to the budget as it was given.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.

        Returns:
            The same promise; the same budget unless an algorithm knows better.
        """
        return budget

    def asked(self, workload: Workload, budget: Budget, total: float) -> Workload:
        """The queries that a run answers: those that are asked for, unless an algorithm adds others to them.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run, as a run counts it.
            total: A public guess of the number of records.
        """
        return workload

    def parameters(self) -> dict[str, Any]:
        """The configuration as plain values, for the release."""
        return plain_parameters(self)

    def run(
        self,
        source: Any,  # a CountSource; that name lives in data/, which algorithms do not import
        workload: Workload,
        budget: Budget,
        *,
        noise: NoiseSource | None = None,
        progress: ProgressCallback | None = None,
        register: Register | None = None,
        name: str = "",
    ) -> Release:
        """Make a release of a private table.

        Args:
            source: The private table, as ``read_table`` gives it; only the curator ever sees it.
            workload: Queries that the release should answer well.
            budget: Budget of the run, with its neighbouring relation.
            noise: Source of noise; the secure one unless given. A seeded source makes the release not private.
            progress: Callback, called after every round.
            register: Register of the table, where all its releases add up. It is charged the whole budget before the
                table is touched. Without one a second release of the same object warns.
            name: Name of the release in the register.

        Raises:
            ConfigError: The configuration does not fit the budget or the workload, or the prior is the private table.
            QueryError: A query depends on no record; nothing was spent.
            ModelTooLargeError: The hypothesis does not fit into memory; nothing was spent.
            BudgetExceededError: The algorithm asked for more than the budget; what was charged before stays charged.
            DataError: A table that is counted in passes cannot be read, or does not fit its domain.
            RegisterExceededError: The register does not cover the budget; nothing was spent.
            RegisterError: The register cannot be read or written; nothing was spent.

        Warns:
            UnregisteredWarning: The object was released before, and there is no register.
            WeakGuaranteeWarning: epsilon is above 20, or delta not below 1 / (number of records).
        """
        check_asked(source, workload, budget, samples=self.takes_samples)
        check_known(workload.domain, budget_for(budget, source), takes=self.takes_known)
        prior = getattr(self, "prior", None)
        public = prior.public if isinstance(prior, Prior) else None
        if isinstance(public, PublicData) and public.tables is source:  # to look for an equal one would read it
            remedy = "give a public table that has none of its records"
            raise ConfigError("the prior is the private table", remedy=remedy)
        budget = budget_for(budget, source)  # of persons, where the table bounds their records
        if register is None:
            budget = self.accounted(workload, budget)
            check_composition(self, workload, budget)
        else:  # what is charged there is never given back: refuse first
            check_domain(source, workload)
            self.check_budget(workload, budget)
            check_composition(self, workload, budget, exactly=True)
        before_a_run(source, budget, noise, register, kind="release", name=name)
        curator = open_curator(source, workload, budget, noise, samples=self.takes_samples)
        try:
            with done_by(getattr(source, "tasks", None)):
                made = self.run_with(curator, workload, progress)
        finally:
            if curator.ledger.spent > 0.0:
                note_release(source, noise)
        warn_of_weakness(curator.budget, made.total, noise)
        return made

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """Run with a curator that the caller made; its whole remaining budget may be spent."""

    def refitted(
        self, release: Release, measurements: Sequence[Measurement], total: float, moments: Sequence[Measurement] = ()
    ) -> Model | None:
        """The hypothesis that a run would have made of other values of the same measurements.

        Args:
            release: A release of this configuration.
            measurements: Its measurements with other values.
            total: Noisy number of records that belongs to them, in counts.
            moments: Its moments with other values, see `moments_of`.

        Returns:
            None where only a whole run tells.
        """
        return None

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outlined:
        """Plan a run: memory, charges and promise. Reads nothing and spends nothing."""


def check_table(source: Any) -> None:
    """Refuse an argument that is not a private table.

    Raises:
        ConfigError: It was not made by ``read_table``, and has no such methods.
    """
    if not callable(getattr(source, "total", None)):
        remedy = "read it with hedgerow.read_table(source, domain)"
        raise ConfigError(f"expected a table, got a {type(source).__name__}", remedy=remedy)


def open_curator(
    source: Any,
    workload: Any,
    budget: Any,
    noise: NoiseSource | None,
    *,
    samples: bool = False,
    events: Sequence[Event] = (),
    moments: Sequence[Measurement] = (),
) -> Curator:
    """A curator before a private table, for one run.

    Args:
        source: The private table, as ``read_table`` gives it; only the curator ever sees it.
        workload: Queries that the release should answer well.
        budget: Budget of the run, with its neighbouring relation.
        noise: Source of noise; the secure one unless given.
        samples: Whether the algorithm can work on a sample of the records.
        events: Charges that the budget has paid before.
        moments: See `Curator`.

    Raises:
        ConfigError: An argument is something else; nothing was read.
    """
    check_asked(source, workload, budget, samples=samples)
    prepare(source, workload)
    return Curator(source, budget, noise=noise, events=events, moments=moments)


def check_asked(source: Any, workload: Any, budget: Any, *, samples: bool = False) -> None:
    """Refuse arguments that are not a table, a workload, and a budget that the algorithm can run under.

    Args:
        source: The private table.
        workload: Queries that the release should answer well.
        budget: Budget of the run.
        samples: Whether the algorithm can work on a sample of the records.

    Raises:
        ConfigError: An argument is something else; nothing was read.
    """
    check_table(source)
    if not isinstance(workload, Workload):
        remedy = "make one with hedgerow.Workload.parse(text, table.domain)"
        raise ConfigError(f"expected a workload, got a {type(workload).__name__}", remedy=remedy)
    if not isinstance(budget, Budget):
        remedy = "give hedgerow.PureDP(epsilon), hedgerow.ApproxDP(epsilon, delta), hedgerow.ZCDP(rho) or .GDP(mu)"
        raise ConfigError(f"expected a budget, got a {type(budget).__name__}", remedy=remedy)
    if isinstance(budget, Subsampled) and not samples:
        raise ConfigError("this algorithm does not work on a sample of the records", remedy="run DualQuery on it")


def check_known(domain: Domain, budget: Budget, *, takes: bool) -> None:
    """Refuse known totals where a release would not keep them, or where they are not of the records that count.

    Args:
        domain: The domain.
        budget: Budget of the run; its neighbours say whose records count.
        takes: Whether the mechanism keeps known totals.

    Raises:
        ConfigError: There are known totals, and the mechanism does not; or of persons or weights only a part counts, or
            the totals are of the population, and records have no weights.
    """
    persons = budget.neighbours.persons
    if not (domain.known or domain.population):
        return
    if not takes:
        raise ConfigError(
            "this mechanism does not keep known totals", remedy="make a release by mwem, or leave the totals out"
        )
    if domain.known and persons is not None:
        weighted = persons.weight is not None
        raise ConfigError(
            "known totals are of all records, and of persons or weights only what is bounded counts",
            remedy="give totals of the population: population in place of count" if weighted else "leave them out",
        )
    if domain.population and (persons is None or persons.weight is None):
        raise ConfigError(
            "known totals are of the population that weights stand for, and records have none",
            remedy="give totals of records (count in place of population), or name the column of weights",
        )


def plain_parameters(config: Any) -> dict[str, Any]:
    """The fields of a configuration as plain values that JSON can hold.

    Args:
        config: A frozen dataclass; fields that are dataclasses become mappings that name their kind.

    Example:
        >>> from hedgerow import Sweeps
        >>> from hedgerow import MWEM
        >>> plain_parameters(MWEM(refit=Sweeps(4)))["refit"]["kind"]
        'Sweeps'
    """
    return {field.name: _plain(getattr(config, field.name)) for field in fields(config)}


def _plain(value: Any) -> Any:
    if isinstance(value, Prior):
        return value.parameters()
    if is_dataclass(value) and not isinstance(value, type):
        return {"kind": type(value).__name__, **plain_parameters(value)}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value.value if isinstance(value, Enum) else value


def check_composition(algorithm: Algorithm, workload: Workload, budget: Budget, *, exactly: bool = False) -> None:
    """Refuse steps that were fixed beforehand and are not those of a run, which would be stopped on the way.

    Args:
        algorithm: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run.
        exactly: Whether the steps must be those that this version would fix; else it is enough that it fixes some, as
            an earlier one may have done with other numbers.

    Raises:
        ConfigError: The run does not keep to these steps; nothing was spent.

    Example:
        >>> from hedgerow import MWEM, ApproxDP, Domain, IntegerRange
        >>> from hedgerow.privacy import Composition
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 4) for name in "abc"), 1)
        >>> fixed = ApproxDP(1.0, 1e-9, composition=Composition(0.015, gaussian=0.015))
        >>> check_composition(MWEM(), workload, fixed)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: a run of MWEM does not keep to the steps that its budget fixes
          Remedy: leave the composition out: runs of a given number of rounds fill in their own
    """
    if budget.fixed is None:
        return
    own = algorithm.accounted(workload, for_any_steps(budget)).fixed
    if own is None or (exactly and own != budget.fixed):
        raise ConfigError(
            f"a run of {type(algorithm).__name__} does not keep to the steps that its budget fixes",
            remedy="leave the composition out: runs of a given number of rounds fill in their own",
        )


def check_domain(table: Any, workload: Workload) -> None:
    """Refuse a workload over another domain than the table's.

    Args:
        table: The private table, or a curator before it.
        workload: The workload.

    Raises:
        ConfigError: The domains differ.
    """
    if workload.domain != table.domain:
        raise ConfigError("the workload is over another domain than the table", remedy="build it from table.domain")


def number_of_records(curator: Curator, charge: float) -> float:
    """Number of records, noisy or public, as the mass of a hypothesis.

    The noise of a tiny budget can pass every size that a table can have, and that errors can be scored for; that is
    cut off, a little below the limit, which the rounded sums of answers must not pass either.

    Args:
        curator: Curator before the private table.
        charge: Charge of the noisy number; not used under "replace", or where known totals tell it.

    Raises:
        ConfigError: Known totals are of another number of records than a table whose number is public.
    """
    known = curator.domain.known_total
    if known is not None and not curator.neighbours.public_total:
        return float(known)
    total = curator.total(charge)
    if known is not None and total != known:
        raise ConfigError(
            f"the table has {total:,.0f} records, which is public here, and the known totals are of {known:,}",
            remedy="correct the known totals",
        )
    return min(total, (1.0 - 1e-6) * LARGEST_MASS)


def make_release(
    curator: Curator,
    workload: Workload,
    model: Model,
    *,
    name: str,
    parameters: Mapping[str, Any],
    measurements: Sequence[Measurement] = (),
    error_charge: float = 0.0,
    counted: float | None = None,
    secure: bool = True,
) -> Release:
    """Estimate the error of the workload, if that is to be paid for, and put the release together.

    Args:
        curator: Curator whose ledger becomes the release's.
        workload: Queries that the release should answer well.
        model: The final hypothesis, with the (noisy) number of records as its mass.
        name: Name of the algorithm.
        parameters: Configuration of the algorithm, as plain values.
        measurements: Noisy answers, in the order in which they were bought.
        error_charge: epsilon or rho for the noisy error of the workload; 0 leaves it out.
        counted: The noisy number of records, where the mass of the model is an average of it and others.
        secure: Whether all that the run started from is private, or public.
    """
    made = Provenance.record(name, parameters, noise=curator.noise_source, violations=curator.violations)
    error = None
    if error_charge > 0.0:
        error = curator.workload_error(workload, workload.answers(model), error_charge)
    return Release(
        model=model,
        workload=workload,
        budget=curator.budget,
        events=curator.ledger.events,
        measurements=tuple(measurements),
        error=error,
        total=model.total,
        provenance=replace(made, secure=made.secure and secure),
        counted=counted,
    )


def check_made_by(release: Release, algorithm: str) -> None:
    """Refuse a release that another algorithm made.

    Args:
        release: The release.
        algorithm: Name of the algorithm, all of whose answers follow from what it measured.

    Raises:
        ConfigError: Another algorithm made it.
    """
    if release.provenance.algorithm != algorithm:
        raise ConfigError(
            f"a release of {release.provenance.algorithm} does not hold a noisy answer of every query",
            remedy=f"ask a release that {algorithm} made, or take workload.answers(release.model)",
        )
