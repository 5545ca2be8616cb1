"""Contents of a register: entries of a hash chain, each with its cost, and the check that they fit together.

An entry charges a release, a session or a data set of a server before it is begun. A *completion* costs nothing: it
adds the digest of the file that a charged run has written, as an entry of its own, because what stands in a chain
cannot be changed any more.

**Charges.** A register adds up either epsilons or rhos (theory.md section 0), never both. Into one that adds up rhos
goes everything: an epsilon-differentially private release is (epsilon tanh(epsilon / 2))-zCDP. Into one that adds up
epsilons go pure releases alone, since a rho has no epsilon without a delta.

**Samples.** A budget that is spent on a secret sample holds for the whole table as the epsilon that it is amplified
to, if it is pure. If it is zCDP, its own rho holds for the whole table (theory.md section 13.2).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Self

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets import ApproxDP, Budget, Limit, Regime, Subsampled, budget_from_dict, epsilon_of
from hedgerow.privacy.budgets.charging import TOLERANCE, check_amount
from hedgerow.privacy.budgets.gaussian import epsilon_of_half_square
from hedgerow.quantities import at_most
from hedgerow.queries import Neighbours
from hedgerow.system import link, start_of

FORMAT = 1
DATA_SET = "data set"
KINDS = ("release", "session", DATA_SET)
_COMPLETED = "completed"
_LONGEST = 200
_ROUNDING = Fraction(TOLERANCE)


@dataclass(frozen=True)
class Entry:
    """One release, session or data set, charged before it was begun.

    Attributes:
        number: Number of the entry, from 1.
        at: Time of the charge in UTC, as ISO 8601.
        kind: ``"release"``, ``"session"`` or ``"data set"``.
        name: Name of the release.
        charge: All of its budget, in the register's unit.
        unit: ``"epsilon"`` or ``"rho"``.
        budget: The budget as it was given.
        attributes: Names of the attributes that are read.
        digests: SHA-256 of the files that were written, in hexadecimal digits; empty as long as none is.

    Example:
        >>> from hedgerow import PureDP
        >>> str(Entry(1, "2030-01-01T00:00:00+00:00", "release", "people", 0.5, "epsilon", PureDP(0.5)))
        '1: release people, 0.5 epsilon'
    """

    number: int
    at: str
    kind: str
    name: str
    charge: float
    unit: str
    budget: Budget
    attributes: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check charge, kind and texts.

        Raises:
            ConfigError: The charge is not positive and finite, the kind is unknown, or a text is too long or no plain
                line.
        """
        if not isinstance(self.charge, int | float):
            raise ConfigError(f"a charge is a number, not {self.charge!r}")
        check_amount(self.charge)
        if self.kind not in KINDS:
            raise ConfigError(f"a register has no entries of kind {self.kind!r}", remedy=f"give {', '.join(KINDS)}")
        check_line("name", self.name)
        if not all(isinstance(name, str) for name in self.attributes):
            raise ConfigError("names of attributes are texts")

    def to_dict(self) -> dict[str, Any]:
        """For JSON; without the digests, which are entries of their own."""
        return {
            "number": self.number,
            "at": self.at,
            "kind": self.kind,
            "name": self.name,
            "charge": self.charge,
            "unit": self.unit,
            "budget": self.budget.to_dict(),
            "attributes": list(self.attributes),
        }

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.number}: {self.kind} {self.name}, {at_most(self.charge)} {self.unit}"


def check_line(what: str, text: str) -> None:
    """Refuse a text that is not one short line of plain characters.

    Raises:
        ConfigError: It is too long, has several lines or other characters, or is not a text.

    Example:
        >>> check_line("name", "people")
    """
    if not isinstance(text, str) or len(text) > _LONGEST or not text.isprintable():
        raise ConfigError(f"the {what} of a release must be one line of at most {_LONGEST} characters")


def completion(of: int, digest: str) -> dict[str, Any]:
    """The entry that adds the digest of a file.

    Args:
        of: Number of the entry that was charged for the file.
        digest: 64 hexadecimal digits.
    """
    return {"at": now(), "kind": _COMPLETED, "of": of, "digest": digest}


def now() -> str:
    """The time in UTC, to the second.

    Example:
        >>> now()[-6:]
        '+00:00'
    """
    return datetime.now(UTC).isoformat(timespec="seconds")


def charge_of(budget: Budget, limit: Limit) -> float:
    """The charge of a release in a register: its whole budget in the register's unit, rounded up.

    Args:
        budget: The release's budget.
        limit: The register's limit.

    Returns:
        The amount in the limit's unit.

    Raises:
        ConfigError: The budget is of another neighbouring relation, or has no charge in the register's unit.

    Example:
        >>> from hedgerow import PureDP, ZCDP
        >>> charge_of(PureDP(1.0), PureDP(3.0)), round(charge_of(PureDP(1.0), ZCDP(3.0)), 6)
        (1.0, 0.462117)
        >>> charge_of(ZCDP(0.1), PureDP(3.0))
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: the register adds up epsilons, and a budget in rho has none
          Remedy: give the release a pure budget (an epsilon without a delta), or keep a register in rho
    """
    asked, kept = budget.neighbours.unfiltered, limit.neighbours
    if asked != kept:
        raise ConfigError(
            f"the register adds up releases between tables that are neighbours by {kept.value!r}, not by "
            f"{asked.value!r}",
            remedy=_agreeing(asked, kept),
        )
    if budget.for_thresholds > limit.for_thresholds:
        raise ConfigError(
            "values of a column that are learnt spend a delta of their own, and the register's limit has none, or a "
            "smaller one, for thresholds",
            remedy="list the values, or make a register whose limit is ApproxDP(..., thresholds=...): on the command "
            "line by --limit-delta 1e-8 --limit-thresholds 5e-9",
        )
    if budget.regime is Regime.PURE:
        return limit.regime.of_pure(budget.approximate()[0])
    if limit.regime is Regime.PURE:
        raise ConfigError(
            f"the register adds up epsilons, and a budget in {budget.unit} has none",
            remedy="give the release a pure budget (an epsilon without a delta), or keep a register in rho",
        )
    if limit.regime is Regime.GDP and budget.regime is Regime.ZCDP:
        raise ConfigError(
            "the register adds up Gaussian differential privacy, which does not follow from a rho",
            remedy="give the release a budget in GDP, or keep a register in rho",
        )
    return budget.limit  # mu-GDP is zCDP with rho = mu^2 / 2 (theory.md section 12)


@dataclass(frozen=True)
class Contents:
    """All that a register holds at one time, checked.

    Attributes:
        table: Name of the table.
        mark: Random text that tells it from other registers.
        limit: Budget that the entries together stay within.
        amount: The same in the register's unit, as the machine that made the register computed it.
        entries: All charges, oldest first.
        length: Number of lines: entries and completions.
        head: The last link of the chain.

    Example:
        >>> from hedgerow import PureDP
        >>> contents = Contents.of(fixed_of("people", PureDP(3.0)), [])
        >>> contents.spent, contents.remaining, contents.covers(3.0), contents.covers(3.5)
        (0.0, 3.0, True, False)
    """

    table: str
    mark: str
    limit: Limit
    amount: float
    entries: tuple[Entry, ...]
    length: int
    head: str

    @classmethod
    def of(cls, fixed: Mapping[str, Any], rows: Sequence[tuple[Mapping[str, Any], str]]) -> Self:
        """Read a register's rows.

        Args:
            fixed: The part that never changes, from `fixed_of`.
            rows: All entries with their links, oldest first.

        Raises:
            ConfigError, AttributeError, KeyError, TypeError, ValueError: Something does not fit together.
        """
        limit = checked_limit(budget_from_dict(fixed["limit"]))
        amount = float(fixed["amount"])
        if amount <= 0.0 or Fraction(amount) > Fraction(limit.limit) * (1 + _ROUNDING):
            raise ValueError("the amount of the limit does not match the limit")
        head, entries = start_of("register", fixed), dict[int, Entry]()
        for place, (row, linked) in enumerate(rows, start=1):
            head = link(head, row)
            if head != linked:
                raise ValueError(f"line {place} is not the one that was written")
            if row["kind"] == _COMPLETED:
                of = entries[row["of"]]
                entries[of.number] = replace(of, digests=(*of.digests, _digest(row["digest"])))
            else:
                entry = entries[len(entries) + 1] = _entry(row, limit)
                if entry.number != len(entries):
                    raise ValueError(f"line {place} has the number of another one")
        contents = cls(str(fixed["table"]), str(fixed["mark"]), limit, amount, tuple(entries.values()), len(rows), head)
        if not contents.covers():
            raise ValueError("the entries add up to more than the limit")
        return contents

    @property
    def unit(self) -> str:
        """``"epsilon"`` or ``"rho"``."""
        return self.limit.unit

    @property
    def spent(self) -> float:
        """Sum of the charges: exact, rounded once."""
        return float(self._sum())

    @property
    def remaining(self) -> float:
        """The rest of the limit."""
        return float(Fraction(self.amount) - self._sum())

    @property
    def thresholds(self) -> float:
        """The delta that the entries may spend on thresholds: exact, rounded once."""
        return float(sum(Fraction(entry.budget.for_thresholds) for entry in self.entries))

    def covers(self, *charges: float) -> bool:
        """Whether so much more may be charged."""
        return self._sum() + sum(map(Fraction, charges)) <= Fraction(self.amount)

    def covers_thresholds(self, delta: float) -> bool:
        """Whether so much more delta may be kept for thresholds."""
        kept = sum((Fraction(entry.budget.for_thresholds) for entry in self.entries), Fraction(delta))
        return kept <= Fraction(self.limit.for_thresholds)

    def approximate(self, delta: float | None = None) -> tuple[float, float]:
        """Sum of the entries as (epsilon, delta).

        Args:
            delta: The delta for turning a sum of rhos or squares of mu into an epsilon; that of the limit unless given.

        Raises:
            ConfigError: A delta is needed and none is known, or it is not between 0 and 1.

        Example:
            >>> from hedgerow import ApproxDP
            >>> Contents.of(fixed_of("people", ApproxDP(1.0, 1e-9)), []).approximate()
            (0.0, 1e-09)
        """
        if self.limit.regime is Regime.PURE:
            return self.spent, self.limit.for_thresholds
        if delta is None and isinstance(self.limit, ApproxDP):
            delta = self.limit.delta
        if delta is None:
            raise ConfigError("a sum of rhos means another epsilon at each delta", remedy="give the delta")
        kept = self.limit.for_thresholds
        if not delta > kept:
            raise ConfigError(f"{kept:.3g} of delta is kept for thresholds", remedy="give a larger delta")
        converted = math.nextafter(delta - kept, 0.0) if kept else delta
        if self.limit.regime is Regime.GDP:
            return epsilon_of_half_square(self.spent, converted), delta
        return epsilon_of(self.spent, converted), delta

    def _sum(self) -> Fraction:
        return sum((Fraction(entry.charge) for entry in self.entries), Fraction(0))


def fixed_of(table: str, limit: Limit, mark: str = "") -> dict[str, Any]:
    """The part of a register that never changes, and stands at the start of its chain.

    Args:
        table: Name of the table.
        limit: Budget that its entries together stay within.
        mark: Random text that tells it from other registers.

    Raises:
        ConfigError: The name is not a short line.
    """
    check_line("table", table)
    return {
        "format": FORMAT,
        "mark": mark,
        "at": now(),
        "table": table,
        "limit": limit.to_dict(),
        "amount": limit.limit,
    }


def checked_limit(budget: object) -> Limit:
    """A budget as the limit of a register, between whole tables.

    Raises:
        ConfigError: It is not a budget, or one for a sample.

    Example:
        >>> from hedgerow import PureDP
        >>> checked_limit(PureDP(3.0)).limit
        3.0
    """
    if isinstance(budget, Subsampled) or not isinstance(budget, Limit):
        raise ConfigError(
            f"the limit of a register is a budget for the whole table, not a {type(budget).__name__}",
            remedy="give hedgerow.PureDP(epsilon), hedgerow.ApproxDP(epsilon, delta), hedgerow.ZCDP(rho) or .GDP(mu)",
        )
    if budget.fixed is not None:
        message = "the limit of a register adds up releases of any kind, and has no fixed composition"
        raise ConfigError(message, remedy="leave the composition out")
    return replace(budget, neighbours=budget.neighbours.unfiltered)


def _agreeing(asked: Neighbours, kept: Neighbours) -> str:
    """A way to make a release that goes into a register."""
    if asked.persons == kept.persons:
        return f"give the release neighbours={kept.value!r}"
    if kept.persons is None:
        return "keep another register for releases that are about persons"
    return f"read the table with person={kept.persons.column!r} and at_most: a guarantee about records says too little"


def _entry(row: Mapping[str, Any], limit: Limit) -> Entry:
    fields = dict(row)
    budget = budget_from_dict(fields.pop("budget"))
    entry = Entry(**{**fields, "budget": budget, "attributes": tuple(fields["attributes"])})
    datetime.fromisoformat(entry.at)
    if entry.unit != limit.unit:
        raise ValueError(f"entry {entry.number} is in another unit")
    if Fraction(entry.charge) < Fraction(charge_of(budget, limit)) * (1 - _ROUNDING):
        raise ValueError(f"entry {entry.number} is charged less than its budget")
    return entry


def _digest(text: str) -> str:
    if len(bytes.fromhex(text)) != 32:
        raise ValueError("a digest has 64 hexadecimal digits")
    return text
