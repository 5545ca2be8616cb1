"""Signatures of releases by Ed25519 keys: they show who wrote a file, and that it was not changed since.

The signed message is the comment of the file, which names the SHA-256 of its JSON text; that text names the SHA-256 of
every array. Keys are PEM files, as ``openssl genpkey -algorithm ed25519`` writes them, or those of OpenSSH. The library
``cryptography`` does the arithmetic (``pip install 'hedgerow[signing]'``).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.errors import LooseKeyWarning, SigningError, require

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_MAKE = "make one with 'hedgerow key NEW_FILE', or 'openssl genpkey -algorithm ed25519 -out NEW_FILE'"
_LARGEST = 1 << 16


def require_extra() -> None:
    """Check that the library for signatures is installed.

    Raises:
        MissingExtraError: It is not.
    """
    message = "signatures need the library cryptography, which is not installed"
    require("cryptography", message, "pip install 'hedgerow[signing]'")


@dataclass(frozen=True)
class VerifyingKey:
    """A public key.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     key = SigningKey.make(f"{folder}/me")
        ...     public = VerifyingKey.read(f"{folder}/me.pub")
        >>> signature = key.sign(b"a message")
        >>> public.verifies(signature, b"a message"), public.verifies(signature, b"another")
        (True, False)
    """

    _key: Ed25519PublicKey = field(repr=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> VerifyingKey:
        """Read a public key.

        Args:
            path: A PEM file (SubjectPublicKeyInfo) or a line of OpenSSH (``ssh-ed25519 ...``).

        Raises:
            MissingExtraError: The library cryptography is not installed.
            SigningError: There is no such file, or it holds no public Ed25519 key.
        """
        require_extra()
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        text = _content(path)
        if b"PRIVATE KEY" in text:
            raise SigningError(f"{path}: a private key", remedy="verify with the public key, and keep this one secret")
        load = serialization.load_ssh_public_key if text.startswith(b"ssh-") else serialization.load_pem_public_key
        return cls(_loaded(path, lambda: load(text), Ed25519PublicKey, "public"))

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and the SHA-256 of the key as DER, as ``openssl pkey -pubin -outform DER | sha256sum`` prints."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        encoded = self._key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return f"sha256:{hashlib.sha256(encoded).hexdigest()}"

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether this key signed this message.

        Args:
            signature: The signature in base64, as `SigningKey.sign` gives it.
            message: The message that was signed.
        """
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(base64.b64decode(signature, validate=True), message)
        except (InvalidSignature, binascii.Error):
            return False
        return True


@dataclass(frozen=True)
class SigningKey:
    """A private key; neither its text nor its description shows it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = SigningKey.make(f"{folder}/me")
        ...     SigningKey.read(f"{folder}/me").public.fingerprint == made.public.fingerprint
        True
    """

    _key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def make(cls, path: str | os.PathLike[str]) -> SigningKey:
        """Make a key: the private one in a new file that only its owner may read, the public one in ``PATH.pub``.

        Args:
            path: A file that does not exist; its folder must.

        Raises:
            MissingExtraError: The library cryptography is not installed.
            SigningError: One of the files exists, or cannot be written.
        """
        require_extra()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

        key = Ed25519PrivateKey.generate()
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        beside = Path(f"{os.fspath(path)}.pub")
        if beside.exists():
            raise SigningError(f"{beside} exists", remedy="name a file that does not exist")
        _write_new(Path(path), secret, 0o600)
        _write_new(beside, public, 0o644)
        return cls(key)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SigningKey:
        """Read a private key that no password protects.

        Args:
            path: A PEM file (PKCS 8) or one of OpenSSH.

        Raises:
            MissingExtraError: The library cryptography is not installed.
            SigningError: There is no such file, or it holds no private Ed25519 key without a password.

        Warns:
            LooseKeyWarning: Users other than its owner may read the file.
        """
        require_extra()
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        text = _content(path)
        ssh = b"OPENSSH PRIVATE KEY" in text
        load = serialization.load_ssh_private_key if ssh else serialization.load_pem_private_key
        key = _loaded(path, lambda: load(text, None), Ed25519PrivateKey, "private")
        if stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
            problem = f"{path}: others than its owner may use this private key; forbid it: chmod 600 {path}"
            warnings.warn(problem, LooseKeyWarning, stacklevel=2)
        return cls(key)

    @property
    def public(self) -> VerifyingKey:
        """The key that verifies what this one signs."""
        return VerifyingKey(self._key.public_key())

    def sign(self, message: bytes) -> bytes:
        """The signature of a message, in base64."""
        return base64.b64encode(self._key.sign(message))


def _content(path: str | os.PathLike[str]) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(_LARGEST)
    except OSError as error:
        raise SigningError(f"{path}: the key cannot be read: {error.strerror or error}", remedy=_MAKE) from error


def _loaded(path: str | os.PathLike[str], load: Any, kind: Any, name: str) -> Any:
    """The key that the library reads from a text; its errors become ours."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        key = load()
    except TypeError as error:
        raise SigningError(
            f"{path}: a password protects this key", remedy="give a key without a password, or remove it in a copy"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SigningError(f"{path}: not a {name} key in PEM or of OpenSSH", remedy=_MAKE) from error
    if not isinstance(key, kind):
        raise SigningError(f"{path}: a key of another kind than Ed25519", remedy=_MAKE)
    return key


def _write_new(path: Path, text: bytes, mode: int) -> None:
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text)
    except OSError as error:
        raise SigningError(
            f"{path}: the key cannot be written: {error.strerror or error}",
            remedy="name a file that does not exist, in a folder that does",
        ) from error
