"""The reference shows the section "Example:" of docstrings, which are doctests, as code."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Gives sections of examples the heading that griffe knows."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rename the heading."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
