"""A store beside its anchor: an older copy of the store is refused, or accepted deliberately.

The two are compared when a server starts. Accepting a restored store does not mean trusting it: no one knows what was
answered after the copy was made, so its budget may be spent, and the noise of a running threshold may be known. The
data sets that are older than the anchor says are closed permanently; their hypotheses still answer. The audit log says
what was accepted.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from hedgerow.errors import ConfigError, DamagedStoreError, OlderStoreError
from hedgerow.service.store.anchor import Anchor, Anchored
from hedgerow.service.store.entries import Point
from hedgerow.service.store.store import Store

_REMEDY = (
    "start with the newest store; if it is lost, --accept-store continues with this one and permanently closes the "
    "data sets that are older than the anchor says: what was spent of them since is unknown here"
)


@dataclass(frozen=True)
class Departures:
    """Differences between a store and its anchor that a newer store cannot explain.

    Attributes:
        older: Differences of data sets, by name.
        missing: Names of missing data sets.
        audit: Difference of the audit log; empty if there is none.

    Example:
        >>> Departures({"people": "version 3, and it was at 7"}, ("adult",), "").sentences()
        ["data set 'people': version 3, and it was at 7", "data set 'adult' is not there"]
    """

    older: Mapping[str, str]
    missing: tuple[str, ...]
    audit: str

    def sentences(self) -> list[str]:
        """The differences, in words."""
        listed = [f"data set {name!r}: {what}" for name, what in self.older.items()]
        listed += [f"data set {name!r} is not there" for name in self.missing]
        return listed + ([f"audit log: {self.audit}"] if self.audit else [])


def hold_to(store: Store, anchor: Anchor, *, accept: bool = False) -> Departures:
    """Compare a store with its anchor, then bring the anchor up to date; make one if there is none.

    Args:
        store: The store, with this anchor.
        anchor: Its anchor.
        accept: Whether to continue with an older store, whose older data sets are then closed.

    Returns:
        The accepted differences; empty if the store is as new as the anchor, or newer.

    Raises:
        OlderStoreError: The store is older than the anchor, or has another history, and is not accepted.
        DamagedStoreError: The audit log was changed after it was written.
        StoreError: The anchor, or the store, cannot be read or written.
    """
    said = anchor.read()  # first: the store may change meanwhile
    store.check_audit()
    found = Departures({}, (), "") if said is None else departures(store, said)
    if said is not None and found.sentences():
        if not accept:
            raise OlderStoreError(
                f"the store is not the one that the anchor {anchor.path} knows: {'; '.join(found.sentences())}",
                data_sets=(*found.older, *found.missing),
                remedy=_REMEDY,
            )
        _accepted(store, anchor, said, found)
    anchor.cover(store.points(), store.audit_point())
    return found


def restore(backup: Store, target: Store, anchor: Anchor | None, *, nothing_since: bool = False) -> list[str]:
    """Copy a backup into an empty store, and close in the same step what may have been asked since.

    Args:
        backup: The store that is copied.
        target: The empty store; of either kind, and without the anchor.
        anchor: The anchor of the store that was lost; it says which data sets were asked since.
        nothing_since: Whether somebody vouches that nothing was asked since. Without that and an anchor, all data sets
            are closed.

    Returns:
        Names of the data sets that were closed permanently.

    Raises:
        ConfigError: There is no such anchor.
        StoreError: The target is not empty, or one of them fails.
    """
    closing = [] if nothing_since else [each.name for each in backup.data_sets()]
    if anchor is not None:
        said = anchor.read()
        if said is None:
            raise ConfigError(f"there is no anchor {anchor.path}", remedy="name the file that the server wrote")
        closing = list(departures(backup, said).older)
    backup.copy_to(target, closing=closing)
    return closing


def departures(store: Store, said: Anchored) -> Departures:
    """Find where a store is older than an anchor says, or has another history.

    Raises:
        DamagedStoreError: The audit log was changed after it was written.
    """
    older, missing = {}, []
    for name, point in said.ledgers.items():
        # a name whose data set was discarded may have another one, of which the anchor has not heard yet
        found = [_departure(store, number, known, point) for number, known in store.ledgers_of(name).items()]
        if not found:
            missing.append(name)
        elif all(found):
            older[name] = found[0]
    return Departures(older, tuple(missing), _audit_departure(store, said.audit))


def _departure(store: Store, number: int, found: Point, said: Point) -> str:
    if found.version < said.version:
        return f"it is at version {found.version:,}, and was at {said.version:,}"
    if found.count < said.count:
        return f"its ledger has {found.count:,} events, and had {said.count:,}"
    try:
        linked = store.ledger_link(number, said.count)
    except DamagedStoreError:  # which everyone sees who uses the data set
        return ""
    if linked != said.head:
        return f"the first {said.count:,} events of its ledger differ from what they were"
    return ""


def _audit_departure(store: Store, said: Point) -> str:
    found = store.audit_point()
    if found.count < said.count:
        return f"it ends with entry {found.count:,}, and ended with {said.count:,}"
    linked = store.audit_link(said.count)
    return (
        "" if not said.head or linked == said.head else f"its entries up to {said.count:,} differ from what they were"
    )


def _accepted(store: Store, anchor: Anchor, said: Anchored, found: Departures) -> None:
    """Close the older data sets, before the anchor forgets them; then note that in the log, whose chain continues."""
    kept = {name: point for name, point in said.ledgers.items() if name not in found.older}
    for name in found.older:
        for number in store.ledgers_of(name):
            store.close_data_set(number, by=None)
    points = store.points()
    present = {name: points[name] for name in (*found.older, *kept) if name in points}
    anchor.replace(Anchored(present, store.audit_point()))
    expected = {name: asdict(said.ledgers[name]) for name in (*found.older, *found.missing)}
    told = {"closed": list(found.older), "missing": list(found.missing), "expected": expected}
    store.note(None, "accept store", "store", told | {"expected_audit": asdict(said.audit)})
