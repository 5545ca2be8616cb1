"""Compiled passes over the structure of trees of cliques; nothing else lives here.

A tree of cliques is flat: the attributes of clique i are ``members[starts[i]:starts[i + 1]]``; its edges are
``slots[i]`` to ``slots[i + 1]`` of ``other`` (the clique at the far end), ``back`` (the same edge as the far end counts
it) and ``shared`` (a bit for each attribute of clique i that both hold, in the order of the clique). Cells are floats,
since they may be more than any integer of the machine holds.
"""

import numpy as np

from hedgerow.arrays import Floats, Ints, Places
from hedgerow.system import device_function, inlined, kernel, late

Tree = tuple[Ints, Places, Ints, Places, Ints, Ints, Floats]
"""Starts, members, slots, other, back, shared; and the cells of each clique."""

Hung = tuple[Ints, Ints, Ints]
"""A forest hung up at roots: for each clique its edge towards the root (-1 for roots) and its depth; for each attribute
its clique nearest to the root (-1 if it is in none)."""

MOST_MEMBERS = 62
"""A clique of more attributes has no bit for each of them."""
_FORKED = 1 << MOST_MEMBERS


@device_function()
def holds(members: Places, scope: Places) -> bool:
    """Whether one ascending list holds another."""
    at = 0
    for wanted in scope:
        while at < members.size and members[at] < wanted:
            at += 1
        if at == members.size or members[at] != wanted:
            return False
    return True


@late
@kernel()
def holders(
    starts: Ints, members: Places, cells: Floats, homes: Ints, cliques: Places, ends: Ints, scopes: Places
) -> Ints:
    """Find the smallest clique of some trees that holds each scope; -1 if none does, and for no attribute.

    Args:
        starts: Starts of the members of each clique.
        members: Attributes of the cliques, ascending in each.
        cells: Cells of each clique.
        homes: The cliques of attribute a are ``cliques[homes[a]:homes[a + 1]]``, ascending.
        cliques: See ``homes``.
        ends: The scope m is ``scopes[ends[m]:ends[m + 1]]``.
        scopes: Attributes, ascending in each scope.
    """
    nodes = np.empty(ends.size - 1, np.int64)
    for m in range(nodes.size):
        nodes[m] = -1
        scope = scopes[ends[m] : ends[m + 1]]
        if scope.size == 0:
            continue
        rarest = scope[0]
        for a in scope:
            if homes[a + 1] - homes[a] < homes[rarest + 1] - homes[rarest]:
                rarest = a
        for at in range(homes[rarest], homes[rarest + 1]):
            i = cliques[at]
            smaller = nodes[m] < 0 or cells[i] < cells[nodes[m]]
            if smaller and holds(members[starts[i] : starts[i + 1]], scope):
                nodes[m] = i
    return nodes


@late
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


@device_function()
def _cells_of(mask: int, members: Places, sizes: Floats) -> float:
    cells, place = 1.0, 0
    while mask:
        if mask & 1:
            cells *= sizes[members[place]]
        mask >>= 1
        place += 1
    return cells


@device_function()
def _widened(tree: Tree, sizes: Floats, i: int, mask: int, factor: float) -> float:
    """Cells of a new clique beside clique i, of some of its attributes and others; less its own if it is inside."""
    starts, members, _, _, _, _, cells = tree
    added = _cells_of(mask, members[starts[i] :], sizes) * factor
    return added - cells[i] if mask + 1 == 1 << (starts[i + 1] - starts[i]) else added


@late
@kernel()
def pair_growth(tree: Tree, homes: Ints, cliques: Places, sizes: Floats, growth: Floats) -> None:
    """Cells that joining each pair of attributes of the same part would add, at most.

    The attribute of fewer codes is carried along the path to the nearest clique of the other. Beside every clique on
    the way comes a new one, of what the clique shares with its two neighbours there and of the attribute carried,
    unless the one before holds all that.

    Args:
        tree: The tree, flat.
        homes: See ``holders``.
        cliques: See ``holders``.
        sizes: Codes of each attribute.
        growth: Output, the cells, shape ``(attributes, attributes)``, symmetric; other pairs are left as they are.
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


@late
@kernel()
def rooted(slots: Ints, other: Places, back: Ints, root: int) -> tuple[Ints, Ints, Ints]:
    """Find the edge of each clique towards the root of its part, -1 for roots, its depth, and the root.

    Args:
        slots: Starts of the edges of each clique.
        other: Their far ends.
        back: The same edges as the far ends count them.
        root: A clique to be the root of its part, instead of the first clique; -1 for none.
    """
    n = slots.size - 1
    up, depths = np.empty(n, np.int64), np.empty(n, np.int64)
    queue, roots = np.empty(n, np.int64), np.empty(n, np.int64)
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


@late
@kernel()
def tops_of(homes: Ints, cliques: Places, depths: Ints) -> Ints:
    """Find the clique of each attribute nearest to the root, -1 if it is in none."""
    tops = np.empty(homes.size - 1, np.int64)
    for a in range(tops.size):
        tops[a] = -1
        for h in range(homes[a], homes[a + 1]):
            if tops[a] < 0 or depths[cliques[h]] < depths[tops[a]]:
                tops[a] = cliques[h]
    return tops


@inlined()
def _deepest(cliques: Ints, depths: Ints) -> int:
    deepest = 0
    for x in range(1, cliques.size):
        if depths[cliques[x]] > depths[cliques[deepest]]:
            deepest = x
    return deepest


@inlined()
def _present(members: Places, scope: Places) -> tuple[int, int]:
    """The attributes of a scope that a clique holds, and their places in the clique; a bit for each."""
    here, bits = 0, 0
    for k in range(members.size):
        for x in range(scope.size):
            if members[k] == scope[x]:
                here |= 1 << x
                bits |= 1 << k
    return here, bits


@kernel()
def _joined(
    tree: Tree, hung: Hung, sizes: Floats, scope: Places, marks: Ints, carried: Ints, found: Ints
) -> tuple[float, int]:
    """Cells that joining attributes of one part would add, at most; they are carried towards the root until they meet.

    Args:
        tree: The tree, flat.
        hung: See ``Hung``.
        sizes: Codes of each attribute.
        scope: The attributes.
        marks: Room for what each clique shares with those below it; zeros, and zeros again afterwards.
        carried: Room for what is carried to each clique; zeros again afterwards too.
        found: Output, the new cliques, shape ``(3, cliques)``: the clique beside which each stands, what it has of its
            attributes, and which attributes of the scope.

    Returns:
        The cells, and the number of new cliques.
    """
    starts, members, _, other, back, shared, _ = tree
    up, depths, tops = hung
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
            total += _widened(tree, sizes, i, beside, _cells_of(foreign, scope, sizes))
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


joined = late(_joined)


@late
@kernel()
def scope_growth(tree: Tree, hung: Hung, sizes: Floats, parts: Ints, scopes: Places) -> Floats:
    """Cells that joining the attributes of each scope would add, at most; those in several parts by a clique of all.

    Args:
        tree: The tree, flat.
        hung: See ``Hung``.
        sizes: Codes of each attribute.
        parts: Number of the part of each attribute.
        scopes: Attributes of each scope, -1 after the last.
    """
    _, depths, tops = hung
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
            growth[s] += _joined(tree, hung, sizes, inside[:width], marks, carried, found)[0]
        if several:
            growth[s] += cells
    return growth


@late
@kernel()
def routes(homes: Ints, cliques: Places, slots: Ints, other: Places) -> tuple[Places, Places]:
    """Find the neighbour of each clique towards each attribute, -1 inside, and its distance in edges.

    Args:
        homes: See ``holders``.
        cliques: See ``holders``.
        slots: Starts of the edges of each clique of one tree.
        other: Their far ends.

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
