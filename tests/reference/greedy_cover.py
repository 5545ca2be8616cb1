"""The greedy cover of cliques by blocks, every gain computed afresh."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hedgerow.domain import Clique, Domain


def greedy_cover(domain: Domain, cliques: Sequence[Clique], largest: int) -> list[tuple[Clique, list[int]]]:
    """Blocks, and the positions of the cliques that each is the first to cover."""

    def cells(names: set[str]) -> int:
        return math.prod(domain[name].size for name in names)

    left = sorted(range(len(cliques)), key=lambda i: -cells(set(cliques[i])))
    blocks = []
    while left:
        block = set(cliques[left[0]])
        while cells(block) <= largest:
            gains = {
                name: sum(8.0 ** -len(set(cliques[i]) - block) for i in left if name in cliques[i])
                / math.log(domain[name].size)
                for name in domain.names
                if name not in block and cells(block | {name}) <= largest
            }
            best = max(gains, key=lambda name: gains[name], default=None)
            if best is None or gains[best] <= 0.0:
                break
            block.add(best)
        inside = [i for i in left if set(cliques[i]) <= block]
        blocks.append((domain.clique(block), inside))
        left = [i for i in left if i not in inside]
    return blocks
