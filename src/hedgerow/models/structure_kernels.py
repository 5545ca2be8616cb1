"""Compiled passes over graphs and trees of attributes; nothing else lives here.

A graph over ``n`` attributes is a matrix of bytes. A tree of cliques is flat: the attributes of clique i are
``members[starts[i]:starts[i + 1]]``; its edges are ``slots[i]`` to ``slots[i + 1]`` of ``other`` (the clique at the far
end), ``back`` (the same edge as the far end counts it) and ``shared`` (a bit for each attribute of clique i that both
hold, in the order of the clique). Cells are floats, since they may be more than any integer of the machine holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.compiling import inlined, kernel, part

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Tree = tuple[Ints, Places, Ints, Places, Ints, Ints, Floats]
"""Starts, members, slots, other, back, shared; and the cells of each clique."""

MOST_MEMBERS = 62
"""A clique of more attributes has no bit for each of them."""
_FORKED = 1 << MOST_MEMBERS


@inlined()
def _cost(near: Bytes, lists: Places, degrees: Ints, sizes: Floats, v: int) -> tuple[float, float]:
    """What eliminating an attribute would connect, and the cells of its clique."""
    missing, cells = 0.0, sizes[v]
    for i in range(degrees[v]):
        a = lists[v, i]
        cells *= sizes[a]
        for j in range(i):
            b = lists[v, j]
            if near[a, b] == 0:
                missing += sizes[a] * sizes[b]
    return missing, cells


@inlined()
def _drop(lists: Places, degrees: Ints, a: int, v: int) -> None:
    last = degrees[a] - 1
    for i in range(last):
        if lists[a, i] == v:
            lists[a, i] = lists[a, last]
            break
    degrees[a] = last


@inlined()
def _connect(near: Bytes, lists: Places, degrees: Ints, a: int, b: int) -> None:
    near[a, b] = near[b, a] = 1
    lists[a, degrees[a]] = b
    lists[b, degrees[b]] = a
    degrees[a] += 1
    degrees[b] += 1


@inlined()
def _cheapest(costs: Floats, cells: Floats, alive: Bytes) -> int:
    best = -1
    for v in range(alive.size):
        if alive[v] == 0:
            continue
        if best < 0 or costs[v] < costs[best] or (costs[v] == costs[best] and cells[v] < cells[best]):
            best = v
    return best


@inlined()
def _eliminate(
    near: Bytes,
    lists: Places,
    degrees: Ints,
    sizes: Floats,
    alive: Bytes,
    stale: Bytes,
    costs: Floats,
    cells: Floats,
    order: Places,
    cliques: Places,
    ends: Ints,
) -> int:
    """Eliminate all attributes that are alive; the clique of each, itself first, goes to a flat list."""
    for v in range(alive.size):
        stale[v] = 1
    count, end = 0, 0
    while True:
        for v in range(alive.size):
            if stale[v] != 0 and alive[v] != 0:
                costs[v], cells[v] = _cost(near, lists, degrees, sizes, v)
            stale[v] = 0
        v = _cheapest(costs, cells, alive)
        if v < 0:
            return count
        order[count] = v
        cliques[end] = v
        for i in range(degrees[v]):
            cliques[end + 1 + i] = lists[v, i]
        end += 1 + degrees[v]
        ends[count] = end
        count += 1
        alive[v] = 0
        for i in range(degrees[v]):
            _drop(lists, degrees, lists[v, i], v)
        if _fill(near, lists, degrees, v, stale):
            for i in range(degrees[v]):
                stale[lists[v, i]] = 1
        else:
            for i in range(degrees[v]):
                _lessen(near, lists, degrees, sizes, v, lists[v, i], costs, cells)


@inlined()
def _fill(near: Bytes, lists: Places, degrees: Ints, v: int, stale: Bytes) -> bool:
    """Connect the neighbours of an attribute; whether any pair was not."""
    filled = False
    for i in range(degrees[v]):
        for j in range(i):
            a, b = lists[v, i], lists[v, j]
            if near[a, b] == 0:
                filled = True
                _connect(near, lists, degrees, a, b)
                for k in range(degrees[a]):  # what both are connected with lacks one connection less
                    stale[lists[a, k]] |= near[b, lists[a, k]]
    return filled


@inlined()
def _lessen(
    near: Bytes, lists: Places, degrees: Ints, sizes: Floats, v: int, a: int, costs: Floats, cells: Floats
) -> None:
    """The costs of an attribute that lost a neighbour, and nothing else."""
    gone, left = 0.0, sizes[a]
    for i in range(degrees[a]):
        b = lists[a, i]
        left *= sizes[b]
        if near[v, b] == 0:
            gone += sizes[b]
    costs[a] -= gone * sizes[v]
    cells[a] = left


@inlined()
def _list(near: Bytes, alive: Bytes, lists: Places, degrees: Ints) -> None:
    for a in range(alive.size):
        degrees[a] = 0
        if alive[a] != 0:
            for b in range(alive.size):
                if near[a, b] != 0 and a != b:
                    lists[a, degrees[a]] = b
                    degrees[a] += 1


@inlined()
def _parents(order: Places, cliques: Places, ends: Ints, count: int, parents: Ints, places: Ints) -> None:
    """For each clique the next one that holds all its attributes but the first; -1 if it has no other."""
    for i in range(count):
        places[order[i]] = i
    for i in range(count):
        start = ends[i - 1] if i > 0 else 0
        parents[i] = -1
        for k in range(start + 1, ends[i]):
            place = places[cliques[k]]
            if parents[i] < 0 or place < parents[i]:
                parents[i] = place


@inlined()
def _keepers(ends: Ints, parents: Ints, count: int, keepers: Ints) -> None:
    """For each clique itself, or the clique kept that it lies in."""
    for i in range(count):
        keepers[i] = i
    for i in range(count):  # a clique inside another is inside one that it is the parent of
        parent = parents[i]
        if parent < 0 or keepers[parent] != parent:
            continue
        mine = ends[i] - (ends[i - 1] if i > 0 else 0)
        if mine == ends[parent] - ends[parent - 1] + 1:
            keepers[parent] = keepers[i]


@kernel()
def _cliques(
    near: Bytes, sizes: Floats, lists: Places, order: Places, cliques: Places, marks: Bytes, floats: Floats, room: Ints
) -> int:
    """Eliminate the attributes that ``marks[0]`` says; see ``_rooms`` for where the rest goes. Returns their number."""
    alive, degrees, ends, parents, keepers = marks[0], room[0], room[1], room[2], room[3]
    _list(near, alive, lists, degrees)
    count = _eliminate(near, lists, degrees, sizes, alive, marks[1], floats[0], floats[1], order, cliques, ends)
    _parents(order, cliques, ends, count, parents, room[4])
    _keepers(ends, parents, count, keepers)
    return count


def _rooms(n: int) -> tuple[Places, Places, Places, Bytes, Floats, Ints]:
    """Room to eliminate n attributes in.

    Returns:
        Lists of neighbours; the attributes in the order in which they go; members of the cliques; marks, of which the
        first row says what is to go; costs and cells; and five rows: the second says where each clique ends, the third
        its parent, the fourth the clique kept that it lies in.
    """
    return (
        np.empty((n, n), dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n * (n + 1) // 2, dtype=np.int32),
        np.ones((2, n), dtype=np.uint8),
        np.empty((2, n)),
        np.empty((5, n), dtype=np.int64),
    )


def triangulated(near: Bytes, sizes: Floats) -> tuple[Places, Ints, Ints, Ints]:
    """The cliques of all attributes of a graph in their order of elimination, flat.

    Returns:
        Members and ends of the cliques; the parent of each; the clique kept that each lies in. ``near`` is filled.
    """
    rooms = _rooms(len(sizes))
    _cliques(near, sizes, *rooms)
    _, ends, parents, keepers, _ = rooms[-1]
    return rooms[2][: ends[-1] if len(ends) else 0], ends, parents, keepers


def triangulated_cells(graph: Bytes, sizes: Floats, parts: Ints, part_cells: Floats, scopes: Places) -> Floats:
    """Cells of all cliques of a graph to which one scope after the other is added, each alone.

    Args:
        graph: Of all scopes held; not changed.
        sizes: Codes of each attribute.
        parts: Number of the part of each attribute of the graph; attributes of none have parts of their own.
        part_cells: Cells of each part as it is, 0 for an attribute that is not in the graph.
        scopes: Attributes of each scope, -1 after the last.
    """
    touched, found = np.empty(len(part_cells), dtype=np.uint8), np.empty(len(scopes))
    _each_added(graph, np.empty_like(graph), sizes, parts, part_cells, touched, scopes, *_rooms(len(sizes)), found)
    return found


@inlined()
def _with_scope(
    graph: Bytes,
    near: Bytes,
    sizes: Floats,
    parts: Ints,
    part_cells: Floats,
    touched: Bytes,
    scope: Places,
    alive: Bytes,
) -> float:
    """Make the graph of the parts that a scope meets, all attributes of which are alive; the cells of the others."""
    for place in range(touched.size):
        touched[place] = 0
    for a in scope:
        if a >= 0:
            touched[parts[a]] = 1
    left = 0.0
    for place in range(touched.size):
        left += 0.0 if touched[place] else part_cells[place]
    for a in range(sizes.size):
        alive[a] = touched[parts[a]]
        for b in range(sizes.size if alive[a] else 0):
            near[a, b] = graph[a, b]
    for a in scope:
        for b in scope:
            if a >= 0 and b >= 0 and a != b:
                near[a, b] = 1
    return left


@kernel()
def _each_added(
    graph: Bytes,
    near: Bytes,
    sizes: Floats,
    parts: Ints,
    part_cells: Floats,
    touched: Bytes,
    scopes: Places,
    lists: Places,
    order: Places,
    cliques: Places,
    marks: Bytes,
    floats: Floats,
    room: Ints,
    found: Floats,
) -> None:
    for s in range(scopes.shape[0]):
        left = _with_scope(graph, near, sizes, parts, part_cells, touched, scopes[s], marks[0])
        count = _cliques(near, sizes, lists, order, cliques, marks, floats, room)
        start = 0
        for i in range(count):
            if room[3, i] == i:
                cells = 1.0
                for k in range(start, room[1, i]):
                    cells *= sizes[cliques[k]]
                left += cells
            start = room[1, i]
        found[s] = left


@kernel()
def held(homes: Ints, cliques: Places, starts: Ints, members: Places, scopes: Places) -> Bytes:
    """Whether each scope lies inside one clique of a tree.

    Args:
        homes: The cliques of attribute a are ``cliques[homes[a]:homes[a + 1]]``, ascending.
        cliques: See there.
        starts: Of the tree.
        members: Of the tree, ascending in each clique.
        scopes: Attributes of each scope, ascending, -1 after the last.
    """
    found = np.empty(scopes.shape[0], np.uint8)
    for s in range(scopes.shape[0]):
        found[s] = scopes[s, 0] < 0
        if found[s]:
            continue
        rarest = scopes[s, 0]
        for a in scopes[s]:
            if a >= 0 and homes[a + 1] - homes[a] < homes[rarest + 1] - homes[rarest]:
                rarest = a
        for h in range(homes[rarest], homes[rarest + 1]):
            k, last, inside = starts[cliques[h]], starts[cliques[h] + 1], True
            for a in scopes[s]:
                while k < last and members[k] < a:
                    k += 1
                inside = inside and (a < 0 or (k < last and members[k] == a))
            if inside:
                found[s] = 1
                break
    return found


@kernel()
def separators(starts: Ints, members: Places, slots: Ints, other: Places) -> tuple[Ints, Ints]:
    """The edges of a tree as seen from the far end, and the attributes that each shares, a bit for each."""
    back, shared = np.empty(other.size, np.int64), np.empty(other.size, np.int64)
    for i in range(starts.size - 1):
        for e in range(slots[i], slots[i + 1]):
            j, shared[e] = other[e], 0
            for f in range(slots[j], slots[j + 1]):
                if other[f] == i:
                    back[e] = f
            k = starts[j]
            for here in range(starts[i], starts[i + 1]):
                while k < starts[j + 1] and members[k] < members[here]:
                    k += 1
                if k < starts[j + 1] and members[k] == members[here]:
                    shared[e] |= 1 << (here - starts[i])
    return back, shared


@part()
def _cells_of(mask: int, start: int, members: Places, sizes: Floats) -> float:
    cells = 1.0
    while mask:
        if mask & 1:
            cells *= sizes[members[start]]
        mask >>= 1
        start += 1
    return cells


@part()
def _widened(tree: Tree, sizes: Floats, i: int, mask: int, factor: float) -> float:
    """Cells of a new clique beside clique i, of some of its attributes and others; less its own if it is inside."""
    starts, members, _, _, _, _, cells = tree
    added = _cells_of(mask, starts[i], members, sizes) * factor
    return added - cells[i] if mask + 1 == 1 << (starts[i + 1] - starts[i]) else added


@kernel()
def pair_growth(tree: Tree, homes: Ints, cliques: Places, sizes: Floats, growth: Floats) -> None:
    """Cells that joining each pair of attributes of the same part would add, at most.

    The attribute of fewer codes is carried along the path to the nearest clique of the other. Beside every clique on
    the way comes a new one, of what the clique shares with its two neighbours there and of the attribute carried,
    unless the one before holds all that.

    Args:
        tree: Flat.
        homes: See ``held``.
        cliques: See ``held``.
        sizes: Codes of each attribute.
        growth: Where the cells go, shape ``(attributes, attributes)``, symmetric; other pairs are left as they are.
    """
    starts, members, slots, other, back, shared, _ = tree
    stack, spent = np.empty(other.size + 1, dtype=np.int64), np.empty(other.size + 1)
    for a in range(sizes.size):
        top = 0
        for h in range(homes[a], homes[a + 1]):
            i = cliques[h]
            for k in range(starts[i], starts[i + 1]):
                growth[a, members[k]] = growth[members[k], a] = 0.0
            for e in range(slots[i], slots[i + 1]):
                bit = np.searchsorted(members[starts[i] : starts[i + 1]], a)
                if not (shared[e] >> bit) & 1:
                    stack[top], spent[top] = back[e], 0.0
                    top += 1
        while top > 0:
            top -= 1
            entry, so_far = stack[top], spent[top]
            i = other[back[entry]]
            before = shared[entry]
            for k in range(starts[i], starts[i + 1]):
                b, bit = members[k], 1 << (k - starts[i])
                if not before & bit and (sizes[a], a) < (sizes[b], b):
                    added = so_far + _widened(tree, sizes, i, before | bit, sizes[a])
                    growth[a, b] = growth[b, a] = added
            for e in range(slots[i], slots[i + 1]):
                if e == entry:
                    continue
                added = so_far
                if shared[e] & ~before:
                    added += _widened(tree, sizes, i, before | shared[e], sizes[a])
                stack[top], spent[top] = back[e], added
                top += 1


@kernel()
def rooted(slots: Ints, other: Places, back: Ints, root: int) -> tuple[Ints, Ints, Ints]:
    """For each clique the edge towards the root of its part, -1 for roots, its depth, and the root: the first clique.

    Args:
        slots: Of a tree.
        other: Of a tree.
        back: Of a tree.
        root: The root of its own part, instead of the first clique; -1 for none.
    """
    n = slots.size - 1
    up, depths, queue, roots = (
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )
    for i in range(n):
        up[i], depths[i], roots[i] = -1, -1, i
    for turn in range(-1, n):
        first = root if turn < 0 else turn
        if first < 0 or depths[first] >= 0:
            continue
        depths[first], queue[0], roots[first] = 0, first, first
        done, end = 0, 1
        while done < end:
            i = queue[done]
            done += 1
            for e in range(slots[i], slots[i + 1]):
                j = other[e]
                if depths[j] < 0:
                    depths[j], up[j], roots[j], queue[end] = depths[i] + 1, back[e], first, j
                    end += 1
    return up, depths, roots


@kernel()
def tops_of(homes: Ints, cliques: Places, depths: Ints) -> Ints:
    """For each attribute its clique nearest to the root, -1 if it is in none."""
    tops = np.empty(homes.size - 1, np.int64)
    for a in range(tops.size):
        tops[a] = -1
        for h in range(homes[a], homes[a + 1]):
            if tops[a] < 0 or depths[cliques[h]] < depths[tops[a]]:
                tops[a] = cliques[h]
    return tops


@inlined()
def _deepest(cliques: Ints, depths: Ints) -> int:
    found = 0
    for x in range(1, cliques.size):
        if depths[cliques[x]] > depths[cliques[found]]:
            found = x
    return found


@inlined()
def _present(members: Places, scope: Places) -> tuple[int, int]:
    """Which attributes of a scope a clique holds, and which of its attributes these are; a bit for each."""
    here, bits = 0, 0
    for k in range(members.size):
        for x in range(scope.size):
            if members[k] == scope[x]:
                here |= 1 << x
                bits |= 1 << k
    return here, bits


@kernel()
def joined(
    tree: Tree,
    up: Ints,
    depths: Ints,
    tops: Ints,
    sizes: Floats,
    scope: Places,
    marks: Ints,
    carried: Ints,
    found: Ints,
) -> tuple[float, int]:
    """Cells that joining attributes of one part would add, at most; they are carried towards the root until they meet.

    Args:
        tree: Flat.
        up: See ``rooted``.
        depths: See there.
        tops: See ``tops_of``.
        sizes: Codes of each attribute.
        scope: The attributes.
        marks: Room for what each clique shares with those below it; zeros, and zeros again afterwards.
        carried: Room for what is carried to each clique; likewise.
        found: Where the new cliques go, shape ``(3, cliques)``: the clique beside which each stands, what it has of its
            attributes, and which attributes of the scope.

    Returns:
        The cells, and the number of new cliques.
    """
    starts, members, _, other, back, shared, _ = tree
    front = np.empty(scope.size, dtype=np.int64)
    total, count, width = 0.0, 0, 0
    everything = (1 << scope.size) - 1
    for x in range(scope.size):
        i = tops[scope[x]]
        if carried[i] == 0:
            front[width] = i
            width += 1
        carried[i] |= 1 << x
    while width > 0:
        deepest = _deepest(front[:width], depths)
        i = front[deepest]
        here, bits = _present(members[starts[i] : starts[i + 1]], scope)
        have, below = carried[i] | here, marks[i]
        carried[i] = marks[i] = 0
        foreign, forked = have & ~here, below & _FORKED
        below &= ~_FORKED
        beside = below | bits
        if have != everything:
            beside |= shared[up[i]]
        if foreign and (have == everything or forked or beside & ~below):
            total += _widened(tree, sizes, i, beside, _cells_of(foreign, 0, scope, sizes))
            found[0, count], found[1, count], found[2, count] = i, beside, have
            count += 1
        if have == everything:
            for x in range(width):
                carried[front[x]] = marks[front[x]] = 0
            return total, count
        parent = other[up[i]]
        if carried[parent] == 0:
            front[deepest] = parent
        else:
            width -= 1
            front[deepest] = front[width]
        carried[parent] |= have
        marks[parent] |= shared[back[up[i]]] | (_FORKED if marks[parent] else 0)
    return total, count


@kernel()
def scope_growth(tree: Tree, up: Ints, depths: Ints, tops: Ints, sizes: Floats, parts: Ints, scopes: Places) -> Floats:
    """Cells that joining the attributes of each scope would add, at most; those in several parts by a clique of all.

    Args:
        tree: Flat.
        up: See ``rooted``.
        depths: See there.
        tops: See ``tops_of``.
        sizes: Codes of each attribute.
        parts: Number of the part of each attribute.
        scopes: Attributes of each scope, -1 after the last.
    """
    n = depths.size
    marks, carried = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    found, inside = np.empty((3, n + 1), dtype=np.int64), np.empty(scopes.shape[1], dtype=np.int32)
    growth = np.zeros(scopes.shape[0])
    for s in range(scopes.shape[0]):
        cells, several = 1.0, False
        for x in range(scopes.shape[1]):
            a = scopes[s, x]
            if a < 0:
                break
            cells *= sizes[a]
            several = several or parts[a] != parts[scopes[s, 0]] or tops[a] < 0
            first = True
            for y in range(x):
                first = first and parts[scopes[s, y]] != parts[a]
            if not first or tops[a] < 0:
                continue
            width = 0
            for b in scopes[s, x:]:
                if b >= 0 and parts[b] == parts[a]:
                    inside[width] = b
                    width += 1
            growth[s] += joined(tree, up, depths, tops, sizes, inside[:width], marks, carried, found)[0]
        if several:
            growth[s] += cells
    return growth


@kernel()
def routes(homes: Ints, cliques: Places, slots: Ints, other: Places) -> tuple[Places, Places]:
    """For each attribute and clique the neighbour towards the attribute, -1 inside, and how many edges it is away.

    Args:
        homes: See ``held``.
        cliques: See there.
        slots: Of one tree.
        other: Of the tree.

    Returns:
        Both of shape ``(attributes, cliques)``; rows of attributes that are in no clique say nothing.
    """
    n = slots.size - 1
    toward, away = np.empty((homes.size - 1, n), np.int32), np.empty((homes.size - 1, n), np.int32)
    queue = np.empty(n, np.int32)
    for a in range(homes.size - 1):
        for i in range(n):
            toward[a, i] = away[a, i] = -1
        end = 0
        for h in range(homes[a], homes[a + 1]):
            away[a, cliques[h]], queue[end] = 0, cliques[h]
            end += 1
        done = 0
        while done < end:
            i = queue[done]
            done += 1
            for e in range(slots[i], slots[i + 1]):
                j = other[e]
                if away[a, j] < 0:
                    away[a, j], toward[a, j], queue[end] = away[a, i] + 1, i, j
                    end += 1
    return toward, away
