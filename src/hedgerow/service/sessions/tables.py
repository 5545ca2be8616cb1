"""Private tables of registered data sets: where they may be, and reading them.

The only module of the server that touches ``data/``; the tables go to the curator and nowhere else.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import numpy as np

from hedgerow.data import CountSource, ReadOptions, Table, check_apart, gathered, open_place, scan_with, select_columns
from hedgerow.domain import Domain, check_public, domain_from_mapping
from hedgerow.engines import DUCKDB_REMEDY, duckdb_table, is_duckdb
from hedgerow.errors import ConfigError, DomainError, NotAllowedError, UnreadableTableError
from hedgerow.queries import Persons, Workload
from hedgerow.release import Release

PrivateTable = CountSource
"""A table that is read here, under the only name that the rest of the server has for it."""

NAMED = "source:"
"""What the place of a table begins with that the operator of the server has named; it is counted where it is."""
_MOST_PAIRS = 500
_MOST_CELLS = 1 << 23
"""Tables of two attributes that are counted in the first pass over such a table, and kept."""
_SERVERS = ("postgresql", "postgres")
_SECRET = frozenset({"password", "sslpassword", "passfile", "service", "servicefile", "dbname"})
"""Options of an address that hold a password, or name a source of one other than the server's own."""


def domain_of(domain: Mapping[str, Any], described: Mapping[str, Any]) -> Domain:
    """The attributes of a data set: those of its domain that are read.

    Args:
        domain: Attributes and their values, as in a domain file.
        described: Description of how the table is read.

    Raises:
        DomainError: The mapping is not a domain, is a draft, has types that were trusted or known totals, or does not
            declare a column.

    Example:
        >>> domain_of({"a": ["x", "y"], "b": [1, 2]}, {"columns": ["b"]}).names
        ('b',)
    """
    declared = domain_from_mapping(domain)
    check_public(declared)
    if declared.trusted_types:
        raise DomainError(
            "its types were taken from a table and trusted, which the guarantee of a data set does not name",
            remedy="check that they are public, and delete the line 'trusted_types: true'",
        )
    if declared.known or declared.population:
        raise DomainError(
            "it has known totals, which the answers of a session do not keep",
            remedy="leave the section 'known' out, or make a release with them: hedgerow synth --known",
        )
    columns = described.get("columns")
    return declared if columns is None else declared.of_columns(columns)


def is_filtered(domain: Domain, described: Mapping[str, Any]) -> bool:
    """Whether rows may be left out by what they hold: by a condition, or because they break a rule of the domain.

    Args:
        domain: Result of `domain_of`.
        described: Description of how the table is read.

    Example:
        >>> is_filtered(domain_of({"a": ["x", "y"]}, {}), {"violations": "drop"})
        False
    """
    return ReadOptions.from_mapping(described).filters(domain)


def persons_in(described: Mapping[str, Any]) -> Persons | None:
    """The persons with several records, of which a bounded number is counted, and the weights of records.

    Args:
        described: Description of how the table is read.

    Returns:
        None if each record is somebody's own, and counts once.

    Raises:
        ConfigError: A column is named without its number, or the other way round.

    Example:
        >>> persons_in({"person": "id", "at_most": 5}).at_most
        5
    """
    return ReadOptions.from_mapping(described).persons


def checked_place(place: str, folder: Path) -> str:
    """Check the place of a table: files lie in the server's folder, and addresses hold no password.

    Args:
        place: A file or a pattern inside the folder, ``duckdb:///file.db#table`` of such a file, or
            ``postgresql://host/database#table``.
        folder: The only one that tables are read from.

    Raises:
        NotAllowedError: The file lies elsewhere.
        ConfigError: The address holds a password, or is of a kind that a server does not read.

    Example:
        >>> checked_place("people.csv", Path("/srv/tables"))
        '/srv/tables/people.csv'
        >>> checked_place("duckdb:people.db#people", Path("/srv/tables"))
        'duckdb:///srv/tables/people.db#people'
    """
    if place.partition(":")[0].lower() in _SERVERS:  # as `open_place` has it: urlsplit would skip blanks
        return _without_password(place)
    if is_duckdb(place):
        table = duckdb_table(place)
        if table is None:
            raise ConfigError("the address does not name a file and a table", remedy=DUCKDB_REMEDY)
        inside = _inside(_relative(table.file, folder), folder)
        return f"duckdb://{quote(inside)}#{quote(table.name)}"  # it is unquoted again where it is opened
    if "://" in place or place.lower().startswith("spark:"):
        raise ConfigError(
            "the server does not read tables from there",
            remedy="give a file of its data folder, duckdb:///file.db#table or postgresql://host/database#table",
        )
    return _inside(place, folder)


def _relative(file: Path, folder: Path) -> str:
    """``duckdb:///people.db`` is the file of that name in the folder; a path that lies there stays as it is."""
    within = file.is_relative_to(folder.resolve()) or not file.is_absolute()
    return str(file) if within else str(file).lstrip("/")


def _inside(name: str, folder: Path) -> str:
    root = folder.resolve()
    found = (root / name).resolve()
    if not found.is_relative_to(root) or ".." in Path(name).parts:
        raise NotAllowedError(
            "tables are read from the server's data folder only",
            remedy="put the file there, or upload it, and give its name; or start the server with another --data",
        )
    return str(found)


def _without_password(address: str) -> str:
    parts = urlsplit(address)
    options = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if parts.password is not None or ":" in parts.netloc.rpartition("@")[0] or options & _SECRET:
        raise ConfigError(
            "an address with a password would be kept in the store",
            remedy="leave it out, and give it to the server's process by a file (PGPASSFILE)",
        )
    return address


def read_private(
    described: Mapping[str, Any],
    domain: Domain,
    folder: Path,
    *,
    sources: Mapping[str, str] = MappingProxyType({}),
    before_rows: Callable[[], object] = lambda: None,
) -> PrivateTable:
    """Read a private table, to hand it to the curator: into memory, or where it is if the operator has named it.

    Args:
        described: Its place (``place``) and how to read it (``columns``, ``count_column``, ``coded``, ``where``,
            ``violations``, ``person``, ``at_most``, ``weight``, ``largest_weight``).
        domain: Result of `domain_of`.
        folder: See `checked_place`.
        sources: Addresses of tables that are counted where they are, by the names that their places have after
            ``source:``. Nobody over HTTP can add one.
        before_rows: Called when the columns have been checked, before the first row is read.

    Raises:
        DataError: The table cannot be read, or does not fit the domain. Its message may name rows and their number: it
            is for the custodian's eyes.
        QueryError: The condition on rows may look at more than one row.
        NotAllowedError, ConfigError: See `checked_place`.
        MissingExtraError: The package that reads it is not installed.
    """
    options = ReadOptions.from_mapping(described)
    place = str(described["place"])
    if place.startswith(NAMED):
        return _in_place(place.removeprefix(NAMED), domain, options, sources, before_rows)
    place = checked_place(place, folder)
    reader = open_place(place, options.where, domain.layout.file)
    check_apart(options.where, options.count_column, reader.file)
    coding = select_columns(reader, domain, options)
    before_rows()
    return gathered(reader, coding)


def _in_place(
    name: str,
    domain: Domain,
    options: ReadOptions,
    sources: Mapping[str, str],
    before_rows: Callable[[], object],
) -> PrivateTable:
    """A table that stays where it is; all its records are looked at now, so what is wrong is told before any charge.

    The same pass counts the tables of pairs of attributes, from which a first release is made and most questions are
    answered. Others cost a statement of the engine each, or a pass.
    """
    if name not in sources:
        raise UnreadableTableError(
            f"this server has no source named {name!r}",
            file=f"{NAMED}{name}",
            remedy="its operator names sources by --sources; or put the table into the data folder",
        )
    there = scan_with(sources[name], domain, options)
    before_rows()
    pairs = list(combinations(there.domain.names, 2))
    if 0 < len(pairs) <= _MOST_PAIRS and sum(there.domain.cells(pair) for pair in pairs) <= _MOST_CELLS:
        there.prepare(Workload.marginals(there.domain, 2))
    there.count()
    return there


def earlier_release(described: Mapping[str, Any], folder: Path) -> Release | None:
    """The release of the same table that a session starts from, if one was named.

    Args:
        described: Description of the table; its ``warm`` is the name of a file in the folder.
        folder: See `checked_place`.

    Raises:
        ReleaseError: There is no such file, or it is not a release.
        NotAllowedError: It lies elsewhere.

    Example:
        >>> earlier_release({"place": "people.csv"}, Path("/srv/tables")) is None
        True
    """
    name = described.get("warm")
    return None if name is None else Release.load(_inside(str(name), folder))


def no_records(domain: Domain, persons: Persons | None = None) -> PrivateTable:
    """A table without records, for a closed data set, whose data are not looked at any more.

    Args:
        domain: Domain of the data set.
        persons: Persons whose records were bounded.

    Example:
        >>> no_records(domain_of({"a": ["x", "y"]}, {})).total()
        0
    """
    return made_up(domain, 0, persons)


def made_up(domain: Domain, n: int, persons: Persons | None = None) -> PrivateTable:
    """A table of equal records, to try something out with.

    Args:
        domain: Domain of the records.
        n: Number of records.
        persons: Persons whose records are bounded.

    Example:
        >>> made_up(domain_of({"a": ["x", "y"]}, {}), 3).total()
        3
    """
    return Table(domain, [np.zeros(n, dtype=np.uint8) for _ in domain], persons=persons)
