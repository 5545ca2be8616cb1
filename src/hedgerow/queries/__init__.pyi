from .classes.classes import Classes as Classes
from .classes.coarsening import Coarsening as Coarsening
from .conditions.groups import (
    MOST_GROUPS as MOST_GROUPS,
    Groups as Groups,
    canonical as canonical,
    query_key as query_key,
)
from .conditions.json_predicate import parse_json_predicate as parse_json_predicate
from .conditions.predicate import parse_predicate as parse_predicate
from .conditions.select_statement import (
    Aggregate as Aggregate,
    Selection as Selection,
    columns_of as columns_of,
    group_counts as group_counts,
    is_select as is_select,
    parse_count as parse_count,
    parse_select as parse_select,
)
from .conditions.statement_reader import MAX_LENGTH as MAX_LENGTH
from .core import Arrays as Arrays
from .core.attribute_codes import attribute_codes as attribute_codes
from .core.blocks import Blocks as Blocks
from .core.family import Family as Family, filled_axes as filled_axes
from .core.lost_weight import LostWeight as LostWeight, WeightPower as WeightPower, WeightSum as WeightSum
from .core.noise import NoiseKind as NoiseKind
from .core.persons import (
    GRAIN as GRAIN,
    MOST_OF_ONE as MOST_OF_ONE,
    Persons as Persons,
    Weight as Weight,
    persons_of as persons_of,
)
from .core.positions import Positions as Positions
from .core.public import PublicData as PublicData
from .core.query import (
    LATTICE_BITS as LATTICE_BITS,
    AnswersParities as AnswersParities,
    Conjunction as Conjunction,
    Explicit as Explicit,
    LinearQuery as LinearQuery,
    Marginal as Marginal,
    Measurable as Measurable,
    Measurement as Measurement,
    Moment as Moment,
    Parity as Parity,
    Tables as Tables,
    answered as answered,
)
from .core.scope import query_scope as query_scope
from .core.sensitivity import (
    Neighbours as Neighbours,
    Relation as Relation,
    Sensitivity as Sensitivity,
    of_marginal as of_marginal,
    of_query as of_query,
)
from .core.summed_area import summed_area as summed_area
from .core.text import in_workload as in_workload
from .families import known_families as known_families
from .families.conjunction import Boxes as Boxes, Conjunctions as Conjunctions
from .families.explicit import ExplicitMatrix as ExplicitMatrix
from .families.marginal import Cells as Cells, Marginals as Marginals, cliques_of_order as cliques_of_order
from .families.parity import (
    Parities as Parities,
    hadamard as hadamard,
    most_moved as most_moved,
    numbered as numbered,
    of_parities as of_parities,
    parity_scopes as parity_scopes,
    walsh_hadamard as walsh_hadamard,
)
from .families.partial_sums import shared_marginals as shared_marginals
from .families.registry import add_family as add_family
from .formulas import Formula as Formula, require_regressions as require_regressions
from .workload import Workload as Workload
from .workload_format import workload_from_dict as workload_from_dict, workload_to_dict as workload_to_dict
from .workload_text import correlated_columns as correlated_columns, summed_columns as summed_columns
