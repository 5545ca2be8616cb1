"""Files that 0.2.0 wrote before its modules moved: they are read, audited, gone on from, and say the same."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow
from hedgerow.audit import Severity, audit_files
from hedgerow.errors import AuditError, DamagedReleaseError
from hedgerow.privacy import SECURE_SOURCE

FILES = Path(__file__).parent / "version2"
"""A release of each form of model, a session that started from one, their register, and what was read off them."""
EXPECTED: dict[str, dict[str, Any]] = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_release_says_what_it_said(name: str) -> None:
    expected = EXPECTED[name]
    release = hedgerow.Release.load(FILES / f"{name}.release")
    assert release.provenance.noise == expected["noise"] == SECURE_SOURCE
    assert release.provenance.secure
    assert (release.spent, len(release.events)) == (expected["spent"], expected["events"])
    assert release.answer(expected["question"]).value == pytest.approx(expected["value"], rel=1e-12)
    rows = json.dumps(release.sample(50, seed=3).to_arrow().to_pydict())
    assert hashlib.sha256(rows.encode()).hexdigest().startswith(expected["sample"])


@pytest.mark.parametrize("file", [*sorted(each.name for each in FILES.glob("*.release")), "warm.session"])
def test_the_auditor_finds_nothing_wrong(file: str) -> None:
    (found,) = audit_files([FILES / file]).files
    assert found.verdict is Severity.HOLDS, found


def test_a_session_and_its_register_go_on(tmp_path: Path) -> None:
    for file in ("warm.session", "table.register"):
        shutil.copy(FILES / file, tmp_path / file)
    register = hedgerow.Register(tmp_path / "table.register")
    assert [entry.name for entry in register.entries if entry.name] == ["cells", "questions"]
    draw = np.random.default_rng(0)
    domain = hedgerow.Release.load(FILES / "cells.release").domain
    table = hedgerow.read_table(
        pa.table(
            {
                "sex": draw.choice(["F", "M"], 5000),
                "age": draw.integers(0, 10, 5000),
                "job": draw.choice(["clerk", "cook", "nurse"], 5000),
            }
        ),
        domain,
    )
    session = hedgerow.OnlineSession.restore(tmp_path / "warm.session", table)
    before = session.spent
    assert session.ask("sex = 'F'").source == "cache"
    assert session.ask("age = 7 and sex = 'M'").source in ("hypothesis", "data")
    session.save(tmp_path / "again.session")
    assert hedgerow.OnlineSession.restore(tmp_path / "again.session", table).spent == session.spent >= before


def test_a_method_of_compression_that_no_file_is_written_with_is_refused(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(FILES / "cells.release") as whole,
        zipfile.ZipFile(tmp_path / "cells.release", "w", zipfile.ZIP_BZIP2) as packed,
    ):
        for name in whole.namelist():
            packed.writestr(name, whole.read(name))
        packed.comment = whole.comment
    with pytest.raises(DamagedReleaseError):
        hedgerow.Release.load(tmp_path / "cells.release")
    with pytest.raises(AuditError, match="compressed by an unknown method"):
        audit_files([tmp_path / "cells.release"])
