"""Positions in bins: what neighbours change, transcripts against the charge, and planted bugs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from hedgerow.algorithms import PositionTargets
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Binned, Categorical, Domain, IntegerRange, with_bin_cells
from hedgerow.errors import BudgetExceededError, QueryError
from hedgerow.privacy import ZCDP, Curator, NoiseSource, PureDP, SeededNoise
from hedgerow.queries import Neighbours, Persons, Positions, Sensitivity, of_query
from tests.privacy.mutants import Mutant, killed
from tests.privacy.replay import privacy_loss, record
from tests.privacy.tables import DenseCounts, histograms, neighbours_of

DOMAIN = Domain([Binned("x", [0, 2, 4], whole=True)])
TARGET, MOMENTS = Positions(DOMAIN, ("x",)), Positions(DOMAIN, ("x",), whole=True)
CELLS = with_bin_cells(DOMAIN)
assert CELLS is not None
TWO = Persons("id", 2)
RELATIONS = [
    Neighbours.ADD_REMOVE,
    Neighbours.REPLACE,
    Neighbours.REPLACE_FILTERED,
    Neighbours.ADD_REMOVE.between(TWO),
    Neighbours.REPLACE.between(TWO),
]
CHARGE = 0.5


def tables(relation: Neighbours) -> Iterator[DenseCounts]:
    assert CELLS is not None
    for counts in [*(each for n in range(3) for each in histograms(CELLS.size, n)), (9, 0, 4, 0, 30)]:
        table = DenseCounts(CELLS, counts, relation.persons)
        table.filtered = relation is Neighbours.REPLACE_FILTERED
        yield table


def neighbours_move_sums_by_at_most_the_sensitivity(relation: Neighbours, target: Positions = TARGET) -> None:
    largest = target.sensitivity(relation)
    for table in tables(relation):
        sums = target.sums(table.histogram) / 2**20
        for neighbour in neighbours_of(table, relation):
            moved = target.sums(neighbour.histogram) / 2**20 - sums
            assert np.abs(moved).sum() <= largest.l1 + 1e-12
            assert np.linalg.norm(moved) <= largest.l2 + 1e-12


TARGETS = pytest.mark.parametrize("target", [TARGET, MOMENTS], ids=["positions", "moments"])


@TARGETS
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_neighbours_move_sums_by_at_most_the_sensitivity(relation: Neighbours, target: Positions) -> None:
    neighbours_move_sums_by_at_most_the_sensitivity(relation, target)


@TARGETS
@pytest.mark.parametrize("relation", RELATIONS[:3], ids=str)
def test_some_neighbours_move_sums_by_as_much(relation: Neighbours, target: Positions) -> None:
    moved = [
        np.linalg.norm(target.sums(other.histogram) - target.sums(table.histogram)) / 2**20
        for table in tables(relation)
        for other in neighbours_of(table, relation)
    ]
    assert max(moved) == pytest.approx(target.sensitivity(relation).l2)


def test_moments_are_those_of_positions_in_the_whole_column() -> None:
    histogram = np.array([3.0, 1.0, 2.0, 5.0, 1.0])
    numbers = (np.arange(5) - 2.0) / 4.0
    wanted = [numbers @ histogram, (2.0 * numbers**2 - 0.5) @ histogram]
    assert np.allclose(MOMENTS.sums(histogram) / 2**20, wanted, atol=1e-5)


def test_moments_of_any_two_numbers_are_as_far_apart_as_stated() -> None:
    """On a grid of positions, with the numbers at which the bounds of theory.md section 14.1 are reached."""
    grid = np.linspace(-0.5, 0.5, 401)
    both = np.stack([grid, 2.0 * grid**2 - 0.5])
    apart = both[:, :, None] - both[:, None, :]
    added, replaced = (MOMENTS.sensitivity(each) for each in (Neighbours.ADD_REMOVE, Neighbours.REPLACE))
    assert np.abs(both).sum(axis=0).max() == pytest.approx(added.l1, rel=1e-5)
    assert np.linalg.norm(both, axis=0).max() == pytest.approx(added.l2, rel=1e-5)
    assert np.linalg.norm(apart, axis=0).max() == pytest.approx(replaced.l2, rel=1e-5)
    assert np.abs(apart).sum(axis=0).max() == pytest.approx(9 / 8, rel=1e-5)  # in one group
    assert replaced.l1 == pytest.approx(2 * 5 / 8, rel=1e-5)  # from one group to another


def transcripts_lose_at_most_their_charge(relation: Neighbours, target: Positions = TARGET) -> None:
    def run(source: DenseCounts, noise: NoiseSource) -> float:
        source.filtered = relation is Neighbours.REPLACE_FILTERED
        curator = Curator(source, PureDP(1.0, relation.unfiltered), noise=noise)
        curator.measure(target, CHARGE)
        return curator.ledger.spent

    for table in tables(relation):
        for seed, neighbour in enumerate(neighbours_of(table, relation)):
            transcript = record(run, table, seed)
            assert abs(privacy_loss(run, table, neighbour, transcript)) <= run(table, SeededNoise(0)) + 1e-9


@pytest.mark.many(quick=3)
@TARGETS
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_transcripts_lose_at_most_their_charge(relation: Neighbours, target: Positions) -> None:
    transcripts_lose_at_most_their_charge(relation, target)


def test_gaussian_noise_has_the_rho_of_its_charge() -> None:
    for relation in RELATIONS:
        curator = Curator(next(tables(relation)), ZCDP(1.0, relation.unfiltered), noise=SeededNoise(0))
        measured = curator.measure(TARGET, 0.5)
        assert TARGET.sensitivity(relation).l2 ** 2 / (2.0 * measured.scale**2) <= curator.ledger.spent * (1 + 1e-12)


def test_nothing_is_read_that_is_not_paid_for() -> None:
    source = next(tables(Neighbours.ADD_REMOVE))
    curator = Curator(source, PureDP(0.01), noise=SeededNoise(0))
    with pytest.raises(BudgetExceededError):
        curator.measure(TARGET, 0.5)
    assert source.reads == 0


BY = Domain([Binned("x", [0, 2, 4], whole=True), Categorical("g", ("a", "b"))])


@pytest.mark.parametrize("relation", RELATIONS[:3], ids=str)
def test_sums_by_group_are_those_of_each_group_and_no_more_sensitive(relation: Neighbours) -> None:
    target = Positions(BY, ("x", "g"), "x")
    cells = target.counted
    assert cells is not None
    alone = Positions(BY, ("x",))
    for counts in [*histograms(cells.size, 1), *histograms(cells.size, 2)][::3]:
        table = DenseCounts(cells, counts)
        sums = target.sums(table.histogram)
        by_group = sums.reshape(target.shape)
        for group in range(2):
            assert by_group[:, group].tolist() == alone.sums(table.histogram[:, group]).tolist()
        for neighbour in neighbours_of(table, relation):
            moved = (target.sums(neighbour.histogram) - sums) / 2**20
            assert np.abs(moved).sum() <= target.sensitivity(relation).l1 + 1e-12
            assert np.linalg.norm(moved) <= target.sensitivity(relation).l2 + 1e-12


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_numbers_that_are_told_one_by_one_are_one_bin(relation: Neighbours) -> None:
    domain = Domain([IntegerRange("x", 3, 6), Categorical("g", ("a", "b"))])
    target = Positions(domain, ("x", "g"), "x", whole=True)
    cells = target.counted
    assert cells is not None
    assert target.shape == (2, 2)
    numbers = (np.arange(3, 7) - 4.5) / 3.0
    for counts in histograms(cells.size, 2):
        table = DenseCounts(cells, counts, relation.persons)
        table.filtered = relation is Neighbours.REPLACE_FILTERED
        sums = target.sums(table.histogram)
        assert np.allclose(sums[:2] / 2**20, numbers @ table.histogram, atol=2**-20)
        assert np.allclose(sums[2:] / 2**20, (2.0 * numbers**2 - 0.5) @ table.histogram, atol=2**-19)
        for neighbour in neighbours_of(table, relation):
            moved = (target.sums(neighbour.histogram) - sums) / 2**20
            assert np.abs(moved).sum() <= target.sensitivity(relation).l1 + 1e-12
            assert np.linalg.norm(moved) <= target.sensitivity(relation).l2 + 1e-12


def test_a_table_of_bins_does_not_tell_positions() -> None:
    source = DenseCounts(DOMAIN, [3, 4])
    with pytest.raises(QueryError, match="different domains"):
        Curator(source, PureDP(1.0), noise=SeededNoise(0)).measure(TARGET, 0.5)
    with pytest.raises(QueryError, match="does not follow"):
        TARGET.of_table(np.array([3.0, 4.0]))
    with pytest.raises(QueryError, match="no column of numbers"):
        Positions(BY, ("g",))


def test_columns_share_the_charge_and_each_has_an_event() -> None:
    domain = Domain([Binned("x", [0, 2, 5], whole=True), Binned("y", [0.0, 1.0, 2.0])])
    targets = PositionTargets.of(domain, PureDP(1.0))
    assert targets.counted is not None
    counts = np.zeros(targets.counted.shape)
    curator = Curator(DenseCounts(targets.counted, counts), PureDP(1.0), noise=SeededNoise(0))
    measured = targets.measure(curator, 0.1)
    assert [each.target.scope for each in measured] == [("x",), ("y",)] * 2
    charges = [("positions", pytest.approx(each)) for each in (0.03, 0.03, 0.04, 0.04)]
    assert [(event.label, event.charge) for event in curator.ledger.events] == charges
    assert [str(event.question.text(2, 0.0)) for event in curator.ledger.events] == [
        "positions in the bins of x",
        "positions in the bins of y",
        "moments of x",
        "moments of y",
    ]


PAIR = Domain([IntegerRange("x", 0, 2), IntegerRange("y", 5, 7)])
PRODUCTS = Positions(PAIR, ("x", "y"), "x", other="y")


def neighbours_move_products_by_at_most_the_sensitivity(relation: Neighbours) -> None:
    largest = PRODUCTS.sensitivity(relation)
    for counts in [*histograms(9, 1), *histograms(9, 2)]:
        table = DenseCounts(PAIR, counts, relation.persons)
        table.filtered = relation is Neighbours.REPLACE_FILTERED
        for neighbour in neighbours_of(table, relation):
            moved = PRODUCTS.sums(neighbour.histogram) - PRODUCTS.sums(table.histogram)
            assert np.abs(moved).max() / 2**20 <= min(largest.l1, largest.l2) + 1e-12


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_products_of_positions_move_by_at_most_their_sensitivity(relation: Neighbours) -> None:
    neighbours_move_products_by_at_most_the_sensitivity(relation)
    histogram = np.arange(9.0).reshape(3, 3)
    halves = np.array([-0.5, 0.0, 0.5])
    assert PRODUCTS.sums(histogram).tolist() == [2**20 * float(halves @ histogram @ halves)]


THREE = Domain([IntegerRange("x", 0, 2), IntegerRange("y", 5, 6), Categorical("g", ("a", "b"))])
REGRESSION = "regression: y ~ x + g"


def regressions_lose_at_most_their_charge(relation: Neighbours) -> None:
    """Moments by labels and products of numbers, from one curator: by the norm of each, and by all transcripts."""
    targets = PositionTargets.of(THREE, PureDP(1.0, relation.unfiltered), REGRESSION)
    cells = targets.counted
    assert cells is not None
    texts = [target.text for target in targets]
    assert sorted(texts) == ["moments of x * g", "moments of y * g", "products of x * y"]

    def run(source: DenseCounts, noise: NoiseSource) -> float:
        curator = Curator(source, PureDP(1.0, relation.unfiltered), noise=noise)
        targets.measure(curator)
        return curator.ledger.spent

    def summed(target: Positions, table: DenseCounts) -> Ints:
        others = tuple(axis for axis, name in enumerate(cells.names) if name not in target.scope)
        return target.sums(table.histogram.sum(axis=others))

    full = np.array([2, 0, 0, 1, 0, 0, 3, 0, 0, 1, 0, 0])
    for counts in [*histograms(cells.size, 1), full]:
        table = DenseCounts(cells, counts, relation.persons)
        table.filtered = relation is Neighbours.REPLACE_FILTERED
        transcript, spent = record(run, table, 0), run(table, SeededNoise(0))
        before = [summed(target, table) for target in targets]
        for neighbour in neighbours_of(table, relation):
            neighbour.filtered = table.filtered
            for target, sums in zip(targets, before, strict=True):
                moved = (summed(target, neighbour) - sums) / 2**20
                assert np.abs(moved).sum() <= target.sensitivity(relation).l1 + 1e-12
                assert np.linalg.norm(moved) <= target.sensitivity(relation).l2 + 1e-12
            assert abs(privacy_loss(run, table, neighbour, transcript)) <= spent + 1e-9


@pytest.mark.parametrize("relation", RELATIONS[:3], ids=str)
def test_regressions_lose_at_most_their_charge(relation: Neighbours) -> None:
    regressions_lose_at_most_their_charge(relation)


def products_between_eighths(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Positions, "bounds", property(lambda self: (-0.125, 0.125)))


def half_of_a_replaced_record(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Positions, "sensitivity", lambda self, neighbours: Sensitivity(0.5, 0.5))


def positions_of_one_record(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Positions, "sensitivity", lambda self, neighbours: SENSITIVITY(self, neighbours.single))


def positions_from_minus_one_to_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Positions, "sums", lambda self, counts: 2 * SUMS(self, counts))


def squares_without_the_half(patch: pytest.MonkeyPatch) -> None:
    def sums(self: Positions, counts: Floats) -> Ints:
        return SUMS(self, counts) + np.array([0, 2**19 * round(float(np.sum(counts)))])

    patch.setattr(Positions, "sums", sums)


def moments_at_the_price_of_the_first(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Positions, "sensitivity", lambda self, neighbours: of_query(-0.5, 0.5, neighbours))


SENSITIVITY, SUMS = Positions.sensitivity, Positions.sums
MUTANTS = (
    Mutant(
        "positions under replace as sensitive as under add-remove",
        half_of_a_replaced_record,
        lambda: neighbours_move_sums_by_at_most_the_sensitivity(Neighbours.REPLACE),
    ),
    Mutant(
        "positions under replace charged as under add-remove",
        half_of_a_replaced_record,
        lambda: transcripts_lose_at_most_their_charge(Neighbours.REPLACE),
    ),
    Mutant(
        "sums of a regression under replace charged as under add-remove",
        half_of_a_replaced_record,
        lambda: regressions_lose_at_most_their_charge(Neighbours.REPLACE),
    ),
    Mutant(
        "products of a regression from -1/4 to 1/4 charged as eighths under replace",
        products_between_eighths,
        lambda: regressions_lose_at_most_their_charge(Neighbours.REPLACE),
    ),
    Mutant(
        "m forgotten for positions",
        positions_of_one_record,
        lambda: transcripts_lose_at_most_their_charge(Neighbours.ADD_REMOVE.between(TWO)),
    ),
    Mutant(
        "positions from -1 to 1 charged as halves",
        positions_from_minus_one_to_one,
        lambda: transcripts_lose_at_most_their_charge(Neighbours.ADD_REMOVE),
    ),
    Mutant(
        "squares of moments from 0 to 1/2",
        squares_without_the_half,
        lambda: neighbours_move_sums_by_at_most_the_sensitivity(Neighbours.ADD_REMOVE, MOMENTS),
    ),
    Mutant(
        "moments in the L1 norm at the price of the first",
        moments_at_the_price_of_the_first,
        lambda: transcripts_lose_at_most_their_charge(Neighbours.ADD_REMOVE, MOMENTS),
    ),
    Mutant(
        "products from -1/4 to 1/4 charged as eighths",
        products_between_eighths,
        lambda: neighbours_move_products_by_at_most_the_sensitivity(Neighbours.ADD_REMOVE),
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
