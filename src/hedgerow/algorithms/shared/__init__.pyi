from .algorithm import (
    Algorithm as Algorithm,
    ProgressCallback as ProgressCallback,
    RoundReport as RoundReport,
    check_composition as check_composition,
    check_domain as check_domain,
    check_known as check_known,
    check_table as check_table,
    make_release as make_release,
    measured_together as measured_together,
    number_of_records as number_of_records,
    open_curator as open_curator,
    tell as tell,
)
from .anchored import AnchoredLearner as AnchoredLearner, Worth as Worth
from .bounds import (
    BETA as BETA,
    Bound as Bound,
    Task as Task,
    bound_of as bound_of,
    hypothesis_error as hypothesis_error,
    largest_width as largest_width,
    task_of as task_of,
)
from .checks import (
    check_choice as check_choice,
    check_fraction as check_fraction,
    check_noise as check_noise,
    check_shares as check_shares,
    is_count as is_count,
    is_number as is_number,
    noise_kind as noise_kind,
)
from .learning import (
    Averager as Averager,
    Learner as Learner,
    Output as Output,
    clipped as clipped,
    concluded as concluded,
    exponent_of as exponent_of,
    step_size as step_size,
    take_step as take_step,
)
from .linked import (
    PARENTS_SHARE as PARENTS_SHARE,
    all_pairs as all_pairs,
    budgets_of as budgets_of,
    default_workloads as default_workloads,
    in_turn as in_turn,
    pairs_of_children as pairs_of_children,
    release_linked as release_linked,
    settled as settled,
)
from .measuring import MeasuringAlgorithm as MeasuringAlgorithm
from .moments import moments_of as moments_of, moments_told as moments_told
from .plans import (
    MEMORY as MEMORY,
    Charges as Charges,
    Line as Line,
    Outline as Outline,
    RoundCharge as RoundCharge,
    charges_line as charges_line,
    expected_noise as expected_noise,
    memory_line as memory_line,
    noise_of_total as noise_of_total,
    process_bytes as process_bytes,
    says_nothing as says_nothing,
    total_error as total_error,
)
from .prior import Prior as Prior
from .record_answers import RecordAnswers as RecordAnswers
