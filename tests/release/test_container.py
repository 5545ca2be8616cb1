"""The file format: what is written comes back, and whatever is wrong with a file has a name."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hedgerow.errors import DamagedReleaseError, ReleaseError, ReleaseVersionError
from hedgerow.release import Container, container as module, write_container

CONTENT = {"text": "a < b & c", "numbers": [1, 2.5, None]}
ARRAYS = {"small": np.arange(7.0), "table": np.arange(6, dtype=np.int64).reshape(2, 3)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.release"
    write_container(path, CONTENT, ARRAYS)
    return path


def read_all(path: Path) -> None:
    opened = Container.open(path)
    assert opened.content == CONTENT
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(opened.array(name), array)


def test_round_trip(file: Path) -> None:
    read_all(file)


def test_equal_content_gives_equal_bytes(file: Path, tmp_path: Path) -> None:
    again = tmp_path / "two.release"
    write_container(again, CONTENT, ARRAYS)
    assert again.read_bytes() == file.read_bytes()


def test_every_truncation_is_named(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(0, len(whole), 7):
        file.write_bytes(whole[:length])
        with pytest.raises(DamagedReleaseError):
            Container.open(file)


def test_every_changed_byte_is_named_or_harmless(file: Path) -> None:
    """Dates and the like in zip headers carry nothing; everything else is under a checksum."""
    whole = file.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= (0x01, 0x80, 0xFF)[place % 3]
        file.write_bytes(damaged)
        try:
            read_all(file)
        except (DamagedReleaseError, ReleaseVersionError):
            continue


def test_bytes_put_before_or_after_are_named_or_harmless(file: Path) -> None:
    whole = file.read_bytes()
    for damaged in (whole + b"x" * 9, b"x" * 9 + whole, whole + whole, whole[::-1]):
        file.write_bytes(damaged)
        try:
            read_all(file)
        except DamagedReleaseError:
            continue


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    for text in (b"", b"hello", b"PK\x03\x04", b"\x00" * 5000):
        path.write_bytes(text)
        with pytest.raises(DamagedReleaseError, match="not a release file"):
            Container.open(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    with pytest.raises(DamagedReleaseError, match=r"no release\.json"):
        Container.open(path)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", '{"format": "other"}', "[" * 3000, '{"format": "hedgerow-release", "version": "x"}'],
)
def test_other_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.release"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("release.json", text)
    with pytest.raises(DamagedReleaseError):
        Container.open(path)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="No such file"):
        Container.open(tmp_path / "none.release")
    with pytest.raises(ReleaseError, match="directory"):
        Container.open(tmp_path)
    with pytest.raises(ReleaseError, match="cannot be written"):
        write_container(tmp_path / "no" / "one.release", CONTENT, ARRAYS)


def test_a_newer_format_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new.release"
    monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
    write_container(path, CONTENT, ARRAYS)
    monkeypatch.undo()
    with pytest.raises(ReleaseVersionError, match="newer hedgerow"):
        Container.open(path)


def test_a_changed_text_does_not_pass_for_the_original(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    head = json.loads(members["release.json"])
    head["content"]["text"] = "other"
    members["release.json"] = json.dumps(head).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
        archive.comment = comment
    with pytest.raises(DamagedReleaseError, match="checksum"):
        Container.open(file)


def test_an_added_part_is_named(file: Path) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("extra.npy", b"")
    with pytest.raises(DamagedReleaseError, match="list of parts"):
        Container.open(file)


def test_pickled_arrays_are_never_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="pickle"):
        write_container(tmp_path / "p.release", {}, {"objects": np.array([object()])})
    assert not list(tmp_path.iterdir())


def test_an_asked_array_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(DamagedReleaseError, match="'none' is missing"):
        Container.open(file).array("none")


def test_iterators_are_written_as_the_lists_that_they_stand_for(tmp_path: Path) -> None:
    entries = [{"scope": ["a", f"b{i}"], "scale": i / 3, "none": None} for i in range(3)]
    held = {"empty": [], "nothing": {}, "ledger": {"events": entries, "head": "é"}, "measured": entries}
    streamed = {**held, "empty": iter(()), "ledger": {"events": iter(entries), "head": "é"}, "measured": iter(entries)}
    whole, pieces = tmp_path / "whole.release", tmp_path / "pieces.release"
    write_container(whole, held, ARRAYS)
    write_container(pieces, streamed, ARRAYS)
    assert whole.read_bytes() == pieces.read_bytes()
    assert Container.open(pieces).content == held


def test_a_long_text_of_pieces_is_stored_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "long.release"
    write_container(path, {"many": ({"text": "x" * 1000} for _ in range(20_000))}, ARRAYS)
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("release.json").compress_type == zipfile.ZIP_STORED
    assert Container.open(path).content["many"] == [{"text": "x" * 1000}] * 20_000
