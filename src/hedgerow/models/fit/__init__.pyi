from .newton import LARGEST_TRANSFORM as LARGEST_TRANSFORM
from .refit import refit as refit
from .rules import Proximal as Proximal
