"""What is sent and what is answered, as OpenAPI describes it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

DATA_SET_NAME = r"^[a-z0-9_-]{1,40}$"
PERSON_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}$"
TOKEN_ID = r"^[0-9a-f]{16}$"
FILE_NAME = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,91}\.(csv|parquet|release)$"
LARGEST_BATCH = 1000
LARGEST_PAGE = 1000
LONGEST_QUESTION = 10_000

DataSetName = Annotated[str, Field(pattern=DATA_SET_NAME, examples=["adult"])]
PersonName = Annotated[str, Field(pattern=PERSON_NAME, examples=["ada"])]
Line = Annotated[str, Field(max_length=200)]
RoleName = Literal["custodian", "analyst"]
Count = Annotated[int, Field(ge=0, le=2**53)]
Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class Asked(BaseModel):
    """Something that is sent: nothing that is not documented, and no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True)


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
    role: RoleName
    datasets: list[str] | None = Field(description="Names of the data sets that the token is good for; null for all.")
    expires: datetime | None
    version: str


class Mine(Told):
    """Limits of whoever asks, and what is used of them."""

    queries: int | None = Field(description="Questions that may be asked; null for any number.")
    asked: int
    budget: float | None = Field(description="What they may cost in all; null for all of the budget.")
    spent: float


class Summary(Told):
    """A data set in short."""

    name: str
    title: str
    status: Literal["opening", "open", "closed"]
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


class Source(Asked):
    """Where the table is, and how it is read."""

    place: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="A file of the server's data folder; 'duckdb:///file.db#table'; or "
            "'postgresql://host/database#table' (no password in it).",
            examples=["adult.csv"],
        ),
    ]
    columns: Annotated[list[Line], Field(min_length=1, max_length=5000)] | None = None
    count_column: Line | None = Field(None, description="The column that says how many records a row stands for.")
    coded: bool = Field(False, description="Whether cells hold codes in place of values.")
    where: Annotated[str, Field(max_length=LONGEST_QUESTION)] | None = Field(None, description="Which rows to take.")
    warm: Annotated[str, Field(max_length=1000)] | None = Field(
        None,
        description="A .release file of the data folder to start from: an earlier release of the same table, whose "
        "spending counts.",
    )


class BudgetAsked(Asked):
    """A privacy budget: an epsilon, an epsilon and a delta, or a rho."""

    epsilon: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    delta: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    rho: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    neighbours: Literal["add-remove", "replace"] = "add-remove"

    @model_validator(mode="after")
    def _one_of_them(self) -> BudgetAsked:
        if (self.epsilon is None) == (self.rho is None) or (self.rho is not None and self.delta is not None):
            raise ValueError("give epsilon, or epsilon and delta, or rho")
        return self


class Options(Asked):
    """How the session goes; see OnlinePMW."""

    variant: Literal["4a", "4b", "4c", "pay-as-you-go"] | None = None
    queries: Annotated[int, Field(ge=1, le=10**9)] | None = None
    alpha: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    beta: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    updates: Annotated[int, Field(ge=1, le=10**6)] | None = None
    threshold: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    step: Literal["theorem", "residual", "refit"] | None = None


class RegistrationAsked(Asked):
    """A data set to register."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "adult",
                    "title": "Census income",
                    "source": {"place": "adult.csv", "columns": ["age", "sex"]},
                    "domain": {"age": {"min": 17, "max": 90}, "sex": ["Female", "Male"]},
                    "budget": {"epsilon": 1.0, "neighbours": "add-remove"},
                    "options": {"queries": 10000},
                }
            ]
        }
    )

    name: DataSetName
    title: Line = ""
    source: Source
    domain: dict[str, Any] = Field(description="As in domain files.", min_length=1)
    budget: BudgetAsked
    options: Options = Options()


class Detail(Summary):
    """A data set."""

    attributes: list[AttributeTold]
    neighbours: Literal["add-remove", "replace"]
    created: datetime
    source: dict[str, Any] | None = Field(description="Where the table is; for custodians.")


class SummaryList(Told):
    """Data sets that the token is good for."""

    datasets: list[Summary]


Text = Annotated[str, Field(max_length=LONGEST_QUESTION)]


class Question(Asked):
    """A counting question, in one of three languages."""

    sql: Text | None = Field(None, examples=["SELECT COUNT(*) FROM adult WHERE sex = 'Male' AND age BETWEEN 30 AND 40"])
    where: Text | None = Field(None, description="A condition alone.", examples=["sex = 'Male'"])
    predicate: dict[str, Any] | None = Field(
        None,
        description="A condition as JSON: 'attribute' with 'op' and 'value', 'between', 'in' or 'missing'; joined by "
        "'and', 'or', 'not'.",
        examples=[{"and": [{"attribute": "age", "between": [30, 40]}, {"attribute": "sex", "in": ["Male"]}]}],
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Question:
        if sum(part is not None for part in (self.sql, self.where, self.predicate)) != 1:
            raise ValueError("give one of sql, where and predicate")
        return self


class QuestionsAsked(Asked):
    """Questions to answer in order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"queries": [{"sql": "SELECT COUNT(*) FROM adult WHERE sex = 'Male'"}], "confidence": 0.95},
                {"queries": [{"where": "age >= 30"}, {"where": "age < 30"}]},
            ]
        }
    )

    queries: Annotated[list[Question], Field(min_length=1, max_length=LARGEST_BATCH)]
    confidence: Annotated[float, Field(gt=0.0, lt=1.0, description="Of the intervals.")] = 0.95


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


class Answers(Told):
    """Answers in the order of the questions, and the data set after them."""

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
    events: list[EventTold]
    next: str | None


class GrantAsked(Asked):
    """Limits of an analyst at one data set; null for none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"queries": 100, "budget": 0.25}]})

    queries: Count | None
    budget: Amount | None


class GrantTold(Told):
    """Limits of a person at one data set, and what is used of them."""

    person: str
    queries: int | None
    budget: float | None
    asked: int
    spent: float


class GrantList(Told):
    """Limits at one data set."""

    grants: list[GrantTold]


class PersonAsked(Asked):
    """Somebody new."""

    name: PersonName
    role: RoleName


class PersonTold(Told):
    """Somebody who may have tokens."""

    name: str
    role: RoleName
    created: datetime


class PersonList(Told):
    """Everybody."""

    people: list[PersonTold]


class TokenAsked(Asked):
    """A token to make."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"person": "ada", "datasets": ["adult"], "days": 90, "note": "laptop"}]}
    )

    person: PersonName
    datasets: Annotated[list[DataSetName], Field(max_length=1000)] | None = Field(None, description="Null for all.")
    days: Annotated[int, Field(ge=1, le=36_500)] | None = Field(None, description="How long it is good; null for ever.")
    note: Line = ""


class TokenTold(Told):
    """A token without its secret."""

    id: str
    person: str
    datasets: list[str] | None
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    note: str


class TokenMade(TokenTold):
    """A token that was just made."""

    token: str = Field(description="To sign in with; shown this once.", examples=["hgr_0123456789abcdef_..."])


class TokenList(Told):
    """All tokens."""

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


class AuditTold(Told):
    """A page of what was done, newest first."""

    entries: list[AuditEntryTold]
    next: str | None
