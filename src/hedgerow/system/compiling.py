"""Decorators that compile kernels quickly, so that a first run does not wait long.

The wrappers that numba makes for calls from C and from Python take as long to compile as a small function. Divisions
by 0 follow the rules of floats: kernels check where they must, which is not at every division. Slices, assignments to
slices and arrays that kernels make cost far more to compile than loops.
"""

from __future__ import annotations

import math
import time
from functools import cache, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

_LONG = 1.0
"""Seconds of compiling that are worth a word."""
_FEW = 20_000
"""Numbers in all arguments of one call that Python may look at one by one."""
_ENOUGH = 0.8
"""Seconds that a process spends in Python on one function, before it is compiled instead."""
_AT_ONCE: list[bool] = []
"""True, once everything is to be compiled as soon as it is called."""
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


def late(compiled: Function) -> Function:
    """A decorator above that of a kernel whose work is mostly small: Python does it, until that has taken a while.

    Compiling such a function takes longer than thousands of its calls. Where it was compiled before, it is not
    interpreted. A call of Python does the same operations in the same order, so that results are the same to the bit:
    let there be no option of ``numba.njit`` that changes the order of sums, and no integers that wrap around.

    Args:
        compiled: Made by ``kernel``. Kernels can call it, but not what this returns.

    Example:
        >>> import numpy as np
        >>> @late
        ... @kernel(cache=False)
        ... def total(numbers: np.ndarray) -> int:
        ...     found = 0
        ...     for number in numbers:
        ...         found += number
        ...     return found
        >>> int(total(np.arange(5)))
        10
    """
    return cast("Function", _Late(compiled))


def compile_at_once() -> None:
    """Have this process interpret nothing."""
    _AT_ONCE[:] = [True]


class _Late:
    """What ``late`` returns."""

    def __init__(self, compiled: Any) -> None:
        update_wrapper(self, compiled.py_func)
        compiled.late = True
        self.compiled, self._spent = compiled, 0.0
        self._interpreted: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        if self._spent >= _ENOUGH or _AT_ONCE or _numbers(args) > _FEW:
            return self.compiled(*args)
        if self._interpreted is None:
            if _is_kept(self.compiled):
                self._spent = math.inf
                return self.compiled(*args)
            self._interpreted = _interpreted(self.compiled.py_func)
        import numpy as np

        begun = time.thread_time()
        with np.errstate(all="ignore"):
            found = self._interpreted(*args)
        self._spent += time.thread_time() - begun
        return found


def _numbers(args: Any) -> int:
    """Elements of all arrays."""
    return sum(_numbers(each) if isinstance(each, tuple) else getattr(each, "size", 1) for each in args)


def _is_kept(compiled: Any) -> bool:
    """Whether an earlier process compiled a function, or this one did."""
    folder, name = compiled.stats.cache_path, compiled.py_func.__qualname__
    return bool(compiled.signatures) or (folder is not None and any(Path(folder).glob(f"*.{name}-*.nbi")))


def _interpreted(function: FunctionType) -> FunctionType:
    """A function in which Python also does what is only there for compiled functions to call."""
    known: dict[str, Any] = function.__globals__
    called = {name: known[name] for name in function.__code__.co_names if hasattr(known.get(name), "targetoptions")}
    parts = {
        name: _interpreted(part.py_func)
        for name, part in called.items()
        if hasattr(part, "late") or part.targetoptions.keys() & {"no_cpython_wrapper", "inline"}
    }
    return FunctionType(function.__code__, {**known, **parts})


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
