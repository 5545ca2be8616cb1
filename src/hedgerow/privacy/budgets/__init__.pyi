from .budget import (
    Budget as Budget,
    budget_for as budget_for,
    budget_from_dict as budget_from_dict,
    budget_of_filtered as budget_of_filtered,
    budget_of_persons as budget_of_persons,
    for_any_steps as for_any_steps,
    weaknesses as weaknesses,
)
from .charging import (
    ABOVE as ABOVE,
    BELOW as BELOW,
    TOLERANCE as TOLERANCE,
    bounded_range_rho as bounded_range_rho,
    check_amount as check_amount,
    check_scale as check_scale,
    epsilon_of_pure_rho as epsilon_of_pure_rho,
    pure_rho as pure_rho,
    square_range_rho as square_range_rho,
)
from .composition import (
    MOST_STEPS as MOST_STEPS,
    Composition as Composition,
    largest_composition as largest_composition,
)
from .conversion import epsilon_of as epsilon_of
from .gaussian import epsilon_of_half_square as epsilon_of_half_square
from .limits import GDP as GDP, ZCDP as ZCDP, ApproxDP as ApproxDP, Limit as Limit, PureDP as PureDP
from .regime import Regime as Regime
from .subsampling import Subsampled as Subsampled, secret_sample as secret_sample
