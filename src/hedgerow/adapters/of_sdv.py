"""A synthesizer with the interface of SDV's for single tables, for code that is written for these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from hedgerow.domain import Domain, domain_from, read_domain
from hedgerow.errors import ConfigError
from hedgerow.synthesizer import Synthesizer

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.release import Release


class SDVSynthesizer:
    """`Synthesizer` where SDV's synthesizers for single tables stand: ``fit``, ``sample`` and conditions.

    SDV is not needed, and none of its parts looks at the data: it reads bounds and categories off them, which no budget
    covers. They come from the metadata where these have them, and from ``domain``. Tables go in and come out as SDV
    has them: a data frame, or since its version 2 a mapping of the table's name to it. Columns that identify somebody
    stay out, save that a primary key is numbered anew.

    Example:
        >>> import pandas as pd
        >>> metadata = {
        ...     "primary_key": "id",
        ...     "columns": {"id": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}, "smokes": {"sdtype": "boolean"}},
        ... }
        >>> synthesizer = SDVSynthesizer(metadata, {"sex": ["F", "M"]}, epsilon=2.0, seed=0)
        >>> people = pd.DataFrame({"id": range(400), "sex": ["F", "M"] * 200, "smokes": [True, False] * 200})
        >>> synthesizer.fit(people)
        SDVSynthesizer(epsilon=2.0, columns: sex, smokes)
        >>> synthesizer.sample(3)["id"].tolist()
        [0, 1, 2]
    """

    def __init__(
        self,
        metadata: Any,
        domain: Domain | Mapping[str, Any] | str | os.PathLike[str] | None = None,
        *,
        table: str | None = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        **options: Any,
    ) -> None:
        """Make the domain.

        Args:
            metadata: SDV's ``Metadata``, or the mapping that its ``to_dict`` gives: of one table, or of several.
            domain: A domain, the path of its file, or options of a domain file by column, which complete what the
                metadata say; see ``domain_from``.
            table: Name of the table, if the metadata are of several.
            epsilon: The budget of each fit.
            delta: Makes a fit (epsilon, delta)-private.
            options: Further arguments of `Synthesizer`.

        Raises:
            DomainError: The metadata do not say all values of a column; the remedy has the text to add.
            ConfigError: The metadata do not have the table, or an option is none.
        """
        self._name, self._metadata = _one_table(metadata, table)
        if domain is None or isinstance(domain, Mapping):
            self.domain = domain_from(self._metadata, domain)
        else:
            self.domain = domain if isinstance(domain, Domain) else read_domain(domain)
        names = list(self.domain.names)
        self._synthesizer = Synthesizer(epsilon, delta, self.domain, columns=names).set_params(**options)
        self._wraps = False

    def fit(self, data: pd.DataFrame | Mapping[str, pd.DataFrame]) -> Self:
        """Spend the budget on a private table.

        Args:
            data: The table, or a mapping that has it under its name.

        Raises:
            ConfigError: The mapping has another table, or several.
            DataError: The table does not fit the domain; nothing was spent.
        """
        self._wraps = isinstance(data, Mapping)
        frame = data
        if isinstance(data, Mapping):
            if len(data) != 1 or (self._name and self._name not in data):
                raise ConfigError(
                    f"there is not just the table {self._name!r}: {', '.join(map(repr, data))}",
                    remedy="give one table under the name that the metadata have for it",
                )
            self._name, frame = next(iter(data.items()))
        self._synthesizer.fit(frame)
        return self

    def sample(self, num_rows: int | None = None) -> Any:
        """Synthetic records, with columns in the order of the metadata.

        Args:
            num_rows: Number of records; by default the noisy number of those that were fitted.

        Raises:
            ConfigError: It was not fitted yet.
        """
        return self._told(self._synthesizer.sample(num_rows))

    def sample_from_conditions(self, conditions: Iterable[Any]) -> Any:
        """Synthetic records that meet conditions: drawn from the exact conditional, none is thrown away.

        Args:
            conditions: SDV's ``Condition`` objects: values by column, and a number of rows for each.

        Raises:
            ConfigError: It was not fitted yet, or a value is none of its column's.
            ImpossibleRowError: No record has the values.
        """
        import pandas as pd

        known = [condition.get_column_values() for condition in conditions for _ in range(condition.get_num_rows())]
        kinds = dict.fromkeys(tuple(each) for each in known)
        parts = [self._completed(pd.DataFrame([each for each in known if tuple(each) == kind])) for kind in kinds]
        return self._told(pd.concat(parts, ignore_index=True))

    def sample_remaining_columns(self, known_columns: pd.DataFrame) -> Any:
        """Complete rows whose other columns are known.

        Args:
            known_columns: Values of some columns.

        Raises:
            ConfigError: It was not fitted yet, or a value is none of its column's.
            ImpossibleRowError: No record has the values of a row.
        """
        return self._told(self._completed(known_columns))

    def get_metadata(self) -> dict[str, Any]:
        """The metadata of the table, as a mapping."""
        return dict(self._metadata)

    def get_parameters(self) -> dict[str, Any]:
        """The arguments of the `Synthesizer` behind it."""
        return self._synthesizer.get_params()

    @property
    def release_(self) -> Release:
        """The release of the last fit, which may be saved, audited and published.

        Raises:
            ConfigError: It was not fitted yet.
        """
        return self._synthesizer.release_

    def __repr__(self) -> str:
        """The budget and the columns."""
        parameters = self._synthesizer.get_params()
        settings = [f"{name}={parameters[name]!r}" for name in ("epsilon", "delta") if parameters[name] is not None]
        return f"SDVSynthesizer({', '.join(settings)}, columns: {', '.join(self.domain.names)})"

    def _completed(self, known: pd.DataFrame) -> pd.DataFrame:
        completed: pd.DataFrame = self._synthesizer.sample(given=known)
        return completed

    def _told(self, frame: pd.DataFrame) -> Any:
        key = self._metadata.get("primary_key")
        if isinstance(key, str) and key not in frame:
            frame = frame.assign(**{key: range(len(frame))})
        frame = frame[[name for name in self._metadata["columns"] if name in frame]]
        return {self._name or "table": frame} if self._wraps else frame


def _one_table(metadata: Any, table: str | None) -> tuple[str, dict[str, Any]]:
    """The name of a table, and its metadata."""
    described = metadata if isinstance(metadata, Mapping) else metadata.to_dict()
    if "tables" not in described:
        return table or "", dict(described)
    tables = described["tables"]
    name = table or (next(iter(tables)) if len(tables) == 1 else "")
    if name not in tables:
        listed = ", ".join(map(repr, tables))
        raise ConfigError(
            f"there is no table {name!r} in the metadata" if name else "the metadata are of several tables",
            remedy=f"name one of {listed}: table=",
        )
    return name, dict(tables[name])
