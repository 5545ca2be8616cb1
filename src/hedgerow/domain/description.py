"""Domains in words: how many records can exist, and the levels and columns that are functions of others."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby

from hedgerow.domain.attribute import Attribute, Binned, Categorical, IntegerRange, scale_noun
from hedgerow.domain.domain import Domain
from hedgerow.domain.feasible import feasible_records
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
    return "".join(f" {sentence}" for holds, sentence in caveats if holds)


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
        >>> ignored_in_words(Domain((IntegerRange("age", 0, 99),), ignored=["id", "remark"]))
        'Columns that are not read: id, remark.'
    """
    return f"Columns that are not read: {', '.join(domain.ignored)}." if domain.ignored else ""


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
