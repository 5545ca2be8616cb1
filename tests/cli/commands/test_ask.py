"""``hedgerow ask``: one session over several calls."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import pytest
from click.testing import Result

from hedgerow import ZCDP, OnlinePMW, OnlineSession, PureDP, read_domain
from hedgerow.algorithms import ONLINE
from hedgerow.privacy import Budget
from hedgerow.system import alone_with
from tests.cli.command_line import app
from tests.cli.conftest import BAD, Place

BUDGET = ("--epsilon", 20, "--updates", 4, "--threshold", 0.05, "--seed", 1)


def ask(place: Place, *arguments: object) -> Result:
    return place.call(
        "ask", place / "people.csv", "--domain", place / "people.yaml", "--session", place / "s.session", *arguments
    )


def result(place: Place, *arguments: object) -> dict[str, object]:
    done = ask(place, *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def answers(found: dict[str, object]) -> list[dict[str, object]]:
    return found["answers"]  # type: ignore[return-value]


def test_later_calls_go_on_with_the_session(place: Place) -> None:
    first = result(place, *BUDGET, "job is null and age < 22", "sex = 'F'")
    second = result(place, "--seed", 2, "sex = 'F'", "job is null and age < 22", "age >= 23")
    assert [each["source"] for each in answers(second)[:2]] == ["cache", "cache"]
    assert [answers(second)[1][key] for key in ("value", "low", "high")] == [
        answers(first)[0][key] for key in ("value", "low", "high")
    ]
    sessions = [found["session"] for found in (first, second)]
    assert sessions[1]["spent"] >= sessions[0]["spent"] > 0  # type: ignore[index]
    assert sessions[1]["tested"] == 3  # type: ignore[index]
    assert sessions[0]["limit"] == sessions[1]["limit"] == 20  # type: ignore[index]


def test_the_file_is_for_its_owner_alone(place: Place) -> None:
    result(place, *BUDGET, "sex = 'F'")
    assert stat.S_IMODE((place / "s.session").stat().st_mode) == 0o600


def test_people_see_answers_where_they_come_from_and_what_is_left(place: Place) -> None:
    text = ask(place, *BUDGET, "sex = 'F'", "", "sex = 'F'")
    assert text.exit_code == 0
    for word in (
        "hypothesis",
        "public",
        "cache",
        "updates left  4 of 4",
        "threshold     20 records",
        "of 20 epsilon",
        "secret",
    ):
        assert word in text.stdout
    assert "NOT PRIVATE: seeded" in text.stderr
    assert "all that this session will ever say" in text.stdout
    assert "all that this session" not in go_on(place, "sex = 'F'").stdout


def test_a_file_of_questions_and_a_file_of_answers(place: Place) -> None:
    (place / "q.txt").write_text("# who\nsex = 'F'\n\n  age < 22  \n")
    result(place, *BUDGET, "--queries", place / "q.txt", "-o", place / "a.csv", "job is null")
    with Path(place / "a.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["condition"] for row in rows] == ["job is null", "sex = 'F'", "age < 22"]
    for row in rows:
        assert float(row["low"]) <= float(row["answer"]) <= float(row["high"])
    again = ask(place, "-o", place / "a.csv", "sex = 'F'")
    assert again.exit_code == 1
    assert "--force" in again.stderr


def test_a_session_can_be_begun_without_a_question(place: Place) -> None:
    begun = result(place, *BUDGET)
    assert answers(begun) == []
    assert begun["session"]["spent"] == pytest.approx(0.4)  # type: ignore[index]


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--epsilon", 3), "budget"),
        (("--epsilon", 20, "--delta", 1e-9), "budget"),
        (("--neighbours", "replace"), "--neighbours"),
        (("--updates", 5), "--updates"),
        (("--queries-planned", 7), "--queries-planned"),
        (("--mechanism", "online-pmw:variant=4b,step=residual"), "variant, step"),
    ],
)
def test_options_that_contradict_the_session_are_refused(place: Place, options: tuple[object, ...], word: str) -> None:
    result(place, *BUDGET, "sex = 'F'")
    before = (place / "s.session").read_bytes()
    refused = ask(place, *options, "age < 22")
    assert refused.exit_code == 1
    assert f"started with other values of: {word}" in refused.stderr
    assert (place / "s.session").read_bytes() == before
    assert ask(place, *BUDGET, "age < 22").exit_code == 0  # the same options are no contradiction


def go_on(place: Place, *arguments: object, data: str = "people.csv") -> Result:
    """A later call that names the table and the session alone."""
    return place.call("ask", place / data, "--session", place / "s.session", *arguments)


def test_later_calls_need_no_domain(place: Place) -> None:
    first = result(place, *BUDGET, "sex = 'F'")
    (place / "people.yaml").unlink()
    later = go_on(place, "--json", "sex = 'F'", "age = 21")
    assert later.exit_code == 0, later.stderr
    found = answers(json.loads(later.stdout))
    assert found[0]["value"] == answers(first)[0]["value"]
    assert [each["source"] for each in found] == ["cache", "hypothesis"]
    wrong = go_on(place, "sexx = 'F'")
    assert wrong.exit_code == 1
    assert "no attribute 'sexx'" in wrong.stderr


def test_later_calls_need_no_columns(place: Place) -> None:
    assert ask(place, *BUDGET, "--columns", "sex,age", "sex = 'F'").exit_code == 0
    assert go_on(place, "age = 21").exit_code == 0
    assert go_on(place, "--columns", "sex,age", "age = 22").exit_code == 0
    for columns in ("sex,job", "age,sex"):
        refused = go_on(place, "--columns", columns, "sex = 'F'")
        assert refused.exit_code == 1
        assert "no attribute 'job'" in refused.stderr or "leave --domain and --columns out" in refused.stderr


def test_a_new_column_is_an_error_where_all_were_read(place: Place) -> None:
    assert ask(place, *BUDGET, "sex = 'F'").exit_code == 0
    lines = (place / "people.csv").read_text().splitlines()
    (place / "wide.csv").write_text("\n".join([f"{lines[0]},town", *(f"{line},A" for line in lines[1:])]) + "\n")
    refused = go_on(place, "age = 21", data="wide.csv")
    assert refused.exit_code == 1
    assert "'town'" in refused.stderr


def test_later_calls_count_rows_as_the_first_did(place: Place) -> None:
    lines = (place / "people.csv").read_text().splitlines()
    (place / "people.csv").write_text("\n".join([f"{lines[0]},people", *(f"{line},50" for line in lines[1:])]) + "\n")
    budget = ("--rho", 1e4, "--updates", 4, "--threshold", 0.01, "--seed", 1)  # next to no noise
    assert ask(place, *budget, "--count-column", "people").exit_code == 0
    later = go_on(place, "--json", "--seed", 2, "age <= 20", "age >= 21")
    assert later.exit_code == 0, later.stderr
    assert sum(float(str(each["value"])) for each in answers(json.loads(later.stdout))) == pytest.approx(
        20_000, rel=0.05
    )
    same = go_on(place, "--count-column", "people", "age <= 20")
    assert same.exit_code == 0, same.stderr
    other = go_on(place, "--count-column", "age", "age <= 20")
    assert other.exit_code == 1


def test_later_calls_read_codes_as_the_first_did(place: Place) -> None:
    (place / "codes.csv").write_text("sex,age,job\n" + "0,0,0\n1,5,3\n" * 200)
    first = place.call(
        *("ask", place / "codes.csv", "--domain", place / "people.yaml", "--session", place / "s.session"),
        *(*BUDGET, "--coded"),
    )
    assert first.exit_code == 0, first.stderr
    assert go_on(place, "age = 25", data="codes.csv").exit_code == 0


def test_codes_after_values_are_refused(place: Place) -> None:
    (place / "codes.csv").write_text("sex,age,job\n" + "0,0,0\n1,5,3\n" * 200)
    assert ask(place, *BUDGET).exit_code == 0
    refused = go_on(place, "--coded", "age = 25", data="codes.csv")
    assert refused.exit_code == 1
    assert "started with other values of: --coded" in refused.stderr


def test_a_first_call_needs_a_domain(place: Place) -> None:
    before = place.names()
    refused = go_on(place, *BUDGET, "sex = 'F'")
    assert refused.exit_code == 2
    assert "a first call needs --domain" in refused.stderr
    assert place.names() == before


@pytest.mark.parametrize("options", [("--confidence", 95), ("--threshold", 3)])
def test_wrong_numbers_are_refused_before_anything_is_spent(place: Place, options: tuple[object, ...]) -> None:
    before = place.names()
    refused = ask(place, "--epsilon", 1, *options, "sex = 'F'")
    assert refused.exit_code == 1
    assert "remedy" in refused.stderr
    assert place.names() == before


@pytest.mark.parametrize(
    ("variant", "paid", "within"),
    [
        ("4a", "--epsilon", PureDP(1000.0, "replace")),
        ("4b", "--rho", ZCDP(1000.0, "replace")),
        ("4c", "--epsilon", PureDP(1000.0, "replace")),
        ("pay-as-you-go", "--rho", ZCDP(1000.0, "replace")),
    ],
)
def test_the_mechanism_of_a_session_takes_its_theorem(place: Place, variant: str, paid: str, within: Budget) -> None:
    mechanism = f"online-pmw:variant={variant},step=theorem,queries=50,beta=0.01"
    budget = (paid, 1000, "--neighbours", "replace", "--seed", 1, "--mechanism", mechanism)
    found = result(place, *budget, "sex = 'F'")
    config = OnlinePMW(variant=variant, step="theorem", queries=50, beta=0.01)  # type: ignore[arg-type]
    facts = config.plan(read_domain(place / "people.yaml"), within, 400.0).facts
    session: dict[str, object] = found["session"]  # type: ignore[assignment]
    assert (session["variant"], session["theorem"]) == (variant, True)
    assert (session["error_bound"], session["updates"]) == (facts["error"], facts["updates"])
    again = ask(place, *budget, "sex = 'F'")
    promise = f"of the first 50 questions no answer is off by more than {facts['error']:,.0f} records, except with"
    assert promise in again.stdout


def test_the_mechanism_of_a_session_is_named_in_full_and_once(place: Place) -> None:
    before = place.names()
    for mechanism, says in (
        ("mwem", "sessions run online-pmw"),
        ("online-pmw:4a", "write options as NAME=VALUE"),
        ("online-pmw:bounds=1", "takes no option 'bounds'"),
        ("online-pmw:alpha=0.1", "leave one out"),
    ):
        refused = ask(place, *BUDGET, "--mechanism", mechanism, "sex = 'F'")
        assert refused.exit_code == 1
        assert says in refused.stderr
    twice = ask(place, *BUDGET, "--mechanism", "online-pmw:updates=3", "sex = 'F'")
    assert twice.exit_code == 2
    assert "--updates is given beside updates in" in twice.stderr
    assert place.names() == before


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("name", list(ONLINE.options))
def test_bad_values_of_the_mechanism_are_refused_with_a_remedy_or_run(place: Place, name: str) -> None:
    refused = 0
    for value in BAD:
        (place / "s.session").unlink(missing_ok=True)
        done = ask(place, "--epsilon", 1, "--seed", 1, "--mechanism", f"online-pmw:{name}={value}", "sex = 'F'")
        refused += done.exit_code
        assert done.exit_code == ("remedy: " in done.stderr), (value, done.exception)
    assert refused >= 5


@pytest.mark.many(quick=2)
@pytest.mark.parametrize(
    "option", ["--alpha", "--beta", "--queries-planned", "--updates", "--threshold", "--confidence"]
)
def test_bad_values_of_options_of_a_session_are_refused_or_run(place: Place, option: str) -> None:
    refused = 0
    for value in BAD:
        (place / "s.session").unlink(missing_ok=True)
        done = ask(place, "--epsilon", 1, "--seed", 1, f"{option}={value}", "sex = 'F'")
        refused += done.exit_code > 0
        assert done.exit_code in (0, 1, 2), (value, done.exception)
        assert (done.exit_code == 1) <= ("remedy: " in done.stderr), (value, done.stderr)
        assert isinstance(done.exception, SystemExit | None), (value, done.exception)
    assert refused >= 5


def test_a_first_call_needs_a_budget(place: Place) -> None:
    before = place.names()
    refused = ask(place, "sex = 'F'")
    assert refused.exit_code == 2
    assert "a budget is needed" in refused.stderr
    assert place.names() == before


def test_wrong_conditions_are_refused_before_the_table_is_read(place: Place) -> None:
    before = place.names()
    refused = ask(place, *BUDGET, "sex = 'F'", "sexx = 'F'")
    assert refused.exit_code == 1
    assert "condition 2" in refused.stderr
    assert place.names() == before


def test_a_wrong_confidence_is_refused_before_anything_is_spent(place: Place) -> None:
    before = place.names()
    assert ask(place, *BUDGET, "--confidence", 1.5, "sex = 'F'").exit_code == 1
    assert place.names() == before


def test_what_was_spent_is_in_the_file_before_an_answer_is_shown(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hedgerow.cli.commands.ask._write", fail)
    assert ask(place, *BUDGET, "age = 20").exit_code == 1
    monkeypatch.undo()
    kept = result(place, "age = 20")
    assert answers(kept)[0]["source"] == "cache"


def test_an_interrupted_call_keeps_the_books(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it looked at is paid for at its most, and the next call says so."""
    result(place, *BUDGET)
    original = OnlineSession.ask

    def interrupted(self: OnlineSession, query: str, confidence: float) -> None:
        original(self, query, confidence)
        raise KeyboardInterrupt

    monkeypatch.setattr(OnlineSession, "ask", interrupted)
    assert ask(place, "age = 20").exit_code == 130
    monkeypatch.undo()
    text = ask(place, "age = 20")
    assert text.exit_code == 0
    assert "FORFEITED: " in text.stderr
    assert "epsilon, the most that an interrupted question can have cost" in text.stderr
    assert "updates left  3 of 4" in text.stdout
    assert "FORFEITED" not in ask(place, "age = 20").stderr


def test_a_first_call_that_is_interrupted_is_paid_for_and_begun_anew(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.algorithms.online_pmw.start.number_of_records", interrupted)
    assert ask(place, *BUDGET, "--where", "sex = 'F'").exit_code == 130
    monkeypatch.undo()
    for options, word in ((("--epsilon", 30), "budget"), (("--where", "age > 20"), "--where")):
        refused = ask(place, *options)
        assert refused.exit_code == 1
        assert f"started with other values of: {word}" in refused.stderr
    later = go_on(place, "--updates", 3, "--seed", 2, "--json")
    assert later.exit_code == 0, later.stderr
    found = json.loads(later.stdout)
    assert found["session"]["updates"] == 3
    assert found["session"]["threshold"] == pytest.approx(0.05 * found["session"]["total"], abs=1.0)
    (lost,) = found["forfeited"]
    assert lost["target"] == "the most that an interrupted opening can have cost"
    assert found["session"]["spent"] == pytest.approx(0.4 + 0.02 * (20 - 0.4))


def test_a_start_from_a_release_that_is_interrupted_needs_it_once_more(
    place: Place, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.algorithms.online_pmw.start.number_of_records", interrupted)
    assert ask(place, *BUDGET, "--warm", release).exit_code == 130
    monkeypatch.undo()
    refused = go_on(place, "sex = 'F'")
    assert refused.exit_code == 1
    assert "--warm" in refused.stderr
    later = go_on(place, "--json", "--warm", place / "first.release", "sex = 'F'")
    assert later.exit_code == 0, later.stderr
    assert json.loads(later.stdout)["session"]["spent"] >= 0.999 + 0.38


def test_files_that_cannot_be_used_are_named(place: Place) -> None:
    (place / "q.txt").write_bytes(b"sex = '\xff'")
    assert "not a text in UTF-8" in ask(place, *BUDGET, "--queries", place / "q.txt").stderr
    nowhere = place.call(
        "ask", place / "people.csv", "--domain", place / "people.yaml", "--session", place / "no" / "s", *BUDGET
    )
    assert nowhere.exit_code == 1
    assert "does not exist" in nowhere.stderr
    assert ask(place, *BUDGET, "-o", place / "people.csv", "--force").exit_code == 1


def test_two_calls_at_once_are_refused(place: Place) -> None:
    result(place, *BUDGET)
    with alone_with(place / "s.session") as alone:
        assert alone
        refused = ask(place, "sex = 'F'")
    assert refused.exit_code == 1
    assert "another process" in refused.stderr
    assert ask(place, "sex = 'F'").exit_code == 0


def test_damaged_files_and_other_tables_are_refused(place: Place) -> None:
    result(place, *BUDGET, "sex = 'F'")
    other = ask(place, "--columns", "sex,age", "sex = 'F'")
    assert other.exit_code == 1
    assert "another domain" in other.stderr
    (place / "s.session").write_bytes((place / "s.session").read_bytes()[:-7])
    damaged = ask(place, "sex = 'F'")
    assert damaged.exit_code == 1
    assert "not a session file of hedgerow, or damaged" in damaged.stderr


def test_a_session_may_start_from_a_release(place: Place, release: Path) -> None:
    found = result(place, *BUDGET, "--warm", release, "sex = 'F'")
    assert found["session"]["spent"] >= 0.999  # type: ignore[index, operator]
    assert ask(place, "--warm", release, "age < 22").exit_code == 1


def test_the_help_names_the_secret() -> None:
    from typer.testing import CliRunner

    assert "SECRET" in CliRunner().invoke(app, ["ask", "--help"]).stdout


def test_answers_never_overwrite_what_is_read(place: Place) -> None:
    (place / "q.txt").write_text("sex = 'F'\n")
    for path in ("q.txt", "s.session", "people.csv"):
        refused = ask(place, *BUDGET, "--queries", place / "q.txt", "-o", place / path, "--force")
        assert refused.exit_code == 1
        assert "input file" in refused.stderr
    assert (place / "q.txt").read_text() == "sex = 'F'\n"


def test_a_session_behind_a_link_is_one_session(place: Place) -> None:
    """A call through the link must not leave an old state in the file, with the same budget to be spent again."""
    result(place, *BUDGET)
    (place / "link.session").symlink_to(place / "s.session")
    through = place.call(
        "ask", place / "people.csv", "--domain", place / "people.yaml", "--session", place / "link.session", "age = 20"
    )
    assert through.exit_code == 0, through.stderr
    again = result(place, "age = 20")
    assert answers(again)[0]["source"] == "cache"


GROUPED = "SELECT sex, COUNT(*), AVG(age) FROM people WHERE age < 60 GROUP BY sex"


def test_statements_are_answered_as_tables_beside_conditions(place: Place) -> None:
    found = result(place, *BUDGET, "sex = 'F'", GROUPED)
    assert [each["condition"] for each in answers(found)] == ["sex = 'F'"]
    (table,) = found["tables"]  # type: ignore[misc]
    assert table["statement"] == GROUPED
    assert [list(row) for row in table["rows"]] == [
        ["sex", "COUNT(*)", "COUNT(*) low", "COUNT(*) high", "AVG(age)", "AVG(age) low", "AVG(age) high"]
    ] * len(table["rows"])
    again = result(place, "--seed", 2, GROUPED)
    assert again["tables"][0]["sources"] == {"cache": sum(table["sources"].values())}  # type: ignore[index]
    text = ask(place, "--seed", 3, GROUPED)
    assert text.exit_code == 0
    for word in ("COUNT(*)", "from", "questions", "by cache"):
        assert word in text.stdout


def test_a_statement_is_written_as_csv_alone(place: Place) -> None:
    assert ask(place, *BUDGET, GROUPED, "-o", place / "t.csv").exit_code == 0
    with (place / "t.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0][:3] == ["sex", "COUNT(*)", "COUNT(*) low"]
    assert len(rows) > 2
    both = ask(place, GROUPED, "sex = 'F'", "-o", place / "u.csv")
    assert both.exit_code == 1
    assert "the table of one statement" in both.stderr


def test_a_refused_statement_spends_nothing(place: Place) -> None:
    refused = ask(place, *BUDGET, "SELECT MAX(age) FROM people")
    assert refused.exit_code == 1
    assert "QUANTILE(x, 0.99) is supported" in refused.stderr
    assert not (place / "s.session").exists()
