"""Statements on the command line: read beside conditions, and their tables told, listed and written."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ConfigError, DomainError, QueryError
from hedgerow.quantities import outward
from hedgerow.system import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.cli.console import Output
    from hedgerow.domain import Domain
    from hedgerow.queries import Selection, Workload
    from hedgerow.release import Estimate, Selected


@dataclass(frozen=True)
class Questions:
    """The questions of a command line.

    Attributes:
        conditions: Conditions, in order.
        statements: Statements that begin with SELECT, in order.
        workload: The counts that they need of a table that is counted in passes; None for nothing.
    """

    conditions: tuple[str, ...]
    statements: Mapping[str, Selection]
    workload: Workload | None

    @classmethod
    def of(cls, asked: Sequence[str], domain: Domain) -> Questions:
        """Read all of them, before anything private is.

        Raises:
            QueryError: One is not understood, or leads to too many questions.
        """
        from hedgerow.queries import Conjunction, Workload, is_select, parse_predicate, parse_select
        from hedgerow.release import check_selection

        conditions: list[str] = []
        conjunctions: list[Conjunction] = []
        statements: dict[str, Selection] = {}
        for number, text in enumerate(asked, start=1):
            with naming_condition(number, text, asked):
                if is_select(text):
                    statements[text] = parse_select(text, domain)
                    check_selection(statements[text])
                    continue
                conditions.append(text)
                query = parse_predicate(text, domain)
                conjunctions += [query] if isinstance(query, Conjunction) else []
        scopes = dict.fromkeys(scope for statement in statements.values() for scope in statement.scopes if scope)
        parts = [Workload.conjunctions(domain, conjunctions)] if conjunctions else []
        parts += [Workload.marginals(domain, cliques=scopes)] if scopes else []
        workload = parts[0] + parts[1] if len(parts) == 2 else next(iter(parts), None)
        return cls(tuple(conditions), statements, workload)

    def check_output(self, path: Path | None) -> None:
        """Refuse a file for answers that are of different forms.

        Raises:
            ConfigError: There are several statements, or conditions too.
        """
        if path is not None and self.statements and len(self.statements) + len(self.conditions) > 1:
            raise ConfigError(
                f"{path}: one file holds the answers of conditions, or the table of one statement",
                remedy="ask for each statement in a call of its own",
            )


@contextmanager
def naming_condition(number: int, condition: str, asked: Sequence[str]) -> Iterator[None]:
    """Let an error name the condition that is wrong, if several are asked."""
    try:
        yield
    except (QueryError, DomainError) as error:
        if len(asked) == 1:
            raise
        raise QueryError(f"condition {number}, {condition!r}: {error.message}", remedy=error.remedy) from error


def tell_selected(output: Output, text: str, found: Selected) -> None:
    """Print the table of a statement."""
    ends = [heading for name in found.headings for heading in (name, "from", "to")]
    rows = (
        (*labels, *(end for cell in row for end in _shown(cell)))
        for labels, row in zip(found.labels, found.cells, strict=True)
    )
    output.table((*found.names, *ends), rows, right=ends, title=text)
    if said := ", ".join(f"{count:,} by {source}" for source, count in found.sources.items()):
        output.say(f"questions     {said}")
    output.tell(f"covers        {found.covers}")


def listed(text: str, found: Selected) -> dict[str, Any]:
    """A table as values that JSON can hold."""
    return {
        "statement": text,
        "confidence": found.confidence,
        "rows": found.to_dicts(),
        "covers": found.covers,
        "sources": dict(found.sources),
        "charged": found.charged,
    }


def write_selected(path: Path, found: Selected) -> None:
    """Write the table of a statement as CSV."""
    with replacing(path) as beside, beside.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(found.columns)
        writer.writerows(["" if cell is None else cell for cell in row] for row in found.rows)


_ROUNDING = 1e-9
"""Numbers below this share of their interval's ends are what rounding leaves of 0."""


def _shown(cell: Estimate) -> tuple[str, str, str]:
    """A number with its interval, which is rounded outward, with as many digits as that leaves meaningful.

    Example:
        >>> from hedgerow.release import Estimate
        >>> _shown(Estimate(6.1e-13, 0.0, 42.6)), _shown(Estimate(12.3456, 11.999, 13.0))
        (('0', '0', '42.6'), ('12.35', '11.99', '13'))
    """
    ends = (cell.value, cell.low, cell.high)
    known = [abs(end) for end in ends if end is not None]
    form = ",.0f" if max(known) >= 1000 or all(end == round(end) for end in known) else ",.4g"
    value = cell.value if abs(cell.value) > _ROUNDING * max(known) else 0.0
    return format(value, form), *outward(cell.low, cell.high, form == ",.0f")
