from .bits import count_parities as count_parities
from .marginals import (
    CHEAP_CELLS as CHEAP_CELLS,
    check_memory as check_memory,
    count_conjunctions as count_conjunctions,
    count_marginals as count_marginals,
)
