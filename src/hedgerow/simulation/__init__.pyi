from .design import (
    Design as Design,
    DesignError as DesignError,
    design_error as design_error,
)
from .drawn import DrawnRecords as DrawnRecords
from .errors import (
    ESTIMATED as ESTIMATED,
    Estimate as Estimate,
    SimulatedErrors as SimulatedErrors,
    simulate_errors as simulate_errors,
    unseen_factor as unseen_factor,
)
from .replication import (
    REPLICATES as REPLICATES,
    check_population as check_population,
    replicate as replicate,
)
from .targets import (
    Basis as Basis,
    Heuristic as Heuristic,
    Prediction as Prediction,
    Predictor as Predictor,
    Simulated as Simulated,
    Solved as Solved,
    Target as Target,
    fixed as fixed,
    solve as solve,
)
