"""How long runs of the command line take, and how much memory, beside a floor and beside what ``plan`` says.

``python -m benchmarks performance`` runs what is not in ``runs.csv`` yet (``--again`` all of it) and writes
``docs/performance.md`` with its drawings.
"""
