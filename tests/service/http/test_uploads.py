"""Uploads that were cut off hold private rows: none outlives the next start, and none that is running is touched."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest

from hedgerow.service import SessionWorkers, Settings, Store, create_app
from hedgerow.service.http import uploads
from tests.privacy.mutants import Mutant, killed


def hidden(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob(".upload-*"))


def begin(folder: Path, store: Path) -> None:
    """What the start of another server does."""
    opened = Store.open(store)
    create_app(SessionWorkers(opened, folder), opened, Settings(folder))
    opened.close()


def test_a_start_removes_uploads_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    (folder / ".upload-folder").mkdir(parents=True)
    for name in (".upload-abc", ".upload-def", ".hidden", "upload-x.csv", "people.csv"):
        (folder / name).write_text("name\nada\n")
    (folder / ".upload-link").symlink_to(folder / "people.csv")
    begin(folder, tmp_path / "store.db")
    left = {each.name for each in folder.iterdir()}
    assert {".hidden", "upload-x.csv", "people.csv", ".upload-folder"} <= left
    assert not left & {".upload-abc", ".upload-def"}
    assert (folder / "people.csv").read_text() == "name\nada\n"


def test_what_cannot_be_removed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    (tmp_path / ".upload-abc").write_text("name\nada\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(uploads.os, "unlink", refuse)
    uploads.sweep(tmp_path)
    assert f"{tmp_path / '.upload-abc'}" in caplog.text
    assert "private rows" in caplog.text
    assert "ada" not in caplog.text


def one_that_runs_is_left_alone() -> None:
    """Also between its last byte and its name, and between its first moment and its lock."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)

        async def pieces() -> Any:
            yield b"a\n"
            uploads.sweep(folder)
            yield b"1\n"

        kept = uploads._named

        def named(*arguments: Any) -> None:
            uploads.sweep(folder)
            kept(*arguments)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(uploads, "_named", named)
            try:
                anyio.run(uploads.taken, pieces(), folder / "a.csv")
            except Exception as error:
                raise AssertionError("an upload that ran was swept away") from error
        assert [each.name for each in folder.iterdir()] == ["a.csv"]
        assert (folder / "a.csv").read_bytes() == b"a\n1\n"


def test_an_upload_that_runs_is_left_alone() -> None:
    one_that_runs_is_left_alone()


def test_a_file_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = uploads.tempfile.mkstemp
    swept: list[str] = []

    def mkstemp(**how: Any) -> tuple[int, str]:
        found = made(**how)
        if not swept:
            swept.append(found[1])
            uploads.sweep(tmp_path)
        return found

    async def pieces() -> Any:
        yield b"a\n1\n"

    monkeypatch.setattr(uploads.tempfile, "mkstemp", mkstemp)
    assert anyio.run(uploads.taken, pieces(), tmp_path / "a.csv") == 4
    assert swept
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]


def what_was_cut_off_is_removed() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "tables")
        folder.mkdir()
        (folder / ".upload-abc").write_text("name\nada\n")
        begin(folder, Path(made, "store.db"))
        assert hidden(folder) == []


MUTANTS = [
    Mutant(
        "uploads that were cut off stay",
        lambda patch: patch.setattr("hedgerow.service.http.app.sweep", lambda folder: None),
        what_was_cut_off_is_removed,
    ),
    Mutant(
        "uploads that run are swept away",
        lambda patch: patch.setattr(uploads.fcntl, "flock", lambda handle, how: None),
        one_that_runs_is_left_alone,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_planted_bug_of_uploads_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
