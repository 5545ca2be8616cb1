"""Errors that are estimated, not proved: mechanisms run again on records that are drawn from a release.

`errors` runs the mechanism of a release on tables drawn from its hypothesis and keeps how far off the answers were,
`unseen` corrects them for what the hypothesis never saw, and `targets` finds the budget that an error needs. All of it
is post-processing: nothing reads private records, and `drawn` are the only records that there are. May import
`algorithms` and everything below them; never `data`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
