"""Models and measurements as JSON values and arrays: for release files, session files and the server's store.

A histogram is ``base * exp(sum of small tables and steps)``. The tables take kilobytes where the histogram itself may
take hundreds of megabytes; the base is kept only where there is one. Where all cells of the domain do not fit into
memory, the same product is built over a junction tree. An empirical model is kept as its records, an overlay as the
product below it, the sets of attributes of its tables, and the coefficients of their parts. ``"kind"`` tells them
apart; entries without it hold potentials.

Sets of codes are kept as runs, and explicit queries whose values are all 0 or 1, as those of conditions are, as bits: a
query that is short to ask stays short in the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, CodeSet, Domain
from hedgerow.errors import ConfigError, DamagedReleaseError, ReleaseError
from hedgerow.models import (
    LARGEST_OVERLAY,
    Empirical,
    HasPotentials,
    Markov,
    Model,
    Overlay,
    Potentials,
    ResidualBasis,
    can_hold_table,
    table_cells,
)
from hedgerow.queries import (
    Blocks,
    Conjunction,
    Explicit,
    LostWeight,
    Marginal,
    Measurable,
    Measurement,
    NoiseKind,
    Parity,
    Positions,
    Weight,
    WeightPower,
    WeightSum,
    filled_axes,
)

if TYPE_CHECKING:
    from hedgerow.models import Histogram, ValueClasses

    Product = Histogram | Markov | ValueClasses

Arrays = dict[str, NDArray[Any]]

TABLES = "model_tables"
STEPS = "model_steps"
BASE = "model_base"
RECORDS = "model_records"
LOG_WEIGHTS = "model_log_weights"
SCOPES = "model_scopes"
"""Attributes of the tables of an overlay: positions in the domain, then -1 to fill up."""
COEFFICIENTS = "model_coefficients"
VALUES = "measured_values"
VECTORS = "measured_vectors"
BITS = "measured_bits"
"""Explicit queries of zeros and ones, eight cells a byte, each from a byte of its own on."""


def model_to_dict(model: Model | StoredModel | Potentials) -> tuple[dict[str, Any], Arrays]:
    """Take a model, or its state, apart; all tables stand in one array, and all steps or records in another.

    Raises:
        ReleaseError: There is no file format for this kind of model.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.models import Histogram
        >>> model = Histogram(Domain((IntegerRange("a", 0, 1),)), 8.0)
        >>> model.update(Conjunction.where(model.domain, {"a": [1]}), np.log(3.0))
        >>> entry, arrays = model_to_dict(model)
        >>> entry["steps"], arrays["model_steps"].round(3).tolist()
        ([{'scope': ['a'], 'codes': [[1]]}], [1.099])
    """
    state = model.state() if isinstance(model, StoredModel) else model
    if isinstance(state, Empirical):
        logs = state.log_weights
        arrays: Arrays = {RECORDS: state.codes} | ({} if logs is None else {LOG_WEIGHTS: logs})
        return {"kind": "records", "records": len(state.codes), "weighted": logs is not None}, arrays
    if isinstance(state, Overlay):
        entry, arrays = _potentials_to_dict(state.tree.potentials())
        scopes = filled_axes(map(state.domain.axes, state.parts.scopes)).astype(np.int32)
        arrays |= {SCOPES: scopes, COEFFICIENTS: state.coefficients}
        return {**entry, "kind": "overlay", "scopes": list(scopes.shape)}, arrays
    if isinstance(state, Potentials):
        return _potentials_to_dict(state)
    if isinstance(state, HasPotentials):
        return _potentials_to_dict(state.potentials())
    raise ReleaseError(
        f"a {type(model).__name__} cannot be saved",
        remedy="release a Histogram, a Markov, a ValueClasses, an Overlay or an Empirical hypothesis",
    )


def _records_from_dict(entry: Mapping[str, Any], reader: _Reader, domain: Domain, total: float) -> Empirical:
    n = int(entry["records"])
    codes = np.asarray(reader.arrays[RECORDS])
    if len(codes) != n:
        raise ValueError(f"the array {RECORDS} holds {len(codes):,} records where {n:,} belong")
    return Empirical(domain, total, codes, reader.floats(LOG_WEIGHTS, (n,)) if entry["weighted"] else None)


def _overlay_from_dict(entry: Mapping[str, Any], reader: _Reader, domain: Domain, total: float) -> Overlay:
    rows, widest = (int(number) for number in entry["scopes"])
    axes = np.asarray(reader.arrays[SCOPES])
    if axes.size != rows * widest or axes.dtype.kind not in "iu":
        raise ValueError(f"the array {SCOPES} holds {axes.size:,} values where {rows * widest:,} belong")
    names = domain.names
    listed = [[axis for axis in row if axis != -1] for row in axes.reshape(rows, widest).tolist()]
    if not all(row and row == sorted(set(row)) and row[0] >= 0 and row[-1] < len(names) for row in listed):
        raise ValueError(f"the array {SCOPES} holds a row that is no set of attributes")
    scopes = [tuple(names[axis] for axis in row) for row in listed]
    if not all(can_hold_table(domain, scope) for scope in scopes) or table_cells(domain, scopes) > LARGEST_OVERLAY:
        raise ValueError("the tables of the model are too large")
    parts = ResidualBasis(domain, scopes)
    tree = Markov.from_potentials(domain, total, _potentials_from_dict(entry, reader, domain))
    return Overlay(tree, parts, reader.floats(COEFFICIENTS, (parts.size,)))


def _potentials_to_dict(potentials: Potentials) -> tuple[dict[str, Any], Arrays]:
    arrays = _joined({TABLES: list(potentials.tables.values()), STEPS: [np.array([*potentials.steps.values()])]})
    if potentials.base is not None:
        arrays[BASE] = potentials.base
    steps = [{"scope": list(q.scope), "codes": [codes.to_json() for codes in q.codes]} for q in potentials.steps]
    tables = [list(clique) for clique in potentials.tables]
    return {"kind": "potentials", "tables": tables, "steps": steps, "base": potentials.base is not None}, arrays


def _potentials_from_dict(entry: Mapping[str, Any], reader: _Reader, domain: Domain) -> Potentials:
    cliques = [domain.clique(names) for names in entry["tables"]]
    tables = {clique: reader.floats(TABLES, domain.shape_of(clique)) for clique in cliques}
    queries = [
        Conjunction(domain, domain.clique(step["scope"]), tuple(map(CodeSet.from_json, step["codes"])))
        for step in entry["steps"]
    ]
    amounts = reader.floats(STEPS, (len(queries),)).tolist()
    base = reader.floats(BASE, domain.shape) if entry["base"] else None
    if base is not None and not (base >= 0.0 if domain.constraints else base > 0.0).all():
        raise ValueError("the base of the model is not positive")
    return Potentials(tables, dict(zip(queries, amounts, strict=True)), base)


def _joined(pieces: Mapping[str, Sequence[NDArray[Any]]]) -> Arrays:
    """Pieces of arrays one after the other, without the arrays that hold nothing."""
    joined = {name: np.concatenate([each.reshape(-1) for each in some]) for name, some in pieces.items() if some}
    return {name: array for name, array in joined.items() if array.size}


class _Reader:
    """Consecutive pieces of arrays, each of which is opened when its first piece is read."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = arrays
        self._rest: dict[str, NDArray[Any]] = {}

    def take(self, name: str, size: int) -> NDArray[Any]:
        if size and name not in self._rest:
            self._rest[name] = np.asarray(self.arrays[name]).reshape(-1)
        rest = self._rest.get(name, np.zeros(0))
        if size > rest.size:
            raise ValueError(f"the array {name} holds fewer values than belong there")
        self._rest[name] = rest[size:]
        return rest[:size]

    def floats(self, name: str, shape: tuple[int, ...]) -> Floats:
        values = np.asarray(self.take(name, math.prod(shape)), dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"the array {name} holds a value that is not finite")
        return values.reshape(shape)

    def finish(self) -> None:
        if left := [name for name, rest in self._rest.items() if rest.size]:
            raise ValueError(f"the array {left[0]} holds more values than belong there")


def _product(domain: Domain, total: float, state: Potentials) -> Product:
    """The form that costs less: every cell, or a product over junction trees; with a base, every cell.

    That product is over classes of values where conditions speak of attributes of very many.
    """
    from hedgerow.models import LARGE_ATTRIBUTE, Histogram, ValueClasses, is_dense

    named = {name for query in state.steps for name in query.scope}
    if state.base is None and any(domain[name].size > LARGE_ATTRIBUTE for name in named):
        return ValueClasses.from_potentials(domain, total, state)
    scopes = [*state.tables, *(query.scope for query in state.steps)]
    if state.base is None and not is_dense(domain, scopes):
        return Markov.from_potentials(domain, total, state)
    return Histogram.from_potentials(domain, total, state)


@dataclass(frozen=True)
class StoredModel:
    """A model as it stands in a file; reading a release costs nothing of building it.

    Attributes:
        domain: Domain of the model.
        total: Mass, in counts.
        entry: The JSON values that ``model_to_dict`` gave.
        arrays: The arrays that it gave, by name; read when the model is built.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> entry = {"tables": [["a"]], "steps": [], "base": False}
        >>> tables = {"model_tables": np.log([1.0, 3.0])}
        >>> model = StoredModel(Domain((IntegerRange("a", 0, 1),)), 8.0, entry, tables).build()
        >>> model.marginals([("a",)])[0].round(9).tolist()
        [2.0, 6.0]
    """

    domain: Domain
    total: float
    entry: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def build(self) -> Product | Empirical | Overlay:
        """Build the model.

        Raises:
            DamagedReleaseError: The file is damaged where the model stands.
            ModelTooLargeError: The model does not fit into memory.
        """
        state = self.state()
        return _product(self.domain, self.total, state) if isinstance(state, Potentials) else state

    def state(self) -> Potentials | Empirical | Overlay:
        """The records, the tables over a tree, or the factors of the product; no histogram is built.

        Raises:
            DamagedReleaseError: The file is damaged where the model stands.
        """
        try:
            reader, kind = _Reader(self.arrays), self.entry.get("kind", "potentials")
            state: Potentials | Empirical | Overlay
            match kind:
                case "records":
                    state = _records_from_dict(self.entry, reader, self.domain, self.total)
                case "overlay":
                    state = _overlay_from_dict(self.entry, reader, self.domain, self.total)
                case "potentials":
                    state = _potentials_from_dict(self.entry, reader, self.domain)
                case _:
                    raise ValueError(f"there is no model of kind {kind!r}")
            reader.finish()
        except (AttributeError, ConfigError, KeyError, TypeError, ValueError) as error:
            raise DamagedReleaseError(
                f"the model of the release does not fit its domain ({str(error).splitlines()[0]})",
                remedy="use the file as 'hedgerow synth --release' or Release.save wrote it",
            ) from error
        return state


def measurements_to_list(measurements: Sequence[Measurement]) -> tuple[list[dict[str, Any]], Arrays]:
    """Take measurements apart; all their values stand in one array, all explicit queries in another one or two.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> marginal = Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",))
        >>> measurements_to_list([Measurement(marginal, np.array([3.0, 4.0]), NoiseKind.LAPLACE, 2.0)])
        ([{'target': {'kind': 'marginal', 'scope': ['a']}, 'noise': 'laplace', 'scale': 2.0}],
         {'measured_values': array([3., 4.])})
    """
    entries, arrays = measurements_streamed(measurements)
    return list(entries), arrays


def measurements_streamed(measurements: Sequence[Measurement]) -> tuple[Iterator[dict[str, Any]], Arrays]:
    """The same with entries that are made one at a time, for files of very many measurements.

    Args:
        measurements: The measurements.

    Example:
        >>> next(measurements_streamed([])[0], None) is None
        True
    """
    pieces: dict[str, list[NDArray[Any]]] = {VALUES: [each.values for each in measurements], VECTORS: [], BITS: []}
    for each in measurements:
        if not isinstance(each.target, Marginal):  # these have no arrays of their own
            _target_to_dict(each.target, pieces)
    unused: dict[str, list[NDArray[Any]]] = {VECTORS: [], BITS: []}
    entries = (
        {"target": _target_to_dict(each.target, unused), "noise": each.noise.value, "scale": each.scale}
        for each in measurements
    )
    return entries, _joined(pieces)


def measurements_from_list(
    entries: Iterable[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]], domain: Domain
) -> tuple[Measurement, ...]:
    """Put measurements together again; what ``measurements_to_list`` took apart.

    Raises:
        KeyError, TypeError, ValueError: An entry has another shape, or an array another length.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> entries = [{"target": {"kind": "marginal", "scope": ["a"]}, "noise": "laplace", "scale": 2.0}]
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> measurements_from_list(entries, {"measured_values": np.array([3.0, 4.0])}, domain)[0].target.text
        'a'
    """
    reader = _Reader(arrays)
    measurements = []
    for entry in entries:
        told = entry["target"]
        beside = told["kind"] in ("lost", "weights")  # of a column that the domain does not have
        target = _of_weights(told) if beside else _target_from_dict(told, reader, domain)
        values = reader.floats(VALUES, (target.size,))
        measurements.append(Measurement(target, values, NoiseKind(entry["noise"]), float(entry["scale"])))
    reader.finish()
    return tuple(measurements)


def _target_to_dict(target: Measurable, pieces: Mapping[str, list[NDArray[Any]]]) -> dict[str, Any]:  # noqa: PLR0911
    entry: dict[str, Any] = {"scope": list(target.scope)}
    match target:
        case Marginal(within=None):
            if any(target.domain.function(name) is not None for name in target.scope):
                entry["cells"] = target.size  # the attributes of the file do not tell how many cells levels have
            return {"kind": "marginal", **entry}
        case Marginal(within=Conjunction() as condition):
            return {"kind": "marginal", **entry, "within": _target_to_dict(condition, pieces), "cells": target.size}
        case Blocks():
            pieces[VECTORS].append(target.places.astype(np.float64))
            about = {"about": target.about} if target.about else {}
            return {"kind": "blocks", **entry, "cells": target.size, **about}
        case Positions():
            by = {"column": target.column} if len(target.scope) > 1 else {}
            return {"kind": target.form, **entry, "cells": target.size, **by}
        case Conjunction():
            return {"kind": "conjunction", **entry, "codes": [codes.to_json() for codes in target.codes]}
        case Parity():
            return {"kind": "parity", **entry}
        case LostWeight():
            return {"kind": "lost", **entry, "cap": target.weight.largest, "possible": target.possible}
        case WeightPower():
            return {"kind": "weights", **entry, "cap": target.weight.largest, "power": target.power}
        case Explicit():
            has_bits = bool(((target.vector == 0.0) | (target.vector == 1.0)).all())
            pieces[BITS if has_bits else VECTORS].append(
                np.packbits(target.vector != 0.0) if has_bits else target.vector
            )
            bits = {"bits": True} if has_bits else {}
            return {"kind": "explicit", **entry, "name": target.name, "limits": list(target.limits), **bits}
    raise ReleaseError(f"a release cannot hold a measurement of {type(target).__name__}")


def _of_weights(entry: Mapping[str, Any]) -> WeightSum:
    (column,) = entry["scope"]
    weight = Weight(str(column), int(entry["cap"]))
    if entry["kind"] == "lost":
        return LostWeight(weight, int(entry["possible"]))
    return WeightPower(weight, int(entry["power"]))


def _blocks(entry: Mapping[str, Any], reader: _Reader, domain: Domain, scope: Clique) -> Blocks:
    shape = domain.shape_of(scope)
    places = reader.floats(VECTORS, shape)
    if not ((places >= 0.0) & (places < places.size) & (places == np.floor(places))).all():
        raise ValueError("blocks of a measurement are not numbered")
    blocks = Blocks(domain, scope, places.astype(np.int64), str(entry.get("about", "")))
    if blocks.size != entry["cells"]:
        raise ValueError(f"a measurement of {entry['cells']} blocks has {blocks.size}")
    return blocks


def _target_from_dict(entry: Mapping[str, Any], reader: _Reader, domain: Domain) -> Measurable:
    scope = domain.clique(entry["scope"])
    match entry["kind"]:
        case "marginal":
            within = _target_from_dict(entry["within"], reader, domain) if "within" in entry else None
            if not (within is None or isinstance(within, Conjunction)):
                raise ValueError("the part of a marginal is not given by a condition")
            return Marginal(domain, scope, within)
        case "blocks":
            return _blocks(entry, reader, domain, scope)
        case "positions" | "moments" | "products" as kind:
            other = scope[1] if kind == "products" else ""
            return Positions(domain, scope, str(entry.get("column", "")), whole=kind == "moments", other=other)
        case "conjunction":
            return Conjunction(domain, scope, tuple(map(CodeSet.from_json, entry["codes"])))
        case "parity":
            return Parity(domain, scope)
        case "explicit":
            shape = domain.shape_of(scope)
            size = math.prod(shape)
            if entry.get("bits", False):
                packed = np.asarray(reader.take(BITS, -(-size // 8)), dtype=np.uint8)
                vector = np.unpackbits(packed, count=size).astype(np.float64)
            else:
                vector = reader.floats(VECTORS, shape)
            low, high = entry["limits"]
            return Explicit(domain, scope, str(entry["name"]), vector.reshape(shape), (float(low), float(high)))
    raise ValueError(f"the kind of measurement {entry['kind']!r} is unknown")
