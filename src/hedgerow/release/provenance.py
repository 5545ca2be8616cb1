"""How a release came about: algorithm, parameters, versions, and whether its noise was secure."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, final

NOT_PRIVATE = "NOT PRIVATE: seeded"
"""The stamp of a release whose noise anybody who knows the seed can draw again."""


@final
@dataclass(frozen=True)
class Provenance:
    """How a release came about; public, and free of anything read off the data.

    Attributes:
        algorithm: Name of the algorithm.
        parameters: Its configuration, as plain values that JSON can hold.
        secure: Whether all noise came from the secure source. A seeded source makes the release not private.
        versions: Versions of Hedgerow, Python and numpy that made it.

    Example:
        >>> Provenance.record("MWEM", {"rounds": 10}, secure=False).stamp
        'NOT PRIVATE: seeded'
    """

    algorithm: str
    parameters: Mapping[str, Any]
    secure: bool
    versions: Mapping[str, str] = field(repr=False)

    @classmethod
    def record(cls, algorithm: str, parameters: Mapping[str, Any], *, secure: bool) -> Self:
        """Provenance of a run in this process, with the versions that are installed.

        Args:
            algorithm: Name of the algorithm.
            parameters: Its configuration: texts, numbers, booleans, None, and lists and mappings of these.
            secure: Whether all noise came from the secure source.
        """
        return cls(algorithm, dict(parameters), secure, installed_versions())

    def to_dict(self) -> dict[str, Any]:
        """For JSON; ``from_dict`` reads it."""
        return {
            "stamp": self.stamp,
            "algorithm": self.algorithm,
            "parameters": dict(self.parameters),
            "secure": self.secure,
            "versions": dict(self.versions),
        }

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` wrote.

        Raises:
            KeyError, TypeError, ValueError: It was something else.
        """
        if not isinstance(mapping["secure"], bool):
            raise TypeError("whether the noise was secure is not said")
        return cls(str(mapping["algorithm"]), dict(mapping["parameters"]), mapping["secure"], dict(mapping["versions"]))

    @property
    def stamp(self) -> str:
        """``"NOT PRIVATE: seeded"`` if the noise was seeded, else nothing."""
        return "" if self.secure else NOT_PRIVATE


def installed_versions() -> dict[str, str]:
    """Versions that decide what a run does.

    Example:
        >>> sorted(installed_versions())
        ['hedgerow', 'numpy', 'opendp', 'python']
    """
    from importlib.metadata import version

    import numpy as np

    from hedgerow.version import __version__

    return {
        "hedgerow": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "opendp": version("opendp"),
    }
