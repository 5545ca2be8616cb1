"""Tokens: making them, verifying them, and what a token of some data sets may see and make.

A token is ``hgr_<id>_<secret>``: the id is public and names it in lists, the secret is 256 random bits. Only a scrypt
digest of the secret is kept. A token that was verified once is recognised by its SHA-256 while the process lives,
so that scrypt runs once. Whether it was revoked, and what it opens, is read from the store again as soon as any process
has committed anything to that.
"""

import hashlib
import hmac
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from hedgerow.errors import NotAllowedError, NotSignedInError, NotThereError, RateError
from hedgerow.service.store import Person, Store, Token

PREFIX = "hgr"
DEFAULT_DAYS = 30
"""Lifetime of a token unless another is given; a token without end must be asked for explicitly."""
SALT_BYTES = 16
_WIDTH = 2**14
_BLOCKS = 8
_FORM = re.compile(rf"{PREFIX}_([0-9a-f]{{16}})_([A-Za-z0-9_-]{{43}})", re.ASCII)
_KNOWN = 4096
_PATIENCE = 5.0
_REMEDY = "send the header 'Authorization: Bearer hgr_...' with a token that a custodian made"


@dataclass(frozen=True)
class NewToken:
    """A token that was just made; the only object that holds its secret.

    Attributes:
        text: The whole token. SECRET: shown once, kept nowhere.
        token: Its public part.
        salt: Salt of the digest.
        digest: Digest that the secret is checked against.
    """

    text: str = field(repr=False)
    token: Token
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)


@dataclass(frozen=True)
class Caller:
    """The person who makes a request, and the token used.

    Attributes:
        person: The person.
        token: The token that the request carries.
    """

    person: Person
    token: Token

    @property
    def is_custodian(self) -> bool:
        """Whether everything is allowed."""
        return self.person.role == "custodian"

    def check_reaches_all(self) -> None:
        """Refuse what concerns the whole server.

        Raises:
            NotAllowedError: The token opens some data sets only.
        """
        if self.token.data_sets is not None:
            raise NotAllowedError(
                "your own token is for some data sets only", remedy="name those, or use a token for all data sets"
            )


def new_token(
    person: int,
    *,
    data_sets: tuple[str, ...] | None = None,
    expires: datetime | None = None,
    note: str = "",
    now: datetime | None = None,
) -> NewToken:
    """Draw a token.

    Args:
        person: Number of its owner.
        data_sets: Names of the data sets that it opens; None for all.
        expires: End of its life, in UTC; None for a token that does not expire.
        note: Purpose, in words.
        now: The time, in UTC.

    Example:
        >>> made = new_token(1)
        >>> made.text.split("_")[:2] == ["hgr", made.token.id], made.text in repr(made)
        (True, False)
    """
    id, secret, salt = secrets.token_hex(8), secrets.token_urlsafe(32), secrets.token_bytes(SALT_BYTES)
    token = Token(id, person, data_sets, now or datetime.now(UTC), expires=expires, note=note)
    return NewToken(f"{PREFIX}_{id}_{secret}", token, salt, digest_of(secret, salt))


def parse(text: str) -> tuple[str, str] | None:
    """The id and the secret of a token; None if the text is not a token.

    Example:
        >>> parse("hgr_0123456789abcdef_" + "x" * 43)[0], parse("Robert'); DROP TABLE")
        ('0123456789abcdef', None)
    """
    found = _FORM.fullmatch(text)
    return None if found is None else (found[1], found[2])


def digest_of(secret: str, salt: bytes) -> bytes:
    """The scrypt digest of a secret, 64 bytes.

    Example:
        >>> len(digest_of("secret", b"0123456789abcdef"))
        64
    """
    return hashlib.scrypt(secret.encode(), salt=salt, n=_WIDTH, r=_BLOCKS, p=1)


class Verifier:
    """Finds the owner of a token.

    Args:
        store: Store of the tokens.
        known: Number of tokens that are recognised without scrypt.

    Example:
        >>> class OneToken:
        ...     def token(self, id):
        ...         return (made.token, made.salt, made.digest, ada) if id == made.token.id else None
        >>> ada, made = Person(1, "ada", "analyst", datetime.now(UTC)), new_token(1)
        >>> Verifier(OneToken()).caller(made.text).person.name
        'ada'
    """

    def __init__(self, store: Store, *, known: int = _KNOWN) -> None:
        """Start with no token known."""
        self._store = store
        self._largest = known
        self._known: OrderedDict[bytes, bytes] = OrderedDict()
        self._good: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()

    def caller(
        self, text: str, *, before_work: Callable[[], None] = lambda: None, now: datetime | None = None
    ) -> Caller:
        """Find the owner of a token.

        Args:
            text: The token as sent.
            before_work: Called before scrypt runs; may raise to refuse.
            now: The time, in UTC.

        Raises:
            WrongTokenError: It is malformed, is not known, or its secret is wrong: the three are not distinguished.
            NotSignedInError: It has expired or was revoked.
            RateError: Too many unknown tokens are being looked at.
        """
        parts = parse(text)
        if parts is None:
            raise WrongTokenError
        found = self._store.token(parts[0])
        salt, digest = (b"\0" * SALT_BYTES, b"") if found is None else found[1:3]
        right = self._is_right(text, parts[1], salt, digest, before_work)
        good = None
        try:
            if found is None or not right:
                raise WrongTokenError
            token, _, _, person = found
            _check_still_good(token, now or datetime.now(UTC))
            good = person.id
        finally:
            self._note(text, good)
        return Caller(person, token)

    def caller_at_hand(self, text: str) -> Caller | None:
        """The owner of a token that was verified, if nothing about tokens changed since; None if that takes some work.

        Args:
            text: The token as sent.

        Raises:
            NotSignedInError: It has expired.
        """
        parts = parse(text)
        found = None if parts is None else self._store.token_at_hand(parts[0])
        if found is None or not self._knows(hashlib.sha256(text.encode()).digest(), found[2]):
            return None
        _check_still_good(found[0], datetime.now(UTC))
        return Caller(found[3], found[0])

    def person_of(self, text: str) -> int | None:
        """The number of the person of a token that was good when it was looked at last; None for any other.

        Args:
            text: The token as sent.
        """
        with self._lock:
            return self._good.get(hashlib.sha256(text.encode()).digest())

    def _note(self, text: str, person: int | None) -> None:
        key = hashlib.sha256(text.encode()).digest()
        with self._lock:
            self._good.pop(key, None)
            if person is not None:
                self._good[key] = person
            while len(self._good) > self._largest:
                self._good.popitem(last=False)

    def _is_right(self, text: str, secret: str, salt: bytes, digest: bytes, before_work: Callable[[], None]) -> bool:
        key = hashlib.sha256(text.encode()).digest()
        if self._knows(key, digest):
            return True
        before_work()
        if not self._one_at_a_time.acquire(timeout=_PATIENCE):  # each takes 16 MiB
            raise RateError("too many unknown tokens are being looked at", seconds=_PATIENCE, remedy="try again later")
        try:
            if self._knows(key, digest):
                return True
            right = hmac.compare_digest(digest_of(secret, salt), digest)
            if right:  # before the next thread looks whether it is known
                self._learn(key, digest)
        finally:
            self._one_at_a_time.release()
        return right

    def _knows(self, key: bytes, digest: bytes) -> bool:
        with self._lock:
            known = self._known.get(key)
            if known is None:
                return False
            self._known.move_to_end(key)
        return hmac.compare_digest(known, digest)

    def _learn(self, key: bytes, digest: bytes) -> None:
        with self._lock:
            self._known[key] = digest
            while len(self._known) > self._largest:
                self._known.popitem(last=False)


class WrongTokenError(NotSignedInError):
    """A token that may be a guess."""

    def __init__(self) -> None:
        """Say nothing about what is wrong with it."""
        super().__init__("this is not a token of this server", remedy=_REMEDY)


def bearer(header: str | None) -> str:
    """The token in an Authorization header.

    Raises:
        NotSignedInError: The header holds no token.

    Example:
        >>> bearer("Bearer hgr_1_2")
        'hgr_1_2'
    """
    scheme, _, text = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise NotSignedInError("this needs a token", remedy=_REMEDY)
    return text.strip()


def _check_still_good(token: Token, now: datetime) -> None:
    if token.revoked is not None:
        raise NotSignedInError("this token was revoked", remedy="ask a custodian for a new one")
    if token.expires is not None and token.expires <= now:
        raise NotSignedInError("this token has expired", remedy="ask a custodian for a new one")


def people_in(store: Store, by: Caller) -> list[Person]:
    """The people that a custodian may know of, by name.

    They are those who can ask one of the data sets in her scope, who have asked it, who have limits there, or who have
    or had a token in the scope; and herself.

    Args:
        store: Store of the people.
        by: The custodian.
    """
    scope = by.token.data_sets
    if scope is None:
        return store.people()
    now = datetime.now(UTC)
    known = {by.person.id}
    known |= {each.person for each in store.tokens() if _concerns(each, scope, now)}
    known |= {grant.person for name in scope for grant in store.grants(store.data_set(name).id)}
    return [person for person in store.people() if person.id in known]


def person_in(store: Store, name: str, by: Caller) -> Person:
    """Someone by name.

    Raises:
        NotThereError: There is no one of this name, or no one that the custodian may know of.
    """
    found = next((person for person in people_in(store, by) if person.name == name), None)
    if found is None:
        raise NotThereError("there is no such person", remedy="GET /v1/people lists them")
    return found


def tokens_in(store: Store, by: Caller) -> list[Token]:
    """The tokens that a custodian may see and revoke: those that open nothing outside her scope."""
    return [token for token in store.tokens() if token.lies_within(by.token.data_sets)]


def check_may_have(person: Person, by: Caller) -> None:
    """Refuse a token for a person on whose behalf a custodian may not act.

    Raises:
        NotAllowedError: A custodian of some data sets makes a token for another custodian.
    """
    if by.token.data_sets is not None and person.role == "custodian" and person.id != by.person.id:
        raise NotAllowedError(
            "with a token for some data sets only, you can make tokens for analysts and for yourself",
            remedy="ask a custodian of all data sets",
        )


def end_of(days: int | Literal["ever"] | None, by: Caller, now: datetime) -> datetime | None:
    """The end of a new token's life.

    Args:
        days: Days asked for; None for the default: 30, or the rest of the custodian's own token if that is less.
        by: The custodian. If her token is for some data sets only, no token that she makes outlives it.
        now: The time, in UTC.

    Returns:
        The time; None if it never ends.

    Raises:
        NotAllowedError: It would outlive hers.
    """
    wanted = None if days == "ever" else now + timedelta(days=DEFAULT_DAYS if days is None else days)
    latest = None if by.token.data_sets is None else by.token.expires
    if latest is None or (wanted is not None and wanted <= latest):
        return wanted
    if days is None:
        return latest
    raise NotAllowedError(
        "your own token is for some data sets only, and no token that you make with it can outlive it",
        remedy="leave 'days' out: the new token then ends with yours",
    )


def _concerns(token: Token, scope: tuple[str, ...], now: datetime) -> bool:
    """Whether a token is one of the scope, or opens something in it."""
    is_good = token.revoked is None and (token.expires is None or token.expires > now)
    return token.lies_within(scope) or (is_good and any(token.reaches(name) for name in scope))
