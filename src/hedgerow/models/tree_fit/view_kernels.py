"""Compiled layouts of tables, and of how small tables meet large ones; nothing else lives here.

The table of clique i has the axes ``members[starts[i]:starts[i + 1]]``, ascending.
"""

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints, Places
from hedgerow.models.tree_fit.sweep_kernels import NARROW, PATTERN, WIDE
from hedgerow.system import device_function, kernel, late

Rows = tuple[Ints, Ints, Ints]
"""The order of the axes of each clique; how many of them count rows; and place, rows and width of its cells."""

Lists = tuple[Ints, Ints, Places, Places, Ints, Ints]
"""Variables of the tables of views.

In this order: the table of view v is over the variables ``lists[first[v]:last[v]]``, ascending, of those that the
clique determines; for each view the first and last; the lists; for each entry the axis of the clique that determines
it, or -1 where all of them together do; the place of its codes in the last array, for each code of that axis or for
each cell of the clique, or -1 where it is the axis itself; and the codes.
"""


@late
@kernel()
def rows_of(sizes: Floats, starts: Ints, members: Places, whole: Bools, one_row: int, least: int) -> Rows:
    """Lay out the table of each clique, longest axis last.

    Args:
        sizes: Codes of each variable.
        starts: Starts of the axes of each clique.
        members: Axes of the tables of cliques.
        whole: Whether each clique is one row, however large.
        one_row: Largest number of cells of other cliques that are one row.
        least: Cells that a row of others has at least.
    """
    cliques = starts.size - 1
    order, leading = np.empty(members.size, np.int64), np.zeros(cliques, np.int64)
    nodes = np.empty((cliques, 3), np.int64)
    place = 0
    for i in range(cliques):
        cells = 1
        for k in range(starts[i], starts[i + 1]):
            size = sizes[members[k]]
            cells *= int(size)
            at = k
            while at > starts[i] and sizes[members[order[at - 1]]] > size:
                order[at] = order[at - 1]
                at -= 1
            order[at] = k
        width = cells
        if cells > one_row and not whole[i]:
            width, k = 1, starts[i + 1]
            while width < least:
                k -= 1
                width *= int(sizes[members[order[k]]])
            leading[i] = k - starts[i] if width < cells else 0
        nodes[i, 0], nodes[i, 1], nodes[i, 2] = place, cells // width, width
        place += cells
    return order, leading, nodes


@device_function()
def _listed(table: Ints, lists: Lists, view: int, sizes: Floats, axes: Places) -> int:
    """Write the variables of a table that a clique determines, the longest last; returns how many they are.

    Args:
        table: For each variable its number of codes, the axis of the clique that it is a function of, counted as they
            are laid out, or -1 for all of them; and the place of its codes.
        lists: See ``Lists``.
        view: Number of the view.
        sizes: Codes of each variable.
        axes: Axes of the clique as they are laid out.
    """
    first, last, variables, carriers, places, _ = lists
    lengths, on, maps = table[0], table[1], table[2]
    count = 0
    for at in range(first[view], last[view]):
        axis = -1
        if carriers[at] >= 0:
            axis = 0
            while axis < axes.size and axes[axis] != carriers[at]:
                axis += 1
            if axis == axes.size:
                continue
        length, k = int(sizes[variables[at]]), count
        while k > 0 and lengths[k - 1] > length:
            lengths[k], on[k], maps[k] = lengths[k - 1], on[k - 1], maps[k - 1]
            k -= 1
        lengths[k], on[k], maps[k] = length, axis, places[at]
        count += 1
    return count


@device_function()
def _strides(out: Ints, lengths: Ints, on: Ints, below: int) -> int:
    """Cells from one code of a variable to the next in a table of those on some axes, 0 for others.

    Args:
        out: Output.
        lengths: Number of codes of each.
        on: The axis of each, -1 for all axes.
        below: Axes from this one on do not count; 0 if all variables count.

    Returns:
        The number of cells.
    """
    cells = 1
    for k in range(lengths.size - 1, -1, -1):
        counted = below == 0 or 0 <= on[k] < below
        out[k] = cells if counted else 0
        cells *= lengths[k] if counted else 1
    return cells


@device_function()
def _index(out: Ints, low: int, high: int, sizes: Ints, table: Ints, strides: Ints, codes: Ints) -> None:
    """Write the cell of a small table that each cell of some axes of a clique, ``low`` to ``high``, belongs to.

    Args:
        out: Output.
        low: First axis.
        high: The one after the last.
        sizes: Number of codes of each axis.
        table: See ``_listed``; as many columns as there are variables.
        strides: Cells from one code of a variable to the next.
        codes: See ``Lists``.
    """
    on, maps = table[1], table[2]
    out[0], count = 0, 1
    for axis in range(low, high):
        n = sizes[axis]
        for p in range(count - 1, -1, -1):
            base = out[p]
            for j in range(n - 1, -1, -1):
                out[p * n + j] = base
        count *= n
        for k in range(strides.size):
            if on[k] == axis and strides[k] > 0:
                for j in range(n):
                    added = strides[k] * (j if maps[k] < 0 else codes[maps[k] + j])
                    for p in range(j, count, n):
                        out[p] += added
    for k in range(strides.size):
        if on[k] < 0 and strides[k] > 0:
            for p in range(count):
                out[p] += strides[k] * codes[maps[k] + p]


@device_function()
def _is_wide(pattern: Ints, numbers: Ints, strides: Ints) -> bool:
    """Whether rows of a table have one value for each cell of a row of the clique, in the same order."""
    wide = True
    for k in range(numbers.size):
        wide = wide and (numbers[k] == 0 or strides[k] == numbers[k] * pattern.size)
    for p in range(pattern.size):
        wide = wide and pattern[p] == p
    return wide


@device_function()
def _begin(rows: Ints, begins: Ints, number: int, lengths: Ints, numbers: Ints, strides: Ints) -> int:
    """Write where each row of a table begins, given the row that each row of the clique meets; returns how many.

    Where more rows than the clique has are for codes that no record has, each row of the clique gets one of its own.
    """
    own = number > rows.size
    for r in range(rows.size if own else number):
        row, begins[r] = rows[r] if own else r, 0
        for k in range(numbers.size):
            if numbers[k] > 0:
                begins[r] += row // numbers[k] % lengths[k] * strides[k]
        if own:
            rows[r] = r
    return rows.size if own else number


@late
@kernel()
def views_of(
    sizes: Floats, starts: Ints, members: Places, rows: Rows, owners: Ints, lists: Lists
) -> tuple[Ints, Ints, Ints, int]:
    """Find where small tables meet cliques.

    Args:
        sizes: Codes of each variable.
        starts: Starts of the axes of each clique.
        members: Axes of the tables of cliques.
        rows: Result of ``rows_of``.
        owners: For each view its clique.
        lists: Variables of the tables.

    Returns:
        The views, with one more of a table with one cell; the pool of their maps; the cells of each table; and the most
        cells of a table or of its rows.
    """
    order, leading, nodes = rows
    zeros, total, most = 1, 0, 1
    for i in range(nodes.shape[0]):
        zeros = max(zeros, nodes[i, 1], nodes[i, 2])
    for v in range(owners.size):
        total += 2 * nodes[owners[v], 1] + nodes[owners[v], 2]
        most = max(most, lists[1][v] - lists[0][v])
    pool = np.empty(zeros + total, np.int64)
    for k in range(zeros):
        pool[k] = 0
    views, cells = np.empty((owners.size + 1, 5), np.int64), np.empty(owners.size, np.int64)
    every, marks = np.empty((3, most), np.int64), np.empty((2, most), np.int64)
    axes, lengths = np.empty(order.size, np.int32), np.empty(order.size, np.int64)
    for k in range(order.size):
        axes[k] = members[order[k]]
        lengths[k] = int(sizes[axes[k]])
    rows_at, room = zeros, 1
    for v in range(owners.size):
        i = owners[v]
        start, end, cut = starts[i], starts[i + 1], leading[i]
        none = cut - cut  # not a literal, for which others would be compiled again
        count = _listed(every, lists, v, sizes, axes[start:end])
        table, strides, numbers = every[:, :count], marks[0, :count], marks[1, :count]
        cells[v] = _strides(strides, table[0], table[1], none)
        number = _strides(numbers, table[0], table[1], cut) if cut > 0 else 1
        at, begins_at = rows_at + nodes[i, 1], rows_at + nodes[i, 1] + nodes[i, 2]
        pattern, begins = pool[at:begins_at], pool[begins_at : begins_at + nodes[i, 1]]
        if cut > 0:
            _index(pool[rows_at:at], none, cut, lengths[start:end], table, numbers, lists[5])
        else:
            for k in range(count):
                numbers[k] = 0
            pool[rows_at] = 0
        _index(pattern, cut, end - start, lengths[start:end], table, strides, lists[5])
        kind = PATTERN
        if cut > 0 and number == cells[v]:
            kind = NARROW
        elif cut > 0 and number * pattern.size == cells[v] and _is_wide(pattern, numbers, strides):
            kind = WIDE
        else:
            number = _begin(pool[rows_at:at], begins, number, table[0], numbers, strides)
            room = max(room, number * pattern.size if cut > 0 else 1)
        room = max(room, cells[v])
        views[v, 0], views[v, 1], views[v, 2], views[v, 3], views[v, 4] = kind, rows_at, at, number, begins_at
        rows_at = begins_at + nodes[i, 1]
    v = owners.size
    views[v, 0], views[v, 1], views[v, 2], views[v, 3], views[v, 4] = NARROW, 0, 0, 1, 0
    return views, pool, cells, room
