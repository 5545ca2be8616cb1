"""Releases: the public outcome of a run, its answers with intervals, its records, and the file that holds it.

`release` is the object that users hold; `answer` and `evidence` derive intervals, `records` and `spark_records` make
synthetic records, `record_conditions` is what they are drawn given, `bin_positions` where in bins they lie;
`container`, `content` and `file` are the file format, `metadata` is for archives and catalogues. A release is built
from noisy values alone: the room may import privacy, models, queries, domain, engines and system, and never data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
