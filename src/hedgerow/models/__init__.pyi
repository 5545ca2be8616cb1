from .answering import Answering as Answering
from .choice import (
    LARGEST_TREE as LARGEST_TREE,
    Hypothesis as Hypothesis,
    hypothesis as hypothesis,
    hypothesis_for as hypothesis_for,
    is_dense as is_dense,
    may_be_dense as may_be_dense,
    suited as suited,
)
from .classes.choice import LARGE_ATTRIBUTE as LARGE_ATTRIBUTE, wants_classes as wants_classes
from .classes.value_classes import ValueClasses as ValueClasses
from .core.memory import (
    check_fits as check_fits,
    has_room as has_room,
    runs_within as runs_within,
    usable_bytes as usable_bytes,
)
from .core.model import (
    Codes as Codes,
    HasPotentials as HasPotentials,
    Model as Model,
    Potentials as Potentials,
    SamplingMethod as SamplingMethod,
)
from .core.records import batches as batches
from .core.steps import CELL_RATES as CELL_RATES, Step as Step, query_rate as query_rate
from .dense.histogram import Histogram as Histogram
from .fit.newton import Newton as Newton
from .fit.refit import Proximal as Proximal, Refit as Refit, Sweeps as Sweeps, refit as refit
from .footprint import Footprint as Footprint
from .records.empirical import Empirical as Empirical
from .trees.elimination import plan as plan
from .trees.growth import Growth as Growth
from .trees.junction_tree import JunctionTree as JunctionTree
from .trees.markov import Markov as Markov
