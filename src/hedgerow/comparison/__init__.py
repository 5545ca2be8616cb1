"""Algorithms side by side on a table that needs no protection. NOT PRIVATE, and every result says so."""

from hedgerow.comparison.grid import Step, compare
from hedgerow.comparison.outcome import Outcome
from hedgerow.comparison.result import Comparison, Summary

__all__ = ["Comparison", "Outcome", "Step", "Summary", "compare"]
