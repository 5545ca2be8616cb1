"""The compiled pass over records that are moved; nothing else lives here."""

import math

from hedgerow.arrays import Floats, Ints
from hedgerow.system import kernel

Layout = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]
"""First cell of each table; where the attributes of each begin, and the last one's end; column and stride of each of
these; where the tables of each column begin, and the last one's end; each of these, and the column's stride in it."""


@kernel()
def sweep(
    codes: Ints,
    sizes: Ints,
    free: Ints,
    layout: Layout,
    logs: Floats,
    gains: Floats,
    uniforms: Floats,
    places: Ints,
    sums: Floats,
) -> None:
    """Draw every free code of every record anew, given all other codes of all records.

    A code has a probability in proportion to the exponential of the log-weights of the record's cells with it. A cell
    that gets a record loses its gain in log-weight, and wins it back with the loss of one. The record itself is taken
    out while it is drawn.

    Args:
        codes: Shape ``(columns, records)``; changed.
        sizes: Number of codes of each column.
        free: Columns that are drawn.
        layout: The tables.
        logs: Log-weights of all cells, finite in those of the records; changed.
        gains: Log-weight that a cell loses with each record in it.
        uniforms: Uniform numbers below 1, shape ``(records, columns that are drawn)``.
        places: Room for a record's cell in each table.
        sums: Room for as many numbers as a column has codes.
    """
    cells, begins, columns, strides, firsts, tables, steps = layout
    for i in range(codes.shape[1]):
        for t in range(cells.size):
            places[t] = cells[t]
            for e in range(begins[t], begins[t + 1]):
                places[t] += strides[e] * codes[columns[e], i]
        for f in range(free.size):
            j = free[f]
            old, size = codes[j, i], sizes[j]
            for code in range(size):
                sums[code] = 0.0
            for e in range(firsts[j], firsts[j + 1]):
                place, step = places[tables[e]], steps[e]
                sums[old] += gains[place]
                place -= old * step
                for code in range(size):
                    sums[code] += logs[place + code * step]
            top = sums[old]
            for code in range(size):
                top = max(top, sums[code])
            total = 0.0
            for code in range(size):
                total += math.exp(sums[code] - top)
                sums[code] = total
            wanted = uniforms[i, f] * total
            new = 0
            while new < size - 1 and sums[new] <= wanted:
                new += 1
            if new != old:
                codes[j, i] = new
                for e in range(firsts[j], firsts[j + 1]):
                    t = tables[e]
                    logs[places[t]] += gains[places[t]]
                    places[t] += (new - old) * steps[e]
                    logs[places[t]] -= gains[places[t]]


@kernel()
def count(codes: Ints, layout: Layout, counts: Floats) -> None:
    """Add the records to the counts of all cells."""
    cells, begins, columns, strides, _, _, _ = layout
    for i in range(codes.shape[1]):
        for t in range(cells.size):
            place = cells[t]
            for e in range(begins[t], begins[t + 1]):
                place += strides[e] * codes[columns[e], i]
            counts[place] += 1.0
