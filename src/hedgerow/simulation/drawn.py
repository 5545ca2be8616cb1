"""Records drawn from a model, counted like a private table; nothing here is private."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError
from hedgerow.models import Codes, Empirical, Model, has_room
from hedgerow.quantities import human_bytes
from hedgerow.queries import Conjunction, Neighbours, Persons
from hedgerow.release import WEIGHTED_RECORDS, Method
from hedgerow.system import Seed

_BYTES = 24
"""Room for each code: as it is drawn, in order, and as a column."""


class DrawnRecords:
    """Records of a public model, for runs of mechanisms whose truth is known; fits the protocol ``CountSource``.

    Args:
        domain: The domain.
        codes: One row per record, at least one, shape ``(n, len(domain))``.
        persons: The persons of whom a mechanism is to assume so many records; None if each is somebody's own.
        times: Number of times that each record counts.

    Attributes:
        records: The records as a model, which answers anything.

    Example:
        >>> import numpy as np
        >>> from hedgerow import Domain, IntegerRange
        >>> drawn = DrawnRecords(Domain([IntegerRange("a", 0, 1)]), np.array([[0], [1], [1]]))
        >>> drawn.total(), drawn.marginals([("a",)])[0].tolist()
        (3, [1.0, 2.0])
    """

    filtered = False
    """No row was left out."""

    def __init__(self, domain: Domain, codes: Codes, persons: Persons | None = None, times: int = 1) -> None:
        """Keep the records."""
        self.persons = persons
        self.times = times
        self._grains = 1.0 / Neighbours.ADD_REMOVE.between(persons).grain
        self.records = Empirical(domain, float(len(codes) * times), codes)

    @classmethod
    def of(
        cls,
        model: Model,
        n: int,
        seed: Seed = None,
        persons: Persons | None = None,
        method: Method = "independent",
    ) -> DrawnRecords:
        """Draw records from a model, each on its own; where records have weights, fewer that count several times.

        Args:
            model: The model.
            n: Number of records, at least 1; see `counted_by`.
            seed: Seed of the drawing.
            persons: The persons of whom a mechanism is to assume so many records.
            method: See `Release.sample`.

        Raises:
            ConfigError: They do not fit into memory.
        """
        rows, times = counted_by(n, persons)
        required = _BYTES * rows * len(model.domain)
        if not has_room(required):
            remedy = "the noisy number of records is far too large: give the release a larger budget"
            raise ConfigError(f"{rows:,} records take {human_bytes(required)}", remedy=remedy)
        return cls(model.domain, model.sample(rows, seed, method), persons, times)

    @property
    def domain(self) -> Domain:
        """The domain."""
        return self.records.domain

    @property
    def cheap_cells(self) -> int:
        """Cells of the largest table that is cheap to count."""
        return self.records.cheap_cells

    def total(self) -> int:
        """Number of records, as the curator counts them."""
        return len(self.records.codes) * self.times * round(self._grains)

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Counts of each clique, shape ``domain.shape_of(clique)``."""
        return [self._grains * table for table in self.records.marginals(cliques)]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Number of records that satisfy each conjunction, shape ``(len(queries),)``."""
        return self._grains * self.records.conjunctions(queries).round()

    def part(self, positions: Ints) -> DrawnRecords:
        """The records of some numbers, for mechanisms that take samples."""
        return DrawnRecords(self.domain, self.records.codes[positions // self.times], self.persons)


def counted_by(n: int, persons: Persons | None) -> tuple[int, int]:
    """Number of records that stand for so many, and of times that each counts; about as many together, with weights.

    Example:
        >>> from hedgerow.queries import Weight
        >>> counted_by(7_000_010, None), counted_by(7_000_010, Persons(None, 1, Weight("w", 200)))
        ((7000010, 1), (98592, 71))
    """
    if persons is None or persons.weight is None:
        return max(1, n), 1
    times = -(-n // WEIGHTED_RECORDS)
    return max(1, round(n / times)), times
