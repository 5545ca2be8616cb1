"""Queries: what may be asked of a table, and workloads of many queries (public).

`core` holds single queries, families of them and their sensitivities; `families` the families that a workload is made
of, with the registry that plug-ins add to; `conditions` the readers of SQL and JSON; `classes` the values that queries
do not tell apart; the modules beside them workloads, their text and their stored form. Nothing here holds private
records. It may import `domain`, `engines`, `system` and what is below; within, from top to bottom: `workload_format`,
`workload`, `workload_text`, `classes` and `conditions`, `families`, `core`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
