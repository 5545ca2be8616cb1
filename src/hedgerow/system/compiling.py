"""Decorators that compile kernels quickly, so that a first run does not wait long.

The wrappers that numba makes for calls from C and from Python take as long to compile as a small function. Divisions
by 0 follow the rules of floats: kernels check where they must, which is not at every division. Slices, assignments to
slices and arrays that kernels make cost far more to compile than loops.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

_LONG = 1.0
"""Seconds of compiling that are worth a word."""
_TOLD: list[Callable[[], None]] = []
"""The function that is to be called, until it was."""


def kernel(**options: Any) -> Callable[[Function], Function]:
    """A decorator for a compiled function that Python calls.

    What is compiled is kept for later processes; where no folder can be written to, each process compiles for itself.

    Args:
        options: More options of ``numba.njit``.

    Example:
        >>> @kernel(cache=False)
        ... def twice(number: int) -> int:
        ...     return 2 * number
        >>> twice(4)
        8
    """
    from numba import njit

    if _TOLD:
        _listen()
    chosen = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}

    def decorated(function: Function) -> Function:
        try:
            compiled: Function = njit(**chosen)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            compiled = njit(**{**chosen, "cache": False})(function)
        return compiled

    return decorated


def inlined() -> Callable[[Function], Function]:
    """A decorator for a function that is compiled as lines of the kernels that call it; best if only one does."""
    return kernel(inline="always", cache=False)


def device_function(**options: Any) -> Callable[[Function], Function]:
    """A decorator for a function that several kernels call, or that needs options of its own.

    A call from Python ends the process.

    Args:
        options: More options of ``numba.njit``.
    """
    return kernel(no_cpython_wrapper=True, **options)


def when_compiling(tell: Callable[[], None]) -> None:
    """Have a function called once, as soon as this process has compiled for a second: what is kept costs none.

    Args:
        tell: Takes the place of the function that was given before.

    Example:
        >>> when_compiling(lambda: print("compiling"))
        >>> when_compiling(lambda: None)
    """
    _TOLD[:] = [tell]


@cache
def _listen() -> None:
    """Follow what numba says of its compiling."""
    from numba.core import event

    class Compiling(event.Listener):
        begun, depth, seconds = 0.0, 0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.begun = time.monotonic()
            self.depth += 1
            self._tell()

        def on_end(self, event: Any) -> None:
            self._tell()
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.monotonic() - self.begun

        def _tell(self) -> None:
            if _TOLD and self.seconds + time.monotonic() - self.begun >= _LONG:
                _TOLD.pop()()

    register: Any = event.register
    register("numba:compile", Compiling())


def compiled_folder() -> Path | None:
    """The folder below which compiled functions are kept; None where none can be written to.

    That is ``NUMBA_CACHE_DIR`` if it is set, else the package's own folder, else one of the user.

    Example:
        >>> compiled_folder().is_dir()
        True
    """
    kept: Any = kernel()(_nothing)
    if kept.stats.cache_path is None:
        return None
    folder, package = Path(kept.stats.cache_path), Path(__file__).parents[1]
    return package if package in folder.parents else folder.parent


def _nothing() -> None:
    """A function that can be compiled."""
