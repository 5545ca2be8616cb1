"""Compiled averages of what tables share."""

import numpy as np

from hedgerow.arrays import Floats, Ints, Places
from hedgerow.system import kernel

Meetings = tuple[Ints, Ints, Ints, Ints, Places, Floats]
"""Marginals that several tables share, coarse ones first.

First row of each marginal, a row being a table that has it, and where the last ends; cells of each marginal; first cell
of each row among those of all tables, and after its last; for each cell of each row the cell of the marginal; 1 over
the variances of the sums of each row.
"""


@kernel()
def average_all(values: Floats, variances: Floats, meetings: Meetings, total: float) -> None:
    """Replace each shared marginal by its average in all tables, from coarse to fine and back; in place.

    Args:
        values: Cells of all tables.
        variances: Variance of each, the same shape.
        meetings: See ``Meetings``; of the marginal over nothing, which is the first, the average is the total.
        total: The sum of the cells of each table.
    """
    rows, sizes, firsts, lasts, places, precisions = meetings
    count = sizes.size
    first_place = np.zeros(firsts.size + 1, dtype=np.int64)
    for row in range(firsts.size):  # an array into a slice would compile its error message for two seconds
        first_place[row + 1] = first_place[row] + lasts[row] - firsts[row]
    first_sum = np.zeros(count + 1, dtype=np.int64)
    for m in range(count):
        first_sum[m + 1] = first_sum[m] + (rows[m + 1] - rows[m]) * sizes[m]
    room = np.empty(precisions.size)
    for turn in range(2 * count):
        m = turn if turn < count else 2 * count - 1 - turn
        size = sizes[m]
        room[first_sum[m] : first_sum[m + 1]] = 0.0
        for row in range(rows[m], rows[m + 1]):
            sums = room[first_sum[m] + (row - rows[m]) * size :]
            inside, here = places[first_place[row] : first_place[row + 1]], values[firsts[row] : lasts[row]]
            for cell in range(inside.size):
                sums[inside[cell]] += here[cell]
        for k in range(size):
            weighted, weight = 0.0, 0.0
            for at in range(first_sum[m] + k, first_sum[m + 1], size):
                weighted += precisions[at] * room[at]
                weight += precisions[at]
            mean = total if m == 0 else (weighted / weight if weight > 0.0 else 0.0)
            for at in range(first_sum[m] + k, first_sum[m + 1], size):
                room[at] = (mean - room[at]) * precisions[at]
        for row in range(rows[m], rows[m + 1]):
            missing = room[first_sum[m] + (row - rows[m]) * size :]
            inside, here = places[first_place[row] : first_place[row + 1]], values[firsts[row] : lasts[row]]
            spread = variances[firsts[row] : lasts[row]]
            for cell in range(inside.size):
                here[cell] += spread[cell] * missing[inside[cell]]
