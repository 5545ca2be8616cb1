"""The client for R, and the page about it, against a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.serving import Server, serving

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide" / "asking-from-r.md").read_text(encoding="utf-8")
TABLE = "sex,age\n" + "".join(f"{'Male' if i % 3 else 'Female'},{i % 60}\n" for i in range(3000))
DOMAIN = {"sex": ["Female", "Male"], "age": {"min": 0, "max": 99}}
Run = Callable[[str], Any]


def has_httr2() -> bool:
    """Whether R can load the package."""
    if shutil.which("Rscript") is None:
        return False
    return (
        subprocess.run(
            ["Rscript", "-e", "library(httr2); library(jsonlite)"], capture_output=True, check=False
        ).returncode
        == 0
    )


pytestmark = [
    pytest.mark.r,
    pytest.mark.slow,
    pytest.mark.skipif(not has_httr2(), reason="R has no httr2 here, or no jsonlite"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as made:
        options = {"variant": "pay-as-you-go", "updates": 30, "threshold": 0.02}
        made.register("survey", TABLE, DOMAIN, title="A survey", budget={"epsilon": 8.0}, options=options)
        yield made


@pytest.fixture
def run(server: Server, tmp_path: Path) -> Run:
    """Runs lines after the client's; the last value as JSON."""
    shutil.copy(ROOT / "clients" / "r" / "hedgerow.R", tmp_path)
    token = server.token_of(f"r-{tmp_path.name[-30:]}")
    (tmp_path / "token").write_text(token + "\n")

    def done(code: str) -> Any:
        code = code.replace("https://hedgerow.example", server.url.rstrip("/"))
        (tmp_path / "page.R").write_text(code)
        environment = os.environ | {"HEDGEROW_TOKEN_FILE": str(tmp_path / "token"), "HEDGEROW_TOKEN": ""}
        found = subprocess.run(
            ["Rscript", "page.R"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=120,
        )
        assert token not in found.stdout + found.stderr
        assert found.returncode == 0, found.stderr
        return found.stdout

    done.token = token  # type: ignore[attr-defined]
    return done


BEGIN = 'source("hedgerow.R")\nserver <- hedgerow("https://hedgerow.example")\n'


def as_json(run: Run, value: str) -> Any:
    said = f"cat(jsonlite::toJSON({value}, auto_unbox = TRUE, digits = NA, na = 'null', null = 'null'))"
    return json.loads(run(BEGIN + said))


def test_the_page_runs_and_shows_what_it_says(run: Run) -> None:
    (whole, short) = re.findall(r"```r\n(.*?)```", PAGE, re.DOTALL)
    told = run(whole)
    for part in ("survey", "A survey", "epsilon", "sex", "COUNT(*) low", "95% confidence", "age < 30 and sex = 'Male'"):
        assert part in told, part
    told = run(f'Sys.setenv(HEDGEROW_TOKEN = readLines("token"))\n{short}')
    assert "$covers" in told


def test_a_table_has_the_numbers_of_the_server(run: Run, server: Server) -> None:
    sql = "SELECT sex, COUNT(*), AVG(age) FROM survey WHERE age < 40 GROUP BY sex"
    rows = as_json(run, f'hedgerow_table(server, "survey", "{sql}")')
    token = run.token  # type: ignore[attr-defined]
    own = server.call("POST", "datasets/survey/tables", {"sql": sql, "free": True}, token=token)
    assert [row["sex"] for row in rows] == [row[0] for row in own["rows"]]
    for row, expected in zip(rows, own["rows"], strict=True):
        assert list(row.values())[1:] == pytest.approx(expected[1:], rel=1e-12)  # R writes 15 digits
    assert list(rows[0]) == own["columns"]


def test_what_is_free_costs_nothing_and_has_no_interval_where_nothing_was_asked(run: Run, server: Server) -> None:
    sql = "SELECT COUNT(*) FROM survey WHERE age = 77 AND sex = 'Male'"
    (row,) = as_json(run, f'hedgerow_table(server, "survey", "{sql}", free = TRUE)')
    assert row["COUNT(*) low"] is None
    token = run.token  # type: ignore[attr-defined]
    assert server.call("GET", "datasets/survey", token=token)["mine"]["asked"] == 0


def test_questions_are_asked_once_and_answers_are_those_of_the_list(run: Run, server: Server) -> None:
    found = as_json(run, 'hedgerow_ask(server, "survey", c("age < 7", "age >= 7 and sex = \'Female\'"), 0.9)')
    token = run.token  # type: ignore[attr-defined]
    listed = server.call("GET", "datasets/survey/answers", token=token)["answers"]
    assert [each["value"] for each in found] == [each["value"] for each in reversed(listed)]
    assert all(each["low"] <= each["value"] <= each["high"] for each in found if each["low"] is not None)
    assert len(listed) == 2


def test_records_are_those_of_the_domain(run: Run) -> None:
    records = as_json(run, 'hedgerow_records(server, "survey", 500)')
    assert len(records) == 500
    assert {each["sex"] for each in records} <= {"Female", "Male"}
    assert all(0 <= each["age"] <= 99 for each in records)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('hedgerow_ask(server, "survey", "gender = 1")', "no attribute 'gender'"),
        ('hedgerow_columns(server, "elsewhere")', "no data set 'elsewhere'"),
        ('hedgerow_table(server, "../people", "SELECT COUNT(*) FROM x")', "HTTP 4"),
    ],
)
def test_a_refusal_says_why_and_what_to_try(run: Run, line: str, told: str) -> None:
    said = run(BEGIN + f"cat(tryCatch({{ {line}; 'nothing' }}, error = conditionMessage))\n")
    assert told in " ".join(said.split())


def test_the_token_is_not_printed_and_must_be_there(run: Run) -> None:
    assert "A Hedgerow server at" in run(BEGIN + "print(server)\nserver\n")
    said = run(
        'source("hedgerow.R")\nSys.unsetenv("HEDGEROW_TOKEN_FILE")\n'
        'cat(tryCatch(hedgerow("https://hedgerow.example"), error = conditionMessage))'
    )
    assert "there is no token" in said
