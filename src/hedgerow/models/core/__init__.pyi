from .completion import (
    Completion as Completion,
    Conditional as Conditional,
    drawn as drawn,
    runs_of as runs_of,
    strides_of as strides_of,
)
from .conditions import Columns as Columns, restricted as restricted, unmet as unmet
from .controlled import controlled_records as controlled_records
from .memory import (
    Room as Room,
    check_cells as check_cells,
    check_fits as check_fits,
    required_bytes as required_bytes,
    runs_within as runs_within,
)
from .model import (
    EXPLICIT as EXPLICIT,
    IMPLICIT as IMPLICIT,
    JOINT as JOINT,
    KINDS as KINDS,
    Complete as Complete,
    Factored as Factored,
    Given as Given,
    Kind as Kind,
    Model as Model,
)
from .records import (
    Codes as Codes,
    SamplingMethod as SamplingMethod,
    block_rows as block_rows,
    code_type as code_type,
    new_state as new_state,
    positions as positions,
    shuffle as shuffle,
)
from .steps import Phase as Phase
from .terms import (
    Potentials as Potentials,
    Terms as Terms,
    checked_table as checked_table,
    components as components,
    spread as spread,
)
