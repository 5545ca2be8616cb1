"""The server speaks HTTPS itself, with files that it is given."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import warnings
from pathlib import Path

import pytest

import hedgerow
from hedgerow.errors import ConfigError, UnreachableError
from hedgerow.service import running
from tests.service.api import api
from tests.service.serving import in_a_thread


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"]
    made += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    for name, more in (("plain", ["-nodes"]), ("locked", ["-passout", "pass:secret"])):
        out = ["-out", str(folder / f"{name}.pem"), "-keyout", str(folder / f"{name}.key")]
        subprocess.run([*made, *more, *out], check=True, capture_output=True)
    (folder / "both.pem").write_text((folder / "plain.key").read_text() + (folder / "plain.pem").read_text())
    return folder


@pytest.mark.parametrize("names", [("plain.pem", "plain.key"), ("both.pem", None)])
def test_a_client_that_trusts_the_certificate_is_answered(
    tmp_path: Path, files: Path, names: tuple[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = (None if name is None else files / name for name in names)
    assert certificate is not None
    monkeypatch.setenv("SSL_CERT_FILE", str(files / "plain.pem"))
    tls = running.TlsFiles(certificate, key)
    with api(tmp_path) as here, in_a_thread(here.app, **tls.options) as port:
        server = hedgerow.connect(f"https://localhost:{port}", token=here.token("ada"))
        answer = server["survey"].ask("age < 3")
        assert answer.low is not None
        assert answer.low <= answer.value
        monkeypatch.setenv("SSL_CERT_FILE", str(files / "locked.pem"))
        with pytest.raises(UnreachableError, match="certificate"):
            hedgerow.connect(f"https://localhost:{port}", token=here.token("ada"), retries=0)


def test_old_protocols_and_plain_text_get_nothing(tmp_path: Path, files: Path) -> None:
    tls = running.TlsFiles(files / "plain.pem", files / "plain.key")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with api(tmp_path) as here, in_a_thread(here.app, **tls.options) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
            plain.sendall(b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                assert b"200" not in plain.recv(1000)
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection, pytest.raises(ssl.SSLError):
            old.wrap_socket(connection)


@pytest.mark.parametrize(
    ("certificate", "key", "message"),
    [
        ("none.pem", "plain.key", "cannot be read"),
        ("plain.pem", "none.key", "cannot be read"),
        ("plain.pem", None, "cannot be used"),
        ("plain.key", "plain.pem", "cannot be used"),
        ("plain.pem", "locked.key", "cannot be used"),
        ("locked.pem", "locked.key", "cannot be used"),
    ],
)
def test_files_that_do_not_do_are_refused_before_anything_begins(
    files: Path, certificate: str, key: str | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        running.TlsFiles(files / certificate, None if key is None else files / key)
    assert "PEM" in refused.value.remedy
    assert refused.value.__cause__ is None


def test_the_address_that_is_told_is_of_https() -> None:
    with running.listen("127.0.0.1", 0) as taken:
        assert running.url_of(taken, tls=True).startswith("https://127.0.0.1:")
