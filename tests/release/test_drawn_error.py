"""The error of a file beside that of the answers: what is stated holds for the file, and both are told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import MWEM
from hedgerow.data import Table, read_table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.privacy import PureDP, SeededNoise, exact_errors
from hedgerow.queries import Workload
from hedgerow.release import Release, as_drawn, drawn_error, drawn_sentence
from hedgerow.report import render_report

DOMAIN = Domain(IntegerRange(name, 0, 3) for name in "abc")


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 3_000)
    return read_table(pa.table({"a": first, "b": (first + rng.integers(0, 2, 3_000)) % 4, "c": first // 2}), DOMAIN)


@pytest.fixture(scope="module")
def release(table: Table) -> Release:
    return MWEM().run(table, Workload.marginals(DOMAIN, 2), PureDP(3.0), noise=SeededNoise(1))


@pytest.mark.parametrize("n", [20, 300, 3_000])
def test_the_interval_of_the_answers_becomes_one_of_the_file(table: Table, release: Release, n: int) -> None:
    """The distance is a bound whatever was drawn: with the answers' exact error in place of the noisy one it holds."""
    file = as_drawn(release, n)
    added = drawn_error(release, file)
    workload = release.workload
    answers = exact_errors(table, workload, workload.answers(release.model))
    records = exact_errors(table, workload, workload.answers(file))
    assert abs(records.mean - answers.mean) <= added.mean + 1e-9
    assert records.maximum <= answers.maximum + added.maximum + 1e-9
    assert 0.0 < added.mean <= added.maximum
    told = added.to_dict(release)
    assert told is not None
    assert release.error is not None
    assert release.error.unit is not None
    low, high = release.error.mean_interval(0.95)
    assert told["mean_high"] - high == pytest.approx(added.mean / release.error.unit)
    assert told["mean_low"] == pytest.approx(max(0.0, low - added.mean / release.error.unit))
    assert told["maximum_bound"] > release.error.maximum_bound(0.95)


def test_fewer_records_are_further_from_the_answers(release: Release) -> None:
    means = [drawn_error(release, as_drawn(release, n)).mean for n in (10, 100, 3_000)]
    assert means == sorted(means, reverse=True)


def test_it_is_said_in_words_where_the_answers_have_an_error(release: Release) -> None:
    added = drawn_error(release, as_drawn(release, 100))
    sentence = drawn_sentence(release, 100, added)
    assert sentence.startswith("In a file of 100 records the mean error lies between ")
    assert "In a file of" in render_report(release)
    unknown = dataclasses.replace(release, error=None)
    assert (drawn_sentence(unknown, 100, added), added.to_dict(unknown)) == ("", None)
    assert "In a file of" not in render_report(unknown)
