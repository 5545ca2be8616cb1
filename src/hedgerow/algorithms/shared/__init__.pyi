from .algorithm import (
    Algorithm as Algorithm,
    check_domain as check_domain,
    check_table as check_table,
    make_release as make_release,
    number_of_records as number_of_records,
    open_curator as open_curator,
)
from .averaging import Averager as Averager, Output as Output
from .bounds import (
    BETA as BETA,
    Task as Task,
    corollary_2_5 as corollary_2_5,
    hypothesis_error as hypothesis_error,
    theorem_2_3 as theorem_2_3,
)
from .charges import (
    Charges as Charges,
    RoundCharge as RoundCharge,
    bound_of as bound_of,
    expected_noise as expected_noise,
    noise_of as noise_of,
    noise_of_total as noise_of_total,
    task_of as task_of,
    total_error as total_error,
)
from .checks import (
    check_noise as check_noise,
    check_shares as check_shares,
    is_count as is_count,
    is_number as is_number,
)
from .outline import (
    MEMORY as MEMORY,
    Outline as Outline,
    Outlined as Outlined,
    charges_line as charges_line,
    memory_line as memory_line,
    says_nothing as says_nothing,
)
from .progress import ProgressCallback as ProgressCallback, RoundReport as RoundReport
from .record_answers import RecordAnswers as RecordAnswers
from .steps import (
    clipped as clipped,
    exponent_of as exponent_of,
    guaranteed_drop as guaranteed_drop,
    potential_drop as potential_drop,
    step_size as step_size,
    take_step as take_step,
)
