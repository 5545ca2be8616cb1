"""Routes of series: data sets that are asked together."""

from hedgerow.errors import NotThereError
from hedgerow.service.http import problems
from hedgerow.service.http.admission import By, ForQuestions, ForTokens, Here, Operation, Service
from hedgerow.service.http.requests import Key, Name, SeriesQuestionsRequest
from hedgerow.service.http.responses import (
    SeriesAnswersResponse,
    SeriesListResponse,
    SeriesResponse,
)
from hedgerow.service.http.routes_questions import parsed_questions, request_number
from hedgerow.service.http.tokens import Caller
from hedgerow.service.sessions import Series, answer_of, confidence_of_each, joined, open_series


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
    Operation("GET", "/v1/series", list_series, ForTokens, problems=(problems.CONFLICT,)),
    Operation("POST", "/v1/series/{name}/queries", ask_series, ForQuestions, problems=problems.OF_QUESTIONS),
)
