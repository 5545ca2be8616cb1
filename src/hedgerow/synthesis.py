"""One call from a private table to synthetic records: the choices of ``hedgerow synth``, for Python.

It opens tables and hands them on, and reads nothing exact. What it chose itself, `Synthesis.assumptions` says.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hedgerow.algorithms.registry import entry
from hedgerow.cards import Drawing, card
from hedgerow.domain import (
    Domain,
    OpenDomain,
    check_public,
    domain_from_mapping,
    ignored_in_words,
    open_domain,
    parsed_text,
)
from hedgerow.errors import ConfigError, DomainError
from hedgerow.quantities import at_most
from hedgerow.queries import Neighbours, Workload
from hedgerow.runs import (
    RunSpec,
    budget_between,
    criteria_of,
    for_questions,
    is_counted_in_place,
    knowing,
    lost_of,
    noise_of,
    share_of_positions,
    trials_of,
    unasked_in_words,
    workload_with,
)

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm
    from hedgerow.data import ReadOptions, ScannedTable, Table
    from hedgerow.domain import Known
    from hedgerow.privacy import Budget, Register
    from hedgerow.release import Answer, Records, Release
    from hedgerow.report import Heading
    from hedgerow.system import Seed, SigningKey

Kind = Literal["arrow", "pandas", "polars"]
"""The kind of table that records are handed over in."""

NO_DOMAIN = "no domain is given: it lists the values that each column can have, and must not come from private data"
"""The message where nobody says which values each column could hold."""


def draft_file(data: str) -> Path:
    """The domain file that a draft of a table is proposed to be written to, in the working folder.

    Example:
        >>> draft_file("data/people.csv").name, draft_file("duckdb:census.db#homes").name, draft_file("data/*.pq").name
        ('people.domain.yaml', 'homes.domain.yaml', 'table.domain.yaml')
    """
    name = Path(data.rpartition("#")[2]).name.partition(".")[0]
    plain = re.fullmatch(r"[\w -]+", name) is not None
    return Path(f"{name if plain else 'table'}.domain.yaml")


def drafting_command(data: str) -> str:
    """The command that drafts a domain file from a table.

    Example:
        >>> drafting_command("people.csv")
        'hedgerow domain people.csv -o people.domain.yaml'
    """
    return f"hedgerow domain {shlex.quote(data)} -o {shlex.quote(str(draft_file(data)))}"


def synthesize(
    data: Any,
    epsilon: float = 1.0,
    delta: float | None = None,
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    budget: Budget | None = None,
    neighbours: Neighbours | str = "add-remove",
    register: Register | None = None,
    name: str = "",
    workload: str | None = None,
    means: Iterable[str] = (),
    target: str | None = None,
    needs: Iterable[str] = (),
    require: Any = None,
    configurations: Any = None,
    mechanism: str | Algorithm = "mwem",
    optimize_for: Literal["records", "answers"] = "records",
    accept_draft: bool = False,
    columns: Iterable[str] | None = None,
    known: Iterable[Known] = (),
    count_column: str | None = None,
    where: str | None = None,
    violations: Literal["refuse", "drop"] = "refuse",
    person: str | None = None,
    at_most: int | None = None,
    weight: str | None = None,
    largest_weight: int | None = None,
    possible_weight: int | None = None,
    design_effect: bool = False,
    fractional_weights: bool = False,
    coded: bool = False,
    show_values: bool = False,
    records: int | None = None,
    seed: int | None = None,
) -> Synthesis:
    """Make synthetic records of a private table, with everything that is not given chosen as ``hedgerow synth`` does.

    Each call spends its whole budget, and the budgets of one table add up.

    Args:
        data: A pandas or polars data frame, an Arrow table or anything else with Arrow's C stream; the path of a CSV or
            Parquet file, or a place as for ``scan_table``; a Spark data frame.
        epsilon: The budget: pure epsilon, or the epsilon of ``delta``.
        delta: Makes the run (epsilon, delta)-private; at most a small part of 1 / (number of records).
        domain: The values that each column could hold: a `Domain`, the content of a domain file as a mapping, or the
            path of one. It is public knowledge, and never read off the data; bins and values that a mapping or a file
            has to be learnt (``bins: {learn: 20}``) are a part of the budget.
        budget: A budget of another kind, such as ``ZCDP(0.1)``, which says its own neighbours; it stands in place of
            epsilon, delta and neighbours.
        neighbours: The change that one person can make: ``"add-remove"`` a record, or ``"replace"`` one.
        register: Register of the table, which keeps the sum of all its releases.
        name: Name of the release in the register.
        workload: Text of the tables and queries that you need to be accurate. By default all pairs of columns, and all
            tables of three columns, and of four, whose predicted error is at most 1 % of the records; and a search for
            interactions of three to six columns takes at most 2 % of the budget.
        means: Means by group that are wanted, as ``["pay by sex * region"]``: the same as ``means:pay by sex * region``
            in the workload. Each costs a tenth of the budget, or somewhat more with bins, and all together at most a
            quarter; the groups are counted for another tenth.
        target: A column that models will predict from the others: the workload holds the tables that they need, and all
            pairs of columns with a small weight unless ``workload`` says what else must be accurate. By default the
            target of the domain, if it has one.
        needs: Questions in SQL that must have an interval, each with the half-width that it may have at most if that
            matters: ``["sex = 'F' and age < 30 within 200"]``. What that costs, ``hedgerow plan --needs`` tells.
        require: Criteria that the release must hold: a YAML file, its content, or a list of entries such as
            ``{"table": "sex * age", "within": 0.02}``; see ``hedgerow.release.Criterion``. They are tested with a tenth
            of the budget, and the release has the verdicts.
        configurations: Configurations that the release is chosen from, in place of ``mechanism``: a YAML file, its
            content, or a list of entries such as ``{"mechanism": "mwem:rounds=30", "workload": "marginals:2"}``. Runs
            of them are drawn until one holds all criteria; that costs less than two runs, in pure epsilon.
        mechanism: Name of an algorithm, or a configured one.
        optimize_for: What ``mwem`` makes as good as it can: records that are drawn, or the release's answers alone.
        accept_draft: Whether a draft is taken for the domain as it stands: the one that was given or, without one, a
            draft from the data. What was read off the data is outside the guarantee, and the release says so.
        columns: Use these columns only.
        known: Public totals that release and records keep exactly: numbers of records, files, or tables of columns or
            levels and ``count``.
        count_column: See ``read_table``, and so for the following seven.
        where: SQL condition on rows, of a file or a place: only those for which it holds are records.
        violations: Whether records that break a rule of the domain are refused, or left out.
        person: Column that says who a record belongs to.
        at_most: Maximum records counted per person.
        weight: Column that says how often a record counts.
        largest_weight: The largest weight that counts.
        possible_weight: The largest weight that a record can have, such as the documents of the survey tell: what
            ``largest_weight`` takes away of the population is then measured, with a twentieth of the budget, see
            ``Release.lost_share``.
        design_effect: Whether the design effect of unequal weights is measured, with a twentieth of the budget, see
            `Release.weight_effect`.
        fractional_weights: Whether weights may be fractions, each of which is rounded to a multiple of 1/1,024.
        coded: Whether the table holds codes in place of values.
        show_values: Whether errors about cells may show their values.
        records: Number of records to draw; by default the noisy number of records, or 100,000 where they have weights.
        seed: NOT PRIVATE: noise and records that can be drawn again, for tests. The release is stamped.

    Raises:
        DomainError: No domain is given, or it is wrong, or a draft that is not accepted.
        ConfigError: Two arguments contradict each other, or an amount is out of its range.
        QueryError: The workload does not fit the domain.
        DataError: The table does not fit the domain; nothing was spent.
        RegisterExceededError: The register does not cover the budget; nothing was spent.
        ReleaseError: No run of several configurations held all criteria; the budget is spent.

    Example:
        >>> import pyarrow as pa
        >>> people = pa.table({"sex": ["F", "M"] * 400, "smokes": ["no", "yes", "no", "no"] * 200})
        >>> domain = {"sex": ["F", "M"], "smokes": ["no", "yes"]}
        >>> made = synthesize(people, epsilon=5.0, domain=domain, records=100, seed=0)
        >>> made
        Synthesis(100 records of sex, smokes; 5 epsilon; 4 assumptions)
        >>> made.records.column_names, made.records.num_rows
        (['sex', 'smokes'], 100)
        >>> answer = made.answer("sex = 'M' and smokes = 'yes'")
        >>> answer.low <= 200 <= answer.high
        True
    """
    from hedgerow.data import ReadOptions

    chosen = None if columns is None else list(columns)
    options = ReadOptions(
        count_column=count_column, extra_columns="error" if chosen is None else "ignore", coded=coded,
        show_values=show_values, where=where, violations=violations, person=person, at_most=at_most, weight=weight,
        largest_weight=largest_weight, fractional_weights=fractional_weights,
    )  # fmt: skip
    _check_number(records)
    promised = budget or budget_between(epsilon, delta, neighbours, options.persons)
    kind, data = _kind_of(data), _readable(data, where)
    wanted = knowing(_domain_of(data, domain, chosen, options.apart, accept_draft=accept_draft), known)
    target = target or (wanted if isinstance(wanted, Domain) else wanted.outline).target
    algorithm, asked = _algorithm_of(mechanism, optimize_for), workload_with(workload, means, target=target)
    trials = trials_of(configurations, alone=mechanism == "mwem")
    told = tuple(needs), criteria_of(require), trials, target, lost_of(possible_weight, options, effect=design_effect)
    run = for_questions(algorithm, asked, target), promised, asked, noise_of(seed), share_of_positions(wanted, options)
    release = _released(data, RunSpec(wanted, *run, *told), options, register, name)
    given = {"persons": options.persons, "workload": workload or target, "register": register, "records": records}
    assumptions = _assumptions(release, {**given, "mechanism": None if mechanism == "mwem" else mechanism})
    return Synthesis(release, kind, assumptions, release.n_records if records is None else records, seed)


def _check_number(records: int | None) -> None:
    if records is not None and records < 1:
        raise ConfigError(f"{records} records", remedy="give a number from 1 on, or leave it out")


def _algorithm_of(mechanism: str | Algorithm, optimize_for: str) -> Algorithm:
    chosen = {} if optimize_for == "records" else {"optimize_for": optimize_for}
    if isinstance(mechanism, str):
        return entry(mechanism).make(chosen)
    if chosen:
        remedy = "say it there: hedgerow.MWEM(optimize_for='answers')"
        raise ConfigError("optimize_for beside a mechanism that is configured", remedy=remedy)
    return mechanism


def _readable(data: Any, where: str | None) -> Any:
    """The table as it can be read several times."""
    import pyarrow as pa

    if isinstance(data, os.PathLike):
        return str(data)
    if where is not None and not (isinstance(data, str) or is_counted_in_place(data)):
        message = f"a condition on the rows of a {type(data).__name__}, which no database reads"
        raise ConfigError(message, remedy="write the table to a Parquet file, and give its path with where=")
    return data.read_all() if isinstance(data, pa.RecordBatchReader) else data


def _released(data: Any, spec: RunSpec, options: ReadOptions, register: Register | None, name: str) -> Release:
    """The release of a run."""
    from hedgerow.algorithms.shared import check_composition
    from hedgerow.data import read_labels, read_with, scan_with
    from hedgerow.privacy import warn_of_weakness

    spec.algorithm.check(spec.asked, spec.budget.regime)  # before a large table is read for nothing

    def read(domain: Domain, _: Workload, before_rows: Callable[[], object] | None) -> Table | ScannedTable:
        table = (scan_with if is_counted_in_place(data, options.where) else read_with)(data, domain, options)
        if before_rows is not None:  # behind the cells, which may be wrong
            before_rows()
        return table

    charge = None
    if register is not None and spec.noise is not None:
        message = "a register adds up guarantees, and with this noise there is none"
        raise ConfigError(message, remedy="leave the seed out, or the register")
    if register is None:
        spec = spec.accounted()
    else:  # what is charged there is never given back: refuse first
        spec.algorithm.check_budget(spec.asked, spec.budget)
        check_composition(spec.algorithm, spec.asked, spec.budget, exactly=True)
        charge = partial(register.charge, spec.budget, name=name, attributes=spec.asked.domain.names)
    opened = spec.opened(read, lambda wanted: read_labels(data, wanted, options), charge)
    made = opened.released(spec.algorithm, spec.noise)
    warn_of_weakness(made.budget, made.total, spec.noise)
    return made


@dataclass(frozen=True, eq=False)
class Synthesis:
    """The outcome of `synthesize`: a release, records drawn from it, and what was assumed. All of it is public.

    Attributes:
        release: The release, which everything else is made from at no further cost.
        kind: The kind of table that records are handed over in: that of the data, Arrow where they were read from a
            place.
        assumptions: A sentence for each choice of the call itself, with the way to choose otherwise; ``print`` shows
            them below the guarantee.
        n_records: Number of the `records`.
        seed: Seed of the `records`; None for a fresh one.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow.synthesis import synthesize
        >>> made = synthesize(pa.table({"sex": ["F", "M"] * 50}), domain={"sex": ["F", "M"]}, records=3, seed=1)
        >>> made.sample(2, given="sex = 'M'").to_pylist()
        [{'sex': 'M'}, {'sex': 'M'}]
    """

    release: Release
    kind: Kind
    assumptions: tuple[str, ...]
    n_records: int
    seed: Seed = None

    @cached_property
    def records(self) -> Any:
        """The synthetic records: a pandas or polars data frame, or an Arrow table; drawn once."""
        return self.sample(self.n_records, seed=self.seed)

    def sample(self, n: int | None = None, *, seed: Seed = None, given: Any = None) -> Any:
        """Draw more records, in the same kind of table.

        Args:
            n: Number of records; see ``Release.sample``, and so for the others.
            seed: Seed of the drawing.
            given: A condition that all records meet, or rows to complete; a frame's values may be of any kind.
        """
        drawn: Records = self.release.sample(n, seed=seed, given=given)
        if self.kind == "pandas":
            return drawn.to_pandas()
        return drawn.to_polars() if self.kind == "polars" else drawn.to_arrow()

    def answer(self, question: str, confidence: float = 0.95) -> Answer:
        """Answer how many records meet a condition, with an interval; see ``Release.answer``.

        Args:
            question: The condition, in SQL.
            confidence: Probability that the interval covers what it says it covers.
        """
        return self.release.answer(question, confidence)

    def report(self, path: str | os.PathLike[str] | None = None, heading: Heading | None = None) -> str:
        """The report as HTML, also written to a file if one is named.

        Args:
            path: The file; its folder must exist.
            heading: Name of the table, who made the release, and the day.

        Raises:
            MissingExtraError: jinja2 or matplotlib is not installed.
            ReleaseError: The file cannot be written.
        """
        from hedgerow.report import render_report, write_page

        page = render_report(self.release, heading=heading)
        if path is not None:
            write_page(page, path, called="report")
        return page

    def plot(self, column: str, confidence: float = 0.95) -> Drawing:
        """The synthetic counts of a column with intervals for the true counts, as SVG; notebooks show it.

        Args:
            column: Name of the column.
            confidence: Probability with which each interval holds.

        Raises:
            DomainError: There is no such column.
            MissingExtraError: jinja2 or matplotlib is not installed.
        """
        from hedgerow.report import draw_column

        return draw_column(self.release, column, confidence)

    def save(self, path: str | os.PathLike[str], *, sign: SigningKey | None = None) -> None:
        """Write the release to one file; ``Release.load`` reads it.

        Args:
            path: The file; its folder must exist.
            sign: Private key for a signature.
        """
        self.release.save(path, sign=sign)

    def __repr__(self) -> str:
        """One line; ``print`` shows guarantee and assumptions."""
        names = self.release.domain.names
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        budget, n = self.release.budget, len(self.assumptions)
        limit = f"{at_most(budget.limit, 4)} {budget.unit}"
        return f"Synthesis({self.n_records:,} records of {shown}; {limit}; {n} assumptions)"

    def _repr_html_(self) -> str:
        """The guarantee, and what was assumed, for notebooks."""
        facts = [("guarantee", self.release.guarantee())]
        rows = ((assumption,) for assumption in self.assumptions)
        return card(f"{self.n_records:,} synthetic records", facts, ("assumed",), rows)

    def __str__(self) -> str:
        """The guarantee, the errors of answers and of records, what somebody may regret, and what was assumed."""
        from hedgerow.release import release_warnings, verdicts_sentence

        said = [f"{self.n_records:,} synthetic records. {self.release.guarantee()}", *self._errors]
        verdicts = self.release.verdicts
        said += [verdicts_sentence(verdicts), *(f"- {each.sentence}" for each in verdicts)] if verdicts else []
        said += [f"Warning: {warning}" for warning in release_warnings(self.release)]
        return "\n".join([*said, "Assumed:", *(f"- {assumption}" for assumption in self.assumptions)])

    @cached_property
    def _errors(self) -> list[str]:
        from hedgerow.release import as_drawn, drawn_error, drawn_sentence, error_sentence

        if self.release.error is None:
            return [error_sentence(self.release)]
        added = drawn_error(self.release, as_drawn(self.release, self.n_records))
        return [error_sentence(self.release), drawn_sentence(self.release, self.n_records, added)]


def _kind_of(data: object) -> Kind:
    """The kind of table that records are handed over in, by the library that the data belong to."""
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        return "pandas"
    return "polars" if library == "polars" else "arrow"


def _domain_of(
    data: Any,
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str] | None,
    columns: list[str] | None,
    beside: Iterable[str],
    *,
    accept_draft: bool,
) -> Domain | OpenDomain:
    """The domain that was given, or an accepted draft; of the wanted columns."""
    if domain is None and not accept_draft:
        draft = (
            drafting_command(data)
            if isinstance(data, str)
            else "Path('table.domain.yaml').write_text(hedgerow.draft_domain(data))"
        )
        raise DomainError(
            NO_DOMAIN,
            remedy=f"draft a domain file: {draft}. Correct it by public knowledge, delete its line 'draft: true', and "
            "pass its path as domain. Or pass accept_draft=True to take the draft as it is, outside the guarantee",
        )
    if domain is None:
        from hedgerow.data import draft_domain

        text = draft_domain(data, columns=columns, without=list(beside), name="the table")
        declared = domain_from_mapping(parsed_text(text))  # a draft that nobody has read: stamped as one
    elif isinstance(domain, str | os.PathLike):
        return open_domain(domain, columns, accept_draft=accept_draft)
    elif isinstance(domain, Mapping):
        wanted = OpenDomain(domain, columns=columns)
        if not accept_draft:
            check_public(wanted.fine)
        return wanted if wanted.learns else wanted.fine
    else:
        declared = domain
        if not accept_draft:
            check_public(declared)
    return declared if columns is None else declared.of_columns(columns)


def _assumptions(release: Release, given: Mapping[str, object]) -> tuple[str, ...]:
    """Sentences about what was not given, each with the argument that says otherwise."""
    parameters = release.provenance.parameters
    rounds = parameters.get("rounds")
    otherwise = " (workload='marginals:2' asks for pairs alone)."
    joined = unasked_in_words(release.workload, otherwise, parameters.get("found", ()))
    declared = {
        "persons": "Each record is somebody's own: a person with several needs person= and at_most=.",
        "workload": f"The workload, the tables that you need to be accurate, is {release.workload.spec!r} (workload=)."
        + (f" {joined}" if joined else ""),
        "mechanism": f"The mechanism is {release.provenance.algorithm}"
        + (f" with rounds={rounds!r}" if rounds is not None else "")
        + " (mechanism=).",
        "register": "No register adds this release to others of the same table (register=).",
        "records": f"There are {release.n_records:,} records, by a number that is public or noisy (records=).",
    }
    chosen = [sentence for argument, sentence in declared.items() if given[argument] is None]
    if release.domain.draft:
        chosen.append("The domain is a draft that was read off the data, which the guarantee does not cover (domain=).")
    ignored = ignored_in_words(release.domain)
    reasons = " The comments of hedgerow.draft_domain(data) give the reasons." if release.domain.draft else ""
    return (*chosen, *([ignored + reasons] if ignored else []))
