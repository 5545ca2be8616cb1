from .attribute_codes import attribute_codes as attribute_codes
from .blocks import Blocks as Blocks
from .family import Arrays as Arrays, Family as Family
from .persons import Persons as Persons, Weight as Weight
from .public import PublicData as PublicData
from .query import (
    LATTICE_BITS as LATTICE_BITS,
    AnswersParities as AnswersParities,
    Conjunction as Conjunction,
    Explicit as Explicit,
    LinearQuery as LinearQuery,
    Marginal as Marginal,
    Measurable as Measurable,
    Parity as Parity,
    Tables as Tables,
)
from .scope import carrier as carrier, pulled_back as pulled_back, query_scope as query_scope
from .sensitivity import (
    Neighbours as Neighbours,
    Relation as Relation,
    of_query as of_query,
)
from .text import (
    BOUNDED_ORDER as BOUNDED_ORDER,
    PLAIN_NAME as PLAIN_NAME,
    clique_list as clique_list,
    in_workload as in_workload,
)
