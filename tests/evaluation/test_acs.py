"""The score of NIST's excerpts on the one of Massachusetts, against a second implementation in pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.acs import FOLDER, inconsistent, score

from hedgerow import evaluate


@pytest.mark.slow
def test_score_and_impossible_records_are_those_of_the_benchmark() -> None:
    real = pd.read_csv(FOLDER / "ma2019.csv", dtype=str, keep_default_na=False)
    rng = np.random.default_rng(0)
    tables = {
        "independent": pd.DataFrame({name: rng.permutation(real[name]) for name in real}),
        "sample": real.sample(frac=0.4, random_state=1),
    }
    found = evaluate(real, tables, FOLDER / "acs.domain.yaml", by="PUMA", models=False)
    for name, table in tables.items():
        # the two draw the line between bins at quantiles that differ by less than a record
        assert found.value("score", "PUMA with pairs", name) == pytest.approx(score(real, table), abs=0.1)
    assert found.value("subsample", "PUMA with pairs", "sample") == pytest.approx(0.4, abs=0.04)
    assert found.value("impossible records", "any rule", "sample") == 0.0
    assert found.value("impossible records", "any rule", "independent") >= inconsistent(tables["independent"])["any"]
