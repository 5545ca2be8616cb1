"""HTML pages and drawings; needs the extra ``hedgerow[report]``.

`page` writes the pages of a release, a comparison and an audit, `sections` that of an evaluation, `plots` draws SVG,
and `curves` draws errors against budgets. Every figure is a function of what the caller gives: the room may import
release and everything below it, and never data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
