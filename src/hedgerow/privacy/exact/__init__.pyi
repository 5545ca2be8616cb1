from .lattice import step_of as step_of
from .scores import GRID as GRID, grid_sensitivity as grid_sensitivity
