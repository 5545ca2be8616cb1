"""Decorators that compile kernels quickly, so that a first run does not wait long.

The wrappers that numba makes for calls from C and from Python take as long to compile as a small function. Divisions
by 0 follow the rules of floats: kernels check where they must, which is not at every division. Slices, assignments to
slices and arrays that kernels make cost far more to compile than loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")


def kernel(**options: Any) -> Callable[[Function], Function]:
    """A decorator for a compiled function that Python calls.

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

    decorator: Callable[[Function], Function] = njit(
        **{"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    )
    return decorator


def inlined() -> Callable[[Function], Function]:
    """A decorator for a function that is compiled as lines of the kernels that call it; best if only one does."""
    return kernel(inline="always")


def part(**options: Any) -> Callable[[Function], Function]:
    """A decorator for a function that several kernels call, or that needs options of its own.

    A call from Python ends the process.

    Args:
        options: More options of ``numba.njit``.
    """
    return kernel(no_cpython_wrapper=True, **options)
