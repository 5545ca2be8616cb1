"""The ledger of one release: each touch of the private table as an event, charged before any noise is drawn.

`questions` are what was asked, `events` say by which mechanism and at which price (`format_2` reads how that was
written before), `ledger` holds them and refuses what passes the limit; `paid` draws noise for events that were charged,
and checks that the noisy answers of a file were. It may import mechanisms and all that is below them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
