from .budgets import epsilon_of_half_square as epsilon_of_half_square, epsilon_of_pure_rho as epsilon_of_pure_rho
from .budgets.budget import (
    Budget as Budget,
    budget_for as budget_for,
    budget_from_dict as budget_from_dict,
    budget_of_filtered as budget_of_filtered,
    budget_of_persons as budget_of_persons,
    for_any_steps as for_any_steps,
    weaknesses as weaknesses,
)
from .budgets.charging import bounded_range_rho as bounded_range_rho, check_amount as check_amount, pure_rho as pure_rho
from .budgets.composition import (
    MOST_STEPS as MOST_STEPS,
    Composition as Composition,
    largest_composition as largest_composition,
)
from .budgets.conversion import epsilon_of as epsilon_of, rho_of as rho_of
from .budgets.gaussian import (
    epsilon_of_mu as epsilon_of_mu,
    half_square as half_square,
    mu_of as mu_of,
    pure_gdp as pure_gdp,
)
from .budgets.guessing import membership_guess as membership_guess
from .budgets.limits import GDP as GDP, ZCDP as ZCDP, ApproxDP as ApproxDP, Limit as Limit, PureDP as PureDP
from .budgets.regime import Regime as Regime
from .budgets.split import split_budget as split_budget, together as together
from .budgets.subsampling import Subsampled as Subsampled, amplified as amplified
from .curator import Curator as Curator
from .evaluation import (
    OUTSIDE as OUTSIDE,
    ExactErrors as ExactErrors,
    broken_rules as broken_rules,
    exact_answers as exact_answers,
    exact_errors as exact_errors,
    exact_marginals as exact_marginals,
    exact_records as exact_records,
    exact_total as exact_total,
    relative_entropy as relative_entropy,
)
from .exact import (
    EqualUnits as EqualUnits,
    public_databases as public_databases,
    quantile_scores as quantile_scores,
    quantile_sensitivity as quantile_sensitivity,
)
from .exact.lattice import LARGEST_MASS as LARGEST_MASS, prepare as prepare, step_of as step_of
from .exact.quantiles import Run as Run
from .exact.scores import (
    GRID as GRID,
    EqualWidths as EqualWidths,
    database_sensitivity as database_sensitivity,
    grid_sensitivity as grid_sensitivity,
)
from .first_run import TRY as TRY, first_that_passes as first_that_passes
from .ledger import PaidNoise as PaidNoise
from .ledger.events import FORMAT as FORMAT, Event as Event
from .ledger.ledger import Ledger as Ledger, LedgerView as LedgerView
from .ledger.paid import check_answers_paid as check_answers_paid, check_limit as check_limit
from .ledger.questions import (
    PUBLIC as PUBLIC,
    BestDatabase as BestDatabase,
    ErrorFigure as ErrorFigure,
    FrequentLabels as FrequentLabels,
    InterruptedDraw as InterruptedDraw,
    MeasuredParities as MeasuredParities,
    MeasuredQuery as MeasuredQuery,
    Purpose as Purpose,
    QuantileCuts as QuantileCuts,
    QueryDraws as QueryDraws,
    Question as Question,
    RecordCount as RecordCount,
    RunThatPasses as RunThatPasses,
    ThresholdTests as ThresholdTests,
    WorstCandidate as WorstCandidate,
)
from .mechanisms import (
    GaussianNoise as GaussianNoise,
    IndependentDraws as IndependentDraws,
    LaplaceNoise as LaplaceNoise,
    mechanism_of as mechanism_of,
    selection_by as selection_by,
)
from .mechanisms.additive_noise import (
    HALVES as HALVES,
    AdditiveNoise as AdditiveNoise,
    additive_noise as additive_noise,
    laplace_reach as laplace_reach,
    laplace_scale as laplace_scale,
)
from .mechanisms.events import Mechanism as Mechanism, cost_of as cost_of
from .mechanisms.run_selection import (
    RUN_SELECTION as RUN_SELECTION,
    RunSelection as RunSelection,
    check_selects_runs as check_selects_runs,
)
from .mechanisms.selection import (
    ExponentialMechanism as ExponentialMechanism,
    Law as Law,
    PermuteAndFlip as PermuteAndFlip,
    Selection as Selection,
)
from .mechanisms.sparse_vector import RENYI as RENYI, SparseVector as SparseVector
from .mechanisms.thresholds import ThresholdedCounts as ThresholdedCounts
from .randomness.draws import SLACK as SLACK, softmax_draws as softmax_draws
from .randomness.source import (
    SECURE_SOURCE as SECURE_SOURCE,
    NoiseSource as NoiseSource,
    OpenDPNoise as OpenDPNoise,
    SeededNoise as SeededNoise,
    name_of_source as name_of_source,
)
from .register.earlier_runs import (
    before_a_run as before_a_run,
    note_release as note_release,
    warn_of_weakness as warn_of_weakness,
)
from .register.entries import DATA_SET as DATA_SET, Contents as Contents, Entry as Entry, charge_of as charge_of
from .register.register import Register as Register
from .shared_noise import Batch as Batch, batches as batches, noise_of as noise_of, noises_of as noises_of
from .watch import Watch as Watch, WatchState as WatchState
from .workload_error import NoisyError as NoisyError, WorkloadError as WorkloadError
