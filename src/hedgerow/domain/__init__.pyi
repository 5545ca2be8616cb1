from .attribute import (
    Attribute as Attribute,
    Binned as Binned,
    Categorical as Categorical,
    IntegerRange as IntegerRange,
    value_text as value_text,
)
from .constraint import Constraint as Constraint
from .derived import (
    Clique as Clique,
    Derived as Derived,
    width_level as width_level,
)
from .domain import Domain as Domain
from .feasible import (
    feasible_records as feasible_records,
    listed_records as listed_records,
    possible_records as possible_records,
)
from .file import (
    domain_from_mapping as domain_from_mapping,
    domain_to_mapping as domain_to_mapping,
    read_domain as read_domain,
)
from .tables import places_in as places_in, spread_over as spread_over, summed as summed
from .values import arrow_schema as arrow_schema
