"""Entries of domain files, read and written: `attributes`, `level_entries`, `functions`, `constraints`.

`options` is the table of all options, from which the JSON schema follows. `tables` reads public tables beside a file,
`yaml_text` YAML and JSON. It may import the modules of `domain` that make attributes, levels and rules, and what is
below.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
