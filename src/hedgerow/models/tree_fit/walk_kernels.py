"""Compiled plans of walks over junction trees; nothing else lives here.

Trees are flat: the attributes of clique i are ``members[starts[i]:starts[i + 1]]``, ascending, its neighbours
``other[slots[i]:slots[i + 1]]``. The scope of measurement m is ``scopes[ends[m]:ends[m + 1]]``, ascending too. Tables
are those of the edges, then those of what is measured.
"""

import numpy as np

from hedgerow.arrays import Bools, Ints, Places
from hedgerow.models.trees.structure_kernels import holds
from hedgerow.system import kernel, late


@late
@kernel()
def tables_of(owners: Ints, cliques: int, ends: Ints, scopes: Places) -> tuple[Ints, Ints]:
    """The table of each measurement, shared by equal scopes; and the first measurement of each table."""
    table, first = np.empty(owners.size, np.int64), np.empty(owners.size, np.int64)
    last, before = np.empty(cliques, np.int64), np.empty(owners.size, np.int64)
    for i in range(cliques):  # the last table of each clique, and the one before each
        last[i] = -1
    count = 0
    for m in range(owners.size):
        scope = scopes[ends[m] : ends[m + 1]]
        t = last[owners[m]]
        while t >= 0:
            known = scopes[ends[first[t]] : ends[first[t] + 1]]
            if known.size == scope.size and holds(known, scope):
                break
            t = before[t]
        if t < 0:
            t = count
            count += 1
            first[t] = m
            before[t] = last[owners[m]]
            last[owners[m]] = t
        table[m] = t
    return table, first[:count]


@late
@kernel()
def spanned(slots: Ints, other: Places, needed: Bools) -> Bools:
    """Whether each clique lies on the way between those that are needed."""
    kept, degree = np.empty(slots.size - 1, np.bool_), np.empty(slots.size - 1, np.int64)
    for i in range(kept.size):
        kept[i], degree[i] = True, slots[i + 1] - slots[i]
    for leaf in range(kept.size):
        i = leaf
        while kept[i] and not needed[i] and degree[i] <= 1:
            kept[i] = False
            for s in range(slots[i], slots[i + 1]):
                if kept[other[s]]:
                    degree[other[s]] -= 1
                    i = other[s]
                    break
    return kept


@late
@kernel()
def around(
    slots: Ints, other: Places, back: Ints, edge: Ints, kept: Bools, last: Bools, of_clique: Ints, tables: Ints
) -> tuple[Ints, Ints, Ints]:
    """Walk around every tree of the cliques that are kept.

    Args:
        slots: Starts of the edges of each clique.
        other: Their far ends.
        back: The slots of the same edges there.
        edge: Their numbers.
        kept: Whether each clique is visited.
        last: Whether its tables are summed when the walk leaves it for good, in place of when it comes there.
        of_clique: The tables measured at clique i are ``tables[of_clique[i]:of_clique[i + 1]]``.
        tables: Their numbers, after those of the edges.

    Returns:
        For each stop its clique, the table that is summed there, and the table of the stop before.
    """
    room = 2 * kept.size + tables.size
    node, out, into = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    home, following = np.empty(kept.size, np.int64), np.empty(kept.size, np.int64)
    seen = np.empty(kept.size, np.bool_)
    for i in range(kept.size):
        home[i], following[i], seen[i] = -1, slots[i], not kept[i]
    count = 0
    for root in range(kept.size):
        if seen[root]:
            continue
        first, i, arrived = count, root, True
        seen[root] = True
        while i >= 0:
            s = following[i]
            following[i] += 1
            if s == slots[i + 1] if last[i] else arrived:
                for t in range(of_clique[i], of_clique[i + 1]):
                    node[count], out[count] = i, tables[t]
                    count += 1
            arrived = s < slots[i + 1] and not seen[other[s]]
            if arrived:  # go there
                home[other[s]] = back[s]
                seen[other[s]] = True
            elif s >= slots[i + 1]:  # go home
                s = home[i]
            else:
                continue
            if s >= 0:
                node[count], out[count] = i, edge[s]
                count += 1
            i = other[s] if s >= 0 else -1
        into[first] = out[count - 1]
        for stop in range(first + 1, count):
            into[stop] = out[stop - 1]
    return node[:count], out[:count], into[:count]


@late
@kernel()
def in_order(
    other: Places, edge: Ints, up: Ints, depths: Ints, roots: Ints, stops: Ints, tables: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """Walk from each clique to the next; see ``around``.

    Args:
        other: The far ends of edges.
        edge: Their numbers.
        up: For each clique the slot of its edge to its parent.
        depths: Depth of each clique.
        roots: Root of the tree of each clique.
        stops: Cliques in which steps are taken, tree by tree.
        tables: Their tables.

    Returns:
        The same as ``around``, and for each stop its position among ``stops``, -1 for those on the way.
    """
    deepest = 0
    for depth in depths:
        deepest = max(deepest, depth)
    room = stops.size * (2 * deepest + 1)
    node, out, into = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    which, way = np.empty(room, np.int64), np.empty(deepest + 1, np.int64)
    for stop in range(room):
        which[stop] = -1
    count, first, begin = 0, 0, 0
    for k in range(stops.size):
        i, j = stops[k], stops[begin]
        if k + 1 < stops.size and roots[stops[k + 1]] == roots[i]:
            j = stops[k + 1]
        node[count], out[count], which[count] = i, tables[k], k
        count += 1
        down = 0
        while i != j:
            if depths[i] >= depths[j]:
                node[count], out[count] = i, edge[up[i]]
                count += 1
                i = other[up[i]]
            else:
                way[down] = j
                down += 1
                j = other[up[j]]
        while down > 0:
            down -= 1
            node[count], out[count] = i, edge[up[way[down]]]
            count += 1
            i = way[down]
        if k + 1 == stops.size or roots[stops[k + 1]] != roots[stops[k]]:
            into[first] = out[count - 1]
            for stop in range(first + 1, count):
                into[stop] = out[stop - 1]
            first, begin = count, k + 1
    return node[:count], out[:count], into[:count], which[:count]


@late
@kernel()
def outward(slots: Ints, other: Places, edge: Ints, starts: Ints, pending: Ints, none: int) -> tuple[Ints, Ints, Ints]:
    """Messages from one clique of each tree to all others; see ``around``.

    Args:
        slots: Starts of the edges of each clique.
        other: Their far ends.
        edge: Their numbers.
        starts: One clique of each tree.
        pending: The table of the factors that it still has to be multiplied by.
        none: A table that changes nothing as factors; the one after it takes sums that no one wants.
    """
    room = slots.size + other.size
    node, out, into = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    queue, due, seen = np.empty(slots.size, np.int64), np.empty(slots.size, np.int64), np.zeros(slots.size, np.bool_)
    count, end = 0, 0
    for k in range(starts.size):
        queue[end], due[end] = starts[k], pending[k]
        seen[starts[k]] = True
        end += 1
    at = 0
    while at < end:
        i, factors = queue[at], due[at]
        at += 1
        for s in range(slots[i], slots[i + 1]):
            if not seen[other[s]]:
                seen[other[s]] = True
                node[count], into[count], out[count] = i, factors, edge[s]
                count += 1
                factors = none
                queue[end], due[end] = other[s], edge[s]
                end += 1
        if factors != none:
            node[count], into[count], out[count] = i, factors, none + 1
            count += 1
    return node[:count], out[:count], into[:count]
