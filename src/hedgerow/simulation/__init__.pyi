from .drawn import DrawnRecords as DrawnRecords
from .errors import Estimate as Estimate, SimulatedErrors as SimulatedErrors, simulate_errors as simulate_errors
