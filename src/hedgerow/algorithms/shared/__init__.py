"""Parts that several mechanisms share: the protocol of an algorithm, plans, bounds, and hypotheses that learn.

`algorithm` says how an algorithm is called and puts releases together; `checks` are those of configurations; `plans`
divides budgets and tells what a run would need; `bounds` are the error theorems of multiplicative weights; `learning`
moves a hypothesis towards noisy answers; `record_answers` sums up a workload record by record. May import
``release`` and everything below it, but no mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
