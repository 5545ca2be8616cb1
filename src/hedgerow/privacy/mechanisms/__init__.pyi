from .additive_noise import (
    HALVES as HALVES,
    PARITIES as PARITIES,
    AdditiveNoise as AdditiveNoise,
    Apart as Apart,
    GaussianNoise as GaussianNoise,
    LaplaceNoise as LaplaceNoise,
)
from .events import (
    BOUNDS as BOUNDS,
    GAUSSIAN as GAUSSIAN,
    LAPLACE as LAPLACE,
    Bound as Bound,
    Mechanism as Mechanism,
    check_charge as check_charge,
    mechanism_of as mechanism_of,
)
from .run_selection import (
    MOST_TRIES as MOST_TRIES,
    RUN_SELECTION as RUN_SELECTION,
    RunSelection as RunSelection,
    check_selects_runs as check_selects_runs,
)
from .selection import (
    DRAWS as DRAWS,
    EXACT as EXACT,
    EXPONENTIAL as EXPONENTIAL,
    ONE_DRAW as ONE_DRAW,
    PERMUTE_AND_FLIP as PERMUTE_AND_FLIP,
    ExponentialMechanism as ExponentialMechanism,
    IndependentDraws as IndependentDraws,
    Law as Law,
    selection_by as selection_by,
)
from .sparse_vector import RENYI as RENYI, SPARSE_VECTOR as SPARSE_VECTOR, SparseVector as SparseVector
from .thresholds import THRESHOLDED as THRESHOLDED, ThresholdedCounts as ThresholdedCounts
