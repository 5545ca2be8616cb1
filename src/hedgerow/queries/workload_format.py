"""A workload as plain JSON values and arrays, for the release file."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from hedgerow.domain import Domain
from hedgerow.errors import QueryError
from hedgerow.queries.core import Family
from hedgerow.queries.families import known_families
from hedgerow.queries.workload import Workload
from hedgerow.queries.workload_text import parse_workload


def workload_to_dict(workload: Workload) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Store a workload as JSON values and arrays.

    Returns:
        Values that JSON holds, and the arrays that they name.

    Example:
        >>> from hedgerow import IntegerRange
        >>> workload = Workload.prefixes(Domain((IntegerRange("age", 17, 90),)), "age")
        >>> workload_to_dict(workload)
        ({'families': [{'weight': 1.0, 'kind': 'text', 'text': 'prefixes:age'}]}, {})
    """
    entries: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[Any]] = {}
    for i, (family, weight) in enumerate(zip(workload.families, workload.weights, strict=True)):
        values, own = family.to_stored()
        place = {"arrays": f"workload_{i}"} if own else {}
        entries.append({"weight": weight, **values, **place})
        arrays |= {f"workload_{i}_{name}": array for name, array in own.items()}
    return {"families": entries}, arrays


def workload_from_dict(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], domain: Domain) -> Workload:
    """Read a stored workload.

    Args:
        values: Values that ``workload_to_dict`` gave, perhaps through JSON.
        arrays: The arrays that it gave; others may be among them.
        domain: The domain of the workload.

    Raises:
        QueryError: The values are not those of a workload over this domain.

    Example:
        >>> from hedgerow import IntegerRange
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


def _family_from_dict(entry: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], domain: Domain) -> Family:
    kind = entry["kind"]
    if kind == "text":
        ((family,), _) = parse_workload(entry["text"], domain)
        return family
    if kind not in known_families():
        raise QueryError(f"a stored workload holds a family of kind {kind!r}, which this version does not know")
    prefix = f"{entry['arrays']}_" if "arrays" in entry else None
    mine = [] if prefix is None else [name for name in arrays if name.startswith(prefix)]  # no others are read
    own = {name.removeprefix(prefix or ""): arrays[name] for name in mine}
    return known_families()[kind].from_stored(entry, own, domain)
