"""What the server answers, as OpenAPI describes it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from hedgerow.service.http.sent import examples
from hedgerow.service.store import Role, Status, Token

Scope = list[str] | Literal["all"]


def scope_of(token: Token) -> Scope:
    """Names of the data sets that a token is good for, or "all"."""
    return "all" if token.data_sets is None else list(token.data_sets)


class Told(BaseModel):
    """Something that is answered: what is documented, and nothing else that it is made from."""

    model_config = ConfigDict(extra="ignore")


class FieldProblem(Told):
    """What is wrong with one field of a request."""

    where: str
    reason: str


class Problem(Told):
    """Why a request was refused (RFC 9457)."""

    type: str = Field(examples=["urn:hedgerow:problem:not-there"])
    title: str = Field(description="The kind of problem, in words.")
    status: int
    detail: str = Field(description="What is wrong.")
    remedy: str = Field(description="What to try; may be empty.")
    code: str = Field(description="The kind of problem: the end of its type.")
    fields: list[FieldProblem] | None = Field(None, description="What is wrong with single fields; with status 422.")


class Health(Told):
    """That the server is well."""

    status: Literal["ok"]
    version: str


class Me(Told):
    """Whose the token is."""

    person: str
    role: Role
    datasets: Scope = Field(description="Names of the data sets that the token is good for, or 'all'.")
    expires: datetime | None = Field(description="Until when it is good; null for ever.")
    version: str


class Mine(Told):
    """Limits of whoever asks, and what is used of them."""

    queries: int | None = Field(description="Questions that may be asked; null for any number.")
    asked: int
    budget: float | None = Field(description="What they may cost in all; null for all of the budget.")
    spent: float
    storage: int = Field(description="Bytes that the questions may add to the server's store.")
    stored: int = Field(description="Bytes that they have added.")


class Summary(Told):
    """A data set in short."""

    name: str
    title: str
    status: Status
    spent: float = Field(description="Of the privacy budget.")
    limit: float
    unit: str = Field(description="Of the budget: epsilon or rho.")
    updates: int = Field(description="How many corrections of the hypothesis the budget is divided over.")
    updates_left: int
    price: float | None = Field(description="What a correction costs a person's share of the budget.")
    threshold: float | None = Field(description="Errors of about so many counts are corrected; null at first.")
    total: float | None = Field(description="Number of records, noisy where it is private; null at first.")
    asked: int = Field(description="Questions that were tested against the data.")
    closed: str = Field(description="Why the data are not looked at any more; empty while they are.")
    private: bool = Field(description="Whether all noise came from the secure source.")
    statement: str = Field(description="The privacy guarantee in a sentence.")
    mine: Mine


class AttributeTold(Told):
    """What the values of a column may be."""

    name: str
    kind: Literal["categorical", "integer", "binned"]
    values: list[str] | None = Field(description="Labels of all values; null where there are more than 1,000.")
    size: int
    low: int | None = Field(description="Of whole numbers.")
    high: int | None
    missing: str | None
    other: str | None


class Detail(Summary):
    """A data set."""

    attributes: list[AttributeTold]
    neighbours: Literal["add-remove", "replace", "replace-then-filter"]
    created: datetime
    source: dict[str, Any] | None = Field(description="Where the table is; for custodians.")


class PlanLine(Told):
    """One thing to know beforehand."""

    word: str = Field(examples=["answers"])
    sentence: str = Field(examples=["with 95% confidence within 2,300 records (4.6%) where a test stays quiet, ..."])


class Plan(Told):
    """What asking a data set would be like."""

    lines: list[PlanLine]


class SummaryList(Told):
    """Data sets that the token is good for."""

    datasets: list[Summary]


class Answer(Told):
    """An answer, in counts."""

    sql: str = Field(description="The question in canonical form.")
    where: str = Field(description="Its condition.")
    value: float
    low: float | None = Field(description="Lower end of an interval that holds the true count with the confidence.")
    high: float | None
    confidence: float
    covers: str = Field(description="What the interval covers, and why.")
    source: Literal["hypothesis", "data", "cache", "public", "hypothesis only"]
    charged: float = Field(description="What it costs a person's share of the budget: the price of a correction, or 0.")
    spent: float = Field(description="What was spent in all after it.")
    updates_left: int


_SUMMARY: JsonValue = {
    "name": "adult",
    "title": "Census income",
    "status": "open",
    "spent": 0.75,
    "limit": 1.0,
    "unit": "epsilon",
    "updates": 12,
    "updates_left": 11,
    "price": 0.02,
    "threshold": 976.8,
    "total": 48842.0,
    "asked": 2,
    "closed": "",
    "private": True,
    "statement": "When one person's record is added or left out, the probability of any outcome of this release "
    "changes by a factor of at most 2.718 (pure differential privacy with epsilon = 1).",
    "mine": {"queries": 100, "asked": 2, "budget": 0.25, "spent": 0.02, "storage": 2**28, "stored": 1480},
}
_ANSWER: JsonValue = {
    "sql": "SELECT COUNT(*) FROM adult WHERE sex = 'Male'",
    "where": "sex = 'Male'",
    "value": 32612.0,
    "low": 32311.0,
    "high": 32913.0,
    "confidence": 0.95,
    "covers": "the true answer on the private table, with 95% confidence, from a fresh noisy answer",
    "source": "data",
    "charged": 0.02,
    "spent": 0.75,
    "updates_left": 11,
}


class Answers(Told):
    """Answers in the order of the questions, and the data set after them."""

    model_config = examples({"answers": [_ANSWER], "dataset": _SUMMARY})

    answers: list[Answer]
    dataset: Summary


class EarlierAnswer(Answer):
    """An answer that was given before."""

    id: int
    at: datetime
    person: str


class EarlierAnswers(Told):
    """A page of answers, newest first."""

    answers: list[EarlierAnswer]
    next: str | None = Field(description="Cursor of the next page; null at the end.")


class MarginalTold(Told):
    """A marginal of the hypothesis."""

    model_config = examples(
        {"attributes": ["sex"], "labels": [["Female", "Male"]], "counts": [16230.0, 32612.0], "total": 48842.0}
    )

    attributes: list[str]
    labels: list[list[str]] = Field(description="Of each attribute's values.")
    counts: list[Any] = Field(description="Nested lists, one level for each attribute.")
    total: float


class EventTold(Told):
    """A touch of the data."""

    label: str
    mechanism: str
    target: str
    sensitivity: float
    scale: float
    charge: float
    unit: str
    neighbours: str
    values: int
    threshold_scale: float
    number: int = Field(description="Place in the ledger, from 0.")
    at: datetime
    person: str | None


class LedgerTold(Told):
    """What was spent, and a page of its events, newest first."""

    limit: float
    spent: float
    remaining: float
    unit: str
    statement: str
    held: float = Field(description="The most that a question at work can cost.")
    head: str = Field(description="Of the hash chain of all events: 64 hexadecimal digits.")
    events: list[EventTold]
    next: str | None


class LedgerFile(Told):
    """A whole ledger, oldest event first, to be checked by `hedgerow audit`."""

    name: str
    budget: dict[str, Any] = Field(description="As it was registered.")
    statement: str
    limit: float
    unit: str
    events: list[dict[str, Any]] = Field(description="All events; `head` is the head of their hash chain.")
    head: str


class GrantTold(Told):
    """Limits of a person at one data set, and what is used of them."""

    person: str
    queries: int | None
    budget: float | None
    asked: int
    spent: float
    storage: int | None = Field(description="Bytes that the questions may add; null for what everybody is granted.")
    stored: int


class GrantList(Told):
    """Limits at one data set."""

    grants: list[GrantTold]


class PersonTold(Told):
    """Somebody who may have tokens."""

    name: str
    role: Role
    created: datetime


class PersonList(Told):
    """Everybody; for custodians of some data sets, those who have to do with them."""

    people: list[PersonTold]


class TokenTold(Told):
    """A token without its secret."""

    id: str
    person: str
    datasets: Scope = Field(description="Names of the data sets that it is good for, or 'all'.")
    created: datetime
    expires: datetime | None = Field(description="Until when it is good; null for ever.")
    revoked: datetime | None
    note: str


class TokenMade(TokenTold):
    """A token that was just made."""

    token: str = Field(description="To sign in with; shown this once.", examples=["hgr_0123456789abcdef_..."])


class TokenList(Told):
    """All tokens; for custodians of some data sets, those that are good for no others."""

    tokens: list[TokenTold]


class FileTold(Told):
    """A file that was taken."""

    name: str
    bytes: int


class AuditEntryTold(Told):
    """Something that somebody did."""

    id: int
    at: datetime
    person: str | None
    action: str
    subject: str
    details: dict[str, Any]
    link: str = Field(description="Link of the log's hash chain at this entry.")


class AuditTold(Told):
    """A page of what was done, newest first."""

    entries: list[AuditEntryTold]
    head: str = Field(description="Of the hash chain of the whole log: the link of its last entry.")
    next: str | None
