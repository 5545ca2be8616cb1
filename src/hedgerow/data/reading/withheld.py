"""What engines say of failures stays with them: it can hold cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar, final

import pyarrow as pa

from hedgerow.errors import DataError, raise_alone

T = TypeVar("T")

STREAM_FAILURES = (pa.ArrowException, OSError)
"""What Arrow makes of a failure of the engine in the middle of a stream, with the engine's own message."""


@final
class Failures:
    """Our own errors about a stream that goes through an engine, which would tell of them in its words.

    Example:
        >>> failures = Failures()
        >>> def stream():
        ...     raise DataError("it has no end")
        ...     yield 1
        >>> with failures.told():
        ...     try:
        ...         list(failures.noted(stream()))
        ...     except DataError:
        ...         raise ValueError("the engine failed") from None
        Traceback (most recent call last):
            ...
        hedgerow.errors.DataError: it has no end
    """

    def __init__(self) -> None:
        """Without one."""
        self._first: DataError | None = None

    def noted(self, stream: Iterable[T]) -> Iterator[T]:
        """The stream, whose failure is noted."""
        try:
            yield from stream
        except DataError as error:
            self._first = error
            raise

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raise what was noted in place of what the engine says."""
        try:
            yield
        except Exception:
            if self._first is None:
                raise
            raise_alone(self._first)
