"""Online private multiplicative weights: answers to a stream of queries that no one knows beforehand.

`online_pmw` is the configuration and its plan, `settings` its fields and checks; `rules` and `parameters` fix noise and
thresholds; `session` answers questions, by `answer` and `hypothesis`, and `start` begins it. What outlasts a process:
`state` is a session between two questions and its file format, `journal` keeps it in a database, `hold` is what is
written before a look at the data, and `file` is a session in a file. The room may import `algorithms.shared`
and what algorithms may import, and no other mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
