from .code_set import CodeSet as CodeSet
from .family import Arrays as Arrays, Family as Family
from .names import (
    BOUNDED_ORDER as BOUNDED_ORDER,
    PLAIN_NAME as PLAIN_NAME,
    SQL_WORDS as SQL_WORDS,
    did_you_mean as did_you_mean,
    in_condition as in_condition,
    quoted as quoted,
    shortened as shortened,
    shown as shown,
)
from .query import (
    LATTICE_BITS as LATTICE_BITS,
    Conjunction as Conjunction,
    Explicit as Explicit,
    LinearQuery as LinearQuery,
    Measurable as Measurable,
    Parity as Parity,
    Tables as Tables,
    filled_axes as filled_axes,
)
from .sensitivity import Neighbours as Neighbours, of_query as of_query
