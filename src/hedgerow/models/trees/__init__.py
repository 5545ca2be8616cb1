"""Products of small factors over junction trees.

``markov`` is the model. Structure: ``junction_tree``, ``graph`` (triangulation), ``ties`` (levels beside their
attributes), ``support`` (cells that records can have), ``forest`` (trees as arrays), ``growth`` (the size with one more
scope). Distribution: ``beliefs`` (one tree in logarithms), ``elimination`` and ``shared_elimination`` (marginals across
cliques), ``parities``, ``present`` (variables that no tree has), ``answers`` (all kinds of answers), ``sampling``.
Kernels are in modules of their own. Imports ``core`` and rooms below models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
