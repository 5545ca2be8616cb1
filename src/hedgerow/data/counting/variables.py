"""Codes of derived attributes of records, looked up piece by piece where they are counted: none are kept.

So levels cost no memory beside the records, and a level is counted over its own cells, however many those of its
attribute are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain import Clique, Codes, Derived, Domain, smallest_unsigned

Column: TypeAlias = "Codes | DerivedCodes"
"""Codes of a variable of records."""


class DerivedCodes:
    """The codes of a derived attribute, as a column that can be cut.

    Attributes:
        dtype: Type of the codes.

    Example:
        >>> from hedgerow import IntegerRange
        >>> half = Derived(IntegerRange("half", 0, 1), ("age",), [0, 0, 1, 1])
        >>> DerivedCodes(half, [np.array([3, 0, 2], dtype=np.uint8)])[1:]
        array([0, 1], dtype=uint8)
    """

    def __init__(self, derived: Derived, sources: Sequence[Column]) -> None:
        """Look nothing up yet.

        Args:
            derived: The function.
            sources: The codes of the attributes that it is made from.
        """
        self._derived = derived
        self._sources = sources
        self.dtype = np.dtype(smallest_unsigned(derived.attribute.size))

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._sources[0])

    def __getitem__(self, rows: slice | Ints) -> Codes:
        """The codes of some rows."""
        return self._derived.at([source[rows] for source in self._sources]).astype(self.dtype)


def over_variables(
    domain: Domain, columns: Sequence[Column], cliques: Iterable[Clique]
) -> tuple[Domain, Sequence[Column]]:
    """Records with the derived attributes that are asked for as attributes of their own, after all others.

    Args:
        domain: The domain of the records.
        columns: Codes of its attributes.
        cliques: The cliques that are to be counted.

    Returns:
        A domain and its columns; those given where no derived attribute is asked for.

    Example:
        >>> from hedgerow import IntegerRange
        >>> column = np.array([3, 17, 18], dtype=np.uint8)
        >>> plain, columns = over_variables(Domain([IntegerRange("age", 0, 99)]), [column], [("age.10",)])
        >>> plain.names, columns[1][:]
        (('age', 'age.10'), array([0, 1, 1], dtype=uint8))
    """
    asked = set[str]().union(*cliques).difference(domain.names)
    if not asked:
        return domain, columns
    functions = [each for name in domain.clique(asked) if (each := domain.function(name)) is not None]
    derived = [DerivedCodes(f, [columns[axis] for axis in domain.axes(f.sources)]) for f in functions]
    return Domain([*domain, *(function.attribute for function in functions)]), [*columns, *derived]
