"""How kernels are compiled, so that a first run does not wait long for it.

What numba makes of a kernel beside the machine code, so that other compilers can call it and Python can, takes longer
than a small kernel itself. Divisions by 0 follow the rules of floats: kernels look where they must, which is not at
every division.
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


def part(**options: Any) -> Callable[[Function], Function]:
    """A decorator for a compiled function that only kernels call; called from Python, it ends the process.

    Args:
        options: More options of ``numba.njit``.

    Example:
        >>> @part(cache=False)
        ... def twice(number: int) -> int:
        ...     return 2 * number
        >>> @kernel(cache=False)
        ... def four_times(number: int) -> int:
        ...     return twice(twice(number))
        >>> four_times(4)
        16
    """
    return kernel(no_cpython_wrapper=True, **options)
