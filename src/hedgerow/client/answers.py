"""Answers of a server, as objects and as tables.

The server answers with these classes too, and OpenAPI describes them by their docstrings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

import pyarrow as pa

from hedgerow.quantities import at_most
from hedgerow.system import Tabular

Source = Literal["hypothesis", "data", "cache", "public", "hypothesis only"]
"""Source of an answer: hypothesis (tested against the data), data, cache, public, or hypothesis only."""


@dataclass(frozen=True)
class ServerAnswer:
    """An answer, in counts.

    Attributes:
        sql: The question in canonical form, or the statement that led to it.
        where: Its condition.
        low: Lower end of an interval that holds the true count with this confidence.
        confidence: Confidence of the interval; null where there is none.
        covers: Meaning of the interval, and where it comes from.
        charged: Cost to the person's share of the budget: the price of a correction, or 0.
        spent: Total spent after it.

    Example:
        >>> told = {"sql": "SELECT COUNT(*) FROM people WHERE sex = 'F'", "where": "sex = 'F'", "value": 120.0,
        ...         "low": 90.0, "high": 150.0, "confidence": 0.95, "covers": "the true answer", "source": "data",
        ...         "charged": 0.02, "spent": 0.1, "updates_left": 4}
        >>> print(ServerAnswer.of(told))
        sex = 'F': 120 (90 to 150 with 95% confidence), from the data
    """

    sql: str
    where: str
    value: float
    low: float | None
    high: float | None
    confidence: float | None
    covers: str
    source: Source
    charged: float
    spent: float
    updates_left: int

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read what a server tells; what a newer one tells besides is left out."""
        return cls(**{each.name: told[each.name] for each in fields(cls)})

    def __str__(self) -> str:
        """The answer in a line."""
        within = "no interval"
        if self.low is not None and self.high is not None and self.confidence is not None:
            within = f"{self.low:,.0f} to {self.high:,.0f} with {100.0 * self.confidence:g}% confidence"
        source = "the data" if self.source == "data" else self.source
        return f"{self.where or 'all records'}: {self.value:,.0f} ({within}), from {source}"


@dataclass(frozen=True)
class Price:
    """The most that a statement can cost, told before it is asked.

    Attributes:
        rows: Number of rows of its table.
        questions: Questions that it counts as; all counts of its groups are one.
        corrections: Corrections that it may lead to; none where the data are not looked at any more.
        cost: Their cost to the person's share of the budget.
        unit: Unit of the budget: epsilon, rho or mu^2/2.

    Example:
        >>> print(Price(rows=2, questions=3, corrections=2, cost=0.04, unit="epsilon"))
        up to 3 questions, up to 2 corrections: at most 0.04 epsilon
    """

    rows: int
    questions: int
    corrections: int
    cost: float
    unit: str

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read what a server tells; what a newer one tells besides is left out."""
        return cls(**{each.name: told[each.name] for each in fields(cls)})

    def __str__(self) -> str:
        """The price in a line."""
        asked = f"up to {self.questions:,} question{'s' * (self.questions != 1)}"
        if not self.corrections:
            return f"{asked}, free" if self.questions else "free"
        corrected = f"up to {self.corrections:,} correction{'s' * (self.corrections != 1)}"
        return f"{asked}, {corrected}: at most {at_most(self.cost, 3)} {self.unit}"


@dataclass(frozen=True)
class SeriesSum:
    """An answer about several partitions, in counts.

    Attributes:
        where: The condition.
        value: Sum of the partitions' values.
        low: Lower end of an interval that holds the true sum with this confidence.
        confidence: Confidence of the interval; null where there is none.
        charged: Sum of what the partitions charged to the person's shares.
        parts: The answer of each partition; its interval has the confidence that makes all of them hold.
    """

    where: str
    value: float
    low: float | None
    high: float | None
    confidence: float | None
    charged: float
    parts: Mapping[str, ServerAnswer]

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> SeriesSum:
        """Read what a server tells."""
        parts = {name: ServerAnswer.of(each) for name, each in told["parts"].items()}
        return cls(**{each.name: told[each.name] for each in fields(cls) if each.name != "parts"}, parts=parts)


class ServerAnswers(Tabular, Sequence[ServerAnswer]):
    """Answers in the order of their questions.

    Args:
        answers: The answers.
    """

    def __init__(self, answers: Sequence[ServerAnswer]) -> None:
        """Keep them."""
        self._answers = tuple(answers)

    def __getitem__(self, place: Any) -> Any:
        """One answer, or some."""
        return ServerAnswers(self._answers[place]) if isinstance(place, slice) else self._answers[place]

    def __len__(self) -> int:
        """Number of answers."""
        return len(self._answers)

    def __repr__(self) -> str:
        """A line for each."""
        return "\n".join(map(str, self._answers)) or "no answers"

    def to_arrow(self) -> pa.Table:
        """A row for each answer."""
        rows = [asdict(each) for each in self._answers]
        return pa.table({each.name: [row[each.name] for row in rows] for each in fields(ServerAnswer)})


@dataclass(frozen=True, eq=False)
class AnswerTable(Tabular):
    """The answer of a SELECT statement.

    Attributes:
        names: Columns of GROUP BY.
        headings: Names of the aggregates.
        columns: Names of all columns: each aggregate is followed by the ends of its interval.
        rows: Labels of the groups, and numbers.
        confidence: Confidence of each interval.
        sources: Number of questions that each source answered.
        charged: Cost to the person's share of the budget.
        covers: What each interval holds, in words; empty of a server that does not tell.
    """

    names: tuple[str, ...]
    headings: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    confidence: float | None
    sources: Mapping[str, int]
    charged: float
    covers: str = ""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> AnswerTable:
        """Read what a server tells."""
        names, headings, columns = (tuple(told[each]) for each in ("names", "headings", "columns"))
        rows = tuple(tuple(row) for row in told["rows"])
        sources, covers = dict(told["sources"]), told.get("covers", "")
        return cls(names, headings, columns, rows, told["confidence"], sources, told["charged"], covers)

    def __repr__(self) -> str:
        """Its size and its price."""
        sources = ", ".join(f"{count} from {source}" for source, count in self.sources.items())
        return f"AnswerTable({', '.join(self.columns)}: {len(self.rows)} rows; {sources}; charged {self.charged:g})"

    def to_arrow(self) -> pa.Table:
        """A row for each group."""
        return pa.table({name: [row[place] for row in self.rows] for place, name in enumerate(self.columns)})
