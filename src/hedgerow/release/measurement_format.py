"""Measurements as plain JSON values and arrays, for the release file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.domain import Domain
from hedgerow.errors import ReleaseError
from hedgerow.queries.code_set import CodeSet
from hedgerow.queries.measurement import Measurement, NoiseKind
from hedgerow.queries.query import Conjunction, Explicit, Floats, Marginal, Measurable, Parity

Arrays = dict[str, NDArray[Any]]

VALUES = "measured_values"
VECTORS = "measured_vectors"


def measurements_to_list(measurements: Sequence[Measurement]) -> tuple[list[dict[str, Any]], Arrays]:
    """Take measurements apart; all their values stand in one array, and all explicit queries in another.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> marginal = Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",))
        >>> measurements_to_list([Measurement(marginal, np.array([3.0, 4.0]), NoiseKind.LAPLACE, 2.0)])
        ([{'target': {'kind': 'marginal', 'scope': ['a']}, 'noise': 'laplace', 'scale': 2.0}],
         {'measured_values': array([3., 4.])})
    """
    entries = [
        {"target": _target_to_dict(each.target), "noise": each.noise.value, "scale": each.scale}
        for each in measurements
    ]
    arrays: Arrays = {}
    if measurements:
        arrays[VALUES] = np.concatenate([each.values for each in measurements])
    vectors = [each.target.vector.reshape(-1) for each in measurements if isinstance(each.target, Explicit)]
    if vectors:
        arrays[VECTORS] = np.concatenate(vectors)
    return entries, arrays


def measurements_from_list(
    entries: Iterable[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]], domain: Domain
) -> tuple[Measurement, ...]:
    """Put measurements together again; what ``measurements_to_list`` took apart.

    Raises:
        KeyError, TypeError, ValueError: An entry has another shape, or an array another length.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> entries = [{"target": {"kind": "marginal", "scope": ["a"]}, "noise": "laplace", "scale": 2.0}]
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> measurements_from_list(entries, {"measured_values": np.array([3.0, 4.0])}, domain)[0].target.text
        'a'
    """
    listed = list(entries)
    values = _Reader(arrays[VALUES] if listed else np.zeros(0))
    explicit = any(entry["target"]["kind"] == "explicit" for entry in listed)
    vectors = _Reader(arrays[VECTORS] if explicit else np.zeros(0))
    found = []
    for entry in listed:
        target = _target_from_dict(entry["target"], vectors, domain)
        noise, scale = NoiseKind(entry["noise"]), float(entry["scale"])
        found.append(Measurement(target, values.take(target.size), noise, scale))
    values.finish()
    vectors.finish()
    return tuple(found)


class _Reader:
    """Consecutive parts of an array."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._rest = np.asarray(array, dtype=np.float64).reshape(-1)

    def take(self, size: int) -> Floats:
        if size > self._rest.size:
            raise ValueError("there are fewer measured values than measurements need")
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def finish(self) -> None:
        if self._rest.size:
            raise ValueError("there are more measured values than measurements need")


def _target_to_dict(target: Measurable) -> dict[str, Any]:
    scope = list(target.scope)
    match target:
        case Marginal():
            return {"kind": "marginal", "scope": scope}
        case Conjunction():
            return {"kind": "conjunction", "scope": scope, "codes": [codes.to_json() for codes in target.codes]}
        case Parity():
            return {"kind": "parity", "scope": scope}
        case Explicit():
            return {"kind": "explicit", "scope": scope, "name": target.name, "limits": list(target.limits)}
    raise ReleaseError(f"a release cannot hold a measurement of {type(target).__name__}")


def _target_from_dict(entry: Mapping[str, Any], vectors: _Reader, domain: Domain) -> Measurable:
    scope = domain.clique(entry["scope"])
    match entry["kind"]:
        case "marginal":
            return Marginal(domain, scope)
        case "conjunction":
            return Conjunction(domain, scope, tuple(map(CodeSet.from_json, entry["codes"])))
        case "parity":
            return Parity(domain, scope)
        case "explicit":
            shape = domain.shape_of(scope)
            vector = vectors.take(int(np.prod(shape))).reshape(shape)
            low, high = entry["limits"]
            return Explicit(domain, scope, str(entry["name"]), vector, (float(low), float(high)))
    raise ValueError(f"the kind of measurement {entry['kind']!r} is unknown")
