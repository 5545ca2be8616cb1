"""The JSON schema of domain files: for editors, which complete and check such files while they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMA = "domain.schema.json"
"""Name of the schema's file."""


def domain_schema() -> dict[str, Any]:
    """The JSON schema of domain files (draft 7).

    It says what an entry may look like. Whether the parts fit together (names of columns in conditions, edges in order)
    is for ``read_domain`` to say.

    Example:
        >>> domain_schema()["title"]
        'Domain file of Hedgerow'
    """
    schema: dict[str, Any] = json.loads(Path(__file__).with_name(SCHEMA).read_text(encoding="utf-8"))
    return schema
