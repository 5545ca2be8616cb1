from .fit import TreeFit as TreeFit
from .sweep_kernels import compile_sweeps as compile_sweeps, sweep_trees as sweep_trees
