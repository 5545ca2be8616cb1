from .criteria import CRITERION as CRITERION, with_verdicts as with_verdicts
from .learning import (
    BINS_SHARE as BINS_SHARE,
    VALUES_SHARE as VALUES_SHARE,
    budget_after as budget_after,
    budget_with_thresholds as budget_with_thresholds,
    frequent_noise as frequent_noise,
    learn_domain as learn_domain,
    learning_charges as learning_charges,
    learning_share as learning_share,
    threshold_of as threshold_of,
    workload_before as workload_before,
)
from .needs import (
    Need as Need,
    check_needs as check_needs,
    half_width as half_width,
    needed_steps as needed_steps,
)
from .positions import (
    POSITIONS_SHARE as POSITIONS_SHARE,
    PositionTargets as PositionTargets,
)
