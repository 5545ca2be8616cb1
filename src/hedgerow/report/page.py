"""HTML pages that open offline: the report of a release, the page of an audit, and pages of exact figures."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.cards import Drawing
from hedgerow.domain import Categorical, attribute_in_words, caveats_in_words, feasible_records, ignored_in_words
from hedgerow.errors import DomainError, MissingExtraError, ReleaseError
from hedgerow.privacy import membership_guess
from hedgerow.quantities import at_most
from hedgerow.queries import Conjunction
from hedgerow.release import (
    MOST_LISTED,
    Knowledge,
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
)
from hedgerow.report.curves import STAMP
from hedgerow.system import replacing

if TYPE_CHECKING:
    from jinja2 import Template

    from hedgerow.audit import Audits
    from hedgerow.privacy import ExactErrors
    from hedgerow.simulation import SimulatedErrors

CONFIDENCE = 0.95

_VERDICTS = {
    "holds": "Everything holds.",
    "unknown": "Nothing fails, but something cannot be verified from the files alone.",
    "fails": "Something fails.",
}

MOST_COLUMNS = 60
"""Columns that the page tells about one by one."""
MOST_ASSOCIATIONS = 12
MOST_OF_MATRIX = 40
"""Columns whose pairs are drawn."""
MOST_DRAWN = 60
"""Attributes that are drawn, at most. A drawing takes a thirtieth of a second."""

MOST_ESTIMATED = 20
"""Candidates of the workload whose estimated errors are listed, the largest first."""


def require_extra() -> None:
    """Check that what the report needs is installed.

    Raises:
        MissingExtraError: It is not.
    """
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"the report needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            remedy="pip install 'hedgerow[report]'",
        )


def write_report(
    release: Release,
    path: str | os.PathLike[str],
    *,
    exact: ExactErrors | None = None,
    simulated: SimulatedErrors | None = None,
) -> None:
    """Write the report: one HTML file without scripts or addresses, which opens offline.

    Every figure in it is a function of the release. Only if exact errors are given does it show any other, and then the
    whole page is labelled "not private".

    Args:
        release: The release.
        path: Target; its folder must exist.
        exact: Exact errors, from an evaluation that was asked for.
        simulated: Errors of simulated runs, which the page calls estimated, not proved.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
        ReleaseError: The file cannot be written.
    """
    write_page(render_report(release, exact=exact, simulated=simulated), path, called="report")


def write_page(page: str, path: str | os.PathLike[str], *, called: str) -> None:
    """Write a page in one step.

    Args:
        page: Its text.
        path: Target; its folder must exist.
        called: Name of the page in messages.

    Raises:
        ReleaseError: The file cannot be written.

    Example:
        >>> write_page("", "/no such folder/a.html", called="page")
        Traceback (most recent call last):
            ...
        hedgerow.errors.ReleaseError: /no such folder/a.html: the page cannot be written: No such file or directory
          Remedy: name a file in a folder that exists and has room
    """
    try:
        with replacing(path) as beside:
            beside.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ReleaseError(
            f"{path}: the {called} cannot be written: {error.strerror or error}",
            remedy="name a file in a folder that exists and has room",
        ) from error


def render_report(
    release: Release, *, exact: ExactErrors | None = None, simulated: SimulatedErrors | None = None
) -> str:
    """The report as text; see ``write_report``.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
    """
    require_extra()
    from hedgerow.report.plots import fit_plot, pairs_plot, spending_plot

    domain, budget, distances = release.domain, release.budget, _distances(release)
    columns = column_summaries(
        release, [a.name for a in domain.attributes[:MOST_COLUMNS] if a.size <= MOST_LISTED], CONFIDENCE
    )
    knowledge = pair_knowledge(release) if release.measurements else {}
    numbers = Counter(knowledge.values())
    drawn = domain.names[:MOST_OF_MATRIX]
    records_error = ""
    if release.error is not None:
        n = release.n_records
        records_error = drawn_sentence(release, n, drawn_error(release, as_drawn(release, n)), CONFIDENCE)
    return page_template("release.html").render(
        release=release,
        exact=exact,
        simulated=simulated,
        columns=columns,
        numeric=[column for column in columns if not isinstance(column.attribute, Categorical)],
        warnings=release_warnings(release),
        at_an_end=[each.attribute.name for each in columns if each.share.value in (each.share.low, each.share.high)],
        survey=survey_size(release, CONFIDENCE),
        pairs={kind: numbers[kind] for kind in Knowledge if numbers[kind]},
        strongest=associations(release, CONFIDENCE)[:MOST_ASSOCIATIONS] if knowledge else [],
        guess=at_most(100.0 * membership_guess(budget), 3),
        caveats=caveats_in_words(domain),
        matrix=pairs_plot(knowledge, drawn) if knowledge else "",
        in_matrix=len(drawn),
        estimates=[] if simulated is None else list(_estimated(simulated)),
        error=error_sentence(release, CONFIDENCE),
        records_error=records_error,
        measured=list(zip(release.measurements, distances, strict=True)),
        spending=spending_plot(release.events, budget.limit, budget.unit),
        fit=fit_plot(distances) if distances else "",
        marginals=list(_marginals(release)),
        ignored=ignored_in_words(domain),
        attributes=[(attribute, attribute_in_words(attribute)) for attribute in domain],
        feasible=feasible_records(domain) if domain.constraints else None,
        levels=level_uses(release),
        levels_sentence=levels_sentence(release),
        derived=[(function, attribute_in_words(function.attribute)) for function in domain.declared],
        distinct_records=distinct_records(release),
        tables_sentence=tables_sentence(release),
        confidence=CONFIDENCE,
    )


def page_template(name: str) -> Template:
    """Template of a page in this folder; values are escaped, and ``css`` is the style of all pages.

    Args:
        name: Name of the file.
    """
    import jinja2

    folder = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"number": _number, "large": _large, "share": _share, "people": _people}
    environment.globals["css"] = (folder / "page.css").read_text(encoding="utf-8")
    return environment.get_template(name)


def _estimated(simulated: SimulatedErrors) -> Iterator[tuple[str, float, float, float]]:
    """The candidates with the largest estimated errors: text, error, mean and largest half-width of its answers."""
    workload, widths = simulated.release.workload, simulated.widths(CONFIDENCE)
    worst = np.argsort(-simulated.errors, kind="stable")[:MOST_ESTIMATED]
    for index in worst.tolist():
        first = int(workload.starts[index])
        of_candidate = widths[first : first + int(workload.lengths[index])]
        yield (
            workload.candidate(index).text,
            float(simulated.errors[index]),
            float(of_candidate.mean()),
            float(of_candidate.max()),
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
    counts = release.model.marginals([(column,)])[0] if attribute.size <= MOST_LISTED else None
    return Drawing(marginal_plot(release, attribute, counts, confidence, "file"))


def _marginals(release: Release) -> Iterator[tuple[str, str]]:
    from hedgerow.report.plots import marginal_plot

    drawn = release.domain.attributes[:MOST_DRAWN]
    listed = [(attribute.name,) for attribute in drawn if attribute.size <= MOST_LISTED]
    tables = dict(zip(listed, release.model.marginals(listed), strict=True))
    for attribute in drawn:
        yield attribute.name, marginal_plot(release, attribute, tables.get((attribute.name,)), CONFIDENCE)


def _number(value: float, digits: int = 4) -> str:
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:,.{digits}g}"


def _share(value: float) -> str:
    """A share in percent, with three digits."""
    return f"{100.0 * value:.3g}%"


def _people(value: float) -> str:
    """A number of people, with two digits."""
    return f"{float(f'{value:.2g}'):,.0f}"


def _large(value: int) -> str:
    """A number that may have very many digits, in a narrow place."""
    for power, word in ((12, "trillion"), (9, "billion")):
        if 10**power <= value < 10 ** (power + 3):
            return f"{value / 10**power:.3g} {word}"
    if value < 10**9:
        return f"{value:,}"
    digits, exponent = f"{Decimal(value):.2e}".split("e+")
    return f"{digits} \u00d7 10^{exponent}"


def exact_page(template: str, title: str, facts: Mapping[str, str], notes: Sequence[str] = (), **values: Any) -> str:
    """A page of exact figures, stamped "NOT PRIVATE": HTML that opens offline and holds no script and no address.

    Args:
        template: File of a template beside this module that extends ``exact.html``.
        title: Heading of the page.
        facts: What all figures share, by name.
        notes: Remarks for the reader.
        **values: What the sections of the template show.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.

    Example:
        >>> html = exact_page("exact.html", "a", {"workload": "<1>"})
        >>> "NOT PRIVATE" in html, "&lt;1&gt;" in html
        (True, True)
    """
    require_extra()
    return page_template(template).render(stamp=STAMP, title=title, facts=facts, notes=notes, **values)


def render_audit(audits: Audits) -> str:
    """The page of an audit as text, for those who decide whether something may be published.

    Args:
        audits: Findings of the audit.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.

    Example:
        >>> from hedgerow.audit import Audit, Audits, Finding, Severity
        >>> finding = Finding("sum", Severity.FAILS, "2 of 1 < epsilon")
        >>> page = render_audit(Audits((Audit("a.release", "release", {}, (finding,)),), ()))
        >>> "Something fails" in page, "2 of 1 &lt; epsilon" in page
        (True, True)
    """
    require_extra()
    return page_template("audit.html").render(
        audits=audits, verdicts=_VERDICTS, title=", ".join(os.path.basename(file.path) for file in audits.files)
    )


def write_audit(audits: Audits, path: str | os.PathLike[str]) -> None:
    """Write the page of an audit.

    Args:
        audits: Findings of the audit.
        path: Target; its folder must exist.

    Raises:
        MissingExtraError: jinja2 or matplotlib is not installed.
        ReleaseError: The file cannot be written.
    """
    write_page(render_audit(audits), path, called="page")
