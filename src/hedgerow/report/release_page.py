"""The report of a release, for the person who signs: odds, questions, drawings, and the ledger for the auditor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hedgerow.cards import Drawing
from hedgerow.domain import Categorical, attribute_in_words, caveats_in_words, feasible_records, ignored_in_words
from hedgerow.errors import DomainError
from hedgerow.privacy import membership_guess
from hedgerow.quantities import at_most
from hedgerow.queries import Conjunction
from hedgerow.release import (
    MOST_LISTED,
    ColumnSummary,
    Estimate,
    Release,
    as_drawn,
    associations,
    column_summaries,
    distinct_records,
    drawn_error,
    drawn_sentence,
    error_sentence,
    level_uses,
    levels_sentence,
    pair_knowledge,
    release_warnings,
    survey_size,
    tables_sentence,
    verdicts_sentence,
    weights_sentence,
)
from hedgerow.report.page import large_text, number_text, page_template, require_extra, write_page
from hedgerow.report.questions import questions_of

if TYPE_CHECKING:
    from hedgerow.privacy import ExactErrors
    from hedgerow.simulation import SimulatedErrors

CONFIDENCE = 0.95
MOST_COLUMNS = 60
"""Columns that the page tells about one by one."""
MOST_ASSOCIATIONS = 12
MOST_OF_MATRIX = 40
"""Columns whose pairs are drawn."""
MOST_DRAWN = 60
"""Attributes that are drawn, at most. A drawing takes a thirtieth of a second."""
MOST_ESTIMATED = 20
"""Candidates of the workload whose estimated errors are listed, the largest first."""

Cell: TypeAlias = str | tuple[str, str]
"""A text, or a text and what stands below it in small print."""


@dataclass(frozen=True)
class Heading:
    """What stands above a report, beside what the release tells itself.

    Attributes:
        table: Name of the table for people.
        made_by: Who made the release, and answers for it.
        day: Day of the report.

    Example:
        >>> Heading("Hospital visits", "A. Miller", date(2026, 3, 1)).line_with("MWEM")
        'made by A. Miller, 2026-03-01, MWEM'
    """

    table: str = ""
    made_by: str = ""
    day: date | None = None

    def line_with(self, last: str) -> str:
        """All but the name of the table, in one line that ends in a text."""
        made_by = f"made by {self.made_by}" if self.made_by else ""
        return ", ".join(filter(None, (made_by, "" if self.day is None else str(self.day), last)))


def write_report(
    release: Release,
    path: str | os.PathLike[str],
    *,
    heading: Heading | None = None,
    exact: ExactErrors | None = None,
    simulated: SimulatedErrors | None = None,
) -> None:
    """Write the report: one HTML file without scripts or addresses, which opens offline.

    Every figure in it is a function of the release. Only if exact errors are given does it show any other, and then the
    whole page is labelled "not private".

    Args:
        release: The release.
        path: Target; its folder must exist.
        heading: Name of the table, who made the release, and the day.
        exact: Exact errors, from an evaluation that was asked for.
        simulated: Errors of simulated runs, which the page calls estimated, not proved.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
        ReleaseError: The file cannot be written.
    """
    write_page(render_report(release, heading=heading, exact=exact, simulated=simulated), path, called="report")


def render_report(
    release: Release,
    *,
    heading: Heading | None = None,
    exact: ExactErrors | None = None,
    simulated: SimulatedErrors | None = None,
) -> str:
    """The report as text; see ``write_report``.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    require_extra()
    heading = Heading() if heading is None else heading
    domain, budget = release.domain, release.budget
    columns = column_summaries(
        release, [a.name for a in domain.attributes[:MOST_COLUMNS] if a.size <= MOST_LISTED], CONFIDENCE
    )
    knowledge = pair_knowledge(release) if release.measurements else {}
    questions = questions_of(release, columns, knowledge, CONFIDENCE)
    replaced = budget.neighbours.relation == "replace"
    records_error = ""
    if release.error is not None:
        n = release.n_records
        records_error = drawn_sentence(release, n, drawn_error(release, as_drawn(release, n)), CONFIDENCE)
    return page_template("release.html").render(
        release=release,
        heading={"table": heading.table, "line": heading.line_with(_algorithm(release))},
        guess=at_most(100.0 * membership_guess(budget), 3),
        guessed="which of two records a person has" if replaced else "whether a person is in the table",
        replaced=replaced,
        caveats=caveats_in_words(domain),
        ignored=ignored_in_words(domain),
        facts=_facts(release),
        exact=exact,
        can=[(each.text, each.example, each.answer) for each in questions if each.answered],
        cannot=[(each.text, each.example, each.answer) for each in questions if not each.answered],
        warnings=[*release_warnings(release), *_apart(columns)],
        error=error_sentence(release, CONFIDENCE),
        verdicts=release.verdicts,
        verdicts_said=verdicts_sentence(release.verdicts),
        records_error=records_error,
        numeric=[_numbers(each) for each in columns if not isinstance(each.attribute, Categorical)],
        values=[_values(each) for each in columns],
        marginals=list(_marginals(release)),
        simulated=simulated,
        estimates=[] if simulated is None else list(_estimated(simulated)),
        distinct_records=distinct_records(release),
        tables_sentence=tables_sentence(release),
        weights=weights_sentence(release),
        confidence=CONFIDENCE,
        **_pairs(release, knowledge),
        **_for_the_auditor(release),
    )


def _algorithm(release: Release) -> str:
    return f"{release.provenance.algorithm}, workload {release.workload.spec}"


def _facts(release: Release) -> dict[str, str]:
    """The figures at the top."""
    public = release.knows_total or bool(release.domain.population)
    budget = release.budget.to_dict()
    records = "number of records" if release.weight is None else "population"
    facts = {
        f"{records}{'' if public else ', noisy'}": number_text(release.stands_for, 3),
        "columns": str(len(release.domain)),
    }
    facts |= {name: at_most(budget[name]) for name in ("epsilon", "delta", "rho", "mu") if name in budget}
    survey = survey_size(release, CONFIDENCE)
    if survey is not None:
        people = " to ".join(dict.fromkeys(f"{float(f'{end:.2g}'):,.0f}" for end in survey))
        facts["as accurate as a random sample of"] = people
    return facts


def _apart(columns: list[ColumnSummary]) -> Iterator[str]:
    """Warnings of the columns of which synthetic records have another mean, or share of the most frequent value."""
    for name, of in (("mean", "mean"), ("share", "share of the most frequent value")):
        if named := [each.attribute.name for each in columns if name in each.apart]:
            why = f"the {of} of the synthetic records lies outside the interval: publish the number of this report"
            yield f"{', '.join(named)}: {why}"


def _share(value: float) -> str:
    return f"{100.0 * value:.3g}%"


def _share_of(estimate: Estimate) -> Cell:
    if estimate.low is None or estimate.high is None:
        return _share(estimate.value), ""
    return _share(estimate.value), f"{_share(estimate.low)} to {_share(estimate.high)}"


def _numbers(column: ColumnSummary) -> list[Cell]:
    """The row of a column's mean and quartiles."""
    row: list[Cell] = [column.attribute.name]
    if column.mean is not None:
        row += [
            (column.text(number.value), " to ".join(dict.fromkeys(filter(None, column.ends(number)))))
            for number in (column.mean, *column.quartiles)
        ]
    return row


def _values(column: ColumnSummary) -> list[Cell]:
    """The row of a column's most frequent value."""
    there = "not measured"
    if column.measured:
        there = "too many values to say"
        if column.told is not None and column.certain is not None:
            there = f"{column.told:,} of {column.attribute.size:,}, with {_share(column.certain)} of the records"
    return [column.attribute.name, column.attribute.label(column.common), _share_of(column.share), there]


def _pairs(release: Release, knowledge: Any) -> dict[str, Any]:
    """The drawing of what is known about pairs, and the strongest associations."""
    from hedgerow.report.plots import pairs_plot

    drawn = release.domain.names[:MOST_OF_MATRIX]
    strongest: list[list[Cell]] = []
    for each in associations(release, CONFIDENCE)[:MOST_ASSOCIATIONS] if knowledge else []:
        related: Cell = ""
        if each.correlation is not None:
            low, high = each.correlation.low, each.correlation.high
            ends = "" if low is None or high is None else f"{low:.2f} to {high:.2f}"
            related = f"{each.correlation.value:.2f}", ends
        strongest.append([" and ".join(each.pair), _share_of(each.dependence), related, str(each.knowledge)])
    matrix = pairs_plot(knowledge, drawn) if knowledge else ""
    return {"matrix": matrix, "in_matrix": len(drawn), "strongest": strongest}


def _for_the_auditor(release: Release) -> dict[str, Any]:
    """The ledger, the measurements, and how the release was made."""
    from hedgerow.report.plots import fit_plot, spending_plot

    domain, distances = release.domain, _distances(release)
    feasible = feasible_records(domain) if domain.constraints else None
    made = {
        "possible records (cells)": large_text(domain.size),
        "looks at the data": str(len(release.events)),
        f"{release.budget.unit} spent": f"{number_text(release.spent)} of {number_text(release.budget.limit)}",
    }
    if domain.constraints:
        made["records that can exist"] = "not counted" if feasible is None else large_text(feasible)
        made["constraints"] = str(len(domain.constraints))
    if domain.derived_columns:
        made["derived columns"] = str(len(domain.derived_columns))
    attributes = [(each.name, str(each.size), attribute_in_words(each)) for each in domain]
    for each in domain.declared:
        kind = "a column that follows" if each.column else "a level" if len(each.sources) == 1 else "derived"
        words = f"{attribute_in_words(each.attribute)}; {kind} from {', '.join(each.sources)}"
        attributes.append((each.name, str(each.attribute.size), words))
    return {
        "spending": spending_plot(release.events, release.budget.limit, release.budget.unit),
        "ledger": [
            (
                str(number),
                event.label,
                event.target,
                event.mechanism,
                *map(number_text, (event.sensitivity, event.scale, event.charge)),
            )
            for number, event in enumerate(release.events, 1)
        ],
        "fit": fit_plot(distances) if distances else "",
        "measured": [
            (
                str(number),
                measurement.target.text,
                number_text(measurement.target.size, 9),
                measurement.noise.value.capitalize(),
                number_text(measurement.scale),
                f"{distance:.2f}",
            )
            for number, (measurement, distance) in enumerate(zip(release.measurements, distances, strict=True), 1)
        ],
        "levels": [
            (
                level.name,
                ", ".join(level.sources),
                str(level.values),
                str(level.measurements),
                "" if level.beside is None else str(level.beside),
            )
            for level in level_uses(release)
        ],
        "levels_sentence": levels_sentence(release),
        "made": made,
        "attributes": attributes,
    }


def _estimated(simulated: SimulatedErrors) -> Iterator[tuple[str, str, str, str]]:
    """The candidates with the largest estimated errors: text, error, mean and largest half-width of its answers."""
    workload, widths = simulated.release.workload, simulated.widths(CONFIDENCE)
    worst = np.argsort(-simulated.errors, kind="stable")[:MOST_ESTIMATED]
    for index in worst.tolist():
        first = int(workload.starts[index])
        of_candidate = widths[first : first + int(workload.lengths[index])]
        yield (
            workload.candidate(index).text,
            number_text(float(simulated.errors[index])),
            number_text(float(of_candidate.mean())),
            number_text(float(of_candidate.max())),
        )


def _distances(release: Release) -> list[float]:
    """Root mean square distance of the model from each measurement, in standard deviations of its noise."""
    targets = [measurement.target for measurement in release.measurements]
    conditions = [target for target in targets if isinstance(target, Conjunction)]  # they need no table
    counts = iter(release.model.conjunctions(conditions) if conditions else ())
    scopes = tuple(dict.fromkeys(target.scope for target in targets if not isinstance(target, Conjunction)))
    tables = dict(zip(scopes, release.model.marginals(scopes), strict=True)) if scopes else {}
    distances = []
    for measurement, target in zip(release.measurements, targets, strict=True):
        answers = next(counts) if isinstance(target, Conjunction) else target.of_table(tables[target.scope])
        distances.append(float(np.sqrt(np.mean(np.square(measurement.values - answers)))) / measurement.std)
    return distances


def draw_column(release: Release, column: str, confidence: float = CONFIDENCE) -> Drawing:
    """The synthetic counts of a column with intervals for the true counts, as in the report.

    Args:
        release: The release.
        column: Name of an attribute.
        confidence: Probability with which all intervals hold together.

    Raises:
        DomainError: There is no such attribute.
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    require_extra()
    from hedgerow.report.plots import marginal_plot

    if column not in release.domain.names:
        raise DomainError(
            f"the release has no attribute {column!r}", remedy=f"its attributes are: {', '.join(release.domain.names)}"
        )
    attribute = release.domain[column]
    counts = release.hypothesis.marginals([(column,)])[0] if attribute.size <= MOST_LISTED else None
    return Drawing(marginal_plot(release, attribute, counts, confidence, "file"))


def _marginals(release: Release) -> Iterator[tuple[str, str]]:
    from hedgerow.report.plots import marginal_plot

    drawn = release.domain.attributes[:MOST_DRAWN]
    listed = [(attribute.name,) for attribute in drawn if attribute.size <= MOST_LISTED]
    tables = dict(zip(listed, release.hypothesis.marginals(listed), strict=True))
    for attribute in drawn:
        yield attribute.name, marginal_plot(release, attribute, tables.get((attribute.name,)), CONFIDENCE)
