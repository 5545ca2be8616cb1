"""Who answers DualQuery's question, "which record satisfies the most of these conjunctions?": public optimisation."""

from hedgerow.algorithms.dual_query.oracles.brute_force import BruteForce
from hedgerow.algorithms.dual_query.oracles.conjunctions import ConjunctionTable
from hedgerow.algorithms.dual_query.oracles.max_sat import MaxSat
from hedgerow.algorithms.dual_query.oracles.mixed_integer import MixedInteger
from hedgerow.algorithms.dual_query.oracles.problem import BestResponseProblem, Oracle, Response
from hedgerow.algorithms.dual_query.oracles.tabu import TabuSearch

__all__ = [
    "BestResponseProblem",
    "BruteForce",
    "ConjunctionTable",
    "MaxSat",
    "MixedInteger",
    "Oracle",
    "Response",
    "TabuSearch",
]
