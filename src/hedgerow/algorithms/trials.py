"""Configurations among which a release is chosen: the first run that holds its criteria (theory.md, section 23)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hedgerow.algorithms.registry import parse
from hedgerow.errors import ConfigError
from hedgerow.release import read_yaml

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm

TRIES = 10
"""Mean number of runs where none holds its criteria, unless another is given."""


@dataclass(frozen=True)
class Configuration:
    """A mechanism and a workload that may make the release.

    Attributes:
        mechanism: Its name, with options as in ``mwem:rounds=30``.
        workload: Text of the queries; None for those that the release is asked for.

    Example:
        >>> Configuration.of({"mechanism": "mwem:rounds=30"}).algorithm().parameters()["rounds"]
        30
    """

    mechanism: str = "mwem"
    workload: str | None = None

    @classmethod
    def of(cls, entry: object) -> Self:
        """Read an entry of a file.

        Raises:
            ConfigError: It is something else, or the mechanism is unknown.
        """
        texts = isinstance(entry, Mapping) and all(isinstance(value, str) for value in entry.values())
        if not isinstance(entry, Mapping) or not texts or not set(entry) <= {"mechanism", "workload"}:
            remedy = "write 'mechanism: mwem:rounds=30', and 'workload: marginals:2' below it if it has its own"
            raise ConfigError(f"{entry!r} is not a configuration", remedy=remedy)
        made = cls(**entry)
        made.algorithm()
        return made

    def algorithm(self) -> Algorithm:
        """The configured mechanism."""
        return parse(self.mechanism)


@dataclass(frozen=True)
class Trials:
    """Configurations that runs are drawn from, each as likely as the others, until one holds all criteria.

    Attributes:
        configurations: The configurations.
        tries: After a run that does not hold them all ends with probability ``1 / tries``.

    Example:
        >>> Trials.of([{"mechanism": "mwem"}, {"mechanism": "laplace"}]).tries
        10
    """

    configurations: tuple[Configuration, ...]
    tries: int = TRIES

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: There is no configuration, or the tries are out of their range.
        """
        from hedgerow.privacy import RunSelection

        if not self.configurations:
            raise ConfigError("there is no configuration to try", remedy="list some below 'configurations:'")
        whole = isinstance(self.tries, int) and not isinstance(self.tries, bool)
        RunSelection(1.0, self.tries if whole else 0)

    @classmethod
    def of(cls, given: Trials | str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any]) -> Self:
        """Read configurations: a file, its content, or a list of entries.

        Args:
            given: A YAML file of ``configurations:`` and perhaps ``tries:``; the same as a mapping; or the list alone.

        Raises:
            ConfigError: The file cannot be read, or holds something else.
        """
        if isinstance(given, Trials):
            return cls(given.configurations, given.tries)
        if isinstance(given, str | os.PathLike):
            return cls.of(read_yaml(Path(given), "configurations"))
        content: Mapping[str, Any] = given if isinstance(given, Mapping) else {"configurations": given}
        listed = content.get("configurations")
        if (
            not isinstance(listed, Sequence)
            or isinstance(listed, str)
            or not set(content) <= {"configurations", "tries"}
        ):
            remedy = "write a list below 'configurations:', and 'tries: 10' or none"
            raise ConfigError("these are no configurations", remedy=remedy)
        made = []
        for number, entry in enumerate(listed, 1):
            try:
                made.append(Configuration.of(entry))
            except ConfigError as error:
                raise ConfigError(f"configuration {number}: {error.message}", remedy=error.remedy) from error
        return cls(tuple(made), content.get("tries", TRIES))
