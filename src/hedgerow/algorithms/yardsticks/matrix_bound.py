"""A lower bound on the error of every matrix mechanism: the yardstick for a workload and a budget.

C. Li, G. Miklau, "Optimal Error of Query Sets under the Differentially-Private Matrix Mechanism", ICDT 2013 (the SVD
bound). A matrix mechanism measures A x, for a strategy matrix A over the cells x of the domain, with independent noise
of variance ``u Delta(A)^2``, and answers the workload W by linear unbiased estimation. Its total squared error is
``u Delta(A)^2 ||W A^+||_F^2``, and ``||W A^+||_F ||A||_F >= ||W||_*``, the sum of the singular values of W. Over N
cells:

| neighbours | sensitivity of A | total squared error at least |
|---|---|---|
| add-remove (the paper's) | largest norm of a column: ``Delta^2 >= ||A||_F^2 / N`` | ``u ||W||_*^2 / N`` |
| replace | largest distance of two columns: ``Delta^2 >= 2 ||A_c||_F^2 / (N - 1)`` | ``2 u ||W_c||_*^2 / (N - 1)`` |

The subscript c takes its mean off each row. Under "replace" the number of records is public, so that only W_c needs
noise, and only A_c is sensitive; the right side there is the mean of the squared distances of two different columns.
N counts the cells of the attributes that the workload looks at, as far as a record can be in them: a mechanism for more
of them is one for these, too, run on records in which the others are fixed.

The variance u of noise at sensitivity 1 is ``1 / (2 rho)`` for Gaussian noise in zCDP; ``2 ln(2 / delta) / epsilon^2``
for the paper's (epsilon, delta), a looser calibration of the same noise; and ``2 / epsilon^2`` for Laplace noise, whose
L1 sensitivity is at least the L2 one, so that the bound holds and is less tight. All are of continuous noise; that of
discrete noise is smaller, by 1/6 of a squared count at most.

What is no matrix mechanism may do better: MWEM, and all that fits a non-negative hypothesis with the right number of
records, is biased, and gains most where the table is small or the noise is large.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

from hedgerow.algorithms.shared import check_choice
from hedgerow.algorithms.yardsticks.listed_cells import looked_at, possible_columns
from hedgerow.algorithms.yardsticks.spectrum import nuclear_norm
from hedgerow.errors import ConfigError
from hedgerow.privacy import ApproxDP, Budget, PureDP
from hedgerow.queries import Neighbours, Relation, Workload

Calibration = Literal["zcdp", "paper"]


@dataclass(frozen=True)
class SvdBound:
    """The least error that a matrix mechanism can have.

    Attributes:
        total_squared: Sum over the queries of the expected squared error, in squared counts.
        n_queries: Number of queries of the workload.
        variance: u, the variance of the noise at sensitivity 1, in squared counts.
        neighbours: The relation that the bound speaks of.

    Example:
        >>> bound = SvdBound(total_squared=900.0, n_queries=100, variance=1.0, neighbours=Neighbours.REPLACE)
        >>> bound.per_query_mse, bound.rmse
        (9.0, 3.0)
    """

    total_squared: float
    n_queries: int
    variance: float
    neighbours: Neighbours

    @property
    def per_query_mse(self) -> float:
        """Mean over the queries of the expected squared error, in squared counts."""
        return self.total_squared / self.n_queries

    @property
    def rmse(self) -> float:
        """The square root of that, in counts."""
        return math.sqrt(self.per_query_mse)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "total_squared": self.total_squared,
            "per_query_mse": self.per_query_mse,
            "rmse": self.rmse,
            "n_queries": self.n_queries,
            "neighbours": self.neighbours.value,
        }


def svd_bound(
    workload: Workload, budget: Budget, *, calibration: Calibration = "zcdp", weighted: bool = False
) -> SvdBound:
    """Bound the error of all matrix mechanisms from below.

    A whole marginal counts as its cells. Computed from the structure of the workload, however large the domain.

    Args:
        workload: The queries.
        budget: Budget of the run, with its neighbouring relation.
        calibration: Conversion of an (epsilon, delta) budget into Gaussian noise: ``"zcdp"``, in its own regime (GDP
            if it says so), or the ``"paper"``'s ``sigma^2 = 2 ln(2 / delta) / epsilon^2``.
        weighted: Whether the error of each query is multiplied by its weight before it is squared; else all weights
            are 1.

    Raises:
        QueryError: The workload's singular values cannot be computed from its structure.
        ConfigError: The paper's constant is asked for with another budget than (epsilon, delta).

    Example:
        >>> from hedgerow import ZCDP, Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcdefghij")
        >>> round(svd_bound(Workload.marginals(domain, 2), ZCDP(0.5)).rmse, 3)
        3.045
    """
    centred = budget.neighbours.public_total
    variance = noise_variance(budget, calibration)
    squared = nuclear_norm(workload, centred=centred, weighted=weighted) ** 2
    return SvdBound(
        variance * _sensitivity_factor(workload, budget.neighbours) * squared,
        workload.n_queries,
        variance,
        budget.neighbours,
    )


def _sensitivity_factor(workload: Workload, neighbours: Neighbours) -> float:
    """The least ratio of Delta^2 to the mean square of a column of the strategy.

    After a filter a record can also enter or leave, so that the bound for "add-remove" holds. All m records of a person
    can be in one cell; a person who is replaced, without a filter, has one record at least.
    """
    if not neighbours.public_total:
        weighted = neighbours.persons is not None and neighbours.persons.weight is not None  # which may be 0
        least = 1 if neighbours.relation is Relation.REPLACE and not weighted else 0
        return float((neighbours.records - least) ** 2)
    scope = looked_at(workload)
    whole = workload.domain.cells(scope)
    cells = len(possible_columns(workload.domain, scope)) if workload.domain.constraints else whole
    return 2.0 * (1.0 + 1.0 / (cells - 1)) if cells > 1 else 0.0


def noise_variance(budget: Budget, calibration: Calibration = "zcdp") -> float:
    """u, the variance of noise at sensitivity 1; the bounds of one workload are proportional to it.

    Args:
        budget: Budget of the run.
        calibration: See `svd_bound`.

    Raises:
        ConfigError: The paper's constant is asked for with another budget than (epsilon, delta).

    Example:
        >>> noise_variance(PureDP(0.1))
        199.99999999999997
    """
    check_choice("calibration", calibration, Calibration)
    if calibration == "paper":
        if not isinstance(budget, ApproxDP):
            raise ConfigError("the paper's constant is for (epsilon, delta)", remedy="give an ApproxDP budget")
        return 2.0 * math.log(2.0 / budget.delta) / budget.epsilon**2
    if isinstance(budget, PureDP):
        return 2.0 / budget.epsilon**2
    return 1.0 / (2.0 * budget.limit)
