from .association import Effect as Effect, Tested as Tested, test as test
from .fitting import ModelFamily as ModelFamily
from .regression import Regression as Regression, Source as Source, regress as regress
