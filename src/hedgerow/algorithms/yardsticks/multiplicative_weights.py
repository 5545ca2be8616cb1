"""Multiplicative weights for linear queries, without privacy (theory.md section 1).

Lecture 13, "Multiplicative Weights Algorithm for Synthetic Data", section 2: start uniform; in every round take the
query with the largest error, step towards its exact answer; return the average of the hypotheses, whose largest error
is at most ``2 sqrt(ln|X| / T)`` of the records (Claim 1). Departures: the sharp step of theory.md, whole marginals as
candidates, and the last hypothesis as an option.

**Not private**: answers are used as they are. It is for public tables, and the yardstick of the private algorithms.
"""

from dataclasses import dataclass

import numpy as np

from hedgerow.algorithms.shared import Averager, Output, check_choice, exponent_of, take_step
from hedgerow.algorithms.shared.learning import guaranteed_drop, potential_drop
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram, Hypothesis, Step, check_fits, hypothesis_for
from hedgerow.queries import Tables, Workload

_COPIES = 3
"""Arrays over all cells that an average holds at once: itself, the hypothesis, and tables."""


@dataclass(frozen=True)
class Round:
    """One round, in fractions of the records.

    Attributes:
        candidate: Number of the candidate with the largest error before the round.
        error: Largest error itself (L1 over the cells of a marginal).
        drop: Exact fall of the potential KL(b || p), in nats.
        guaranteed: Smallest fall that the theory allows.
        answers: Answers of the hypothesis before the round, shape ``(n_queries,)``.
    """

    candidate: int
    error: float
    drop: float
    guaranteed: float
    answers: Floats


@dataclass(frozen=True)
class Run:
    """Result of a run.

    Attributes:
        model: The hypothesis, in counts.
        trace: Every round.
    """

    model: Hypothesis
    trace: tuple[Round, ...]


@dataclass(frozen=True)
class MultiplicativeWeights:
    """Non-private multiplicative weights.

    Attributes:
        rounds: T.
        step: ``"source"`` (eta = r / 2) or ``"sharp"`` (eta = 4 r / w**2), r in fractions.
        output: The average of the hypotheses (Claim 1), or the last.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "ab")
        >>> truth = Histogram(domain, 8.0, base=np.array([[4.0, 2.0], [2.0, 0.0]]))
        >>> run = MultiplicativeWeights(rounds=40).run(truth, Workload.marginals(domain, 2, whole=False))
        >>> run.trace[0].drop >= run.trace[0].guaranteed
        True
    """

    rounds: int
    step: Step = "source"
    output: Output = "average"

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: There is no round, or a name is unknown.
        """
        if self.rounds < 1:
            raise ConfigError(f"expected at least one round, got {self.rounds}", remedy="ask for at least one round")
        check_choice("step", self.step, Step)
        check_choice("output", self.output, Output)

    def run(self, target: Tables, workload: Workload) -> Run:
        """Learn the answers of a public table.

        Args:
            target: The table; its answers are used as they are.
            workload: Queries to learn the answers of.

        Returns:
            The hypothesis with the mass of the table, and the trace.

        Raises:
            ModelTooLargeError: The hypothesis does not fit into memory; an average needs every cell.
        """
        domain, truth = workload.domain, workload.answers(target)
        total = float(target.marginals([domain.names[:1]])[0].sum())
        if self.output == "last":
            last = hypothesis_for(workload, total)
            return Run(last, tuple(self._round(last, target, workload, truth) for _ in range(self.rounds)))
        check_fits(domain, _COPIES, averaged=True)
        model, trace = Histogram(domain, total), []
        averager = Averager(model)
        for _ in range(self.rounds):
            averager.add(model)
            trace.append(self._round(model, target, workload, truth))
        return Run(averager.result(), tuple(trace))

    def _round(self, model: Hypothesis, target: Tables, workload: Workload, truth: Floats) -> Round:
        answers = workload.answers(model)
        errors = workload.candidate_errors(truth - answers)
        chosen = int(np.argmax(errors))
        entries = slice(workload.starts[chosen], workload.starts[chosen] + workload.lengths[chosen])
        residuals = truth[entries] - answers[entries]
        query = workload.candidate(chosen)
        fractions = residuals / model.total
        before, exact = (tables.marginals([query.scope])[0] / model.total for tables in (model, target))
        exponent = exponent_of(query, fractions, self.step)
        take_step(model, query, residuals, self.step)
        return Round(
            chosen,
            float(errors[chosen]) / model.total,
            potential_drop(before, exact, exponent),
            guaranteed_drop(fractions, np.zeros_like(fractions), query, self.step),
            answers / model.total,
        )
