"""Limits on the memory of a hypothesis."""

from collections.abc import Iterable, Iterator

from hedgerow.domain import Clique, Domain
from hedgerow.errors import MarginalTooLargeError, ModelTooLargeError
from hedgerow.system import available_bytes

SHARE = 0.85
"""Part of the available memory that one hypothesis may fill; the rest is for the table and the records."""

_ALWAYS_FITS = 2**20
"""Up to that many bytes the system is not asked: it takes milliseconds, and small hypotheses are made often."""


def usable_bytes() -> int:
    """Bytes that hypotheses and the work on them may fill now.

    Example:
        >>> usable_bytes() > 0
        True
    """
    return int(SHARE * available_bytes())


def required_bytes(domain: Domain, copies: int) -> int:
    """Memory of a run that holds some arrays over all cells at once, exact however large.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> required_bytes(Domain((IntegerRange("a", 0, 1023),)), copies=2)
        16384
    """
    return 8 * copies * domain.size


def check_fits(domain: Domain, copies: int, *, averaged: bool = False) -> None:
    """Refuse a domain that is too large for memory, before anything is allocated.

    Args:
        domain: The domain of the hypothesis.
        copies: Arrays over all cells that are held at once.
        averaged: Whether one of them is an average of hypotheses, which need not be taken.

    Raises:
        ModelTooLargeError: More than ``SHARE`` of the available memory is required.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> check_fits(Domain((IntegerRange("a", 0, 1023),)), copies=2)
    """
    check_cells(domain.size, required_bytes(domain, copies), averaged=averaged)


def check_cells(cells: int, required: int, *, tree: bool = False, averaged: bool = False) -> None:
    """Refuse a hypothesis that is too large for memory, before anything is allocated.

    Args:
        cells: Number of its cells, for the message.
        required: Bytes of the hypothesis and of the work on it.
        tree: Whether these are cells of junction trees.
        averaged: Whether it includes an average of hypotheses, which need not be taken.

    Raises:
        ModelTooLargeError: More than may be used now is required.

    Example:
        >>> check_cells(2**10, 48 * 2**10, tree=True)
    """
    if not has_room(required):
        raise ModelTooLargeError(
            cells=cells, required_bytes=required, available_bytes=usable_bytes(), averaged=averaged, tree=tree
        )


def has_room(required: int) -> bool:
    """Whether that many bytes may be used now; a megabyte always may.

    Example:
        >>> has_room(2**20), has_room(2**80)
        (True, False)
    """
    return required <= _ALWAYS_FITS or required <= usable_bytes()


def runs_within(sizes: Iterable[int], most: int) -> Iterator[slice]:
    """Cut a list into runs of bounded size; an item that is larger by itself is alone.

    Args:
        sizes: Sizes of the items of the list.
        most: Largest sum of the sizes of a run.

    Example:
        >>> list(runs_within([3, 4, 2, 9, 1], 7))
        [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    start = stop = held = 0
    for place, size in enumerate(sizes):
        if place > start and held + size > most:
            yield slice(start, place)
            start, held = place, 0
        stop, held = place + 1, held + size
    if stop:
        yield slice(start, stop)


class Room:
    """The usable memory, looked up once: for very many checks in a row.

    Example:
        >>> room = Room()
        >>> room.has(2**20), room.has(2**80)
        (True, False)
    """

    def __init__(self) -> None:
        """Look nothing up yet."""
        self._bytes: int | None = None

    def has(self, required: int) -> bool:
        """Whether that many bytes may be used."""
        if required > _ALWAYS_FITS and self._bytes is None:
            self._bytes = usable_bytes()
        return required <= _ALWAYS_FITS or (self._bytes is not None and required <= self._bytes)

    def check(self, attributes: Clique, cells: int, required: int) -> None:
        """Refuse a table that is too large, before it is allocated.

        Args:
            attributes: Attributes of the table.
            cells: Cells of the table.
            required: Bytes that it takes to make it.

        Raises:
            MarginalTooLargeError: The table does not fit.
        """
        if not self.has(required):
            raise MarginalTooLargeError(
                attributes=attributes, cells=cells, required_bytes=required, available_bytes=usable_bytes()
            )
