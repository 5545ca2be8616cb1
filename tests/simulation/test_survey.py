"""R's package survey reads our files as the page of replicates says, and computes what `estimate` does."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import special

from hedgerow import (
    MWEM,
    ApproxDP,
    Categorical,
    Domain,
    IntegerRange,
    SeededNoise,
    Workload,
    read_table,
    regress,
    replicate,
)
from hedgerow.arrays import Floats
from hedgerow.release import Replicates

PAGE = Path(__file__).resolve().parents[2] / "docs" / "replicates.md"
TOLD = """
tell <- function(...) cat("told", sprintf("%.15g", c(...)), "\\n")
means <- svymean(~age + I(as.numeric(income == ">50K")), design)
tell(coef(means), SE(means))
fit <- svyglm(I(income == ">50K") ~ age + sex, design, family = quasibinomial(), epsilon = 1e-14)
tell(coef(fit), SE(fit))
share <- svyciprop(~I(income == ">50K"), design)
tell(coef(share), attr(share, "ci"))
tested <- svychisq(~race + income, design)
tell(tested$statistic, tested$parameter, tested$p.value)
tell(estimate, error)
tell(degf(design))
"""


def has_survey() -> bool:
    """Whether R can load the package."""
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(survey)"], capture_output=True, check=False).returncode == 0


def replicates() -> Replicates:
    """Of a table with the columns of the page."""
    domain = Domain(
        [
            IntegerRange("age", 20, 29),
            Categorical("sex", ("Female", "Male")),
            Categorical("race", ("a", "b", "c")),
            Categorical("income", ("<=50K", ">50K")),
        ]
    )
    rng = np.random.default_rng(0)
    age, sex = rng.integers(20, 30, 3000), rng.integers(0, 2, 3000)
    income = (rng.random(3000) < 0.1 + 0.03 * (age - 20) + 0.2 * sex).astype(np.int64)
    rows: dict[str, Any] = {
        "age": age,
        "sex": np.array(["Female", "Male"])[sex],
        "race": np.array(list("abc"))[rng.integers(0, 3, 3000)],
        "income": np.array(["<=50K", ">50K"])[income],
    }
    table = read_table(pa.table(rows), domain)
    made = MWEM().run(table, Workload.marginals(domain, 2), ApproxDP(1.0, 1e-9), noise=SeededNoise(0))
    return replicate(made, 20, seed=0)


def columns(records: pa.Table) -> tuple[Floats, Floats, Floats]:
    """Age, whether a man, whether rich."""
    man, rich = (np.array(records[name].to_pylist()) == label for name, label in (("sex", "Male"), ("income", ">50K")))
    return records["age"].to_numpy().astype(float), man.astype(float), rich.astype(float)


def means(records: pa.Table, weights: Floats) -> Floats:
    age, _, rich = columns(records)
    return np.array([np.average(age, weights=weights), np.average(rich, weights=weights)])


def logistic(records: pa.Table, weights: Floats) -> Floats:
    """Weighted maximum likelihood, by Newton's method."""
    age, man, rich = columns(records)
    left, found = np.column_stack([np.ones(len(age)), age, man]), np.zeros(3)
    for _ in range(30):
        fitted = 1.0 / (1.0 + np.exp(-left @ found))
        curvature = (left.T * (weights * fitted * (1.0 - fitted))) @ left
        found = found + np.linalg.solve(curvature, left.T @ (weights * (rich - fitted)))
    return found


def log_odds(records: pa.Table, weights: Floats) -> Floats:
    """Of being rich."""
    share = means(records, weights)[1]
    return np.asarray(np.log(share / (1.0 - share)))


def cells(records: pa.Table, weights: Floats) -> Floats:
    """Shares of the cells of race and income."""
    race, income = (
        np.unique(np.array(records[name].to_pylist()), return_inverse=True)[1] for name in ("race", "income")
    )
    return np.asarray(np.bincount(2 * race + income, weights, 6) / weights.sum())


def rao_scott(made: Replicates) -> Floats:
    """Statistic, degrees of freedom and p-value of independence, corrected in the second order.

    J. N. K. Rao and A. J. Scott, "On Chi-Squared Tests for Multiway Contingency Tables with Cell Proportions Estimated
    from Survey Data", Annals of Statistics 12, 1984.
    """
    found = made.estimate(cells, corrected=False, columns=[])
    share, apart = found.raw, found.replicates - found.raw
    table = share.reshape(3, 2)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    chi_square = len(made.records) * float(((table - expected) ** 2 / expected).sum())
    margins = np.column_stack([np.kron(np.eye(3), np.ones((2, 1))), np.kron(np.ones((3, 1)), np.eye(2))])
    contrasts = np.linalg.svd(margins)[0][:, 4:]  # what no margin tells
    scaled = contrasts / share[:, None]
    effects = np.linalg.solve(
        contrasts.T @ scaled / len(made.records), scaled.T @ (apart.T @ apart / made.number) @ scaled
    )
    trace = float(np.trace(effects))
    freedom = trace**2 / float(np.trace(effects @ effects))
    value, rest = chi_square / trace, freedom * (made.number - 1)
    return np.array([value, freedom, rest, special.fdtrc(freedom, rest, value)])


@pytest.mark.slow
@pytest.mark.r
def test_r_computes_what_we_do(tmp_path: Path) -> None:
    if not has_survey():
        pytest.skip("R with its package survey is not installed")
    made = replicates()
    made.write(tmp_path / "people.csv")
    script = "\n".join(re.findall(r"^```r\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)) + TOLD
    (tmp_path / "page.R").write_text(script)
    done = subprocess.run(["Rscript", "page.R"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = [np.array(line.split()[1:], dtype=float) for line in done.stdout.splitlines() if line.startswith("told")]
    for statistic, row in ((means, told[0]), (logistic, told[1])):
        ours = made.estimate(statistic, corrected=False, columns=[])
        np.testing.assert_allclose(row, [*ours.value, *ours.error], rtol=1e-8)
    found = regress(made, "income ~ age + sex", "logistic").estimate
    mean_squares = np.mean((found.replicates - found.raw) ** 2, axis=0)
    np.testing.assert_allclose(told[1], [*found.raw, *np.sqrt(mean_squares)], rtol=1e-7)
    ours = made.estimate(log_odds, corrected=False, columns=[])
    np.testing.assert_allclose(told[2], special.expit([ours.raw, ours.low, ours.high]), rtol=1e-8)
    np.testing.assert_allclose(told[3], rao_scott(made), rtol=1e-8)
    corrected = made.estimate(means, columns=[])
    np.testing.assert_allclose(told[4], [corrected.value[0], corrected.error[0]], rtol=1e-8)
    assert told[5] == 19
