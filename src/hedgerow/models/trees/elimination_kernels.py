"""Compiled products of tables, and parities of trees; nothing else lives here.

Products of medium size are called hundreds of times in a row. A threaded library waits for its second thread in each of
them, which on a busy machine takes ten times as long as the product; these never wait for anyone.
"""

from typing import Final

import numpy as np

from hedgerow.arrays import Bytes, Floats, Ints, Places
from hedgerow.system import device_function, inlined, kernel

Maps = tuple[Ints, Ints, Places, Ints, Places, Ints, Ints, Ints]
"""A forest and how its cliques meet its separators.

First cell of each clique, and where the last ends; slots, other and back of the forest (see ``structure_kernels.py``);
for each edge and each cell of its clique the cell of the separator, flat; where the map of each edge starts; first cell
of each separator, and where the last ends; for the first clique of each component the one after its last.
"""

Homes = tuple[Ints, Ints, Ints]
"""For each attribute one of its cliques, -1 for uniform ones that are in none; the cells from one of its codes to the
next in that clique; and a number of its component: that of its first clique, or another if it is in none."""

Known = tuple[Floats, Floats]
"""Expectations of single attributes, and of pairs of them."""

_ORDINARY: Final = ("C", "W")
"""For arrays that cannot be written to everything would be compiled once more."""
_INNER = 64
_COLUMNS = 256


@device_function(fastmath={"contract"})
def _four(left: Floats, right: Floats, out: Floats, i: int, first: int, last: int, start: int, stop: int) -> None:
    """Four rows of a product, for a tile of columns and of what is summed over."""
    a, b, c, d = out[i, start:stop], out[i + 1, start:stop], out[i + 2, start:stop], out[i + 3, start:stop]
    k = first
    while k + 4 <= last:
        p, q, r, s = right[k, start:stop], right[k + 1, start:stop], right[k + 2, start:stop], right[k + 3, start:stop]
        a0, a1, a2, a3 = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
        b0, b1, b2, b3 = left[i + 1, k], left[i + 1, k + 1], left[i + 1, k + 2], left[i + 1, k + 3]
        c0, c1, c2, c3 = left[i + 2, k], left[i + 2, k + 1], left[i + 2, k + 2], left[i + 2, k + 3]
        d0, d1, d2, d3 = left[i + 3, k], left[i + 3, k + 1], left[i + 3, k + 2], left[i + 3, k + 3]
        for j in range(stop - start):
            a[j] += a0 * p[j] + a1 * q[j] + a2 * r[j] + a3 * s[j]
            b[j] += b0 * p[j] + b1 * q[j] + b2 * r[j] + b3 * s[j]
            c[j] += c0 * p[j] + c1 * q[j] + c2 * r[j] + c3 * s[j]
            d[j] += d0 * p[j] + d1 * q[j] + d2 * r[j] + d3 * s[j]
        k += 4
    while k < last:
        p = right[k, start:stop]
        a0, b0, c0, d0 = left[i, k], left[i + 1, k], left[i + 2, k], left[i + 3, k]
        for j in range(stop - start):
            a[j] += a0 * p[j]
            b[j] += b0 * p[j]
            c[j] += c0 * p[j]
            d[j] += d0 * p[j]
        k += 1


@device_function(fastmath={"contract"})
def _one(left: Floats, right: Floats, out: Floats, i: int, first: int, last: int, start: int, stop: int) -> None:
    a = out[i, start:stop]
    k = first
    while k + 4 <= last:
        p, q, r, s = right[k, start:stop], right[k + 1, start:stop], right[k + 2, start:stop], right[k + 3, start:stop]
        a0, a1, a2, a3 = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
        for j in range(stop - start):
            a[j] += a0 * p[j] + a1 * q[j] + a2 * r[j] + a3 * s[j]
        k += 4
    while k < last:
        p, a0 = right[k, start:stop], left[i, k]
        for j in range(stop - start):
            a[j] += a0 * p[j]
        k += 1


@kernel()
def _add_products(left: Floats, right: Floats, out: Floats) -> None:
    rows, inner, columns = left.shape[1], left.shape[2], right.shape[2]
    for s in range(out.shape[0]):
        for first in range(0, inner, _INNER):
            last = min(first + _INNER, inner)
            for start in range(0, columns, _COLUMNS):
                stop = min(start + _COLUMNS, columns)
                for four in range(rows // 4):
                    _four(left[s], right[s], out[s], 4 * four, first, last, start, stop)
                for row in range(rows - rows % 4, rows):
                    _one(left[s], right[s], out[s], row, first, last, start, stop)


def products(left: Floats, right: Floats) -> Floats:
    """A stack of matrix products.

    Args:
        left: Shape ``(stack, rows, inner)``.
        right: Shape ``(stack, inner, columns)``; columns are what passes run along, so let there be many.

    Returns:
        Shape ``(stack, rows, columns)``.
    """
    out = np.zeros((len(left), left.shape[1], right.shape[2]))
    _add_products(np.require(left, requirements=_ORDINARY), np.require(right, requirements=_ORDINARY), out)
    return out


@kernel()
def separator_maps(
    starts: Ints, members: Places, slots: Ints, shared: Ints, sizes: Floats, firsts: Ints, places: Ints, maps: Places
) -> Ints:
    """Write the cell of the separator for each edge and each cell of its clique; returns the cells of each separator.

    Args:
        starts: Starts of the members of each clique of a forest (see ``structure_kernels.py``).
        members: Attributes of the cliques.
        slots: Starts of the edges of each clique.
        shared: Attributes that each edge shares, as bits.
        sizes: Codes of each attribute.
        firsts: First cell of each clique, one more than there are cliques.
        places: For each edge where its map starts.
        maps: Output, the maps.
    """
    counts = np.ones(shared.size, dtype=np.int64)
    for i in range(starts.size - 1):
        for e in range(slots[i], slots[i + 1]):
            here = maps[places[e] : places[e] + firsts[i + 1] - firsts[i]]
            here[:] = 0
            stride = 1
            for k in range(starts[i + 1] - 1, starts[i] - 1, -1):
                size = int(sizes[members[k]])
                if (shared[e] >> (k - starts[i])) & 1:
                    for cell in range(here.size):
                        here[cell] += counts[e] * ((cell // stride) % size)
                    counts[e] *= size
                stride *= size
    return counts


@kernel()
def separator_sums(cells: Floats, first: int, last: int, tree: Maps, sums: Floats) -> None:
    """Sums of some cliques over all their separators."""
    firsts, slots, _, _, maps, places, rooms, _ = tree
    for i in range(first, last):
        for e in range(slots[i], slots[i + 1]):
            found = sums[rooms[e] : rooms[e + 1]]
            found[:] = 0.0
            here = maps[places[e] : places[e] + firsts[i + 1] - firsts[i]]
            table = cells[firsts[i] : firsts[i + 1]]
            for cell in range(table.size):
                found[here[cell]] += table[cell]


@device_function()
def _given_one(cells: Floats, sums: Floats, home: int, stride: int, tree: Maps, room: Floats, out: Floats) -> None:
    """The part of a distribution where a binary attribute is 1, in all cliques of its component.

    Sums of what is left are divided by sums of all, both of probabilities: where one is 0 nothing is left.

    Args:
        cells: Cells of all cliques.
        sums: Their sums, from ``separator_sums``.
        home: A clique of the attribute.
        stride: Cells from one of its codes to the next there.
        tree: See ``Maps``.
        room: For as many numbers as a separator has cells.
        out: Output, the part; other components are left as they are.
    """
    firsts, slots, other, back, maps, places, rooms, _ = tree
    stack = np.empty(other.size + 1, dtype=np.int64)
    for cell in range(firsts[home], firsts[home + 1]):
        out[cell] = cells[cell] if ((cell - firsts[home]) // stride) & 1 else 0.0
    top = 0
    for e in range(slots[home], slots[home + 1]):
        stack[top] = e
        top += 1
    while top > 0:
        top -= 1
        e = stack[top]
        i, j = other[back[e]], other[e]
        ratio = room[: rooms[e + 1] - rooms[e]]
        ratio[:] = 0.0
        here = maps[places[e] : places[e] + firsts[i + 1] - firsts[i]]
        left = out[firsts[i] : firsts[i + 1]]
        for cell in range(left.size):
            ratio[here[cell]] += left[cell]
        for k in range(ratio.size):
            before = sums[rooms[e] + k]
            ratio[k] = ratio[k] / before if before > 0.0 else 0.0
        there = maps[places[back[e]] : places[back[e]] + firsts[j + 1] - firsts[j]]
        whole, found = cells[firsts[j] : firsts[j + 1]], out[firsts[j] : firsts[j + 1]]
        for cell in range(whole.size):
            found[cell] = whole[cell] * ratio[there[cell]]
        for further in range(slots[j], slots[j + 1]):
            if further != back[e]:
                stack[top] = further
                top += 1


@device_function()
def _sign_sum(cells: Floats, home: int, stride: int, firsts: Ints) -> float:
    """The sum of the cells of a clique where a binary attribute is 0, less that of the others."""
    total = 0.0
    for cell in range(firsts[home], firsts[home + 1]):
        total += -cells[cell] if ((cell - firsts[home]) // stride) & 1 else cells[cell]
    return total


@kernel()
def single_parities(cells: Floats, homes: Homes, tree: Maps) -> Floats:
    """Expectations of ``1 - 2 code`` of binary attributes.

    Args:
        cells: Probabilities of the cells of all cliques of a forest, each clique summing to 1.
        homes: See ``Homes``.
        tree: See ``Maps``.

    Returns:
        Shape ``(attributes,)``; for other attributes it says nothing.
    """
    home, strides, _ = homes
    parities = np.zeros(home.size)
    for a in range(home.size):
        if home[a] >= 0:
            parities[a] = _sign_sum(cells, home[a], strides[a], tree[0])
    return parities


@kernel()
def pair_parities(
    cells: Floats, sums: Floats, homes: Homes, changed: Bytes, tree: Maps, singles: Floats, pairs: Floats
) -> None:
    """Expectations of the products of ``1 - 2 code`` of two binary attributes.

    Args:
        cells: See ``single_parities``.
        sums: Sums of these, from ``separator_sums``.
        homes: See ``Homes``.
        changed: Whether a component is not as it was when ``pairs`` was filled.
        tree: See ``Maps``.
        singles: Result of ``single_parities``.
        pairs: Output, the expectations; those in components that did not change are left as they are.
    """
    home, strides, parts = homes
    room, one = np.empty(sums.size), np.zeros(cells.size)
    for a in range(home.size):
        if home[a] < 0:
            pairs[a, :] = 0.0
            continue
        if changed[parts[a]]:
            _given_one(cells, sums, home[a], strides[a], tree, room, one)
        for b in range(home.size):
            if parts[a] != parts[b]:
                pairs[a, b] = singles[a] * singles[b]
            elif changed[parts[a]]:
                pairs[a, b] = singles[b] - 2.0 * _sign_sum(one, home[b], strides[b], tree[0])


@inlined()
def _apart(a: int, b: int, c: int, parts: Ints, singles: Floats, pairs: Floats) -> float:
    """The expectation of three attributes that are not all in one component."""
    if parts[a] == parts[b]:
        parity: float = pairs[a, b] * singles[c]
    elif parts[a] == parts[c]:
        parity = pairs[a, c] * singles[b]
    else:
        parity = pairs[b, c] * singles[a]
    return parity


@kernel()
def set_parities(
    cells: Floats, sums: Floats, homes: Homes, changed: Bytes, axes: Ints, tree: Maps, known: Known, found: Floats
) -> None:
    """Expectations of the products of ``1 - 2 code`` over sets of up to three binary attributes.

    Args:
        cells: See ``single_parities``.
        sums: See ``pair_parities``.
        homes: See ``Homes``.
        changed: See ``pair_parities``.
        axes: Sets, -1 after the last attribute; sets that begin alike should stand together.
        tree: See ``Maps``.
        known: Results of ``single_parities`` and, if a set has two attributes, ``pair_parities``.
        found: Output, the expectations; sets of components that did not change are left as they are.
    """
    (home, strides, parts), (singles, pairs) = homes, known
    room, sums_one = np.empty(sums.size), np.zeros(sums.size)
    one, both = np.zeros(cells.size), np.zeros(cells.size)
    first, second = -1, -1
    for row in range(axes.shape[0]):
        a = axes[row, 0] if axes.shape[1] > 0 else -1
        b = axes[row, 1] if axes.shape[1] > 1 else -1
        c = axes[row, 2] if axes.shape[1] > 2 else -1
        if b < 0:
            found[row] = singles[a] if a >= 0 else 1.0
            continue
        if not (changed[parts[a]] or changed[parts[b]] or (c >= 0 and changed[parts[c]])):
            continue
        if c < 0:
            found[row] = pairs[a, b]
            continue
        if not parts[a] == parts[b] == parts[c]:
            found[row] = _apart(a, b, c, parts, singles, pairs)
            continue
        if first != a:
            _given_one(cells, sums, home[a], strides[a], tree, room, one)
            separator_sums(one, parts[a], tree[7][parts[a]], tree, sums_one)
        if first != a or second != b:
            _given_one(one, sums_one, home[b], strides[b], tree, room, both)
        first, second = a, b
        # E[abc] = E[c] - 2 E[c; a is 1] - 2 E[c; b is 1] + 4 E[c; both are], and E[ac] = E[c] - 2 E[c; a is 1]
        found[row] = pairs[a, c] + pairs[b, c] - singles[c] + 4.0 * _sign_sum(both, home[c], strides[c], tree[0])
