"""The numbers that people publish: whether their intervals hold, how wide they are, and whether all places agree.

``python -m benchmarks numbers`` (``make bench-numbers``) makes releases of tables whose truth is known, asks each as
anyone would, and writes ``docs/trust.md``. Runs that are in ``runs.csv`` are not made again.
"""
