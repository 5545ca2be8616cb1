"""``hedgerow server``: what operators do with the store of a server, also while the server runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.declaring import Options, help_of, option, spelled_out
from hedgerow.cli.serving import check_there
from hedgerow.errors import ConfigError, HedgerowError, NotThereError

if TYPE_CHECKING:
    from hedgerow.service.store import Anchor, Store

_CLOSED = (
    "Closed permanently, because they may have been asked since the backup: {names}. Their models still answer. Count "
    "their whole budgets as spent before you register these tables again."
)
_SECRET = (
    "Keep it as safe as the store: it holds the noise of running thresholds. It holds no table and no exact count."
)


@dataclass(frozen=True)
class _Place(Options, panel="Places", environment=True):
    """The store.

    Attributes:
        store: Store of the server: a file (SQLite), or postgresql://user@host/database.
        store_password_file: File with the password of a PostgreSQL store.
        anchor: File outside the store that says how far the store has come.
    """

    store: Annotated[str, option(metavar="FILE|URL")] = "hedgerow.db"
    store_password_file: Annotated[Path | None, option(metavar="FILE")] = None
    anchor: Annotated[Path | None, option(metavar="FILE")] = None

    @property
    def address(self) -> str:
        """The address, with the password."""
        from hedgerow.cli.serving import check_installed

        check_installed()
        from hedgerow.service.running import with_password

        return with_password(self.store, self.store_password_file)

    @property
    def known(self) -> Anchor | None:
        """The anchor, if one is named."""
        from hedgerow.service.store import Anchor

        return None if self.anchor is None else Anchor(self.anchor)

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """The store as it is, if there is one; a server may be using it."""
        with _there(self.address, self.known) as store:
            yield store


@contextmanager
def _there(address: str, anchor: Anchor | None = None) -> Iterator[Store]:
    from hedgerow.service.store import Store

    check_there(address)
    with closing(Store.open(address, anchor=anchor, as_it_is=True)) as store:
        yield store


class Rank(StrEnum):
    """What a person may do."""

    CUSTODIAN = "custodian"
    ANALYST = "analyst"


def backup(
    *, file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup; it must not exist.")], place: _Place,
    output: Output,
) -> None:  # fmt: skip
    """Copy the store into a file, as it is at one moment, also while the server answers.

    The file is an SQLite store, of a PostgreSQL store too. Never back up the anchor with it.

    Examples:
      hedgerow server backup --store hedgerow.db monday.backup
    """
    from hedgerow.service.store import Store

    if file.exists():
        raise ConfigError(f"{file} exists already", remedy="give another name: a backup is never overwritten")
    if not file.parent.is_dir():
        raise ConfigError(f"there is no folder {file.parent}", remedy="make it")
    with place.opened() as store, TemporaryDirectory(prefix=".backup-", dir=file.parent) as folder:
        made = Path(folder, "store.db")
        with closing(Store.open(made)) as target:
            rows = store.copy_to(target)
        os.replace(made, file)
    output.say(f"{rows:,} rows in {file}. {_SECRET}")
    output.result({"file": str(file), "rows": rows})


def restore(
    *,
    file: Annotated[Path, typer.Argument(metavar="BACKUP", help="The backup.")],
    place: _Place,
    nothing_since: Annotated[
        bool, option(help="Vouch that nothing was asked since the backup: the server was stopped before it.")
    ] = False,
    output: Output,
) -> None:
    """Copy a backup into an empty store of either kind. Data sets that may have been asked since are closed for good.

    With --anchor these are the ones that the anchor knows to be older; without it all, unless you vouch.

    Examples:
      hedgerow server restore monday.backup --store new.db --anchor elsewhere/anchor.json
      hedgerow server restore last.backup --store postgresql://hedgerow@db/hedgerow --nothing-since
    """
    from hedgerow.service.store import Store, hold_to, restore

    address, anchor = place.address, place.known
    if nothing_since and anchor is not None:
        raise ConfigError("the anchor says what was asked since", remedy="leave --nothing-since out")
    with _there(str(file)) as source, closing(Store.open(address)) as target:
        closed = restore(source, target, anchor, nothing_since=nothing_since)
    if anchor is not None:
        with closing(Store.open(address, anchor=anchor)) as store:
            hold_to(store, anchor, accept=True)
    output.say(f"restored {file}.")
    if closed:
        output.warn(_CLOSED.format(names=", ".join(closed)))
    output.result({"closed": closed})


def check(*, place: _Place, output: Output) -> None:
    """Check that nobody changed ledgers or the audit log, and that the store is as new as the anchor says. Reads alone.

    Examples:
      hedgerow server check --store hedgerow.db --anchor elsewhere/anchor.json
    """
    from hedgerow.service.store import departures

    faults: list[str] = []
    with place.opened() as store:
        names = [each.name for each in store.data_sets()]
        for looked in (store.check_audit, *(_ledger_of(store, name) for name in names)):
            try:
                looked()
            except HedgerowError as error:
                faults.append(error.message)
        said = None if place.known is None else place.known.read()
        if said is not None and not faults:
            faults += departures(store, said).sentences()
    if faults:
        raise HedgerowError(
            "; ".join(faults), remedy="do not ask this store: find the newest one, or its server's disk"
        )
    compared = "; as new as the anchor says" if said is not None else ""
    output.say(f"in order: the audit log, and the ledgers of {len(names):,} data sets{compared}")
    output.result({"data_sets": names, "anchor": said is not None})


def migrate(
    *,
    dry_run: Annotated[bool, option(help="Run the steps, and take all of them back.")] = False,
    place: _Place,
    output: Output,
) -> None:
    """Carry a store of an earlier version forward, as a server of this one does when it starts. Stop the older first.

    Examples:
      hedgerow server migrate --store hedgerow.db --dry-run
    """
    from hedgerow.service.store import upgrade

    address = place.address
    check_there(address)
    steps = upgrade(address, dry_run=dry_run)
    done = "taken back again" if dry_run else "done"
    output.say("\n".join([*steps, done]) if steps else "nothing to do: the store is of this version")
    output.result({"steps": steps, "dry_run": dry_run})


def _ledger_of(store: Store, name: str) -> Any:
    return lambda: store.ledger_link(store.data_set(name).id, 0)


def people(
    *,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A person to change.")] = None,
    role: Annotated[Rank | None, option(help="Give the person this role, at once.")] = None,
    revoke_all: Annotated[bool, option(help="Revoke all tokens of the person, at once.")] = False,
    remove: Annotated[
        bool, option(help="Remove the person: no token is good, and none can be made, until they get a role again.")
    ] = False,
    identity: Annotated[
        str | None,
        option(metavar="ACCOUNT", help="Let the person sign in with this account: its issuer, a blank, its subject."),
    ] = None,
    place: _Place,
    output: Output,
) -> None:
    """List people and the number of their good tokens; or change a person.

    Examples:
      hedgerow server people --store hedgerow.db
      hedgerow server people --store hedgerow.db ada --revoke-all
      hedgerow server people --store hedgerow.db ada --role analyst
      hedgerow server people --store hedgerow.db ada --remove
      hedgerow server people --store hedgerow.db ada --identity 'https://id.example.org 248289761001'
    """
    changes = (role is not None, revoke_all, remove, identity is not None)
    if (name is not None) != any(changes) or (role is not None and remove):
        remedy = "NAME with --role, --remove, --revoke-all or --identity"
        raise ConfigError("a person, and what to change, go together", remedy=remedy)
    with place.opened() as store:
        if name is not None and (role is not None or remove):
            store.set_role(name, "removed" if role is None else role.value, by=None)
        if name is not None and identity is not None:
            store.set_identity(name, identity, by=None)
        if name is not None and revoke_all:
            output.say(f"{store.revoke_all(name, by=None):,} tokens of {name} revoked")
        owners = [each["person"] for each in _tokens(store) if each["good"]]
        listed = [
            {
                "name": each.name,
                "role": each.role,
                "created": _moment(each.created),
                "tokens": owners.count(each.name),
                "identity": each.identity,
            }
            for each in store.people()
        ]
    headings = ("name", "role", "created", "tokens", "identity")
    output.table(headings, [["" if value is None else str(value) for value in each.values()] for each in listed])
    output.result({"people": listed})


def tokens(
    *,
    revoke: Annotated[str | None, option(metavar="ID", help="Revoke this token.")] = None,
    rotate: Annotated[
        str | None, option(metavar="ID", help="Print a new token of the same person, scope and life, and revoke this.")
    ] = None,
    place: _Place,
    output: Output,
) -> None:
    """List tokens, without their secrets; or revoke or rotate one.

    Examples:
      hedgerow server tokens --store hedgerow.db
      hedgerow server tokens --store hedgerow.db --rotate 0123456789abcdef
    """
    from hedgerow.service.running import token_of

    with place.opened() as store:
        fresh = None
        for id in filter(None, (revoke, rotate)):
            found = store.token(id)
            if found is None:
                raise NotThereError(f"there is no token {id!r}", remedy="hedgerow server tokens lists them")
            token, _, _, person = found
            if id == rotate:
                days = None if token.expires is None else max(1, (token.expires - token.created).days)
                fresh = token_of(store, person, data_sets=token.data_sets, days=days, note=token.note)
            store.revoke(id, by=None)
        listed = _tokens(store)
    headings = ("id", "person", "datasets", "expires", "good")
    output.table(headings, [[str(each[heading]) for heading in headings] for each in listed])
    if fresh is not None and not output.as_json:
        output.out.print(fresh, soft_wrap=True)
    output.result({"tokens": listed} | ({} if fresh is None else {"token": fresh}))


def _tokens(store: Store) -> list[dict[str, Any]]:
    from datetime import UTC, datetime

    names = {each.id: each.name for each in store.people()}
    now = datetime.now(UTC)
    return [
        {
            "id": each.id,
            "person": names[each.person],
            "datasets": "all" if each.data_sets is None else ", ".join(each.data_sets),
            "expires": "never" if each.expires is None else _moment(each.expires),
            "good": each.revoked is None and (each.expires is None or each.expires > now),
        }
        for each in store.tokens()
    ]


def _moment(at: Any) -> str:
    return str(at.isoformat(timespec="seconds"))


def _exact(at: Any) -> str:
    """A time as it is in the chain."""
    return str(at.isoformat()).replace("+00:00", "Z")


def audit_export(*, place: _Place, output: Output) -> None:
    """Write the audit log as lines of JSON, oldest first, each with its link of the hash chain.

    Examples:
      hedgerow server audit-export --store hedgerow.db > audit.jsonl
    """
    with place.opened() as store:
        for entry in store.whole_audit():
            sys.stdout.write(json.dumps(asdict(entry), default=_exact) + "\n")
    output.note("each line has the link of the hash chain up to it")


def server_commands() -> typer.Typer:
    """The commands, below ``hedgerow server``."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
    for command in (backup, restore, check, migrate, people, tokens, audit_export):
        app.command(help=help_of(command))(spelled_out(command))
    return app
