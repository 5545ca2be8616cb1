"""``hedgerow key`` and the option ``--sign``: keys that releases are signed with."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli.console import Output
from hedgerow.cli.options import OUTPUT, AsJson, Quiet, prepare

if TYPE_CHECKING:
    from hedgerow.system import SigningKey

Sign = Annotated[
    Path | None,
    typer.Option(
        "--sign",
        metavar="KEY",
        rich_help_panel=OUTPUT,
        help="Private Ed25519 key, PEM or OpenSSH, that the release is signed with; 'hedgerow key' makes one.",
    ),
]


def key(
    ctx: typer.Context,
    *,
    file: Annotated[Path, typer.Argument(metavar="NEW_FILE", help="Where the private key goes.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make an Ed25519 key to sign releases with: the private one in NEW_FILE, the public one in NEW_FILE.pub.

    Keep the private key secret; give the public key, or its fingerprint, to those who read your releases.

    Example:
      hedgerow key custodian
    """
    from hedgerow.system import SigningKey

    shown = prepare(ctx, quiet=quiet, as_json=as_json)
    made = SigningKey.make(file)
    shown.say(f"private key in {file}, public key in {file}.pub")
    shown.say(f"fingerprint {made.public.fingerprint}")
    shown.result({"private": str(file), "public": f"{file}.pub", "fingerprint": made.public.fingerprint})


def signing_key(output: Output, path: Path | None) -> SigningKey | None:
    """The private key that ``--sign`` names, with a warning if others may read it.

    Raises:
        MissingExtraError: The library cryptography is not installed.
        SigningError: There is no such file, or it holds no private Ed25519 key.

    Example:
        >>> signing_key(Output(), None)
    """
    if path is None:
        return None
    from hedgerow.system import SigningKey

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = SigningKey.read(path)
    for warning in caught:
        output.warn(str(warning.message))
    return found
