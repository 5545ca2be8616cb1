"""The hospital's table of ``examples/``: from its CSV to records, by a draft and no edge made by hand."""

from __future__ import annotations

import csv
import importlib.util
import re
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.cli.command_line import app

HOSPITAL = Path(__file__).parents[2] / "examples" / "hospital"
NUMERIC = ("age", "stay_days", "cost", "copay", "temperature", "weight_kg", "crp", "visits_before")
CLOCKS = ("arrived_at", "waited")
FORMS = {"changed": "%Y-%m-%d %H:%M", "insured_since": "%d.%m.%Y", "arrived_at": "%H:%M", "admitted": "%Y-%m-%d"}
STAY = '  "stay_days": {"from": "admitted", "to": "discharged", "column": true, "min": 0, "max": 90, "unit": "d"}'
"""The line that is corrected by hand, as the page of the example has it."""


def _columns(file: Path) -> dict[str, list[str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {name: [row[name] for row in rows] for name in rows[0]}


def _quartiles(cells: list[str]) -> list[float]:
    numbers = np.array([_number(cell) for cell in cells if cell])
    found: list[float] = np.quantile(numbers, [0.25, 0.5, 0.75], method="lower").tolist()
    return found


def _number(cell: str) -> float:
    """A number, or the minutes of a clock."""
    hours, *minutes = cell.split(":")
    return 60.0 * float(hours) + float(minutes[0]) if minutes else float(cell)


def _corrected(draft: str) -> str:
    lines = [STAY if line.startswith('  "stay_days"') else line for line in draft.splitlines()]
    return "\n".join(line for line in lines if not line.startswith('  "discharged"')) + "\n"


def _made(folder: Path) -> Path:
    spec = importlib.util.spec_from_file_location("make_table", HOSPITAL / "make_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write(folder / "visits.csv")
    return folder / "visits.csv"


@pytest.mark.slow
def test_from_csv_to_records_without_edges_made_by_hand(tmp_path: Path) -> None:
    """The seed of the noise is fixed."""
    data, draft, out = _made(tmp_path), tmp_path / "visits.yaml", tmp_path / "records.csv"
    run = CliRunner().invoke
    assert run(app, ["domain", str(data), "-o", str(draft)]).exit_code == 0
    draft.write_text(
        _corrected(draft.read_text(encoding="utf-8")) + (HOSPITAL / "rules.yaml").read_text(encoding="utf-8")
    )
    synth = ["synth", str(data), "--domain", str(draft), "--epsilon", "1", "-o", str(out), "--seed", "1"]
    refused = run(app, synth)
    assert refused.exit_code != 0
    assert not out.exists()
    told = run(app, [*synth, "--accept-draft"])
    assert told.exit_code == 0, told.output
    assert "is a draft that was accepted" in " ".join(told.output.split())
    assert "visit_id, patient_id" in " ".join(told.output.split())
    private, public = _columns(data), _columns(out)
    assert list(public) == [name for name in private if name not in ("visit_id", "patient_id")]
    for name in (*NUMERIC, *CLOCKS):
        assert _quartiles(public[name]) == pytest.approx(_quartiles(private[name]), rel=0.05), name
    for name, form in FORMS.items():
        assert all(datetime.strptime(cell, form) for cell in public[name])
    for start, end, days in zip(*(public[name] for name in ("admitted", "discharged", "stay_days")), strict=True):
        assert date.fromisoformat(start) + timedelta(days=int(days)) == date.fromisoformat(end)
    assert all(re.fullmatch(r"\d\d:\d\d:00", cell) for cell in public["waited"])
    assert all(re.fullmatch(r"\d+\.\d\d|", cell) for name in ("cost", "copay", "crp") for cell in public[name])
    assert set(public["sex"]) == {"female", "male"}
    for age, sex, marital, ward, copay in zip(
        *(public[name] for name in ("age", "sex", "marital", "ward", "copay")), strict=True
    ):
        years = int(age)
        assert years >= 18 or (marital not in ("married", "widowed") and float(copay) == 0)
        assert (years < 16) == (ward == "paediatrics")
        assert years >= 70 or ward != "geriatrics"
        assert ward != "obstetrics" or (sex == "female" and years < 50)
