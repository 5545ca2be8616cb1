"""Compiled passes that turn tables into records; nothing else lives here.

Codes are columns, shape ``(attributes, records)``. Randomness is SplitMix64 (Steele, Lea and Flood 2014), a counter
whose steps are mixed, seeded from numpy; it shuffles public tables and protects nothing. A state is one word.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints, Words
from hedgerow.system import device_function, inlined, kernel

Places = NDArray[np.signedinteger]
Columns = NDArray[np.unsignedinteger]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)
_11, _27, _30, _31, _32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_UNIT = 2.0**-53


@inlined()
def _mixed(word: np.uint64) -> np.uint64:
    once = (word ^ (word >> _30)) * _FIRST
    twice = (once ^ (once >> _27)) * _SECOND
    return twice ^ (twice >> _31)


@inlined()
def _unit(word: np.uint64) -> float:
    """Uniform in [0, 1)."""
    return float(_mixed(word) >> _11) * _UNIT


@inlined()
def _below(word: np.uint64, bound: int) -> np.int64:
    """Uniform below a bound of at most 2^32, with a bias below 2^-32."""
    mixed, factor = _mixed(word), np.uint64(bound)
    return np.int64(((mixed >> _32) * factor + (((mixed & _LOW) * factor) >> _32)) >> _32)


Entries = tuple[Ints, Places, Ints]
"""Counts of a table that are not 0: where each row's entries start and where the last one's end, cells, counts."""


@kernel()
def round_rows(
    table: Floats, group_place: Ints, rest_place: Ints, sizes: Ints, least: float, state: Words, entries: Entries
) -> int:
    """Systematic rounding of each row of a table to whole numbers with a given sum.

    Args:
        table: Flat; cell ``k`` of row ``g`` is ``table[group_place[g] + rest_place[k]]``.
        group_place: Start of each row.
        rest_place: Position of each cell in its row.
        sizes: The sum that each row gets.
        least: A row whose cells sum to less counts as even.
        state: State of the generator.
        entries: Filled with the cells of each row that got something, and how much.

    Returns:
        Number of entries.
    """
    starts, cells, counts = entries
    word = state[0]
    count = 0
    for g in range(sizes.size):
        starts[g] = count
        if sizes[g] > 0:
            word += _STEP
            row = table[group_place[g] :]
            count = _round(row, rest_place, sizes[g], _unit(word), least, cells, counts, starts[g])
    starts[sizes.size] = count
    state[0] = word
    return count


@kernel()
def round_runs(
    table: Floats, order: Ints, begins: Ints, sizes: Ints, least: float, state: Words, entries: Entries
) -> int:
    """The same for rows of different lengths; the entries are positions in the table.

    Args:
        table: Flat; row ``g`` is ``table[order[begins[g]:begins[g + 1]]]``.
        order: Positions of the cells, row by row.
        begins: Start of each row in the order, and the end of the last one.
        sizes: The sum that each row gets.
        least: A row whose cells sum to less counts as even.
        state: State of the generator.
        entries: Filled with the positions of the cells that got something, and how much.

    Returns:
        Number of entries.
    """
    starts, cells, counts = entries
    word = state[0]
    count = 0
    for g in range(sizes.size):
        starts[g] = count
        if sizes[g] > 0:
            word += _STEP
            places = order[begins[g] : begins[g + 1]]
            stop = _round(table, places, sizes[g], _unit(word), least, cells, counts, starts[g])
            for e in range(count, stop):
                cells[e] = places[cells[e]]
            count = stop
    starts[sizes.size] = count
    state[0] = word
    return count


@device_function()
def _round(
    row: Floats, places: Ints, wanted: np.int64, offset: float, least: float, cells: Places, counts: Ints, found: int
) -> int:
    """Systematic rounding of one row; returns the number of entries, of which there were ``found`` before."""
    total = 0.0
    for k in range(places.size):
        total += row[places[k]]
    even = total < least
    if even:
        total = float(places.size)
    reached = 0.0
    dealt = np.int64(0)
    for k in range(places.size):
        reached += 1.0 if even else row[places[k]]
        upto = wanted if reached >= total else min(wanted, np.int64(reached / total * wanted + offset))
        if upto > dealt:
            cells[found] = k
            counts[found] = upto - dealt
            found += 1
            dealt = upto
    return found


@kernel()
def add_entries(entries: Entries, group_part: Ints, rest_part: Ints, sizes: Ints) -> None:
    """Sum entries into a smaller table: cell ``k`` of row ``g`` goes to ``group_part[g] + rest_part[k]``."""
    starts, cells, counts = entries
    for g in range(starts.size - 1):
        for e in range(starts[g], starts[g + 1]):
            sizes[group_part[g] + rest_part[cells[e]]] += counts[e]


@kernel()
def group(codes: Columns, columns: Ints, strides: Ints, groups: Places, sizes: Ints) -> None:
    """The group of every record, ``sum(strides[c] * codes[columns[c]])``, and how many each has."""
    groups[:] = 0
    for c in range(columns.size):
        column = codes[columns[c]]
        stride = groups.dtype.type(strides[c])
        for i in range(groups.size):
            groups[i] += column[i] * stride
    sizes[:] = 0
    for i in range(groups.size):
        sizes[groups[i]] += 1


@kernel()
def take(sizes: Ints, entries: Entries, left: Ints, state: Words, firsts: Ints, slots: Places) -> None:
    """Take some of what is left in every row, evenly spaced over its entries: each gives its share rounded up or down.

    Args:
        sizes: Number to take from each row.
        entries: Cells, and the number left of each; lowered.
        left: Number left of each row; lowered.
        state: State of the generator.
        firsts: Filled with where each row's cells start in the slots.
        slots: Filled with the cells that were taken, row by row.
    """
    starts, cells, counts = entries
    word = state[0]
    at = 0
    for g in range(sizes.size):
        firsts[g] = at
        wanted = sizes[g]
        if wanted == 0:
            continue
        total = left[g]
        left[g] = total - wanted
        word += _STEP
        reached = min(np.int64(_unit(word) * total), total - 1)
        for e in range(starts[g], starts[g + 1]):
            reached += counts[e] * wanted
            while reached >= total:  # at most as often as the entry has records, as no more are wanted than are left
                reached -= total
                counts[e] -= 1
                slots[at] = cells[e]
                at += 1
    state[0] = word


@kernel()
def deal(groups: Places, sizes: Ints, firsts: Ints, slots: Places, state: Words, found: Places) -> None:
    """Give every record one of its group's slots at random, without replacement; the sizes end at 0."""
    word = state[0]
    for i in range(groups.size):
        g = groups[i]
        word += _STEP
        size = sizes[g]
        at = firsts[g] + _below(word, size)
        found[i] = slots[at]
        slots[at] = slots[firsts[g] + size - 1]
        sizes[g] = size - 1
    state[0] = word


@kernel()
def shuffle(found: Ints, state: Words) -> None:
    """Random order (Fisher and Yates)."""
    word = state[0]
    for i in range(found.size - 1, 0, -1):
        word += _STEP
        at = _below(word, i + 1)
        kept = found[i]
        found[i] = found[at]
        found[at] = kept
    state[0] = word


@kernel()
def draw_rows(ends: Floats, groups: Places, state: Words, found: Places) -> None:
    """Draw a cell for every record from its group's row, given as cumulative sums, each record by itself."""
    word = state[0]
    for i in range(groups.size):
        word += _STEP
        found[i] = _drawn(ends[groups[i]], _unit(word))
    state[0] = word


@kernel()
def draw_runs(ends: Floats, order: Ints, begins: Ints, groups: Places, state: Words, found: Places) -> None:
    """The same for rows of different lengths: ``ends[begins[g]:begins[g + 1]]``, of the cells ``order`` in there."""
    word = state[0]
    for i in range(groups.size):
        begin = begins[groups[i]]
        word += _STEP
        found[i] = order[begin + _drawn(ends[begin : begins[groups[i] + 1]], _unit(word))]
    state[0] = word


@kernel()
def add_up(values: Floats, begins: Ints) -> None:
    """Make rows of different lengths into their cumulative sums."""
    for g in range(begins.size - 1):
        for k in range(begins[g] + 1, begins[g + 1]):
            values[k] += values[k - 1]


@device_function()
def _drawn(row: Floats, position: float) -> int:
    """The first cell whose end is beyond a part of the whole."""
    wanted = position * row[row.size - 1]
    low, high = 0, row.size - 1
    while low < high:
        middle = (low + high) // 2
        if row[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@kernel()
def unravel(found: Places, columns: Ints, shape: Ints, codes: Columns) -> None:
    """Split flat cells into codes, the last of the columns fastest; the cells are lost."""
    for c in range(columns.size - 1, 0, -1):
        column = codes[columns[c]]
        size = found.dtype.type(shape[c])
        inverse = 1.0 / size
        for i in range(found.size):
            following = found.dtype.type((found[i] + 0.5) * inverse)  # exact below 2^50
            column[i] = found[i] - following * size
            found[i] = following
    column = codes[columns[0]]
    for i in range(found.size):
        column[i] = found[i]


Cells = tuple[Ints, Ints, Ints, Ints, Ints]
"""Cells between two kinds of sums: the two sums of each cell, numbered through; where the cells of each sum begin;
these cells, sum by sum; and the two places of each cell there, shape ``(2 * cells,)``."""


@device_function()
def _drop(cell: int, cells: Cells, left: Ints) -> None:
    """Take a cell out of the lists of both its sums."""
    one, other, starts, members, places = cells
    for side in range(2):
        node = one[cell] if side == 0 else other[cell]
        left[node] -= 1
        last = members[starts[node] + left[node]]
        at = places[2 * cell + side]
        members[at] = last
        places[2 * last + (0 if one[last] == node else 1)] = at
        members[starts[node] + left[node]] = cell
        places[2 * cell + side] = starts[node] + left[node]


@kernel()
def round_along_cycles(shares: Floats, cells: Cells, least: float, state: Words) -> int:
    """Round numbers between 0 and 1 to 0 or 1, each with its own probability, and keep all sums that are whole.

    Cells with a fraction hang together in circles, along which one may grow as much as the next one falls until one of
    them is whole (R. Gandhi, S. Khuller, S. Parthasarathy, A. Srinivasan, "Dependent rounding and its applications to
    approximation algorithms", JACM 2006; L. H. Cox, "A constructive procedure for unbiased controlled rounding", JASA
    1987). Each cell lies in two sums.

    Args:
        shares: The numbers, changed in place.
        cells: Where they lie.
        least: Distance from a whole number that is rounding.
        state: State of the generator.

    Returns:
        Number of cells that were alone in a sum, and rounded to the nearest.
    """
    one, other, starts, members = cells[:4]
    left = starts[1:] - starts[:-1]
    nodes, came = np.zeros(left.size + 1, dtype=np.int64), np.zeros(left.size + 1, dtype=np.int64)
    seen = np.full(left.size, -1, dtype=np.int64)
    word, alone = state[0], 0
    for root in range(left.size):
        depth = 0
        nodes[0], came[0], seen[root] = root, -1, 0
        while depth >= 0:
            node = nodes[depth]
            cell = -1
            if left[node] > 0:
                cell = members[starts[node]]
                if cell == came[depth]:
                    cell = members[starts[node] + 1] if left[node] > 1 else -1
            if cell < 0:
                last = came[depth]
                if last >= 0 and left[node] > 0:
                    shares[last] = 1.0 if shares[last] >= 0.5 else 0.0
                    _drop(last, cells, left)
                    alone += 1
                seen[node] = -1
                depth -= 1
                continue
            far = one[cell] + other[cell] - node
            if seen[far] < 0:
                depth += 1
                nodes[depth], came[depth], seen[far] = far, cell, depth
                continue
            first = seen[far]
            up, down = 1.0 - shares[cell], shares[cell]
            for at in range(depth, first, -1):
                share = shares[came[at]]
                grows = (depth - at) % 2 == 1
                up = min(up, 1.0 - share if grows else share)
                down = min(down, share if grows else 1.0 - share)
            word += _STEP
            step = up if _unit(word) * (up + down) < down else -down
            for at in range(depth + 1, first, -1):
                mine = cell if at == depth + 1 else came[at]
                sign = 1.0 if (depth + 1 - at) % 2 == 0 else -1.0
                shares[mine] += sign * step
                if shares[mine] <= least or shares[mine] >= 1.0 - least:
                    shares[mine] = 1.0 if shares[mine] >= 0.5 else 0.0
                    _drop(mine, cells, left)
            for at in range(first + 1, depth + 1):
                seen[nodes[at]] = -1
            depth = first
    state[0] = word
    return alone
