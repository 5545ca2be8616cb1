"""Reading requests strictly: headers and parameters given once, JSON as the standard has it, cursors that we signed."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from itsdangerous import BadData, SignatureExpired, URLSafeTimedSerializer
from starlette.requests import Request

from hedgerow.errors import InvalidRequestError, MalformedRequestError, NotSignedInError
from hedgerow.service.store import is_storable

DEEPEST = 64
"""Deepest nesting of lists and objects."""
LASTING_SECONDS = 24 * 3600
"""Lifetime of a cursor."""
_REMEDY = "take the cursor that the page before ended with, for the same list; or begin again without one"
_Entry = TypeVar("_Entry")


def parse_json(body: bytes) -> Any:
    r"""Read a body.

    Args:
        body: UTF-8.

    Raises:
        InvalidRequestError: It is not JSON; names a key twice; holds NaN, infinity, an oversized number, or characters
            that cannot be stored; or is nested too deeply.

    Example:
        >>> parse_json(b'{"queries": []}')
        {'queries': []}
        >>> parse_json(b'{"confidence": NaN}')
        Traceback (most recent call last):
            ...
        hedgerow.errors.InvalidRequestError: JSON has no number NaN
    """
    try:
        text = body.decode("utf-8")
        found = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once
        )
    except UnicodeDecodeError:
        raise InvalidRequestError("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidRequestError(
            f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            remedy="correct it there; put names and texts in double quotes",
        ) from None
    except RecursionError:
        raise _too_deep() from None
    if body.count(b"[") + body.count(b"{") > DEEPEST or b"\\u" in body or b"\x00" in body:
        _check(found)
    return found


def _check(value: Any) -> None:
    """Walk over all values without recursion."""
    left: list[tuple[Any, int]] = [(value, 1)]
    while left:
        each, depth = left.pop()
        if depth > DEEPEST:
            raise _too_deep()
        if isinstance(each, str):
            _check_text(each)
        elif isinstance(each, dict):
            for key in each:
                _check_text(key)
            left.extend((inner, depth + 1) for inner in each.values())
        elif isinstance(each, list):
            left.extend((inner, depth + 1) for inner in each)


def _check_text(text: str) -> None:
    if not is_storable(text):
        raise InvalidRequestError("the body holds the character U+0000 or half of a surrogate pair")


def _too_deep() -> InvalidRequestError:
    return InvalidRequestError(f"the body is nested more than {DEEPEST} levels deep", remedy="nest it less deeply")


def _refuse_constant(name: str) -> Any:
    raise InvalidRequestError(f"JSON has no number {name}")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise InvalidRequestError("the body holds a number that is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > 30:
        raise InvalidRequestError("the body holds a whole number of more than 30 digits")
    return int(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidRequestError("the body names a key twice in one object")
    return found


class StrictRequest(Request):
    """A request whose body is read as strict JSON, once."""

    async def json(self) -> Any:
        """The body as values.

        Raises:
            InvalidRequestError: It is not declared as JSON, or is not JSON.
        """
        if not hasattr(self, "_strict"):
            body = await self.body()
            kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
            if body and kind != "application/json":
                raise InvalidRequestError(
                    "the body is not declared as JSON", remedy="send the header 'Content-Type: application/json'"
                )
            self._strict = parse_json(body) if body else None
        return self._strict


def authorization(request: Request) -> str | None:
    """The Authorization header; two are refused, as a proxy may have checked the other one."""
    found = request.headers.getlist("authorization")
    if len(found) > 1:
        raise MalformedRequestError("there are two Authorization headers", remedy="send one")
    return found[0] if found else None


SESSION = "hedgerow"
"""Name of the cookie of the page; over TLS with the prefix that ties it to this host alone."""
SECURE_SESSION = f"__Host-{SESSION}"
PAGE_HEADER = "Hedgerow-Page"


def session_of(request: Request) -> str | None:
    """The token in the cookie of the page; None if there is none."""
    return request.cookies.get(SECURE_SESSION) or request.cookies.get(SESSION)


def credential(request: Request) -> str | None:
    """What a request is signed in with, as an Authorization header: its own, or the token in the cookie of the page.

    A browser sends a cookie whoever makes it ask. So the cookie counts only beside a header that no page of another
    origin can send: browsers would ask this server for leave first, and it gives none.

    Raises:
        MalformedRequestError: There are two Authorization headers.
        NotSignedInError: A cookie comes without the header of the page.
    """
    header = authorization(request)
    cookie = session_of(request)
    if header is not None or cookie is None:
        return header
    if request.headers.get(PAGE_HEADER) != "1":
        raise NotSignedInError(
            "the cookie of the page is good for requests of the page alone",
            remedy="programs send a token: Authorization: Bearer hgr_...",
        )
    return f"Bearer {cookie}"


def check_parameters(given: list[str], known: set[str]) -> None:
    """Refuse parameters that are misspelt or given twice, which would be ignored otherwise."""
    if not known.issuperset(given):
        listed = ", ".join(sorted(known))
        raise InvalidRequestError(
            "the address has an unknown parameter",
            remedy=f"the known ones are {listed}" if known else "leave it out",
        )
    if len(set(given)) < len(given):
        raise InvalidRequestError("the address has a parameter twice", remedy="give each parameter once")


@dataclass(frozen=True)
class Place:
    """The list that a cursor belongs to.

    Attributes:
        route: Name of the list.
        data_set: Number of the data set; 0 for lists of the whole server.
        person: Number of the person who asked.
        choice: Filter of the list.
    """

    route: str
    data_set: int
    person: int
    choice: str = ""


class Cursors:
    """Makes cursors, and reads them.

    Args:
        secret: Secret of the store.

    Example:
        >>> cursors, place = Cursors(b"secret"), Place("answers", 1, 1)
        >>> cursors.read(cursors.make(place, 7), place)
        7
    """

    def __init__(self, secret: bytes) -> None:
        """Sign with a secret."""
        self._serializer = URLSafeTimedSerializer(secret, salt="hedgerow cursor")

    def page(
        self,
        place: Place,
        cursor: str | None,
        limit: int,
        read: Callable[..., list[_Entry]],
        number: Callable[[_Entry], int],
    ) -> tuple[list[_Entry], str | None]:
        """A page of a list, and the cursor of the next one; None at the end.

        Args:
            place: The list.
            cursor: Cursor that the page before ended with; None for the first page.
            limit: Number of entries, at most.
            read: Reads at most ``limit`` entries before the number ``before``, newest first.
            number: Number of an entry.

        Raises:
            InvalidRequestError: See `read`.
        """
        found = read(before=self.read(cursor, place), limit=limit + 1)
        return found[:limit], self.make(place, number(found[limit - 1])) if len(found) > limit else None

    def listed(
        self, place: Place, cursor: str | None, limit: int, entries: Sequence[_Entry], number: Callable[[_Entry], int]
    ) -> tuple[list[_Entry], str | None]:
        """The same of a list that is read whole: entries by their numbers, the largest first."""
        newest = sorted(entries, key=number, reverse=True)

        def read(before: int | None, limit: int) -> list[_Entry]:
            return [each for each in newest if before is None or number(each) < before][:limit]

        return self.page(place, cursor, limit, read, number)

    def make(self, place: Place, before: int) -> str:
        """A cursor.

        Args:
            place: The list.
            before: Number of the last entry of the page.
        """
        signed = self._serializer.dumps([place.route, place.data_set, place.person, place.choice, before])
        return signed if isinstance(signed, str) else signed.decode()

    def read(self, cursor: str | None, place: Place, *, lasting: int = LASTING_SECONDS) -> int | None:
        """Read the number that the next page ends before; None for the first page.

        Args:
            cursor: Cursor that `make` made; None for the first page.
            place: The list.
            lasting: Lifetime of a cursor, in seconds.

        Raises:
            InvalidRequestError: It was not made here or for this list, or has expired.
        """
        if cursor is None:
            return None
        try:
            *where, before = self._serializer.loads(cursor, max_age=lasting)
        except SignatureExpired:
            raise InvalidRequestError("this cursor has expired", remedy=_REMEDY) from None
        except BadData:
            raise InvalidRequestError("this is not a cursor of this server", remedy=_REMEDY) from None
        if where != [place.route, place.data_set, place.person, place.choice]:
            raise InvalidRequestError("this cursor belongs to another list", remedy=_REMEDY)
        return int(before)
