"""Options that several commands share, and what they describe: budgets, limits, workloads, algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.lists import listed_lines, split_bounds, split_names, split_types
from hedgerow.queries import Neighbours, Persons, Relation

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm
    from hedgerow.data import ReadOptions
    from hedgerow.domain import Domain, OpenDomain
    from hedgerow.privacy import Budget, Limit, NoiseSource
    from hedgerow.report import Heading
    from hedgerow.runs import RunSpec

Force = Annotated[bool, option(panel="Output", help="Overwrite existing output files.")]

DOMAIN_FILE = (
    "Domain file (YAML or JSON): the values that each column could hold, their levels (coarser values, such as age "
    "groups), derived columns, and rules that no record breaks."
)
DomainFile = Annotated[Path, option(panel="Table", metavar="FILE", help=DOMAIN_FILE)]
Columns = Annotated[
    str | None,
    option(panel="Table", metavar="A,B,...", help="Use these columns only; a name with a comma in double quotes."),
]
CountColumn = Annotated[
    str | None, option(panel="Table", metavar="NAME", help="Column that says how many records a row stands for.")
]
AcceptDraft = Annotated[
    bool,
    option(
        panel="Table",
        help="Take a domain file that says 'draft: true' as it stands. What it read off the data is outside the "
        "guarantee, and the release says so.",
    ),
]
ShowValues = Annotated[bool, option(panel="Table", help="Let messages about bad cells show their values.")]
WorkloadText = Annotated[
    str | None,
    option(
        panel="Algorithm",
        metavar="SPEC",
        help="The tables and queries that you need to be accurate: marginals:2, cells:2, parities:3, prefixes:age, "
        "ranges:age,hours:2000:7, marginals:age*sex,race*sex, marginals:3<=10000 (those of at most 10,000 cells), "
        "marginals:2 @levels (at every mix of levels), marginals:age.10*sex (age at its level of tens), means:pay by "
        "sex*region, correlations:age,pay; several joined by ;",
        show_default="marginals:2, and all tables of 3 and 4 columns that the budget carries",
    ),
]


KnownTotals = Annotated[
    list[str] | None,
    option(
        panel="Table",
        metavar="FILE|N",
        help="Public totals that release and records keep exactly: a CSV file of columns or levels and 'count', or the "
        "number of records. Beside weights, those of the population: 'population' in place of 'count', or "
        "population=N. May be given several times; nothing is spent on them.",
    ),
]


def knowing(wanted: Domain | OpenDomain, known: Sequence[str] | None) -> Domain | OpenDomain:
    """The domain with the totals that ``--known`` gives.

    Raises:
        DomainError: They are wrong, or contradict each other or a rule.
    """
    from hedgerow.runs import knowing

    return knowing(wanted, [int(each) if each.isdecimal() else each for each in known or ()])


class Violations(StrEnum):
    """The values of ``--violations``."""

    REFUSE = "refuse"
    DROP = "drop"


@dataclass(frozen=True)
class HeadingOptions(Options, panel="Output"):
    """What stands above a report, and in metadata.

    Attributes:
        title: Name of the table for people; by default the name of the release file.
        made_by: Person or office that made the release and answers for it.
    """

    title: Annotated[str | None, option(metavar="TEXT")] = None
    made_by: Annotated[str, option(metavar="TEXT")] = ""

    def of(self, release: Path) -> Heading:
        """The heading of the report of a release file, with today's date."""
        from hedgerow.report import Heading

        return Heading(release.stem if self.title is None else self.title, self.made_by, date.today())


@dataclass(frozen=True)
class RowOptions(Options, panel="Table"):
    """Which rows and columns of a table are records, and of whom: fields of `ReadOptions`, and ``--columns``.

    Attributes:
        where: Only rows for which this SQL condition holds are records. It must look at one row at a time.
        violations: Records that break a rule of the domain (a constraint, or the table of a derived column): refuse the
            table, or drop them one by one. The number dropped is private and never reported.
        person: Column that says who a record belongs to, where persons have several: the guarantee is then about a
            person with all records, not about a record. It is not released, and no column of the domain.
        at_most: Maximum records counted per person; noise is proportional to it. Which ones are left out depends on
            that person's records alone.
        weight: Column that says how often a record counts (whole numbers): the release is then about the population
            that the records stand for. It is not released, and no column of the domain.
        largest_weight: A record with a larger weight counts W times; noise is proportional to it. Do not read it off
            the table.
        fractional_weights: Weights may be fractions: each is rounded to a multiple of 1/1,024.

    Example:
        >>> RowOptions(person="patient", at_most=5).reading().persons.text
        'persons (patient), at most 5 records'
    """

    columns: Columns = None
    count_column: CountColumn = None
    where: Annotated[str | None, option(metavar="CONDITION")] = None
    violations: Violations | None = Violations.REFUSE
    person: Annotated[str | None, option(metavar="NAME")] = None
    at_most: Annotated[int | None, option(metavar="M", min=1)] = None
    weight: Annotated[str | None, option(metavar="NAME")] = None
    largest_weight: Annotated[int | None, option(metavar="W", min=1)] = None
    fractional_weights: bool = False

    def given(self) -> dict[str, Any]:
        """The options of `ReadOptions` that were given.

        Raises:
            typer.BadParameter: One option of a pair is given without the other.
        """
        if (self.person is None) != (self.at_most is None):
            raise typer.BadParameter("--person and --at-most go together: who a record belongs to, and how many count")
        if (self.weight is None) != (self.largest_weight is None):
            raise typer.BadParameter(
                "--weight and --largest-weight go together: how often a record counts, and at most"
            )
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if values.pop("columns") is not None:
            values["extra_columns"] = "ignore"
        if self.violations is not None:
            values["violations"] = self.violations.value
        return {name: value for name, value in values.items() if value is not None and value is not False}

    def reading(self, *, show_values: bool = False) -> ReadOptions:
        """How the table is read.

        Args:
            show_values: Whether messages about bad cells show their values.

        Raises:
            typer.BadParameter: See `given`.
            ConfigError: A column has no name, or a number is too large.
        """
        from hedgerow.data import ReadOptions

        return ReadOptions(**self.given(), show_values=show_values)


@dataclass(frozen=True)
class TableOptions(RowOptions):
    """The same of a table that may hold codes.

    Attributes:
        coded: The table holds codes 0, 1, ... (places in the domain file's lists) instead of values.
    """

    coded: bool = False


@dataclass(frozen=True)
class BudgetOptions(Options, panel="Budget"):
    """A budget, and the neighbours that it is about.

    Attributes:
        epsilon: Pure epsilon, or the epsilon of --delta.
        delta: Makes the run (epsilon, delta)-private, counted in zCDP, or in GDP if that is better.
        rho: Zero-concentrated differential privacy (zCDP), instead of --epsilon.
        mu: Gaussian differential privacy (GDP), instead of --epsilon.
        neighbours: The change that one person can make: add or remove a record (the number of records is private), or
            replace one (it is public; after a filter, only that of the whole table is).
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None
    neighbours: Relation | None = Relation.ADD_REMOVE

    def budget(self, between: Neighbours) -> Budget:
        """The budget that the options describe.

        Raises:
            typer.BadParameter: They describe none, or two.
            ConfigError: An amount is out of its range.

        Example:
            >>> BudgetOptions(epsilon=1.0).budget(Neighbours.REPLACE).to_dict()
            {'kind': 'pure', 'epsilon': 1.0, 'neighbours': 'replace'}
        """
        return self._of_all_records(between)

    def _of_all_records(self, between: Neighbours) -> Limit:
        """The budget between tables that differ in a person."""
        from hedgerow.privacy import GDP

        budget = _amount_of(self.epsilon, self.delta, self.rho, between, ("--epsilon", "--delta", "--rho"))
        if self.mu is not None:
            if budget is not None:
                raise typer.BadParameter("give either --mu, --rho, or --epsilon with or without --delta")
            return GDP(self.mu, between)
        if budget is None:
            raise typer.BadParameter("a budget is needed: --epsilon, --epsilon with --delta, --rho, or --mu")
        return budget

    def between(self, persons: Persons | None, *, filtered: bool = False) -> Neighbours:
        """The neighbouring relation of `between`."""
        return between(self.neighbours, persons, filtered=filtered)


@dataclass(frozen=True)
class SampledBudgetOptions(BudgetOptions):
    """The same for a run that may look at a secret sample of the records alone: an ablation, which dual-query takes.

    Attributes:
        sampled: Run dual-query on a secret sample of so many records, drawn once without replacement. The budget is
            for the sample; the guarantee for the whole table is stronger, and is printed. Needs --population and
            --neighbours
            replace.
        population: The number of records of the whole table, which is public with --neighbours replace. It is checked.

    Example:
        >>> options = SampledBudgetOptions(epsilon=1.0, delta=1e-6, sampled=100, population=1000)
        >>> [float(f"{amount:.6g}") for amount in options.budget(Neighbours.REPLACE).approximate()]
        [0.158565, 1e-07]
    """

    sampled: Annotated[int | None, option(metavar="M", min=1)] = None
    population: Annotated[int | None, option(metavar="N", min=1)] = None

    def budget(self, between: Neighbours) -> Budget:
        """The budget that the options describe, for a sample if they name one.

        Raises:
            typer.BadParameter: They describe none, or two; or one of sample and population is missing.
            ConfigError: An amount is out of its range, or such a sample cannot be drawn.
        """
        from hedgerow.privacy import Subsampled

        inner = self._of_all_records(between)
        if self.sampled is None and self.population is None:
            return inner
        if self.sampled is None or self.population is None:
            raise typer.BadParameter("--sampled and --population go together: M of N records are drawn")
        if self.rho is not None or self.mu is not None:
            raise typer.BadParameter("--sampled goes with --epsilon, with or without --delta")
        if between != Neighbours.REPLACE:
            raise typer.BadParameter("--sampled needs a public number of records: --neighbours replace")
        return Subsampled(inner, self.sampled, self.population)


@dataclass(frozen=True)
class RegisterOptions(Options, panel="Budget"):
    """A register, and its limit.

    Attributes:
        register: Register of the table, a file in which all its releases add up: it is charged the whole budget
            before the table is read, and refuses a release that would pass its limit. Made by the first call, which
            names the limit.
        limit: Limit on the sum of all releases in the register: an epsilon, for pure releases alone, or with
            --limit-delta, for all kinds.
        limit_delta: The delta of --limit.
        limit_rho: zCDP, instead of --limit.
    """

    register: Annotated[Path | None, option(metavar="FILE")] = None
    limit: Annotated[float | None, option(metavar="EPSILON")] = None
    limit_delta: Annotated[float | None, option(metavar="DELTA")] = None
    limit_rho: Annotated[float | None, option(metavar="RHO")] = None

    def bound(self, between: Neighbours) -> Limit | None:
        """The limit of a register that the options describe; None if they describe none.

        Raises:
            typer.BadParameter: They describe two, or a delta alone.
            ConfigError: An amount is out of its range.

        Example:
            >>> RegisterOptions(limit=3.0, limit_delta=1e-9).bound(Neighbours.REPLACE).epsilon
            3.0
        """
        named = "--limit", "--limit-delta", "--limit-rho"
        return _amount_of(self.limit, self.limit_delta, self.limit_rho, between, named)


@dataclass(frozen=True)
class LearningRegisterOptions(RegisterOptions):
    """The same for releases that may learn values.

    Attributes:
        limit_thresholds: Part of --limit-delta for releases that learn values; each needs half of its own delta.
    """

    limit_thresholds: Annotated[float | None, option(metavar="DELTA")] = None

    def bound(self, between: Neighbours) -> Limit | None:
        """The same, with the part of its delta for thresholds.

        Raises:
            typer.BadParameter: There is a part of a delta without one.

        Example:
            >>> LearningRegisterOptions(limit=3.0, limit_delta=1e-9, limit_thresholds=4e-10).bound(
            ...     Neighbours.REPLACE
            ... ).for_thresholds
            4e-10
        """
        from hedgerow.privacy import ApproxDP

        limit = super().bound(between)
        if self.limit_thresholds is None:
            return limit
        if not isinstance(limit, ApproxDP):
            raise typer.BadParameter("--limit-thresholds is a part of --limit-delta: name it, and --limit")
        return replace(limit, thresholds=self.limit_thresholds)


@dataclass(frozen=True)
class PublicFacts(Options, panel="Table"):
    """What is known in public of the columns of a table, without a domain file.

    Attributes:
        bounds: Smallest and largest value of a column that could occur, known in public and not read off the table:
            age=0..120, admitted=2015-01-01..2024-12-31. Once for each such column.
        types: Types of columns: int, number, text, bool, date, time, datetime or duration, with a step or form behind a
            colon: cost=number:0.01, born=date:%d.%m.%Y. Without a type the bounds say it: 0..120 are whole numbers,
            0.0..120.0 numbers with fractions; a column without both holds labels.
        trust_types: Take the types of a Parquet file or a view for public, as those of a database's table are. One cell
            can decide them (a gap makes fractions of whole numbers): the sentence of the guarantee says so.
    """

    bounds: Annotated[list[str] | None, option(metavar="NAME=LOW..HIGH")] = None
    types: Annotated[list[str] | None, option(metavar="NAME=TYPE,...")] = None
    trust_types: bool = False

    def content(self, data: str, columns: str | None, apart: Sequence[str]) -> dict[str, Any]:
        """The content of a domain file that follows from public facts alone.

        Args:
            data: Place of the table.
            columns: Columns that ``--columns`` selects; None for all.
            apart: Columns that say something of rows.
        """
        from hedgerow.data import automatic_domain

        return automatic_domain(
            data,
            bounds=split_bounds(self.bounds or ()),
            types=split_types(self.types or ()),
            trust_types=self.trust_types,
            columns=split_names(columns),
            apart=apart,
        )


@dataclass(frozen=True)
class DomainOptions(Options, panel="Table"):
    """A domain file, or that a domain follows from what is known in public.

    Attributes:
        auto_domain: Without a domain file: take names of the columns as public, and learn values of labels and bins of
            numbers as a part of the budget. Needs --delta, and public --bounds of numbers and dates.
    """

    domain: Annotated[
        Path | None, option(metavar="FILE", help=f"{DOMAIN_FILE} Without it a draft is offered on a terminal.")
    ] = None
    accept_draft: AcceptDraft = False
    auto_domain: bool = False
    known: KnownTotals = None

    def wanted(self, data: str, columns: str | None, apart: Sequence[str], facts: PublicFacts) -> Domain | OpenDomain:
        """The domain in a file, or the one that follows from names of columns, and from types and bounds.

        Args:
            data: Place of the table.
            columns: Columns that ``--columns`` selects; None for all.
            apart: Columns that say something of rows.
            facts: What is known in public.

        Raises:
            typer.BadParameter: There is a file and ``--auto-domain``, or neither; or bounds are none.
            ConfigError: A column lacks bounds that are known in public.
            DomainError: See `opened`.
        """
        return knowing(self._declared(data, columns, apart, facts), self.known)

    def _declared(
        self, data: str, columns: str | None, apart: Sequence[str], facts: PublicFacts
    ) -> Domain | OpenDomain:
        if self.auto_domain == (self.domain is not None):
            raise typer.BadParameter(
                f"give --domain FILE ('hedgerow domain {data} -o FILE' drafts one), or --auto-domain to have it learnt"
            )
        if self.domain is not None:
            if facts.bounds or facts.types or facts.trust_types:
                named = "--bounds" if facts.bounds else "--types" if facts.types else "--trust-types"
                raise typer.BadParameter(f"{named} go with --auto-domain; a domain file has its own")
            return opened(self.domain, columns, accept_draft=self.accept_draft)
        from hedgerow.domain import OpenDomain

        wanted = OpenDomain(facts.content(data, columns, apart))
        return wanted if wanted.learns else wanted.fine


@dataclass(frozen=True)
class QuestionOptions(Options, panel="Algorithm"):
    """What a run should answer well.

    Attributes:
        means: Means by group, as 'pay by sex * region', with a narrow interval: the same as means: in the workload.
            Each costs a tenth of the budget, all together at most a quarter; the groups are counted for another tenth.
        target: A column that models will predict from the others: the tables that they need are asked for, the same as
            target: in the workload, and all pairs of columns with a small weight where no workload is given. By default
            the target: of the domain file, if it has one.
        needs: A text file of questions in SQL, one a line, that must have an interval: conditions, or SELECT
            statements. 'within 200' behind a question of counts says how far the ends may be away at 95%. Each is
            measured by itself; 'hedgerow plan' tells what that costs.
        require: A YAML file of criteria that the release must hold, such as a largest error of a table. They are tested
            with a share of the budget; where one is not held, no records are written.
        possible_weight: The largest weight that a record can have, such as the documents of the survey tell: what
            --largest-weight takes away of the population is then measured, with a twentieth of the budget.
        design_effect: Measure how much unequal weights alone make variances larger (Kish), with a twentieth of the
            budget.
        trying: A YAML file of configurations that the release is chosen from, in place of --mechanism: runs are drawn
            until one holds all criteria of --require. That costs less than two runs, with --epsilon without --delta.
    """

    workload: WorkloadText = None
    means: Annotated[list[str] | None, option(metavar="TEXT")] = None
    target: Annotated[str | None, option(metavar="COLUMN")] = None
    needs: Annotated[Path | None, option(metavar="FILE")] = None
    require: Annotated[Path | None, option(metavar="FILE")] = None
    possible_weight: Annotated[int | None, option(metavar="V", min=2)] = None
    design_effect: bool = False
    trying: Annotated[Path | None, option("--try", metavar="FILE")] = None

    def over(self, domain: Domain, *, alone: bool = True) -> QuestionOptions:
        """The same, with the target of a domain where no other is named.

        Args:
            domain: The domain.
            alone: Whether no option names a mechanism, or something that it takes.

        Raises:
            typer.BadParameter: Configurations name mechanisms, and an option does.
        """
        if self.trying is not None and not alone:
            message = "--try names mechanisms: leave --mechanism, --rounds, --for, --alpha and --prior out"
            raise typer.BadParameter(message)
        return self if self.target is not None else replace(self, target=domain.target)

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files that say what is wanted; public."""
        return self.needs, self.require, self.trying

    @property
    def text(self) -> str | None:
        """The workload, with the means; None for all pairs of columns."""
        from hedgerow.runs import workload_with

        return workload_with(self.workload, self.means or (), target=self.target)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The questions that must have an interval."""
        return tuple(listed_lines("--needs", self.needs))

    def spec(
        self,
        wanted: Domain | OpenDomain,
        algorithm: Algorithm,
        budget: Budget,
        how: ReadOptions,
        noise: NoiseSource | None = None,
    ) -> RunSpec:
        """The run that answers them; see `RunSpec`.

        Args:
            wanted: The domain.
            algorithm: The mechanism.
            budget: Budget of the whole run.
            how: How the table is read.
            noise: Source of the noise; None for the secure one.
        """
        from hedgerow.runs import RunSpec, criteria_of, lost_of, share_of_positions, trials_of

        share, criteria, trials = share_of_positions(wanted, how), criteria_of(self.require), trials_of(self.trying)
        told = self.lines, criteria, trials, self.target, lost_of(self.possible_weight, how, effect=self.design_effect)
        return RunSpec(wanted, algorithm, budget, self.text, noise, share, *told)


def domain_of(domain_file: Path, columns: str | None, *, accept_draft: bool = False) -> Domain:
    """The domain of the columns that ``--columns`` selects; of all if it is None.

    Raises:
        DomainError: The domain file is wrong, is a draft that is not to be accepted, or does not declare a column.
    """
    from hedgerow.domain import read_domain

    declared, selected = read_domain(domain_file, accept_draft=accept_draft), split_names(columns)
    return declared if selected is None else declared.of_columns(selected)


def opened(domain_file: Path, columns: str | None, *, accept_draft: bool = False) -> Domain | OpenDomain:
    """The same, where bins of the columns may be to be learnt.

    Raises:
        DomainError: The domain file is wrong, is a draft that is not to be accepted, or does not declare a column.
    """
    from hedgerow.domain import open_domain

    return open_domain(domain_file, split_names(columns), accept_draft=accept_draft)


def between(relation: Relation | None, persons: Persons | None, *, filtered: bool = False) -> Neighbours:
    """The neighbouring relation that the options describe.

    Args:
        relation: The change that one person can make; to add or remove a record by default.
        persons: Persons with several records, if there are.
        filtered: Whether rows may be left out by what they hold.

    Example:
        >>> between(Relation.REPLACE, None, filtered=True).value
        'replace-then-filter'
    """
    neighbours = Neighbours.of((relation or Relation.ADD_REMOVE).value).between(persons)
    return neighbours.filtered if filtered else neighbours


def _amount_of(
    epsilon: float | None, delta: float | None, rho: float | None, neighbours: Neighbours, named: tuple[str, str, str]
) -> Limit | None:
    """The budget or limit that options of these names describe."""
    from hedgerow.privacy import ZCDP, ApproxDP, PureDP

    if rho is not None:
        if epsilon is not None or delta is not None:
            raise typer.BadParameter(f"give either {named[2]}, or {named[0]} with or without {named[1]}")
        return ZCDP(rho, neighbours)
    if epsilon is None:
        if delta is not None:
            raise typer.BadParameter(f"{named[1]} goes with {named[0]}")
        return None
    return PureDP(epsilon, neighbours) if delta is None else ApproxDP(epsilon, delta, neighbours)


def warn_of_domain(output: Output, domain: Domain) -> None:
    """Warn of columns whose bins or labels look useless, by what is public about them.

    Args:
        output: Prints the warnings.
        domain: The domain of the run.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> warn_of_domain(Output(), Domain([IntegerRange("age", 0, 99)]))
    """
    from hedgerow.domain import domain_warnings

    for warning in domain_warnings(domain):
        output.warn(warning)


def warn_of_budget(output: Output, budget: Budget, total: float) -> None:
    """Warn if the guarantee promises next to nothing.

    Args:
        output: Prints the warnings.
        budget: The budget of the run.
        total: Number of records that is known in public: a guess, or a noisy value.

    Example:
        >>> warn_of_budget(Output(), BudgetOptions(epsilon=1.0, delta=1e-9).budget(Neighbours.REPLACE), 1000.0)
    """
    from hedgerow.privacy import weaknesses

    for reason in weaknesses(budget, total):
        output.warn(reason)
