"""A family of queries given by their values on the cells of a small scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, places_in
from hedgerow.errors import QueryError
from hedgerow.queries.core import LATTICE_BITS, Arrays, Explicit, Family, Measurable, Neighbours, of_query, query_scope

MAX_CELLS = 2**20
"""Largest scope, in cells, of a query that is given value by value."""


@dataclass(frozen=True, eq=False)
class ExplicitMatrix(Family):
    """Linear queries given as the rows of a matrix, each of them one candidate.

    Attributes:
        scope: The attributes, in domain order.
        matrix: Values, rounded to multiples of ``2**-LATTICE_BITS``, shape ``(n_queries, cells of the scope)``.
        names: Names of the queries in tables and reports.

    Example:
        >>> from hedgerow import IntegerRange
        >>> family = ExplicitMatrix(Domain((IntegerRange("a", 0, 2),)), ["a"], [[0, 0.5, 1], [1, -1, 0]])
        >>> family.bounds, family.candidate(1).text
        ((-1.0, 1.0), 'explicit 1')
    """

    kind = "explicit"
    signed: ClassVar = True
    spread: ClassVar = 4.0

    domain: Domain = field(repr=False)
    scope: Clique
    matrix: Floats = field(repr=False)
    names: tuple[str, ...] = field(repr=False)

    def __init__(
        self, domain: Domain, scope: Iterable[str], matrix: ArrayLike, names: Iterable[str] | None = None
    ) -> None:
        """Round the values to the lattice.

        Args:
            domain: The domain.
            scope: Attributes, any order; the values are in domain order.
            matrix: One row per query, one value per cell of the scope in row-major order, also for attributes that the
                others determine.
            names: Names of the queries; ``explicit 0`` and so on by default.

        Raises:
            QueryError: The scope is too large, the shape does not fit, or a value is not finite or beyond a million.
        """
        clique = domain.clique(scope)
        kept = query_scope(domain, clique)
        cells = domain.cells(clique)
        if not clique or cells > MAX_CELLS:
            raise QueryError(
                f"explicit values over {'*'.join(clique) or 'no attribute'} would be {cells:,} for each query",
                remedy=f"name attributes with at most {MAX_CELLS:,} cells together",
            )
        given = np.array(matrix, dtype=np.float64)
        if given.ndim != 2 or not len(given) or given.shape[1] != cells:
            raise QueryError(
                f"the matrix needs one row per query and {cells} columns, one per cell of {'*'.join(clique)}; "
                f"its shape is {given.shape}"
            )
        if not np.isfinite(given).all() or np.abs(given).max() > 1e6:
            raise QueryError("a value is not finite or is beyond a million", remedy="scale the query down")
        rounded = np.round(given * 2.0**LATTICE_BITS) / 2.0**LATTICE_BITS
        if kept != clique:
            rounded = rounded[:, places_in(domain, kept, clique).reshape(-1)]
        rounded.flags.writeable = False
        called = tuple(names) if names is not None else tuple(f"explicit {i}" for i in range(len(rounded)))
        if len(called) != len(rounded):
            raise QueryError(f"there are {len(rounded)} queries and {len(called)} names")
        self._set(domain=domain, scope=kept, matrix=rounded, names=called)

    def __eq__(self, other: object) -> bool:
        """Whether scope, values and names are the same."""
        if not isinstance(other, ExplicitMatrix):
            return NotImplemented
        same = self.domain == other.domain and self.scope == other.scope and self.names == other.names
        return same and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        """A hash of the scope and the names."""
        return hash((self.scope, self.names))

    @property
    def n_queries(self) -> int:
        """Number of rows."""
        return len(self.matrix)

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value of all rows."""
        return float(self.matrix.min()), float(self.matrix.max())

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Smallest and largest value of each row."""
        return self.matrix.min(axis=1), self.matrix.max(axis=1)

    @property
    def scopes(self) -> tuple[Clique, ...]:
        """The one scope."""
        return (self.scope,)

    @property
    def spec(self) -> str:
        """A description; values have no short text, so it does not parse."""
        return f"explicit values over {'*'.join(self.scope)}"

    def to_stored(self) -> tuple[dict[str, Any], Arrays]:
        """The scope, the names and the matrix."""
        return {"kind": self.kind, "scope": list(self.scope), "names": list(self.names)}, {"matrix": self.matrix}

    @classmethod
    def from_stored(cls, values: Mapping[str, Any], arrays: Arrays, domain: Domain) -> ExplicitMatrix:
        """Read them back."""
        return cls(domain, values["scope"], arrays["matrix"], values["names"])

    def candidate(self, index: int) -> Measurable:
        """One row."""
        self.check_index(index)
        return Explicit.of(self.domain, self.scope, self.matrix[index], self.names[index])

    def sensitivities(self, neighbours: Neighbours) -> Floats:
        """Sensitivity of each row, from its own bounds."""
        lows, highs = self.limits
        pairs = zip(lows.tolist(), highs.tolist(), strict=True)
        return np.array([of_query(low, high, neighbours).l1 for low, high in pairs])

    @cached_property
    def step(self) -> float:
        """1 if all values are whole, else ``2^-20``: the values are multiples of it."""
        return 1.0 if bool((self.matrix == np.rint(self.matrix)).all()) else 2.0**-LATTICE_BITS

    def exact(self, answers: Floats, tables: Sequence[Floats]) -> Floats:
        """Exact answers, summed in two parts: whole numbers up to a million, and fractions on the lattice.

        Both are exact in floating point for up to 2^31 records; adding the parts rounds beyond 2^32 only.
        """
        whole, counts = np.floor(self.matrix), tables[0].reshape(-1)
        return np.asarray(whole @ counts + (self.matrix - whole) @ counts, dtype=np.float64)

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        """The one scope."""
        return (self.scope,)

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        """Matrix times the flat marginal."""
        return np.asarray(self.matrix @ tables[0].reshape(-1), dtype=np.float64)
