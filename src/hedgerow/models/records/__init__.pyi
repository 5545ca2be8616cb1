from .empirical import Empirical as Empirical
