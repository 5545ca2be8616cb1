from .fit import TreeFit as TreeFit
