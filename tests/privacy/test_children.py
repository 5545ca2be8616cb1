"""The cells of a finer level inside some values of a coarser one are measured in one event, at the price of one.

Replayed exactly: the log-likelihood ratio of transcripts, over all pairs of neighbouring tables of up to 3 records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Derived, Domain, IntegerRange
from hedgerow.privacy import ZCDP, Curator, NoiseSource, PureDP, SeededNoise
from hedgerow.queries import Blocks, Conjunction, Marginal, Measurable, Neighbours, Sensitivity
from tests.privacy.mutants import Mutant, Patch, killed
from tests.privacy.replay import log_likelihood, record
from tests.privacy.tables import DenseCounts, histograms, neighbours_of

DOMAIN = Domain((IntegerRange("age", 0, 4),), (Derived(IntegerRange("age.2", 0, 2), ("age",), [0, 0, 1, 1, 2]),))
BLOCKS = {"even": [0, 0, 1, 1, 2], "uneven": [1, 0, 0, 0, 0], "apart": [0, 1, 0, 2, 1]}
NODES = {"of one node": [0], "of two nodes": [0, 1], "of all nodes": [0, 1, 2]}
CHARGE = 0.5
FAR = [[400, 0, 0, 0, 0], [0, 0, 0, 400, 0], [200, 0, 200, 0, 0], [0, 0, 0, 0, 0]]
"""Tables whose transcripts are unlikely under small ones, so that the loss comes near its largest value."""


def children(nodes: list[int]) -> Marginal:
    return Marginal(DOMAIN, ("age",), Conjunction.where(DOMAIN, {"age.2": nodes}))


def neighbours(relation: Neighbours) -> Iterator[tuple[DenseCounts, DenseCounts]]:
    for records in range(4):
        for histogram in histograms(DOMAIN.size, records):
            source = DenseCounts(DOMAIN, histogram)
            for neighbour in neighbours_of(source, relation):
                source.filtered = neighbour.filtered = relation is Neighbours.REPLACE_FILTERED
                yield source, neighbour


def measuring(target: Measurable, relation: Neighbours) -> Callable[[DenseCounts, NoiseSource], float]:
    """Measures a target; returns what the ledger says it cost."""

    def run(source: DenseCounts, noise: NoiseSource) -> float:
        curator = Curator(source, PureDP(1.0, relation.unfiltered), noise=noise)
        curator.measure(target, CHARGE)
        assert len(curator.ledger.events) == 1
        return curator.ledger.spent

    return run


def largest_loss(target: Measurable, relation: Neighbours) -> tuple[float, float]:
    """Largest exact privacy loss of any transcript that was tried, and the charge."""
    run = measuring(target, relation)
    pairs = list(neighbours(relation))
    largest, spent = 0.0, run(pairs[0][0], SeededNoise(0))
    for seed, histogram in enumerate(FAR):
        far = DenseCounts(DOMAIN, histogram)
        far.filtered = pairs[0][0].filtered
        transcript = record(run, far, seed)
        known: dict[bytes, float] = {}
        for pair in pairs:
            logs = []
            for source in pair:
                key = source.histogram.tobytes()
                if key not in known:
                    known[key] = log_likelihood(run, source, transcript)
                logs.append(known[key])
            largest = max(largest, abs(logs[0] - logs[1]))
    return largest, spent


def children_lose_at_most_their_charge(nodes: list[int], relation: Neighbours) -> None:
    loss, spent = largest_loss(children(nodes), relation)
    assert loss <= spent + 1e-9


def children_keep_their_rho() -> None:
    """Squared distance of the children of neighbouring tables over two variances, against the rho in the ledger."""
    target = children([0, 1])
    source = DenseCounts(DOMAIN, FAR[0])
    curator = Curator(source, ZCDP(1.0, Neighbours.REPLACE), noise=SeededNoise(0))
    scale = curator.measure(target, CHARGE).scale
    changes = [target.on(one) - target.on(two) for one, two in neighbours(Neighbours.REPLACE)]
    assert max(float(change @ change) for change in changes) / (2 * scale**2) <= curator.ledger.spent + 1e-12


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
def test_children_lose_at_most_their_charge_and_come_near_it(nodes: list[int], relation: Neighbours) -> None:
    loss, spent = largest_loss(children(nodes), relation)
    assert 0.99 * CHARGE < loss <= spent + 1e-9
    assert spent <= CHARGE


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("places", BLOCKS.values(), ids=BLOCKS)
def test_blocks_lose_at_most_their_charge_and_come_near_it(places: list[int], relation: Neighbours) -> None:
    loss, spent = largest_loss(Blocks(DOMAIN, ("age",), np.array(places)), relation)
    assert 0.99 * CHARGE < loss <= spent + 1e-9
    assert spent <= CHARGE


@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_children_cost_what_the_whole_level_costs(relation: Neighbours) -> None:
    scales = set()
    for target in (Marginal(DOMAIN, ("age",)), Marginal(DOMAIN, ("age.2",)), *map(children, NODES.values())):
        curator = Curator(DenseCounts(DOMAIN, FAR[0]), PureDP(1.0, relation), noise=SeededNoise(0))
        measured = curator.measure(target, CHARGE)
        scales.add((measured.scale, curator.ledger.spent))
        assert curator.ledger.events[0].values == target.size
    assert len(scales) == 1


# ---- the bugs --------------------------------------------------------------------------------------------------------


def _sensitivity(law: Callable[[Marginal, Sensitivity], Sensitivity]) -> Patch:
    known = Marginal.sensitivity

    def patch(patched: pytest.MonkeyPatch) -> None:
        def sensitivity(self: Marginal, neighbours: Neighbours) -> Sensitivity:
            found = known(self, neighbours)
            return found if self.within is None else law(self, found)

        patched.setattr(Marginal, "sensitivity", sensitivity)

    return patch


def _shared(marginal: Marginal, whole: Sensitivity) -> Sensitivity:
    nodes = len(marginal.within.codes[0]) if marginal.within else 1
    return Sensitivity(whole.l1 / nodes, whole.l2 / nodes)


one_cell_per_neighbour = _sensitivity(lambda marginal, whole: Sensitivity(1.0, 1.0))
"""As if a replaced record could not leave one child for another."""
charge_shared_by_nodes = _sensitivity(_shared)
"""As if each node got a part of the charge: a record is in one node alone, but all of its change is there."""


def nodes_thrown_in(patched: pytest.MonkeyPatch) -> None:
    """The cells of the nodes themselves beside their children: no longer disjoint, and charged as if they were."""
    of_table, size = Marginal.of_table, Marginal.size

    def with_nodes(self: Marginal, table: Floats) -> Floats:
        cells = of_table(self, table)
        nodes = np.add.reduceat(cells, np.arange(0, cells.size, 2))
        return cells if self.within is None else np.concatenate([cells, nodes])

    def more(self: Marginal) -> int:
        cells = int(size.fget(self))  # type: ignore[attr-defined]
        return cells if self.within is None else cells + (cells + 1) // 2

    patched.setattr(Marginal, "of_table", with_nodes)
    patched.setattr(Marginal, "size", property(more))


MUTANTS = (
    Mutant(
        "children: Delta 1 under replace",
        one_cell_per_neighbour,
        lambda: children_lose_at_most_their_charge([0, 1], Neighbours.REPLACE),
    ),
    Mutant("children: Delta 1 under replace, with Gaussian noise", one_cell_per_neighbour, children_keep_their_rho),
    Mutant(
        "children: each node at a share of the charge",
        charge_shared_by_nodes,
        lambda: children_lose_at_most_their_charge([0, 1], Neighbours.ADD_REMOVE),
    ),
    Mutant(
        "children: their nodes too, at the price of one",
        nodes_thrown_in,
        lambda: children_lose_at_most_their_charge([0, 1], Neighbours.ADD_REMOVE),
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
