"""A PostgreSQL server of their own for all tests of a process that need one, and databases of it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

_NAMES = (f"store_{number}" for number in count())


@pytest.fixture(scope="session")
def postgresql_address() -> Iterator[str]:
    """The address of a database that all tests share."""
    if shutil.which("pg_ctl") is None:
        pytest.skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        with postgresql_server(Path(folder)) as address:
            yield address


@pytest.fixture
def new_postgresql_database(postgresql_address: str) -> Iterator[str]:
    """The address of an empty database that is dropped after the test."""
    with database_of(postgresql_address) as address:
        yield address


@contextmanager
def database_of(address: str) -> Iterator[str]:
    """An empty database beside another one, for a while."""
    import psycopg

    name = next(_NAMES)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
    try:
        yield address.replace("/postgres?", f"/{name}?")
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def postgresql_server(folder: Path) -> Iterator[str]:
    """A server of its own for a while, reached through a socket in a folder; yields its address."""
    data = folder / "data"
    user = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name  # PostgreSQL refuses to run as root

    def call(*words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, user=user, cwd="/", extra_groups=[])

    data.mkdir()
    shutil.chown(data, user)
    call("initdb", "-D", str(data), "-U", "tester", "--auth=trust", "--no-sync")
    options = f"-c listen_addresses='' -c fsync=off -k {data}"
    call("pg_ctl", "-D", str(data), "-o", options, "-w", "-l", str(data / "log"), "start")
    try:
        yield f"postgresql://tester@/postgres?host={data}"
    finally:
        call("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
