"""Series: data sets of one domain, each with records of its own, a budget and a session, that are asked together.

Rows that arrive later (another month, another hospital) are another partition: it pays for itself, and earlier ones
pay nothing for it. Theory: theory.md section 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from hedgerow.client import SeriesSum, ServerAnswer
from hedgerow.errors import ConfigError, ConflictError, NotThereError
from hedgerow.privacy import ApproxDP, Budget, budget_from_dict, together
from hedgerow.service.sessions.tables import domain_of
from hedgerow.service.store import DataSet, Registration, to_json


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

        What other partitions say depends on no record of a person who is not in them. How an (epsilon, delta) is
        accounted is left out where partitions keep different parts of delta for thresholds: it would be true of some.
        """
        budgets = sorted((budget_from_dict(each.registration.budget) for each in self.partitions), key=_promised)
        largest = budgets[-self.at_most :]
        whole: Budget = reduce(together, largest[1:], largest[0])
        where = "one partition" if self.at_most == 1 else f"at most {self.at_most} partitions"
        if isinstance(whole, ApproxDP) and len({each.for_thresholds for each in budgets}) > 1:
            return f"Where each person is in {where}: {whole.statement(accounted=False)}"
        return f"Where each person is in {where}: {whole.statement()}"

    def check(self) -> None:
        """Refuse to say or to ask anything of partitions that are unlike, as two that were registered at once could be.

        Raises:
            ConflictError: They have not the same domain, unit of budget, neighbours or number of partitions for a
                person.
        """
        first, *others = (each.registration for each in self.partitions)
        if wrong := dict.fromkeys(what for other in others for what in _unlike(first, other)):
            raise ConflictError(
                f"the series {self.name!r} has no guarantee: its partitions do not have the same {' and '.join(wrong)}",
                remedy="ask its data sets one by one, each by its own guarantee; register new rows in another series",
            )

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


def part_of(described: Mapping[str, Any]) -> tuple[str, int] | None:
    """Name of the series that a table is a partition of, and its number of partitions for a person; None if of none.

    Example:
        >>> part_of({"place": "may.csv", "series": "visits", "in_partitions": 2}), part_of({"place": "may.csv"})
        (('visits', 2), None)
    """
    name = described.get("series")
    return None if name is None else (str(name), int(described.get("in_partitions", 1)))


def unit_of(registration: Registration) -> str:
    """Name of the data sets that one server works for together: all partitions of a series, or a data set alone.

    Example:
        >>> unit_of(Registration("may", "", {"series": "visits"}, {}, {}, {}))
        'series visits'
    """
    part = part_of(registration.source)
    return registration.name if part is None else unit_of_series(part[0])


def unit_of_series(name: str) -> str:
    """The same by the name of a series; names of data sets have no blanks."""
    return f"series {name}"


def all_series(data_sets: Iterable[DataSet]) -> list[Series]:
    """The series of some data sets, in the order of their names."""
    found: dict[str, list[DataSet]] = {}
    for each in sorted(data_sets, key=lambda data_set: data_set.id):
        if part := part_of(each.registration.source):
            found.setdefault(part[0], []).append(each)
    at_most = {name: part_of(each[0].registration.source) or (name, 1) for name, each in found.items()}
    return [Series(name, at_most[name][1], tuple(found[name])) for name in sorted(found)]


def open_series(data_sets: Iterable[DataSet], opens: Callable[[str], bool]) -> list[Series]:
    """The series with partitions that a token opens, and these of them, in the order of their names.

    Args:
        data_sets: All data sets.
        opens: Whether a data set is opened, by its name.

    Raises:
        ConflictError: The partitions of one of them, opened or not, are unlike; see `Series.check`.
    """
    found = []
    for whole in all_series(data_sets):
        if opened := tuple(each for each in whole.partitions if opens(each.name)):
            whole.check()
            found.append(replace(whole, partitions=opened))
    return found


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
    if series is None:
        return
    if wrong := dict.fromkeys(what for each in series.partitions for what in _unlike(each.registration, new)):
        raise ConflictError(
            f"the series {series.name!r} has another {' and another '.join(wrong)}",
            remedy=f"register it as {series.partitions[0].name!r} was registered, or in another series",
        )


def _unlike(one: Registration, other: Registration) -> list[str]:
    """The properties that partitions of a series must have in common, and in which these two differ."""
    budget, beside = budget_from_dict(one.budget), budget_from_dict(other.budget)
    differs = {
        "domain": _described(one) != _described(other)
        and domain_of(one.domain, one.source) != domain_of(other.domain, other.source),
        "unit of budget": budget.regime is not beside.regime or one.budget.get("delta") != other.budget.get("delta"),
        "neighbours": budget.neighbours != beside.neighbours,
        "number of partitions for a person": part_of(one.source) != part_of(other.source),
    }
    return [name for name, other_than in differs.items() if other_than]


def _described(one: Registration) -> str:
    """The description of the domain, as text: equal texts are equal domains, and reading those takes longer."""
    return to_json([one.domain, one.source.get("columns")])


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


def joined(answers: Mapping[str, Sequence[ServerAnswer]], confidence: float) -> list[SeriesSum]:
    """Add up the answers of partitions, question by question.

    Args:
        answers: For each partition, by name, the answers to the same questions.
        confidence: Confidence of the sums; those of the partitions are `confidence_of_each`.
    """
    lists = zip(*answers.values(), strict=True)
    return [_sum(dict(zip(answers, parts, strict=True)), confidence) for parts in lists]


def _sum(parts: Mapping[str, ServerAnswer], confidence: float) -> SeriesSum:
    """The sum of the answers of partitions; it has an interval where each of them has one."""
    lows = [each.low for each in parts.values() if each.low is not None]
    highs = [each.high for each in parts.values() if each.high is not None]
    known = len(lows) == len(highs) == len(parts)
    return SeriesSum(
        where=next(iter(parts.values())).where,
        value=sum(each.value for each in parts.values()),
        low=sum(lows) if known else None,
        high=sum(highs) if known else None,
        confidence=confidence if known else None,
        charged=sum(each.charged for each in parts.values()),
        parts=parts,
    )


def _promised(budget: Budget) -> float:
    """The number that budgets of one unit and one delta are compared by; thresholds leave it as it is, unlike a rho."""
    return budget.epsilon if isinstance(budget, ApproxDP) else budget.limit
