"""Requests to the server, as OpenAPI describes them: parameters of routes, and bodies."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Header, Path, Query
from pydantic import ConfigDict, Field, model_validator

from hedgerow.queries import MOST_OF_ONE
from hedgerow.service.http.models import ApiModel, examples
from hedgerow.service.http.tokens import DEFAULT_DAYS
from hedgerow.service.sessions import MOST_CONFIDENCE, MOST_CONFIDENCE_OF_A_STATEMENT

DATA_SET_NAME = r"^[a-z0-9_-]{1,40}$"
PERSON_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}$"
TOKEN_ID = r"^[0-9a-f]{16}$"
FILE_NAME = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,91}\.((csv|tsv|txt)(\.gz)?|zip|parquet|feather|xlsx|jsonl|release)$"
LARGEST_BATCH = 1000
LARGEST_PAGE = 1000
MOST_RECORDS = 1_000_000
LONGEST_QUESTION = 10_000
LONGEST_DOMAIN = 50_000
LONGEST_PIN = 4_000
MOST_PINS = 24
DataSetName = Annotated[str, Field(pattern=DATA_SET_NAME, examples=["adult"])]
PersonName = Annotated[str, Field(pattern=PERSON_NAME, examples=["ada"])]
Line = Annotated[str, Field(max_length=200)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]

# Parameters of routes

Name = Annotated[
    str,
    Path(pattern=DATA_SET_NAME, description="Name of the data set.", openapi_examples={"adult": {"value": "adult"}}),
]
FileName = Annotated[
    str,
    Path(
        pattern=FILE_NAME,
        description="Letters, digits, '_', '-' and '.', ending in .csv, .tsv or .txt (.gz may follow), .zip, .parquet, "
        ".feather, .xlsx, .jsonl or .release.",
        openapi_examples={"adult": {"value": "adult.csv"}},
    ),
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]+$",
        description="A key of your choice, such as a UUID. Repeating a request with its key gives the same answers, "
        "and nothing is charged twice.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Number of entries of a page.")]
Cursor = Annotated[str | None, Query(max_length=1000, description="The `next` of the page before.")]
OfPerson = Annotated[
    str | None, Query(pattern=PERSON_NAME, description="Name of the person; for analysts only their own.")
]
Attributes = Annotated[
    str,
    Query(
        min_length=1,
        max_length=1000,
        description="One to three names, separated by commas; put a name that has a comma in double quotes.",
        openapi_examples={"two": {"value": "age,sex"}},
    ),
]
Number = Annotated[
    int | None,
    Query(
        ge=1,
        le=MOST_RECORDS,
        description="Number of records to draw; by default the (noisy) number of records of the data set.",
    ),
]
Form = Annotated[Literal["csv", "parquet"], Query(alias="format", description="Format of the file.")]
Who = Annotated[
    str, Path(pattern=PERSON_NAME, description="Name of the person.", openapi_examples={"ada": {"value": "ada"}})
]
TokenId = Annotated[str, Path(pattern=TOKEN_ID, description="The public part of the token.")]


class ApiRequest(ApiModel):
    """Base of all bodies: no undocumented fields, and no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PersonsRequest(ApiRequest):
    """Persons with several records, of which a bounded number is counted, and weights; none unless given.

    Attributes:
        person: Column that says who a record belongs to, where persons have several: the guarantee is then about a
            person with all records. It is no column of the domain, and what it holds is not told.
        at_most: Maximum records counted per person; noise is proportional to it.
        weight: Column that says how often a record counts. It is no column of the domain, and what it
            holds is not told.
        largest_weight: A record with a larger weight counts as often as this; noise is proportional to it.
        fractional_weights: Whether weights may be fractions: each is rounded to a multiple of 1/1,024.
    """

    person: Line | None = None
    at_most: Annotated[int, Field(ge=1, le=MOST_OF_ONE)] | None = None
    weight: Line | None = None
    largest_weight: Annotated[int, Field(ge=1, le=MOST_OF_ONE)] | None = None
    fractional_weights: bool | None = None

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.person is None) != (self.at_most is None):
            raise ValueError("give person and at_most together")
        if (self.weight is None) != (self.largest_weight is None):
            raise ValueError("give weight and largest_weight together")
        return self


class SourceRequest(PersonsRequest):
    """Place of the table, and options for reading it.

    Attributes:
        place: A file of the server's data folder; 'duckdb:///file.db#table'; 'postgresql://host/database#table' (no
            password in it); or 'source:NAME' for a table that the server's operator has named and that stays where it
            is.
        count_column: Column with the number of records that a row stands for.
        coded: Whether cells hold codes instead of values.
        where: Condition on the rows to read.
        violations: Records that break a rule of the domain, a constraint or the function of a derived column: 'refuse'
            the table (unless given), or 'drop' them one by one. How many are dropped is private.
        series: The series that this table is a partition of: data sets of one domain, with records of their own.
        in_partitions: Number of partitions of the series that may hold records of one person; 1 unless given.
        warm: A .release file of the data folder to start from: an earlier release of the same table, whose spending
            counts.
    """

    place: Annotated[str, Field(min_length=1, max_length=1000, examples=["adult.csv"])]
    columns: Annotated[list[Line], Field(min_length=1, max_length=5000)] | None = None
    count_column: Line | None = None
    coded: bool = False
    where: Annotated[str, Field(max_length=LONGEST_QUESTION)] | None = None
    violations: Literal["refuse", "drop"] | None = None
    series: DataSetName | None = None
    in_partitions: Annotated[int, Field(ge=1, le=1000)] | None = None
    warm: Annotated[str, Field(max_length=1000)] | None = None


class BudgetRequest(ApiRequest):
    """A privacy budget: an epsilon, an epsilon and a delta, a rho, or the mu of Gaussian differential privacy."""

    epsilon: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    delta: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    rho: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    mu: Annotated[float, Field(gt=0.0, le=1000.0)] | None = None
    neighbours: Literal["add-remove", "replace", "replace-then-filter"] = "add-remove"

    @model_validator(mode="after")
    def _one_of_them(self) -> BudgetRequest:
        amounts = [amount for amount in (self.epsilon, self.rho, self.mu) if amount is not None]
        if len(amounts) != 1 or (self.epsilon is None and self.delta is not None):
            raise ValueError("give epsilon, or epsilon and delta, or rho, or mu")
        return self


class OptionsRequest(ApiRequest):
    """Options of the session: those of OnlinePMW, and what it starts from.

    Attributes:
        first_release: Share of the budget for a first release of all pairs of attributes, from which the session starts
            before anybody asks; 0 for none. A quarter unless given, and none beside 'warm', 'alpha' or variant 4a.
    """

    variant: Literal["4a", "4b", "4c", "pay-as-you-go"] | None = None
    queries: Annotated[int, Field(ge=1, le=10**9)] | None = None
    alpha: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    beta: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    updates: Annotated[int, Field(ge=1, le=10**6)] | None = None
    threshold: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    step: Literal["theorem", "residual", "refit"] | None = None
    first_release: Annotated[float | None, Field(ge=0.0, lt=1.0)] = None


class RegistrationRequest(ApiRequest):
    """A data set to register.

    Attributes:
        domain: Attributes and their values, as in domain files.
    """

    model_config = examples(
        {
            "name": "adult",
            "title": "Census income",
            "source": {"place": "adult.csv", "columns": ["age", "sex"]},
            "domain": {"age": {"min": 17, "max": 90}, "sex": ["Female", "Male"]},
            "budget": {"epsilon": 1.0, "neighbours": "add-remove"},
            "options": {"queries": 10000},
        }
    )

    name: DataSetName
    title: Line = ""
    source: SourceRequest
    domain: dict[str, Any] = Field(min_length=1)
    budget: BudgetRequest
    options: OptionsRequest = OptionsRequest()


class DomainRequest(ApiRequest):
    """A domain to check: its text, or its content.

    Attributes:
        text: YAML or JSON, as in domain files; aliases are not read.
        domain: Attributes and their values, as in domain files.
    """

    model_config = examples({"text": "sex: [Female, Male]\nage: {min: 17, max: 90}"})

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_DOMAIN)] | None = None
    domain: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> DomainRequest:
        if (self.text is None) == (self.domain is None):
            raise ValueError("give one of text and domain")
        return self


class PlanRequest(PersonsRequest):
    """A data set to plan for, without its table.

    Attributes:
        domain: Attributes and their values, as in domain files.
        records: Public estimate of the number of records.
    """

    model_config = examples(
        {
            "domain": {"age": {"min": 17, "max": 90}, "sex": ["Female", "Male"]},
            "budget": {"epsilon": 1.0, "neighbours": "add-remove"},
            "records": 50000,
        }
    )

    domain: dict[str, Any] = Field(min_length=1)
    columns: Annotated[list[Line], Field(min_length=1, max_length=5000)] | None = None
    budget: BudgetRequest
    options: OptionsRequest = OptionsRequest()
    records: int = Field(ge=1, lt=2**31)


Text = Annotated[str, Field(max_length=LONGEST_QUESTION)]


class QuestionRequest(ApiRequest):
    """A counting question, in one of three languages.

    Attributes:
        where: A condition alone.
        predicate: A condition as JSON: 'attribute' with 'op' and 'value', 'between', 'in' or 'missing'; joined by
            'and', 'or', 'not'.
    """

    sql: Text | None = Field(None, examples=["SELECT COUNT(*) FROM adult WHERE sex = 'Male' AND age BETWEEN 30 AND 40"])
    where: Text | None = Field(None, examples=["sex = 'Male'"])
    predicate: dict[str, Any] | None = Field(
        None,
        examples=[{"and": [{"attribute": "age", "between": [30, 40]}, {"attribute": "sex", "in": ["Male"]}]}],
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> QuestionRequest:
        if sum(part is not None for part in (self.sql, self.where, self.predicate)) != 1:
            raise ValueError("give one of sql, where and predicate")
        return self


class QuestionsRequest(ApiRequest):
    """Questions to answer in order.

    Attributes:
        confidence: Confidence of the intervals.
    """

    model_config = examples(
        {"queries": [{"sql": "SELECT COUNT(*) FROM adult WHERE sex = 'Male'"}], "confidence": 0.95},
        {"queries": [{"where": "age >= 30"}, {"where": "age < 30"}]},
    )

    queries: Annotated[list[QuestionRequest], Field(min_length=1, max_length=LARGEST_BATCH)]
    confidence: Annotated[float, Field(gt=0.0, le=MOST_CONFIDENCE)] = 0.95


class SeriesQuestionsRequest(QuestionsRequest):
    """Questions to answer in order about partitions of a series together.

    Attributes:
        partitions: Names of the partitions; all unless given.
    """

    model_config = examples({"queries": [{"where": "age >= 30"}], "partitions": ["visits-2026-01", "visits-2026-02"]})

    partitions: Annotated[list[DataSetName], Field(min_length=1, max_length=1000)] | None = None


class PinsRequest(ApiRequest):
    """Statements that stay on a person's dashboard of a data set.

    Attributes:
        statements: All of them, in their order; they take the place of those that were there.
    """

    model_config = examples({"statements": ["SELECT sex, COUNT(*) FROM adult GROUP BY sex"]})

    statements: list[Annotated[str, Field(min_length=1, max_length=LONGEST_PIN)]] = Field(max_length=MOST_PINS)


class StatementRequest(ApiRequest):
    """A statement to answer as a table, or the columns whose combinations are counted.

    Attributes:
        sql: SELECT with COUNT(*), SUM, AVG, MEDIAN and QUANTILE(x, share), WHERE and GROUP BY.
        group_by: Attributes and levels, in place of sql: all combinations of their values are counted.
        where: Beside group_by, a condition on other attributes.
        confidence: Confidence of each interval.
        free: Whether to answer from what is known alone, which costs nothing and counts as no question: by answers that
            were given before, with their intervals, else by the hypothesis without one.
    """

    model_config = examples(
        {"sql": "SELECT sex, COUNT(*), AVG(age) FROM adult WHERE age < 60 GROUP BY sex"},
        {"group_by": ["sex", "age.10"], "where": "age < 60"},
    )

    sql: Text | None = None
    group_by: Annotated[list[Line], Field(min_length=1, max_length=100)] | None = None
    where: Text = ""
    confidence: Annotated[float, Field(gt=0.0, le=MOST_CONFIDENCE_OF_A_STATEMENT)] = 0.95
    free: bool = False

    @model_validator(mode="after")
    def _one_of_them(self) -> StatementRequest:
        if (self.sql is None) == (self.group_by is None) or (self.sql is not None and self.where):
            raise ValueError("give either sql, or group_by with or without where")
        return self


class GrantRequest(ApiRequest):
    """Limits of an analyst on one data set; null for no limit.

    Attributes:
        storage: Bytes that the questions may add to the server's store; null for the server's default.
    """

    model_config = examples({"queries": 100, "budget": 0.25})

    queries: Count | None
    budget: Amount | None
    storage: Count | None = None


class PersonRequest(ApiRequest):
    """A person to add."""

    model_config = examples({"name": "ada", "role": "analyst"})

    name: PersonName
    role: Literal["custodian", "analyst"]


class RoleRequest(ApiRequest):
    """The role that a person shall have."""

    model_config = examples({"role": "analyst"})

    role: Literal["custodian", "analyst"]


class TokenRequest(ApiRequest):
    """A token to make.

    Attributes:
        datasets: Names of the data sets that it opens; 'all' for all of them, also later ones.
        days: Lifetime in days; 'ever' for a token that does not expire.
    """

    model_config = examples(
        {"person": "ada", "datasets": ["adult"], "days": 90, "note": "laptop"},
        {"person": "carol", "datasets": "all", "days": "ever"},
    )

    person: PersonName
    datasets: Annotated[list[DataSetName], Field(min_length=1, max_length=1000)] | Literal["all"]
    days: Annotated[int, Field(ge=1, le=36_500)] | Literal["ever"] = DEFAULT_DAYS
    note: Line = ""
