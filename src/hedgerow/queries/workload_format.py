"""A workload as plain JSON values and arrays, for the release file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.domain import Domain
from hedgerow.errors import QueryError
from hedgerow.queries.core import Family
from hedgerow.queries.families import Boxes, ExplicitMatrix
from hedgerow.queries.workload import Workload
from hedgerow.queries.workload_text import parse_workload

Arrays = dict[str, NDArray[Any]]


def workload_to_dict(workload: Workload) -> tuple[dict[str, Any], Arrays]:
    """Take a workload apart.

    Returns:
        Values that JSON holds, and the arrays that they name.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> workload = Workload.prefixes(Domain((IntegerRange("age", 17, 90),)), "age")
        >>> workload_to_dict(workload)
        ({'families': [{'weight': 1.0, 'kind': 'text', 'text': 'prefixes:age'}]}, {})
    """
    arrays: Arrays = {}
    families = [
        {"weight": weight, **_family_to_dict(family, f"workload_{i}", arrays)}
        for i, (family, weight) in enumerate(zip(workload.families, workload.weights, strict=True))
    ]
    return {"families": families}, arrays


def workload_from_dict(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], domain: Domain) -> Workload:
    """Put a workload together again.

    Args:
        values: What ``workload_to_dict`` gave, perhaps through JSON.
        arrays: The arrays that it gave; others may be among them.
        domain: The domain of the workload.

    Raises:
        QueryError: The values are not those of a workload over this domain.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> workload = Workload.prefixes(Domain((IntegerRange("age", 17, 90),)), "age")
        >>> workload_from_dict(*workload_to_dict(workload), workload.domain) == workload
        True
    """
    try:
        entries = list(values["families"])
        families = [_family_from_dict(entry, arrays, domain) for entry in entries]
        return Workload(families, [float(entry["weight"]) for entry in entries])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, QueryError):
            raise
        raise QueryError(f"this is not a stored workload: {error!r}") from error


def _family_to_dict(family: Family, prefix: str, arrays: Arrays) -> dict[str, Any]:
    if isinstance(family, Boxes) and not family.origin:
        arrays[f"{prefix}_lows"], arrays[f"{prefix}_highs"] = family.lows, family.highs
        return {"kind": "boxes", "clique": list(family.clique), "arrays": prefix}
    if isinstance(family, ExplicitMatrix):
        arrays[f"{prefix}_matrix"] = family.matrix
        return {"kind": "explicit", "scope": list(family.scope), "names": list(family.names), "arrays": prefix}
    return {"kind": "text", "text": family.spec}


def _family_from_dict(entry: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], domain: Domain) -> Family:
    kind = entry["kind"]
    if kind == "boxes":
        lows, highs = (np.asarray(arrays[f"{entry['arrays']}_{side}"]) for side in ("lows", "highs"))
        return Boxes(domain, entry["clique"], lows, highs)
    if kind == "explicit":
        return ExplicitMatrix(domain, entry["scope"], arrays[f"{entry['arrays']}_matrix"], entry["names"])
    if kind == "text":
        families, _ = parse_workload(entry["text"], domain)
        if len(families) == 1:
            return families[0]
    raise QueryError(f"a stored workload holds a family of kind {kind!r}, which this version does not know")
