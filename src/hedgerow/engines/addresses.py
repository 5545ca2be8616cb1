"""Addresses of tables that are not single files, and quoted names, for reading and writing."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

SPARK = "spark:"
"""Prefix of the names of Spark tables, and of folders that Spark writes."""

DUCKDB_REMEDY = "write it as duckdb:///folder/file.db#table, or duckdb:file.db#table"
"""Remedy that shows how a table of a DuckDB file is named."""


@dataclass(frozen=True)
class DuckDBTable:
    """A table of a DuckDB file.

    Attributes:
        file: The database.
        name: Name of the table, perhaps with that of its schema before a dot.

    Example:
        >>> DuckDBTable(Path("census.db"), "public.people").relation
        '"public"."people"'
    """

    file: Path
    name: str

    def __str__(self) -> str:
        """The address that messages show."""
        return f"{self.file}#{self.name}"

    @property
    def parts(self) -> list[str]:
        """The names of schema and table, or of the table alone."""
        return self.name.split(".")

    @property
    def key(self) -> tuple[str, str]:
        """Schema and table as DuckDB compares names, without regard to case."""
        *schema, name = self.name.lower().split(".")
        return ".".join(schema) or "main", name

    @property
    def relation(self) -> str:
        """The table in SQL."""
        return ".".join(map(quoted, self.parts))


def is_duckdb(text: str) -> bool:
    """Whether a text names a table of a DuckDB file, or tries to.

    Example:
        >>> is_duckdb("duckdb:people.db"), is_duckdb("people.db")
        (True, False)
    """
    return text.partition(":")[0].lower() == "duckdb"


def duckdb_table(text: str) -> DuckDBTable | None:
    """The table of a DuckDB file that a text names; None if it leaves out file or table.

    Example:
        >>> print(duckdb_table("duckdb:///data/census.db#people"), duckdb_table("duckdb:census.db#people"))
        /data/census.db#people census.db#people
        >>> duckdb_table("duckdb:census.db") is None
        True
    """
    parts = urlsplit(text)
    if not is_duckdb(text) or not parts.fragment or parts.netloc or parts.query or not parts.path:
        return None
    return DuckDBTable(Path(unquote(parts.path)), unquote(parts.fragment))


def quoted(name: str) -> str:
    """A name in double quotes, as in SQL.

    Example:
        >>> quoted('marital "status"')
        '"marital ""status\"\"\"'
    """
    return '"' + name.replace('"', '""') + '"'
