"""Any budget: for a whole table, or for a secret sample of one; how it is read, and what it means on a source."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hedgerow.data import CountSource, PersonSource
from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.limits import GDP, ZCDP, ApproxDP, Limit, PureDP
from hedgerow.privacy.budgets.subsampling import Subsampled
from hedgerow.quantities import at_most
from hedgerow.queries import Persons

Budget = Limit | Subsampled
_KINDS: dict[str, type[Budget]] = {each.kind: each for each in (PureDP, ZCDP, GDP, ApproxDP, Subsampled)}


def budget_of_filtered(budget: Budget) -> Budget:
    """The same budget where a filter chose the rows that are counted, between tables before the filter.

    Args:
        budget: The budget as its owner gave it; under "replace" the number of rows that pass becomes private.

    Raises:
        ConfigError: The budget is for a sample, which needs a public number of records.

    Example:
        >>> budget_of_filtered(PureDP(1.0, "replace")).neighbours.value
        'replace-then-filter'
        >>> budget_of_filtered(PureDP(1.0)) == PureDP(1.0)
        True
    """
    if isinstance(budget, Subsampled):
        raise ConfigError(
            "a sample needs a public number of records, and how many pass a filter is private",
            remedy="sample the whole table, or leave the sample out",
        )
    return replace(budget, neighbours=budget.neighbours.filtered)


def budget_of_persons(budget: Budget, persons: Persons | None) -> Budget:
    """The same budget between tables that differ in all records of one person, of which a bounded number counts.

    Args:
        budget: The budget as its owner gave it.
        persons: The persons whose records the table bounds, or weighs; None where it does neither.

    Raises:
        ConfigError: The budget is about other persons, or about some that the table does not bound; or it is for a
            sample of records.

    Example:
        >>> budget_of_persons(PureDP(1.0), Persons("id", 5)).neighbours.value
        'add-remove of persons (id), at most 5 records'
    """
    named = budget.neighbours.persons
    if named == persons:
        return budget
    if persons is None:
        raise ConfigError(
            f"the budget is about {budget.neighbours.value!r}, and nothing bounds the records of a person or their "
            "weights",
            remedy="read the table with person='...', at_most=..., or with weight='...', largest_weight=...",
        )
    if isinstance(budget, Subsampled):
        raise ConfigError(
            "a secret sample of records says nothing about persons with several records, or with weights",
            remedy="leave the sample out",
        )
    if named not in (None, persons.unbounded):
        raise ConfigError(
            f"the budget is about {named.text!r}, the table about {persons.text!r}",
            remedy="read the table with the person, the weight and the numbers of the budget",
        )
    return replace(budget, neighbours=budget.neighbours.between(persons))


def for_any_steps(budget: Budget) -> Budget:
    """The same promise without a fixed composition: it pays for steps of any kind.

    Args:
        budget: The budget.

    Example:
        >>> for_any_steps(PureDP(1.0)) == PureDP(1.0)
        True
    """
    return replace(budget, composition=None) if isinstance(budget, ApproxDP) and budget.fixed is not None else budget


def budget_for(budget: Budget, source: CountSource) -> Budget:
    """The budget as it holds on a source: between tables before the filter, where one chose the rows.

    Where the source has at most so many records of each person, that is one, and the budget is about persons.

    Args:
        budget: The budget as its owner gave it.
        source: The private records; only how they were chosen is looked at.

    Raises:
        ConfigError: See `budget_of_filtered` and `budget_of_persons`.
    """
    within = budget_of_persons(budget, source.persons if isinstance(source, PersonSource) else None)
    within = budget_of_filtered(within) if source.filtered else within
    return within if within == budget else for_any_steps(within)  # steps were fixed for other neighbours


WEAK_EPSILON = 20.0
"""Beyond it probabilities may change by a factor of half a billion."""
_USUAL_DELTA = 1e-6
"""The delta at which a rho or a mu is turned into an epsilon, to see whether it is large."""


def weaknesses(budget: Budget, total: float) -> tuple[str, ...]:
    """Reasons why a budget promises next to nothing, in sentences; none for a usual budget.

    Args:
        budget: The budget that is spent.
        total: Number of records that is known in public: a guess, or a noisy value.

    Example:
        >>> weaknesses(ApproxDP(1.0, 1e-9), 1000.0)
        ()
        >>> [reason.partition(":")[0] for reason in weaknesses(ApproxDP(30.0, 0.01), 1000.0)]
        ['epsilon = 30 is above 20', 'delta = 0.01 is not below 1 / (number of records), about 0.001']
    """
    curve = isinstance(budget, ZCDP | GDP)
    epsilon, delta = budget.approximate(_USUAL_DELTA if curve else None)
    delta = 0.0 if curve else delta
    weak = []
    if epsilon > WEAK_EPSILON:
        at = f" (at delta = {_USUAL_DELTA:g})" if curve else ""
        who = "one person's record" if budget.neighbours.unfiltered.persons is None else "one person"
        figure = at_most(epsilon, 4)
        weak.append(
            f"epsilon = {figure}{at} is above {WEAK_EPSILON:g}: {who} may change probabilities by a "
            f"factor of e^{figure}. Give a smaller epsilon: 1, or a few."
        )
    if delta * total >= 1.0:
        weak.append(
            f"delta = {at_most(delta, 3)} is not below 1 / (number of records), about {1.0 / max(total, 1.0):.1g}: "
            "such a guarantee allows some people's records to be published as they are. Give a far smaller delta."
        )
    return tuple(weak)


def budget_from_dict(mapping: Mapping[str, Any]) -> Budget:
    """Read what ``to_dict`` wrote.

    Raises:
        ConfigError: The kind is unknown, a field is missing or a number is out of its range.

    Example:
        >>> budget_from_dict(ApproxDP(1.0, 1e-9).to_dict()) == ApproxDP(1.0, 1e-9)
        True
    """
    fields = dict(mapping)
    kind = fields.pop("kind", None)
    if kind == "subsampled" and isinstance(fields.get("inner"), Mapping):
        fields["inner"] = budget_from_dict(fields["inner"])
    if kind not in _KINDS:
        raise ConfigError(f"there is no budget of kind {kind!r}", remedy=f"the kinds are: {', '.join(_KINDS)}")
    try:
        return _KINDS[kind](**fields)
    except (AttributeError, TypeError):
        raise ConfigError(f"a budget of kind {kind!r} does not have the fields {sorted(fields)}") from None
