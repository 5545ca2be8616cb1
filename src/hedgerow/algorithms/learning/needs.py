"""Questions that must have an interval: each is measured by itself before a mechanism runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from hedgerow.domain import Attribute, Domain, IntegerRange, OpenDomain
from hedgerow.errors import ConfigError, QueryError
from hedgerow.privacy import Budget, Regime, noise_of, step_of
from hedgerow.queries import (
    Conjunction,
    Groups,
    LinearQuery,
    Marginal,
    Measurable,
    Positions,
    in_workload,
    is_select,
    parse_predicate,
    parse_select,
)
from hedgerow.release import FIRST_SHARE, TOTAL_SHARE, Noises

NEEDS_SHARE = 0.1
"""Share of a budget for the questions of which no width is given, all together."""
_MOST_CELLS = 4_096
"""Cells of the largest table that is measured for one of its cells: each has as little noise as the cell alone."""
_RISK = 0.05 * (1.0 - TOTAL_SHARE) * FIRST_SHARE
"""Risk of the first piece of evidence of a 95 % interval."""
_FORMS = {"sum": "means", "mean": "means", "variance": "moments", "deviation": "moments"}
_LINE = re.compile(r"\s*(?P<question>.+?)(?:\s+within\s+(?P<width>[0-9.eE+]+))?\s*;?\s*", re.DOTALL)


@dataclass(frozen=True)
class Need:
    """A question that must have an interval.

    Attributes:
        text: The question.
        width: Half of the largest width that its 95 % interval may have, in counts; None for any.
        targets: What is measured for it; nothing for the number of records, which every run knows.
        sums: Families of a workload that tell its sums, means and variances.
        compared: Variables whose values it compares.

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain([Categorical("sex", ("F", "M")), IntegerRange("age", 0, 99)])
        >>> need = Need.parse("sex = 'F' and age < 20 within 300", domain)
        >>> need.width, [target.text for target in need.targets]
        (300.0, ["sex = 'F' and age between 0 and 19"])
        >>> Need.parse("SELECT sex, AVG(age) FROM t GROUP BY sex", domain).sums
        ('means:age by sex',)
    """

    text: str
    width: float | None
    targets: tuple[Measurable, ...]
    sums: tuple[str, ...] = ()
    compared: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, line: str, domain: Domain) -> Self:
        """Read a condition or a statement in SQL, with ``within 200`` behind it where its width matters.

        Args:
            line: The text.
            domain: The domain.

        Raises:
            QueryError: It is not understood, or gives a width below 1, or one of sums, means or quantiles.
        """
        match = _LINE.fullmatch(line)
        text = line if match is None else match["question"]
        width = None if match is None or match["width"] is None else _width(match["width"])
        if not is_select(text):
            query = parse_predicate(text, domain)
            return cls(text, width, _measured(query), compared=frozenset(query.scope))
        selection = parse_select(text, domain)
        groups, columns = selection.groups, [column for column in selection.columns if column.about]
        if columns and width is not None:
            raise QueryError(f"{text!r} has a width, and is about more than counts", remedy="leave 'within' out")
        counted = (groups.target,) if groups.names else _measured(groups.cell(0))
        by = " * ".join(in_workload(name) for name in groups.names)
        summed = [column for column in columns if column.kind in _FORMS and not groups.where.scope]
        forms = sorted((_FORMS[column.kind], column.name) for column in summed if _grouped(groups, column.name))
        sums = {name: form for form, name in forms}  # moments tell means too
        tables = [
            Marginal(domain, groups.scope_with(*column.about))
            for column in columns
            if column.name not in sums or not _is_plain(domain[column.name])  # whose sums tell all but the counts
        ]
        texts = tuple(f"{form}:{in_workload(name)}{by and f' by {by}'}" for name, form in sums.items())
        return cls(text, width, (*counted, *tables), texts, frozenset(groups.where.scope))


def _grouped(groups: Groups, name: str) -> bool:
    """Whether the sums of a column by these groups are measured: by columns, or by levels of columns without bins."""
    if set(groups.names) <= set(groups.domain.names):
        return True
    try:
        Positions(groups.domain, (*groups.names, name), name, whole=True)
    except QueryError:
        return False
    return True


def _is_plain(attribute: Attribute) -> bool:
    """Whether the numbers of a column are told one by one, and every record has one."""
    return isinstance(attribute, IntegerRange) and attribute.size == attribute.ordinary


def _width(text: str) -> float:
    try:
        width = float(text)
    except ValueError as error:
        raise QueryError(f"a width of {text!r}", remedy="write it as in: within 200") from error
    if width < 1.0:
        raise QueryError(f"a width of {text}", remedy="give a number of records from 1 on")
    return width


def _measured(query: LinearQuery) -> tuple[Measurable, ...]:
    """The table that the question is a cell of, or the question itself."""
    if not query.scope:
        return ()
    if isinstance(query, Conjunction) and all(len(codes) == 1 for codes in query.codes):
        table = Marginal(query.domain, query.scope)
        return (table,) if table.size <= _MOST_CELLS else (query,)
    return (query,)


def check_needs(lines: Iterable[str], wanted: Domain | OpenDomain) -> None:
    """Refuse questions that are not understood, or that compare what is still to be learnt.

    Args:
        lines: The questions, as for `Need.parse`.
        wanted: The domain.

    Raises:
        QueryError: One is not understood.
        ConfigError: One compares a column whose bins or values are to be learnt.
    """
    unknown = set[str | None]()
    if isinstance(wanted, OpenDomain):
        unknown |= {*wanted.bins, *wanted.values, *wanted.listed}
    domain = wanted.outline if isinstance(wanted, OpenDomain) else wanted
    for line in lines:
        try:
            compared = set[str | None](Need.parse(line, domain).compared)
        except QueryError as error:
            if error.attribute not in unknown:
                raise
            compared = {error.attribute}
        if compared & unknown:
            raise ConfigError(
                f"{line!r} compares {(compared & unknown).pop()!r}, of which bins or values are to be learnt",
                remedy="give these in the domain file, or leave the question out",
            )


def needed_steps(needs: Iterable[Need], budget: Budget) -> list[tuple[Measurable, float]]:
    """What is measured for some questions, each with its charge, those of the narrowest first.

    Charges of those with a width are as large as that needs; the others have a share of the budget together.

    Args:
        needs: The questions.
        budget: Budget of the release.

    Raises:
        ConfigError: They cost more than the budget.

    Example:
        >>> from hedgerow import Categorical, PureDP
        >>> domain = Domain([Categorical("sex", ("F", "M")), Categorical("smokes", ("no", "yes"))])
        >>> need = Need.parse("sex = 'F' and smokes = 'yes' within 50", domain)
        >>> [(target.text, round(charge, 3)) for target, charge in needed_steps([need], PureDP(1.0))]
        [('sex * smokes', 0.064)]
    """
    targets, widths = dict[str, Measurable](), dict[str, float | None]()
    for need in needs:
        for target in need.targets:
            targets[target.text] = target
            known = [each for each in (widths.get(target.text), need.width) if each is not None]
            widths[target.text] = min(known, default=None)
    free = sum(width is None for width in widths.values())
    charges = {
        text: NEEDS_SHARE * budget.limit / free if width is None else _charge(targets[text], budget, width)
        for text, width in widths.items()
    }
    if sum(charges.values()) >= budget.limit:
        raise ConfigError(
            f"what the questions need costs {sum(charges.values()):.3g} {budget.unit} of {budget.limit:.3g}",
            remedy="allow wider intervals, or a larger budget",
        )
    return [(targets[text], charges[text]) for text in sorted(charges, key=charges.__getitem__, reverse=True)]


def half_width(target: Measurable, budget: Budget, charge: float) -> float:
    """Half the width of the 95 % interval of a measured cell or question, in counts.

    Args:
        target: What is measured.
        budget: Budget of the release.
        charge: What it costs.
    """
    noise = noise_of(target, budget, charge, None)
    return Noises.of(noise.kind, noise.scale, np.ones(1), step=step_of(target)).bound(_RISK)


def _charge(target: Measurable, budget: Budget, width: float) -> float:
    """The charge that makes half the width at most so large."""
    power = 1.0 if budget.regime is Regime.PURE else 2.0
    charge: float = budget.limit * (half_width(target, budget, budget.limit) / width) ** power
    while half_width(target, budget, 0.99 * charge) <= width:
        charge *= 0.99
    while half_width(target, budget, charge) > width:
        charge *= 1.01
    return charge
