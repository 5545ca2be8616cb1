"""A check of a domain: the number of its records, its levels, and what its constraints rule out taken together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hedgerow.domain.description import spellings_in_words
from hedgerow.domain.domain import Domain
from hedgerow.domain.feasible import feasible_cells, feasible_records


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
