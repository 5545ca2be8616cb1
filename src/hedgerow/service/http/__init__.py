"""The HTTP API: routes, the models of what is sent and told, tokens, guards, connections, and pages for browsers.

`app` makes the application from the `routes_*` modules. `gate` decides who may pass, with `tokens`, before the body is
read by `strict`; `sent` and `told` are the models of requests and answers; `problems` turns errors into answers;
`guards` stand before every request, `protocol` and `connections` before every connection; `web` has the pages. It may
import the desks, the store and the settings.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
