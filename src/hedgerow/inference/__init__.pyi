from .regression import Regression as Regression, regress as regress
from .tracing import Traced as Traced, traced as traced
