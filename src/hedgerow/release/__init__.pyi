from .answer import (
    FIRST_SHARE as FIRST_SHARE,
    TOTAL_SHARE as TOTAL_SHARE,
    Answer as Answer,
    Total as Total,
    check_confidence as check_confidence,
    each_of as each_of,
    intersect as intersect,
    left_uncounted as left_uncounted,
    within_possible as within_possible,
)
from .columns import (
    MOST_LISTED as MOST_LISTED,
    ColumnSummary as ColumnSummary,
    column_summaries as column_summaries,
    release_warnings as release_warnings,
)
from .container import Container as Container, write_container as write_container
from .content import (
    BITS as BITS,
    VALUES as VALUES,
    VECTORS as VECTORS,
    StoredModel as StoredModel,
    measurements_from_list as measurements_from_list,
    measurements_to_list as measurements_to_list,
    model_to_dict as model_to_dict,
)
from .criteria import (
    CRITERIA_SHARE as CRITERIA_SHARE,
    Criteria as Criteria,
    Criterion as Criterion,
    Verdict as Verdict,
    all_held as all_held,
    read_yaml as read_yaml,
    slack_of as slack_of,
    verdicts_sentence as verdicts_sentence,
)
from .drawn_error import DrawnError as DrawnError, as_drawn as as_drawn, drawn_error as drawn_error
from .evidence import (
    Evidence as Evidence,
    from_workload_error as from_workload_error,
    measured as measured,
    variance_of as variance_of,
)
from .feasible import Together as Together
from .file import load_release as load_release, save_release as save_release
from .group_numbers import CountAnswerer as CountAnswerer
from .linked import LinkedRelease as LinkedRelease
from .linked_replicates import LinkedReplicates as LinkedReplicates
from .lost_weight import LostShare as LostShare, WeightEffect as WeightEffect
from .metadata import (
    Description as Description,
    left_open as left_open,
    metadata as metadata,
    write_metadata as write_metadata,
)
from .noise_sums import (
    Noises as Noises,
    laplace_sum_quantile as laplace_sum_quantile,
    laplace_sum_tail as laplace_sum_tail,
)
from .numbers import Estimate as Estimate, Numbers as Numbers
from .pairs import (
    Association as Association,
    Knowledge as Knowledge,
    associations as associations,
    fitted_to as fitted_to,
    pair_knowledge as pair_knowledge,
    survey_size as survey_size,
)
from .provenance import LEFT_OUT as LEFT_OUT, Provenance as Provenance
from .ratios import RatioSet as RatioSet, ratio_set as ratio_set
from .record_conditions import understood as understood
from .records import Records as Records, write_batches as write_batches, writer_for as writer_for
from .release import (
    MOST_TOGETHER as MOST_TOGETHER,
    WEIGHTED_RECORDS as WEIGHTED_RECORDS,
    Method as Method,
    Release as Release,
)
from .replicates import ReplicateEstimate as ReplicateEstimate, Replicates as Replicates, Target as Target
from .selection import (
    Selected as Selected,
    check_selection as check_selection,
    estimates as estimates,
    select as select,
    select_from as select_from,
)
from .spark_records import (
    check_folder as check_folder,
    is_local as is_local,
    sample_spark as sample_spark,
    write_folder as write_folder,
)
from .summary import (
    LevelUse as LevelUse,
    distinct_records as distinct_records,
    drawn_sentence as drawn_sentence,
    error_sentence as error_sentence,
    level_uses as level_uses,
    levels_sentence as levels_sentence,
    summary_of as summary_of,
    tables_sentence as tables_sentence,
    weights_of as weights_of,
    weights_sentence as weights_sentence,
)
from .tracing import Traced as Traced, traced as traced
from .unbiased import (
    Estimated as Estimated,
    Runs as Runs,
    Said as Said,
    Split as Split,
    estimated as estimated,
    runs as runs,
)
