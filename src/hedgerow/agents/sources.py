"""What agents ask: the data sets of a server, or releases in files; each by the classes that people use in Python."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol

from hedgerow.client import AnswerTable, Client, Price
from hedgerow.domain import Domain
from hedgerow.errors import NotThereError
from hedgerow.queries import parse_select
from hedgerow.release import Release, Selected, check_selection, select_from

_KEPT = ("name", "title", "status", "total", "statement")
_BUDGET = (
    "statement",
    "status",
    "unit",
    "limit",
    "spent",
    "account",
    "updates",
    "updates_left",
    "price",
    "closed",
    "mine",
)


class Source(Protocol):
    """Tables that can be asked.

    Attributes:
        spends: Whether a question can cost a privacy budget.
    """

    spends: bool

    def data_sets(self) -> list[dict[str, Any]]:
        """Name, title, status, number of records and guarantee of each data set."""

    def domain(self, name: str) -> Domain:
        """The columns of a data set and their values: public knowledge."""

    def budget(self, name: str) -> dict[str, Any]:
        """The guarantee of a data set, and what is spent and left."""

    def price(self, name: str, sql: str) -> Price:
        """The most that a statement can cost; nothing is asked. A release counts no questions."""

    def select(self, name: str, sql: str, confidence: float, *, free: bool) -> AnswerTable | Selected:
        """The answer of a statement; if it is to be free, from what is known alone."""


class ServerSource:
    """The data sets of a server.

    Args:
        client: The server, and the token of the person for whom an agent asks.
    """

    spends = True

    def __init__(self, client: Client) -> None:
        """Ask nothing yet."""
        self._client = client

    def data_sets(self) -> list[dict[str, Any]]:
        """See `Source`."""
        return [{key: told[key] for key in _KEPT} for told in (each.summary() for each in self._client)]

    def domain(self, name: str) -> Domain:
        """See `Source`."""
        return self._client[name].domain

    def budget(self, name: str) -> dict[str, Any]:
        """See `Source`."""
        told = self._client[name].summary()
        return {key: told[key] for key in _BUDGET}

    def price(self, name: str, sql: str) -> Price:
        """See `Source`."""
        return self._client[name].price(sql)

    def select(self, name: str, sql: str, confidence: float, *, free: bool) -> AnswerTable:
        """See `Source`."""
        return self._client[name].select(sql, confidence=confidence, free=free)


class ReleaseSource:
    """Releases, which were paid for when they were made: asking them costs nothing.

    Args:
        releases: The releases by their names.
    """

    spends = False

    def __init__(self, releases: Mapping[str, Release]) -> None:
        """Keep them."""
        self._releases = dict(releases)
        self._alone = threading.Lock()

    def data_sets(self) -> list[dict[str, Any]]:
        """See `Source`."""
        return [
            {"name": name, "title": "", "status": "release", "total": each.total, "statement": each.guarantee()}
            for name, each in self._releases.items()
        ]

    def domain(self, name: str) -> Domain:
        """See `Source`."""
        return self._release(name).domain

    def budget(self, name: str) -> dict[str, Any]:
        """See `Source`."""
        release = self._release(name)
        return {
            "statement": release.guarantee(),
            "status": "release",
            "unit": release.budget.unit,
            "limit": release.budget.limit,
            "spent": release.spent,
        }

    def price(self, name: str, sql: str) -> Price:
        """See `Source`."""
        release = self._release(name)
        selection = parse_select(sql, release.domain)
        check_selection(selection)
        return Price(rows=selection.groups.size, questions=0, corrections=0, cost=0.0, unit=release.budget.unit)

    def select(self, name: str, sql: str, confidence: float, *, free: bool) -> Selected:
        """See `Source`; one at a time, because a release keeps tables of its model."""
        release = self._release(name)
        with self._alone:
            return select_from(release, parse_select(sql, release.domain), confidence)

    def _release(self, name: str) -> Release:
        if name not in self._releases:
            raise NotThereError(f"there is no release {name!r}", remedy=f"there are {', '.join(self._releases)}")
        return self._releases[name]
