"""Routes of questions and of the answers that were given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, NoReturn

from fastapi import Header, Query

from hedgerow.domain import Domain
from hedgerow.errors import HedgerowError, NotAllowedError, QueryError, QuestionTooLargeError, TooMuchError
from hedgerow.queries import LinearQuery, in_condition, parse_count, parse_json_predicate, parse_predicate
from hedgerow.service.http import problems
from hedgerow.service.http.cursors import Place
from hedgerow.service.http.gate import By, Here, Service
from hedgerow.service.http.operations import ForTokens, Operation
from hedgerow.service.http.problems import ECHOED, shortened
from hedgerow.service.http.routes_data_sets import Name
from hedgerow.service.http.scopes import person_in
from hedgerow.service.http.sent import LARGEST_PAGE, PERSON_NAME, Question, QuestionsAsked
from hedgerow.service.http.tokens import Caller
from hedgerow.service.http.told import Answer, Answers, EarlierAnswer, EarlierAnswers, Summary
from hedgerow.service.store import GivenAnswer

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[!-~]+$",
        description="Of your choice, as a UUID. Sent again with the same questions, it gives the same answers, and "
        "nothing is charged twice.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Entries of a page.")]
Cursor = Annotated[str | None, Query(max_length=1000, description="Where the page before ended: its `next`.")]
OfPerson = Annotated[str | None, Query(pattern=PERSON_NAME, description="Of whom; for analysts only themselves.")]

_LONGEST_BATCH = 250_000
"""Characters: reading them takes some seconds at most."""
_MOST_HELD = 1 << 22
"""Cells and characters of conditions: all of a request are in memory, and kept, at the same time."""


def ask_questions(name: Name, asked: QuestionsAsked, here: Here, by: By, key: Key = None) -> Answers:
    """Ask counting questions.

    They are answered in order. If one of them cannot be read, none is asked.
    """
    data_set = here.data_set(name, by)
    queries = _parsed(asked.queries, here.desks.domain(data_set), name)
    request = (
        None
        if key is None
        else here.store.request(data_set=data_set.id, person=by.person.id, key=key, digest=_digest(asked))
    )
    try:
        with here.waiting():
            given = here.desks.ask(data_set, queries, person=by.person, request=request, confidence=asked.confidence)
    except QuestionTooLargeError as error:
        _name_the_question(error, queries)
    return Answers(
        answers=[Answer(**_told(name, answer)) for answer in given],
        dataset=Summary(**here.desks.summary(data_set, by.person)),
    )


def list_answers(
    name: Name, here: Here, by: By, *, limit: Limit = 100, cursor: Cursor = None, person: OfPerson = None
) -> EarlierAnswers:
    """Answers that were given, newest first: your own; for custodians all, or those of a person."""
    data_set = here.data_set(name, by)
    chosen = _whose(here, by, person)
    place = Place("answers", data_set.id, by.person.id, "" if chosen is None else str(chosen))
    before = here.cursors.read(cursor, place)
    found = here.store.answers(data_set.id, person=chosen, before=before, limit=limit + 1)
    names = {each.id: each.name for each in here.store.people()} if by.is_custodian else {by.person.id: by.person.name}
    return EarlierAnswers(
        answers=[
            EarlierAnswer(**_told(name, each) | {"id": each.id, "at": _second(each.at), "person": names[each.person]})
            for each in found[:limit]
        ],
        next=here.cursors.make(place, found[limit - 1].id) if len(found) > limit else None,
    )


def _second(at: datetime | None) -> datetime | None:
    """Times are told in whole seconds: finer ones would tell how long the data were looked at."""
    return None if at is None else at.replace(microsecond=0)


def _whose(here: Service, by: Caller, person: str | None) -> int | None:
    if by.is_custodian:
        return None if person is None else person_in(here.store, person, by).id
    if person not in (None, by.person.name):
        raise NotAllowedError("these are another person's answers", remedy="leave 'person' out to see your own")
    return by.person.id


def _parsed(asked: Sequence[Question], domain: Domain, name: str) -> list[LinearQuery]:
    if sum(len(_sent(each)) for each in asked) > _LONGEST_BATCH:
        raise TooMuchError(
            f"the questions have more than {_LONGEST_BATCH:,} characters together",
            remedy="send them in several requests",
        )
    parsed: list[LinearQuery] = []
    held = 0
    for number, question in enumerate(asked, start=1):
        parsed.append(query := _one_parsed(number, question, domain, name))
        held += query.held or len(query.text)
        if number > 1 and held > _MOST_HELD:
            raise TooMuchError(
                f"the first {number:,} questions are larger than {_MOST_HELD:,} cells of conditions that join "
                "attributes with 'or' or 'not', and characters of the others in canonical form",
                remedy="send them in several requests",
            )
    return parsed


def _sent(question: Question) -> str:
    return question.sql or question.where or json.dumps(question.predicate)


def _one_parsed(number: int, question: Question, domain: Domain, name: str) -> LinearQuery:
    try:
        if question.sql is not None:
            return parse_count(question.sql, domain, name)
        if question.where is not None:
            return parse_predicate(question.where, domain)
        return parse_json_predicate(question.predicate or {}, domain)
    except HedgerowError as error:
        # What a parser says may hold what it was given, in another form: a long text is not sent back.
        sent = _sent(question)
        most = ECHOED if len(sent) > ECHOED else max(ECHOED, len(error.message), len(error.remedy))
        message = f"question {number}: {shortened(error.message, most)}"
        raise QueryError(message, remedy=shortened(error.remedy, most)) from None


def _name_the_question(error: QuestionTooLargeError, queries: Sequence[LinearQuery]) -> NoReturn:
    number = next((at for at, query in enumerate(queries, start=1) if set(query.scope) == set(error.attributes)), None)
    if number is not None:
        error.message = f"question {number}: {error.message}"
    raise error


def _digest(asked: QuestionsAsked) -> bytes:
    """By which a request is known again, however its JSON was written."""
    return hashlib.sha256(json.dumps(asked.model_dump(), sort_keys=True, separators=(",", ":")).encode()).digest()


def _told(name: str, given: GivenAnswer) -> dict[str, Any]:
    table = in_condition(name)
    return {
        "sql": f"SELECT COUNT(*) FROM {table} WHERE {given.where}",
        "where": given.where,
        "value": given.value,
        "low": given.low,
        "high": given.high,
        "confidence": given.confidence,
        "covers": given.covers,
        "source": given.source,
        "charged": given.charged,
        "spent": given.spent,
        "updates_left": given.updates_left,
    }


OPERATIONS = (
    Operation(
        "POST",
        "/v1/datasets/{name}/queries",
        ask_questions,
        ForTokens,
        Answers,
        problems=(problems.NOT_ALLOWED, problems.QUOTA, problems.CONFLICT, problems.QUESTION_TOO_LARGE, problems.TABLE),
    ),
    Operation(
        "GET", "/v1/datasets/{name}/answers", list_answers, ForTokens, EarlierAnswers, problems=(problems.NOT_ALLOWED,)
    ),
)
