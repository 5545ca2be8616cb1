"""The store: people, tokens, data sets, sessions, answers, ledgers and the audit log, in SQLite or PostgreSQL.

`store` opens it and joins its parts (`people`, `sessions`, `lists`, on the base `repository`). `steps` writes the steps
of sessions as rows. `entries` has the records, `schema` the tables, `database` the transactions, `sqlite` and
`postgresql` the two kinds, and `leases` divides data sets among the servers of the latter; `anchor` is a file outside
the store, by which `restored` notices an older copy. It may import `algorithms.online_pmw`, `privacy`, `queries` and
`system`; of the service nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
