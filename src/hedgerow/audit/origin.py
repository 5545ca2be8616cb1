"""Checks of where a file comes from: the source of its noise, the versions that made it, and who signed it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hedgerow.audit.findings import Finding, Severity, gathered
from hedgerow.audit.reading import Opened

if TYPE_CHECKING:
    from hedgerow.system.signing import VerifyingKey

SECURE_SOURCE = "hedgerow.privacy.noise.OpenDPNoise"
"""The one source of noise that a private release may come from, by the name that files hold."""

KNOWN_BAD: Mapping[tuple[str, str], str] = {}
"""Reasons why a version of a library must not be trusted, by library and version; none is known."""


def check_noise(origin: Mapping[str, Any]) -> Finding:
    """Whether all noise came from the secure source.

    Args:
        origin: Values of the file: "secure", its own statement; "noise", the full name of the class of the source, if
            it is there; and "stamp", the warning that a release carries if its noise does not protect.

    Example:
        >>> print(check_noise({"secure": True, "noise": "mine.Noise"}))
        noise: fails: the file calls noise by mine.Noise secure
    """
    secure, noise, stamp = origin["secure"], origin.get("noise"), origin.get("stamp", "")
    if secure is not True and secure is not False:
        return Finding("noise", Severity.FAILS, "the file does not say whether its noise was secure")
    if not secure:
        return Finding("noise", Severity.FAILS, f"the noise was not secure ({noise or 'its source is not named'})")
    if stamp:
        return Finding("noise", Severity.FAILS, f"called secure, and stamped {stamp!r}")
    if noise != SECURE_SOURCE:
        return Finding("noise", Severity.FAILS, f"the file calls noise by {noise or 'an unnamed source'} secure")
    return Finding("noise", Severity.HOLDS, f"drawn by {noise}")


def check_versions(versions: Mapping[str, Any]) -> Finding:
    """Whether the file names the versions that made it, and none of them is known to be bad.

    Example:
        >>> print(check_versions({"hedgerow": "0.1.0"}))
        versions: unknown: 3 entries cannot be verified
    """
    missing = [f"{name}: no version" for name in ("hedgerow", "python", "numpy", "opendp") if name not in versions]
    bad = [f"{name} {v}: {KNOWN_BAD[name, v]}" for name, v in versions.items() if (name, v) in KNOWN_BAD]
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return gathered("versions", bad, missing, f"{listed}; none is known to be bad")


def check_signature(opened: Opened, key: VerifyingKey | None) -> Finding:
    """Whether the file was signed with a key.

    Args:
        opened: The file.
        key: The public key that it should be signed with; None if none is known.
    """
    if opened.signature is None:
        severity = Severity.NOTE if key is None else Severity.FAILS
        return Finding("signature", severity, "not signed")
    if key is None:
        return Finding("signature", Severity.NOTE, "signed; give the public key to verify it")
    if not key.verifies(opened.signature, opened.signed):
        return Finding("signature", Severity.FAILS, f"WRONG: not by {key.fingerprint}, or the file was changed")
    return Finding("signature", Severity.HOLDS, f"signed by {key.fingerprint}")
