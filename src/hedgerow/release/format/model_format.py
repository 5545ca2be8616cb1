"""The model as JSON values and arrays, and a model that is built from them when it is first used.

A histogram is ``base * exp(sum of small tables and steps)``. Saving the tables takes kilobytes where the histogram
itself may take hundreds of megabytes; the base is saved only where there is one. Where all cells of the domain do not
fit into memory, the same product is built over a junction tree. An empirical hypothesis is saved as its records.
``"kind"`` says which of the two stands in the file; files without it hold potentials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError, DamagedReleaseError, ReleaseError
from hedgerow.models import Codes, Empirical, HasPotentials, Model, Potentials, SamplingMethod
from hedgerow.queries import CodeSet, Conjunction, LinearQuery
from hedgerow.system import Seed

if TYPE_CHECKING:
    from hedgerow.models import Histogram, Markov, ValueClasses

    Product = Histogram | Markov | ValueClasses

Arrays = dict[str, NDArray[Any]]

TABLES = "model_tables"
STEPS = "model_steps"
BASE = "model_base"
RECORDS = "model_records"
LOG_WEIGHTS = "model_log_weights"


def model_to_dict(model: Model | Potentials) -> tuple[dict[str, Any], Arrays]:
    """Take a model, or its state, apart; all tables stand in one array, and all steps or records in another.

    Raises:
        ReleaseError: The model is of a kind that has no file format.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.models.dense.histogram import Histogram
        >>> model = Histogram(Domain((IntegerRange("a", 0, 1),)), 8.0)
        >>> model.update(Conjunction.where(model.domain, {"a": [1]}), np.log(3.0))
        >>> entry, arrays = model_to_dict(model)
        >>> entry["steps"], arrays["model_steps"].round(3).tolist()
        ([{'scope': ['a'], 'codes': [[1]]}], [1.099])
    """
    state = model.state() if isinstance(model, StoredModel) else model
    if isinstance(state, Empirical):
        return _records_to_dict(state)
    if isinstance(state, Potentials):
        return _potentials_to_dict(state)
    if isinstance(state, HasPotentials):
        return _potentials_to_dict(state.potentials())
    raise ReleaseError(
        f"a {type(model).__name__} cannot be saved",
        remedy="release a Histogram, a Markov, a ValueClasses or an Empirical hypothesis",
    )


def _records_to_dict(model: Empirical) -> tuple[dict[str, Any], Arrays]:
    logs = model.log_weights
    arrays: Arrays = {RECORDS: model.codes}
    if logs is not None:
        arrays[LOG_WEIGHTS] = logs
    return {"kind": "records", "records": len(model.codes), "weighted": logs is not None}, arrays


def _records_from_dict(
    entry: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], domain: Domain, total: float
) -> Empirical:
    n = int(entry["records"])
    codes = np.asarray(arrays[RECORDS])
    if len(codes) != n:
        raise ValueError(f"the array {RECORDS} holds {len(codes):,} records where {n:,} belong")
    return Empirical(domain, total, codes, _array(arrays, LOG_WEIGHTS, n) if entry["weighted"] else None)


def _potentials_to_dict(potentials: Potentials) -> tuple[dict[str, Any], Arrays]:
    arrays: Arrays = {}
    if potentials.tables:
        arrays[TABLES] = np.concatenate([table.reshape(-1) for table in potentials.tables.values()])
    if potentials.steps:
        arrays[STEPS] = np.array(list(potentials.steps.values()), dtype=np.float64)
    if potentials.base is not None:
        arrays[BASE] = potentials.base
    steps = [{"scope": list(q.scope), "codes": [codes.to_json() for codes in q.codes]} for q in potentials.steps]
    tables = [list(clique) for clique in potentials.tables]
    return {"kind": "potentials", "tables": tables, "steps": steps, "base": potentials.base is not None}, arrays


def _potentials_from_dict(entry: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], domain: Domain) -> Potentials:
    cliques = [domain.clique(names) for names in entry["tables"]]
    sizes = [domain.project(clique).size for clique in cliques]
    flat = _array(arrays, TABLES, sum(sizes))
    parts = np.split(flat, np.cumsum(sizes)[:-1]) if cliques else []
    tables = {clique: part.reshape(domain.shape_of(clique)) for clique, part in zip(cliques, parts, strict=True)}
    queries = [
        Conjunction(domain, domain.clique(step["scope"]), tuple(map(CodeSet.from_json, step["codes"])))
        for step in entry["steps"]
    ]
    amounts = _array(arrays, STEPS, len(queries)).tolist()
    base = _array(arrays, BASE, domain.size).reshape(domain.shape) if entry["base"] else None
    if base is not None and not (base > 0.0).all():
        raise ValueError("the base of the model is not positive")
    return Potentials(tables, dict(zip(queries, amounts, strict=True)), base)


def _array(arrays: Mapping[str, NDArray[Any]], name: str, size: int) -> Floats:
    if not size:
        return np.zeros(0)
    array = np.asarray(arrays[name], dtype=np.float64).reshape(-1)
    if array.size != size or not np.isfinite(array).all():
        raise ValueError(f"the array {name} holds {array.size:,} values where {size:,} finite ones belong")
    return array


def _product(domain: Domain, total: float, state: Potentials) -> Product:
    """The form that costs less: every cell, or a product over junction trees; with a base, every cell.

    That product is over classes of values where conditions speak of attributes of very many.
    """
    from hedgerow.models import LARGE_ATTRIBUTE, Histogram, Markov, ValueClasses, is_dense

    named = {name for query in state.steps for name in query.scope}
    if state.base is None and any(domain[name].size > LARGE_ATTRIBUTE for name in named):
        return ValueClasses.from_potentials(domain, total, state)
    scopes = [*state.tables, *(query.scope for query in state.steps)]
    if state.base is None and not is_dense(domain, scopes):
        return Markov.from_potentials(domain, total, state)
    return Histogram.from_potentials(domain, total, state)


class StoredModel:
    """A model in a file, built when it is first used; looking at a release costs nothing of that.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> entry = {"tables": [["a"]], "steps": [], "base": False}
        >>> tables = {"model_tables": np.log([1.0, 3.0])}
        >>> model = StoredModel(Domain((IntegerRange("a", 0, 1),)), 8.0, entry, tables)
        >>> model.is_built, model.marginals([("a",)])[0].round(9).tolist(), model.is_built
        (False, [2.0, 6.0], True)
    """

    def __init__(
        self,
        domain: Domain,
        total: float,
        entry: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        built: Product | Empirical | None = None,
    ) -> None:
        """Remember where the state is.

        Args:
            domain: The domain.
            total: Mass, in counts.
            entry: What ``model_to_dict`` gave, through JSON.
            arrays: Its arrays; read when the model is built.
            built: The model, if it was built already.
        """
        self._domain = domain
        self._total = total
        self._entry = entry
        self._arrays = arrays
        self._built = built

    @property
    def is_built(self) -> bool:
        """Whether the model was used."""
        return self._built is not None

    @property
    def model(self) -> Product | Empirical:
        """The model.

        Raises:
            DamagedReleaseError: The file is damaged where the model stands.
            ModelTooLargeError: It does not fit into memory.
        """
        if self._built is None:
            state = self._stored()
            self._built = state if isinstance(state, Empirical) else _product(self._domain, self._total, state)
        return self._built

    @property
    def domain(self) -> Domain:
        """The domain of the records."""
        return self._domain

    @property
    def total(self) -> float:
        """Mass of the hypothesis, in counts."""
        return self._total

    @property
    def cheap_cells(self) -> int:
        """Largest table, in cells, that the model gives at little cost."""
        return self.model.cheap_cells

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """One table per clique, in counts."""
        return self.model.marginals(cliques)

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, in counts."""
        return self.model.conjunctions(queries)

    def update(self, query: LinearQuery, step: float) -> None:
        """As in ``Model``; the file is not changed."""
        self.model.update(query, step)

    def reweigh(self, clique: Clique, log_factors: Floats) -> None:
        """As in ``Model``; the file is not changed."""
        self.model.reweigh(clique, log_factors)

    def reset(self) -> None:
        """Undo all updates."""
        self.model.reset()

    def copy(self) -> Self:
        """A model in the same state that shares nothing which changes."""
        return type(self)(self._domain, self._total, self._entry, self._arrays, self._built and self._built.copy())

    def state(self) -> Potentials | Empirical:
        """What is to be saved; no histogram is built for it.

        Raises:
            DamagedReleaseError: The file is damaged where the model stands.
        """
        if self._built is None:
            return self._stored()
        return self._built if isinstance(self._built, Empirical) else self._built.potentials()

    def _stored(self) -> Potentials | Empirical:
        try:
            kind = self._entry.get("kind", "potentials")
            if kind == "records":
                return _records_from_dict(self._entry, self._arrays, self._domain, self._total)
            if kind != "potentials":
                raise ValueError(f"there is no model of kind {kind!r}")
            return _potentials_from_dict(self._entry, self._arrays, self._domain)
        except (AttributeError, ConfigError, KeyError, TypeError, ValueError) as error:
            raise DamagedReleaseError(
                f"the model of the release does not fit its domain ({str(error).splitlines()[0]})",
                remedy="use the file as 'hedgerow synth --release' or Release.save wrote it",
            ) from error

    def sample(self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC) -> Codes:
        """Exactly n records, in random order."""
        return self.model.sample(n, seed, method)

    def sample_blocks(
        self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC
    ) -> Iterator[Codes]:
        """Exactly n records, in blocks of bounded size."""
        return self.model.sample_blocks(n, seed, method)
