"""Plug-ins: classes that other installed packages give to hedgerow through Python entry points.

A package names its plug-ins in its ``pyproject.toml``, in the groups ``hedgerow.mechanisms`` and ``hedgerow.families``.
Reading the names imports nothing; a class is imported when it is asked for. docs/extending.md shows how.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING, Any

from hedgerow.errors import PlugInError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def _installed(group: str) -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=group), key=lambda point: point.name))


def plug_in_names(group: str, taken: Collection[str]) -> tuple[str, ...]:
    """Names of the installed plug-ins of a group, in alphabetical order.

    Args:
        group: The group of entry points.
        taken: Names that plug-ins may not have.

    Raises:
        PlugInError: A plug-in has a name that is taken, by hedgerow or by another plug-in.

    Example:
        >>> plug_in_names("hedgerow.no_such_group", ())
        ()
    """
    points: dict[str, EntryPoint] = {}
    for point in _installed(group):
        if point.name in taken or point.name in points:
            other = f"the package {_package(points[point.name])}" if point.name in points else "hedgerow"
            raise PlugInError(
                f"the package {_package(point)} calls a plug-in {point.name!r}, a name that {other} has already",
                remedy="rename the plug-in, or uninstall the package",
            )
        points[point.name] = point
    return tuple(points)


def load_plug_in(group: str, name: str, base: type) -> Any:
    """Import the class of a plug-in.

    Args:
        group: The group of entry points.
        name: One of the names of `plug_in_names`.
        base: The class that it must be derived from.

    Raises:
        PlugInError: The class cannot be imported, or is not derived from ``base``.
    """
    (point,) = (each for each in _installed(group) if each.name == name)
    remedy = f"repair or uninstall the package {_package(point)}"
    try:
        loaded = point.load()
    except Exception as error:
        message = f"the plug-in {name!r} of the package {_package(point)} cannot be loaded: {error!r}"
        raise PlugInError(message, remedy=remedy) from error
    if not (isinstance(loaded, type) and base in loaded.mro()):
        message = f"the plug-in {name!r} of the package {_package(point)} is not a subclass of {base.__name__}"
        raise PlugInError(message, remedy=remedy)
    return loaded


def _package(point: EntryPoint) -> str:
    return repr(point.dist.name) if point.dist is not None else f"of {point.value!r}"
