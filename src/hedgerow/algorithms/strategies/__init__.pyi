from .choice import strategies as strategies
from .cutting import cut_where_counts_are as cut_where_counts_are
from .grids import (
    grid_error as grid_error,
    grid_steps as grid_steps,
    grids_tell as grids_tell,
    has_levels as has_levels,
    level_steps as level_steps,
    table_steps as table_steps,
)
from .regimes import with_least_error as with_least_error, with_least_noise as with_least_noise
from .strategy import Step as Step, Strategy as Strategy
from .sub_strategy import Aim as Aim
from .tables import are_tables as are_tables
from .telling import (
    forget_predicted as forget_predicted,
    predicted as predicted,
    prediction_lines as prediction_lines,
)
