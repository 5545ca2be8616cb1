"""Compiled parts of the best response: classes of codes, and tabu search; nothing else lives here.

A *clause* is a conjunction of literals with a whole weight; a *spot* is one attribute with one class of its codes,
numbered through all attributes; an *entry* is one literal of one clause.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints, Words

Marks = NDArray[np.int8]

_MET, _STAYS = 1, 2
_LEAST = -(2**62)


class Clauses(NamedTuple):
    """A best-response problem over classes of codes.

    Attributes:
        offset: First spot of each attribute, shape ``(d + 1,)``.
        attribute: The attribute of each spot.
        weight: Whole weights of the clauses, shape ``(m,)``.
        start: First entry of each clause, shape ``(m + 1,)``.
        clause: The clause of each entry.
        literal: The literal of each entry.
        literal_attribute: The attribute of each literal, shape ``(L,)``.
        literal_start: First position of each literal's spots, shape ``(L + 1,)``.
        literal_spots: Spots that satisfy each literal, sorted.
        spot_start: First position of the entries that each spot satisfies.
        spot_entries: These entries.
    """

    offset: Ints
    attribute: Ints
    weight: Ints
    start: Ints
    clause: Ints
    literal: Ints
    literal_attribute: Ints
    literal_start: Ints
    literal_spots: Ints
    spot_start: Ints
    spot_entries: Ints


@njit(nogil=True, cache=True)
def split_classes(offset: Ints, literal_attribute: Ints, literal_start: Ints, places: Ints) -> tuple[Ints, Ints]:
    """Group places that satisfy the same literals: every literal splits the classes of its attribute, so this is exact.

    Args:
        offset: First place of each attribute when all places are numbered through.
        literal_attribute: The attribute of each literal.
        literal_start: First position of each literal's places.
        places: Places of each literal.

    Returns:
        Class of each place, numbered by first places within the attribute; number of classes of each attribute.
    """
    label = np.zeros(offset[-1], np.int64)
    count = np.ones(offset.size - 1, np.int64)
    listed = np.zeros(offset[-1], np.int64)
    split = np.full((offset[-1], 2), -1, np.int64)
    for literal in range(literal_attribute.size):
        a = literal_attribute[literal]
        split[: count[a]] = -1
        count[a] = 0
        for k in range(literal_start[literal], literal_start[literal + 1]):
            listed[offset[a] + places[k]] = 1
        for k in range(offset[a], offset[a + 1]):
            part = split[label[k]]
            if part[listed[k]] < 0:
                part[listed[k]] = count[a]
                count[a] += 1
            label[k] = part[listed[k]]
            listed[k] = 0
    return label, count


@njit(nogil=True, cache=True)
def _mix(state: Words) -> Any:
    """The next 64 bits of splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def _below(state: Words, n: int) -> Any:
    """A number below n; n is tiny against 2**32, so that the bias does not matter."""
    return np.int64(((_mix(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(nogil=True, cache=True)
def _shuffle(values: Ints, state: Words) -> None:
    for i in range(values.size - 1, 0, -1):
        j = _below(state, i + 1)
        values[i], values[j] = values[j], values[i]


@njit(nogil=True, cache=True)
def greedy(c: Clauses, state: Words, spots: Ints) -> None:
    """Fix the attributes in random order, each so that the expected value over the free ones, uniform, is largest.

    The expectation never falls, so the result is worth at least the mean over all choices of spots (the method of
    conditional expectations).
    """
    chance = c.weight.astype(np.float64)
    share = np.empty(c.literal_attribute.size)
    for literal in range(share.size):
        a = c.literal_attribute[literal]
        count = c.literal_start[literal + 1] - c.literal_start[literal]
        share[literal] = count / (c.offset[a + 1] - c.offset[a])
    for e in range(c.clause.size):
        chance[c.clause[e]] *= share[c.literal[e]]
    order = np.arange(c.offset.size - 1)
    _shuffle(order, state)
    kept = np.full(c.weight.size, -1, np.int64)
    for a in order:
        spots[a] = _best_expected(c, a, chance, share, state)
        _condition(c, a, spots[a], chance, share, kept)


@njit(nogil=True, cache=True)
def _best_expected(c: Clauses, a: Any, chance: Floats, share: Floats, state: Words) -> Any:
    """The spot of an attribute with the largest expectation; ties at random."""
    best, most, ties = c.offset[a], -np.inf, 0
    for spot in range(c.offset[a], c.offset[a + 1]):
        expected = 0.0
        for k in range(c.spot_start[spot], c.spot_start[spot + 1]):
            e = c.spot_entries[k]
            expected += chance[c.clause[e]] / share[c.literal[e]]
        ties = ties + 1 if expected == most else 1
        if expected > most or (expected == most and _below(state, ties) == 0):
            best, most = spot, expected
    return best


@njit(nogil=True, cache=True)
def _condition(c: Clauses, a: Any, chosen: Any, chance: Floats, share: Floats, kept: Ints) -> None:
    """Condition the chances of the clauses that mention an attribute on its spot."""
    for k in range(c.spot_start[chosen], c.spot_start[chosen + 1]):
        e = c.spot_entries[k]
        kept[c.clause[e]] = a
        chance[c.clause[e]] /= share[c.literal[e]]
    for k in range(c.spot_start[c.offset[a]], c.spot_start[c.offset[a + 1]]):
        j = c.clause[c.spot_entries[k]]
        if kept[j] != a:
            chance[j] = 0.0


@njit(nogil=True, cache=True)
def _open(c: Clauses, spots: Ints, met: Marks, unmet: Ints, score: Ints) -> int:
    """Mark met entries, count unmet ones and fill the scores of a start; returns its value.

    The score of a spot is the weight of the clauses that its attribute alone decides and that the spot satisfies.
    """
    met[:] = 0
    for spot in spots:
        for k in range(c.spot_start[spot], c.spot_start[spot + 1]):
            met[c.spot_entries[k]] = _MET
    unmet[:] = 0
    for e in range(met.size):
        unmet[c.clause[e]] += met[e] == 0
    score[:] = 0
    for e in range(met.size):
        j = c.clause[e]
        if unmet[j] == 0 or (unmet[j] == 1 and met[e] == 0):
            _add(c, c.literal[e], c.weight[j], score)
    value = 0
    for j in range(unmet.size):
        value += c.weight[j] if unmet[j] == 0 else 0
    return value


@njit(nogil=True, cache=True)
def _move(c: Clauses, new: int, spots: Ints, met: Marks, unmet: Ints, score: Ints) -> None:
    """Put an attribute on a new spot and bring met entries, unmet counts and scores up to date."""
    a = c.attribute[new]
    old = spots[a]
    spots[a] = new
    entering = c.spot_entries[c.spot_start[new] : c.spot_start[new + 1]]
    for e in entering:
        if met[e] == _MET:
            met[e] = _STAYS
    for e in c.spot_entries[c.spot_start[old] : c.spot_start[old + 1]]:
        if met[e] != _STAYS:
            _score_others(c, e, -1, met, unmet, score)
            met[e] = 0
            unmet[c.clause[e]] += 1
    for e in entering:
        if met[e] != _STAYS:
            unmet[c.clause[e]] -= 1
            _score_others(c, e, 1, met, unmet, score)
        met[e] = _MET


@njit(nogil=True, cache=True)
def _score_others(c: Clauses, entry: int, sign: int, met: Marks, unmet: Ints, score: Ints) -> None:
    """Give or take the weight of a clause where, with this entry met, one other attribute alone decides it."""
    j = c.clause[entry]
    if unmet[j] > 1:
        return
    amount = sign * c.weight[j]
    for e in range(c.start[j], c.start[j + 1]):
        if e != entry and (unmet[j] == 0 or met[e] == 0):
            _add(c, c.literal[e], amount, score)


@njit(nogil=True, cache=True)
def _add(c: Clauses, literal: int, amount: int, score: Ints) -> None:
    for k in range(c.literal_start[literal], c.literal_start[literal + 1]):
        score[c.literal_spots[k]] += amount


@njit(nogil=True, cache=True)
def _choose(c: Clauses, now: int, needed: int, spots: Ints, score: Ints, until: Ints, state: Words) -> tuple[int, int]:
    """The best move that is not tabu or gains ``needed``, and its gain; ties at random; -1 if there is none."""
    chosen, most, ties = -1, _LEAST, 0
    for a in range(spots.size):
        here = spots[a]
        base = score[here]
        for spot in range(c.offset[a], c.offset[a + 1]):
            gain = score[spot] - base
            if gain < most or spot == here or (until[spot] > now and gain < needed):
                continue
            ties = ties + 1 if gain == most else 1
            if gain > most or _below(state, ties) == 0:
                chosen, most = spot, gain
    return chosen, most


@njit(nogil=True, cache=True)
def climb(c: Clauses, patience: int, tenure: int, state: Words, spots: Ints, best: Ints) -> int:
    """Tabu search from ``spots`` until ``patience`` moves have not improved; fills ``best`` and returns its value."""
    met = np.empty(c.clause.size, np.int8)
    unmet = np.empty(c.weight.size, np.int64)
    score = np.empty(c.attribute.size, np.int64)
    until = np.zeros(c.attribute.size, np.int64)
    value = _open(c, spots, met, unmet, score)
    most = value
    best[:] = spots
    now, last = 0, 0
    while now - last < patience:
        now += 1
        spot, gain = _choose(c, now, most - value + 1, spots, score, until, state)
        if spot < 0:
            continue
        until[spots[c.attribute[spot]]] = now + tenure + _below(state, tenure + 1)
        _move(c, spot, spots, met, unmet, score)
        value += gain
        if value > most:
            most, last = value, now
            best[:] = spots
    return most


@njit(nogil=True, cache=True)
def search(c: Clauses, restarts: int, patience: int, tenure: int, state: Words, best: Ints) -> int:
    """Tabu search from several greedy starts; returns the best value and fills ``best`` with its spots."""
    spots = np.empty_like(best)
    found = np.empty_like(best)
    most = _LEAST
    for _ in range(restarts):
        greedy(c, state, spots)
        value = climb(c, patience, tenure, state, spots, found)
        if value > most:
            most = value
            best[:] = found
    return most
