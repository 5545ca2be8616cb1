"""The commands: reading options, calling the library, printing what it found.

`preparing` (``domain``, ``plan``, ``mechanisms``, ``key``, ``warm``) comes before a run; `synth`, `ask`, `compare` and
`serve` run; `evaluate` judges records, whoever made them; `released` (``sample``, ``answer``, ``show``, ``report``)
needs a release and nothing else; `auditing` (``audit``, ``register show``) adds up what was released. Commands import
what they share from the modules of `hedgerow.cli`, and may import every other room.
"""
