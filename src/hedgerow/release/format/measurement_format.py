"""Measurements as plain JSON values and arrays: for release files, session files and the server's store.

Sets of codes are kept as runs, and explicit queries whose values are 0 and 1 alone, as conditions are, as bits: what is
short to ask stays short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.domain import Domain
from hedgerow.errors import ReleaseError
from hedgerow.queries.core.code_set import CodeSet
from hedgerow.queries.core.query import Conjunction, Explicit, Marginal, Measurable, Measurement, NoiseKind, Parity

Arrays = dict[str, NDArray[Any]]

VALUES = "measured_values"
VECTORS = "measured_vectors"
BITS = "measured_bits"
"""Explicit queries of zeros and ones, eight cells a byte, each from a byte of its own on."""


def measurements_to_list(measurements: Sequence[Measurement]) -> tuple[list[dict[str, Any]], Arrays]:
    """Take measurements apart; all their values stand in one array, all explicit queries in another one or two.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
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
    explicit = [each.target.vector.reshape(-1) for each in measurements if isinstance(each.target, Explicit)]
    vectors = [vector for vector in explicit if not _is_binary(vector)]
    bits = [np.packbits(vector != 0.0) for vector in explicit if _is_binary(vector)]
    if vectors:
        arrays[VECTORS] = np.concatenate(vectors)
    if bits:
        arrays[BITS] = np.concatenate(bits)
    return entries, arrays


def _is_binary(vector: Floats) -> bool:
    return bool(((vector == 0.0) | (vector == 1.0)).all())


def measurements_from_list(
    entries: Iterable[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]], domain: Domain
) -> tuple[Measurement, ...]:
    """Put measurements together again; what ``measurements_to_list`` took apart.

    Raises:
        KeyError, TypeError, ValueError: An entry has another shape, or an array another length.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> entries = [{"target": {"kind": "marginal", "scope": ["a"]}, "noise": "laplace", "scale": 2.0}]
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> measurements_from_list(entries, {"measured_values": np.array([3.0, 4.0])}, domain)[0].target.text
        'a'
    """
    listed = list(entries)
    forms = {_form(entry["target"]) for entry in listed}
    values = _Reader(arrays[VALUES] if listed else np.zeros(0))
    vectors = {name: _Reader(arrays[name] if name in forms else np.zeros(0)) for name in (VECTORS, BITS)}
    found = []
    for entry in listed:
        target = _target_from_dict(entry["target"], vectors, domain)
        noise, scale = NoiseKind(entry["noise"]), float(entry["scale"])
        found.append(Measurement(target, values.take(target.size), noise, scale))
    for reader in (values, *vectors.values()):
        reader.finish()
    return tuple(found)


def _form(target: Mapping[str, Any]) -> str:
    """The array that holds the values of an explicit query; empty for others. Earlier versions wrote no bits."""
    if target["kind"] != "explicit":
        return ""
    return BITS if target.get("bits", False) else VECTORS


class _Reader:
    """Consecutive parts of an array."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._rest = np.asarray(array).reshape(-1)

    def take(self, size: int) -> Floats:
        return np.asarray(self._part(size), dtype=np.float64)

    def take_bits(self, size: int) -> Floats:
        packed = np.asarray(self._part(-(-size // 8)), dtype=np.uint8)
        return np.unpackbits(packed, count=size).astype(np.float64)

    def _part(self, size: int) -> NDArray[Any]:
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
            told = {"kind": "explicit", "scope": scope, "name": target.name, "limits": list(target.limits)}
            return {**told, "bits": True} if _is_binary(target.vector) else told
    raise ReleaseError(f"a release cannot hold a measurement of {type(target).__name__}")


def _target_from_dict(entry: Mapping[str, Any], vectors: Mapping[str, _Reader], domain: Domain) -> Measurable:
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
            reader, size = vectors[_form(entry)], int(np.prod(shape))
            vector = (reader.take_bits(size) if entry.get("bits", False) else reader.take(size)).reshape(shape)
            low, high = entry["limits"]
            return Explicit(domain, scope, str(entry["name"]), vector, (float(low), float(high)))
    raise ValueError(f"the kind of measurement {entry['kind']!r} is unknown")
