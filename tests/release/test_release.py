"""What a release does besides answering and saving."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.errors import ConfigError, DomainError, QueryError
from hedgerow.models import Markov
from hedgerow.models.core import records as sampling
from hedgerow.privacy import SECURE_SOURCE, LaplaceNoise, PureDP, WorkloadError
from hedgerow.release import Provenance, Release, error_sentence, records as records_module, summary_of
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


@pytest.fixture(params=["histogram", "tree"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Release:
    """A release that draws and decodes a few records at a time."""
    monkeypatch.setattr(sampling, "_MOST_ROWS", 30)
    monkeypatch.setattr(records_module, "CHUNK_ROWS", 25)
    made = with_histogram(make_release(PureDP(1.0), 0))
    if request.param == "histogram":
        return made
    model = Markov(DOMAIN, made.total)
    model.reweigh(("sex", "age"), np.linspace(-1, 1, 10).reshape(2, 5))
    model.reweigh(("age", "job"), np.linspace(2, -1, 20).reshape(5, 4))
    return dataclasses.replace(made, model=model)


@pytest.mark.parametrize("method", ["systematic", "independent"])
@pytest.mark.parametrize("batch", [None, 50, 75, 1000])
def test_batches_are_the_sample(many: Release, batch: int | None, method: str) -> None:
    whole = many.sample(333, seed=4, method=method)  # type: ignore[arg-type]
    parts = list(many.sample_batches(333, batch=batch, seed=4, method=method))  # type: ignore[arg-type]
    assert [len(part) for part in parts[:-1]] == [batch or 100] * (len(parts) - 1)
    assert pa.concat_tables([part.to_arrow() for part in parts]).equals(whole.to_arrow().combine_chunks())


def test_small_batches_have_the_same_codes(many: Release) -> None:
    whole = many.sample(333, seed=4)
    assert np.array_equal(
        np.concatenate([part.codes for part in many.sample_batches(333, batch=7, seed=4)]), whole.codes
    )
    assert list(many.sample_batches(0)) == []
    assert sum(map(len, many.sample_batches())) == round(many.total)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_records_are_written_as_they_are_drawn(many: Release, ending: str, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    path = tmp_path / f"a.{ending}"
    assert many.write_records(path, 333, seed=4, progress=lambda *numbers: told.append(numbers)) == 333
    assert (told[0], told[-1]) == ((0, 333), (333, 333))
    assert len(told) >= 4
    many.sample(333, seed=4).write(tmp_path / f"b.{ending}")
    if ending == "csv":
        assert path.read_bytes() == (tmp_path / "b.csv").read_bytes()
    else:
        assert pq.read_table(path).equals(pq.read_table(tmp_path / "b.parquet"))
        assert pq.ParquetFile(path).num_row_groups == 4


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_interrupt_leaves_what_was_there(many: Release, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_text("old")

    def interrupt(done: int, wanted: int) -> None:
        if done > wanted / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        many.write_records(path, 333, progress=interrupt)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_no_more_than_a_few_batches_are_held(many: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many records are drawn, no array of codes is longer than a batch."""
    lengths: list[int] = []
    init = records_module.Records.__init__

    def noted(self: records_module.Records, codes: np.ndarray, *rest: object, **options: object) -> None:
        lengths.append(len(codes))
        init(self, codes, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(records_module.Records, "__init__", noted)
    assert sum(len(part) for part in many.sample_batches(2000)) == 2000
    assert max(lengths) <= 100


@pytest.mark.parametrize(("n", "batch"), [(-1, None), (5, 0)])
def test_bad_batches_are_refused_at_once(n: int, batch: int | None) -> None:
    with pytest.raises(ConfigError):
        make_release(PureDP(1.0), 0).sample_batches(n, batch=batch)


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
    assert Provenance.record("x", {}, noise=SECURE_SOURCE).stamp == ""


def test_shares_of_the_records_tell_close_bounds_apart() -> None:
    noise = LaplaceNoise(2.0)
    error = WorkloadError(0.11 * 3_000.0, 400.0, noise, noise, n_candidates=6, unit=1.0)
    release = dataclasses.replace(make_release(PureDP(1.0), 0), error=error, total=3_000.0)
    low, high = (bound / 30.0 for bound in error.mean_interval(0.95))
    assert 10.5 < low < high < 11.5
    assert f"({low:.1f}% to {high:.1f}% of the records)" in error_sentence(release)


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
