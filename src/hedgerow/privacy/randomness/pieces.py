"""Long arrays a piece at a time: what is computed in between stays in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

_LENGTH = 1 << 15


def pieces(length: int) -> Iterator[slice]:
    """Slices that cover an array of so many numbers, one after the other.

    Example:
        >>> list(pieces(40_000))
        [slice(0, 32768, None), slice(32768, 65536, None)]
    """
    return (slice(start, start + _LENGTH) for start in range(0, length, _LENGTH))
