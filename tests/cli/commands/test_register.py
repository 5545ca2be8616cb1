"""``--register`` and ``hedgerow register``: what is charged, when, and what is said of it."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from hedgerow import OnlineSession, runs
from hedgerow.cli import reading
from hedgerow.data import read_table, read_with
from hedgerow.privacy import ZCDP, ApproxDP, PureDP, Register
from hedgerow.queries import Neighbours
from tests.cli.conftest import Place

LIMIT = ("--limit", 3)


def refused(result: Any, *words: str) -> bool:
    """Whether a call ended with an error that says so."""
    text = " ".join(result.stderr.split())
    return result.exit_code == 1 and "error: " in text and all(word in text for word in words)


def opened(place: Place) -> Register:
    return Register(place / "people.register")


def with_register(place: Place, *arguments: object, output: str = "out.csv", epsilon: float = 1) -> Any:
    return place.synth(
        "--register", place / "people.register", *arguments, output=output, budget=("--epsilon", epsilon)
    )


def ask(place: Place, *arguments: object, session: str = "s.session") -> Any:
    return place.call("ask", place / "people.csv", "--session", place / session, *arguments)


def first_ask(place: Place, *arguments: object, session: str = "s.session") -> Any:
    named = ("--domain", place / "people.yaml", "--register", place / "people.register", "--epsilon", 0.5)
    return ask(place, *named, *arguments, session=session)


# synth


def test_releases_add_up_until_the_limit_refuses(place: Place) -> None:
    first = with_register(place, *LIMIT)
    assert first.exit_code == 0, first.output
    assert "register 1 of 3 epsilon spent, 2 left (entry 1 of " in first.stdout
    second = with_register(place, "--json", "--release", place / "second.release", output="second.csv")
    told = json.loads(second.stdout)["register"]
    assert told == {
        "file": str(place / "people.register"), "unit": "epsilon", "entry": 2,
        "charged": 1.0, "spent": 2.0, "limit": 3.0, "remaining": 1.0,
    }  # fmt: skip
    before = place.names()
    third = with_register(place, output="third.csv", epsilon=1.5)
    assert refused(third, "1.5 epsilon requested, 2 of 3 spent")
    assert place.names() == before
    entries = opened(place).entries
    assert [(each.kind, each.name, each.attributes) for each in entries] == [
        ("release", "out.release", ("sex", "age", "job")),
        ("release", "second.release", ("sex", "age", "job")),
    ]
    assert [each.digests for each in entries] == [
        (hashlib.sha256((place / name).read_bytes()).hexdigest(),) for name in ("out.release", "second.release")
    ]


def test_a_refused_run_does_not_open_the_table(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object, **__: object) -> None:
        raise AssertionError("the table was opened")

    monkeypatch.setattr(reading.Reading, "read_data", unreadable)
    assert refused(with_register(place, *LIMIT, epsilon=4), "does not cover this")
    assert opened(place).entries == ()


def test_the_register_is_charged_before_the_first_row_is_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = []

    def spied(*arguments: Any, **named: Any) -> Any:
        spent.append(opened(place).spent)
        return read_with(*arguments, **named)

    monkeypatch.setattr("hedgerow.data.read_with", spied)
    assert with_register(place, *LIMIT).exit_code == 0
    assert spent == [1.0]


def test_a_large_table_is_charged_for_before_its_first_pass(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "LARGE_BYTES", 0)
    (place / "people.csv").write_text("sex,age,job\nF,99,clerk\n")
    assert refused(with_register(place, *LIMIT), "column 'age'")
    assert opened(place).spent == 1.0


def test_what_fails_after_the_charge_stays_charged(place: Place) -> None:
    (place / "people.csv").write_text("sex,age,job\nF,99,clerk\n")
    failed = with_register(place, *LIMIT, "--json")
    assert refused(failed, "the register was charged 1 epsilon (entry 1)", "column 'age'")
    assert json.loads(failed.stdout)["register"]["charged"] == 1.0
    assert [(each.charge, each.digests) for each in opened(place).entries] == [(1.0, ())]


@pytest.mark.parametrize(
    "arguments",
    [("--columns", "sex,none"), ("--workload", "none:2"), ("--report", "x.txt"), ("--neighbours", "replace"),
     ("--delta", 1e-9), ("--mechanism", "gaussian"), ("--limit", 4)],
    ids=str,
)  # fmt: skip
def test_what_can_be_refused_before_is_not_charged(place: Place, arguments: tuple[object, ...]) -> None:
    assert with_register(place, *LIMIT, output="first.csv").exit_code == 0
    assert with_register(place, *arguments).exit_code != 0
    assert opened(place).spent == 1.0


@pytest.mark.parametrize("header", ["sex,age", "sex,age,job,more"])
def test_columns_are_looked_at_before_the_charge(place: Place, header: str) -> None:
    (place / "people.csv").write_text(f"{header}\n")
    assert refused(with_register(place, *LIMIT), "column")
    (place / "people.csv").unlink()
    assert refused(with_register(place, *LIMIT), "cannot be read")
    assert opened(place).entries == ()


@pytest.mark.parametrize("option", [("--seed", 1), ("--evaluate",)])
def test_what_is_not_private_does_not_go_into_a_register(place: Place, option: tuple[object, ...]) -> None:
    assert with_register(place, *LIMIT, *option).exit_code == 2
    assert "people.register" not in place.names()


def test_the_first_call_names_the_limit(place: Place) -> None:
    assert refused(with_register(place), "there is no register", "--limit EPSILON")
    assert place.synth("--limit", 3).exit_code == 2
    for limit in (
        ("--limit-delta", 1e-9),
        ("--limit", 1, "--limit-rho", 1),
        ("--limit", 1, "--limit-thresholds", 1e-9),
    ):
        assert with_register(place, *limit).exit_code == 2
    assert refused(place.synth("--register", place / "none" / "r", *LIMIT), "--register: the folder")
    assert "people.register" not in place.names()


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        (("--limit", 3, "--limit-delta", 1e-9), ApproxDP(3.0, 1e-9)),
        (("--limit", 3, "--limit-delta", 1e-9, "--limit-thresholds", 4e-10), ApproxDP(3.0, 1e-9, thresholds=4e-10)),
        (("--limit-rho", 0.7), ZCDP(0.7)),
        (("--limit", 3, "--neighbours", "replace"), PureDP(3.0, Neighbours.REPLACE)),
    ],
    ids=["approximate", "thresholds", "zcdp", "replace"],
)
def test_limits_of_all_kinds(place: Place, options: tuple[object, ...], limit: object) -> None:
    assert with_register(place, *options, epsilon=0.25).exit_code == 0
    assert opened(place).limit == limit


def test_a_register_is_not_written_over(place: Place) -> None:
    assert with_register(place, *LIMIT).exit_code == 0
    clash = place.synth("--register", place / "people.register", "--release", place / "people.register", "--force")
    assert refused(clash, "is also an input file")
    assert opened(place).spent == 1.0


@pytest.mark.slow
def test_a_run_that_is_killed_stays_charged(place: Place, start: Callable[..., subprocess.Popen[str]]) -> None:
    rows = (place / "people.csv").read_text().splitlines()
    (place / "people.csv").write_text("\n".join([*rows, *rows[1:] * 5000]) + "\n")  # reading it takes a while
    running = start(
        "synth", place / "people.csv", "--domain", place / "people.yaml", "--epsilon", 1, "-o", place / "out.csv",
        "--register", place / "people.register", *LIMIT,
    )  # fmt: skip
    end = time.monotonic() + 100
    while time.monotonic() < end and running.poll() is None:
        if (place / "people.register").exists() and opened(place).entries:
            break
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=60)
    assert opened(place).spent == 1.0
    assert running.returncode == -signal.SIGKILL
    assert with_register(place, epsilon=2.5).exit_code != 0


# ask


def test_a_session_is_charged_when_it_begins_and_never_again(place: Place) -> None:
    begun = first_ask(place, *LIMIT, "sex = 'F'")
    assert begun.exit_code == 0, begun.output
    assert "register      0.5 of 3 epsilon spent, 2.5 left (entry 1 of " in begun.stdout
    went_on = ask(place, "sex = 'M'", "--register", place / "people.register", "--json")
    assert json.loads(went_on.stdout)["register"]["spent"] == 0.5
    assert ask(place, "age < 22").exit_code == 0
    (entry,) = opened(place).entries
    assert (entry.kind, entry.name, entry.charge) == ("session", "s.session", 0.5)
    session = OnlineSession.restore(place / "s.session", read_table(place / "people.csv", place / "people.yaml"))
    assert session.notes["register"]["entry"] == 1


def test_a_session_goes_on_under_its_own_register_alone(place: Place) -> None:
    assert ask(place, "--domain", place / "people.yaml", "--epsilon", 0.5, "sex = 'F'").exit_code == 0
    assert first_ask(place, *LIMIT, session="other.session").exit_code == 0
    went_on = ask(place, "sex = 'F'", "--register", place / "people.register")
    assert refused(went_on, "was not charged here when it began")
    assert opened(place).spent == 0.5


def test_a_session_that_cannot_begin_is_not_charged(place: Place) -> None:
    assert first_ask(place, *LIMIT, "--seed", 1).exit_code == 2
    assert refused(first_ask(place, "none = 1"), "none")
    assert refused(first_ask(place, "--updates", 5, "--threshold", 7), "threshold")
    assert place.synth().exit_code == 0
    (place / "odd.yaml").write_text(json.dumps({"attributes": {"sex": ["F", "M"]}}))
    other = ("--domain", place / "odd.yaml", "--columns", "sex")
    named = ("--register", place / "people.register", "--epsilon", 2, "--warm", place / "out.release")
    assert refused(ask(place, *other, *named), "another domain")
    assert "s.session" not in place.names()
    assert opened(place).entries == ()


def test_a_refused_session_leaves_no_file(place: Place) -> None:
    assert refused(first_ask(place, "--limit", 0.25), "does not cover this")
    assert "s.session" not in place.names()


# register show


def test_a_register_is_shown(place: Place) -> None:
    assert with_register(place, *LIMIT).exit_code == 0
    assert first_ask(place).exit_code == 0
    shown = place.call("register", "show", place / "people.register")
    assert shown.exit_code == 0, shown.output
    for words in (
        "Register of people", "out.release", "s.session", "spent    1.5 of 3 epsilon, 1.5 left",
        "differentially private with epsilon = 1.5, between tables that are neighbours by add-remove",
        opened(place).head, opened(place).entries[0].digests[0][:12],
    ):  # fmt: skip
        assert words in shown.stdout
    told = json.loads(place.call("register", "show", place / "people.register", "--json").stdout)
    assert (told["spent"], told["remaining"], told["amount"], told["unit"]) == (1.5, 1.5, 3.0, "epsilon")
    assert told["together"] == {"epsilon": 1.5, "delta": 0.0}
    assert [each["name"] for each in told["entries"]] == ["out.release", "s.session"]
    assert told["head"] == opened(place).head


def test_rhos_are_shown_as_an_epsilon_for_a_delta(place: Place) -> None:
    register = Register(place / "people.register", ZCDP(1.0), table="[people]")
    register.charge(ZCDP(0.25), name="[bold]one")
    shown = place.call("register", "show", place / "people.register")
    assert "0.25-zCDP" in shown.stdout
    assert "[bold]one" in shown.stdout
    assert json.loads(place.call("register", "show", place / "people.register", "--json").stdout)["together"] is None
    with_delta = place.call("register", "show", place / "people.register", "--delta", 1e-6, "--json")
    assert json.loads(with_delta.stdout)["together"]["epsilon"] == register.contents().approximate(1e-6)[0]


def test_what_is_no_register_is_not_shown(place: Place) -> None:
    assert refused(place.call("register", "show", place / "none"), "no such register")
    assert refused(place.call("register", "show", place / "people.csv"), "not a register of hedgerow")
    assert "none" not in place.names()
