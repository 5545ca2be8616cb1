"""What a release does besides answering and saving."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import ConfigError, DomainError, QueryError
from hedgerow.privacy.budget import PureDP
from hedgerow.release import Provenance
from hedgerow.release.words import error_sentence, summary_of
from tests.release.made import DOMAIN, make_release
from tests.release.test_file import with_histogram


def test_samples_have_the_size_and_the_types_of_the_table() -> None:
    release = with_histogram(make_release(PureDP(1.0), 0))
    table = release.sample(500, seed=3).to_arrow()
    assert table.num_rows == 500
    assert table.column_names == list(DOMAIN.names)
    assert set(table.column("age").to_pylist()) <= set(range(5))
    assert all(0 <= income <= 50 and income == int(income) for income in table.column("income").to_pylist())
    assert len(release.sample()) == round(release.total)
    assert len(release.sample(0)) == 0


def test_both_methods_follow_the_model() -> None:
    """4,000 records: a share is within 0.06 of the model's but for a chance below 1e-9."""
    release = with_histogram(make_release(PureDP(1.0), 0))
    expected = release.model.marginals([("job",)])[0] / release.total
    for method in ("systematic", "independent"):
        column = release.sample(4_000, seed=1, method=method).to_arrow().column("job").to_pylist()
        shares = np.array([sum(value == job for value in column) for job in ("clerk", "nurse", "teacher")]) / 4_000
        np.testing.assert_allclose(shares, expected[:3], atol=0.06)


@pytest.mark.parametrize(("n", "method"), [(-1, "systematic"), (5, "other")])
def test_bad_samples_are_named(n: int, method: str) -> None:
    with pytest.raises(ConfigError, match="cannot draw"):
        make_release(PureDP(1.0), 0).sample(n, method=method)  # type: ignore[arg-type]


def test_marginal_tables_have_labels_and_counts() -> None:
    release = make_release(PureDP(1.0), 0)
    assert release.marginal("sex") == release.marginal(["sex"])
    table = release.marginal(["job", "sex"])
    assert table.column_names == ["sex", "job", "count"]
    assert table.num_rows == 8
    assert table.slice(5, 1).to_pylist()[0] == {
        "sex": "Male",
        "job": "nurse",
        "count": pytest.approx(release.model.marginals([("sex", "job")])[0][1, 1]),
    }
    with pytest.raises(QueryError):
        release.marginal([])
    with pytest.raises(DomainError):
        release.marginal(["height"])


def test_the_guarantee_is_voided_by_a_seed() -> None:
    release = make_release(PureDP(1.0), 0)
    assert release.guarantee().startswith("NOT PRIVATE: seeded")
    assert Provenance.record("x", {}, secure=True).stamp == ""


def test_the_error_in_words_agrees_with_the_figures() -> None:
    release = make_release(PureDP(1.0, "replace"), 0)
    assert release.error is not None
    assert release.error.unit == 2.0
    low, high = release.error.mean_interval(0.95)
    text = error_sentence(release)
    assert f"between {2 * low:,.4g} and {2 * high:,.4g} records" in text
    assert "6 marginals" in text
    assert "No budget" in error_sentence(make_release(PureDP(1.0), 0, error=False))
    mixed = make_release(PureDP(1.0, "replace"), 0, workload="marginals:1; prefixes:age")
    assert "times what one record can change" in error_sentence(mixed)
    single = make_release(PureDP(1.0, "replace"), 0, workload="marginals:age")
    assert "the error of the released model on the marginal" in error_sentence(single)
    cells = make_release(PureDP(1.0, "replace"), 0, workload="cells:2")
    assert f"{cells.workload.n_queries} queries of the workload" in error_sentence(cells)
    summary = summary_of(release)
    assert summary["error"]["maximum_bound"] == release.error.maximum_bound(0.95)
    assert summary_of(make_release(PureDP(1.0), 0, error=False))["error"] is None
