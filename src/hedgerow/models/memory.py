"""How much memory a hypothesis may use."""

from __future__ import annotations

from hedgerow.errors import ModelTooLargeError
from hedgerow.memory import available_bytes

SHARE = 0.85
"""Part of the available memory that one hypothesis may fill; the rest is for the table and the records."""

_ALWAYS_FITS = 2**20
"""Bytes below which the system is not asked: that takes milliseconds, and small hypotheses are made often."""


def usable_bytes() -> int:
    """What hypotheses and the work on them may fill, as of now.

    Example:
        >>> usable_bytes() > 0
        True
    """
    return int(SHARE * available_bytes())


def check(cells: int, required: int) -> None:
    """Refuse what would not fit, before it is allocated.

    Args:
        cells: Number of cells of the domain.
        required: Bytes that the run needs.

    Raises:
        ModelTooLargeError: More than ``SHARE`` of the available memory is required.

    Example:
        >>> check(cells=8, required=64)
    """
    if required <= _ALWAYS_FITS:
        return
    usable = usable_bytes()
    if required > usable:
        raise ModelTooLargeError(cells=cells, required_bytes=required, available_bytes=usable)
