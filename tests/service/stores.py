"""New stores without the migrations that make their tables, which test_migrations.py tests."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hedgerow.service import Store


@cache
def _new_file() -> bytes:
    """The file of a store that nothing was written to; made once in each process."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        Store.open(path).close()
        assert not path.with_name("store.db-wal").exists()
        return path.read_bytes()


def open_store(address: str | os.PathLike[str], **options: Any) -> Store:
    """Open a store; one in a file that is not there yet begins as a copy of a new one.

    Args:
        address: See `Store.open`.
        options: The other arguments of `Store.open`.
    """
    path = str(address).removeprefix("sqlite:///")
    file = Path(path)
    if "://" not in path and not file.exists():
        file.touch(mode=0o600)
        file.write_bytes(_new_file())
    return Store.open(address, **options)
