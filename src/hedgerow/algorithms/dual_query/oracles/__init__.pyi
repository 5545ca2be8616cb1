from .conjunctions import ConjunctionTable as ConjunctionTable
from .problem import BestResponseProblem as BestResponseProblem, Oracle as Oracle, Response as Response
from .searches import BruteForce as BruteForce, MixedInteger as MixedInteger, TabuSearch as TabuSearch
