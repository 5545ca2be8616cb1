"""Answers of the server, as OpenAPI describes them."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from hedgerow.service.http.requests import examples
from hedgerow.service.store import Role, Token

Scope = list[str] | Literal["all"]


def scope_of(token: Token) -> Scope:
    """Names of the data sets that a token opens, or "all"."""
    return "all" if token.data_sets is None else list(token.data_sets)


class ApiResponse(BaseModel):
    """Base of all answers: they hold the documented fields, and nothing else of what they are made from."""

    model_config = ConfigDict(extra="ignore")


class FieldProblem(ApiResponse):
    """A fault of one field of a request."""

    where: str
    reason: str


class Problem(ApiResponse):
    """Why a request was refused (RFC 9457)."""

    type: str = Field(examples=["urn:hedgerow:problem:not-there"])
    title: str = Field(description="The kind of problem, in words.")
    status: int
    detail: str = Field(description="The fault.")
    remedy: str = Field(description="A way out; may be empty.")
    code: str = Field(description="The kind of problem: the end of its type.")
    fields: list[FieldProblem] | None = Field(None, description="Faults of single fields; with status 422.")


class HealthResponse(ApiResponse):
    """Health of the server."""

    status: Literal["ok"]
    version: str


class MeResponse(ApiResponse):
    """Owner and scope of the token."""

    person: str
    role: Role
    datasets: Scope = Field(description="Names of the data sets that the token opens, or 'all'.")
    expires: datetime | None = Field(description="End of the token's life; null if it does not expire.")
    version: str


class LimitsResponse(ApiResponse):
    """Limits of the person who asks, and how much of them is used."""

    queries: int | None = Field(description="Number of questions that may be asked; null for no limit.")
    asked: int
    budget: float | None = Field(description="Total that the questions may cost; null for all of the budget.")
    spent: float
    storage: int = Field(description="Bytes that the questions may add to the server's store.")
    stored: int = Field(description="Bytes that they have added.")


class AccountResponse(ApiResponse):
    """The parts of a budget: they add up to its limit, but for rounding of the last digits."""

    opening: float = Field(description="Spent before anyone asked: the number of records, an earlier release.")
    mine: float = Field(description="Paid by your corrections: `mine.spent`, which what you were `charged` adds up to.")
    others: float = Field(description="Paid by everyone else's corrections.")
    tests: float = Field(
        description="Charged for tests of the hypothesis when they began, of which no correction has paid its part yet."
    )
    held: float | None = Field(
        description="The most that the running question can cost. Null for analysts, for whom it counts as left."
    )
    left: float


class SummaryResponse(ApiResponse):
    """A data set in short."""

    name: str
    title: str
    status: Literal["opening", "open", "used up", "closed"] = Field(
        description="Used up: the corrections or the budget are, so the data are not looked at any more."
    )
    spent: float = Field(description="Part of the privacy budget that is spent.")
    limit: float
    unit: str = Field(description="Unit of the budget: epsilon, rho or mu^2/2.")
    account: AccountResponse
    updates: int = Field(
        description="Number of corrections of the hypothesis that the budget is divided over. The hypothesis is the "
        "public model that answers questions."
    )
    updates_left: int
    price: float | None = Field(description="Cost of a correction to a person's share of the budget.")
    threshold: float | None = Field(
        description="Error in counts from which the hypothesis is corrected, roughly; null at first."
    )
    total: float | None = Field(description="Number of records, noisy if it is private; null at first.")
    asked: int = Field(description="Number of questions that everyone has asked; `mine.asked` of them are yours.")
    tested: int = Field(description="Number of different questions that were tested against the data.")
    learnt: bool = Field(
        description="Whether the hypothesis has learnt anything; if not, each value of it is a share of the total."
    )
    closed: str = Field(description="Reason why the data are no longer looked at; empty while they are.")
    private: bool = Field(description="Whether all noise came from the secure source.")
    statement: str = Field(description="The privacy guarantee in a sentence.")
    mine: LimitsResponse


class AttributeResponse(ApiResponse):
    """A column and its possible values."""

    name: str
    kind: Literal["categorical", "integer", "binned"]
    values: list[str] | None = Field(description="Labels of all values; null where there are more than 1,000.")
    size: int
    text: str = Field(description="The values in words, as in 'dates from 2015-01-01 to 2024-12-31'.")
    low: int | None = Field(description="Smallest value; for whole numbers that are no dates, times or decimals.")
    high: int | None
    missing: str | None
    other: str | None


class DerivedAttributeResponse(AttributeResponse):
    """A level of an attribute, or another public function of attributes: questions may be about it like any other."""

    sources: list[str] = Field(description="Attributes that it is made from; a level has one.")
    column: bool = Field(description="Whether the data have a column of this name, which is checked while reading.")


class DomainContentResponse(ApiResponse):
    """The domain of a data set."""

    domain: dict[str, Any] = Field(description="Attributes, derived ones and rules, as in domain files.")


class DomainResponse(ApiResponse):
    """A domain that was read from a text, or checked."""

    domain: dict[str, Any] = Field(description="Its content, as it may be registered.")
    attributes: list[AttributeResponse]
    derived: list[DerivedAttributeResponse]
    constraints: list[str] = Field(description="Public rules that no record breaks.")
    records: str = Field(description="Combinations of values, and how many of them are records that can exist.")


class DetailResponse(SummaryResponse):
    """A data set."""

    attributes: list[AttributeResponse]
    derived: list[DerivedAttributeResponse]
    constraints: list[str] = Field(description="Public rules that no record breaks.")
    records: str = Field(
        description="Combinations of values, and how many of them are records that can exist.",
        examples=["200 cells, 185 of them records that can exist (1 constraint)"],
    )
    left_out: str = Field(
        description="Sentences about records that break a rule, where these are left out, and columns not read."
    )
    neighbours: Literal["add-remove", "replace", "replace-then-filter"]
    person: str | None = Field(description="Column that told persons apart; null where each record is somebody's own.")
    at_most: int | None = Field(description="Number of records of a person that are counted, at most.")
    weight: str | None = Field(description="Column that said how often a record counts; null where each counts once.")
    largest_weight: int | None = Field(description="A record with a larger weight counts as often as this.")
    created: datetime
    source: dict[str, Any] | None = Field(description="Place of the table; for custodians.")


class PlanLineResponse(ApiResponse):
    """One line of a plan."""

    word: str = Field(examples=["answers"])
    sentence: str = Field(examples=["with 95% confidence within 2,300 records (4.6%) where a test stays quiet, ..."])


class PlanResponse(ApiResponse):
    """Forecast of what asking a data set would be like."""

    lines: list[PlanLineResponse]


class SummaryListResponse(ApiResponse):
    """Data sets that the token opens."""

    datasets: list[SummaryResponse]


class AnswerResponse(ApiResponse):
    """An answer, in counts."""

    sql: str = Field(description="The question in canonical form, or the statement that led to it.")
    where: str = Field(description="Its condition.")
    value: float
    low: float | None = Field(description="Lower end of an interval that holds the true count with this confidence.")
    high: float | None
    confidence: float | None = Field(description="Confidence of the interval; null where there is none.")
    covers: str = Field(description="Meaning of the interval, and where it comes from.")
    source: Literal["hypothesis", "data", "cache", "public", "hypothesis only"]
    charged: float = Field(description="Cost to the person's share of the budget: the price of a correction, or 0.")
    spent: float = Field(description="Total spent after it.")
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
    "account": {"opening": 0.1, "mine": 0.02, "others": 0.03, "tests": 0.6, "held": 0.0, "left": 0.25},
    "asked": 5,
    "tested": 3,
    "learnt": True,
    "closed": "",
    "private": True,
    "statement": "When one person's record is added or left out, the probability of any outcome of this release "
    "changes by a factor of at most 2.719 (pure differential privacy with epsilon = 1).",
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


class AnswersResponse(ApiResponse):
    """Answers in the order of the questions, and the data set after them."""

    model_config = examples({"answers": [_ANSWER], "dataset": _SUMMARY})

    answers: list[AnswerResponse]
    dataset: SummaryResponse


class TableResponse(ApiResponse):
    """The answer of a statement, and the data set after it."""

    model_config = examples(
        {
            "names": ["sex"],
            "headings": ["COUNT(*)"],
            "columns": ["sex", "COUNT(*)", "COUNT(*) low", "COUNT(*) high"],
            "rows": [["Female", 16192.0, 15900.0, 16480.0], ["Male", 32650.0, 32350.0, 32940.0]],
            "confidence": 0.95,
            "sources": {"data": 1},
            "charged": 0.02,
            "dataset": _SUMMARY,
        }
    )

    names: list[str] = Field(description="Columns of GROUP BY.")
    headings: list[str] = Field(description="Names of the aggregates.")
    columns: list[str] = Field(description="Names of all columns: each aggregate with the ends of its interval.")
    rows: list[list[str | float | None]]
    confidence: float | None = Field(description="Confidence of each interval; null where there is none at all.")
    sources: dict[str, int] = Field(
        description="Number of questions that each source answered; all counts of the groups are one question."
    )
    charged: float = Field(description="Cost to the person's share of the budget: the price of its corrections.")
    dataset: SummaryResponse


class SeriesResponse(ApiResponse):
    """Data sets that are asked together."""

    name: str
    at_most: int = Field(description="Number of partitions that may hold records of one person, at most.")
    partitions: list[str] = Field(description="Names of the data sets that the token opens.")
    statement: str = Field(description="The privacy guarantee of these partitions together, in a sentence.")


class SeriesListResponse(ApiResponse):
    """Series that the token opens."""

    series: list[SeriesResponse]


class SeriesAnswerResponse(ApiResponse):
    """An answer about several partitions, in counts."""

    where: str = Field(description="The condition.")
    value: float = Field(description="Sum of the partitions' values.")
    low: float | None = Field(description="Lower end of an interval that holds the true sum with this confidence.")
    high: float | None
    confidence: float | None = Field(description="Confidence of the interval; null where there is none.")
    charged: float = Field(description="Sum of what the partitions charged to the person's shares.")
    parts: dict[str, AnswerResponse] = Field(
        description="The answer of each partition; its interval has the confidence that makes all of them hold."
    )


class SeriesAnswersResponse(ApiResponse):
    """Answers in the order of the questions, and the series."""

    answers: list[SeriesAnswerResponse]
    series: SeriesResponse


class EarlierAnswerResponse(AnswerResponse):
    """An answer that was given before."""

    counts: int | None = Field(
        description="Number of counts of a group that was answered at one look, whose sum the value is, with that of "
        "the records that a condition leaves out; null for a single question."
    )
    id: int
    at: datetime
    person: str


class EarlierAnswersResponse(ApiResponse):
    """A page of answers, newest first."""

    answers: list[EarlierAnswerResponse]
    next: str | None = Field(description="Cursor of the next page; null at the end.")


class MarginalResponse(ApiResponse):
    """A marginal of the hypothesis."""

    model_config = examples(
        {"attributes": ["sex"], "labels": [["Female", "Male"]], "counts": [16230.0, 32612.0], "total": 48842.0}
    )

    attributes: list[str]
    labels: list[list[str]] = Field(description="Labels of each attribute's values.")
    counts: list[Any] = Field(description="Nested lists, one level for each attribute.")
    total: float


class SpendingEntryResponse(ApiResponse):
    """An amount that was spent in an interval of time."""

    at: datetime = Field(description="Start of the interval.")
    kind: Literal["opening", "tests", "corrections", "lost"] = Field(
        description="Opening: before anyone asked. Tests: charged when a test began, less what corrections take over "
        "of it, which may be below 0. Corrections: answers of the data. Lost: questions that a crash interrupted."
    )
    whose: Literal["mine", "others", "nobody"]
    person: str | None = Field(description="The one who paid; for analysts null but for themselves.")
    amount: float


class SpendingResponse(ApiResponse):
    """Spending of a budget over time."""

    limit: float
    unit: str
    spent: float
    account: AccountResponse
    width: int = Field(description="Length of the intervals, in seconds.")
    entries: list[SpendingEntryResponse] = Field(description="Oldest first; the amounts add up to `spent`.")


class EventResponse(ApiResponse):
    """One use of the data."""

    label: str
    mechanism: str
    target: str = Field(description="The question, in words.")
    question: dict[str, Any] = Field(description="The question: its `kind`, and the fields of that kind.")
    earlier: bool = Field(description="Whether it was charged for an earlier release.")
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


class LedgerResponse(ApiResponse):
    """Spending of a data set, and a page of its events, newest first."""

    limit: float
    spent: float
    remaining: float = Field(description="The limit without what is spent and what is held.")
    unit: str
    statement: str
    held: float = Field(description="The most that a running question can cost.")
    head: str = Field(description="Head of the hash chain of all events: 64 hexadecimal digits.")
    events: list[EventResponse]
    next: str | None


class LedgerFileResponse(ApiResponse):
    """A whole ledger, oldest event first, to be checked by `hedgerow audit`."""

    name: str
    budget: dict[str, Any] = Field(description="Budget as it was registered.")
    statement: str
    limit: float
    unit: str
    events: list[dict[str, Any]] = Field(description="All events; `head` is the head of their hash chain.")
    head: str


class GrantResponse(ApiResponse):
    """Limits of a person on one data set, and how much of them is used."""

    person: str
    queries: int | None
    budget: float | None
    asked: int
    spent: float
    storage: int | None = Field(description="Bytes that the questions may add; null for the server's default.")
    stored: int


class GrantListResponse(ApiResponse):
    """Limits on one data set."""

    grants: list[GrantResponse]


class PersonResponse(ApiResponse):
    """A person who may have tokens."""

    name: str
    role: Role
    created: datetime


class PersonListResponse(ApiResponse):
    """All people; for custodians of some data sets, those concerned with these."""

    people: list[PersonResponse]


class TokenResponse(ApiResponse):
    """A token without its secret."""

    id: str
    person: str
    datasets: Scope = Field(description="Names of the data sets that it opens, or 'all'.")
    created: datetime
    expires: datetime | None = Field(description="End of the token's life; null if it does not expire.")
    revoked: datetime | None
    note: str


class NewTokenResponse(TokenResponse):
    """A token that was just made."""

    token: str = Field(
        description="The whole token, to sign in with; shown only now.", examples=["hgr_0123456789abcdef_..."]
    )


class TokenListResponse(ApiResponse):
    """All tokens; for custodians of some data sets, those that open no others."""

    tokens: list[TokenResponse]


class UploadResponse(ApiResponse):
    """An uploaded file."""

    name: str
    bytes: int


class AuditEntryResponse(ApiResponse):
    """An entry of the audit log."""

    id: int
    at: datetime
    person: str | None
    action: str
    subject: str
    details: dict[str, Any]
    link: str = Field(description="Link of the log's hash chain at this entry.")


class AuditResponse(ApiResponse):
    """A page of the audit log, newest first."""

    entries: list[AuditEntryResponse]
    head: str = Field(description="Head of the hash chain of the whole log: the link of its last entry.")
    next: str | None
