"""Oracles: who answers DualQuery's question, "which record satisfies the most of these conjunctions?".

`problem` states the question and reduces it to whole weights over classes of codes, `conjunctions` keeps many
conditions as arrays, `searches` holds the three oracles, and `kernels` the compiled tabu search. All of it is public
optimisation: nothing here may import `privacy` or `data`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
