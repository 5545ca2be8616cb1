"""Routes of questions and of the answers that were given, also of series: data sets that are asked together."""

import csv
import hashlib
import json
import math
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from hedgerow.client import Price
from hedgerow.domain import Domain
from hedgerow.errors import (
    HedgerowError,
    InvalidRequestError,
    NotAllowedError,
    NotThereError,
    QueryError,
    StoreBusyError,
    TooMuchError,
)
from hedgerow.queries import (
    LinearQuery,
    Selection,
    group_counts,
    parse_count,
    parse_json_predicate,
    parse_predicate,
    parse_select,
)
from hedgerow.release import Selected
from hedgerow.service.http import problems
from hedgerow.service.http.admission import By, ForQuestions, ForTokens, Here, Operation, Service
from hedgerow.service.http.request_parsing import Place
from hedgerow.service.http.requests import (
    MOST_RECORDS,
    Attributes,
    Cursor,
    Form,
    Key,
    Limit,
    Name,
    Number,
    OfPerson,
    PinsRequest,
    QuestionRequest,
    QuestionsRequest,
    SeriesQuestionsRequest,
    StatementRequest,
)
from hedgerow.service.http.responses import (
    AnswersResponse,
    EarlierAnswerResponse,
    EarlierAnswersResponse,
    MarginalResponse,
    PinsResponse,
    PriceResponse,
    SeriesAnswersResponse,
    SeriesListResponse,
    SeriesResponse,
    SummaryResponse,
    TableResponse,
)
from hedgerow.service.http.tokens import Caller, person_in
from hedgerow.service.sessions import (
    Series,
    answer_fields,
    answer_of,
    confidence_of_each,
    joined,
    open_series,
    summary_of,
)
from hedgerow.service.store import DataSet

_LONGEST_BATCH = 250_000
"""Most characters of a request's questions: reading them takes some seconds at most."""
_MOST_HELD = 1 << 22
"""Most cells and characters of conditions: all of a request are in memory, and kept, at the same time."""


def ask_questions(name: Name, asked: QuestionsRequest, here: Here, by: By, key: Key = None) -> AnswersResponse:
    """Ask counting questions.

    They are answered in order. If one of them cannot be read, none is asked.
    """
    data_set = here.data_set(name, by)
    queries = parsed_questions(asked.queries, here.workers.domain(data_set), name)
    request = request_number(here, data_set, by, key, asked)
    with here.waiting():
        given = here.workers.ask(data_set, queries, person=by.person, request=request, confidence=asked.confidence)
    answers = [answer_of(name, answer) for answer in given]
    return AnswersResponse(answers=answers, dataset=SummaryResponse(**summary_of(here.store, data_set, by.person)))


def select_table(name: Name, asked: StatementRequest, here: Here, by: By, key: Key = None) -> TableResponse:
    """Ask for counts by groups, sums, means and quantiles.

    All counts of the groups are one question, which costs one correction at most. A sum or a mean is one more question
    for each group, or two of a column in bins, a quantile some. With "free" nothing is asked of the data, and nothing
    counts.
    """
    data_set = here.data_set(name, by)
    selection = _selection(asked, here.workers.domain(data_set), name)
    request = None if asked.free else request_number(here, data_set, by, key, asked)
    with here.waiting():
        found = here.workers.select(
            data_set, selection, person=by.person, request=request, confidence=asked.confidence, free=asked.free
        )
    told = {
        name: getattr(found, name) for name in ("names", "headings", "columns", "rows", "covers", "sources", "charged")
    }
    dataset = SummaryResponse(**summary_of(here.store, data_set, by.person))
    return TableResponse(**told, confidence=_confidence(found), dataset=dataset)


def price_table(name: Name, asked: StatementRequest, here: Here, by: By) -> PriceResponse:
    """The most that a statement can cost.

    Nothing is asked, and nothing counts as a question.
    """
    data_set = here.data_set(name, by)
    selection = _selection(asked, here.workers.domain(data_set), name)
    questions = here.workers.questions_of(data_set, selection, person=by.person)
    told = summary_of(here.store, data_set, by.person)
    price, mine = told["price"] or 0.0, told["mine"]
    corrections = min(questions, told["updates_left"]) if told["status"] == "open" else 0
    if mine["budget"] is not None and price > 0.0:
        corrections = min(corrections, max(0, math.floor((mine["budget"] - mine["spent"]) / price * (1.0 + 1e-9))))
    found = Price(selection.groups.size, questions, corrections, corrections * price, told["unit"])
    return PriceResponse(price=found, dataset=SummaryResponse(**told))


def _confidence(found: Selected) -> float | None:
    """The confidence of the intervals, if there are any: each aggregate is followed by the ends of one."""
    lows = range(len(found.names) + 1, len(found.columns), 3)
    return found.confidence if any(row[at] is not None for row in found.rows for at in lows) else None


def list_answers(
    name: Name, here: Here, by: By, *, limit: Limit = 100, cursor: Cursor = None, person: OfPerson = None
) -> EarlierAnswersResponse:
    """Earlier answers, newest first: your own; for custodians all, or those of one person."""
    data_set = here.data_set(name, by)
    chosen = _whose(here, by, person)
    place = Place("answers", data_set.id, by.person.id, "" if chosen is None else str(chosen))
    read = partial(here.store.answers, data_set.id, person=chosen)
    found, after = here.cursors.page(place, cursor, limit, read, lambda answer: answer.id)
    names = {each.id: each.name for each in here.store.people()} if by.is_custodian else {by.person.id: by.person.name}
    answers = []
    for each in found:
        # Finer times than seconds would tell how long the data were looked at.
        at = None if each.at is None else each.at.replace(microsecond=0)
        counts = None if each.groups is None else len(each.groups["value"])
        told = answer_fields(name, each) | {"at": at, "person": names[each.person], "counts": counts}
        answers.append(EarlierAnswerResponse.of(told))
    return EarlierAnswersResponse(answers=answers, next=after)


def _whose(here: Service, by: Caller, person: str | None) -> int | None:
    if by.is_custodian:
        return None if person is None else person_in(here.store, person, by).id
    if person not in (None, by.person.name):
        raise NotAllowedError("these are another person's answers", remedy="leave 'person' out to see your own")
    return by.person.id


def parsed_questions(asked: Sequence[QuestionRequest], domain: Domain, name: str) -> list[LinearQuery]:
    """The questions of a request, in canonical form.

    Raises:
        QueryError: One cannot be read; the error has its number.
        TooMuchError: They are too large together.
    """
    if sum(len(_sent(each)) for each in asked) > _LONGEST_BATCH:
        raise TooMuchError(
            f"the questions have more than {_LONGEST_BATCH:,} characters together",
            remedy="send them in several requests",
        )
    parsed: list[LinearQuery] = []
    held = 0
    for number, question in enumerate(asked, start=1):
        parsed.append(query := _parsed_question(number, question, domain, name))
        held += query.held or len(query.text)
        if number > 1 and held > _MOST_HELD:
            raise TooMuchError(
                f"the first {number:,} questions are larger than {_MOST_HELD:,} cells of conditions that join "
                "attributes with 'or' or 'not', and characters of the others in canonical form",
                remedy="send them in several requests",
            )
    return parsed


def _sent(question: QuestionRequest) -> str:
    return question.sql or question.where or json.dumps(question.predicate)


def _selection(asked: StatementRequest, domain: Domain, name: str) -> Selection:
    try:
        if asked.sql is not None:
            return parse_select(asked.sql, domain, name)
        return group_counts(domain, asked.group_by or [], asked.where, name)
    except HedgerowError as error:
        raise _shortened(error, asked.sql or asked.where) from None


def _shortened(error: HedgerowError, sent: str, before: str = "") -> QueryError:
    """An error about a question. A parser's message may repeat its input: a long text is not sent back."""
    long = len(sent) > problems.ECHOED
    most = problems.ECHOED if long else max(problems.ECHOED, len(error.message), len(error.remedy))
    return QueryError(before + problems.shortened(error.message, most), remedy=problems.shortened(error.remedy, most))


def _parsed_question(number: int, question: QuestionRequest, domain: Domain, name: str) -> LinearQuery:
    try:
        if question.sql is not None:
            return parse_count(question.sql, domain, name)
        if question.where is not None:
            return parse_predicate(question.where, domain)
        return parse_json_predicate(question.predicate or {}, domain)
    except HedgerowError as error:
        if question.sql is not None:
            with suppress(HedgerowError):
                parse_select(question.sql, domain, name)
                error.remedy += "; groups, sums, means and quantiles are asked at POST /v1/datasets/{name}/tables"
        raise _shortened(error, _sent(question), f"question {number}: ") from None


def request_number(
    here: Service, data_set: DataSet, by: Caller, key: str | None, asked: QuestionsRequest | StatementRequest
) -> int | None:
    """The number of a request with an idempotency key."""
    if key is None:
        return None
    told = asked.model_dump(exclude={"free"})  # what is free has no key
    said = json.dumps(told, sort_keys=True, separators=(",", ":"))  # however its JSON was written
    digest = hashlib.sha256(said.encode()).digest()
    return here.store.request(data_set=data_set.id, person=by.person.id, key=key, digest=digest)


_MOST_ATTRIBUTES = 3
_PIECE = 1 << 18
_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def get_marginal(name: Name, attributes: Attributes, here: Here, by: By) -> MarginalResponse:
    """A marginal of the hypothesis: modelled counts by one to three attributes. Free."""
    data_set = here.data_set(name, by)
    domain = here.workers.domain(data_set)
    chosen = _chosen(attributes, domain)
    with here.waiting():
        counts = here.workers.marginal(data_set, chosen, person=by.person)
    return MarginalResponse(
        attributes=list(chosen),
        labels=[list(domain[each].labels) for each in chosen],
        counts=counts.tolist(),
        total=float(counts.sum()),
    )


def _chosen(text: str, domain: Domain) -> tuple[str, ...]:
    try:
        names = next(csv.reader([text], strict=True), [])
    except csv.Error:
        raise InvalidRequestError("the names of attributes cannot be read", remedy="as in 'age,sex'") from None
    for each in names:
        if each not in domain.all_names:
            raise InvalidRequestError("there is no such attribute", remedy="GET /v1/datasets/{name} lists them")
    if not 1 <= len(names) <= _MOST_ATTRIBUTES or len(set(names)) < len(names):
        raise InvalidRequestError("give one to three different attributes")
    return tuple(names)


def get_records(name: Name, here: Here, by: By, n: Number = None, form: Form = "csv") -> Response:
    """A file of synthetic records drawn from the hypothesis. Free."""
    data_set = here.data_set(name, by)
    file, size = _drawn(here, data_set, n, form, by)
    here.store.note(by.person.id, "records", name, {"n": n, "format": form})
    headers = {"Content-Disposition": f'attachment; filename="{name}-synthetic.{form}"', "Content-Length": str(size)}
    return _Sent(file, media_type=_TYPES[form], headers=headers)


def _drawn(here: Service, data_set: DataSet, n: int | None, form: str, by: Caller) -> tuple[IO[bytes], int]:
    """Draw a file, and tell its size; its place among those on their way is free again when the file is closed."""
    _take(here.unsent)
    try:
        _take(here.downloads)
        try:
            file, size = _written(here, data_set, n, form, by)
        finally:
            here.downloads.release()
    except BaseException:
        here.unsent.release()
        raise
    weakref.finalize(file, here.unsent.release)  # however the sending ends, or if it never begins
    return file, size


def _take(places: threading.BoundedSemaphore) -> None:
    if not places.acquire(blocking=False):
        raise StoreBusyError("records are being drawn for others", remedy="try again in a moment")


def _written(here: Service, data_set: DataSet, n: int | None, form: str, by: Caller) -> tuple[IO[bytes], int]:
    """Write a file and unlink it: it is gone when it is closed, however that happens."""
    total = None if n is not None else summary_of(here.store, data_set, by.person)["total"]
    number = n if total is None else min(MOST_RECORDS, max(1, round(total)))
    with here.waiting():
        records = here.workers.records(data_set, number, person=by.person)
    with tempfile.TemporaryDirectory(prefix="hedgerow-") as folder:
        path = Path(folder, f"records.{form}")
        records.write(path)
        return path.open("rb"), path.stat().st_size


class _Sent(StreamingResponse):
    """A file as a response; closed even if no one fetches it to its end."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(_pieces(file), **options)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def get_pins(name: Name, here: Here, by: By) -> PinsResponse:
    """The statements that you have pinned to your dashboard. Free: so are their answers with "free"."""
    return PinsResponse(statements=list(here.store.pins(here.data_set(name, by).id, by.person.id)))


def set_pins(name: Name, asked: PinsRequest, here: Here, by: By) -> PinsResponse:
    """Pin statements to your dashboard, in place of those that are there. Nothing is asked."""
    statements = tuple(dict.fromkeys(asked.statements))
    here.store.pin(here.data_set(name, by).id, by.person.id, statements)
    return PinsResponse(statements=list(statements))


def list_series(here: Here, by: By) -> SeriesListResponse:
    """The series that have partitions which the token opens, with these.

    A series whose partitions are unlike has no guarantee, and is refused.
    """
    return SeriesListResponse(series=[_told(each) for each in _open_to(here, by)])


def ask_series(name: Name, asked: SeriesQuestionsRequest, here: Here, by: By, key: Key = None) -> SeriesAnswersResponse:
    """Ask counting questions about partitions together.

    Each partition is asked; values and ends of intervals add up. A question counts, and is charged, in each. If one of
    them cannot be read, none is asked.
    """
    series = next((each for each in _open_to(here, by) if each.name == name), None)
    if series is None:
        raise NotThereError(f"there is no series {name!r}", remedy="GET /v1/series lists those that this token opens")
    chosen = series.of(asked.partitions)
    queries = parsed_questions(asked.queries, here.workers.domain(chosen[0]), name)
    each = confidence_of_each(asked.confidence, len(chosen))
    answers = {}
    for data_set in chosen:
        request = request_number(here, data_set, by, key, asked)
        with here.waiting():
            given = here.workers.ask(data_set, queries, person=by.person, request=request, confidence=each)
        answers[data_set.name] = [answer_of(data_set.name, answer) for answer in given]
    return SeriesAnswersResponse(answers=joined(answers, asked.confidence), series=_told(series))


def _open_to(here: Service, by: Caller) -> list[Series]:
    return open_series(here.store.data_sets(), by.token.reaches)


def _told(series: Series) -> SeriesResponse:
    return SeriesResponse(
        name=series.name,
        at_most=series.at_most,
        partitions=[each.name for each in series.partitions],
        statement=series.statement,
    )


OPERATIONS = (
    Operation("POST", "/v1/datasets/{name}/queries", ask_questions, ForQuestions, problems=problems.OF_QUESTIONS),
    Operation("POST", "/v1/datasets/{name}/tables", select_table, ForQuestions, problems=problems.OF_QUESTIONS),
    Operation("POST", "/v1/datasets/{name}/price", price_table, ForTokens, problems=(problems.TABLE,)),
    Operation("GET", "/v1/datasets/{name}/answers", list_answers, ForTokens, problems=(problems.NOT_ALLOWED,)),
    Operation("GET", "/v1/datasets/{name}/marginals", get_marginal, ForTokens, problems=(problems.TABLE,)),
    Operation(
        "GET",
        "/v1/datasets/{name}/records",
        get_records,
        ForTokens,
        problems=(problems.TABLE,),
        content={
            "text/csv": {"schema": {"type": "string"}},
            "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
        },
    ),
    Operation("GET", "/v1/datasets/{name}/pins", get_pins, ForTokens),
    Operation("PUT", "/v1/datasets/{name}/pins", set_pins, ForTokens),
    Operation("GET", "/v1/series", list_series, ForTokens, problems=(problems.CONFLICT,)),
    Operation("POST", "/v1/series/{name}/queries", ask_series, ForQuestions, problems=problems.OF_QUESTIONS),
)
