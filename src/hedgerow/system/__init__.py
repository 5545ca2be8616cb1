"""The machine and the operating system: files, cores, memory, compilation, random generators, hashes and signatures.

Nothing here knows of tables, queries or privacy. It may import `errors` and what is below.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
