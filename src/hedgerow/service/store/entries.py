"""Records of the store: people, tokens, data sets, sessions, answers and log entries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from hedgerow.algorithms.online_pmw import OnlineAnswer, Step, hold as online_hold
from hedgerow.privacy import Event
from hedgerow.queries import Neighbours
from hedgerow.service.store.schema import Grant

Status = Literal["opening", "failed", "open", "closed", "discarded"]


@dataclass(frozen=True)
class Registration:
    """A data set as its custodian describes it; public values that JSON can hold.

    Attributes:
        name: Name in requests.
        title: Title for people.
        source: Place of the table, and how to read it: ``place``, ``columns``, ``count_column``, ``coded``, ``where``,
            ``violations``, ``person``, ``at_most``, ``weight``, ``largest_weight``; and ``warm``, an earlier release to
            start from, or ``first_release``, the share of the budget for one that is made first; ``series`` and
            ``in_partitions`` where it is one of several that are asked together.
        domain: Attributes and their values, as in a domain file.
        budget: Result of ``Budget.to_dict``.
        config: Result of ``OnlinePMW.parameters``.
    """

    name: str
    title: str
    source: Mapping[str, Any]
    domain: Mapping[str, Any]
    budget: Mapping[str, Any]
    config: Mapping[str, Any]

    @property
    def promised_too_much(self) -> bool:
        """Whether it is of the first version, which treated the number of rows that pass a filter as public.

        Example:
            >>> source, budget = {"place": "a.csv", "where": "a = 1"}, {"neighbours": "replace"}
            >>> Registration("a", "", source, {}, budget, {}).promised_too_much
            True
        """
        return self.source.get("where") is not None and self.budget["neighbours"] == Neighbours.REPLACE.value


@dataclass(frozen=True)
class DataSet:
    """A registered data set.

    Attributes:
        id: Number in the store.
        registration: Description by its custodian.
        status: ``"opening"`` until its session has begun; ``"failed"`` if what it held for that was lost; ``"closed"``
            and ``"discarded"`` are final.
        version: Number of commits about its session.
        created: Time of creation, in UTC.
        closed: Time of closing, in UTC; None while it is open.
    """

    id: int
    registration: Registration
    status: Status
    version: int
    created: datetime
    closed: datetime | None

    @property
    def name(self) -> str:
        """Name of the data set."""
        return self.registration.name


@dataclass(frozen=True)
class Hold(online_hold.Hold):
    """A hold, committed before the data are looked at, and the person who caused it.

    Attributes:
        person: Number of the person who asked; None for an opening.
    """

    person: int | None


@dataclass(frozen=True)
class Progress:
    """Progress of a data set's session.

    Attributes:
        version: Number of commits.
        status: Status of the data set.
        hold: Hold of a process that is at work, or is gone.
        step: Everything since the given mark, as one step; None if there is nothing.
        fixed: Limit and unit of the ledger: what its hash chain begins with.
        head: The chain's last link.
    """

    version: int
    status: Status
    hold: Hold | None
    step: Step | None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    head: str = ""


@dataclass(frozen=True)
class GivenAnswer(OnlineAnswer):
    """An answer of a session as it leaves the server; ``charged`` is the cost to the person's share of the budget.

    Attributes:
        person: Number of the person who asked.
        request: Number of the request with an idempotency key, or None.
        position: Position of the question in its request.
        where: The condition in canonical form.
        confidence: Confidence of the interval.
        groups: The counts of a group, as lists: ``value``, and the ends of their intervals ``low`` and ``high`` (or
            None), while the answer's own value is their sum; None for a single question.
        statement: The SQL statement that led to the question; empty if it was asked by itself.
        id: Number in the store; 0 before it is there.
        at: Time, in UTC; None before it is in the store.
    """

    person: int
    request: int | None
    position: int
    where: str
    confidence: float
    groups: Mapping[str, Any] | None = None
    statement: str = ""
    id: int = 0
    at: datetime | None = None

    @property
    def lasts(self) -> bool:
        """Whether the same question has this answer for good: the hypothesis' own may change until the last look."""
        return self.source != "hypothesis only"


@dataclass(frozen=True)
class Charge:
    """An event of a ledger, in so far as the list of spending needs it.

    Attributes:
        label: The event's label.
        charge: The event's charge.
        at: Time, in UTC.
        person: Number of the person whose question caused it; None for what no one asked for.
    """

    label: str
    charge: float
    at: datetime
    person: int | None


@dataclass(frozen=True)
class Shares:
    """A session's progress and what people have used of its data set, from one state of the store.

    Attributes:
        progress: The progress: the state, and no events.
        grant: Limits of one person, and how much of them is used.
        asked: Number of everyone's questions.
        paid: Total that everyone's shares have paid for corrections and lost holds.
        opening: Charges of the events before anyone asked.
        learnt: Whether the hypothesis has learnt anything: from an answer of the data, or from an earlier release.
        charges: The charges of the ledger, oldest first, if they were asked for; nothing of them is checked.
    """

    progress: Progress
    grant: Grant
    asked: int
    paid: float
    opening: float
    learnt: bool
    charges: tuple[Charge, ...] = ()


@dataclass(frozen=True)
class LedgerEntry:
    """An event of a data set's ledger, and the person who caused it.

    Attributes:
        number: Place in the ledger, from 0.
        event: The event.
        at: Time, in UTC.
        person: Name of the person whose question caused it; None for what no one asked for.
    """

    number: int
    event: Event
    at: datetime
    person: str | None


@dataclass(frozen=True)
class AuditEntry:
    """An entry of the audit log.

    Attributes:
        id: Number in the store.
        at: Time, in UTC.
        person: Name of the person; None for the server itself.
        action: Name of the action, such as ``"register"``.
        subject: Object of the action.
        details: Further public values.
        link: The link of the log's hash chain here.
    """

    id: int
    at: datetime
    person: str | None
    action: str
    subject: str
    details: Mapping[str, Any]
    link: str = ""


@dataclass(frozen=True)
class Point:
    """A point of a hash chain.

    Attributes:
        count: Number of events of a ledger; for the audit log, the number of its last entry.
        head: The link of the last of them.
        version: Version of the session that the ledger belongs to; 0 for the audit log.
    """

    count: int
    head: str
    version: int = 0
