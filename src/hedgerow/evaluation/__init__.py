"""Synthetic files beside the table that they imitate, whoever made them. NOT PRIVATE, and every result says so.

`columns` reads one column of all tables as places in one list of values, `grid` cuts the values into cells, `tables`
counts and compares marginals and says which subsample is as close, `dependence` compares correlations and quantiles,
and `learners` trains models. `measures` looks for exact matches and impossible records, and makes a `Finding` of each
figure, `evaluation` puts them together, and `presentation` shows them. Exact records and counts come from
`privacy`. May import `report` and everything below it; never `data`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
