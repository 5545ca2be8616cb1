"""Hash chains: a list of entries in which none can be changed, left out or moved without its head changing.

Each entry is hashed together with the link before it, so the last link, the *head*, stands for all entries and their
order. A head is not a signature: anyone who rewrites all entries can compute a new one. It is evidence for those who
noted an earlier head somewhere else.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any


def start_of(kind: str, fixed: Mapping[str, Any]) -> str:
    """The link before the first entry.

    Args:
        kind: Kind of the entries, such as ``"ledger"``.
        fixed: Values that hold for all entries and that JSON can hold.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> start_of("ledger", {"limit": 1.0, "unit": "rho"})[:16]
        '0dca3d6c594b6797'
    """
    return link(f"hedgerow {kind}", fixed)


def link(previous: str, entry: Mapping[str, Any]) -> str:
    """The link of an entry: SHA-256 of the link before it, a line feed, and the entry as `canonical_json`.

    Args:
        previous: The link before it.
        entry: The entry, of values that JSON can hold.

    Returns:
        64 hexadecimal digits.

    Raises:
        ValueError: A number is infinite or not a number.
    """
    return hashlib.sha256(f"{previous}\n{canonical_json(entry)}".encode()).hexdigest()


def canonical_json(entry: Mapping[str, Any]) -> str:
    """An entry as the JSON that is hashed.

    Keys are sorted, there are no spaces and only ASCII characters, and each float has the shortest form that is read
    back to the same bits.

    Args:
        entry: The entry, of values that JSON can hold.

    Raises:
        ValueError: A number is infinite or not a number.

    Example:
        >>> canonical_json({"b": 0.1, "a": [1, None]})
        '{"a":[1,null],"b":0.1}'
    """
    return json.dumps(entry, allow_nan=False, separators=(",", ":"), sort_keys=True)


def head_of(start: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """The head of a chain: the link of its last entry, or its start where there is none.

    Args:
        start: Result of `start_of`.
        entries: The entries, in order.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> start = start_of("ledger", {"limit": 1.0, "unit": "rho"})
        >>> head_of(start, [{"a": 1}, {"b": 2}]) == link(link(start, {"a": 1}), {"b": 2})
        True
    """
    head = start
    for entry in entries:
        head = link(head, entry)
    return head
