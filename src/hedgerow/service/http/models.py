"""The base of requests and responses: what a docstring says of a model's fields is what OpenAPI says of them."""

import inspect
import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, JsonValue
from pydantic_core import CoreSchema

_FIELD = re.compile(r"^ {4}(\w+): (.*?)(?=^ {4}\w|\Z)", re.MULTILINE | re.DOTALL)


def examples(*samples: JsonValue) -> ConfigDict:
    """Configuration of a model with samples of it, as OpenAPI shows them."""
    return ConfigDict(json_schema_extra={"examples": list(samples)})


def explained(text: str | None) -> tuple[str, dict[str, str]]:
    """The parts of a class' docstring: what it is, and what each field under ``Attributes:`` is.

    Example:
        >>> explained('''A person.
        ...
        ...     Attributes:
        ...         name: Unique in
        ...             the store.
        ... ''')
        ('A person.', {'name': 'Unique in the store.'})
    """
    head, _, fields = inspect.cleandoc(text or "").partition("\n\nAttributes:\n")
    return head, {name: " ".join(said.split()) for name, said in _FIELD.findall(fields.partition("\n\n")[0])}


def _explain(kind: type, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
    """The schema of a class with descriptions from its docstring, and from those of the classes that it extends."""
    found = handler(core_schema)
    schema = handler.resolve_ref_schema(found)
    for each in reversed(kind.__mro__):
        head, fields = explained(each.__dict__.get("__doc__"))
        schema["description"] = head
        for name in fields.keys() & schema.get("properties", {}).keys():
            schema["properties"][name]["description"] = fields[name]
    return found


@dataclass(frozen=True)
class Explained:
    """Beside a dataclass in `Annotated`: its docstring describes its fields.

    Attributes:
        kind: The dataclass.
    """

    kind: type

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The schema with descriptions."""
        return _explain(self.kind, core_schema, handler)


class ApiModel(BaseModel):
    """A request or a response; its docstring describes its fields."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The schema with descriptions."""
        return _explain(cls, core_schema, handler)
