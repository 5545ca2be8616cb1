"""What the store keeps, as the server speaks of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, final

from hedgerow.algorithms.online_pmw import Step, hold as online_hold
from hedgerow.privacy import Event
from hedgerow.queries import Neighbours

Role = Literal["custodian", "analyst"]
Status = Literal["opening", "open", "closed"]


@final
@dataclass(frozen=True)
class Person:
    """Somebody who may have tokens.

    Attributes:
        id: Number in the store.
        name: Unique.
        role: A custodian may do everything; an analyst asks.
        created: When, in UTC.
    """

    id: int
    name: str
    role: Role
    created: datetime


@final
@dataclass(frozen=True)
class Token:
    """What a person signs in with, without its secret.

    Attributes:
        id: The public part.
        person: Number of the person.
        data_sets: Names of the data sets that it is good for; None for all.
        created: When, in UTC.
        expires: Until when it is good; None for ever.
        revoked: Since when it is not; None while it is.
        note: What it is for.

    Example:
        >>> token = Token("0123456789abcdef", 1, ("adult",), datetime(2030, 1, 1))
        >>> token.reaches("adult"), token.reaches("patients")
        (True, False)
        >>> token.lies_within(("adult", "patients")), token.lies_within(("patients",)), token.lies_within(None)
        (True, False, True)
    """

    id: str
    person: int
    data_sets: tuple[str, ...] | None
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    note: str = ""

    def reaches(self, data_set: str) -> bool:
        """Whether its scope holds a data set."""
        return self.data_sets is None or data_set in self.data_sets

    def lies_within(self, scope: tuple[str, ...] | None) -> bool:
        """Whether it is good for nothing outside a scope; None is the scope of everything."""
        return scope is None or (bool(self.data_sets) and set(self.data_sets or ()) <= set(scope))


@final
@dataclass(frozen=True)
class Registration:
    """A data set as its custodian describes it; public, and values that JSON can hold.

    Attributes:
        name: How it is asked for.
        title: For people.
        source: Where the table is and how it is read: ``place``, ``columns``, ``count_column``, ``coded``, ``where``;
            and ``warm``, an earlier release to start from.
        domain: As in a domain file.
        budget: As ``Budget.to_dict`` gives it.
        config: As ``OnlinePMW.parameters`` gives it.
    """

    name: str
    title: str
    source: Mapping[str, Any]
    domain: Mapping[str, Any]
    budget: Mapping[str, Any]
    config: Mapping[str, Any]

    @property
    def promised_too_much(self) -> bool:
        """Whether it is of the first version, which took the number of rows that pass a filter for public.

        Example:
            >>> source, budget = {"place": "a.csv", "where": "a = 1"}, {"neighbours": "replace"}
            >>> Registration("a", "", source, {}, budget, {}).promised_too_much
            True
        """
        return self.source.get("where") is not None and self.budget["neighbours"] == Neighbours.REPLACE


@final
@dataclass(frozen=True)
class DataSet:
    """A registered data set.

    Attributes:
        id: Number in the store.
        registration: What its custodian said.
        status: ``"opening"`` until its session has begun; ``"closed"`` for good.
        version: Counts the commits about its session.
        created: When, in UTC.
        closed: When, in UTC; None while it is not.
    """

    id: int
    registration: Registration
    status: Status
    version: int
    created: datetime
    closed: datetime | None

    @property
    def name(self) -> str:
        """How it is asked for."""
        return self.registration.name


@final
@dataclass(frozen=True)
class Hold(online_hold.Hold):
    """What is held, committed before the data are looked at; of somebody.

    Attributes:
        person: Who asked; None for an opening.
    """

    person: int | None


@final
@dataclass(frozen=True)
class Progress:
    """How far the session of a data set has come.

    Attributes:
        version: Counts the commits.
        status: Of the data set.
        hold: Of a process that is at work, or is gone.
        step: Everything since the mark that was asked from, as one step; None if there is nothing.
        fixed: Limit and unit of the ledger: what its hash chain begins with.
        head: The chain's last link.
    """

    version: int
    status: Status
    hold: Hold | None
    step: Step | None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    head: str = ""


@final
@dataclass(frozen=True)
class GivenAnswer:
    """An answer as it leaves the server.

    Attributes:
        person: Who asked.
        request: Number of the request with an idempotency key, or None.
        position: Of the question in its request.
        where: The condition in canonical form.
        value: In counts.
        low: Lower end of the interval, or None.
        high: Upper end, or None.
        confidence: Of the interval.
        covers: What the interval covers, in words.
        source: See ``OnlineAnswer``.
        charged: What the person's share of the budget paid for it: the price of a correction, or nothing.
        spent: What the ledger held after it.
        updates_left: How many corrections were left.
        id: Number in the store; 0 before it is there.
        at: When, in UTC; None before it is in the store.
    """

    person: int
    request: int | None
    position: int
    where: str
    value: float
    low: float | None
    high: float | None
    confidence: float
    covers: str
    source: str
    charged: float
    spent: float
    updates_left: int
    id: int = 0
    at: datetime | None = None


@final
@dataclass(frozen=True)
class Grant:
    """Limits of one person at one data set, and what is used of them.

    Attributes:
        person: Number of the person.
        queries: How many questions may be asked; None for any number.
        budget: What they may cost in all, in the unit of the data set's budget; None for all of it.
        asked: Questions so far.
        spent: What their corrections cost so far: the price of one, `OnlineSession.price`, for each; and holds of
            theirs that were lost.
        storage: How many bytes the questions may add to the store; None for as many as the store grants everybody.
        stored: How many they have added.
    """

    person: int
    queries: int | None
    budget: float | None
    asked: int
    spent: float
    storage: int | None = None
    stored: int = 0


@final
@dataclass(frozen=True)
class LedgerEntry:
    """An event of a data set's ledger, with who caused it.

    Attributes:
        number: Place in the ledger, from 0.
        event: The event.
        at: When, in UTC.
        person: Name of the person whose question caused it; None for what nobody asked for.
    """

    number: int
    event: Event
    at: datetime
    person: str | None


@final
@dataclass(frozen=True)
class AuditEntry:
    """Something that somebody did.

    Attributes:
        id: Number in the store.
        at: When, in UTC.
        person: Name of who did it; None for the server itself.
        action: What, as ``"register"``.
        subject: To what.
        details: More of it; public values.
        link: The link of the log's hash chain here.
    """

    id: int
    at: datetime
    person: str | None
    action: str
    subject: str
    details: Mapping[str, Any]
    link: str = ""


@final
@dataclass(frozen=True)
class Point:
    """How far a hash chain has come.

    Attributes:
        count: Events of a ledger; of the audit log, the number of its last entry.
        head: The link of the last of them.
        version: Version of the session that the ledger belongs to; 0 for the audit log.
    """

    count: int
    head: str
    version: int = 0
