"""Where in their bins the records of columns lie, measured under a part of the budget (theory.md section 14.1).

With the counts of the bins they tell sums and means without a guess, and where in its bin a synthetic number is drawn.
"""

from collections.abc import Collection, Sequence

from hedgerow.algorithms.shared import check_fraction
from hedgerow.domain import Clique, Domain, with_bin_cells
from hedgerow.errors import QueryError
from hedgerow.privacy import Budget, Curator, Subsampled
from hedgerow.queries import Measurement, Positions

POSITIONS_SHARE = 0.05
"""Share of a budget that the positions of all columns are measured with."""


def cells_of_positions(domain: Domain, budget: Budget, beside: Collection[str] = ()) -> Domain | None:
    """The domain that a table is read in once more, for the positions in its bins; None where none are measured.

    They are not measured of a sample, nor where a bounded number of records of each person counts: which ones do
    depends on the codes of their columns, so that other records would be counted.

    Args:
        domain: The domain, with its bins.
        budget: Budget of the release, with the persons whose records count.
        beside: Columns by whose values positions are wanted too.

    Example:
        >>> from hedgerow import Binned, PureDP
        >>> domain = Domain([Binned("pay", [0, 1000, 5000])])
        >>> cells_of_positions(domain, PureDP(1.0)).shape
        (32768,)
    """
    persons = budget.neighbours.persons
    bounded = persons is not None and persons.column is not None
    return None if bounded or isinstance(budget, Subsampled) else with_bin_cells(domain, frozenset(beside))


def means_by(texts: Sequence[str], domain: Domain) -> list[tuple[str, Clique]]:
    """The columns, and those by whose values their means are wanted, of texts such as ``"pay by sex * region"``.

    Args:
        texts: The texts.
        domain: The domain, with its bins.

    Returns:
        For each text the column, and all of its columns in domain order.

    Raises:
        QueryError: A text is of another form, or names columns that positions are not measured of.

    Example:
        >>> from hedgerow import Binned, Categorical
        >>> domain = Domain([Categorical("sex", ("F", "M")), Binned("pay", [0, 1000, 5000])])
        >>> means_by(["pay by sex"], domain)
        [('pay', ('sex', 'pay'))]
    """
    found = []
    for text in texts:
        column, by, groups = (part.strip() for part in text.partition(" by "))
        names = [name.strip() for name in groups.split("*")]
        if not by or not groups or column in names:
            message = f"{text!r} does not say means of what by what"
            raise QueryError(message, remedy="write it as in 'pay by sex * region'")
        target = Positions(domain, domain.clique([*names, column]), column)
        found.append((target.column, target.scope))
    return found


def measure_positions(
    curator: Curator, domain: Domain, share: float = POSITIONS_SHARE, by: Sequence[tuple[str, Clique]] = ()
) -> Sequence[Measurement]:
    """Measure the positions of all columns with bins, with equal parts of a share of the budget.

    Args:
        curator: Curator before the private table, read in ``cells_of_positions(domain, budget)``.
        domain: The domain, with its bins.
        share: Share of the whole budget; once more for all means by group together.
        by: Means by group, from `means_by`.

    Returns:
        For each column the noisy sums of the positions of the records of each bin, and behind these those by group.

    Raises:
        ConfigError: The share is not between 0 and 1.
        BudgetExceededError: The budget does not cover it.

    Example:
        >>> import numpy as np
        >>> from hedgerow import Binned, PureDP, SeededNoise, Table
        >>> domain = Domain([Binned("pay", [0, 4, 8], whole=True)])
        >>> budget = PureDP(10_000.0)
        >>> table = Table(cells_of_positions(domain, budget), [np.array([0, 0, 3, 4, 7, 7])])
        >>> (measured,) = measure_positions(Curator(table, budget, noise=SeededNoise(0)), domain)
        >>> measured.target.text, measured.values.round(1)
        ('positions in the bins of pay', array([-0.5,  0. ]))
    """
    check_fraction("share", share)
    beside = tuple({name: None for column, scope in by for name in scope if name != column})
    columns = [(name, (name,)) for name in curator.domain.names if name not in beside]
    steps = [
        (Positions(domain, scope, column, beside), share * curator.ledger.limit / len(wanted))
        for wanted in (columns, by)
        for column, scope in wanted
    ]
    return curator.measure_all(steps, label="positions")
