"""Provenance of a release: algorithm, parameters, versions, and whether its noise was secure."""

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from hedgerow.privacy import SECURE_SOURCE, SeededNoise, name_of_source

NOT_PRIVATE = "NOT PRIVATE: seeded"
"""The stamp of a release whose noise can be reproduced by anybody who knows the seed."""
NOT_KNOWN = "NOT PRIVATE: noise from a source of its own"
"""The stamp of a release whose noise came from a source outside of this package."""

LEFT_OUT = {
    "refuse": "",
    "drop": "Records that break a rule of the domain are left out, one by one: all of this is about the others alone.",
}
"""Public statements about what becomes of such records."""


@dataclass(frozen=True)
class Provenance:
    """Origin of a release; public, and free of anything computed from the data.

    Attributes:
        algorithm: Name of the algorithm.
        parameters: Its configuration, as plain values that JSON can hold.
        secure: Whether all noise came from the secure source. Any other source makes the release not private.
        versions: Versions of Hedgerow, Python, numpy and OpenDP.
        noise: Full name of the class that drew the noise last; empty for files of the first format, which lacks it.
        violations: Whether records that broke a rule of the domain were refused, or left out one by one ("drop").

    Example:
        >>> Provenance.record("MWEM", {"rounds": 10}, noise="my.Noise").stamp
        'NOT PRIVATE: noise from a source of its own'
    """

    algorithm: str
    parameters: Mapping[str, Any]
    secure: bool
    versions: Mapping[str, str] = field(repr=False)
    noise: str
    violations: str = "refuse"

    def __post_init__(self) -> None:
        """Check that only noise of the secure source is called secure.

        Raises:
            ValueError: Noise of another source is called secure, or records were neither refused nor left out.
        """
        if self.violations not in LEFT_OUT:
            message = f"violations of rules were neither refused nor left out: {self.violations!r}"
            raise ValueError(message)
        if self.secure and self.noise not in ("", SECURE_SOURCE):
            message = f"noise of {self.noise} is not secure"
            raise ValueError(message)

    @classmethod
    def record(cls, algorithm: str, parameters: Mapping[str, Any], *, noise: str, violations: str = "refuse") -> Self:
        """Record the provenance of a run in this process, with the installed versions.

        Args:
            algorithm: Name of the algorithm.
            parameters: Its configuration: texts, numbers, booleans, None, and lists and mappings of these.
            noise: Full name of the class that drew all noise (``Curator.noise_source``).
            violations: Whether records that broke a rule were left out (``Curator.violations``).
        """
        return cls(algorithm, dict(parameters), noise == SECURE_SOURCE, installed_versions(), noise, violations)

    def to_dict(self) -> dict[str, Any]:
        """Values for JSON; ``from_dict`` reads them."""
        fields = {"stamp": self.stamp, **asdict(self)}
        if not self.left_out:
            del fields["violations"]
        return fields

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` wrote.

        Args:
            mapping: The values.

        Raises:
            KeyError, TypeError, ValueError: The values have another shape.
        """
        if not isinstance(mapping["secure"], bool):
            raise TypeError("'secure' must be true or false")
        return cls(
            str(mapping["algorithm"]),
            dict(mapping["parameters"]),
            mapping["secure"],
            dict(mapping["versions"]),
            str(mapping["noise"]),
            str(mapping.get("violations", "refuse")),
        )

    @property
    def left_out(self) -> str:
        """A sentence about records that are left out, or an empty text; how many there were is private."""
        return LEFT_OUT[self.violations]

    @property
    def stamp(self) -> str:
        """``"NOT PRIVATE: ..."`` with the reason, or an empty text."""
        known = self.noise in ("", SECURE_SOURCE, _SEEDED)
        return "" if self.secure else NOT_PRIVATE if known else NOT_KNOWN


_SEEDED = name_of_source(SeededNoise(0))


def installed_versions() -> dict[str, str]:
    """Versions of the software that the numbers of a run depend on.

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
