from .lattice import step_of as step_of
from .quantiles import (
    Run as Run,
    quantile_scores as quantile_scores,
    quantile_sensitivity as quantile_sensitivity,
)
from .scores import (
    GRID as GRID,
    EqualUnits as EqualUnits,
    EqualWidths as EqualWidths,
    database_sensitivity as database_sensitivity,
    eligible_places as eligible_places,
    grid_sensitivity as grid_sensitivity,
    public_databases as public_databases,
)
