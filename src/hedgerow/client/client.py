"""``hedgerow.connect``: a server's data sets in Python."""

from __future__ import annotations

import csv
import io
import os
import ssl
import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hedgerow.arrays import Floats
from hedgerow.client.answers import AnswerTable, Price, SeriesSum, ServerAnswer, ServerAnswers
from hedgerow.client.sending import Sending, token_from
from hedgerow.domain import Domain, domain_from_mapping, domain_to_mapping
from hedgerow.errors import ConfigError
from hedgerow.privacy import Budget

_AT_ONCE = 1000
"""Most questions of a request."""


def connect(
    url: str,
    token: str | None = None,
    *,
    token_file: str | os.PathLike[str] | None = None,
    timeout: float = 60.0,
    retries: int = 4,
    context: ssl.SSLContext | None = None,
) -> Client:
    """Connect to a Hedgerow server.

    Args:
        url: Address of the server, as ``https://hedgerow.example``. Without TLS only servers on this machine are spoken
            to, so that a token never travels in the clear.
        token: Token of a person; by default that of ``HEDGEROW_TOKEN``, or of the file that ``token_file`` or
            ``HEDGEROW_TOKEN_FILE`` names. No text, error or log shows it.
        token_file: A file that holds the token, and that nobody else may read.
        timeout: Seconds to wait for an answer.
        retries: Repeats of a question that was not answered because the server was away, busy or limits its rate. Each
            question has a key of its own, so that a repeat is not charged again.
        context: Certificates to trust, for a server with one of its own.

    Raises:
        ConfigError: There is no token, others may read its file, or the address is none.
        NotSignedInError: The token is wrong, has expired or was revoked.
        UnreachableError: The server does not answer.

    Example:
        >>> import hedgerow
        >>> hedgerow.connect("http://hedgerow.example", "hr_...")
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: a token would be sent to hedgerow.example for everyone on the way to read
          Remedy: use https://, or an address of this machine
    """
    sending = Sending(url, token_from(token, token_file), timeout=timeout, retries=retries, context=context)
    return Client(sending, sending.get("/v1/me"))


class Client:
    """A server, as a person with a token sees it; made by `connect`.

    Args:
        sending: The server and the token.
        me: Owner and scope of the token.

    Attributes:
        person: Name of the person.
        role: ``"custodian"`` or ``"analyst"``.
    """

    def __init__(self, sending: Sending, me: Mapping[str, Any]) -> None:
        """Keep both."""
        self._sending = sending
        self.person, self.role = str(me["person"]), str(me["role"])

    def __repr__(self) -> str:
        """The person and the server; never the token."""
        return f"Client({self._sending.url!r}, {self.role} {self.person!r})"

    def data_sets(self) -> list[RemoteDataSet]:
        """Data sets that the token opens."""
        names: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            reply = self._sending.get("/v1/datasets", **({"cursor": cursor} if cursor else {}))
            names += [each["name"] for each in reply["datasets"]]
            cursor = reply["next"]
        return [RemoteDataSet(self._sending, name) for name in sorted(names)]

    def data_set(self, name: str) -> RemoteDataSet:
        """A data set by its name.

        Raises:
            NotThereError: There is none of that name, or the token does not open it.
        """
        found = RemoteDataSet(self._sending, name)
        found.summary()
        return found

    def __getitem__(self, name: str) -> RemoteDataSet:
        """The same as `data_set`."""
        return self.data_set(name)

    def __iter__(self) -> Iterator[RemoteDataSet]:
        """The same as `data_sets`."""
        return iter(self.data_sets())

    def series(self) -> list[RemoteSeries]:
        """Series that have partitions which the token opens."""
        return [RemoteSeries(self._sending, each) for each in self._sending.get("/v1/series")["series"]]

    def plan(
        self, domain: Domain | Mapping[str, Any], budget: Budget, records: int, **options: Any
    ) -> list[tuple[str, str]]:
        """Tell what asking a data set would be like, before anything is spent; for custodians.

        Args:
            domain: Records that could exist.
            budget: All that would ever be spent.
            records: A public guess of their number.
            options: Options of the session, as ``queries=10_000``.

        Returns:
            Lines: a word and a sentence each.
        """
        asked = {"domain": _domain(domain), "budget": _budget(budget), "records": records, "options": options}
        return [(each["word"], each["sentence"]) for each in self._sending.post("/v1/plan", asked)["lines"]]

    def upload(self, file: str | os.PathLike[str], name: str | None = None) -> str:
        """Copy a table into the server's data folder, from which it may be registered; for custodians.

        Args:
            file: A CSV or Parquet file.
            name: Name on the server; that of the file unless given. No file there is replaced.

        Returns:
            The name.

        Raises:
            ConflictError: There is a file of that name.
        """
        path = Path(file)
        place = path.name if name is None else name
        self._sending.put(f"/v1/files/{quote(place, safe='')}", path.read_bytes())
        return place

    def register(
        self,
        name: str,
        *,
        place: str,
        domain: Domain | Mapping[str, Any],
        budget: Budget,
        title: str = "",
        source: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> RemoteDataSet:
        """Register a data set; for custodians. Its budget can never be changed.

        Args:
            name: Name in questions and addresses.
            place: The table: a file of the data folder, or an address of a database.
            domain: Records that could exist: public knowledge.
            budget: All that will ever be spent on it.
            title: Title for people.
            source: More about the table: ``columns``, ``where``, ``count_column``, ``warm``, ...
            options: Options of the session: ``first_release``, ``queries``, ``updates``, ``threshold``, ...

        Raises:
            ConflictError: The name is taken, or the server's register does not cover the budget.
            InvalidRequestError: The description or the table does not fit.
        """
        asked = {
            "name": name,
            "title": title,
            "source": {**(source or {}), "place": place},
            "domain": _domain(domain),
            "budget": _budget(budget),
            "options": options,
        }
        self._sending.post("/v1/datasets", asked)
        return RemoteDataSet(self._sending, name)


class RemoteDataSet:
    """A data set of a server: what a session is in this process.

    Args:
        sending: The server and the token.
        name: Name of the data set.

    Attributes:
        name: Name of the data set.
    """

    def __init__(self, sending: Sending, name: str) -> None:
        """Ask nothing yet."""
        self._sending = sending
        self.name = name

    def __repr__(self) -> str:
        """Its name and its server."""
        return f"RemoteDataSet({self.name!r} of {self._sending.url})"

    def summary(self) -> dict[str, Any]:
        """Attributes, budget, spending, corrections and your limits; see ``docs/server.md`` for the fields."""
        found: dict[str, Any] = self._sending.get(self._path())
        return found

    @cached_property
    def domain(self) -> Domain:
        """The records that could exist; asked for once, because a domain never changes."""
        return domain_from_mapping(self._sending.get(self._path("domain"))["domain"])

    def ask(self, query: str, *, confidence: float = 0.95) -> ServerAnswer:
        """Count records.

        Args:
            query: A condition, as ``"sex = 'Male' and age >= 40"``, or ``SELECT COUNT(*) ...``.
            confidence: Confidence of the interval.

        Raises:
            InvalidRequestError: The question is wrong; the error names the values that exist.
            NotAllowedError: The number of questions, or the share of the budget, is used up.
            RateError: Too many requests, even after waiting.
            UnreachableError: The server does not answer; a question is charged once however often it was sent.
        """
        answer: ServerAnswer = self.ask_all([query], confidence=confidence)[0]
        return answer

    def ask_all(self, queries: Iterable[str], *, confidence: float = 0.95) -> ServerAnswers:
        """Answer many questions in their order; see `ask`.

        Args:
            queries: The questions.
            confidence: Confidence of each interval.
        """
        asked, answers = [_question(each) for each in queries], list[ServerAnswer]()
        for start in range(0, len(asked), _AT_ONCE):
            some = {"queries": asked[start : start + _AT_ONCE], "confidence": confidence}
            told = self._sending.post(self._path("queries"), some, key=_key())["answers"]
            answers += map(ServerAnswer.of, told)
        return ServerAnswers(answers)

    def select(self, sql: str, *, confidence: float = 0.95, free: bool = False) -> AnswerTable:
        """Answer a statement: counts by groups, sums, means, medians and quantiles.

        Args:
            sql: A statement, as ``"SELECT sex, COUNT(*), AVG(age) FROM adult GROUP BY sex"``. All counts of its groups
                are one question.
            confidence: Confidence of each interval.
            free: Whether to answer from what is known alone: by answers that were given, with their intervals, else by
                the hypothesis without any. Nothing is asked of the data, and nothing counts.

        Raises:
            InvalidRequestError, NotAllowedError, RateError, UnreachableError: As `ask`.
        """
        asked = {"sql": sql, "confidence": confidence, "free": free}
        return AnswerTable.of(self._sending.post(self._path("tables"), asked, key=_key()))

    def price(self, sql: str) -> Price:
        """The most that `select` of a statement can cost; nothing is asked, and nothing counts.

        Args:
            sql: The statement.

        Raises:
            InvalidRequestError, RateError, UnreachableError: As `ask`.
        """
        return Price.of(self._sending.post(self._path("price"), {"sql": sql}, key=_key())["price"])

    def group_by(self, *attributes: str, where: str = "", confidence: float = 0.95, free: bool = False) -> AnswerTable:
        """Counts of all combinations of values of some attributes, as one question.

        Args:
            attributes: Names of attributes or of levels.
            where: A condition on other attributes.
            confidence: Confidence of all intervals together.
            free: As `select`.

        Raises:
            ConfigError: No attribute is named.
            InvalidRequestError, NotAllowedError, RateError, UnreachableError: As `ask`.
        """
        if not attributes:
            raise ConfigError("no attribute to group by", remedy="name one, or ask for a count")
        asked = {"group_by": attributes, "where": where, "confidence": confidence, "free": free}
        return AnswerTable.of(self._sending.post(self._path("tables"), asked, key=_key()))

    def marginal(self, *attributes: str) -> Floats:
        """A table of the hypothesis, in counts, one axis for each attribute; free, and without intervals."""
        told = self._sending.get(self._path("marginals"), attributes=_listed(attributes))
        return np.array(told["counts"], dtype=np.float64)

    def records(self, n: int | None = None) -> pa.Table:
        """Synthetic records of the hypothesis; free.

        Args:
            n: Number of records; about that of the data unless given.
        """
        return pq.read_table(io.BytesIO(self._sending.file(self._path("records"), n=n, format="parquet")))

    def spending(self) -> dict[str, Any]:
        """Amounts that were spent over time, yours and everybody's."""
        found: dict[str, Any] = self._sending.get(self._path("spending"))
        return found

    def close(self) -> None:
        """Close the data set for good; for custodians. The data are not looked at any more."""
        self._sending.post(self._path("close"), {})

    def open(self) -> None:
        """Try once more to open a data set that failed to; for custodians. It costs `retry_price` of `summary` at most.

        Raises:
            ConflictError: It is open, or closed.
        """
        self._sending.post(self._path("open"), {})

    def discard(self) -> None:
        """Discard a data set that was never opened, so that its name is free again; for custodians.

        Raises:
            ConflictError: It was opened.
        """
        self._sending.delete(self._path())

    def _path(self, of: str = "") -> str:
        return "/".join(filter(None, ["/v1/datasets", quote(self.name, safe=""), of]))


class RemoteSeries:
    """Data sets of one domain, each with records of its own, that are asked together.

    Args:
        sending: The server and the token.
        told: The series as the server tells it.

    Attributes:
        name: Name of the series.
        partitions: Names of its data sets, those that the token opens.
        statement: The guarantee of these together.
    """

    def __init__(self, sending: Sending, told: Mapping[str, Any]) -> None:
        """Keep what was told."""
        self._sending = sending
        self.name, self.statement = str(told["name"]), str(told["statement"])
        self.partitions = tuple(map(str, told["partitions"]))

    def __repr__(self) -> str:
        """Its name and its partitions."""
        return f"RemoteSeries({self.name!r}: {', '.join(self.partitions)})"

    def ask(self, query: str, *, partitions: Iterable[str] | None = None, confidence: float = 0.95) -> SeriesSum:
        """Count records of several partitions; the question is charged in each.

        Args:
            query: A condition, or ``SELECT COUNT(*)`` from the series.
            partitions: Names of partitions; all unless given.
            confidence: Confidence of the interval of the sum.

        Raises:
            NotThereError: There is no such partition.
            InvalidRequestError, NotAllowedError, RateError, UnreachableError: As `RemoteDataSet.ask`.
        """
        chosen = None if partitions is None else list(partitions)
        asked = {"queries": [_question(query)], "confidence": confidence, "partitions": chosen}
        path = f"/v1/series/{quote(self.name, safe='')}/queries"
        return SeriesSum.of(self._sending.post(path, asked, key=_key())["answers"][0])


def _question(text: str) -> dict[str, str]:
    return {"sql" if text.lstrip()[:7].lower().rstrip() == "select" else "where": text}


def _listed(names: Iterable[str]) -> str:
    """Names separated by commas; those that hold one are quoted."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def _key() -> str:
    return uuid.uuid4().hex


def _domain(domain: Domain | Mapping[str, Any]) -> dict[str, Any]:
    return dict(domain_to_mapping(domain) if isinstance(domain, Domain) else domain)


def _budget(budget: Budget) -> dict[str, Any]:
    told = budget.to_dict()
    amounts: dict[str, Any] = {name: told[name] for name in ("epsilon", "delta", "rho", "mu") if name in told}
    if not amounts:
        message = f"a data set has no budget of the kind {type(budget).__name__}"
        raise ConfigError(message, remedy="give PureDP or ApproxDP")
    return {"neighbours": budget.neighbours.relation.value, **amounts}
