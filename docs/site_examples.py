"""What the reference shows otherwise than the source has it: examples as code, and fields by what they give."""

from __future__ import annotations

from typing import Any

from griffe import Attribute, Class, Extension, Object


class Examples(Extension):
    """Gives examples the heading that griffe knows, and fields with a descriptor the type that they give."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rename the heading "Example:", under which doctests are."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Show the type that ``__get__`` returns in place of the descriptor."""
        kind = attr.module.members.get(str(attr.annotation))
        if isinstance(kind, Class) and "__get__" in kind.members:
            attr.annotation, attr.value = kind.members["__get__"].returns, None
