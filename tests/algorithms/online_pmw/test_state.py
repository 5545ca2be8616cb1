"""Saved sessions: going on exactly where they stopped, and every error named."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import hedgerow
from hedgerow import OnlinePMW, OnlineSession
from hedgerow.algorithms import Variant, table_of_session
from hedgerow.errors import DamagedReleaseError, DamagedSessionError, ModelTooLargeError, SessionError
from hedgerow.models.core import memory
from hedgerow.privacy import ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.queries import Conjunction, LinearQuery, Parity
from hedgerow.release import Container, write_container
from tests.algorithms.online_pmw.cases import (
    BUDGETS,
    DOMAIN,
    REPLACE,
    cells,
    check_restored_alike,
    config_of,
    random_queries,
    skewed,
    start,
)
from tests.examples import examples
from tests.privacy.tables import DenseCounts

STREAM: list[LinearQuery] = [
    *list(cells())[:10],
    *random_queries(4, 1),
    Conjunction(DOMAIN, (), ()),
    *list(cells())[:3],
]


def begun(
    variant: Variant, budget: Budget, noise: SeededNoise, source: DenseCounts, warm: hedgerow.Release | None = None
) -> OnlineSession:
    return config_of(variant, updates=5).start(source, budget, noise=noise, warm=warm)


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    case=st.sampled_from(BUDGETS),
    cuts=st.sets(st.integers(0, len(STREAM)), max_size=3),
    seed=st.integers(0, 1000),
)
def test_a_restored_session_goes_on_bit_by_bit(
    case: tuple[Variant, Budget], cuts: set[int], seed: int, tmp_path: Path
) -> None:
    variant, budget = case
    source = skewed(20_000)
    whole = begun(variant, budget, SeededNoise(seed), source)
    expected = [repr(whole.ask(query)) for query in STREAM]
    noise = SeededNoise(seed)
    session, found = begun(variant, budget, noise, source), []
    for number, query in enumerate(STREAM):
        if number in cuts:
            session.save(tmp_path / "s.session")
            session = OnlineSession.restore(tmp_path / "s.session", source, noise=noise)
        found.append(repr(session.ask(query)))
    assert found == expected
    assert session.summary() == whole.summary()
    assert session.release().events == whole.release().events
    ours, theirs = (each.model.marginals([DOMAIN.names])[0] for each in (session, whole))
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("step", ["residual", "refit"])
def test_a_saved_session_and_the_restored_one_are_the_same(step: str, tmp_path: Path) -> None:
    source, noises = skewed(20_000), [SeededNoise(2) for _ in range(2)]
    sessions = [OnlinePMW(updates=9, threshold=0.02, step=step).start(source, PureDP(9.0), noise=n) for n in noises]  # type: ignore[arg-type]
    check_restored_alike(sessions, STREAM, source, noises[1], tmp_path / "s.session")


def test_warm_sessions_private_totals_and_all_kinds_of_queries_come_back(tmp_path: Path) -> None:
    source = skewed(20_000)
    release = hedgerow.MWEM(rounds=2).run(
        source, hedgerow.Workload.marginals(DOMAIN, 2), PureDP(0.5), noise=SeededNoise(0)
    )
    config = OnlinePMW(updates=5, threshold=0.02, bounds=(-1, 1))
    sessions = []
    for cut in (False, True):
        noise = SeededNoise(3)
        session = config.start(source, ApproxDP(3.0, 1e-6), noise=noise, warm=release)
        asked: list[LinearQuery] = [Parity(DOMAIN, ("a", "b")), *random_queries(3, 2)]
        for query in asked:
            session.ask(query)
        if cut:
            session.save(tmp_path / "s.session")
            session = OnlineSession.restore(tmp_path / "s.session", source, noise=noise)
        sessions.append([repr(session.ask(query)) for query in [*cells(), *asked, Conjunction(DOMAIN, (), ())]])
    assert sessions[0] == sessions[1]


def test_only_the_owner_may_read_a_session(tmp_path: Path) -> None:
    session = begun("4b", BUDGETS[2][1], SeededNoise(0), skewed(1_000))
    session.ask("a = 0")
    session.save(tmp_path / "s.session")
    session.save(tmp_path / "s.session")  # in place of the old one
    assert stat.S_IMODE((tmp_path / "s.session").stat().st_mode) == 0o600
    with pytest.raises(DamagedReleaseError, match="not a release"):
        hedgerow.Release.load(tmp_path / "s.session")
    session.release().save(tmp_path / "r.release")
    with pytest.raises(DamagedSessionError, match="not a session"):
        OnlineSession.restore(tmp_path / "r.release", skewed(1_000))


@pytest.mark.parametrize(("variant", "budget"), BUDGETS[2:])
def test_without_the_secret_a_new_epoch_is_charged(variant: Variant, budget: Budget, tmp_path: Path) -> None:
    source, noise = skewed(20_000), SeededNoise(5)
    session = begun(variant, budget, noise, source)
    session.ask("a = 0")
    running = session._watch is not None and session._watch.fires_left > 0
    session.save(tmp_path / "s.session", secret=False)
    assert '"watch": null' in _head(tmp_path / "s.session")
    restored = OnlineSession.restore(tmp_path / "s.session", source, noise=noise)
    lost = 0 if not running else (session._watch.fires_left if session._watch is not None else 0)
    assert restored.updates_left == session.updates_left - lost
    answer = restored.ask("b = 0 and c = 0")
    if variant == "4c":
        assert answer.source == "hypothesis only"
    else:
        assert answer.charged >= restored.rules.watch.charge(budget.regime)


def test_the_secret_is_in_the_file_and_nowhere_else(tmp_path: Path) -> None:
    session = begun("4c", BUDGETS[3][1], SeededNoise(0), skewed(20_000))
    session.ask("a = 0")
    assert session._watch is not None
    secret = session._watch.state().noise
    session.save(tmp_path / "s.session")
    assert json.loads(_head(tmp_path / "s.session"))["content"]["watch"]["noise"] == secret
    for public in (repr(session), str(session.summary()), repr(session._watch), repr(session._watch.state())):
        assert str(secret) not in public


def test_nothing_exact_is_in_the_file(tmp_path: Path) -> None:
    """Two tables, the same tests and answers: byte for byte the same file."""
    files = []
    for histogram in ([7000, 1, 2, 3, 4, 5, 6, 979], [979, 6, 5, 4, 3, 2, 1, 7000]):
        source = DenseCounts(DOMAIN, histogram)
        session = begun("4b", BUDGETS[2][1], _Fixed(), source)
        for query in STREAM:
            session.ask(query)
        session.save(tmp_path / "s.session")
        files.append((tmp_path / "s.session").read_bytes())
    assert files[0] == files[1]


class _Fixed(SeededNoise):
    """Says that a test fires, and gives answers, without looking at what it is handed."""

    def __init__(self) -> None:
        super().__init__(0)
        self.calls = 0

    def exceeds(self, margin: int, scale: float) -> bool:
        self.calls += 1
        return self.calls % 3 == 0

    def gaussian(self, values: np.ndarray, sigma: float) -> np.ndarray:
        return np.full(len(values), 4321, dtype=np.int64)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    source = skewed(1_000)
    session = begun("4b", BUDGETS[2][1], SeededNoise(0), source)
    session.ask("a = 0")
    path = tmp_path / "s.session"
    session.save(path)
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    for place in generator.integers(0, len(whole), size=40).tolist():
        changed = bytearray(whole)
        changed[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(bytes(changed))
        try:
            restored = OnlineSession.restore(path, source)
        except SessionError:
            continue
        assert restored.summary()["answers"] == session.summary()["answers"]  # a bit of the zip's own bookkeeping
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedSessionError):
            OnlineSession.restore(path, source)


_MARGINAL = {"target": {"kind": "marginal", "scope": ["a"]}, "noise": "laplace", "scale": 1.0}


@pytest.mark.parametrize(
    "change",
    [
        {"budget": {"kind": "pure", "epsilon": 1e-9, "neighbours": "replace"}},
        {"tests": "many"},
        {"rules": {}},
        {"config": {"updates": -1}},
        {"measured": []},
        {"watch": {"noise": 3}},
        {"measurements": 0, "known": 2, "measured": [_MARGINAL]},
        {"model": {"kind": "records", "records": 1, "weighted": False}},
        {"ledger": {"limit": 1.0, "unit": "rho", "events": []}},
    ],
)
def test_contents_that_do_not_fit_together_are_refused(change: dict[str, object], tmp_path: Path) -> None:
    source = skewed(1_000)
    session = begun("4b", BUDGETS[2][1], SeededNoise(0), source)
    for query in STREAM[:4]:
        session.ask(query)
    session.save(tmp_path / "s.session")
    opened = Container.open(tmp_path / "s.session", "session")
    arrays = {name: opened.array(name) for name in opened.table}
    arrays["model_records"] = np.zeros((1, 3), dtype=np.uint8)
    if change.get("measurements") == 0:
        arrays["measured_values"] = np.zeros(2)
    write_container(tmp_path / "t.session", {**opened.content, **change}, arrays, kind="session")
    with pytest.raises(DamagedSessionError, match="fit together"):
        OnlineSession.restore(tmp_path / "t.session", source)


def test_other_tables_and_missing_files_are_refused(tmp_path: Path) -> None:
    session = begun("4b", BUDGETS[2][1], SeededNoise(0), skewed(1_000))
    session.save(tmp_path / "s.session")
    other = DenseCounts(hedgerow.Domain(hedgerow.IntegerRange(name, 0, 1) for name in "xyz"), [1] * 8)
    with pytest.raises(SessionError, match="another domain"):
        OnlineSession.restore(tmp_path / "s.session", other)
    with pytest.raises(SessionError, match="cannot be read"):
        OnlineSession.restore(tmp_path / "none.session", other)
    with pytest.raises(SessionError, match="cannot be written"):
        session.save(tmp_path / "none" / "s.session")


def test_notes_and_the_domain_are_found_without_the_table(tmp_path: Path) -> None:
    source, path = skewed(20_000), tmp_path / "s.session"
    session = begun("4c", PureDP(1.0), SeededNoise(0), source)
    session.notes["count_column"] = "people"
    session.save(path)
    assert table_of_session(path) == (DOMAIN, {"count_column": "people"})
    again = OnlineSession.restore(path, source)
    assert again.notes == {"count_column": "people"}
    again.save(path)
    assert table_of_session(path)[1] == {"count_column": "people"}
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(DamagedSessionError):
        table_of_session(path)
    with pytest.raises(SessionError, match="cannot be read"):
        table_of_session(tmp_path / "none.session")


def test_insecure_noise_is_not_forgotten(tmp_path: Path) -> None:
    source = skewed(1_000)
    begun("4b", BUDGETS[2][1], SeededNoise(0), source).save(tmp_path / "s.session")
    restored = OnlineSession.restore(tmp_path / "s.session", source)
    assert not restored.summary()["private"]
    OnlinePMW(updates=2, threshold=0.1).start(source, PureDP(1.0, REPLACE)).save(tmp_path / "t.session")
    assert OnlineSession.restore(tmp_path / "t.session", source).summary()["private"]
    seeded = OnlineSession.restore(tmp_path / "t.session", source, noise=SeededNoise(0))
    assert not seeded.summary()["private"]


def _head(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return archive.read("session.json").decode()


class Half(LinearQuery):
    """A query class of somebody else."""

    domain = DOMAIN
    scope = ("a",)
    bounds = (0.0, 1.0)
    text = "half"

    def values(self) -> np.ndarray:
        return np.array([0.5, 0.0])


@pytest.mark.parametrize("fires", [False, True])
def test_a_session_that_was_asked_queries_of_other_classes_can_be_saved(fires: bool, tmp_path: Path) -> None:
    """Else what was spent on them could not be written down, and one could only go on from an older file."""
    source = skewed(20_000)
    session = start("4c", PureDP(1.0, REPLACE), source, [fires, False])
    first = session.ask(Half())
    session.save(tmp_path / "s.session")
    restored = OnlineSession.restore(tmp_path / "s.session", source, noise=SeededNoise(1))
    again = restored.ask(Half())
    assert first.source == ("data" if fires else "hypothesis")
    assert (again.source, again.value, again.low, again.high) == ("cache", first.value, first.low, first.high)
    assert restored.spent == session.spent


def test_a_session_that_does_not_fit_any_more_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = skewed(20_000)
    begun("4c", PureDP(1.0, REPLACE), SeededNoise(0), source).save(tmp_path / "s.session")
    monkeypatch.setattr(memory, "available_bytes", lambda: 8)
    monkeypatch.setattr(memory, "_ALWAYS_FITS", 0)
    with pytest.raises(ModelTooLargeError):
        OnlineSession.restore(tmp_path / "s.session", source)
