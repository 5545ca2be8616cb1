"""Classes of values that queries do not tell apart, of one attribute (`classes`) and of a domain (`coarsening`).

It may import `queries.core`, `domain` and what is below.
"""
