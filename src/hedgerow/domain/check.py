"""A check of a domain: the number of its records, its levels, and what its constraints rule out taken together.

Warnings say, by what is public about the domain alone, which bins and labels will hardly be of use. Words say how many
records can exist, and which levels and columns are functions of others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, scale_noun, value_text
from hedgerow.domain.domain import Domain
from hedgerow.domain.feasible import feasible_cells, feasible_records
from hedgerow.domain.spelling import Spelling
from hedgerow.quantities import human

DRAFT_ACCEPTED = (
    "Its domain is a draft that was accepted as it stood: values and bounds that were read off the data are outside "
    "this guarantee."
)
"""A sentence about a domain that nobody has said to be public."""
TYPES_TRUSTED = (
    "The types of its columns were trusted to be public: what they tell of the cells of the table is outside this "
    "guarantee."
)
"""A sentence about types that one cell may have decided."""

KNOWN_TOTALS = (
    "taken for public: nothing is promised about what they tell. If they were counted on the private table itself, as "
    "invariants, the promise is conditional on them: it holds between tables that have these totals."
)
"""The end of the sentence about known totals."""


def caveats_in_words(domain: Domain) -> str:
    """Sentences about what a domain holds that a guarantee does not cover, each after a blank; empty without any.

    Args:
        domain: The domain.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> caveats_in_words(Domain([IntegerRange("age", 0, 99)]))
        ''
        >>> caveats_in_words(Domain([IntegerRange("age", 0, 99)], trusted_types=True))
        ' The types of its columns were trusted to be public: ...
    """
    caveats = ((domain.draft, DRAFT_ACCEPTED), (domain.trusted_types, TYPES_TRUSTED))
    told = "".join(f" {sentence}" for holds, sentence in caveats if holds)
    return told + (f" {known_in_words(domain)}" if domain.known or domain.population else "")


def known_in_words(domain: Domain) -> str:
    """What known totals mean for a guarantee.

    Args:
        domain: A domain that holds some.

    Example:
        >>> from hedgerow.domain import IntegerRange, with_known
        >>> known_in_words(with_known(Domain([IntegerRange("age", 0, 99)]), [50]))
        'Known totals (the number of records) are taken for public: nothing is promised about what they tell. ...
    """
    of, alone = (" of the population", "their number") if domain.population else ("", "the number of records")
    named = "; ".join(" * ".join(table.names) or alone for table in domain.known or domain.population)
    return f"Known totals{of} ({named}) are {KNOWN_TOTALS}"


def cells_in_words(domain: Domain) -> str:
    """The cells of a domain and, where constraints rule some out, the records that can exist.

    Args:
        domain: The domain.

    Example:
        >>> from hedgerow.domain import IntegerRange, impossible
        >>> plain = Domain((IntegerRange("age", 0, 99), IntegerRange("married", 0, 1)))
        >>> cells_in_words(plain)
        '200 cells'
        >>> cells_in_words(Domain(plain.attributes, (), [impossible(plain, "age < 15 and married = 1")]))
        '200 cells, 185 of them records that can exist (1 constraint)'
    """
    cells, rules = f"{human(domain.size)} cells", len(domain.constraints)
    if not rules:
        return cells
    said, feasible = f"{rules:,} constraint{'s' if rules > 1 else ''}", feasible_records(domain)
    if feasible is None:
        return f"{cells}; how many of them are records that can exist is not counted ({said})"
    return f"{cells}, {human(feasible)} of them records that can exist ({said})"


def levels_in_words(domain: Domain, used: Collection[str] = ()) -> str:
    """The levels of attributes that were declared or are used, with their numbers of values; empty if there are none.

    Args:
        domain: The domain.
        used: Names of variables that queries are about.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("income", 0, 4095)))
        >>> levels_in_words(domain, ["age.10"]), levels_in_words(domain)
        ('age: age.10 (10)', '')
    """
    shown = [
        function
        for function in domain.derived
        if not function.column and (function in domain.declared or function.name in used) and len(function.sources) == 1
    ]
    groups = groupby(sorted(shown, key=lambda each: domain.index(each.sources[0])), key=lambda each: each.sources[0])
    listed = (
        (name, ", ".join(f"{level.name} ({level.attribute.size:,})" for level in levels)) for name, levels in groups
    )
    return "; ".join(f"{name}: {levels}" for name, levels in listed)


def columns_in_words(domain: Domain) -> str:
    """The derived columns of a domain and what they follow from; empty if there are none.

    Args:
        domain: The domain.

    Example:
        >>> from hedgerow.domain import Derived, IntegerRange
        >>> dense = Derived(IntegerRange("dense", 0, 1), ("area",), [0, 1, 1], column=True)
        >>> columns_in_words(Domain((IntegerRange("area", 0, 2),), (dense,)))
        'dense (from area)'
    """
    return ", ".join(f"{d.name} (from {', '.join(d.sources)})" for d in domain.derived_columns)


def ignored_in_words(domain: Domain) -> str:
    """A sentence about the columns of the data that are not read; empty if there are none.

    Args:
        domain: The domain.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> ignored_in_words(Domain((IntegerRange("age", 0, 99),), ignored=["id", ""]))
        'Columns that are not read: id, (without a name).'
    """
    return f"Columns that are not read: {domain.ignored_text}." if domain.ignored else ""


def spellings_in_words(domain: Domain) -> str:
    """The columns whose labels are normalised, and by which rules; empty if there are none.

    Args:
        domain: The domain.

    Example:
        >>> from hedgerow.domain import Categorical, Domain, Spelling
        >>> spellings_in_words(Domain((Categorical("sex", ("f", "m"), spelling=Spelling(trim=True, fold=True)),)))
        'sex (trimmed, case folded)'
    """
    spellings = [
        (column.name, column.spelling.in_words()) for column in domain.columns if isinstance(column, Categorical)
    ]
    return ", ".join(f"{name} ({rules})" for name, rules in spellings if rules)


def attribute_in_words(attribute: Attribute) -> str:
    """The values of an attribute.

    Args:
        attribute: The attribute.

    Example:
        >>> from hedgerow.domain import Calendar
        >>> attribute_in_words(IntegerRange("admitted", 0, 30, scale=Calendar(), missing="?"))
        "dates from 1970-01-01 to 1970-01-31, missing as '?'"
    """
    match attribute:
        case Categorical():
            text = ", ".join(filter(None, (f"{attribute.ordinary} values", attribute.spelling.in_words())))
        case IntegerRange():
            text = (
                f"{scale_noun(attribute.scale, 'whole number')}s from {attribute.first_text} to {attribute.last_text}"
            )
        case Binned():
            text = f"{attribute.ordinary} bins from {attribute.first_text} to {attribute.last_text}"
        case _:
            text = f"{attribute.ordinary} codes"
    extra = [f"missing as {attribute.missing!r}"] if attribute.missing is not None else []
    extra += [f"others as {attribute.other!r}"] if attribute.other is not None else []
    return ", ".join([text, *extra])


@dataclass(frozen=True)
class DomainCheck:
    """The records that a domain allows.

    Attributes:
        records: Number of combinations of values, exact.
        feasible: Number of those that break no constraint, exact; None where `feasible_records` does not count them.
        levels: For each attribute that has levels their names, finest first.
        columns: Derived columns of the data.
        spans: Durations between two columns, and what holds of the three.
        never: For each attribute the values that no record has, if there are some.
        implied: Constraints that rule out nothing that the others allow.
        normalised: Columns whose labels are normalised, and by which rules, in words.
        ignored: Columns of the data that are not read.
        draft: Whether it is a draft, which is refused until somebody says that it is public.
    """

    records: int
    feasible: int | None
    levels: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]
    spans: tuple[str, ...]
    never: Mapping[str, tuple[str, ...]]
    implied: tuple[str, ...]
    normalised: str
    ignored: tuple[str, ...]
    draft: bool


def check_domain(domain: Domain) -> DomainCheck:
    """Find out what a domain allows; it is public, so nothing is spent.

    Args:
        domain: The domain.

    Example:
        >>> from hedgerow import IntegerRange, impossible
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("married", 0, 1)))
        >>> rules = [impossible(domain, "age < 15"), impossible(domain, "age < 15 and married = 1")]
        >>> found = check_domain(Domain(domain.attributes, (), rules))
        >>> found.records, found.feasible, found.implied, found.levels["age"]
        (200, 170, ('impossible: age < 15 and married = 1',), ('age.10',))
        >>> len(found.never["age"])
        15
    """
    feasible = feasible_records(domain)
    levels: dict[str, tuple[str, ...]] = {}
    for function in domain.derived:
        if len(function.sources) == 1 and not function.column:
            levels[function.sources[0]] = (*levels.get(function.sources[0], ()), function.name)
    return DomainCheck(
        records=domain.size,
        feasible=feasible,
        levels=levels,
        columns=tuple(function.name for function in domain.derived if function.column),
        spans=tuple(span.text for span in domain.spans),
        never={name: labels for name in domain.names if (labels := _never(domain, name))},
        implied=tuple(_implied(domain, feasible)) if feasible is not None else (),
        normalised=spellings_in_words(domain),
        ignored=domain.ignored,
        draft=domain.draft,
    )


def _never(domain: Domain, name: str) -> tuple[str, ...]:
    """Values that no record has."""
    if not any(name in constraint.scope for constraint in domain.constraints):
        return ()
    numbers = feasible_cells(domain, (name,))
    return () if numbers is None else tuple(domain[name].label(code) for code in np.flatnonzero(numbers == 0).tolist())


def _implied(domain: Domain, feasible: int) -> list[str]:
    rules = domain.constraints
    return [
        rule.text
        for place, rule in enumerate(rules)
        if feasible_records(Domain(domain.attributes, (), (*rules[:place], *rules[place + 1 :]))) == feasible
    ]


_SPANNED = 1000
"""Largest ratio of numbers in the first of some bins of equal width that are well told apart by these."""
_ALIKE = Spelling(trim=True, fold=True)


def domain_warnings(domain: Domain) -> list[str]:
    """Sentences about columns whose bins or labels look useless; each begins with the name of the column.

    Args:
        domain: The domain; nothing else is looked at.

    Example:
        >>> domain_warnings(Domain([Categorical("sex", ("male", "Male"))]))[0].partition(";")[0]
        "sex: the labels 'male' and 'Male' differ in case or blanks only"
    """
    return [f"{column.name}: {warning}" for column in domain.columns for warning in [_warning(column)] if warning]


def _warning(attribute: Attribute) -> str:
    if isinstance(attribute, Categorical):
        first: dict[str, str] = {}
        for text in map(value_text, attribute.values):
            other = first.setdefault(_ALIKE.normal(text), text)
            if other != text:
                return (
                    f"the labels {other!r} and {text!r} differ in case or blanks only; "
                    "'case: fold' and 'trim: true' make them one"
                )
        return ""
    return _coarse(attribute) if isinstance(attribute, Binned) else ""


def _coarse(attribute: Binned) -> str:
    """A warning about bins of equal width whose first one holds numbers of very different sizes."""
    edges = np.array(attribute.edges)
    widths = np.diff(edges)
    if len(widths) < 2 or edges[0] < 0 or (attribute.scale is not None and attribute.scale.quoted):
        return ""
    smallest = edges[0] or (1.0 if attribute.whole else 0.0)
    equal = bool(widths.max() < 1.5 * widths.min())
    if not equal or not smallest or edges[1] / smallest < _SPANNED:
        return ""
    return (
        f"its bins are of equal width, and the first, {attribute.label(0)}, holds numbers of very different sizes; if "
        "most are small, most records fall into one bin: use log bins ('bins: {log: 20}'), or list frequent values "
        "under 'points'"
    )
