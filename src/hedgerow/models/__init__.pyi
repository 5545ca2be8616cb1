from .answering import Answering as Answering
from .choice import (
    LARGE_ATTRIBUTE as LARGE_ATTRIBUTE,
    LARGEST_TREE as LARGEST_TREE,
    Footprint as Footprint,
    Hypothesis as Hypothesis,
    hypothesis as hypothesis,
    hypothesis_for as hypothesis_for,
    is_dense as is_dense,
    may_be_dense as may_be_dense,
    over_tables as over_tables,
    scopes_over_tree as scopes_over_tree,
    suited as suited,
    wants_classes as wants_classes,
)
from .classes.value_classes import ValueClasses as ValueClasses
from .core import (
    KINDS as KINDS,
    Kind as Kind,
    Phase as Phase,
    components as components,
    controlled_records as controlled_records,
    positions as positions,
    required_bytes as required_bytes,
)
from .core.memory import (
    check_fits as check_fits,
    has_room as has_room,
    runs_within as runs_within,
    usable_bytes as usable_bytes,
)
from .core.model import HasPotentials as HasPotentials, Model as Model
from .core.records import (
    Codes as Codes,
    SamplingMethod as SamplingMethod,
    batches as batches,
    collected as collected,
)
from .core.steps import (
    CELL_RATES as CELL_RATES,
    Run as Run,
    Step as Step,
    implicit as implicit,
    marginal_step as marginal_step,
    query_rate as query_rate,
    query_step as query_step,
)
from .core.terms import Potentials as Potentials
from .dense import implicit_step as implicit_step, solve_positive as solve_positive
from .dense.histogram import Histogram as Histogram
from .dense.layout import RowLayout as RowLayout
from .fit.agreement import agreed as agreed
from .fit.chains import estimated as estimated, nested as nested
from .fit.consistency import consistent as consistent
from .fit.nested import Nested as Nested
from .fit.newton import Newton as Newton, solvable as solvable
from .fit.raking import (
    as_measurements as as_measurements,
    check_raked as check_raked,
    rake as rake,
)
from .fit.refit import (
    LARGEST_STOPPED as LARGEST_STOPPED,
    parity_lengths as parity_lengths,
    refit as refit,
    resume as resume,
)
from .fit.residual_basis import ResidualBasis as ResidualBasis
from .fit.rules import Proximal as Proximal, Refit as Refit, Stretched as Stretched, Sweeps as Sweeps
from .fit.top_down import (
    coarse_first as coarse_first,
    fit_top_down as fit_top_down,
    levels_of as levels_of,
    measured_levels as measured_levels,
)
from .overlays import can_hold as can_hold
from .overlays.estimate import overlaid as overlaid
from .overlays.holding import (
    LARGEST_OVERLAY as LARGEST_OVERLAY,
    can_hold_table as can_hold_table,
    table_cells as table_cells,
)
from .overlays.moves import can_move as can_move, cells_read as cells_read
from .overlays.overlay import Overlay as Overlay, moves_of as moves_of
from .overlays.projection import nearest as nearest
from .records.empirical import Empirical as Empirical, cells_of as cells_of, values_at as values_at
from .tree_fit import TreeFit as TreeFit
from .tree_fit.layout import WalkLayout as WalkLayout
from .trees import Beliefs as Beliefs, Forest as Forest, markov_bytes as markov_bytes
from .trees.elimination import plan as plan, width as width
from .trees.growth import Growth as Growth
from .trees.junction_tree import JunctionTree as JunctionTree
from .trees.markov import Markov as Markov
