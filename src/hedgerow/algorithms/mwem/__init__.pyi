from .mwem import MWEM as MWEM
from .settings import Rounds as Rounds
