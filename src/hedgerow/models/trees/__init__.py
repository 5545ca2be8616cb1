"""Products of small factors over junction trees.

``markov`` is the model. Structure: ``junction_tree``, ``forest`` (trees as arrays), ``growth`` (the size with one more
scope). Distribution: ``beliefs`` (one tree in logarithms), ``elimination`` and ``shared_elimination`` (marginals across
cliques), ``parities``, ``answers`` (all kinds of answers), ``sampling``. Kernels are in modules of their own. Imports
``core`` and rooms below models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
