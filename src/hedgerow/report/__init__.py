"""HTML pages and drawings; needs the extra ``hedgerow[report]``.

`release_page` writes the report of a release, with the `questions` that it answers; `page` holds the templates of all
pages, that of an audit and those of exact figures.
`plots`, `curves` and `file_plots` draw SVG: a release, errors against budgets, several files side by side. Every figure
is a function of what the caller gives: the room may import release and everything below it, and never data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
