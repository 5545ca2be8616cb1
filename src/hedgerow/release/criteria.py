"""Criteria: statements about the distance of released answers from the true ones, and noisy verdicts on them.

A criterion is a bound on the error of one candidate: of a table, of a condition, or of a sum. After a run the curator
tells that error with noise, for a part of the budget that was set aside (theory.md, section 23). The verdict is
post-processing: it compares the noisy error with the bound.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import BudgetError, ConfigError
from hedgerow.privacy import GRID, NoisyError, additive_noise
from hedgerow.queries import Conjunction, Workload, parse_predicate
from hedgerow.release.answer import check_confidence

if TYPE_CHECKING:
    from hedgerow.arrays import Floats
    from hedgerow.models import Model
    from hedgerow.privacy import Budget, GaussianNoise, LaplaceNoise

CRITERIA_SHARE = 0.1
"""Share of a budget that criteria are tested with, all together, unless another is given."""
CONFIDENCE = 0.95
"""Confidence from which on a verdict is one."""

Kind = Literal["table", "share", "mean"]
_KINDS = ("table", "share", "mean")
_STEPS = 40
"""Halvings that find a confidence."""
_MOST = 1.0 - 1e-9
"""The largest confidence that is told."""


@dataclass(frozen=True)
class Criterion:
    """A statement about a release.

    - ``table``: half of the sum of the absolute differences of all cells, released and true, is at most ``within``
      times the released number of records: the total variation distance, where both have as many records.
    - ``share``: the released and the true number of records that meet a condition differ by at most ``within`` times
      the released number of records.
    - ``mean``: the true mean of a column of whole numbers is within ``within`` of the released one: the sum of the
      differences of all true records from the released mean is at most ``within`` for each released record.

    Attributes:
        kind: One of these.
        about: A table as in a workload, such as ``sex * age``; a condition in SQL; or a column.
        within: The bound: of tables and shares a share of the records, of means in the units of the column.

    Example:
        >>> Criterion("table", "sex * age", 0.02).text
        'table sex * age within 0.02'
    """

    kind: Kind
    about: str
    within: float

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ConfigError: The kind is unknown, or the bound is none.
        """
        if self.kind not in _KINDS or not isinstance(self.about, str):
            raise ConfigError(f"there is no criterion on a {self.kind!r}", remedy="give table, share or mean, a text")
        number = not isinstance(self.within, bool) and isinstance(self.within, int | float)
        if not number or not 0.0 < self.within < (float("inf") if self.kind == "mean" else 1.0):
            raise ConfigError(
                f"{self.kind} {self.about}: within {self.within!r}",
                remedy="give a number above 0; for tables and shares one below 1, a share of the records",
            )

    @property
    def text(self) -> str:
        """The statement on a line."""
        return f"{self.kind} {self.about} within {self.within:g}"

    @classmethod
    def of(cls, entry: object) -> Self:
        """Read an entry of a file: ``{table: sex * age, within: 0.02}``.

        Raises:
            ConfigError: It is something else.

        Example:
            >>> Criterion.of({"mean": "age", "within": 0.5}).text
            'mean age within 0.5'
        """
        kinds = [kind for kind in _KINDS if isinstance(entry, Mapping) and kind in entry]
        if not isinstance(entry, Mapping) or len(kinds) != 1 or set(entry) != {*kinds, "within"}:
            raise ConfigError(
                f"{entry!r} is not a criterion",
                remedy="write 'table: sex * age', 'share: age < 30' or 'mean: age', and 'within: 0.02' below it",
            )
        (kind,) = kinds
        return cls(kind, entry[kind], entry["within"])  # type: ignore[arg-type]

    def query(self, domain: Domain, mean: float = 0.0) -> Workload:
        """The candidate whose error the criterion bounds.

        Args:
            domain: The domain.
            mean: The released mean of the column.

        Raises:
            ConfigError: The table is none or several, the condition is about nothing, or the column holds no whole
                numbers.
            QueryError: The text is not understood.
        """
        if self.kind == "mean":
            numbers = self._numbers(domain) - mean
            values = np.zeros(domain[self.about].size)
            values[: numbers.size] = numbers
            return Workload.explicit(domain, [self.about], [values], [f"{self.about} less its released mean"])
        if self.kind == "table":
            plain = not self.about.strip().isdecimal()
            table = Workload.parse(f"marginals:{self.about}", domain) if plain else None
            if table is None or table.n_candidates != 1:
                raise ConfigError(f"{self.about!r} is not one table", remedy="write it as in: sex * age")
            return table
        query = parse_predicate(self.about, domain)
        if not query.scope:
            raise ConfigError(f"{self.about!r} is about all records", remedy="name a part of them")
        if isinstance(query, Conjunction):
            return Workload.conjunctions(domain, [query])
        return Workload.explicit(domain, query.scope, [np.asarray(query.values()).reshape(-1)], [self.about])

    def _numbers(self, domain: Domain) -> Floats:
        """The numbers of a column."""
        column = domain[self.about] if self.about in domain.names else None
        if not isinstance(column, IntegerRange) or column.scale is not None:
            remedy = "name a column of whole numbers; for bins, give a share or a table"
            raise ConfigError(f"{self.about!r} has no mean that counts tell", remedy=remedy)
        numbers: Floats = column.minimum + np.arange(column.ordinary, dtype=np.float64)
        return numbers

    def tested(self, model: Model) -> tuple[Workload, float]:
        """The candidate, and the largest error in counts that the criterion allows.

        Args:
            model: The released hypothesis.
        """
        if self.kind != "mean":
            return self.query(model.domain), (2.0 if self.kind == "table" else 1.0) * self.within * model.total
        numbers = self._numbers(model.domain)
        counts = np.asarray(model.marginals([(self.about,)])[0], dtype=np.float64).reshape(-1)[: numbers.size]
        held = max(float(counts.sum()), 1.0)
        return self.query(model.domain, float(counts @ numbers) / held), self.within * held


@dataclass(frozen=True)
class Verdict:
    """The noisy verdict on a criterion.

    Attributes:
        criterion: The criterion.
        error: The noisy error of its candidate.
        limit: The error that it allows, in units of what one record can change.
        slack: The most that rounding can have moved the error, in these units.
        tries: The mean number of runs, at most, of which the release is the first that passed; 1 for a single run. The
            risk of a verdict is so many times what it is in one run.

    Example:
        >>> from hedgerow.privacy import LaplaceNoise
        >>> error = NoisyError(40.0, LaplaceNoise(4.0), 1.0)
        >>> [Verdict(Criterion("share", "age < 9", 0.1), error, limit, 0.1).outcome for limit in (80.0, 45.0, 10.0)]
        ['held', 'cannot say', 'not held']
    """

    criterion: Criterion
    error: NoisyError
    limit: float
    slack: float
    tries: int = 1

    def _shows(self, held: bool, confidence: float) -> bool:
        """Whether noise leaves the error on one side of the bound; by its two-sided quantile, as it is symmetric."""
        risk = (1.0 - confidence) / self.tries
        reach = self.error.noise.quantile(max(1.0 - 2.0 * risk, 1e-12)) + self.slack
        return self.error.value + reach <= self.limit if held else self.error.value - reach > self.limit

    def _confidence(self, held: bool) -> float:
        low, high = 0.5, _MOST
        if self._shows(held, high):
            return high
        if not self._shows(held, low):
            return 0.0
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._shows(held, middle) else (low, middle)
        return low

    @cached_property
    def held(self) -> float:
        """Confidence with which the criterion holds: from .5 on, or 0 where it is less."""
        return self._confidence(True)

    @cached_property
    def not_held(self) -> float:
        """Confidence with which it does not hold, likewise."""
        return self._confidence(False)

    @property
    def outcome(self) -> Literal["held", "not held", "cannot say"]:
        """``"held"`` or ``"not held"`` with a confidence of 95 % at least; else ``"cannot say"``."""
        if self.held >= CONFIDENCE:
            return "held"
        return "not held" if self.not_held >= CONFIDENCE else "cannot say"

    @property
    def estimate(self) -> float:
        """The noisy error in the units of the bound; not below 0."""
        return max(0.0, self.error.value) / self.limit * self.criterion.within

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        reach = self.error.noise.quantile(CONFIDENCE) / self.limit * self.criterion.within
        sure = max(self.held, self.not_held)
        with_confidence = f"with {_percent(sure)} confidence" if self.outcome != "cannot say" else _likely(self)
        return f"{self.criterion.text}: {self.outcome}, {with_confidence} (measured {self.estimate:.3g} ± {reach:.2g})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        asked = {"kind": self.criterion.kind, "about": self.criterion.about, "within": self.criterion.within}
        tried = {"tries": self.tries} if self.tries > 1 else {}
        return {**asked, "error": self.error.to_dict(), "limit": self.limit, "slack": self.slack, **tried}

    def described(self) -> dict[str, Any]:
        """For JSON that people and their programs read: the verdict too."""
        return {**self.to_dict(), "outcome": self.outcome, "held": self.held, "not_held": self.not_held}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            BudgetError: A field is missing or out of its range.
        """
        try:
            criterion = Criterion(mapping["kind"], mapping["about"], mapping["within"])
            limit, slack, tries = float(mapping["limit"]), float(mapping["slack"]), mapping.get("tries", 1)
            if not (limit > 0.0 and slack >= 0.0 and isinstance(tries, int) and tries >= 1):
                raise BudgetError("the bound of a criterion is not positive, or its runs are no whole number")
            return cls(criterion, NoisyError.from_dict(mapping["error"]), limit, slack, tries)
        except (ConfigError, KeyError, TypeError, ValueError) as error:
            raise BudgetError(f"this is not a verdict: {error}") from error


def slack_of(workload: Workload, total: float, unit: float) -> float:
    """The most that rounding moves the error of a candidate, in units of what one record can change.

    Answers are rounded to the grid, errors and their figure down to it, and values of a query to 2^-20 (theory.md,
    section 23).

    Args:
        workload: The candidate.
        total: Number of records.
        unit: Counts in a unit.
    """
    return GRID + ((workload.n_queries + 1.0) * GRID + total * 2.0**-20) / unit


def _percent(confidence: float) -> str:
    """Rounded down, as it is a promise."""
    return f"{int(confidence * 1000.0) / 10.0:g}%"


def _likely(verdict: Verdict) -> str:
    if verdict.held == verdict.not_held:
        return "by the noise it may hold or not"
    side, sure = ("holds", verdict.held) if verdict.held > verdict.not_held else ("does not hold", verdict.not_held)
    return f"and that it {side} has {_percent(sure)} confidence"


@dataclass(frozen=True)
class Criteria:
    """Criteria of a release, and the share of its budget that they are tested with.

    Attributes:
        criteria: The criteria; equal parts of the share.
        share: The share.

    Example:
        >>> [each.text for each in Criteria.of([{"mean": "age", "within": 0.5}])]
        ['mean age within 0.5']
    """

    criteria: tuple[Criterion, ...]
    share: float = CRITERIA_SHARE

    def __post_init__(self) -> None:
        """Check the share.

        Raises:
            ConfigError: It is not between 0 and 1, or there is no criterion.
        """
        number = not isinstance(self.share, bool) and isinstance(self.share, int | float)
        if not self.criteria or not number or not 0.0 < self.share < 1.0:
            remedy = "list at least one, and give a share between 0 and 1"
            raise ConfigError(f"{len(self.criteria)} criteria with a share of {self.share!r}", remedy=remedy)

    def __iter__(self) -> Any:
        """The criteria."""
        return iter(self.criteria)

    @classmethod
    def of(cls, given: Criteria | str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any]) -> Self:
        """Read criteria: a file, its content, or a list of entries.

        Args:
            given: A YAML file of ``criteria:`` and perhaps ``share:``; the same as a mapping; or the list alone.

        Raises:
            ConfigError: The file cannot be read, or holds something else.
        """
        if isinstance(given, Criteria):
            return cls(given.criteria, given.share)
        if isinstance(given, str | os.PathLike):
            return cls.of(read_yaml(Path(given), "criteria"))
        content: Mapping[str, Any] = given if isinstance(given, Mapping) else {"criteria": given}
        listed = content.get("criteria")
        if not isinstance(listed, Sequence) or isinstance(listed, str) or not set(content) <= {"criteria", "share"}:
            raise ConfigError(
                "these are no criteria", remedy="write a list below 'criteria:', and 'share: 0.1' or none"
            )
        return cls(tuple(map(Criterion.of, listed)), content.get("share", CRITERIA_SHARE))

    def noise(self, budget: Budget, limit: float) -> LaplaceNoise | GaussianNoise:
        """The noise of each test, in units of what one record or person can change of an error.

        Args:
            budget: Budget of the release; its regime and neighbours matter.
            limit: Of it, what the criteria get their share of, as the budget counts.
        """
        most = budget.neighbours.records + GRID
        charge = self.share * limit / len(self.criteria)
        return additive_noise(budget.regime, charge, l1=most, l2=most, step=GRID, kind=None)

    def check(self, domain: Domain) -> None:
        """Refuse criteria that a domain does not have.

        Args:
            domain: The domain.

        Raises:
            ConfigError: See `Criterion.query`.
            QueryError: See `Criterion.query`.
        """
        for each in self.criteria:
            each.query(domain)


def read_yaml(path: Path, what: str) -> Any:
    """The content of a YAML file; an empty mapping where it is empty.

    Args:
        path: The file.
        what: What it holds, for messages.

    Raises:
        ConfigError: It cannot be read.
    """
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: the {what} cannot be read", remedy="name a YAML file") from error


def all_held(verdicts: Sequence[Verdict]) -> bool:
    """Whether each of the criteria is held.

    Args:
        verdicts: The verdicts.
    """
    return all(verdict.outcome == "held" for verdict in verdicts)


def verdicts_sentence(verdicts: Sequence[Verdict], confidence: float = CONFIDENCE) -> str:
    """How many criteria are held, and with which confidence all of them together; empty without any.

    Args:
        verdicts: The verdicts.
        confidence: Confidence of a verdict.
    """
    check_confidence(confidence)
    if not verdicts:
        return ""
    held = sum(verdict.outcome == "held" for verdict in verdicts)
    missed = sum(verdict.outcome == "not held" for verdict in verdicts)
    together = 1.0 - sum(1.0 - verdict.held for verdict in verdicts)
    joint = f", all of them together with {_percent(together)} confidence" if held == len(verdicts) else ""
    joint = joint if together > 0.5 else ""
    open_ones = len(verdicts) - held - missed
    said = [f"{held} held{joint}"] + [f"{missed} not held"] * bool(missed)
    said += [f"of {open_ones} the noise does not tell"] * bool(open_ones)
    return f"Criteria ({len(verdicts)}): {'; '.join(said)}."
