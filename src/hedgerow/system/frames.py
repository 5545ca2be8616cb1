"""Tables as frames of the packages that people use; neither is needed until it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hedgerow.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Tabular:
    """A table that others may want as theirs."""

    def to_arrow(self) -> pa.Table:
        """Give all rows as a table of Arrow."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Give all rows as a pandas data frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas  # noqa: F401 # Arrow needs it
        except ImportError as error:
            raise MissingExtraError("pandas is not installed", remedy="pip install 'hedgerow[pandas]'") from error
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Give all rows as a polars data frame.

        Raises:
            MissingExtraError: polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("polars is not installed", remedy="pip install 'hedgerow[polars]'") from error
        return pl.DataFrame(self.to_arrow())
