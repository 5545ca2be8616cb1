"""Files that are replaced in one step: links, modes and locks."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hedgerow.system import alone_with, creating, replacing


@pytest.fixture
def linked(tmp_path: Path) -> tuple[Path, Path]:
    """A file, and a link to it in another folder."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "kept" / "people.session", tmp_path / "elsewhere" / "people.session"
    real.write_text("old")
    link.symlink_to(real)
    return real, link


def test_a_private_file_is_never_forked_by_writing_through_a_link(linked: tuple[Path, Path]) -> None:
    """Else the file keeps an old state of the session beside the new one, and a budget can be spent twice."""
    real, link = linked
    with replacing(link, private=True) as beside:
        assert beside.parent == real.parent.resolve()
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
        beside.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_a_link_and_its_file_share_one_lock(linked: tuple[Path, Path]) -> None:
    for first, second in (linked, linked[::-1]):
        with alone_with(first) as one, alone_with(second) as two:
            assert (one, two) == (True, False)


def test_reading_the_umask_never_opens_files_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may make a file at that moment."""
    set_umask, masks = os.umask, []

    def spied(mask: int) -> int:
        masks.append(mask)
        return set_umask(mask)

    monkeypatch.setattr(os, "umask", spied)
    with replacing(tmp_path / "out.txt") as beside:
        beside.write_text("whole")
    before = set_umask(0o022)
    set_umask(before)
    assert masks
    assert all(mask & before == before for mask in masks)
    assert stat.S_IMODE((tmp_path / "out.txt").stat().st_mode) == 0o666 & ~before


def test_a_private_file_and_its_new_name_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power cut an old state of a session must not come back, once answers were shown."""
    fsync, synced, target = os.fsync, [], tmp_path / "people.session"

    def spied(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), target.exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", spied)
    with replacing(target, private=True) as beside:
        beside.write_text("new")
    assert synced == [(False, False), (True, True)]


def test_a_file_that_is_created_replaces_none(tmp_path: Path) -> None:
    with creating(tmp_path / "a") as beside:
        beside.write_text("first")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError), creating(tmp_path / "a") as beside:
        beside.write_text("second")
    assert (tmp_path / "a").read_text() == "first"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_whose_making_fails_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), creating(tmp_path / "a"):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []
