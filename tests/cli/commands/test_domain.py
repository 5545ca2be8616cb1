"""Drafts on a terminal: columns that are kept, described anew and left out; formats of files that are told."""

from __future__ import annotations

from pathlib import Path

import yaml
from typer.testing import CliRunner

from hedgerow.domain import read_domain
from hedgerow.errors import DomainError
from tests.cli.command_line import app
from tests.cli.conftest import Place


def asked(folder: Path, *answers: str) -> str:
    """The draft of a table with three columns, after the answers of a person."""
    (folder / "t.csv").write_text(
        "sex,age,note\n" + "".join(f"{'FM'[row % 2]},{row % 50},{row % 3}\n" for row in range(90))
    )
    call = ["domain", str(folder / "t.csv"), "--ask", "-o", str(folder / "t.yaml"), "--force"]
    result = CliRunner().invoke(app, call, input="".join(f"{answer}\n" for answer in answers))
    assert result.exit_code == 0, result.output
    return result.stderr


def test_columns_are_kept_described_anew_and_left_out(tmp_path: Path) -> None:
    told = asked(tmp_path, "y", "", '{"min": 0, "max": 120}', "ignore", "y")
    assert "Which bounds are publicly known?" in told
    assert "3 columns, 0 of them in doubt" in told
    domain = read_domain(tmp_path / "t.yaml")
    assert domain.names == ("sex", "age")
    assert domain["age"].size == 121
    assert domain.ignored == ("note",)
    assert not domain.draft


def test_an_entry_that_cannot_be_is_asked_for_again(tmp_path: Path) -> None:
    told = asked(tmp_path, "y", '{"values": ["F"', '{"values": ["F"]}', '{"values": ["F", "M", "X"]}', "", "", "n")
    assert "is not YAML" in told
    assert told.count('"sex": ') == 3
    text = (tmp_path / "t.yaml").read_text()
    assert '"sex": {"values": ["F", "M", "X"]}' in text
    assert "draft: true" in text


def test_columns_in_doubt_come_first_and_others_if_wanted(tmp_path: Path) -> None:
    rows = "".join(f"{'FM'[row % 2]},{row},{98 if row % 5 == 0 else row % 5},{row % 50}\n" for row in range(200))
    (tmp_path / "t.csv").write_text("sex,person_id,answer,age\n" + rows)
    call = ["domain", str(tmp_path / "t.csv"), "--ask", "-o", str(tmp_path / "t.yaml")]
    answers = ('{"values": [1, 2, 3, 4], "missing": ["98"]}', '{"min": 0, "max": 999, "bins": 4}', "n", "y")
    result = CliRunner().invoke(app, call, input="".join(f"{answer}\n" for answer in answers))
    assert result.exit_code == 0, result.output
    assert "4 columns, 2 of them in doubt" in result.stderr
    assert "98 may stand for no answer" in result.stderr
    assert 'Go through the others too: "sex", "age"?' in result.stderr
    domain = read_domain(tmp_path / "t.yaml")
    assert (domain["person_id"].size, domain.layout["answer"].missing) == (4, ("98",))
    assert "Which bounds are publicly known?" in (tmp_path / "t.yaml").read_text(), "of the columns not asked about"


def test_what_is_known_of_a_format_is_told(place: Place) -> None:
    (place / "odd.csv").write_bytes("name|größe\nÄrmel|1,5\nKöper|2,5\n".encode("cp1252") * 40)
    result = place.call("domain", place / "odd.csv", "--format", '{separator: "|", encoding: cp1252}')
    assert result.exit_code == 0, result.output
    assert '"separator": "|"' in result.stdout
    assert '"größe"' in result.stdout
    wrong = place.call("domain", place / "odd.csv", "--format", "{sep: x}")
    assert isinstance(wrong.exception, DomainError) or "has no option 'sep'" in wrong.stderr
    assert "go with a draft" in place.call("domain", "--schema", "--ask").stderr


def test_what_is_found_out_follows_what_is_known(place: Place) -> None:
    """Lines before the header, and numbers, are looked at with the sign and the encoding that were told."""
    text = "Stand; 1. Mai\nort,n\n" + "".join(f"{'KB'[n % 2]}ö;ln,{n}\n" for n in range(30))
    (place / "odd.csv").write_bytes(text.encode("cp1252"))
    found = yaml.safe_load(place.call("domain", place / "odd.csv", "--format", '{separator: ","}').stdout)
    assert found["format"] == {"separator": ",", "encoding": "cp1252", "skip": 1}
    assert found["attributes"]["ort"]["values"] == ["Bö;ln", "Kö;ln"]
    (place / "marks.csv").write_text("a;b\n" + "".join(f"{n % 9}.25;{n % 2}\n" for n in range(90)))
    found = yaml.safe_load(place.call("domain", place / "marks.csv", "--format", '{decimal: ","}').stdout)
    assert found["format"] == {"separator": ";", "decimal": ","}
    assert found["attributes"]["a"]["decimal"] == "."
    wrong = place.call("domain", place / "odd.csv", "--format", "{encoding: utf-16}")
    assert wrong.exit_code == 1
    assert "not utf-16" in wrong.stderr
