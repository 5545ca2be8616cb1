"""The register of a table: what it charges, what it refuses, and what no accident takes out of it."""

from __future__ import annotations

import json
import math
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow import MWEM, IndependentNoise, OnlinePMW, OnlineSession
from hedgerow.errors import (
    BudgetExceededError,
    ConfigError,
    DamagedRegisterError,
    RegisterBusyError,
    RegisterError,
    RegisterExceededError,
)
from hedgerow.privacy import (
    GDP,
    ZCDP,
    ApproxDP,
    Budget,
    Contents,
    Limit,
    NoiseSource,
    OpenDPNoise,
    PureDP,
    Regime,
    Register,
    SeededNoise,
    Subsampled,
    amplified,
    charge_of,
    epsilon_of,
    epsilon_of_mu,
    half_square,
    mu_of,
    pure_gdp,
    rho_of,
)
from hedgerow.privacy.register.entries import fixed_of
from hedgerow.queries import Neighbours, Workload
from hedgerow.system import link, start_of
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(2)
PAIRS = Workload.marginals(DOMAIN, 2)
CHILD = [sys.executable, "-m", "tests.privacy.register.child"]
ROOT = Path(__file__).parents[3]
REPLACE = Neighbours.REPLACE


class Sealed:
    """A private table of which nothing but the domain may be looked at."""

    domain = DOMAIN
    filtered = False

    def _refuse(self, *_: object) -> Any:
        raise AssertionError("the table was looked at")

    total = marginals = conjunctions = _refuse


def table(*, filtered: bool = False) -> DenseCounts:
    made = DenseCounts(DOMAIN, np.full(4, 500.0))
    made.filtered = filtered
    return made


@pytest.fixture
def register(tmp_path: Path) -> Register:
    return Register(tmp_path / "people.register", PureDP(1.0))


# What a release is charged


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 0.5, 1.0, 3.0, 20.0, 300.0])
def test_a_pure_release_is_charged_at_least_its_exact_rho(epsilon: float) -> None:
    charged = charge_of(PureDP(epsilon), ZCDP(1.0))
    with mpmath.workdps(60):
        exact = mpmath.mpf(epsilon) * mpmath.tanh(mpmath.mpf(epsilon) / 2)
        assert exact <= mpmath.mpf(charged) <= exact * (1 + mpmath.mpf(2) ** -48)
    assert charge_of(PureDP(epsilon), PureDP(1.0)) == epsilon


def test_budgets_in_rho_are_charged_what_they_are_run_with() -> None:
    assert charge_of(ZCDP(0.25), ApproxDP(3.0, 1e-9)) == 0.25
    assert charge_of(ApproxDP(1.0, 1e-9), ZCDP(1.0)) == rho_of(1.0, 1e-9)


@pytest.mark.parametrize(
    "budget",
    [ZCDP(0.1), ApproxDP(1.0, 1e-9), Subsampled(ApproxDP(1.0, 1e-6, REPLACE), 10, 100)],
    ids=["zcdp", "approximate", "sample"],
)
def test_a_register_of_epsilons_takes_pure_releases_alone(budget: Budget) -> None:
    with pytest.raises(ConfigError, match="in rho has none") as refused:
        charge_of(budget, PureDP(9.0, budget.neighbours))
    assert "pure budget" in refused.value.remedy


def test_a_sample_is_charged_what_holds_for_the_whole_table() -> None:
    pure = Subsampled(PureDP(1.0, REPLACE), 10, 100)
    assert charge_of(pure, PureDP(1.0, REPLACE)) == amplified(1.0, 0.1)
    assert charge_of(pure, ZCDP(1.0, REPLACE)) == charge_of(PureDP(amplified(1.0, 0.1), REPLACE), ZCDP(1.0, REPLACE))
    assert charge_of(Subsampled(ZCDP(0.2, REPLACE), 10, 100, 1e-6), ZCDP(1.0, REPLACE)) == 0.2


def test_gaussian_differential_privacy_adds_up_in_rho_and_in_its_own_unit() -> None:
    """mu-GDP is zCDP with rho = mu^2 / 2; the other way round nothing follows."""
    for limit in (ZCDP(1.0), ApproxDP(5.0, 1e-6), GDP(2.0)):
        assert charge_of(GDP(0.5), limit) == GDP(0.5).limit
        assert charge_of(ApproxDP(1.0, 1e-9, regime=Regime.GDP), limit) == half_square(mu_of(1.0, 1e-9))
    assert charge_of(PureDP(1.0), GDP(2.0)) == pure_gdp(1.0)
    for limit in (PureDP(3.0), ZCDP(3.0), GDP(2.0), ApproxDP(5.0, 1e-6, regime=Regime.PURE)):
        assert charge_of(ApproxDP(1.0, 1e-9, regime=Regime.PURE), limit) == charge_of(PureDP(1.0), limit)
    with pytest.raises(ConfigError, match="does not follow from a rho"):
        charge_of(ZCDP(0.1), GDP(2.0))
    with pytest.raises(ConfigError, match="has none"):
        charge_of(GDP(0.1), PureDP(2.0))


def test_a_register_in_gaussian_differential_privacy(tmp_path: Path) -> None:
    register = Register(tmp_path / "people.register", limit=GDP(1.0))
    assert (register.unit, register.limit) == ("mu^2/2", GDP(1.0))
    register.charge(GDP(0.6), kind="release", name="first", attributes=())
    register.charge(GDP(0.79), kind="release", name="second", attributes=())
    with pytest.raises(RegisterExceededError):
        register.charge(GDP(0.2), kind="release", name="third", attributes=())
    epsilon, delta = register.contents().approximate(1e-6)
    assert delta == 1e-6
    assert epsilon == pytest.approx(epsilon_of_mu(math.hypot(0.6, 0.79), 1e-6))
    assert Register(tmp_path / "people.register").spent == register.spent


def test_the_rho_of_a_sample_holds_for_the_whole_table() -> None:
    """Joint quasi-convexity, on random laws: one of three records is drawn, and the tables differ in the third."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        laws = rng.dirichlet(np.full(4, 0.5), size=4) + 1e-9
        laws /= laws.sum(axis=1, keepdims=True)
        shares = rng.dirichlet(np.ones(3))
        p, q = shares @ laws[[0, 1, 2]], shares @ laws[[0, 1, 3]]
        for alpha in (1.01, 1.5, 2.0, 8.0, 64.0):
            assert _renyi(p, q, alpha) <= _renyi(laws[2], laws[3], alpha) + 1e-9


def _renyi(p: Any, q: Any, alpha: float) -> float:
    logs = alpha * np.log(p) + (1.0 - alpha) * np.log(q)
    return float(np.logaddexp.reduce(logs)) / (alpha - 1.0)


@pytest.mark.parametrize("limit", [PureDP(3.0), ZCDP(3.0), ApproxDP(3.0, 1e-9)], ids=["pure", "zcdp", "approximate"])
def test_releases_between_other_neighbours_are_refused(tmp_path: Path, limit: Limit) -> None:
    register = Register(tmp_path / "r", limit)
    with pytest.raises(ConfigError, match="neighbours by 'add-remove', not by 'replace'"):
        register.charge(PureDP(0.1, REPLACE))
    assert register.entries == ()


def test_parts_of_a_table_belong_into_the_register_of_the_whole_table(tmp_path: Path) -> None:
    register = Register(tmp_path / "r", PureDP(1.0, Neighbours.REPLACE_FILTERED))
    assert register.limit == PureDP(1.0, REPLACE)
    register.charge(PureDP(0.25, Neighbours.REPLACE_FILTERED))
    filtered = table(filtered=True)
    MWEM(rounds=1).run(filtered, PAIRS, PureDP(0.25, REPLACE), register=register)
    OnlinePMW(updates=1).start(filtered, PureDP(0.25, REPLACE), register=register)
    assert register.spent == 0.75


# Sums


def test_sums_are_exact(tmp_path: Path) -> None:
    """Ten times the double nearest to 0.1 is more than 1, though it adds up to less than 1 in doubles."""
    register = Register(tmp_path / "tenths", PureDP(1.0))
    for _ in range(9):
        register.charge(PureDP(0.1))
    with pytest.raises(RegisterExceededError) as refused:
        register.charge(PureDP(0.1))
    assert isinstance(refused.value, BudgetExceededError)
    assert (refused.value.requested, refused.value.limit, refused.value.unit) == (0.1, 1.0, "epsilon")
    assert register.spent == float(9 * Fraction(0.1))
    register.charge(PureDP(float(1 - 9 * Fraction(0.1))))
    assert (register.spent, register.remaining) == (1.0, 0.0)


@given(st.lists(st.floats(1e-300, 1.0), max_size=30))
def test_what_is_accepted_is_what_fits(amounts: list[float]) -> None:
    fixed, limit = fixed_of("people", PureDP(1.0)), PureDP(1.0)
    head, rows, total = start_of("register", fixed), list[tuple[dict[str, Any], str]](), Fraction(0)
    for amount in amounts:
        contents = Contents.of(fixed, rows)
        assert contents.covers(charge_of(PureDP(amount), limit)) is (total + Fraction(amount) <= 1)
        if contents.covers(amount):
            row = _row(len(rows) + 1, amount)
            head = link(head, row)
            rows.append((row, head))
            total += Fraction(amount)
    assert Contents.of(fixed, rows).spent == float(total)


def _row(number: int, amount: float) -> dict[str, Any]:
    words = {"at": "2030-01-01T00:00:00+00:00", "kind": "release", "name": "x", "attributes": []}
    return {"number": number, "charge": amount, "unit": "epsilon", "budget": PureDP(amount).to_dict(), **words}


def test_what_all_add_up_to(tmp_path: Path) -> None:
    register = Register(tmp_path / "r", ApproxDP(3.0, 1e-9))
    assert register.contents().approximate() == (0.0, 1e-9)
    for _ in range(3):
        register.charge(ApproxDP(1.0, 1e-9))
    assert register.contents().approximate() == (epsilon_of(register.spent, 1e-9), 1e-9)
    assert register.contents().approximate(1e-6)[0] < register.contents().approximate()[0] < 3.0
    with pytest.raises(ConfigError, match="at each delta"):
        Register(tmp_path / "other", ZCDP(1.0)).contents().approximate()


# Runs


def test_a_refused_run_looks_at_nothing(register: Register) -> None:
    register.charge(PureDP(0.75), name="first")
    for run in (
        lambda: MWEM().run(Sealed(), PAIRS, PureDP(0.5), register=register),
        lambda: OnlinePMW().start(Sealed(), PureDP(0.5), register=register),
    ):
        with pytest.raises(RegisterExceededError, match=r"0\.75 of 1 spent"):
            run()
    assert [entry.name for entry in register.entries] == ["first"]


def test_a_run_is_charged_before_the_table_is_looked_at(register: Register) -> None:
    """And stays charged, whatever happens then."""
    with pytest.raises(AssertionError, match="looked at"):
        MWEM().run(Sealed(), PAIRS, PureDP(0.25), register=register, name="broken")
    with pytest.raises(AssertionError, match="looked at"):
        OnlinePMW().start(Sealed(), PureDP(0.25), register=register)
    found = [(each.number, each.kind, each.name, each.charge, each.attributes) for each in register.entries]
    assert found == [(1, "release", "broken", 0.25, ("a", "b")), (2, "session", "people", 0.25, ("a", "b"))]


def test_the_whole_budget_is_charged(register: Register) -> None:
    release = MWEM(rounds=1, error_share=0.0).run(table(), PAIRS, PureDP(0.5), register=register)
    assert release.spent <= 0.5 == register.spent


def test_what_can_be_refused_is_refused_before_it_is_charged(register: Register) -> None:
    other = Workload.marginals(binary(3), 1)
    for run in (
        lambda: IndependentNoise(noise="gaussian").run(Sealed(), PAIRS, PureDP(0.5), register=register),
        lambda: MWEM().run(Sealed(), other, PureDP(0.5), register=register),
        lambda: MWEM().run(Sealed(), PAIRS, Subsampled(PureDP(0.5, REPLACE), 1, 2), register=register),
        lambda: OnlinePMW(variant="4a").start(Sealed(), ZCDP(0.5), register=register),
    ):
        with pytest.raises(ConfigError):
            run()
    assert register.entries == ()


@pytest.mark.parametrize(
    "run", [MWEM().run, lambda source, _, *more, **named: OnlinePMW().start(source, *more, **named)]
)
def test_noise_that_does_not_protect_has_nothing_to_add_up(register: Register, run: Callable[..., object]) -> None:
    class Mine(SeededNoise):
        secure = True

    for noise in (SeededNoise(0), Mine(0)):
        with pytest.raises(ConfigError, match="there is none"):
            run(Sealed(), PAIRS, PureDP(0.5), noise=noise, register=register)
    assert register.entries == ()
    noise: NoiseSource = OpenDPNoise()
    run(table(), PAIRS, PureDP(0.5), noise=noise, register=register)
    assert register.spent == 0.5


def test_a_session_remembers_its_register(register: Register, tmp_path: Path) -> None:
    session = OnlinePMW(updates=2).start(table(), PureDP(0.5), register=register, name="weekly")
    session.save(tmp_path / "s.session")
    restored = OnlineSession.restore(tmp_path / "s.session", table())
    assert register.knows(restored.notes)
    assert restored.notes["register"]["entry"] == 1
    assert not Register(tmp_path / "other", PureDP(1.0)).knows(restored.notes)
    assert not register.knows({})
    assert register.spent == 0.5


# The file


def test_the_file_is_for_its_owner_alone_and_nothing_lies_beside_it(register: Register) -> None:
    register.charge(PureDP(0.5))
    assert stat.S_IMODE(register.path.stat().st_mode) == 0o600
    assert os.listdir(register.path.parent) == ["people.register"]


def test_it_is_the_same_when_it_is_opened_again(register: Register) -> None:
    register.charge(PureDP(0.5), name="first", attributes=["a"])
    for again in (Register(register.path), Register(register.path, PureDP(1.0), table="people")):
        assert again.contents() == register.contents()
        assert (again.limit, again.table, again.head) == (PureDP(1.0), "people", register.head)
    assert repr(register) == "<Register of people, limit epsilon 1 (add-remove)>"


@pytest.mark.parametrize("limit", [PureDP(2.0), ApproxDP(1.0, 1e-9), PureDP(1.0, REPLACE), ZCDP(1.0)])
def test_a_limit_can_never_be_changed(register: Register, limit: Budget) -> None:
    with pytest.raises(RegisterError, match=r"another limit, epsilon 1 \(add-remove\)"):
        Register(register.path, limit)


def test_it_is_of_one_table(register: Register) -> None:
    with pytest.raises(RegisterError, match="another table, 'people'"):
        Register(register.path, table="patients")


def test_what_is_not_there_is_made_with_a_limit_alone(tmp_path: Path) -> None:
    with pytest.raises(RegisterError, match="no such register"):
        Register(tmp_path / "r")
    with pytest.raises(RegisterError, match="cannot be made"):
        Register(tmp_path / "none" / "r", PureDP(1.0))
    with pytest.raises(ConfigError, match="a budget for the whole table, not a Subsampled"):
        Register(tmp_path / "r", Subsampled(PureDP(1.0, REPLACE), 1, 2))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["two\nlines", "x" * 201, "\udcff"])
def test_names_are_short_lines(register: Register, name: str) -> None:
    with pytest.raises(ConfigError, match="one line"):
        register.charge(PureDP(0.1), name=name)
    with pytest.raises(ConfigError, match="no entries of kind"):
        register.charge(PureDP(0.1), kind="rumour")
    assert register.entries == ()


def test_digests_are_in_the_chain(register: Register, tmp_path: Path) -> None:
    (tmp_path / "x.release").write_bytes(b"abc")
    register.charge(PureDP(0.25), name="x")
    before = register.head
    digest = register.add_digest(1, tmp_path / "x.release")
    assert digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    register.charge(PureDP(0.25), name="y")
    assert [(each.number, each.digests) for each in register.entries] == [(1, (digest,)), (2, ())]
    assert (register.head != before, register.spent) == (True, 0.5)
    with pytest.raises(ConfigError, match="no entry 3"):
        register.add_digest(3, tmp_path / "x.release")


# What others do to it


def change(register: Register, *statements: str) -> None:
    with closing(sqlite3.connect(register.path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def full(register: Register, tmp_path: Path) -> Register:
    for name in ("one", "two", "three"):
        register.charge(PureDP(0.25), name=name)
    (tmp_path / "x.release").write_bytes(b"abc")
    register.add_digest(2, tmp_path / "x.release")
    return register


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET entry = replace(entry, '0.25', '0.125') WHERE line = 2",
        "UPDATE entries SET entry = replace(entry, 'one', 'uno') WHERE line = 1",
        "UPDATE entries SET entry = replace(entry, 'ba78', 'ba79') WHERE line = 4",
        "UPDATE entries SET link = (SELECT link FROM entries WHERE line = 2) WHERE line = 3",
        "UPDATE entries SET line = line + (CASE line WHEN 1 THEN 10 ELSE 0 END)",
        "UPDATE entries SET entry = '[]' WHERE line = 1",
        "UPDATE entries SET entry = '{' WHERE line = 1",
        "DELETE FROM entries WHERE line = 1",
        "DELETE FROM entries WHERE line = 3",
        "DELETE FROM entries WHERE line = 4",
        "DELETE FROM entries",
        "INSERT INTO entries SELECT 5, entry, link FROM entries WHERE line = 3",
        "UPDATE register SET fixed = replace(fixed, '1.0', '2.0')",
        "UPDATE register SET head = (SELECT link FROM entries WHERE line = 3)",
        "DELETE FROM register",
        "DROP TABLE entries",
        "PRAGMA application_id=0",
    ],
)
def test_a_changed_register_is_refused(full: Register, statement: str) -> None:
    change(full, statement)
    with pytest.raises(DamagedRegisterError):
        Register(full.path)
    with pytest.raises(DamagedRegisterError):
        full.charge(PureDP(0.25))
    with pytest.raises(DamagedRegisterError):
        MWEM().run(Sealed(), PAIRS, PureDP(0.25), register=full)


def rewritten(register: Register, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Every link computed anew, as somebody does who knows how."""
    with closing(sqlite3.connect(register.path)) as connection, connection:
        (fixed,) = connection.execute("SELECT fixed FROM register").fetchone()
        head = start_of("register", json.loads(fixed))
        for line, entry in connection.execute("SELECT line, entry FROM entries ORDER BY line").fetchall():
            row = changed(json.loads(entry))
            head = link(head, row)
            connection.execute("UPDATE entries SET entry = ?, link = ? WHERE line = ?", (json.dumps(row), head, line))
        connection.execute("UPDATE register SET head = ?", (head,))


@pytest.mark.parametrize(
    "changes",
    [{"charge": 0.125}, {"charge": -1.0}, {"charge": "0.25"}, {"unit": "rho"}, {"at": "today"},
     {"number": 7}, {"attributes": [1]}, {"kind": "rumour"}, {"more": 1}, {"charge": 0.8},
     {"budget": ZCDP(0.1).to_dict()}, {"budget": PureDP(0.25, REPLACE).to_dict()}, {"attributes": None},
     {"digest": "00", "of": 1, "kind": "completed"}],
    ids=str,
)  # fmt: skip
def test_a_chain_that_was_computed_anew_must_still_make_sense(full: Register, changes: dict[str, Any]) -> None:
    rewritten(full, lambda row: row)
    assert full.spent == 0.75
    rewritten(full, lambda row: {**row, **changes} if row["kind"] == "release" else row)
    with pytest.raises(DamagedRegisterError):
        Register(full.path)


def test_a_head_that_was_noted_shows_that_a_register_was_put_back(full: Register) -> None:
    old, noted = full.path.read_bytes(), None
    full.charge(PureDP(0.25))
    noted = full.head
    full.path.write_bytes(old)
    assert full.head != noted


@pytest.mark.parametrize("keep", [0, 1, 100, 4096, 9000])
def test_a_truncated_register_is_refused(full: Register, keep: int) -> None:
    full.path.write_bytes(full.path.read_bytes()[:keep])
    with pytest.raises(RegisterError):
        Register(full.path, PureDP(1.0))
    with pytest.raises(RegisterError):
        full.charge(PureDP(0.1))


def test_flipped_bytes_never_make_a_register_cheaper(full: Register) -> None:
    """Wherever the damage is: the register is refused, or says what it said."""
    whole, said = full.path.read_bytes(), full.contents()
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(0, len(whole), size=300):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        full.path.write_bytes(damaged)
        try:
            assert full.contents() == said
        except RegisterError:
            refused += 1
    assert refused > 10


def test_other_files_are_no_registers(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a,b\n" * 1000)
    with closing(sqlite3.connect(tmp_path / "database")) as connection, connection:
        connection.execute("CREATE TABLE entries (a)")
    for name in ("text", "database"):
        with pytest.raises(DamagedRegisterError, match="not a register of hedgerow"):
            Register(tmp_path / name, PureDP(1.0))
    with pytest.raises(RegisterError, match="cannot be read"):
        Register(tmp_path, PureDP(1.0))


def test_a_register_of_another_version_is_refused(full: Register) -> None:
    change(full, "PRAGMA user_version=2")
    with pytest.raises(RegisterError, match="another version"):
        Register(full.path)


# Others at the same time


def child(what: str, register: Register, **options: Any) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([*CHILD, what, str(register.path)], cwd=ROOT, **pipes, **options)


def ended(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=120)
    return int(process.returncode)


@pytest.mark.slow
def test_processes_at_once_never_pass_the_limit_together(register: Register) -> None:
    """Eight charges fit, and three processes that each would make them all make exactly eight."""
    children = [child("charge", register) for _ in range(3)]
    for each in children:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    made = []
    for each in children:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in children:
        made.append(int(each.communicate(timeout=120)[0]))
        assert each.returncode == 0
    assert sum(made) == 8
    assert (register.spent, len(register.entries)) == (1.0, 8)


def test_registers_that_are_made_at_once_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes second in the last step finds the first one's file."""
    first = Register(tmp_path / "r", PureDP(1.0))
    first.charge(PureDP(0.5))
    monkeypatch.setattr("hedgerow.privacy.register.file.RegisterFile.exists", lambda _: False)
    assert Register(tmp_path / "r", PureDP(1.0)).spent == 0.5
    with pytest.raises(RegisterError, match="another limit"):
        Register(tmp_path / "r", PureDP(2.0))
    assert os.listdir(tmp_path) == ["r"]


def test_a_register_that_others_hold_is_busy(register: Register) -> None:
    hasty = Register(register.path, wait=0.05)
    with closing(sqlite3.connect(register.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RegisterBusyError, match=r"0\.05 s; nothing was charged"):
            MWEM().run(Sealed(), PAIRS, PureDP(0.5), register=hasty)
        assert hasty.entries == ()  # who reads does not wait for who writes
        other.execute("ROLLBACK")
    hasty.charge(PureDP(0.5))


def test_a_charge_outlives_the_process_that_made_it(register: Register) -> None:
    assert ended(child("die before the run", register)) == -signal.SIGKILL
    assert [(each.name, each.charge) for each in register.entries] == [("x", 0.5)]
    register.charge(PureDP(0.5))
    with pytest.raises(RegisterExceededError):
        register.charge(PureDP(math.ulp(0.0)))


def test_a_charge_is_there_or_was_never_made(register: Register) -> None:
    register.charge(PureDP(0.25), name="before")
    head = register.head
    assert ended(child("die in the charge", register)) == -signal.SIGKILL
    assert (register.head, register.spent) == (head, 0.25)
    register.charge(PureDP(0.25))
    assert os.listdir(register.path.parent) == ["people.register"]
