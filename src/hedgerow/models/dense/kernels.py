"""Compiled passes over the cells of a hypothesis; nothing else lives here.

A hypothesis is seen as blocks of rows, shape ``(blocks, rows, width)``. The row of a small table that belongs to row
``(b, r)`` is ``block[b] + row[r]``. A small table is either *wide* (one value per cell of a row) or *narrow*
(one value per row). Slices are ``outer[i] + stride * k`` for ``k < count``, or ``outer[i] + gather[k]`` where
``gather`` is not empty. Exponentials over cells are left to numpy, which vectorises them.
"""

import math

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.models.core import EXPLICIT, JOINT
from hedgerow.system import device_function, inlined, kernel

Packed = tuple[Ints, Ints, Ints, Ints, Ints, Ints]
"""The slices of ``layout.py``, one after the other.

Outer offsets and their starts, strides, counts, gathered offsets and their starts.
"""

_EPS = 2.0**-52
_FLOOR = 69.0
_TINY = 1e-195


@inlined()
def _scale_sum_wide(row: Floats, factors: Floats, sums: Floats) -> None:
    for j in range(row.size):
        value = row[j] * factors[j]
        row[j] = value
        sums[j] += value


@device_function(fastmath={"reassoc"})
def _scale_sum_narrow(row: Floats, factors: Floats) -> float:
    total = 0.0
    for j in range(row.size):
        value = row[j] * factors[j]
        row[j] = value
        total += value
    return total


@inlined()
def _scale_by_one_sum_wide(row: Floats, factor: float, sums: Floats) -> None:
    for j in range(row.size):
        value = row[j] * factor
        row[j] = value
        sums[j] += value


@device_function(fastmath={"reassoc"})
def _scale_by_one_sum_narrow(row: Floats, factor: float) -> float:
    total = 0.0
    for j in range(row.size):
        value = row[j] * factor
        row[j] = value
        total += value
    return total


@device_function()
def _sum_wide(row: Floats, sums: Floats) -> None:
    for j in range(row.size):
        sums[j] += row[j]


@device_function(fastmath={"reassoc"})
def _sum_narrow(row: Floats) -> float:
    total = 0.0
    for j in range(row.size):
        total += row[j]
    return total


@kernel()
def multiply_and_sum(
    weights: Floats,
    factors: Floats,
    factor_block: Ints,
    factor_row: Ints,
    sums: Floats,
    sum_block: Ints,
    sum_row: Ints,
    start: int,
    stop: int,
) -> None:
    """Multiply blocks ``start`` to ``stop`` by one small table and add them up into another, in one pass."""
    wide_factors = factors.shape[1] > 1
    wide_sums = sums.shape[1] > 1
    for b in range(start, stop):
        for r in range(weights.shape[1]):
            row = weights[b, r]
            f = factor_block[b] + factor_row[r]
            s = sum_block[b] + sum_row[r]
            if wide_factors:
                if wide_sums:
                    _scale_sum_wide(row, factors[f], sums[s])
                else:
                    sums[s, 0] += _scale_sum_narrow(row, factors[f])
            elif wide_sums:
                _scale_by_one_sum_wide(row, factors[f, 0], sums[s])
            else:
                sums[s, 0] += _scale_by_one_sum_narrow(row, factors[f, 0])


@kernel()
def sum_rows(weights: Floats, sums: Floats, sum_block: Ints, sum_row: Ints, start: int, stop: int) -> None:
    """Add blocks ``start`` to ``stop`` up into a small table."""
    wide = sums.shape[1] > 1
    for b in range(start, stop):
        for r in range(weights.shape[1]):
            s = sum_block[b] + sum_row[r]
            if wide:
                _sum_wide(weights[b, r], sums[s])
            else:
                sums[s, 0] += _sum_narrow(weights[b, r])


@kernel()
def add_rows(block: Floats, table: Floats, first: int, table_row: Ints) -> None:
    """Add a small table to one block, shape ``(rows, width)``."""
    if table.shape[1] > 1:
        for r in range(block.shape[0]):
            row = block[r]
            added = table[first + table_row[r]]
            for j in range(row.size):
                row[j] += added[j]
    else:
        for r in range(block.shape[0]):
            row = block[r]
            value = table[first + table_row[r], 0]
            for j in range(row.size):
                row[j] += value


@kernel()
def rule_out(block: Floats, allowed: Bools, is_open: Bools, rows: Ints, value: float) -> None:
    """Set the cells of one block, shape ``(rows, width)``, that a constraint does not allow.

    Args:
        block: Changed in place.
        allowed: Whether there may be records, shape ``(r, width)`` or ``(r, 1)``.
        is_open: The rows of ``allowed`` that are true throughout.
        rows: The row of ``allowed`` for each row of the block.
        value: Number to set.
    """
    for r in range(block.shape[0]):
        if is_open[rows[r]]:
            continue
        row = block[r]
        if allowed.shape[1] == 1:
            row[:] = value
            continue
        row_cells = allowed[rows[r]]
        for j in range(row.size):
            row[j] = row[j] if row_cells[j] else value


@device_function(fastmath={"reassoc"})
def _slice_sum(cells: Floats, outer: Ints, stride: int, count: int, gather: Ints) -> float:
    """Sum over a slice."""
    total = 0.0
    if gather.size > 0:
        for i in range(outer.size):
            base = outer[i]
            for k in range(gather.size):
                total += cells[base + gather[k]]
    elif stride == 1:
        for i in range(outer.size):
            row = cells[outer[i] : outer[i] + count]
            for k in range(row.size):
                total += row[k]
    else:
        for i in range(outer.size):
            base = outer[i]
            for k in range(count):
                total += cells[base + k * stride]
    return total


@device_function(fastmath={"reassoc"})
def _slice_scale(cells: Floats, outer: Ints, stride: int, count: int, gather: Ints, factor: float) -> float:
    """Multiply a slice and return the sum that it had before."""
    total = 0.0
    if gather.size > 0:
        for i in range(outer.size):
            base = outer[i]
            for k in range(gather.size):
                value = cells[base + gather[k]]
                total += value
                cells[base + gather[k]] = value * factor
    elif stride == 1:
        for i in range(outer.size):
            row = cells[outer[i] : outer[i] + count]
            for k in range(row.size):
                value = row[k]
                total += value
                row[k] = value * factor
    else:
        for i in range(outer.size):
            base = outer[i]
            for k in range(count):
                value = cells[base + k * stride]
                total += value
                cells[base + k * stride] = value * factor
    return total


@kernel()
def slice_sums(cells: Floats, places: Packed, numbers: Ints, sums: Floats) -> None:
    """Sums over some slices."""
    outer, outer_start, stride, count, gather, gather_start = places
    for i in range(numbers.size):
        q = numbers[i]
        part = outer[outer_start[q] : outer_start[q + 1]]
        sums[i] = _slice_sum(cells, part, stride[q], count[q], gather[gather_start[q] : gather_start[q + 1]])


@kernel()
def slice_scale(cells: Floats, places: Packed, q: int, factor: float) -> float:
    """Multiply a slice and return the sum that it had before."""
    outer, outer_start, stride, count, gather, gather_start = places
    part = outer[outer_start[q] : outer_start[q + 1]]
    scale: float = _slice_scale(cells, part, stride[q], count[q], gather[gather_start[q] : gather_start[q + 1]], factor)
    return scale


@kernel()
def slice_adds(cells: Floats, places: Packed, numbers: Ints, values: Floats) -> None:
    """Add a number to every cell of each of some slices."""
    outer, outer_start, stride, count, gather, gather_start = places
    for n in range(numbers.size):
        q, value = numbers[n], values[n]
        for i in range(outer_start[q], outer_start[q + 1]):
            base = outer[i]
            if gather_start[q] < gather_start[q + 1]:
                for k in range(gather_start[q], gather_start[q + 1]):
                    cells[base + gather[k]] += value
            else:
                for k in range(count[q]):
                    cells[base + k * stride[q]] += value


@kernel()
def implicit_step(mu: float, target: float, rate: float) -> float:
    """The s with ``s = rate * (target - p)``, where ``logit(p) = logit(mu) + s``; p stays within e**-69 of 0 and 1.

    A mu of 1 may be rounded. Where mu is beyond these bounds s is 0 rather than of the other sign.
    """
    start = math.log(max(mu, _TINY)) - math.log(max(1.0 - mu, 0.5 * _EPS))
    low, high = rate * (target - 1.0), rate * target
    step = min(max(0.0, low), high)
    for _ in range(200):
        p = 1.0 / (1.0 + math.exp(-min(max(start + step, -700.0), 700.0)))
        gap = step - rate * (target - p)
        if gap > 0:
            high = step
        else:
            low = step
        newton = step - gap / (1.0 + rate * p * (1.0 - p))
        following = newton if low < newton < high else 0.5 * (low + high)
        if abs(following - step) <= 1e-13 * (1.0 + abs(step)):
            step = following
            break
        step = following
    return min(max(step, min(0.0, -_FLOOR - start)), max(0.0, _FLOOR - start))


@kernel(error_model="python")  # a mass of 0 is an error
def sweep(
    cells: Floats,
    places: Packed,
    numbers: Ints,
    targets: Floats,
    rates: Floats,
    kind: int,
    steps: Floats,
    state: tuple[float, float, float],
    limit: float,
    first: int,
    last: int,
) -> tuple[int, float, float, float]:
    """Take steps ``first`` to ``last`` (sweep-major) over some slices, adding them to ``steps``.

    Their kind is a number of ``KINDS``; joint ones are implicit, with the answer after each as its next target.

    Stops where the weights must be rebuilt, that is where ``moved`` would pass ``limit``; the step that would have
    passed it is in ``steps`` but not in the weights.

    Returns:
        Next step, mass, bound on the error of the mass, moved (above the limit if the weights must be rebuilt).
    """
    outer, outer_start, stride, count, gather, gather_start = places
    mass, error, moved = state
    n_queries = targets.size
    for index in range(first, last):
        i = index % n_queries
        q = numbers[i]
        part = outer[outer_start[q] : outer_start[q + 1]]
        listed = gather[gather_start[q] : gather_start[q + 1]]
        old = _slice_sum(cells, part, stride[q], count[q], listed)
        mu = min(max(old / mass, 0.0), 1.0)
        step = implicit_step(mu, targets[i], rates[i]) if kind != EXPLICIT else rates[i] * (targets[i] - mu)
        steps[i] += step
        if kind == JOINT:
            targets[i] -= step / rates[i]
        moved += abs(step)
        if moved > limit:
            return index + 1, mass, error, moved
        factor = math.exp(step)
        _slice_scale(cells, part, stride[q], count[q], listed, factor)
        error += 4.0 * _EPS * (mass + factor * old)
        mass += (factor - 1.0) * old
        if error > 1e-12 * mass:
            mass = _sum_narrow(cells)
            error = 0.0
    return last, mass, error, moved


@kernel()
def cells_at(cells: Floats, starts: Floats, block: int, positions: Floats, found: Ints) -> None:
    """Cells at increasing positions of the cumulative sum.

    Args:
        cells: Non-negative weights.
        starts: Cumulative sum before each block of cells, and the whole sum at the end.
        block: Cells per block.
        positions: Increasing, in ``[0, starts[-1])``.
        found: Filled with one cell per position.
    """
    b = 0
    cell = 0
    reached = 0.0
    opened = -1
    last_block = starts.size - 2
    for i in range(positions.size):
        while b < last_block and starts[b + 1] <= positions[i]:
            b += 1
        if b != opened:
            opened = b
            cell = b * block
            reached = starts[b] + cells[cell]
        stop = min(cells.size, (b + 1) * block) - 1
        while cell < stop and reached <= positions[i]:
            cell += 1
            reached += cells[cell]
        # Rounding at the end of a block may lead past its last weight.
        back = cell
        while back > b * block and cells[back] == 0.0:
            back -= 1
        found[i] = back


@kernel()
def corner_sums(table: Floats, corners: Ints, signs: Floats, ends: Ints, axes: int, sums: Floats) -> None:
    """Signed sums of a flat table over products of one list of places per axis, one sum for each query.

    List k of query i ends at ``ends[i * axes + k]`` and starts where the one before it ends; a cell is the sum of one
    place from each list, and its sign the product of their signs.
    """
    at = np.empty(axes, dtype=np.int64)
    last = axes - 1
    for i in range(sums.size):
        base = i * axes
        empty = False
        for k in range(axes):
            at[k] = ends[base + k - 1] if base + k else 0
            empty |= at[k] == ends[base + k]
        total = 0.0
        while not empty:
            place, sign = 0, 1.0
            for k in range(last):
                place += corners[at[k]]
                sign *= signs[at[k]]
            line = 0.0
            for j in range(at[last], ends[base + last]):
                line += signs[j] * table[place + corners[j]]
            total += sign * line
            k = last - 1
            while k >= 0:
                at[k] += 1
                if at[k] < ends[base + k]:
                    break
                at[k] = ends[base + k - 1] if base + k else 0
                k -= 1
            empty = k < 0
        sums[i] = total


@kernel(fastmath={"reassoc", "contract"})
def solve_positive(matrix: Floats, right: Floats) -> bool:
    """Solve linear equations with a positive definite matrix, by Cholesky's method, in place.

    Up to some hundred unknowns as fast as LAPACK, without its threads, which wait for each other on a busy machine.

    Args:
        matrix: Its lower triangle becomes the factor.
        right: Becomes the solution.

    Returns:
        False if the matrix is not positive definite as far as can be told; ``right`` is of no use then.
    """
    n = right.size
    for j in range(n):
        row = matrix[j]
        rest = row[j]
        for k in range(j):
            rest -= row[k] * row[k]
        if not rest > 0.0:
            return False
        pivot = math.sqrt(rest)
        row[j] = pivot
        for i in range(j + 1, n):
            other = matrix[i]
            rest = other[j]
            for k in range(j):
                rest -= other[k] * row[k]
            other[j] = rest / pivot
    for i in range(n):
        row = matrix[i]
        rest = right[i]
        for k in range(i):
            rest -= row[k] * right[k]
        right[i] = rest / row[i]
    for i in range(n - 1, -1, -1):
        row = matrix[i]
        right[i] /= row[i]
        for k in range(i):
            right[k] -= row[k] * right[i]
    return True
