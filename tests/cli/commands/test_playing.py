"""``hedgerow solve-game``: the play of the library, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hedgerow import solve_game
from tests.cli.conftest import BAD, Place

BEATS = "0,1,-1\n-1,0,1\n1,-1,0\n"


def written(place: Place, text: str = BEATS) -> Path:
    path = place.folder / "payoffs.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_programs_find_what_the_library_finds(place: Place) -> None:
    found = solve_game([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]], alpha=0.1)
    told = json.loads(place.call("solve-game", written(place), "--alpha", "0.1", "--json").stdout)
    certificate = {"lower": found.lower, "upper": found.upper, "gap": found.gap, "bound": found.bound}
    strategies = {"row": found.row.tolist(), "column": found.column_vector(3).tolist()}
    assert told == {**certificate, "rounds": found.rounds, **strategies}


@pytest.mark.slow
def test_people_see_the_value_and_the_heaviest_choices(place: Place) -> None:
    result = place.call("solve-game", written(place, "1,1\n" * 12 + "-1,-1\n"), "--rounds", "50")
    assert result.exit_code == 0
    value, gap, rows, columns = result.stdout.splitlines()
    assert value.startswith("value    between -1 and -0.")
    assert gap.endswith("after 50 rounds")
    assert rows.split()[1] == "13"
    assert rows.endswith("and 3 more (--json has all)")
    assert columns == "columns  1 with 1"


@pytest.mark.parametrize("option", ["--alpha", "--rounds"])
def test_bad_values_are_refused_or_played(place: Place, option: str) -> None:
    results = [place.call("solve-game", written(place), f"{option}={value}") for value in BAD]
    assert {result.exit_code for result in results} <= {0, 1, 2}
    assert all(("remedy: " if result.exit_code == 1 else "Invalid value") in result.stderr for result in results[:4])
    assert all("remedy: " in result.stderr for result in results if result.exit_code == 1)
    assert sum(result.exit_code != 0 for result in results) >= 8


@pytest.mark.parametrize("text", ["", "a,b\n1,1\n", "1,0\n1\n", "2,0\n", "nan\n", "\x00"])
def test_what_is_no_matrix_of_payoffs_is_refused(place: Place, text: str) -> None:
    result = place.call("solve-game", written(place, text), "--rounds", "3")
    assert result.exit_code == 1
    assert "remedy: " in result.stderr


def test_other_bytes_and_other_places_are_refused(place: Place) -> None:
    (place.folder / "payoffs.csv").write_bytes(b"\xff\xfe")
    assert "not a .csv file in UTF-8" in place.call("solve-game", place.folder / "payoffs.csv", "--rounds", "3").stderr
    assert place.call("solve-game", place.folder / "none.csv", "--rounds", "3").exit_code == 1
