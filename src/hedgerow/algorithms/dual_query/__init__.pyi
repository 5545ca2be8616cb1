from .accounting import (
    ANY_ZCDP as ANY_ZCDP,
    BOUNDED_ZCDP as BOUNDED_ZCDP,
    HETEROGENEOUS as HETEROGENEOUS,
    PAPER as PAPER,
    PURE as PURE,
    TIGHT_ZCDP as TIGHT_ZCDP,
    Accounting as Accounting,
)
from .dual_query import DualQuery as DualQuery
from .oracles import (
    BestResponseProblem as BestResponseProblem,
    BruteForce as BruteForce,
    MixedInteger as MixedInteger,
    Oracle as Oracle,
    Response as Response,
    TabuSearch as TabuSearch,
)
from .parameters import (
    Game as Game,
    Parameters as Parameters,
    Theorem as Theorem,
    cost as cost,
    practical as practical,
    theorem as theorem,
)
