"""Other programs' engines: tables in DuckDB files and the Spark session, with their addresses and quoting of names.

The libraries are optional and are imported when they are used. It may import `system`, `errors` and what is below.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
