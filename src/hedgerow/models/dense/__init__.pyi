from .histogram import Histogram as Histogram
from .kernels import (
    corner_sums as corner_sums,
    implicit_step as implicit_step,
    multiply_and_sum as multiply_and_sum,
    solve_positive as solve_positive,
)
