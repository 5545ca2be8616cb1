from .offline_pmw import OfflinePMW as OfflinePMW
from .parameters import most_rounds as most_rounds, step_length as step_length
