"""Measured positions in bins: sums, means and records beside the table, files, and tables that do not tell them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow import Binned, Domain, Release, synthesize
from hedgerow.audit import audit_files
from hedgerow.domain import with_bin_cells
from hedgerow.errors import DomainError, QueryError
from hedgerow.release import select_from

RNG = np.random.default_rng(11)
PAY = np.minimum(np.rint(np.exp(RNG.normal(10.4, 0.7, 20_000))), 1_999_999).astype(np.int64)
TABLE = pa.table({"pay": PAY, "sex": np.where(RNG.random(20_000) < 0.4, "F", "M")})
DOMAIN = {"pay": {"min": 0, "max": 2_000_000, "whole": True, "points": [0], "bins": {"log": 20}}, "sex": ["F", "M"]}
MEAN, SUM = float(PAY.mean()), float(PAY.sum())


def made(data: Any = TABLE, domain: Any = DOMAIN, seed: int = 0, **options: Any) -> Any:
    return synthesize(data, epsilon=1.0, delta=1e-9, domain=domain, seed=seed, **options)


@pytest.mark.parametrize("bins", [20, {"log": 20}, {"learn": 12}], ids=str)
def test_answers_and_records_have_the_mean_of_the_table(bins: Any) -> None:
    """Of 8 intervals with 95 % confidence fewer than 5 hold once in 2,700 times; records follow the model alone."""
    domain = DOMAIN | {"pay": DOMAIN["pay"] | {"bins": bins}}  # type: ignore[operator]
    held = 0
    for seed in range(8):
        synthesis = made(domain=domain, seed=seed)
        found = select_from(synthesis.release, "SELECT AVG(pay), SUM(pay) FROM t")
        (mean, total) = found.cells[0]
        for cell, exact in ((mean, MEAN), (total, SUM)):
            assert cell.low is not None
            assert cell.high is not None
            assert (cell.high - cell.low) / exact < 0.25
            held += cell is mean and cell.low <= exact <= cell.high
        assert "no places" not in found.covers
        drawn = synthesis.records["pay"].to_numpy().mean()
        assert abs(drawn - mean.value) < 0.5 * (mean.high - mean.low) + 0.02 * MEAN
    assert held >= 5


def test_intervals_hold_where_all_values_lie_at_the_ends_of_cells() -> None:
    domain = Domain([Binned("pay", [0, 10**9, 2 * 10**9], whole=True)])
    finer = with_bin_cells(domain)
    assert finer is not None
    assert isinstance(finer["pay"], Binned)
    last = np.array(finer["pay"].edges[1:-1], dtype=np.int64) - 1  # half a cell above where they are taken to be
    made = synthesize(pa.table({"pay": last}), epsilon=1e6, domain=domain, seed=0)
    (mean,) = select_from(made.release, "SELECT AVG(pay) FROM t").cells[0]
    assert mean.low < float(last.mean()) < mean.high
    assert mean.high - mean.low < 4.0 * 10**9 / 2**15


def test_means_by_too_many_groups_are_refused() -> None:
    domain = {"pay": DOMAIN["pay"], "a": {"min": 0, "max": 999}, "b": {"min": 0, "max": 9}}
    table = pa.table({"pay": PAY, "a": PAY % 1000, "b": PAY % 10})
    with pytest.raises(QueryError, match="more than 16,777,216 cells"):
        made(table, domain, means=["pay by a * b"])


def test_intervals_of_groups_and_medians_hold_wherever_in_the_bins_values_lie() -> None:
    release = made().release
    for statement in ("SELECT sex, AVG(pay) FROM t GROUP BY sex", "SELECT AVG(pay) FROM t WHERE sex = 'F'"):
        found = select_from(release, statement)
        assert "no places" in found.covers
        assert all(row[0].high - row[0].low > 5_000 for row in found.cells)
    assert "no places" in select_from(release, "SELECT MEDIAN(pay), AVG(pay) FROM t").covers
    median = select_from(release, "SELECT MEDIAN(pay) FROM t").cells[0][0].value
    assert median == pytest.approx(float(np.median(PAY)), rel=0.1)


def test_means_by_group_that_were_asked_for_have_narrow_intervals(tmp_path: Path) -> None:
    """Of 16 intervals with 95 % confidence fewer than 11 hold once in 20,000 times."""
    held, sexes = 0, np.array(TABLE["sex"].to_pylist())
    for seed in range(8):
        release = made(seed=seed, means=["pay by sex"]).release
        release.save(tmp_path / "r.release")
        found = select_from(Release.load(tmp_path / "r.release"), "SELECT sex, AVG(pay) FROM t GROUP BY sex")
        assert "no places" not in found.covers
        for (sex,), (cell,) in zip(found.labels, found.cells, strict=True):
            exact = float(PAY[sexes == sex].mean())
            assert cell.low is not None
            assert cell.high is not None
            assert cell.high - cell.low < 0.4 * exact
            held += cell.low <= exact <= cell.high
    assert held >= 11
    assert [each.target.scope for each in release.positions] == [("pay",)] * 2 + [("pay", "sex")] * 2
    verdicts = {each.check: each.severity.name for each in audit_files([tmp_path / "r.release"]).files[0].findings}
    assert verdicts["measurements"] == verdicts["sensitivities"] == "HOLDS"


def test_means_of_a_workload_are_measured_of_numbers_that_are_told_one_by_one_too(tmp_path: Path) -> None:
    """Of 18 intervals with 95 % confidence fewer than 13 hold once in 10,000 times."""
    rng = np.random.default_rng(3)
    age = np.clip(rng.normal(40, 15, 20_000).round(), 0, 99).astype(np.int64)
    table = TABLE.append_column("age", pa.array(age))
    domain = {**DOMAIN, "age": {"min": 0, "max": 99}}
    sexes, held = np.array(TABLE["sex"].to_pylist()), 0
    for seed in range(6):
        release = made(table, domain, seed, workload="marginals:1; means: age by sex; moments: age").release
        assert release.workload.spec == "marginals:1; marginals:sex*age; marginals:age"
        assert [each.target.scope for each in release.positions] == [("pay",), ("pay",), ("sex", "age"), ("age",)]
        release.save(tmp_path / "r.release")
        found = select_from(Release.load(tmp_path / "r.release"), "SELECT sex, AVG(age) FROM t GROUP BY sex")
        exact = [float(age[sexes == sex].mean()) for (sex,) in found.labels]
        cells = [row[0] for row in found.cells]
        cells += select_from(release, "SELECT AVG(age) FROM t").cells[0]
        for cell, truth in zip(cells, [*exact, float(age.mean())], strict=True):
            assert cell.high is not None
            assert cell.low is not None
            assert cell.high - cell.low < 3.0
            held += cell.low <= truth <= cell.high
    assert held >= 13
    verdicts = {each.check: each.severity.name for each in audit_files([tmp_path / "r.release"]).files[0].findings}
    assert verdicts["measurements"] == verdicts["sensitivities"] == "HOLDS"


def test_moments_and_counts_that_were_measured_apart_make_means_as_narrow_as_their_noise() -> None:
    """The groups' counts are a run of their own, which does not tell the sum: it is the one that tells them best."""
    rng = np.random.default_rng(3)
    age = np.clip(rng.normal(20, 8, 20_000).round(), 0, 99).astype(np.int64)
    table, domain = TABLE.append_column("age", pa.array(age)), {**DOMAIN, "age": {"min": 0, "max": 99}}
    release = made(table, domain, workload="marginals:2; moments: age by sex").release
    (moments,) = (each for each in release.positions if each.target.column == "age")
    counts, sexes = release.measurements[0], np.array(TABLE["sex"].to_pylist())
    assert counts.target.text == "sex"
    found = select_from(release, "SELECT sex, AVG(age), SUM(age) FROM t GROUP BY sex")
    for (sex,), (mean, total) in zip(found.labels, found.cells, strict=True):
        told, n = age[sexes == sex], int((sexes == sex).sum())
        noise = 99.0 * np.hypot(moments.std, counts.std * (0.5 - told.mean() / 99.0))
        assert mean.halved < 2.3 * noise / n
        assert total.halved < 2.3 * 99.0 * np.hypot(moments.std, 0.5 * counts.std)


def test_means_by_a_level_are_measured_and_tell_what_the_level_decides(tmp_path: Path) -> None:
    """Of 16 intervals with 95 % confidence fewer than 11 hold once in 20,000 times; a file keeps them."""
    rng, held = np.random.default_rng(3), 0
    age = np.clip(rng.normal(50, 15, 20_000).round(), 0, 99).astype(np.int64)
    table, path = TABLE.append_column("age", pa.array(age)), tmp_path / "r.release"
    domain = {**DOMAIN, "age": {"min": 0, "max": 99, "levels": [20]}}
    conditions = ("age < 60", age < 60), ("age between 20 and 79", (age > 19) & (age < 80)), ("age < 45", age < 45)
    for seed in range(2):
        release = made(table, domain, seed, workload='marginals:1; marginals:age; means: pay by "age.20"').release
        assert [each.target.scope for each in release.positions[2:]] == [("pay", "age.20")] * 2
        release.save(path)
        read = Release.load(path)
        found = select_from(read, 'SELECT "age.20", AVG(pay) FROM t GROUP BY "age.20"')
        assert "no places" not in found.covers
        told = [(row[0], float(PAY[age // 20 == code].mean())) for code, row in enumerate(found.cells)]
        for where, chosen in conditions:
            (cell,) = select_from(read, f"SELECT AVG(pay) FROM t WHERE {where}").cells[0]
            told.append((cell, float(PAY[chosen].mean())))
        for cell, exact in told:
            assert cell.low is not None
            assert cell.high is not None
            held += cell.low <= exact <= cell.high
        decided, cut = [[cell.high - cell.low for cell, _ in each] for each in (told[5:7], told[7:])]
        assert 5.0 * max(decided) < min(cut)
    assert held >= 11
    verdicts = {each.check: each.severity.name for each in audit_files([path]).files[0].findings}
    assert verdicts["measurements"] == verdicts["sensitivities"] == "HOLDS"


@pytest.mark.parametrize("workload", ["marginals:2", "marginals:2; moments: pay, pay by sex, age"])
def test_variances_hold_and_squares_that_are_measured_make_them_narrow(workload: str) -> None:
    """Of 16 intervals with 95 % confidence fewer than 11 hold once in 20,000 times."""
    rng, held, widths = np.random.default_rng(3), 0, list[float]()
    pay = np.minimum(PAY, 199_999)
    age = np.clip(rng.normal(40, 15, 20_000).round(), 0, 99).astype(np.int64)
    table = pa.table({"pay": pay, "sex": TABLE["sex"], "age": age})
    domain = {
        "pay": {"min": 0, "max": 199_999, "whole": True, "bins": 20},
        "sex": ["F", "M"],
        "age": {"min": 0, "max": 99},
    }
    sexes = np.array(TABLE["sex"].to_pylist())
    for seed in range(4):
        release = made(table, domain, seed, workload=workload).release
        found = select_from(release, "SELECT sex, VARIANCE(pay), STDDEV(age) FROM t GROUP BY sex")
        assert ("no places" in found.covers) == ("moments" not in workload)
        for (sex,), cells in zip(found.labels, found.cells, strict=True):
            for cell, exact in zip(cells, (pay[sexes == sex].var(), age[sexes == sex].std()), strict=True):
                assert cell.low is not None
                assert cell.high is not None
                held += cell.low <= exact <= cell.high
        (spread,) = select_from(release, "SELECT STDDEV(pay) FROM t").cells[0]
        assert spread.low is not None
        assert spread.low <= pay.std() <= spread.high
        (bare,) = select_from(replace(release, positions=()), "SELECT STDDEV(pay) FROM t").cells[0]
        assert bare.halved is not None
        assert spread.halved < 1.2 * 0.5 * bare.halved
        widths.append((spread.high - spread.low) / pay.std())
    assert held >= 11
    assert max(widths) < 0.2


@pytest.mark.parametrize("text", ["pay by", "sex by pay", "pay by pay", "pay by age", "height by sex"])
def test_means_that_cannot_be_measured_are_refused_before_anything_is_read(text: str) -> None:
    with pytest.raises((QueryError, DomainError)):
        made(means=[text])


def test_a_file_keeps_positions_and_an_auditor_finds_them_paid_for(tmp_path: Path) -> None:
    release = made().release
    release.save(tmp_path / "r.release")
    read = Release.load(tmp_path / "r.release")
    assert [each.target.text for each in read.positions] == ["positions in the bins of pay", "moments of pay"]
    for one, other in zip(read.positions, release.positions, strict=True):
        assert np.array_equal(one.values, other.values)
    assert len(read.measurements) == len(release.measurements)
    assert np.allclose(read.tilts["pay"], release.tilts["pay"])
    verdicts = {each.check: each.severity.name for each in audit_files([tmp_path / "r.release"]).files[0].findings}
    assert verdicts["measurements"] == verdicts["sensitivities"] == "HOLDS"


def test_every_source_is_read_again_for_the_same_positions(tmp_path: Path) -> None:
    """In the whole column, and by a level of another one."""
    table = TABLE.append_column("age", pa.array(PAY % 100))
    domain = {**DOMAIN, "age": {"min": 0, "max": 99, "levels": [20]}}
    pq.write_table(table, tmp_path / "part.parquet")
    with duckdb.connect(str(tmp_path / "d.db")) as database:
        database.execute(f"create table people as select * from '{tmp_path / 'part.parquet'}'")
    places = [table, str(tmp_path / "*.parquet"), f"duckdb:{tmp_path / 'd.db'}#people"]
    found = [made(place, domain, workload='marginals:1; means: pay by "age.20"').release.positions for place in places]
    assert [each.target.scope for each in found[0]] == [("pay",)] * 2 + [("pay", "age.20")] * 2
    for one, other in ((one, other) for read in found[1:] for one, other in zip(found[0], read, strict=True)):
        assert np.array_equal(one.values, other.values)


def test_codes_bounded_persons_and_dropped_records_tell_no_positions() -> None:
    persons = TABLE.append_column("id", pa.array(np.arange(20_000) // 2))
    assert made(persons, person="id", at_most=2).release.positions == ()
    coded = pa.table({"pay": np.zeros(50, dtype=np.int64), "sex": np.arange(50) % 2})
    assert made(coded, coded=True).release.positions == ()
    ruled = {"attributes": DOMAIN, "constraints": [{"impossible": "sex = 'F' and pay = 0"}]}
    assert len(made(domain=ruled).release.positions) == 2
    assert made(domain=ruled, violations="drop").release.positions == ()
    weighted = TABLE.append_column("w", pa.array(np.ones(20_000, dtype=np.int64)))
    assert len(made(weighted, weight="w", largest_weight=3).release.positions) == 2


def test_moments_that_tell_nothing_leave_sums_to_the_tables() -> None:
    """Where tables tell a sum far better than moments, these have no share in it."""
    age = np.arange(20_000) % 84 + 16
    table, domain = pa.table({"age": age, "sex": TABLE["sex"]}), {"age": {"min": 16, "max": 99}, "sex": ["F", "M"]}
    release = made(table, domain, workload="marginals:2; moments: age").release
    loud = tuple(replace(each, scale=1e9 * each.scale) for each in release.positions)
    for cell in select_from(replace(release, positions=loud), "SELECT AVG(age), STDDEV(age) FROM t").cells[0]:
        assert cell.high is not None
        assert cell.low is not None
        assert cell.high - cell.low < 10.0
