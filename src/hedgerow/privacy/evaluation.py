"""Exact errors, for evaluation on data that need no protection. NOT PRIVATE, and every result says so.

This is the second and last place, after the curator, that reads exact answers. It backs the explicit evaluation flag
of the command line and the experiments; a report that shows its figures is labelled "not private" as a whole.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.data import CountSource
from hedgerow.errors import QueryError
from hedgerow.queries import Tables, Workload


@final
@dataclass(frozen=True, eq=False)
class ExactErrors:
    """Exact errors of answers; not private.

    Attributes:
        label: ``"not private"``; to be shown wherever the figures are.
        errors: L1 error of each candidate in counts, shape ``(n_candidates,)``.
        total: Exact number of records.
    """

    label: ClassVar[str] = "not private"
    errors: Floats
    total: int

    @property
    def mean(self) -> float:
        """Mean L1 error over the candidates, in counts."""
        return float(self.errors.mean())

    @property
    def maximum(self) -> float:
        """Largest L1 error of a candidate, in counts."""
        return float(self.errors.max())

    def to_dict(self) -> dict[str, Any]:
        """Summary for JSON, with the label."""
        return {"label": self.label, "mean": self.mean, "maximum": self.maximum, "total": self.total}


def exact_errors(source: CountSource, workload: Workload, answers: Floats) -> ExactErrors:
    """Errors of answers against the exact ones. NOT PRIVATE: for evaluation only.

    Args:
        source: The counts.
        workload: The queries.
        answers: In counts, shape ``(n_queries,)``.

    Example:
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> table = Table(domain, [np.array([0, 1, 1])])
        >>> exact_errors(table, Workload.marginals(domain, 1), np.array([1.5, 1.5])).to_dict()
        {'label': 'not private', 'mean': 1.0, 'maximum': 1.0, 'total': 3}
    """
    given = np.asarray(answers, dtype=np.float64)
    if given.shape != (workload.n_queries,):
        raise QueryError(f"{workload.n_queries} answers are needed, not an array of shape {given.shape}")
    return ExactErrors(workload.candidate_errors(workload.answers(source) - given), source.total())


def exact_answers(source: CountSource, workload: Workload) -> Floats:
    """Exact answers. NOT PRIVATE: for the yardsticks of experiments on public tables only.

    Args:
        source: The counts.
        workload: The queries.

    Returns:
        Counts, shape ``(n_queries,)``.

    Example:
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> exact_answers(Table(domain, [np.array([0, 1, 1])]), Workload.marginals(domain, 1))
        array([1., 2.])
    """
    return workload.answers(source)


def exact_total(source: CountSource) -> int:
    """Exact number of records. NOT PRIVATE, unless neighbours replace records.

    Args:
        source: The counts.

    Example:
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> exact_total(Table(Domain((IntegerRange("a", 0, 1),)), [np.array([0, 1, 1])]))
        3
    """
    return source.total()


def relative_entropy(source: CountSource, model: Tables) -> float:
    """KL(b || p) of the exact distribution b over all cells to that of a model, in nats. NOT PRIVATE.

    Args:
        source: The counts.
        model: Gives the table of all attributes; not for large domains. Its mass does not matter.

    Returns:
        Infinite where the model has no mass at a record.

    Example:
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> table = Table(domain, [np.array([1, 1, 1])])
        >>> round(relative_entropy(table, Table(domain, [np.array([0, 1])])), 4)
        0.6931
    """
    names = source.domain.names
    exact, guess = (np.asarray(each.marginals([names])[0], dtype=np.float64).ravel() for each in (source, model))
    held = exact > 0.0
    with np.errstate(divide="ignore"):
        logarithms = np.log(exact[held] / exact.sum()) - np.log(guess[held] / guess.sum())
    return float(max(0.0, np.sum(exact[held] / exact.sum() * logarithms)))
