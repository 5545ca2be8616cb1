"""MWEM: select the query that is answered worst, measure it, move the hypothesis by multiplicative weights.

From bottom to top: `settings` (fields, their checks, and the number of rounds), `strategy_choice` (a fixed strategy or
rounds that adapt), `opening` (what these open with and choose among), `interactions` (a search for tables that pairs do
not tell of), `run` (one run, with the loop of a round), `plan` (what a run would need, spend and promise) and `mwem`
with the public class. What may be selected is in
`algorithms/strategies/candidates`. May import ``algorithms.shared``, ``algorithms.strategies`` and everything below,
but no other mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
