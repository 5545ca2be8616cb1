"""A synthesizer that is fitted and sampled, as scikit-learn's pipelines and benchmarks of synthetic data expect."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self

from hedgerow.domain import Domain
from hedgerow.errors import ConfigError
from hedgerow.queries import Neighbours
from hedgerow.synthesis import Synthesis, synthesize

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm
    from hedgerow.domain import Known
    from hedgerow.privacy import Budget, Register
    from hedgerow.release import Release
    from hedgerow.system import Seed


@dataclass(repr=False, eq=False)
class Synthesizer:
    """`synthesize` with its arguments kept: each ``fit`` spends the whole budget, and ``sample`` spends nothing.

    It follows scikit-learn's conventions without needing scikit-learn: ``clone``, ``get_params`` and ``set_params``
    work, and what a fit has made ends in an underscore. Every fit spends the full budget, also those of a grid search.
    The arguments are kept as they are; ``fit`` checks them.

    Attributes:
        epsilon: See `synthesize`, and so for all of them.
        delta: Makes a fit (epsilon, delta)-private.
        domain: The values that each column could hold.
        budget: A budget of another kind.
        neighbours: The change that one person can make.
        register: Register of the table, which adds the fits up.
        workload: Queries that you need to be accurate.
        mechanism: Name of an algorithm, or a configured one.
        optimize_for: What ``mwem`` makes as good as it can: records, or answers alone.
        accept_draft: Whether a draft is taken for the domain.
        columns: Use these columns only.
        known: Public totals that release and records keep exactly.
        count_column: Column that says how many records a row stands for.
        violations: Whether records that break a rule are refused or left out.
        person: Column that says who a record belongs to.
        at_most: Number of records of a person that are counted.
        weight: Column that says how often a record counts.
        largest_weight: The largest weight that counts.
        possible_weight: The largest weight that a record can have; what the cap takes away is then measured.
        design_effect: Whether the design effect of unequal weights is measured.
        fractional_weights: Whether weights may be fractions.
        seed: NOT PRIVATE: noise that can be drawn again, and seed of the records.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow import Synthesizer
        >>> synthesizer = Synthesizer(epsilon=5.0, domain={"sex": ["F", "M"]}, seed=0)
        >>> synthesizer
        Synthesizer(epsilon=5.0, domain={'sex': ['F', 'M']}, seed=0)
        >>> synthesizer.fit(pa.table({"sex": ["F", "M"] * 50})).sample(3).num_rows
        3
    """

    epsilon: float = 1.0
    delta: float | None = None
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str] | None = None
    _: KW_ONLY
    budget: Budget | None = None
    neighbours: Neighbours | str = "add-remove"
    register: Register | None = None
    workload: str | None = None
    mechanism: str | Algorithm = "mwem"
    optimize_for: Literal["records", "answers"] = "records"
    accept_draft: bool = False
    columns: Iterable[str] | None = None
    known: Iterable[Known] = ()
    count_column: str | None = None
    violations: Literal["refuse", "drop"] = "refuse"
    person: str | None = None
    at_most: int | None = None
    weight: str | None = None
    largest_weight: int | None = None
    possible_weight: int | None = None
    design_effect: bool = False
    fractional_weights: bool = False
    seed: int | None = None
    _made: Synthesis | None = field(default=None, init=False)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments by name.

        Args:
            deep: There for scikit-learn; no argument holds arguments of its own.
        """
        return {name: getattr(self, name) for name in _DEFAULTS}

    def set_params(self, **params: Any) -> Self:
        """Replace arguments; a fit that was made stays until the next one.

        Args:
            params: New values by name.

        Raises:
            ConfigError: There is no such argument; nothing was replaced.
        """
        unknown = [name for name in params if name not in _DEFAULTS]
        if unknown:
            message = f"a synthesizer has no argument {unknown[0]!r}"
            raise ConfigError(message, remedy=f"it has: {', '.join(_DEFAULTS)}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: None = None) -> Self:
        """Spend the budget on a private table.

        Args:
            X: The table; see `synthesize`.
            y: There for scikit-learn; a table has all its columns in ``X``.

        Raises:
            ConfigError: There is a ``y``; otherwise see `synthesize`.
        """
        if y is not None:
            raise ConfigError("a separate target is not protected", remedy="make it a column of X, and leave y out")
        self._made = synthesize(X, **self.get_params())
        return self

    def sample(self, n: int | None = None, *, seed: Seed = None, given: Any = None) -> Any:
        """Synthetic records in the kind of table that was fitted.

        Args:
            n: Number of records; by default the noisy number of those in the table.
            seed: Seed of the drawing; that of the synthesizer by default.
            given: A condition that all records meet, or rows to complete; see ``Release.sample``.

        Raises:
            ConfigError: It was not fitted yet.
        """
        return self.synthesis_.sample(n, seed=self.seed if seed is None else seed, given=given)

    @property
    def synthesis_(self) -> Synthesis:
        """The outcome of the last fit.

        Raises:
            ConfigError: It was not fitted yet.
        """
        if self._made is None:
            raise ConfigError("the synthesizer was not fitted yet", remedy="call fit(table) first, which spends")
        return self._made

    @property
    def release_(self) -> Release:
        """Its release.

        Raises:
            ConfigError: It was not fitted yet.
        """
        return self.synthesis_.release

    def __repr__(self) -> str:
        """The arguments that differ from their defaults."""
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value != _DEFAULTS[name]]
        return f"Synthesizer({', '.join(given)})"


_DEFAULTS = {each.name: each.default for each in fields(Synthesizer) if each.init}
"""Arguments and their defaults, in order."""
