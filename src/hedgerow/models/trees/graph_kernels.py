"""Compiled triangulation of graphs of attributes; nothing else lives here.

A graph over ``n`` attributes is a matrix of bytes: which two belong together. Cells are floats, since they may be more
than any integer of the machine holds.
"""

import numpy as np

from hedgerow.arrays import Bytes, Floats, Ints, Places
from hedgerow.system import inlined, kernel, late

Rooms = tuple[Bytes, Places, Places, Places, Bytes, Floats, Ints]
"""The arrays that ``_rooms`` makes."""


@inlined()
def _cost(near: Bytes, lists: Places, degrees: Ints, sizes: Floats, v: int) -> tuple[float, float]:
    """The cost of the connections that eliminating an attribute would make, and the cells of its clique."""
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
def _eliminate(sizes: Floats, rooms: Rooms) -> int:
    """Eliminate all attributes that are alive; the clique of each, itself first, goes to a flat list."""
    near, lists, order, cliques, marks, floats, room = rooms
    alive, stale, costs, cells, degrees, ends = marks[0], marks[1], floats[0], floats[1], room[0], room[1]
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
    """Find the parent of each clique: the next that holds all its attributes but the first; -1 if it has no other."""
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
    """Find the clique that is kept for each: itself, or one that it lies in."""
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
def _cliques(sizes: Floats, rooms: Rooms) -> int:
    """Eliminate the attributes that are marked and return their number; ``_rooms`` says where the rest goes."""
    near, lists, order, cliques, marks, _, room = rooms
    _list(near, marks[0], lists, room[0])
    count = _eliminate(sizes, rooms)
    _parents(order, cliques, room[1], count, room[2], room[4])
    _keepers(room[1], room[2], count, room[3])
    return count


def _rooms(near: Bytes) -> Rooms:
    """Room to eliminate the attributes of a graph in.

    Returns:
        The graph, which is filled; lists of neighbours; the attributes in the order in which they go; members of the
        cliques; marks, of which the first row says which attributes are to go; costs and cells; and five rows: the
        second says where each clique ends, the third its parent, the fourth the clique kept that it lies in.
    """
    n = len(near)
    return (
        near,
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
    rooms = _rooms(near)
    _cliques(sizes, rooms)
    _, ends, parents, keepers, _ = rooms[-1]
    return rooms[3][: ends[-1] if len(ends) else 0], ends, parents, keepers


def triangulated_cells(graph: Bytes, sizes: Floats, parts: Ints, held: Floats, scopes: Places) -> Floats:
    """Cells of all cliques of a graph to which one scope after the other is added, each alone.

    Args:
        graph: Graph of all scopes held; not changed.
        sizes: Codes of each attribute.
        parts: Number of the part of each attribute of the graph; attributes of none have parts of their own.
        held: Cells of each part as it is, 0 for an attribute that is not in the graph.
        scopes: Attributes of each scope, -1 after the last.
    """
    touched, cells = np.empty(len(held), dtype=np.uint8), np.empty(len(scopes))
    _each_added(graph, sizes, parts, held, touched, scopes, _rooms(np.empty_like(graph)), cells)
    return cells


@inlined()
def _with_scope(
    graph: Bytes, near: Bytes, parts: Ints, held: Floats, touched: Bytes, scope: Places, alive: Bytes
) -> float:
    """Make the graph of the parts that a scope meets, all attributes of which are alive; the cells of the others."""
    for place in range(touched.size):
        touched[place] = 0
    for a in scope:
        if a >= 0:
            touched[parts[a]] = 1
    left = 0.0
    for place in range(touched.size):
        left += 0.0 if touched[place] else held[place]
    for a in range(alive.size):
        alive[a] = touched[parts[a]]
        for b in range(alive.size if alive[a] else 0):
            near[a, b] = graph[a, b]
    for a in scope:
        for b in scope:
            if a >= 0 and b >= 0 and a != b:
                near[a, b] = 1
    return left


@late
@kernel()
def _each_added(
    graph: Bytes, sizes: Floats, parts: Ints, held: Floats, touched: Bytes, scopes: Places, rooms: Rooms, found: Floats
) -> None:
    near, _, _, cliques, marks, _, room = rooms
    for s in range(scopes.shape[0]):
        left = _with_scope(graph, near, parts, held, touched, scopes[s], marks[0])
        count = _cliques(sizes, rooms)
        start = 0
        for i in range(count):
            if room[3, i] == i:
                cells = 1.0
                for k in range(start, room[1, i]):
                    cells *= sizes[cliques[k]]
                left += cells
            start = room[1, i]
        found[s] = left
