from .dual_query import (
    ANY_ZCDP as ANY_ZCDP,
    BOUNDED_ZCDP as BOUNDED_ZCDP,
    HETEROGENEOUS as HETEROGENEOUS,
    PAPER as PAPER,
    PURE as PURE,
    TIGHT_ZCDP as TIGHT_ZCDP,
    Accounting as Accounting,
    Game as Game,
    MixedInteger as MixedInteger,
    Oracle as Oracle,
    Parameters as Parameters,
    Response as Response,
    cost as cost,
    practical as practical,
    theorem as theorem,
)
from .dual_query.best_response import (
    check_queries as check_queries,
    sampled_problem as sampled_problem,
)
from .dual_query.oracles import ConjunctionTable as ConjunctionTable
from .dual_query.oracles.problem import BestResponseProblem as BestResponseProblem
from .dual_query.oracles.searches import BruteForce as BruteForce, TabuSearch as TabuSearch
from .dual_query.parameters import step_for as step_for
from .learning import (
    CRITERION as CRITERION,
    Need as Need,
    PositionTargets as PositionTargets,
    budget_after as budget_after,
    budget_with_thresholds as budget_with_thresholds,
    frequent_noise as frequent_noise,
    learn_domain as learn_domain,
    learning_charges as learning_charges,
    learning_share as learning_share,
    needed_steps as needed_steps,
    threshold_of as threshold_of,
    with_verdicts as with_verdicts,
    workload_before as workload_before,
)
from .mwem import Rounds as Rounds
from .mwem.interactions import planned_search as planned_search
from .mwem.opening import small_tables as small_tables
from .mwem.run import MWEMRun as MWEMRun
from .mwem.settings import (
    automatic_rounds as automatic_rounds,
    candidates_of as candidates_of,
    planned_rounds as planned_rounds,
)
from .mwem.strategy_choice import holds as holds
from .offline_pmw import step_length as step_length
from .online_pmw import (
    LOST as LOST,
    START as START,
    Finding as Finding,
    Mark as Mark,
    OnlineAnswer as OnlineAnswer,
    Rules as Rules,
    Stream as Stream,
    Variant as Variant,
    finding_about as finding_about,
    sparse_error as sparse_error,
    step_since as step_since,
    table_of_session as table_of_session,
    two_sided_rules as two_sided_rules,
    with_learnt as with_learnt,
)
from .online_pmw.answer import Known as Known
from .online_pmw.hold import Hold as Hold
from .online_pmw.journal import Transcript as Transcript
from .online_pmw.parameters import (
    best_rules as best_rules,
    required_records as required_records,
    theorem_rules as theorem_rules,
)
from .online_pmw.rules import rules_from_dict as rules_from_dict
from .online_pmw.start import warm_factors as warm_factors
from .online_pmw.state import KIND as KIND
from .registry import (
    ENTRIES as ENTRIES,
    ONLINE as ONLINE,
    Entry as Entry,
    entry as entry,
    made_by as made_by,
    names as names,
)
from .shared import (
    BETA as BETA,
    Algorithm as Algorithm,
    AnchoredLearner as AnchoredLearner,
    Bound as Bound,
    Learner as Learner,
    RecordAnswers as RecordAnswers,
    RoundCharge as RoundCharge,
    RoundReport as RoundReport,
    Task as Task,
    Worth as Worth,
    bound_of as bound_of,
    clipped as clipped,
    concluded as concluded,
    expected_noise as expected_noise,
    exponent_of as exponent_of,
    hypothesis_error as hypothesis_error,
    memory_line as memory_line,
    step_size as step_size,
)
from .small_db import answers_of as answers_of
from .strategies import (
    Aim as Aim,
    Strategy as Strategy,
    cut_where_counts_are as cut_where_counts_are,
    grid_steps as grid_steps,
    grids_tell as grids_tell,
    has_levels as has_levels,
    level_steps as level_steps,
    predicted as predicted,
    prediction_lines as prediction_lines,
    table_steps as table_steps,
)
from .strategies.candidates import Limit as Limit, closure as closure
from .strategies.trees import tree_levels as tree_levels
from .trials import Configuration as Configuration, Trials as Trials
from .yardsticks.spectrum import nuclear_norm as nuclear_norm
