"""Records that are moved, one by one, in plain Python; and the law that this leaves as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hedgerow.arrays import Floats, Ints

Tables = Mapping[tuple[int, ...], Floats]
"""Tables over some columns of the records."""


def swept(records: Ints, sizes: Sequence[int], logs: Tables, gains: Tables, targets: Tables, uniforms: Floats) -> Ints:
    """Every code of every record drawn anew, given all others, with the counts taken from scratch for each.

    Args:
        records: Shape ``(n, columns)``.
        sizes: Number of codes of each column.
        logs: Log-weights of one record by itself.
        gains: What each record in a cell costs every other one there.
        targets: In counts.
        uniforms: Shape of the records.
    """
    found = records.copy()
    for i, record in enumerate(found):
        for column, size in enumerate(sizes):
            energies = []
            for code in range(size):
                record[column] = code
                energies.append(energy(found, logs, gains, targets))
            weights = [math.exp(max(energies) - each) if False else math.exp(each - max(energies)) for each in energies]
            wanted, reached = uniforms[i, column] * math.fsum(weights), 0.0
            for code, weight in enumerate(weights):
                reached += weight
                record[column] = code
                if reached > wanted:
                    break
    return found


def energy(records: Ints, logs: Tables, gains: Tables, targets: Tables) -> float:
    """The logarithm of the probability of all records together, but for a constant."""
    found = 0.0
    for scope in logs:
        counts = [0.0] * logs[scope].size
        shape = logs[scope].shape
        for record in records.tolist():
            place = 0
            for column, size in zip(scope, shape, strict=True):
                place = place * size + record[column]
            counts[place] += 1.0
            found += float(logs[scope].reshape(-1)[place])
        for count, gain, target in zip(counts, gains[scope].reshape(-1), targets[scope].reshape(-1), strict=True):
            found += float(gain) * (count * float(target) - 0.5 * count * (count - 1.0))
    return found
