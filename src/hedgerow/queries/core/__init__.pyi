from .code_set import CodeSet as CodeSet
from .family import Arrays as Arrays, Family as Family
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
from .sensitivity import Neighbours as Neighbours, of_query as of_query
from .text import (
    BOUNDED_ORDER as BOUNDED_ORDER,
    PLAIN_NAME as PLAIN_NAME,
    SQL_WORDS as SQL_WORDS,
    clique_list as clique_list,
    did_you_mean as did_you_mean,
    in_condition as in_condition,
    in_workload as in_workload,
    shortened as shortened,
    shown as shown,
)
