"""Sums of weights: what a cap takes away of the population, and how unequal they are (theory.md section 15.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.errors import ConfigError, QueryError
from hedgerow.queries.core.persons import MOST_OF_ONE, Weight
from hedgerow.queries.core.query import Measurable
from hedgerow.queries.core.sensitivity import Neighbours, Sensitivity

_ABOVE = "above"
"""Text of the code of weights above the largest possible one."""


@dataclass(frozen=True)
class WeightSum(Measurable):
    """A sum over all records of a function of their weights, from a table that is read with the weights as attribute.

    There a record of a weight above the cap counts as often as the cap says, and a record of weight 0 not at all.

    Attributes:
        weight: The weights, and their cap.
    """

    weight: Weight

    @property
    def most(self) -> int:
        """The largest weight that is told apart: larger ones are taken for this."""
        return self.weight.largest

    @cached_property
    def domain(self) -> Domain:  # type: ignore[override]
        """The domain that the table is read in."""
        return Domain([IntegerRange(self.weight.column, 0, self.most, other=_ABOVE)])

    def read_beside(self, domain: Domain) -> Domain:
        """The same domain for a table that has the columns of another one too, which are not read.

        Args:
            domain: The domain of the records.
        """
        others = {*domain.all_names, *domain.ignored, *(span.end for span in domain.spans)}
        return replace(self.domain, ignored=tuple(sorted(others)))

    @property
    def scope(self) -> Clique:  # type: ignore[override]
        """The weights."""
        return (self.weight.column,)

    @property
    def size(self) -> int:
        """One."""
        return 1

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """What the records of a person that count add up to at most.

        Raises:
            QueryError: Neighbours have other weights.
        """
        persons = neighbours.persons
        if persons is None or persons.weight != self.weight or persons.at_most is None:
            raise QueryError(f"{self.text!r} is not about {neighbours.value}")
        most = persons.at_most * self.bounds[1]
        return Sensitivity(most, most)


@dataclass(frozen=True)
class LostWeight(WeightSum):
    """The sum over all records of what the cap takes away of their weights, in counts of the population.

    It follows from the counts of a table that is read with the weights as an attribute (`domain`). There a record of a
    weight above the cap counts as often as the cap says, so that cells above it are divided by the cap.

    Attributes:
        weight: The weights, and their cap.
        possible: The largest possible weight, public: a record with a larger one counts as if it had this one.

    Raises:
        ConfigError: The largest possible weight is not a whole number above the cap, or too large.

    Example:
        >>> from hedgerow.queries import Persons
        >>> lost = LostWeight(Weight("w", 2), 5)
        >>> lost.sensitivity(Neighbours.ADD_REMOVE.between(Persons(None, 1, lost.weight)))
        Sensitivity(l1=3.0, l2=3.0)
        >>> lost.of_table(np.array([0.0, 9.0, 6.0, 2.0, 0.0, 0.0, 4.0]))  # one record of weight 3, two above 5
        array([7.])
    """

    possible: int

    def __post_init__(self) -> None:
        """Check the number."""
        whole = isinstance(self.possible, int) and not isinstance(self.possible, bool)
        if not whole or not self.weight.largest < self.possible <= MOST_OF_ONE:
            raise ConfigError(
                f"{self.possible!r} is no largest possible weight",
                remedy=f"give a whole number above the largest weight that counts, {self.weight.largest:,}, up to "
                f"{MOST_OF_ONE:,}: one that the documents of the survey tell, not the table",
            )

    @property
    def most(self) -> int:
        """The largest possible weight."""
        return self.possible

    @property
    def bounds(self) -> tuple[float, float]:
        """What one record loses."""
        return 0.0, float(self.possible - self.weight.largest)

    @property
    def text(self) -> str:
        """The sum in words."""
        return f"what the cap at {self.weight.largest} takes away of {self.weight.column}, up to {self.possible}"

    def of_table(self, table: Floats) -> Floats:
        """The sum from the counts of weights, whole numbers below 2^53."""
        cap = self.weight.largest
        weights = np.minimum(np.arange(table.size), self.possible)
        return np.array([float(table[cap + 1 :] // cap @ (weights[cap + 1 :] - cap))])


@dataclass(frozen=True)
class WeightPower(WeightSum):
    """The sum over all records of a power of their weights that count, up to the cap; records of weight 0 add nothing.

    Attributes:
        power: 0 for the number of records with a weight; 2 for the sum of squares.

    Raises:
        ConfigError: It is another power, or weights are fractions.

    Example:
        >>> squares = WeightPower(Weight("w", 2), 2)
        >>> squares.of_table(np.array([0.0, 9.0, 6.0, 4.0]))  # nine of weight 1, three of weight 2, two above
        array([29.])
        >>> WeightPower(Weight("w", 2), 0).of_table(np.array([0.0, 9.0, 6.0, 4.0]))
        array([14.])
    """

    power: int

    def __post_init__(self) -> None:
        """Check the power."""
        if self.power not in (0, 2) or self.weight.fractional:
            message = f"no sum of {self.weight.column} to the power {self.power} is measured of such weights"
            raise ConfigError(message, remedy="give whole weights, and 0 or 2")

    @property
    def bounds(self) -> tuple[float, float]:
        """What one record adds."""
        return 0.0, float(self.weight.largest**self.power)

    @property
    def text(self) -> str:
        """The sum in words."""
        return f"the sum of {self.weight.column} to the power {self.power}"

    def of_table(self, table: Floats) -> Floats:
        """The sum from the counts of weights, whole numbers below 2^53."""
        weights = np.minimum(np.arange(table.size), self.weight.largest)[1:]
        return np.array([float(table[1:] // weights @ weights**self.power)])
