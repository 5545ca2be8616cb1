"""Compiled sums over the codes of a variable."""

from hedgerow.arrays import Floats, Places
from hedgerow.system import kernel


@kernel()
def add_coarse(table: Floats, codes: Places, out: Floats) -> None:
    """Add up what has the same coarse code; several times as fast as ``reduceat``, but along the last axis.

    Args:
        table: Shape ``(before, fine codes, after)``.
        codes: The coarse code of each fine one, -1 where no record is.
        out: Output, zeros, shape ``(before, coarse codes, after)``.
    """
    for i in range(table.shape[0]):
        for k in range(table.shape[1]):
            code = codes[k]
            if code >= 0:
                for j in range(table.shape[2]):
                    out[i, code, j] += table[i, k, j]
