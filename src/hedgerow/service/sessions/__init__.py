"""Sessions at work: one thread asks each data set, so that a commit precedes each look at the data.

`workers` has all data sets of the process, `registering` checks and charges new ones. A `worker` takes in questions and
answers them in groups (`group`) on a session that its `repository` keeps in the store. `tables` reads private tables;
`summaries` and `spending` say what may be known of a data set from the store alone. All may import the store; not the
API.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
