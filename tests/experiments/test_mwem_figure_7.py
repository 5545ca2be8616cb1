"""Figure 7: the bits of Adult, the coins, and what is looked at after a round."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.datasets import DataSets, find_data
from experiments.mwem.binary import adult_bits
from experiments.mwem.bits import (
    ALONE,
    AMONG,
    BESIDE,
    BITS,
    CELLS,
    COINS,
    LARGEST_ERROR,
    MEAN_ERROR,
    Looks,
    adults,
    candidates,
)

from hedgerow.algorithms import RoundReport
from hedgerow.models import Markov, hypothesis
from hedgerow.privacy import exact_errors
from hedgerow.queries import Parity

RECORDS = 30_163


@pytest.fixture(scope="module")
def data() -> DataSets:
    return find_data()


def test_the_bits_of_an_attribute_spell_its_codes(data: DataSets) -> None:
    """The most significant bit first, so that the cells of all bits of an attribute are its codes in order."""
    table, codes = adult_bits(data), data.table("adult8_mwem")
    names = iter(table.domain.names)
    for attribute in codes.domain:
        own = tuple(next(names) for _ in range((attribute.size - 1).bit_length()))
        assert [name.rpartition(".")[0] for name in own] == [attribute.name] * len(own)
        cells, counts = table.marginals([own])[0].ravel(), codes.marginals([(attribute.name,)])[0]
        assert cells[: attribute.size].tolist() == counts.tolist()
        assert not cells[attribute.size :].any()
    assert list(names) == []
    assert (len(table.domain), table.total()) == (BITS, RECORDS)


def test_coins_are_fair_and_leave_the_bits_alone(data: DataSets) -> None:
    """Shares of 50 coins and their 1,225 pairs within 5 standard errors; chance breaks that once in 1,000 seeds."""
    alone, beside = adult_bits(data), adult_bits(data, COINS, seed=1)
    assert len(beside.domain) == BITS + COINS
    assert all(np.array_equal(a, b) for a, b in zip(alone.columns, beside.columns, strict=False))
    signs = 1.0 - 2.0 * np.array(beside.columns[BITS:], dtype=float)
    products = np.abs(signs @ signs.T) / RECORDS
    np.fill_diagonal(products, np.abs(signs.mean(axis=1)))
    assert 0.0 < products.max() < 5.0 / np.sqrt(RECORDS)
    assert not np.array_equal(beside.columns[-1], adult_bits(data, COINS, seed=2).columns[-1])


def test_candidates_are_those_of_adult_or_of_all(data: DataSets) -> None:
    narrow, wide = adult_bits(data), adult_bits(data, COINS)
    sizes = [candidates(*each).n_candidates for each in ((narrow, ALONE), (wide, BESIDE), (wide, AMONG))]
    assert sizes == [3303, 3303, 76153]
    scopes = [{parity.scope for parity in map(adults(each).candidate, range(3303))} for each in (narrow, wide)]
    assert scopes[0] == scopes[1]


def test_a_look_tells_the_errors_of_the_hypothesis_of_the_round(data: DataSets) -> None:
    table = adult_bits(data)
    looks, model = Looks(table), hypothesis(table.domain, 2.0 * RECORDS)
    assert isinstance(model, Markov)
    model.update(Parity(table.domain, table.domain.names[:1]), 0.3)
    looks.look(RoundReport(3, 4, 0.5, 1.0, "epsilon", "a parity", 1.0, model))
    exact = exact_errors(table, adults(table), adults(table).answers(model) / 2.0)
    told = {each.quantity: each.value for each in looks.told}
    assert told == pytest.approx({LARGEST_ERROR: exact.maximum / RECORDS, MEAN_ERROR: exact.mean / RECORDS, CELLS: 2})
    assert {each.within["round"] for each in looks.told} == {3}
    assert told[LARGEST_ERROR] != pytest.approx(looks.before)


def test_a_report_without_a_hypothesis_tells_nothing(data: DataSets) -> None:
    looks = Looks(adult_bits(data))
    looks.look(RoundReport(1, 4, 0.5, 1.0, "epsilon", "a parity", 1.0))
    assert looks.told == []
