"""The mechanisms: select, measure, update.

Each published algorithm has a room of its own, and the rooms do not know each other. What several of them need is in
`shared`; `registry` lists them all by the names that people give them, and `yardsticks` holds what they are compared
with. May import everything below: ``release``, ``privacy``, ``models``, ``queries``, ``domain``. Private data are
reached through a curator alone.

A room is built bottom up, without circles. The module with the room's name is on top: it holds the public
configuration, whose ``run_with`` and ``plan`` call the modules below. Those take the few values that they need, or,
where these are many, the room's ``settings``: a frozen dataclass with the fields and checks of the configuration, which
the public class extends by ``check``, ``run_with`` and ``plan``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
