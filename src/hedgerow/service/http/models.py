"""The base of requests and responses: what a docstring says of a model's fields is what OpenAPI says of them."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, JsonValue
from pydantic_core import CoreSchema

from hedgerow.system import explained_class


def examples(*samples: JsonValue) -> ConfigDict:
    """Configuration of a model with samples of it, as OpenAPI shows them."""
    return ConfigDict(json_schema_extra={"examples": list(samples)})


def _explain(kind: type, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
    """The schema of a class with descriptions from its docstring, and from those of the classes that it extends."""
    found = handler(core_schema)
    schema = handler.resolve_ref_schema(found)
    schema["description"], fields = explained_class(kind)
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
