"""The HTTP API: routes, the models of what is sent and told, tokens, middleware, connections, and pages for browsers.

`app` makes the application from the `routes_*` modules. `admission` decides who may pass, with `tokens`, before the
body is read by `request_parsing`; `requests` and `responses` have the models of both; `problems` turns errors into
answers; `middleware` stands before every request, `protocol` and `connections` before every connection; `web` has the
pages. It may import the sessions, the store and the settings.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
