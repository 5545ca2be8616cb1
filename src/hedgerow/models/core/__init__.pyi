from .checks import spread as spread
from .memory import (
    Room as Room,
    check_cells as check_cells,
    required_bytes as required_bytes,
    runs_within as runs_within,
)
from .model import Codes as Codes, Model as Model, Potentials as Potentials, SamplingMethod as SamplingMethod
from .records import (
    block_rows as block_rows,
    check_number as check_number,
    code_type as code_type,
    new_state as new_state,
    positions as positions,
    shuffle as shuffle,
)
from .steps import Phase as Phase
from .terms import Terms as Terms
