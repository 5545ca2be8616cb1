"""Domains: the finite, public set of records that could exist, and files that declare it (public).

`attribute` holds the kinds of columns, `derived` functions of them (levels, derived columns), `constraint` what no
record breaks, `domain` all of these together, `tables` how tables over some of them look over others, `feasible` the
number of records that can exist, `conditions` sets of records in SQL, `levels` and `rules` make levels and
constraints, `check` says what a domain allows, `file` and `entries` are the domain files, `encoding` makes codes of
columns of values, `values` Arrow values of codes. It may import `engines`, `system`, `errors` and what is below.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
