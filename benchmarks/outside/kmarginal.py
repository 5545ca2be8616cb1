"""SDNist's k-marginal score of pairs: ``PYTHON benchmarks/outside/kmarginal.py REAL.csv SYNTHETIC.csv ...``.

PYTHON is that of an environment of its own with ``pip install sdnist==2.4``, which pins old versions of its own. Its
report fetches NIST's tables from the network; here its class of the score alone is called, on files as they lie.
Columns of numbers are cut at the real table's twentieths first. The class leaves out columns named PUMA and INDP.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import numpy as np
import pandas as pd
import sdnist.report  # noqa: F401  it must come before the score, which imports it in a circle
from sdnist.metrics.kmarginal import KMarginal
from tables import read


def binned(real: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """A table with the bins of its numbers in their place; what is missing has a bin of its own."""
    binned = table.copy()
    for name in real.select_dtypes("number"):
        cuts = np.unique(real[name].dropna().quantile(np.linspace(0.0, 1.0, 21)[1:-1]))
        binned[name] = np.where(table[name].isna(), -1, np.searchsorted(cuts, table[name]))
    return binned


def main(real_file: str, *files: str) -> None:
    """Print one line for each file: the score, of 1,000."""
    real, judged = read(real_file, files)
    print(f"sdnist {version('sdnist')}, {real_file}: {len(real):,} records, {len(real.columns)} columns")
    for name, table in judged.items():
        score = KMarginal(binned(real, real), binned(real, table)).compute_score()
        print(f"{name}: {score:.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
