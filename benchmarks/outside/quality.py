"""SDMetrics' quality report of synthetic files: ``PYTHON benchmarks/outside/quality.py REAL.csv SYNTHETIC.csv ...``.

PYTHON is that of an environment of its own with ``pip install sdmetrics==0.32.0``: nothing of this package is imported,
so the score is an outsider's.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import pandas as pd
from sdmetrics.reports.single_table import QualityReport
from tables import read


def main(real_file: str, *files: str) -> None:
    """Print one line for each file: the overall score and its parts, from 0 to 1."""
    real, judged = read(real_file, files)
    kinds = {name: "numerical" if pd.api.types.is_numeric_dtype(of) else "categorical" for name, of in real.items()}
    metadata = {"columns": {name: {"sdtype": kind} for name, kind in kinds.items()}}
    print(f"sdmetrics {version('sdmetrics')}, {real_file}: {len(real):,} records, {len(real.columns)} columns")
    for name, table in judged.items():
        report = QualityReport()
        report.generate(real, table, metadata, verbose=False)
        parts = report.get_properties().set_index("Property")["Score"]
        shown = ", ".join(f"{part} {score:.3f}" for part, score in parts.items())
        print(f"{name}: overall {report.get_score():.3f}, {shown}")


if __name__ == "__main__":
    main(*sys.argv[1:])
