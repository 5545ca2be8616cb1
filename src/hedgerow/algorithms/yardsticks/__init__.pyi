from .game import solve_game as solve_game
from .matrix_bound import Calibration as Calibration, noise_variance as noise_variance, svd_bound as svd_bound
from .multiplicative_weights import MultiplicativeWeights as MultiplicativeWeights
