"""MWEM: select the query that is answered worst, measure it, move the hypothesis by multiplicative weights.

From bottom to top: `candidates` (what may be selected, and what fits into memory), `settings` (fields, their checks,
and the number of rounds), `run` (one run), `plan` (what a run would need, spend and promise) and `mwem` with the
public class. May import ``algorithms.shared`` and everything below it, but no other mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
