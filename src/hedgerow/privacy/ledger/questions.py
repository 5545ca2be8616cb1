"""Questions that are asked of the private table: a frozen class for each kind, with fields for its parts.

Texts are made from a question and the numbers of its event, for people; no code reads them. How many values were
released, and at which scale, stands in the event alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Self, get_args

from hedgerow.domain import Clique
from hedgerow.errors import BudgetError
from hedgerow.privacy.mechanisms import (
    DRAWS,
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    ONE_DRAW,
    PERMUTE_AND_FLIP,
    RUN_SELECTION,
    SPARSE_VECTOR,
    THRESHOLDED,
)
from hedgerow.queries import (
    Blocks,
    Conjunction,
    Explicit,
    LostWeight,
    Marginal,
    Measurable,
    Parity,
    Positions,
    WeightPower,
)

PUBLIC = "public"
"""Name of the mechanism that gives a number which is public between neighbours."""
_ADDITIVE = frozenset({LAPLACE, GAUSSIAN})

Figure = Literal["mean", "largest"]
Purpose = Literal["opening", "question"]
_CHOICES: Mapping[str, tuple[str, ...]] = {"figure": get_args(Figure), "purpose": get_args(Purpose)}


@dataclass(frozen=True, slots=True)
class Question(ABC):
    """A question that is asked of the private table; each kind is a class of its own.

    Attributes:
        kind: Name of the kind in files.
        mechanisms: Names of the mechanisms that can answer it.
        many: Whether one event can release several values of it.
    """

    kind: ClassVar[str]
    mechanisms: ClassVar[frozenset[str]] = _ADDITIVE
    many: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            BudgetError: A text is no text or not one of a few, or a number is no whole number from 1 on.
        """
        for name, value in self._parts():
            parts = value if isinstance(value, tuple) else (value,)
            texts = all(isinstance(part, str) for part in parts)
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
            if not (texts or whole) or value not in _CHOICES.get(name, (value,)):
                raise BudgetError(f"the {name} of a question cannot be {value!r}")

    @property
    def ratios(self) -> tuple[float, ...]:
        """Scale of the noise of each value, in units of that of the event; all are 1 if empty."""
        return ()

    def takes(self, values: int) -> bool:
        """Whether one event can be about so many values of it."""
        return values == 1 or self.many

    @abstractmethod
    def text(self, values: int, threshold_scale: float) -> str:
        """The question in words, for people.

        Args:
            values: Number of values of its event.
            threshold_scale: Scale of a sparse vector's threshold noise.
        """

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"kind": self.kind, **{name: _listed(part) for name, part in self._parts()}}

    def _parts(self) -> Iterator[tuple[str, Any]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    @staticmethod
    def from_dict(mapping: Mapping[str, Any]) -> Question:
        """Read what `to_dict` wrote.

        Raises:
            BudgetError: There is no such kind, or it has other fields.

        Example:
            >>> Question.from_dict({"kind": "draws", "queries": 36})
            QueryDraws(queries=36)
        """
        parts = {name: _frozen(part) for name, part in mapping.items()}
        of_kind = _QUESTIONS.get(str(parts.pop("kind", "")))
        if of_kind is None or {field.name for field in fields(of_kind)} != set(parts):
            raise BudgetError(f"a ledger has no question {dict(mapping)!r}")
        return of_kind(**parts)


@dataclass(frozen=True)
class RecordCount(Question):
    """The number of records."""

    kind = "records"
    mechanisms = _ADDITIVE | {PUBLIC}

    def text(self, values: int, threshold_scale: float) -> str:
        """The same words always."""
        return "number of records"


@dataclass(frozen=True, slots=True)
class MeasuredQuery(Question):
    """The answer of a query, or all cells of a marginal; the event says how many values.

    Attributes:
        form: ``"marginal"``, ``"blocks"``, ``"positions"``, ``"moments"``, ``"products"``, ``"parity"``,
            ``"conjunction"``, ``"explicit"``, ``"lost"`` and ``"weights"`` (their powers), or ``"query"`` for others;
            empty in events of format 2, which do not say it.
        scope: Names of the attributes.
        words: The condition of a conjunction or of a part of a marginal, the name of a query, what blocks tell
            apart, the largest possible weight, or the power of weights.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)])
        >>> MeasuredQuery.of(Marginal(domain, ("a", "b")))
        MeasuredQuery(form='marginal', scope=('a', 'b'), words='')
    """

    kind = "query"
    many = True
    form: str
    scope: tuple[str, ...] = ()
    words: str = ""

    @classmethod
    def of(cls, target: Measurable) -> Self:
        """The question of a query or marginal."""
        form, words = "query", target.text
        match target:
            case Marginal():
                form, words = "marginal", "" if target.within is None else target.within.text
            case Blocks():
                form, words = "blocks", target.about
            case Positions():
                form, words = target.form, ""
            case Parity():
                form, words = "parity", ""
            case Conjunction():
                form = "conjunction"
            case Explicit():
                form, words = "explicit", target.name
            case LostWeight():
                form, words = "lost", str(target.possible)
            case WeightPower():
                form, words = "weights", str(target.power)
        return cls(form, target.scope, words)

    def text(self, values: int, threshold_scale: float) -> str:
        """The words of the query itself."""
        names = " * ".join(self.scope)
        match self.form:
            case "marginal":
                return f"{names} where {self.words}" if self.words else names
            case "blocks":
                return f"{self.words or names} in {values} blocks"
            case "positions" | "moments" | "products":
                return f"{self.form}{' in the bins' * (self.form == 'positions')} of {names}"
            case "parity":
                return f"parity({', '.join(self.scope)})"
            case "lost" | "weights":
                lost = f"what the cap takes away of {names}, up to {self.words}"
                return lost if self.form == "lost" else f"the sum of {names} to the power {self.words}"
        return self.words


@dataclass(frozen=True)
class MeasuredParities(Question):
    """Parities that are measured together, each with noise of its own scale; one record does not move all of them.

    Attributes:
        scopes: Names of the attributes of each.
        ratios: Scale of the noise of each, in units of that of the event, at least 1; all are 1 if empty.

    Example:
        >>> asked = MeasuredParities((("a",), ("a", "b")), (1.0, 1.5))
        >>> asked.text(2, 0.0), Question.from_dict(asked.to_dict()) == asked
        ('2 parities of a, b', True)
    """

    kind = "parities"
    many = True
    scopes: tuple[Clique, ...]
    ratios: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            BudgetError: A scope is no set of names, or a ratio is below 1, or there is not one for each.
        """
        named = bool(self.scopes) and all(
            isinstance(scope, tuple) and scope and all(isinstance(name, str) for name in scope) for scope in self.scopes
        )
        known = all(isinstance(ratio, float) and 1.0 <= ratio < math.inf for ratio in self.ratios)
        if not (named and known and len(self.ratios) in (0, len(self.scopes))):
            raise BudgetError("parities of an event have attributes, and units from 1 on")

    def takes(self, values: int) -> bool:
        """One for each scope."""
        return values == len(self.scopes)

    def text(self, values: int, threshold_scale: float) -> str:
        """``3 parities of a, b``."""
        names = dict.fromkeys(name for scope in self.scopes for name in scope)
        return f"{values:,} parit{'y' if values == 1 else 'ies'} of {', '.join(names)}"


@dataclass(frozen=True)
class ErrorFigure(Question):
    """One figure of the error of a workload.

    Attributes:
        figure: ``"mean"`` or ``"largest"``.
        candidates: Number of candidates that it is over.
    """

    kind = "error"
    figure: Figure
    candidates: int

    def text(self, values: int, threshold_scale: float) -> str:
        """``mean error of 3 candidates``."""
        return f"{self.figure} error of {self.candidates:,} candidate{'s' if self.candidates != 1 else ''}"


@dataclass(frozen=True)
class WorstCandidate(Question):
    """The candidate on which a hypothesis errs most.

    Attributes:
        candidates: Number of candidates to choose from.
    """

    kind = "candidate"
    mechanisms = frozenset({EXPONENTIAL, PERMUTE_AND_FLIP, ONE_DRAW})
    candidates: int

    def text(self, values: int, threshold_scale: float) -> str:
        """``worst of 3 candidates``."""
        return f"worst of {self.candidates:,} candidates"


@dataclass(frozen=True)
class BestDatabase(Question):
    """The database that answers its worst query best.

    Attributes:
        databases: Number of databases to choose from.
    """

    kind = "database"
    mechanisms = WorstCandidate.mechanisms
    databases: int

    def text(self, values: int, threshold_scale: float) -> str:
        """``best of 120 databases``."""
        return f"best of {self.databases:,} databases"


@dataclass(frozen=True)
class QuantileCuts(Question):
    """Cuts of disjoint runs of an ordered attribute near quantiles; the event says how many.

    Attributes:
        attribute: Name of the attribute.
    """

    kind = "quantiles"
    mechanisms = frozenset({EXPONENTIAL})
    many = True
    attribute: str

    def text(self, values: int, threshold_scale: float) -> str:
        """``quantiles of age in 3 disjoint parts``."""
        parts = f"{values:,} disjoint parts" if values > 1 else "all records"
        return f"quantiles of {self.attribute} in {parts}"


@dataclass(frozen=True)
class FrequentLabels(Question):
    """The labels of a column that many records have.

    Attributes:
        attribute: Name of the column.
    """

    kind = "labels"
    mechanisms = frozenset(THRESHOLDED)
    attribute: str

    def text(self, values: int, threshold_scale: float) -> str:
        """``labels of job``."""
        return f"labels of {self.attribute}"


@dataclass(frozen=True)
class QueryDraws(Question):
    """Queries and complements that a hypothesis answers too low; the event says how many were drawn.

    Attributes:
        queries: Number of queries; each has a complement.
    """

    kind = "draws"
    mechanisms = frozenset({DRAWS, ONE_DRAW})
    many = True
    queries: int

    def text(self, values: int, threshold_scale: float) -> str:
        """``3 of 12 queries and their complements``."""
        return f"{values:,} of {self.queries:,} queries and their complements"


@dataclass(frozen=True)
class ThresholdTests(Question):
    """Whether values pass a noisy threshold; the event says how often they may, and the scale of its noise."""

    kind = "tests"
    mechanisms = frozenset({SPARSE_VECTOR})
    many = True

    def text(self, values: int, threshold_scale: float) -> str:
        """``whether answers pass a threshold with noise of scale 4, up to 3 times``."""
        fires = f"{values} time{'s' if values != 1 else ''}"
        return f"whether answers pass a threshold with noise of scale {threshold_scale:.6g}, up to {fires}"


@dataclass(frozen=True)
class RunThatPasses(Question):
    """The first of several runs that passes its test.

    Attributes:
        configurations: Number of configurations that each run is drawn from.
    """

    kind = "run"
    mechanisms = frozenset({RUN_SELECTION})
    configurations: int

    def text(self, values: int, threshold_scale: float) -> str:
        """``first run of 3 configurations that passes``."""
        several = "s" if self.configurations != 1 else ""
        return f"first run of {self.configurations:,} configuration{several} that passes"


@dataclass(frozen=True)
class InterruptedDraw(Question):
    """Something that was paid for when its process died; it may have been drawn or not.

    Attributes:
        purpose: ``"opening"``, the number of records with which a session begins, or ``"question"``.
    """

    kind = "interrupted"
    purpose: Purpose

    def text(self, values: int, threshold_scale: float) -> str:
        """``the most that an interrupted question can have cost``."""
        return f"the most that an interrupted {self.purpose} can have cost"


_QUESTIONS: Mapping[str, type[Question]] = {
    each.kind: each
    for each in (
        RecordCount,
        MeasuredQuery,
        MeasuredParities,
        ErrorFigure,
        WorstCandidate,
        BestDatabase,
        QuantileCuts,
        FrequentLabels,
        QueryDraws,
        ThresholdTests,
        RunThatPasses,
        InterruptedDraw,
    )
}


def _frozen(part: Any) -> Any:
    """Lists of JSON as tuples, inside others too."""
    return tuple(map(_frozen, part)) if isinstance(part, list) else part


def _listed(part: Any) -> Any:
    """The other way round."""
    return list(map(_listed, part)) if isinstance(part, tuple) else part
