"""Who answers DualQuery's question, "which record satisfies the most of these conjunctions?": public optimisation."""

from hedgerow.algorithms.oracles.brute_force import BruteForce
from hedgerow.algorithms.oracles.conjunctions import ConjunctionTable
from hedgerow.algorithms.oracles.max_sat import MaxSat
from hedgerow.algorithms.oracles.mixed_integer import MixedInteger
from hedgerow.algorithms.oracles.problem import BestResponseProblem, Oracle, Response
from hedgerow.algorithms.oracles.tabu import TabuSearch

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
