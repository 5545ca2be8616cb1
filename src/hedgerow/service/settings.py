"""What the operator of a server may choose."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from hedgerow.errors import ConfigError
from hedgerow.service.proxies import Proxies


@final
@dataclass(frozen=True)
class Settings:
    """Limits of a server.

    Attributes:
        data_folder: Where uploads go, and where tables to register may be.
        largest_body: Bytes that the body of a request may have.
        largest_upload: Bytes that an uploaded table may have.
        requests_per_minute: Of one token; None for any number.
        failures_per_minute: Wrong tokens from one address, before its unknown tokens are not looked at for a while.
        downloads: Files of synthetic records that are made at a time.
        threads: Requests that are worked on at a time.
        proxies: Who is believed about where requests come from.

    Example:
        >>> Settings(Path("data")).largest_body
        1048576
        >>> Settings(Path("data"), threads=0)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: threads must be a whole number from 1, not 0
    """

    data_folder: Path
    largest_body: int = 2**20
    largest_upload: int = 2**30
    requests_per_minute: int | None = 6000
    failures_per_minute: int = 20
    downloads: int = 2
    threads: int = 128
    proxies: Proxies = field(default_factory=Proxies)

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: One is no positive whole number.
        """
        for name in (
            "largest_body",
            "largest_upload",
            "requests_per_minute",
            "failures_per_minute",
            "downloads",
            "threads",
        ):
            value = getattr(self, name)
            if name == "requests_per_minute" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigError(f"{name} must be a whole number from 1, not {value!r}")
