"""Algorithms side by side on a table that needs no protection. NOT PRIVATE, and every result says so.

`grid` runs every mechanism with every budget several times, `exact` measures the errors, `outcome` is what a run found,
`journal` keeps outcomes in a CSV file that survives interruptions, `result` averages them, and `presentation` shows the
averages as a table, a drawing and a page. May import `algorithms`, `report` and everything below them; never `data`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
