"""Compiled sweeps of steps over junction trees; nothing else lives here.

Every node of a tree holds a table of probabilities, flat in one array; the last attribute changes fastest and is the
one with most codes. A visit multiplies a node by one small table and sums it into another, in one pass. A node of few
cells is one row with an index map. Others are rows, on which a small table is *wide* (one value per cell), *narrow*
(one value per row) or a *pattern* (spread over the cells of a row first). ``layout.py`` makes the arrays.

Cells that no record can have hold 0 from the start and stay at 0, in nodes and in tables; steps pass them by. A cell
that came to 0 later was lost to underflow.
"""

import math

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.models.core import EXPLICIT, JOINT
from hedgerow.models.dense import implicit_step, multiply_and_sum
from hedgerow.models.tree_fit.omega_kernels import exps, improve, logs, mass_and_slope, omegas, shift
from hedgerow.system import inlined, kernel

WIDE, NARROW, PATTERN = 0, 1, 2
"""Kinds of views."""

Fit = tuple[Floats, Ints, Ints, Ints, Ints, Floats, Floats, Floats, Floats]
"""The tables of a fit.

In this order: cells of all nodes; for each node where its cells start, its rows and their width; views, for each how a
node meets a table: kind, places in the pool of the rows and of the pattern, number of rows of the table, and place of
the cells of the table where the pattern begins for each of them; the pool of index maps, which starts with a 0; for
each table where it starts, and its cells; for each table its cells when it was summed last, 0 where no record can be;
the factors of the next visit; values of queries, increasing; and room, shape ``(10, largest table)``.
"""

_TINY = 1e-195
_FLOOR = 1e-30
_LIMIT = 138.16
"""``-2 ln(_FLOOR)``: by how much one step of a query moves two cells apart at most."""
_LOST = 1e-250
"""A marginal probability so small may have lost cells to underflow."""
_ITERATIONS = 100
_NEAR, _CLOSE = 0.3, 1e-3
"""Largest moves that omega is followed by its series, with an iteration after it and without."""


@inlined()
def _scale_of(table: Floats) -> float:
    """The sum; 0 where a cell is lost."""
    total = 0.0
    least = table[0]
    for value in table:
        total += value
        least = min(least, value)
    return total if least > _LOST else 0.0


@kernel()
def implicit_marginal(p: Floats, target: Floats, dt: float, theta: Floats, room: Floats) -> bool:
    """Take the implicit step of a marginal (see ``steps.marginal_step``).

    Args:
        p: Changed in place.
        target: y.
        dt: Length.
        theta: Array to which the log-factors are added.
        room: Six rows of at least as many numbers.

    Returns:
        Whether no cell was lost.
    """
    mass = _scale_of(p)
    if mass == 0.0:
        return False
    log_mu, x, w, h = room[0, : p.size], room[1, : p.size], room[2, : p.size], room[3, : p.size]
    for i in range(p.size):
        p[i] /= mass
    logs(p, log_mu)
    low, nu = _first_guess(p, log_mu, target, dt)
    log_dt, far = math.log(dt), 0.0
    for i in range(p.size):
        w[i] = dt * p[i]
        pull = dt * (target[i] - nu)
        x[i] = log_mu[i] + log_dt + pull
        h[i] = pull - w[i]
        far = max(far, abs(h[i]))
    total = 1.0
    for k in range(_ITERATIONS):
        _follow(x, w, h, far, room[4, : p.size], room[5, : p.size])
        total, slope = mass_and_slope(w)
        excess = total / dt - 1.0
        following = max(low, nu + excess / slope)
        if abs(excess) <= 1e-13 or (k > 0 and following <= nu):
            break
        step = dt * (nu - following)
        nu, far = following, abs(step)
        for i in range(p.size):
            x[i] += step
            h[i] = step
    for i in range(p.size):
        p[i] = max(w[i] / total, _FLOOR)
    logs(p, h)
    for i in range(p.size):
        theta[i] += h[i] - log_mu[i]
    return True


@inlined()
def _follow(x: Floats, w: Floats, h: Floats, far: float, room: Floats, more: Floats) -> None:
    """Make w omega(x), where it was omega(x - h), and no h is larger than ``far``."""
    if far > _NEAR:
        omegas(x, w, room, more)
        return
    shift(w, h)
    if far > _CLOSE:
        improve(x, w, room)


@inlined()
def _first_guess(mu: Floats, log_mu: Floats, target: Floats, dt: float) -> tuple[float, float]:
    """A lower bound of nu, and a guess that is exact where nothing has to move.

    The sum of the cells is convex in nu and falls: one step of Newton's method from the right of the root leads to its
    left, and from there on it never passes it. At the bound one cell alone has p = 1.
    """
    low, pull, weight = -np.inf, 0.0, 0.0
    for i in range(mu.size):
        low = max(low, target[i] + log_mu[i] / dt)
        share = mu[i] / (1.0 + dt * mu[i])
        pull += share * (target[i] - mu[i])
        weight += share
    return low - 1.0, max(low - 1.0, pull / weight)


@inlined()
def _explicit_marginal(p: Floats, target: Floats, rate: float, theta: Floats, room: Floats) -> bool:
    mass = _scale_of(p)
    if mass == 0.0:
        return False
    steps, factors = room[0, : p.size], room[1, : p.size]
    top, total = -np.inf, 0.0
    for i in range(p.size):
        steps[i] = rate * (target[i] - p[i] / mass)
        theta[i] += steps[i]
        top = max(top, steps[i])
    for i in range(p.size):
        steps[i] -= top
    exps(steps, factors, room[2, : p.size])
    for i in range(p.size):
        p[i] *= factors[i]
        total += p[i]
    for i in range(p.size):
        p[i] /= total
    return True


@inlined()
def _marginal(p: Floats, target: Floats, rate: float, kind: int, theta: Floats, room: Floats) -> bool:
    """Take the step of a marginal; whether no cell was lost."""
    if kind == EXPLICIT:
        return bool(_explicit_marginal(p, target, rate, theta, room))
    if not implicit_marginal(p, target, rate, theta, room):
        return False
    if kind == JOINT:
        for i in range(p.size):
            target[i] = p[i]
    return True


@inlined()
def _some_cells(p: Floats, cells: Ints, target: Floats, rate: float, kind: int, theta: Floats, room: Floats) -> bool:
    """Take the step of a marginal on some of its cells, on all if there are none; whether no cell was lost."""
    some_p, some_target, some_theta = p, target, theta
    if cells.size > 0:
        some_p, some_target, some_theta = room[7, : cells.size], room[8, : cells.size], room[9, : cells.size]
        for k in range(cells.size):
            some_p[k], some_target[k], some_theta[k] = p[cells[k]], target[cells[k]], theta[cells[k]]
    if not _marginal(some_p, some_target, rate, kind, some_theta, room):
        return False
    for k in range(cells.size):
        p[cells[k]], target[cells[k]], theta[cells[k]] = some_p[k], some_target[k], some_theta[k]
    return True


@inlined()
def _implicit_values(values: Floats, masses: Floats, target: float, dt: float, p: Floats) -> float:
    """The implicit step of a query with several values (see ``steps.query_step``); values increase."""
    last = values.size - 1
    low, high = dt * (target - values[last]), dt * (target - values[0])
    step: float = min(max(0.0, low), high)
    for _ in range(2 * _ITERATIONS):
        top = -np.inf
        for k in range(values.size):
            p[k] = step * values[k] + math.log(max(masses[k], _TINY))
            top = max(top, p[k])
        total, first, second = 0.0, 0.0, 0.0
        for k in range(values.size):
            p[k] = math.exp(p[k] - top)
            total += p[k]
            first += p[k] * values[k]
            second += p[k] * values[k] * values[k]
        answer = first / total
        gap = step - dt * (target - answer)
        if gap > 0:
            high = step
        else:
            low = step
        newton = step - gap / (1.0 + dt * max(second / total - answer * answer, 0.0))
        following = newton if low < newton < high else 0.5 * (low + high)
        close = abs(following - step) <= 1e-13 * (1.0 + abs(step))
        step = following
        if close:
            break
    limit: float = _LIMIT / (values[last] - values[0])
    return max(-limit, min(step, limit))


@inlined()
def _query(p: Floats, classes: Ints, values: Floats, target: float, rate: float, kind: int, room: Floats) -> float:
    """Take the step of a query, whose values increase, and return it; NaN where cells are lost."""
    count = values.size
    masses, factors = room[:count], room[count : 2 * count]
    for k in range(count):
        masses[k] = 0.0
    for i in range(p.size):
        masses[classes[i]] += p[i]
    mass = 0.0
    for k in range(count):
        mass += masses[k]
    if not mass > _LOST:
        return np.nan
    answer = 0.0
    for k in range(count):
        masses[k] /= mass
        answer += masses[k] * values[k]
    if kind == EXPLICIT:
        step = rate * (target - answer)
    elif count == 2:
        width = values[1] - values[0]
        move: float = implicit_step(masses[1], (target - values[0]) / width, rate * width * width)
        step = move / width
    else:
        step = _implicit_values(values, masses, target, rate, factors)
    top = max(step * values[0], step * values[count - 1])
    total = 0.0
    for k in range(count):
        factors[k] = math.exp(step * values[k] - top)
        total += factors[k] * masses[k]
    for k in range(count):
        factors[k] /= total * mass
    for i in range(p.size):
        p[i] *= factors[classes[i]]
    return step


@inlined()
def _spread(table: Floats, view: Ints, pool: Ints, width: int, room: Floats) -> Floats:
    """A small table as its rows meet those of a node."""
    if view[0] != PATTERN:
        return table
    pattern = pool[view[2] : view[2] + width]
    for lead in range(view[3]):
        row = room[lead * width : (lead + 1) * width]
        values = table[pool[view[4] + lead] :]
        for j in range(width):
            row[j] = values[pattern[j]]
    return room[: view[3] * width]


@inlined()
def _folded(wide: Floats, view: Ints, pool: Ints, width: int, table: Floats) -> None:
    pattern = pool[view[2] : view[2] + width]
    for i in range(table.size):
        table[i] = 0.0
    for lead in range(view[3]):
        row = wide[lead * width : (lead + 1) * width]
        values = table[pool[view[4] + lead] :]
        for j in range(width):
            values[pattern[j]] += row[j]


@kernel()
def visit(
    cells: Floats, width: int, pool: Ints, view_in: Ints, factors: Floats, view_out: Ints, sums: Floats, room: Floats
) -> None:
    """Multiply a node by one table and sum it into another, in one pass."""
    rows = cells.size // width
    if rows == 1:
        for i in range(sums.size):
            sums[i] = 0.0
        into = pool[view_in[2] : view_in[2] + width]
        out = pool[view_out[2] : view_out[2] + width]
        for j in range(width):
            value = cells[j] * factors[into[j]]
            cells[j] = value
            sums[out[j]] += value
        return
    spread = _spread(factors, view_in, pool, width, room[0])
    folds = view_out[0] == PATTERN
    wide = room[1][: view_out[3] * width] if folds else sums
    for i in range(wide.size):
        wide[i] = 0.0
    multiply_and_sum(
        cells.reshape(1, rows, width),
        spread.reshape(view_in[3], spread.size // view_in[3]),
        pool[:1],
        pool[view_in[1] : view_in[1] + rows],
        wide.reshape(view_out[3], wide.size // view_out[3]),
        pool[:1],
        pool[view_out[1] : view_out[1] + rows],
        0,
        1,
    )
    if folds:
        _folded(wide, view_out, pool, width, sums)


@inlined()
def _pass_on(sums: Floats, old: Floats, ratio: Floats) -> bool:
    """The factors that bring a neighbour up to date; whether no cell was lost."""
    least = 1.0
    for i in range(sums.size):
        possible = old[i] > 0.0
        least = min(least, sums[i] if possible else 1.0)
        ratio[i] = sums[i] / old[i] if possible else 1.0
        old[i] = sums[i]
    return least > _LOST


@inlined()
def _stays(sums: Floats, old: Floats) -> bool:
    """Keep sums before steps; whether no cell was lost."""
    least = 1.0
    for i in range(sums.size):
        least = min(least, sums[i] if old[i] > 0.0 else 1.0)
        old[i] = sums[i]
    return least > _LOST


@kernel()
def sweep_trees(
    fit: Fit, ops: Ints, steps: Ints, targets: Floats, theta: Floats, kind: int, rates: Floats, shares: Floats
) -> bool:
    """Take sweeps of steps.

    Args:
        fit: See ``Fit``.
        ops: Visits: node, view and table of the factors, view and table of the sums, first and last step; no step
            makes a message.
        steps: For each its measurement, place of its targets, number of values of a query (0: a marginal), place in the
            pool of their classes, and of the values. For a marginal with cells that no record can have: place in the
            pool of the other cells, and how many there are; else 0 are.
        targets: Answers to move to; joint steps replace them by the answers after each step.
        theta: Log-factors so far, one per target.
        kind: Kind of the steps, a number of ``KINDS``.
        rates: Rate of each measurement.
        shares: Factors of the rates, one for each sweep.

    Returns:
        Whether it went well; False as soon as a marginal lost a cell to underflow.
    """
    cells, nodes, views, pool, tables, old, ratio, all_values, room = fit
    sums = room[6]
    for share in shares:
        for o in range(ops.shape[0]):
            op = ops[o]
            start, rows, width = nodes[op[0], 0], nodes[op[0], 1], nodes[op[0], 2]
            first, size = tables[op[2], 0], tables[op[2], 1]
            factors = ratio[first : first + size]
            first, size = tables[op[4], 0], tables[op[4], 1]
            found, before, after = sums[:size], old[first : first + size], ratio[first : first + size]
            visit(cells[start : start + rows * width], width, pool, views[op[1]], factors, views[op[3]], found, room)
            if op[5] == op[6]:
                if not _pass_on(found, before, after):
                    return False
                continue
            if not _stays(found, before):
                return False
            for t in range(op[5], op[6]):
                step = steps[t]
                rate, place = share * rates[step[0]], step[1]
                if step[2] == 1:  # the answer is always the same
                    continue
                if step[2] > 1:
                    classes, values = pool[step[3] : step[3] + size], all_values[step[4] : step[4] + step[2]]
                    moved = _query(found, classes, values, targets[place], rate, kind, room[0])
                    if not math.isfinite(moved):
                        return False
                    theta[place] += moved
                    if kind == JOINT:
                        targets[place] -= moved / rate
                    continue
                target, moves = targets[place : place + size], theta[place : place + size]
                if not _some_cells(found, pool[step[3] : step[3] + step[4]], target, rate, kind, moves, room):
                    return False
            if not _pass_on(found, before, after):
                return False
    return True


def compile_sweeps() -> None:
    """Have all that sweeps need compiled, by a sweep over no tree.

    Example:
        >>> compile_sweeps()
    """
    numbers, room, places, lists = np.zeros(1), np.zeros((10, 1)), np.zeros(1, np.int64), np.zeros((0, 7), np.int64)
    nothing = numbers, lists, lists, places, lists, numbers, numbers, numbers, room
    sweep_trees(nothing, lists, lists, numbers, numbers, 0, numbers, numbers)
