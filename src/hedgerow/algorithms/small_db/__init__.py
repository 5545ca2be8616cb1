"""SmallDB: the best of all databases of a few records, chosen by the exponential mechanism.

`enumeration` lists the databases and says how large they need to be; `small_db` holds the public class, its run, its
error bound and its plan. May import ``algorithms.shared`` and everything below it, but no other mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
