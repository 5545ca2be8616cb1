from .estimate import LARGEST_BELOW as LARGEST_BELOW, overlaid as overlaid
from .holding import (
    LARGEST_OVERLAY as LARGEST_OVERLAY,
    can_hold as can_hold,
    can_hold_table as can_hold_table,
    overlay_bytes as overlay_bytes,
    table_cells as table_cells,
)
from .moves import can_move as can_move, cells_read as cells_read
from .overlay import Overlay as Overlay, moves_of as moves_of
