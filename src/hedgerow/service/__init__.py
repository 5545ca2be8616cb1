"""The interactive server: data sets that analysts ask over HTTP for weeks, a durable store, a web page.

`running` starts it, `settings` has its limits. `http` is the API and serves the web page of `page/`; `sessions` answers
questions and charges before each look at the data; `store` keeps what must outlast the process, in tables that
`migrations` upgrade; `demo` has a public data set to try it with.

From top to bottom: running, http and demo, sessions, store, settings; each may import those below it. The service may
import every room but the command line; of `data`, only `sessions.tables` does. Nothing but the command line imports it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
