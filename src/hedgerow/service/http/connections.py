"""Limits of connections, and the choice of the one that makes room when there are too many.

A connection *waits* while the server has no head of a request of it to answer: nothing came, half a head came, or its
last request is answered. When a limit is reached the connection that has waited longest makes room for the new one:
first those that never brought a valid token, then those that did, then those that owe a body and have gone silent. So
clients that open connections and send nothing drive out connections of the same kind, and no one who asks. Only if all
are being answered is a new one turned away.
"""

import asyncio
import resource
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

from hedgerow.errors import ConfigError
from hedgerow.service.settings import check_count

BACKLOG = 64
"""Connections that are accepted at once: so many before any of them is counted."""
QUEUE = 4096
"""Connections that the machine queues beside them; of more than it queues, clients try again after whole seconds."""
_OWN_FILES = 200
"""Descriptors that are left to the store, tables, uploads, and what is accepted and not counted yet."""
_MOST = 10_000
_FEWEST = 16
_TICK = 1.0
_LINGERING = 64
LINGER_SECONDS = 0.5
"""Time for a client to fetch the answer that its connection is refused: a close with unread bytes would destroy it."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of the connections of a server.

    Attributes:
        total: Connections at a time.
        per_address: Connections at a time of one address; named proxies are exempt.
        head_seconds: Seconds after which a connection without a complete head of a request is closed.
        stall_seconds: Seconds in which a body must make progress, and in which an answer must be fetched.
        bytes_per_second: Required progress, on average.

    Example:
        >>> ConnectionLimits.of(descriptors=1024)
        ConnectionLimits(total=824, per_address=206, head_seconds=10.0, stall_seconds=20.0, bytes_per_second=500)
        >>> ConnectionLimits(total=0, per_address=1)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: the number of connections must be a whole number from 1, not 0
    """

    total: int
    per_address: int
    head_seconds: float = 10.0
    stall_seconds: float = 20.0
    bytes_per_second: int = 500

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: One is not above 0.
        """
        for name, value in (("connections", self.total), ("connections of an address", self.per_address)):
            check_count(f"the number of {name}", value)
        if min(self.head_seconds, self.stall_seconds, self.bytes_per_second) <= 0:
            raise ConfigError("time-outs of connections must be above 0 seconds", remedy="for example 10")

    @classmethod
    def of(
        cls,
        total: int | None = None,
        per_address: int | None = None,
        *,
        head_seconds: float = 10.0,
        stall_seconds: float = 20.0,
        descriptors: int | None = None,
    ) -> Self:
        """Limits that fit the files which this process may open.

        Args:
            total: Connections at a time; by default all that fit, up to 10,000.
            per_address: Connections at a time of one address; by default a quarter of all.
            head_seconds: See the class.
            stall_seconds: See the class.
            descriptors: Files that the process may open; by default what the system says (``ulimit -n``).

        Raises:
            ConfigError: The process may not open so many files.
        """
        files = open_files() if descriptors is None else descriptors
        fit = max(_FEWEST, files - _OWN_FILES)
        if total is not None and total > fit:
            raise ConfigError(
                f"{total:,} connections do not fit: this process may open {files:,} files, and needs some itself",
                remedy=f"raise the limit (ulimit -n), or take at most {fit:,}",
            )
        most = min(_MOST, fit) if total is None else total
        return cls(most, max(1, most // 4) if per_address is None else per_address, head_seconds, stall_seconds)


def open_files() -> int:
    """The number of files that this process may open.

    Example:
        >>> open_files() > 0
        True
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**20 if soft == resource.RLIM_INFINITY else soft


class Connection(Protocol):
    """A connection as its limits see it.

    Attributes:
        address: Address of the other end; empty if no limit per address applies.
        is_known: Whether it has brought a valid token.
    """

    address: str
    is_known: bool

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come for a while although something is owed."""

    def give_up(self) -> None:
        """End, to make room."""

    def check(self, now: float) -> None:
        """End, if a time-out has passed."""


class _Room:
    """Connections under one limit; those that wait in the order in which they began to.

    Those that owe a body stand in the order in which they were last heard of.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.inside: set[Connection] = set()
        self.strangers: OrderedDict[Connection, None] = OrderedDict()
        self.known: OrderedDict[Connection, None] = OrderedDict()
        self.owing: OrderedDict[Connection, None] = OrderedDict()

    def first_to_go(self) -> Connection | None:
        waiting = next(iter(self.strangers), None) or next(iter(self.known), None)
        owing = next(iter(self.owing), None)
        return waiting or (owing if owing is not None and owing.is_silent else None)

    def forget(self, each: Connection) -> None:
        for queue in (self.strangers, self.known, self.owing):
            queue.pop(each, None)


class Connections:
    """All connections of a server.

    Args:
        limits: Limits of their number.

    Example:
        >>> class Quiet:
        ...     address, is_known, is_silent, gone = "192.0.2.1", False, False, False
        ...     def give_up(self): self.gone = True
        >>> connections = Connections(ConnectionLimits(total=2, per_address=2))
        >>> first, second, third = Quiet(), Quiet(), Quiet()
        >>> [connections.admit(each) for each in (first, second, third)], first.gone, second.gone
        ([True, True, True], True, False)
        >>> connections.works(second)
        >>> connections.works(third)
        >>> connections.admit(Quiet())
        False
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        """Start with none."""
        self.limits = limits
        self._all = _Room(limits.total)
        self._of: dict[str, _Room] = {}
        self._tick = min(_TICK, limits.head_seconds / 10, limits.stall_seconds / 10)
        self._next: asyncio.TimerHandle | None = None
        self._lingering = 0

    def linger(self, loop: asyncio.AbstractEventLoop, close: Callable[[], None]) -> None:
        """Close a refused connection after a while, or at once where many of these are open."""
        if self._lingering >= _LINGERING:
            close()
            return
        self._lingering += 1
        loop.call_later(LINGER_SECONDS, self._end_lingering, close)

    def _end_lingering(self, close: Callable[[], None]) -> None:
        self._lingering -= 1
        close()

    def admit(self, new: Connection) -> bool:
        """Take in a connection, which waits; others may have to make room.

        Returns:
            Whether there was room.
        """
        rooms = self._rooms(new)
        if not all(self._has_room(room) for room in reversed(rooms)):
            self._tidy(new)
            return False
        for room in rooms:
            room.inside.add(new)
        self.waits(new)
        return True

    def waits(self, each: Connection) -> None:
        """Note that a connection waits from now on."""
        for room in self._rooms(each):
            room.forget(each)
            if each in room.inside:
                (room.known if each.is_known else room.strangers)[each] = None

    def owes(self, each: Connection) -> None:
        """Note that something of a request came, and that the rest of its body is owed."""
        for room in self._rooms(each):
            room.forget(each)
            if each in room.inside:
                room.owing[each] = None

    def works(self, each: Connection) -> None:
        """Note that the server has a whole request of a connection to answer."""
        for room in self._rooms(each):
            room.forget(each)

    def leave(self, each: Connection) -> None:
        """Forget a connection that has ended."""
        for room in self._rooms(each):
            room.forget(each)
            room.inside.discard(each)
        self._tidy(each)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make all connections check their time-outs, again and again until there are none left.

        Args:
            loop: The event loop, which has the clock.
        """
        if self._next is None:
            self._next = loop.call_later(self._tick, self._check, loop)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        self._next = None
        if self._all.inside:
            self.watch(loop)  # first, so that nothing that goes wrong with one connection keeps the others from it
        now = loop.time()
        for each in list(self._all.inside):
            each.check(now)

    def _rooms(self, each: Connection) -> list[_Room]:
        if not each.address:
            return [self._all]
        return [self._all, self._of.setdefault(each.address, _Room(self.limits.per_address))]

    def _has_room(self, room: _Room) -> bool:
        if len(room.inside) < room.most:
            return True
        found = room.first_to_go()
        if found is None:
            return False
        self.leave(found)
        found.give_up()
        return True

    def _tidy(self, each: Connection) -> None:
        if each.address in self._of and not self._of[each.address].inside:
            del self._of[each.address]
