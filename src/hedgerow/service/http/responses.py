"""Answers of the server, as OpenAPI describes them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from hedgerow.client import Price, SeriesSum, ServerAnswer
from hedgerow.service.http.models import ApiModel, Explained, examples
from hedgerow.service.store import Role, Token

Scope = list[str] | Literal["all"]


def scope_of(token: Token) -> Scope:
    """Names of the data sets that a token opens, or "all"."""
    return "all" if token.data_sets is None else list(token.data_sets)


class ApiResponse(ApiModel):
    """Base of all answers: they hold the documented fields, and nothing else of what they are made from."""

    model_config = ConfigDict(extra="ignore", from_attributes=True)


class FieldProblem(ApiResponse):
    """A fault of one field of a request."""

    where: str
    reason: str


class Problem(ApiResponse):
    """Why a request was refused (RFC 9457).

    Attributes:
        title: The kind of problem, in words.
        detail: The fault.
        remedy: A way out; may be empty.
        code: The kind of problem: the end of its type.
        fields: Faults of single fields; with status 422.
    """

    type: str = Field(examples=["urn:hedgerow:problem:not-there"])
    title: str
    status: int
    detail: str
    remedy: str
    code: str
    fields: list[FieldProblem] | None = None


class HealthResponse(ApiResponse):
    """Health of the server."""

    status: Literal["ok"]
    version: str


class MeResponse(ApiResponse):
    """Owner and scope of the token.

    Attributes:
        datasets: Names of the data sets that the token opens, or 'all'.
        expires: End of the token's life; null if it does not expire.
    """

    person: str
    role: Role
    datasets: Scope
    expires: datetime | None
    version: str


class LimitsResponse(ApiResponse):
    """Limits of the person who asks, and how much of them is used.

    Attributes:
        queries: Number of questions that may be asked; null for no limit.
        budget: Total that the questions may cost; null for all of the budget.
        storage: Bytes that the questions may add to the server's store.
        stored: Bytes that they have added.
    """

    queries: int | None
    asked: int
    budget: float | None
    spent: float
    storage: int
    stored: int


class AccountResponse(ApiResponse):
    """The parts of a budget: they add up to its limit, but for rounding of the last digits.

    Attributes:
        opening: Spent before anyone asked: the number of records, an earlier release.
        mine: Paid by your corrections: `mine.spent`, which what you were `charged` adds up to.
        others: Paid by everyone else's corrections.
        tests: Charged for tests of the hypothesis when they began, of which no correction has paid its part yet.
        held: The most that the running question can cost. Null for analysts, for whom it counts as left.
    """

    opening: float
    mine: float
    others: float
    tests: float
    held: float | None
    left: float


class SummaryResponse(ApiResponse):
    """A data set in short.

    Attributes:
        status: Used up: the corrections or the budget are, so the data are not looked at any more.
        spent: Part of the privacy budget that is spent.
        unit: Unit of the budget: epsilon, rho or mu^2/2.
        updates: Number of corrections of the hypothesis that the budget is divided over. The hypothesis is the public
            model that answers questions.
        price: Cost of a correction to a person's share of the budget.
        threshold: Error in counts from which the hypothesis is corrected, roughly; null at first.
        total: Number of records, noisy if it is private; null at first.
        asked: Number of questions that everyone has asked; `mine.asked` of them are yours.
        tested: Number of different questions that were tested against the data.
        learnt: Whether the hypothesis has learnt anything; if not, each value of it is a share of the total.
        closed: Reason why the data are no longer looked at; empty while they are.
        retry_price: The most of the budget that one more opening costs, where one has failed; else null.
        private: Whether all noise came from the secure source.
        statement: The privacy guarantee in a sentence.
    """

    name: str
    title: str
    status: Literal["opening", "failed", "open", "used up", "closed"]
    spent: float
    limit: float
    unit: str
    account: AccountResponse
    updates: int
    updates_left: int
    price: float | None
    threshold: float | None
    total: float | None
    asked: int
    tested: int
    learnt: bool
    closed: str
    retry_price: float | None
    private: bool
    statement: str
    mine: LimitsResponse


class AttributeResponse(ApiResponse):
    """A column and its possible values.

    Attributes:
        values: Labels of all values; null where there are more than 1,000.
        text: The values in words, as in 'dates from 2015-01-01 to 2024-12-31'.
        low: Smallest value; for whole numbers that are no dates, times or decimals.
    """

    name: str
    kind: Literal["categorical", "integer", "binned"]
    values: list[str] | None
    size: int
    text: str
    low: int | None
    high: int | None
    missing: str | None
    other: str | None


class DerivedAttributeResponse(AttributeResponse):
    """A level of an attribute, or another public function of attributes: questions may be about it like any other.

    Attributes:
        sources: Attributes that it is made from; a level has one.
        column: Whether the data have a column of this name, which is checked while reading.
    """

    sources: list[str]
    column: bool


class DomainContentResponse(ApiResponse):
    """The domain of a data set.

    Attributes:
        domain: Attributes, derived ones and rules, as in domain files.
    """

    domain: dict[str, Any]


class PinsResponse(ApiResponse):
    """Statements that stay on a person's dashboard of a data set.

    Attributes:
        statements: The statements in their order.
    """

    statements: list[str]


class DomainResponse(ApiResponse):
    """A domain that was read from a text, or checked.

    Attributes:
        domain: Its content, as it may be registered.
        constraints: Public rules that no record breaks.
        records: Combinations of values, and how many of them are records that can exist.
    """

    domain: dict[str, Any]
    attributes: list[AttributeResponse]
    derived: list[DerivedAttributeResponse]
    constraints: list[str]
    records: str


class DetailResponse(SummaryResponse):
    """A data set.

    Attributes:
        constraints: Public rules that no record breaks.
        records: Combinations of values, and how many of them are records that can exist.
        left_out: Sentences about records that break a rule, where these are left out, and columns not read.
        person: Column that told persons apart; null where each record is somebody's own.
        at_most: Maximum records counted per person.
        weight: Column that said how often a record counts; null where each counts once.
        largest_weight: A record with a larger weight counts as often as this.
        fractional_weights: Whether weights are fractions, in parts of 1/1,024.
        source: Place of the table; for custodians.
    """

    attributes: list[AttributeResponse]
    derived: list[DerivedAttributeResponse]
    constraints: list[str]
    records: str = Field(examples=["200 cells, 185 of them records that can exist (1 constraint)"])
    left_out: str
    neighbours: Literal["add-remove", "replace", "replace-then-filter"]
    person: str | None
    at_most: int | None
    weight: str | None
    largest_weight: int | None
    fractional_weights: bool
    created: datetime
    source: dict[str, Any] | None


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
    next: str | None = None


AnswerResponse = Annotated[ServerAnswer, Explained(ServerAnswer)]
SeriesAnswerResponse = Annotated[SeriesSum, Explained(SeriesSum)]


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
    "retry_price": None,
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


class PriceResponse(ApiResponse):
    """The most that a statement can cost, and the data set before it."""

    model_config = examples(
        {"price": {"rows": 2, "questions": 3, "corrections": 3, "cost": 0.06, "unit": "epsilon"}, "dataset": _SUMMARY}
    )

    price: Annotated[Price, Explained(Price)]
    dataset: SummaryResponse


class TableResponse(ApiResponse):
    """The answer of a statement, and the data set after it.

    Attributes:
        names: Columns of GROUP BY.
        headings: Names of the aggregates.
        columns: Names of all columns: each aggregate with the ends of its interval.
        confidence: Confidence of each interval; null where there is none at all.
        covers: What each interval holds, in words.
        sources: Number of questions that each source answered; all counts of the groups are one question.
        charged: Cost to the person's share of the budget: the price of its corrections.
    """

    model_config = examples(
        {
            "names": ["sex"],
            "headings": ["COUNT(*)"],
            "columns": ["sex", "COUNT(*)", "COUNT(*) low", "COUNT(*) high"],
            "rows": [["Female", 16192.0, 15900.0, 16480.0], ["Male", 32650.0, 32350.0, 32940.0]],
            "confidence": 0.95,
            "covers": "the number of the private table as it was counted, with 95% confidence each",
            "sources": {"data": 1},
            "charged": 0.02,
            "dataset": _SUMMARY,
        }
    )

    names: list[str]
    headings: list[str]
    columns: list[str]
    rows: list[list[str | float | None]]
    confidence: float | None
    covers: str
    sources: dict[str, int]
    charged: float
    dataset: SummaryResponse


class SeriesResponse(ApiResponse):
    """Data sets that are asked together.

    Attributes:
        at_most: Number of partitions that may hold records of one person, at most.
        partitions: Names of the data sets that the token opens.
        statement: The privacy guarantee of these partitions together, in a sentence.
    """

    name: str
    at_most: int
    partitions: list[str]
    statement: str


class SeriesListResponse(ApiResponse):
    """Series that the token opens."""

    series: list[SeriesResponse]


class SeriesAnswersResponse(ApiResponse):
    """Answers in the order of the questions, and the series."""

    answers: list[SeriesAnswerResponse]
    series: SeriesResponse


@dataclass(frozen=True)
class EarlierAnswerResponse(ServerAnswer):
    """An answer that was given before.

    Attributes:
        counts: Number of counts of a group that was answered at one look, whose sum the value is, with that of the
            records that a condition leaves out; null for a single question.
    """

    counts: int | None
    id: int
    at: datetime
    person: str


class EarlierAnswersResponse(ApiResponse):
    """A page of answers, newest first.

    Attributes:
        next: Cursor of the next page; null at the end.
    """

    answers: list[Annotated[EarlierAnswerResponse, Explained(EarlierAnswerResponse)]]
    next: str | None


class MarginalResponse(ApiResponse):
    """A marginal of the hypothesis.

    Attributes:
        labels: Labels of each attribute's values.
        counts: Nested lists, one level for each attribute.
    """

    model_config = examples(
        {"attributes": ["sex"], "labels": [["Female", "Male"]], "counts": [16230.0, 32612.0], "total": 48842.0}
    )

    attributes: list[str]
    labels: list[list[str]]
    counts: list[Any]
    total: float


class SpendingEntryResponse(ApiResponse):
    """An amount that was spent in an interval of time.

    Attributes:
        at: Start of the interval.
        kind: Opening: before anyone asked. Tests: charged when a test began, less what corrections take over of it,
            which may be below 0. Corrections: answers of the data. Lost: questions that a crash interrupted.
        person: The one who paid; for analysts null but for themselves.
    """

    at: datetime
    kind: Literal["opening", "tests", "corrections", "lost"]
    whose: Literal["mine", "others", "nobody"]
    person: str | None
    amount: float


class SpendingResponse(ApiResponse):
    """Spending of a budget over time.

    Attributes:
        width: Length of the intervals, in seconds.
        entries: Oldest first; the amounts add up to `spent`.
    """

    limit: float
    unit: str
    spent: float
    account: AccountResponse
    width: int
    entries: list[SpendingEntryResponse]


class EventResponse(ApiResponse):
    """One use of the data.

    Attributes:
        target: The question, in words.
        question: The question: its `kind`, and the fields of that kind.
        earlier: Whether it was charged for an earlier release.
        bound: Bound on the rho of a sparse vector that it was charged by; none for other mechanisms.
        number: Place in the ledger, from 0.
    """

    label: str
    mechanism: str
    target: str
    question: dict[str, Any]
    earlier: bool
    sensitivity: float
    scale: float
    charge: float
    unit: str
    neighbours: str
    values: int
    threshold_scale: float
    bound: str | None = None
    number: int
    at: datetime
    person: str | None


class LedgerResponse(ApiResponse):
    """Spending of a data set, and a page of its events, newest first.

    Attributes:
        remaining: The limit without what is spent and what is held.
        held: The most that a running question can cost.
        head: Head of the hash chain of all events: 64 hexadecimal digits.
    """

    limit: float
    spent: float
    remaining: float
    unit: str
    statement: str
    held: float
    head: str
    events: list[EventResponse]
    next: str | None


class LedgerFileResponse(ApiResponse):
    """A whole ledger, oldest event first, to be checked by `hedgerow audit`.

    Attributes:
        budget: Budget as it was registered.
        events: All events; `head` is the head of their hash chain.
    """

    name: str
    budget: dict[str, Any]
    statement: str
    limit: float
    unit: str
    events: list[dict[str, Any]]
    head: str


class GrantResponse(ApiResponse):
    """Limits of a person on one data set, and how much of them is used.

    Attributes:
        storage: Bytes that the questions may add; null for the server's default.
    """

    person: str
    queries: int | None
    budget: float | None
    asked: int
    spent: float
    storage: int | None
    stored: int


class GrantListResponse(ApiResponse):
    """Limits on one data set."""

    grants: list[GrantResponse]
    next: str | None = None


class PersonResponse(ApiResponse):
    """A person who may have tokens; or may not, with the role 'removed'."""

    name: str
    role: Role
    created: datetime


class SignInResponse(ApiResponse):
    """How people sign in.

    Attributes:
        provider: Issuer of the identities that people sign in with at GET /v1/oidc/start; null for tokens alone.
        cookie: Whether the cookie of the page came with the request.
    """

    provider: str | None
    cookie: bool


class RevokedResponse(ApiResponse):
    """How many tokens were revoked."""

    revoked: int


class PersonListResponse(ApiResponse):
    """All people; for custodians of some data sets, those concerned with these."""

    people: list[PersonResponse]
    next: str | None = None


class TokenResponse(ApiResponse):
    """A token without its secret.

    Attributes:
        datasets: Names of the data sets that it opens, or 'all'.
        expires: End of the token's life; null if it does not expire.
    """

    id: str
    person: str
    datasets: Scope
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    note: str


class NewTokenResponse(TokenResponse):
    """A token that was just made.

    Attributes:
        token: The whole token, to sign in with; shown only now.
    """

    token: str = Field(examples=["hgr_0123456789abcdef_..."])


class TokenListResponse(ApiResponse):
    """All tokens; for custodians of some data sets, those that open no others."""

    tokens: list[TokenResponse]
    next: str | None = None


class UploadResponse(ApiResponse):
    """An uploaded file."""

    name: str
    bytes: int


class AuditEntryResponse(ApiResponse):
    """An entry of the audit log.

    Attributes:
        link: Link of the log's hash chain at this entry.
    """

    id: int
    at: datetime
    person: str | None
    action: str
    subject: str
    details: dict[str, Any]
    link: str


class AuditResponse(ApiResponse):
    """A page of the audit log, newest first.

    Attributes:
        head: Head of the hash chain of the whole log: the link of its last entry.
    """

    entries: list[AuditEntryResponse]
    head: str
    next: str | None
