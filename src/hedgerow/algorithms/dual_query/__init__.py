"""DualQuery: a game between a distribution over queries and records that answer them.

`dual_query` is the configuration and its plan, `settings` its fields and checks, `parameters` chooses rounds, step and
samples, `accounting` says what they cost, `run` is one run, `best_response` translates drawn queries for the `oracles`,
and `boxes` derived attributes and constraints for it.
The room may import `algorithms.shared` and what algorithms may import, and no other mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
