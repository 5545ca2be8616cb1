"""Replicates of linked tables together: weights of parents, of their children, and of what is below these.

Each of their releases has noise of its own, independent of the others. So a replicate of each, all of the file, differ
from the hypotheses as the releases differ from the private tables, and what is computed of all tables varies over such
replicates as it would over releases. Records of all are drawn together, with intact keys. Nothing here is private.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats
from hedgerow.release.linked import LinkedRelease
from hedgerow.release.records import Records
from hedgerow.release.replicates import ReplicateEstimate, Replicates
from hedgerow.release.tracing import Traced
from hedgerow.system import numbered

if TYPE_CHECKING:
    import pyarrow as pa

LinkedStatistic = Callable[..., ArrayLike]
"""A number or an array of numbers, of each table of records, the parents' first, and behind it its weights."""


@dataclass(frozen=True, eq=False)
class LinkedReplicates:
    """Synthetic records of linked tables and replicates of them; made by `hedgerow.replicate`.

    Standard errors are about the private tables ("file").

    Attributes:
        release: The releases.
        tables: Replicates of the parents, with the number of their children, of the children beside their parents, and
            of what is below these; as many of each, of one form.

    Example:
        >>> import hedgerow, numpy as np, pyarrow as pa
        >>> homes, people = (hedgerow.Domain([hedgerow.IntegerRange(name, 0, 1)]) for name in "ab")
        >>> linked = hedgerow.Linked.of(homes, people, key="k", at_most=2, number="size")
        >>> parents = pa.table({"k": range(900), "a": [0, 1, 1] * 300})
        >>> children = pa.table({"k": [k for k in range(900) for _ in "12"[: k % 3]], "b": [1, 1, 0] * 300})
        >>> tables = hedgerow.read_linked(parents, children, linked)
        >>> budget, noise = hedgerow.PureDP(4.0), hedgerow.SeededNoise(0)
        >>> both = hedgerow.release_linked(hedgerow.MWEM(), tables, linked, budget, noise=noise)
        >>> replicates = hedgerow.replicate(both, 10, target="file", seed=0)
        >>> def children_of_each(homes, of_home, people, of_child):
        ...     return (of_child @ people["b"].to_numpy()) / of_home.sum()
        >>> found = replicates.estimate(children_of_each)
        >>> bool(found.low < 600 / 900 < found.high)
        True
    """

    release: LinkedRelease = field(repr=False)
    tables: tuple[Replicates, ...]

    @classmethod
    def of(cls, release: LinkedRelease, tables: Sequence[Replicates]) -> LinkedReplicates:
        """Put replicates of all tables together: weights where they are good ones for all, else files.

        Args:
            release: The releases.
            tables: Replicates of each, of the file, as many; their records belong to each other.
        """
        if any(each.form == "files" for each in tables):
            tables = [replace(each, weights=None) for each in tables]
        return cls(release, tuple(tables))

    @property
    def form(self) -> Literal["weights", "files"]:
        """Whether replicates are weights of the same records, or files of records of their own."""
        return self.tables[0].form

    @property
    def number(self) -> int:
        """Number of replicates."""
        return self.tables[0].number

    @property
    def says(self) -> str:
        """What they are, in words."""
        shares = [each.share for each in self.tables if each.share is not None]
        rests, form = ("rest", "weights") if self.form == "weights" else ("would rest", "files of their own")
        least = f" (weights {rests} on {100 * min(shares):.0f} % of the records at least)" if shares else ""
        origins = "; ".join(dict.fromkeys(each.origin for each in self.tables))
        return f"{self.number} replicates for the files, {form}{least}; {origins}"

    @property
    def weighted(self) -> tuple[Records, ...]:
        """The tables with their keys and the columns of weights."""
        keyed = self.release.with_keys([each.records for each in self.tables])
        return tuple(each.beside(records) for each, records in zip(self.tables, keyed, strict=True))

    def files(self) -> Iterator[list[tuple[Records, Floats]]]:
        """For each replicate the records of all tables over the domains of their releases, and their weights."""
        for number, runs in enumerate(zip(*(each.runs for each in self.tables), strict=True)):
            parents, children, *more = (replace(run, model=run.held) for run in runs)
            release = LinkedRelease(parents, children, self.release.linked, tuple(more))
            drawn = release.drawn(len(self.tables[0].records), numbered(self.tables[0].seed, number))
            of_tables = zip(self.tables, drawn, strict=True)
            yield [(records, each.weights_of(records, number)) for each, records in of_tables]

    def estimate(
        self, statistic: LinkedStatistic, confidence: float = 0.95, *, corrected: bool = True
    ) -> ReplicateEstimate:
        """Estimate what can be computed of the weighted tables, with a standard error and an interval.

        Args:
            statistic: Called with each table and its weights: the parents as an Arrow table, the number of their
                children in it, their weights, the children with their parents' columns, and their weights, and so on;
                gives a number or an array. The tables have no keys: what children of one parent have in common beyond
                its columns was not measured.
            confidence: See `ReplicateEstimate.of`.
            corrected: See `ReplicateEstimate.of`.

        Returns:
            The estimates, without intervals where the release of a table does not tell the columns of it that they
            need; see `Replicates.estimate`.

        Raises:
            ConfigError: The confidence is not between 0 and 1.
        """
        tables = [each.read(each.records) for each in self.tables]
        own = [each.weight for each in self.tables]

        def of(tables: Sequence[pa.Table], weights: Sequence[Floats]) -> Floats:
            return np.asarray(statistic(*(part for pair in zip(tables, weights, strict=True) for part in pair)))

        weights = [each.weights for each in self.tables if each.weights is not None]
        if weights:
            found = [of(tables, [each[:, number] for each in weights]) for number in range(self.number)]
        else:
            drawn = ([*zip(*pairs, strict=True)] for pairs in self.files())
            found = [of([*map(Replicates.read, self.tables, records)], held) for records, held in drawn]
        estimate = ReplicateEstimate.of(of(tables, own), found, confidence, corrected=corrected)
        needs: Traced | None = None
        for place, each in enumerate(self.tables):
            changed = partial(_with, of, tables, own, place)
            estimate = each.checked(estimate, changed, tables[place])
            needs = estimate.traced if needs is None or estimate.traced is None else estimate.traced.beside(needs)
        return replace(estimate, traced=needs)

    def _pairs(self, paths: Sequence[str | os.PathLike[str]]) -> list[tuple[str, ...]]:
        return [*zip(*(each.places(path) for each, path in zip(self.tables, paths, strict=True)), strict=True)]

    def places(self, *paths: str | os.PathLike[str]) -> list[str]:
        """The files that `write` writes: those given, and as many beside them for each replicate in files.

        Raises:
            ConfigError: Replicate files are tables of a database.
        """
        return [place for places in self._pairs(paths) for place in places]

    def write(self, *paths: str | os.PathLike[str]) -> list[str]:
        """Write the tables with their keys and weights, and replicate files beside them where there are some.

        Args:
            paths: A file or table for each table, the parents' first, as for `Replicates.write`.

        Returns:
            What was written.

        Raises:
            ConfigError: A place is unknown, or replicate files are tables of a database.
            RecordsError: A database cannot be written to.
        """
        first, *beside = self._pairs(paths)
        for place, records in zip(first, self.weighted, strict=True):
            records.write(place)
        for places, pairs in zip(beside, self.files() if beside else (), strict=True):
            keyed = self.release.with_keys([records for records, _ in pairs])
            for place, each, records, (_, weights) in zip(places, self.tables, keyed, pairs, strict=True):
                records.with_columns({each.names_beside(records.domain)[0]: weights}).write(place)
        return self.places(*paths)

    def to_dict(self) -> dict[str, Any]:
        """Summary for JSON: that of each table."""
        return {"tables": [each.to_dict() for each in self.tables]}


def _with(
    of: Callable[[Sequence[pa.Table], Sequence[Floats]], Floats],
    tables: Sequence[pa.Table],
    weights: Sequence[Floats],
    place: int,
    changed: pa.Table,
) -> Floats:
    """A statistic of tables of which one is changed."""
    return of([*tables[:place], changed, *tables[place + 1 :]], weights)
