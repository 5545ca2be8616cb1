"""Series: data sets of one domain, each with records of its own, a budget and a session, that are asked together.

Rows that arrive later (another month, another hospital) are another partition: it pays for itself, and earlier ones
pay nothing for it. Theory: theory.md section 18.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, final

from hedgerow.errors import ConfigError, ConflictError, NotThereError
from hedgerow.privacy import Budget, budget_from_dict, together
from hedgerow.service.store import DataSet, GivenAnswer, Registration


@final
@dataclass(frozen=True)
class Series:
    """Partitions that are asked together.

    Attributes:
        name: Name in requests.
        at_most: Number of partitions that may hold records of one person, at most: what the custodian says.
        partitions: The data sets, in the order in which they were registered.
    """

    name: str
    at_most: int
    partitions: tuple[DataSet, ...]

    @property
    def statement(self) -> str:
        """The guarantee of all partitions together: that of those with the largest budgets, as many as a person is in.

        What other partitions say depends on no record of a person who is not in them.
        """
        budgets = sorted((budget_from_dict(each.registration.budget) for each in self.partitions), key=_limit)
        largest = budgets[-self.at_most :]
        whole: Budget = reduce(together, largest[1:], largest[0])
        if self.at_most == 1:
            return f"Where each person is in one partition: {whole.statement()}"
        return f"Where each person is in at most {self.at_most} partitions: {whole.statement()}"

    def of(self, names: Sequence[str] | None) -> tuple[DataSet, ...]:
        """Some partitions, or all.

        Raises:
            NotThereError: A name is none of theirs.
            ConfigError: There is none, or one twice.
        """
        if names is None:
            return self.partitions
        known = {each.name: each for each in self.partitions}
        if unknown := [name for name in names if name not in known]:
            raise NotThereError(
                f"the series {self.name!r} has no partition {unknown[0]!r}",
                remedy=f"its partitions: {', '.join(known)}",
            )
        if not names or len(set(names)) < len(names):
            raise ConfigError("name one partition or more, each once", remedy="leave 'partitions' out for all")
        return tuple(known[name] for name in names)


@final
@dataclass(frozen=True)
class Joined:
    """The answer of a series: counts of its partitions add up.

    Attributes:
        where: The condition, in canonical form.
        value: Sum of the values, in counts.
        low: Sum of the lower ends; None where a partition has no interval.
        high: Sum of the upper ends.
        confidence: Confidence of the interval.
        charged: Sum of the charges to the person's shares.
        parts: The answer of each partition.
    """

    where: str
    value: float
    low: float | None
    high: float | None
    confidence: float | None
    charged: float
    parts: tuple[GivenAnswer, ...]


def part_of(described: Mapping[str, Any]) -> tuple[str, int] | None:
    """Name of the series that a table is a partition of, and its number of partitions for a person; None if of none.

    Example:
        >>> part_of({"place": "may.csv", "series": "visits", "in_partitions": 2}), part_of({"place": "may.csv"})
        (('visits', 2), None)
    """
    name = described.get("series")
    return None if name is None else (str(name), int(described.get("in_partitions", 1)))


def all_series(data_sets: Iterable[DataSet]) -> list[Series]:
    """The series of some data sets, in the order of their names."""
    found: dict[str, list[DataSet]] = {}
    for each in sorted(data_sets, key=lambda data_set: data_set.id):
        if part := part_of(each.registration.source):
            found.setdefault(part[0], []).append(each)
    at_most = {name: part_of(each[0].registration.source) or (name, 1) for name, each in found.items()}
    return [Series(name, at_most[name][1], tuple(found[name])) for name in sorted(found)]


def check_partition(new: Registration, data_sets: Iterable[DataSet]) -> None:
    """Refuse a partition that cannot be asked together with the earlier ones of its series.

    Args:
        new: The registration.
        data_sets: Data sets that are registered.

    Raises:
        ConfigError: A person is in several partitions, and a part of delta is kept for thresholds.
        ConflictError: Another domain, another unit of budget, other neighbours, or another number of partitions for a
            person.
    """
    part = part_of(new.source)
    if part is not None and part[1] > 1 and budget_from_dict(new.budget).for_thresholds:
        raise ConfigError(
            "a delta that is kept for thresholds does not add up over partitions of one person",
            remedy="start from a release with listed values, or register it outside the series",
        )
    series = next((each for each in all_series(data_sets) if part is not None and each.name == part[0]), None)
    if part is None or series is None:
        return
    first, budget = series.partitions[0].registration, budget_from_dict(new.budget)
    before = budget_from_dict(first.budget)
    differs = {
        "domain": first.domain != new.domain,
        "unit of budget": before.regime is not budget.regime or first.budget.get("delta") != new.budget.get("delta"),
        "neighbours": before.neighbours != budget.neighbours,
        "number of partitions for a person": series.at_most != part[1],
    }
    if wrong := [name for name, other in differs.items() if other]:
        raise ConflictError(
            f"the series {series.name!r} has another {' and another '.join(wrong)}",
            remedy=f"register it as {series.partitions[0].name!r} was registered, or in another series",
        )


def confidence_of_each(confidence: float, partitions: int) -> float:
    """The confidence of the intervals of partitions whose sum has another one: all of them hold with that.

    Args:
        confidence: Confidence of the sum, between 0 and 1.
        partitions: Number of partitions.

    Example:
        >>> confidence_of_each(0.95, 5)
        0.99
    """
    return 1.0 - (1.0 - confidence) / partitions


def joined(answers: Sequence[Sequence[GivenAnswer]], confidence: float) -> list[Joined]:
    """Add up the answers of partitions, question by question.

    Args:
        answers: For each partition the answers to the same questions.
        confidence: Confidence of the sums; those of the partitions are `confidence_of_each`.
    """
    return [_sum(parts, confidence) for parts in zip(*answers, strict=True)]


def _sum(parts: tuple[GivenAnswer, ...], confidence: float) -> Joined:
    lows, highs = [each.low for each in parts], [each.high for each in parts]
    known = None not in lows and None not in highs
    return Joined(
        where=parts[0].where,
        value=sum(each.value for each in parts),
        low=sum(each for each in lows if each is not None) if known else None,
        high=sum(each for each in highs if each is not None) if known else None,
        confidence=confidence if known else None,
        charged=sum(each.charged for each in parts),
        parts=parts,
    )


def _limit(budget: Budget) -> float:
    return budget.limit
