"""Keys and signatures: what openssl and OpenSSH write is read, and everything else has a clear error."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path

import pytest

from hedgerow.errors import LooseKeyWarning, MissingExtraError, SigningError
from hedgerow.system import SigningKey, VerifyingKey


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return SigningKey.make(tmp_path / "me")


def test_a_new_key_is_for_its_owner_alone_and_is_not_shown(key: SigningKey, tmp_path: Path) -> None:
    assert (tmp_path / "me").stat().st_mode & 0o777 == 0o600
    assert repr(key) == "SigningKey()"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SigningKey.read(tmp_path / "me").public.fingerprint == key.public.fingerprint


@pytest.mark.parametrize("taken", ["me", "me.pub"])
def test_a_new_key_replaces_nothing(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(SigningError):
        SigningKey.make(tmp_path / "me")
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"


def test_a_key_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(SigningError, match="cannot be written"):
        SigningKey.make(tmp_path / "none" / "me")


def test_only_the_signed_message_verifies_and_only_by_its_key(key: SigningKey, tmp_path: Path) -> None:
    signature = key.sign(b"message")
    assert key.public.verifies(signature, b"message")
    assert not key.public.verifies(signature, b"messages")
    assert not SigningKey.make(tmp_path / "other").public.verifies(signature, b"message")
    assert not key.public.verifies(b"no base64", b"message")
    assert not key.public.verifies(signature[:-4], b"message")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_loose_permissions_of_a_private_key_warn(key: SigningKey, tmp_path: Path, mode: int) -> None:
    (tmp_path / "me").chmod(mode)
    with pytest.warns(LooseKeyWarning, match="chmod 600"):
        SigningKey.read(tmp_path / "me")


def test_keys_of_openssl_are_read(tmp_path: Path) -> None:
    private, public = tmp_path / "key.pem", tmp_path / "pub.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    private.chmod(0o600)
    assert SigningKey.read(private).public.fingerprint == VerifyingKey.read(public).fingerprint
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", public, "-outform", "DER"], check=True, capture_output=True
    )
    digest = subprocess.run(["openssl", "dgst", "-sha256", "-r"], input=der.stdout, check=True, capture_output=True)
    assert VerifyingKey.read(public).fingerprint == f"sha256:{digest.stdout.decode().split()[0]}"


def test_keys_of_openssh_are_read(key: SigningKey, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    made = Ed25519PrivateKey.generate()
    private, public = tmp_path / "id", tmp_path / "id.pub"
    private.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    private.chmod(0o600)
    public.write_bytes(made.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
    assert SigningKey.read(private).public.fingerprint == VerifyingKey.read(public).fingerprint
    assert VerifyingKey.read(public).verifies(SigningKey.read(private).sign(b"m"), b"m")


def test_what_is_no_key_has_a_clear_error(key: SigningKey, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    made = generate_private_key(SECP256R1())
    other = tmp_path / "other"
    other.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(SigningError, match="another kind than Ed25519"):
        SigningKey.read(other)
    with pytest.raises(SigningError, match="a private key"):
        VerifyingKey.read(other)
    other.write_bytes(made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(SigningError, match="another kind than Ed25519"):
        VerifyingKey.read(other)
    with pytest.raises(SigningError, match="not a private key"):
        SigningKey.read(tmp_path / "me.pub")
    other.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))
    with pytest.raises(SigningError, match="a password protects this key"):
        SigningKey.read(other)
    other.write_bytes(b"ssh-ed25519 AAAA nonsense")
    with pytest.raises(SigningError, match="not a public key"):
        VerifyingKey.read(other)
    for read in (SigningKey.read, VerifyingKey.read):
        with pytest.raises(SigningError, match="cannot be read"):
            read(tmp_path / "none")


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.errors.find_spec", lambda name: None)
    for call in (SigningKey.make, SigningKey.read, VerifyingKey.read):
        with pytest.raises(MissingExtraError, match=r"hedgerow\[signing\]"):
            call(tmp_path / "me")
