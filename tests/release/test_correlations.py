"""Correlations of a release: intervals that hold, from tables alone and from measured products, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import Domain, IntegerRange, OnlinePMW, PureDP, Release, SeededNoise, Table, synthesize
from hedgerow.audit import audit_files
from hedgerow.errors import QueryError
from hedgerow.queries import parse_select
from hedgerow.release import select, select_from

RNG = np.random.default_rng(5)
AGE = RNG.integers(0, 60, 20_000)
PAY = np.clip(np.rint(300 * AGE + RNG.normal(20_000, 12_000, 20_000)), 0, 99_999).astype(int)
SEX = np.where(RNG.random(20_000) < 0.4, "F", "M")
TABLE = pa.table({"age": pa.array(AGE), "pay": pa.array(PAY), "sex": pa.array(SEX)})
DOMAIN: dict[str, Any] = {
    "age": {"min": 0, "max": 59},
    "pay": {"min": 0, "max": 99_999, "whole": True, "bins": 20},
    "sex": ["F", "M"],
}
EXACT = float(np.corrcoef(AGE, PAY)[0, 1])


def made(epsilon: float = 1.0, seed: int = 0, table: Any = TABLE, workload: str = "marginals:2") -> Release:
    return synthesize(table, epsilon, 1e-9, DOMAIN, seed=seed, workload=workload).release


def test_intervals_hold_and_products_that_are_measured_make_them_narrow(tmp_path: Path) -> None:
    """Of 12 intervals with 95 % confidence fewer than 9 hold once in 500 times."""
    held = 0
    for seed in range(12):
        release = made(seed=seed, workload="marginals:2; correlations: age, pay")
        release.save(tmp_path / "r.release")
        (cell,) = select_from(Release.load(tmp_path / "r.release"), "SELECT CORR(age, pay) FROM t").cells[0]
        (bare,) = select_from(replace(release, positions=()), "SELECT CORR(pay, age) FROM t").cells[0]
        assert cell.low is not None
        assert cell.high is not None
        assert bare.halved is not None
        assert cell.high - cell.low < bare.halved
        held += cell.low <= EXACT <= cell.high
    assert held >= 9
    assert [each.target.text for each in release.positions][-1] == "products of age * pay"
    verdicts = {each.check: each.severity.name for each in audit_files([tmp_path / "r.release"]).files[0].findings}
    assert verdicts["measurements"] == verdicts["sensitivities"] == "HOLDS"


def test_without_noise_intervals_close_around_the_correlation() -> None:
    release = made(1e7, workload="marginals:3; correlations: age, pay")
    (cell,) = select_from(release, "SELECT CORR(age, pay) AS r FROM t").cells[0]
    assert [cell.low, cell.high] == pytest.approx([EXACT, EXACT], abs=0.002)
    found = select_from(release, "SELECT sex, CORR(age, pay) FROM t WHERE age >= 20 GROUP BY sex")
    for (sex,), (group,) in zip(found.labels, found.cells, strict=True):
        kept = (sex == SEX) & (AGE >= 20)
        exact = float(np.corrcoef(AGE[kept], PAY[kept])[0, 1])
        assert group.low <= exact <= group.high  # type: ignore[operator]
        assert group.value == pytest.approx(exact, abs=0.05)


def test_records_without_a_number_are_left_out() -> None:
    domain = {"x": {"min": 0, "max": 9, "missing": True}, "y": {"min": 0, "max": 9}}
    x, y = RNG.integers(0, 10, 5_000), RNG.integers(0, 10, 5_000)
    y = np.minimum(9, (x + y) // 2)
    table = pa.table({"x": pa.array([None if i % 5 == 0 else int(v) for i, v in enumerate(x)]), "y": y})
    release = synthesize(table, 1e6, 1e-9, domain, seed=0, workload="marginals:2; correlations: x, y").release
    kept = np.arange(5_000) % 5 > 0
    (cell,) = select_from(release, "SELECT CORR(x, y) FROM t").cells[0]
    exact = float(np.corrcoef(x[kept], y[kept])[0, 1])
    assert cell.low <= exact <= cell.high  # type: ignore[operator]
    assert cell.value == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [("CORR(age)", "second column"), ("CORR(age, age)", "itself"), ("CORR(age, sex)", "no numbers")],
)
def test_what_is_no_correlation_is_refused(call: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        select_from(made(), f"SELECT {call} FROM t")


def test_sessions_refuse_correlations_before_anything_is_charged() -> None:
    domain = Domain([IntegerRange("a", 0, 3), IntegerRange("b", 0, 3)])
    table = Table(domain, [np.arange(100) % 4, np.arange(100) % 3])
    session = OnlinePMW().start(table, PureDP(1.0), noise=SeededNoise(0))
    spent = session.spent
    with pytest.raises(QueryError, match="not answered from the data"):
        select(parse_select("SELECT CORR(a, b) FROM t", domain), session, 0.95)  # type: ignore[arg-type]
    assert session.spent == spent
