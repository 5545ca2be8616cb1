from __future__ import annotations

from hedgerow.algorithms import BruteForce, MixedInteger, TabuSearch
from tests.algorithms.dual_query.oracles.contract import OracleContract

WEAK = TabuSearch(restarts=1, patience=1, tenure=1)
"""So that the solver has something to do."""


class TestBruteForce(OracleContract):
    def make(self) -> BruteForce:
        return BruteForce()


class TestTabuSearch(OracleContract):
    exact = False

    def make(self) -> TabuSearch:
        return TabuSearch()


class TestMixedInteger(OracleContract):
    accuracy = 1e-5

    def make(self) -> MixedInteger:
        return MixedInteger(seconds=60.0, start=WEAK)
