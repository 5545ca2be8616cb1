"""Cursors of lists that are paged: signed, so that nobody can make one up or use another's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from itsdangerous import BadData, SignatureExpired, URLSafeTimedSerializer

from hedgerow.errors import InvalidRequestError

LASTING_SECONDS = 24 * 3600
"""So long is a cursor good for."""

_REMEDY = "take the cursor that the page before ended with, for the same list; or begin again without one"


@final
@dataclass(frozen=True)
class Place:
    """The list that a cursor is good for.

    Attributes:
        route: Which list.
        data_set: Number of the data set; 0 where there is none.
        person: Number of whoever asked.
        choice: What the list was narrowed to.
    """

    route: str
    data_set: int
    person: int
    choice: str = ""


@final
class Cursors:
    """Makes cursors, and reads them.

    Args:
        secret: Of the store.

    Example:
        >>> cursors, place = Cursors(b"secret"), Place("answers", 1, 1)
        >>> cursors.read(cursors.make(place, 7), place)
        7
    """

    def __init__(self, secret: bytes) -> None:
        """Sign with a secret."""
        self._serializer = URLSafeTimedSerializer(secret, salt="hedgerow cursor")

    def make(self, place: Place, before: int) -> str:
        """A cursor.

        Args:
            place: The list.
            before: Number of the last entry of the page.
        """
        signed = self._serializer.dumps([place.route, place.data_set, place.person, place.choice, before])
        return signed if isinstance(signed, str) else signed.decode()

    def read(self, cursor: str | None, place: Place, *, lasting: int = LASTING_SECONDS) -> int | None:
        """The number that the next page goes on before; None for the first page.

        Args:
            cursor: As `make` made it.
            place: The list.
            lasting: For how many seconds it is good.

        Raises:
            InvalidRequestError: It was not made here, for this list or lately.
        """
        if cursor is None:
            return None
        try:
            *where, before = self._serializer.loads(cursor, max_age=lasting)
        except SignatureExpired:
            raise InvalidRequestError("this cursor has expired", remedy=_REMEDY) from None
        except BadData:
            raise InvalidRequestError("this is no cursor of this server", remedy=_REMEDY) from None
        if where != [place.route, place.data_set, place.person, place.choice]:
            raise InvalidRequestError("this cursor belongs to another list", remedy=_REMEDY)
        return int(before)
