"""A session in its file: what is there before the data are looked at, before an answer leaves, and after a failure."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hedgerow
from hedgerow import OnlinePMW, OnlineSession, SessionFile
from hedgerow.algorithms import KIND, Hold
from hedgerow.algorithms.online_pmw import LOST, OnlineAnswer, state as online_state, table_of_session
from hedgerow.errors import (
    ConfigError,
    DamagedSessionError,
    QueryError,
    RegisterExceededError,
    SessionError,
    UnregisteredWarning,
    WeakGuaranteeWarning,
)
from hedgerow.privacy import ZCDP, Budget, Event, Ledger, NoiseSource, PureDP, SeededNoise, WatchState
from hedgerow.release import Container, write_container
from tests.algorithms.online_pmw.cases import DOMAIN, REPLACE, cells, skewed
from tests.privacy.mutants import Mutant, Patch, killed
from tests.privacy.replay import ExplodingNoise, ScriptedNoise
from tests.privacy.tables import DenseCounts, binary
from tests.service.stack import Drawing, Lens

MANY = OnlinePMW(variant="4c", updates=4, threshold=0.02, step="residual")
PAY = OnlinePMW(variant="pay-as-you-go", updates=4, threshold=0.02, step="residual")
PUBLIC = PureDP(4.0, REPLACE)
ASKED = ("a = 0", "b = 0", "c = 0", "a = 0 and b = 0", "b = 0 and c = 0", "a = 0 and c = 0")


def scripted(*fires: bool) -> ScriptedNoise:
    return ScriptedNoise([*fires, *[False] * 50], SeededNoise(1))


@dataclass
class Kept:
    """One session file, and calls that each open it anew."""

    path: Path
    source: Any = field(default_factory=lambda: skewed(20_000))
    config: OnlinePMW = MANY
    budget: Budget = PUBLIC
    reached: Callable[[str], None] = lambda _: None

    def begin(self, noise: NoiseSource | None = None, **options: Any) -> None:
        with SessionFile(self.path, reached=self.reached) as file:
            file.start(self.config, self.source, self.budget, noise=noise or SeededNoise(0), **options)

    def ask(self, *texts: str, noise: NoiseSource | None = None) -> list[OnlineAnswer]:
        with SessionFile(self.path, reached=self.reached) as file:
            file.restore(self.source, noise=noise or scripted(*[True] * 50))
            return file.ask_all(texts)

    @property
    def content(self) -> dict[str, Any]:
        return dict(Container.open(self.path, KIND).content)

    @property
    def held(self) -> tuple[str, float] | None:
        hold = self.content["hold"]
        return hold and (hold["purpose"], hold["charge"])

    @property
    def events(self) -> list[Event]:
        return [each for each in Ledger.from_dict(self.content["ledger"]).events if each.charge > 0.0]

    @property
    def labels(self) -> list[str]:
        return [each.label for each in self.events]

    @property
    def answer_charge(self) -> float:
        charge: float = self.content["rules"]["answer_charge"]
        return charge


# ---- the order -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [MANY, PAY], ids=lambda config: config.variant)
@pytest.mark.parametrize("fires", [True, False])
def test_when_the_data_are_looked_at_the_most_it_can_cost_is_in_the_file(
    tmp_path: Path, fires: bool, config: OnlinePMW
) -> None:
    seen: list[Any] = []
    kept = Kept(tmp_path / "s.session", config=config)
    kept.begin()
    kept.source = Lens(kept.source, lambda: seen.append((kept.held, kept.labels, kept.content["tests"])))
    kept.ask("a = 0", noise=scripted(fires))
    held = ("question", kept.answer_charge)
    # one look for the test, and one for the answer if it fires; the epoch is charged before both
    assert seen == [(held, ["watch"], 0)] * (2 if fires else 1)
    assert kept.held is None
    assert kept.labels == ["watch", "answer"][: 1 + fires]


def test_every_fire_has_a_hold_of_its_own(tmp_path: Path) -> None:
    """Whatever is looked at, the file says what the looks so far have cost, and holds what this one can."""
    kept = Kept(tmp_path / "s.session", config=PAY)
    kept.begin()
    seen: list[Any] = []
    kept.source = Lens(kept.source, lambda: seen.append((kept.held is not None, kept.labels)))
    kept.ask(*ASKED[:3], noise=scripted(True, False, True))
    one, two = ["watch"], ["watch", "answer", "watch"]
    assert seen == [(True, one), (True, one), (True, two), (True, two), (True, two)]
    assert kept.labels == [*two, "answer"]


def test_the_total_is_held_before_it_is_drawn(tmp_path: Path) -> None:
    seen: list[Any] = []
    kept = Kept(tmp_path / "s.session", budget=PureDP(1.0))
    kept.begin(Drawing(SeededNoise(0), lambda: seen.append(kept.held)))
    (total,) = kept.events
    assert seen == [("opening", total.charge)]
    assert kept.held is None


class Filtered(Lens):
    """A table some of whose records a filter left out."""

    filtered = True


def test_how_many_records_pass_a_filter_is_held_although_records_are_replaced(tmp_path: Path) -> None:
    seen: list[Any] = []
    kept = Kept(tmp_path / "s.session", source=Filtered(skewed(20_000), lambda: None))
    with pytest.raises(RuntimeError):
        kept.begin(ExplodingNoise())  # type: ignore[arg-type]
    assert kept.held is not None
    kept.begin(Drawing(SeededNoise(0), lambda: seen.append(kept.held)))
    lost, total = kept.events
    assert (lost.label, total.label) == (LOST, "total")
    assert seen == [("opening", total.charge)]
    assert {lost.neighbours, total.neighbours} == {"replace-then-filter"}


@pytest.mark.parametrize("config", [MANY, PAY], ids=lambda config: config.variant)
def test_what_is_left_behind_does_not_depend_on_the_test(tmp_path: Path, config: OnlinePMW) -> None:
    """Up to the end of the group the file is the same to the byte whether the test fired or not."""
    left: list[list[Any]] = []
    for fires in (True, False):
        kept, files = Kept(tmp_path / f"{fires}.session", config=config), []
        kept.begin()

        def reached(step: str, kept: Kept = kept, files: list[Any] = files) -> None:
            if step in ("held", "looked"):
                files.append((step, kept.path.read_bytes()))

        kept.reached = reached
        kept.ask("a = 0", noise=scripted(fires))
        left.append(files)
    assert [step for step, _ in left[0]] == ["held", "looked"]
    assert left[0] == left[1]


def test_answers_leave_only_after_the_file_has_them(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "s.session")
    kept.begin()
    with SessionFile(kept.path) as file:
        file.restore(kept.source, noise=scripted(True, False))
        for number, text in enumerate(ASKED[:2], start=1):
            file.ask(text)
            assert (kept.content["known"], kept.held) == (number, None)
    assert [each.source for each in kept.ask(*ASKED[:2])] == ["cache", "cache"]


def test_the_file_is_written_no_more_often_than_needed(tmp_path: Path) -> None:
    kept, steps = Kept(tmp_path / "s.session"), list[str]()
    kept.begin()
    kept.reached = steps.append
    kept.ask(*ASKED[:4], noise=scripted(False, True, True, False))
    group = ["prepared", "held", "fired", "prepared", "held", "fired", "prepared", "held", "looked", "settled"]
    assert steps == group
    steps.clear()
    kept.ask(*ASKED[:4], "a in (0, 1)")  # no look: no hold
    assert steps == ["looked", "settled"]


def test_the_answers_are_those_of_the_session(tmp_path: Path) -> None:
    texts = [each.text for each in cells()]
    for config in (MANY, PAY, OnlinePMW(updates=3, threshold=0.02)):
        path = tmp_path / f"{config.variant}.session"
        noise, (first, *_) = SeededNoise(5), texts
        session = config.start(skewed(20_000), PUBLIC, noise=SeededNoise(5))
        with SessionFile(path) as file:
            file.start(config, skewed(20_000), PUBLIC, noise=noise)
            found = [file.ask(first), *file.ask_all(texts)]
            told = file.summary()
        assert found == [session.ask(first), *session.ask_all(texts)]
        assert told == session.summary()


# ---- what fails ------------------------------------------------------------------------------------------------------


def breaking(source: Any, when: Callable[[], bool] = lambda: True) -> Lens:
    """A table at which every look fails."""

    def looked() -> None:
        if when():
            raise RuntimeError("broken")

    return Lens(source, looked)


@pytest.mark.parametrize("config", [MANY, PAY], ids=lambda config: config.variant)
@pytest.mark.parametrize("same", [True, False])
def test_a_question_that_failed_is_paid_for_and_counts_as_a_fire(tmp_path: Path, same: bool, config: OnlinePMW) -> None:
    """In the same process and in the next one."""
    broken = [True]
    kept = Kept(tmp_path / "s.session", config=config)
    kept.begin()
    kept.source = breaking(kept.source, lambda: bool(broken))
    with SessionFile(kept.path) as file:
        file.restore(kept.source, noise=scripted(*[True] * 50))
        left = file.summary()["updates_left"]
        with pytest.raises(RuntimeError, match="broken"):
            file.ask("a = 0")
        assert kept.labels == ["watch"]
        assert kept.held == ("question", kept.answer_charge)
        assert file.forfeited == ()
        broken.clear()
        if same:
            assert file.ask("a = 0").source == "data"
            assert [each.label for each in file.forfeited] == [LOST]
    if not same:
        assert kept.ask("a = 0")[0].source == "data"
    again = ["watch"] if config is PAY else []
    assert kept.labels == ["watch", LOST, *again, "answer"]
    lost = kept.events[1]
    assert lost.charge == kept.answer_charge
    assert lost.target == "the most that an interrupted question can have cost"
    assert lost.charge * (1 - 1e-12) <= lost.sensitivity / lost.scale <= lost.charge  # what that costs is covered
    assert kept.held is None
    with SessionFile(kept.path) as file:
        file.restore(kept.source)
        assert file.summary()["updates_left"] == left - 2
        assert file.forfeited == ()


@pytest.mark.parametrize(
    ("config", "budget"), [(MANY, PUBLIC), (PAY, PUBLIC), (OnlinePMW(variant="4b", updates=3), ZCDP(1.0, REPLACE))]
)
def test_whoever_fails_again_and_again_pays_until_nothing_is_left(
    tmp_path: Path, config: OnlinePMW, budget: Budget
) -> None:
    kept = Kept(tmp_path / "s.session", config=config, budget=budget)
    kept.begin()
    kept.source = breaking(kept.source)
    updates = kept.content["rules"]["updates"]
    for number in range(updates):
        with pytest.raises(RuntimeError):
            kept.ask("a = 0")
        assert kept.labels.count(LOST) == number
    assert kept.ask("a = 0")[0].source == "hypothesis only"
    assert kept.labels.count(LOST) == updates
    assert sum(Fraction(each.charge) for each in kept.events) <= Fraction(budget.limit)


def test_when_the_hold_cannot_be_written_nothing_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path / "s.session")
    kept.begin()
    before = kept.path.read_bytes()
    looks: list[int] = []
    kept.source = Lens(kept.source, lambda: looks.append(1))
    full(monkeypatch, at=0)
    with pytest.raises(SessionError, match="No space"):
        kept.ask("a = 0")
    assert (looks, kept.path.read_bytes()) == ([], before)
    assert kept.ask("a = 0")[0].source == "data"
    assert kept.labels == ["watch", "answer"]


def test_when_the_outcome_cannot_be_written_no_answer_leaves_and_the_hold_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(tmp_path / "s.session")
    kept.begin()
    with SessionFile(kept.path) as file:
        file.restore(kept.source, noise=scripted(*[True] * 50))
        for at in (1, 0, 0):  # the outcome, and then twice what is held for the next look
            full(monkeypatch, at=at)
            with pytest.raises(SessionError, match="No space"):
                file.ask("a = 0")
            assert kept.held is not None
            assert file.forfeited == ()
        found = file.ask("a = 0")
        assert found.source == "data"
        assert len(file.forfeited) == 1
    assert kept.labels == ["watch", LOST, "answer"]


def full(monkeypatch: pytest.MonkeyPatch, *, at: int) -> None:
    """The disk is full when a file is replaced once more, after so many times."""
    replace, left = Path.replace, [at]

    def failing(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] == -1:
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)


def test_a_question_that_became_too_large_is_answered_by_the_hypothesis_alone(tmp_path: Path) -> None:
    """After the first ones were learnt others are too large: that tells nothing, and nothing is held or lost."""
    domain = hedgerow.Domain([hedgerow.IntegerRange(name, 0, 49) for name in "abcdefgh"])
    table = hedgerow.read_table(pa.table({name: [0] * 1000 + [49] * 1000 for name in domain.names}), domain)
    config = OnlinePMW(updates=6, threshold=0.02, largest_tree=10_000)
    with SessionFile(tmp_path / "s.session") as file:
        file.start(config, table, PUBLIC, noise=scripted(*[True] * 50))
        texts = ["a = 0 and b = 0", "b = 0 and c = 0", "c = 0 and d = 0", "a = 0 and d = 0", "a = 49 and c = 49"]
        assert [each.source for each in file.ask_all(texts)] == ["data"] * 3 + ["hypothesis only"] * 2
        assert [each.source for each in file.ask_all(texts[:3])] == ["cache"] * 3
        assert file.forfeited == ()
    assert LOST not in Kept(tmp_path / "s.session").labels


def test_what_is_not_understood_changes_nothing(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "s.session")
    kept.begin()
    before = kept.path.read_bytes()
    with pytest.raises(QueryError):
        kept.ask("a = 0", "z = 1")
    with SessionFile(kept.path) as file:
        file.restore(kept.source)
        with pytest.raises(ConfigError):
            file.ask("a = 0", confidence=2.0)
    assert kept.path.read_bytes() == before


# ---- beginning -------------------------------------------------------------------------------------------------------


def test_a_beginning_that_failed_is_paid_for_and_begun_anew_out_of_what_is_left(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "s.session", budget=PureDP(1.0))
    held = []
    for number in range(3):
        calls: list[Callable[..., Any]] = [partial(kept.begin, notes={"where": None}), kept.ask, kept.ask]
        with pytest.raises(RuntimeError):
            calls[number](noise=ExplodingNoise())
        assert kept.held is not None
        held.append(kept.held[1])
    assert held[0] > held[1] > held[2] > 0.0
    assert table_of_session(kept.path) == (DOMAIN, {"where": None})
    with pytest.raises(SessionError, match="had not begun"):
        OnlineSession.restore(kept.path, kept.source)
    with SessionFile(kept.path) as file:
        file.restore(kept.source, noise=SeededNoise(0))
        assert file.notes == {"where": None}
        assert [each.charge for each in file.forfeited] == held
    assert kept.labels == [LOST, LOST, LOST, "total"]
    assert [each.charge for each in kept.events[:3]] == held
    assert kept.events[0].target == "the most that an interrupted opening can have cost"
    assert kept.content["config"]["updates"] == MANY.updates


def test_a_beginning_is_begun_anew_as_it_was_to_be(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "s.session", budget=PureDP(1.0))
    with pytest.raises(RuntimeError):
        kept.begin(ExplodingNoise())  # type: ignore[arg-type]
    kept.budget = PureDP(2.0)
    with pytest.raises(SessionError, match="another domain or budget"):
        kept.begin()
    kept.budget, kept.source = PureDP(1.0), DenseCounts(binary(2), [1, 2, 3, 4])
    with pytest.raises(SessionError, match="another domain or budget"):
        kept.begin()
    kept.source, kept.config = skewed(20_000), PAY
    kept.begin()
    assert kept.content["config"]["variant"] == "pay-as-you-go"
    with pytest.raises(SessionError, match="there is a session already"):
        kept.begin()


def test_a_start_from_a_release_that_was_interrupted_needs_it_once_more(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "s.session", budget=PureDP(2.0))
    workload = hedgerow.Workload.marginals(DOMAIN, 2)
    release = hedgerow.MWEM(rounds=2).run(kept.source, workload, PureDP(0.5), noise=SeededNoise(0))
    with pytest.raises(RuntimeError):
        kept.begin(ExplodingNoise(), warm=release)  # type: ignore[arg-type]
    with pytest.raises(SessionError, match="earlier release"):
        kept.ask()
    kept.begin(warm=release)
    assert kept.labels[0] == LOST
    assert kept.labels[-1] == "total"
    spent = sum(each.charge for each in kept.events)
    assert spent >= sum(each.charge for each in release.events) + kept.events[0].charge


def test_what_is_refused_for_public_reasons_leaves_no_file(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "s.session", config=OnlinePMW(variant="4b"), budget=PureDP(1.0))
    for _ in range(2):
        with pytest.raises(ConfigError):
            kept.begin()
        assert not kept.path.exists()


# ---- files -----------------------------------------------------------------------------------------------------------


def test_files_without_holds_are_read(tmp_path: Path) -> None:
    """The last version wrote no hold."""
    kept = Kept(tmp_path / "s.session")
    kept.begin()
    kept.ask("a = 0")
    opened = Container.open(kept.path, KIND)
    arrays = {name: opened.array(name) for name in opened.table}
    content = {name: value for name, value in opened.content.items() if name != "hold"}
    write_container(kept.path, content, arrays, kind=KIND, private=True)
    assert [each.source for each in kept.ask("a = 0", "b = 0")] == ["cache", "data"]


@pytest.mark.parametrize(
    "hold",
    [
        {"charge": 1e-9, "purpose": "question"},
        {"charge": -1.0, "purpose": "question"},
        {"charge": 0.5, "purpose": "opening"},
        {"charge": 0.5, "purpose": "lunch"},
        {"charge": 0.5},
        "question",
    ],
)
def test_holds_that_cannot_be_are_refused(tmp_path: Path, hold: object) -> None:
    kept = Kept(tmp_path / "s.session")
    kept.begin()
    kept.ask("a = 0")
    opened = Container.open(kept.path, KIND)
    arrays = {name: opened.array(name) for name in opened.table}
    write_container(kept.path, {**opened.content, "hold": hold}, arrays, kind=KIND, private=True)
    with pytest.raises(DamagedSessionError):
        kept.ask("a = 0")


def test_one_at_a_time(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "s.session")
    kept.begin()
    with SessionFile(kept.path) as file:
        file.restore(kept.source)
        with pytest.raises(SessionError, match="another process is using this session"):
            kept.ask("a = 0")
    for unlocked in (file.summary, lambda: file.ask("a = 0"), lambda: file.restore(kept.source)):
        with pytest.raises(SessionError, match="'with' block"):
            unlocked()
    with SessionFile(kept.path) as file, pytest.raises(SessionError, match="not open"):
        file.ask("a = 0")
    with pytest.raises(SessionError, match="cannot be opened"), SessionFile(tmp_path / "none" / "s"):
        pass
    assert kept.ask("a = 0")[0].source == "data"


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "s.session")
    kept.begin()
    (tmp_path / ".s-abc_1234.session").write_text("half of a file with a secret")
    (tmp_path / ".s-2-abc_1234.session").write_text("of another session")
    kept.ask("a = 0")
    assert sorted(os.listdir(tmp_path)) == [".s-2-abc_1234.session", ".s.session.lock", "s.session"]


def test_what_python_users_want_is_there(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "s.session")
    with SessionFile(kept.path) as file:
        assert file.is_new
        file.start(kept.config, kept.source, kept.budget, noise=SeededNoise(0), notes={"who": "ada"})
        file.ask("a = 0")
        assert not file.is_new
        assert file.opening() is None
        assert (file.config, file.budget, file.notes) == (kept.config, kept.budget, {"who": "ada"})
        assert file.release().sample(10).to_arrow().num_rows == 10


# ---- the order broken in one way each --------------------------------------------------------------------------------


def instead(target: Any, name: str, made: Callable[[Any], Any]) -> Patch:
    return lambda monkeypatch: monkeypatch.setattr(target, name, made(getattr(target, name)))


def by(test: Callable[..., None], *arguments: Any) -> Callable[[], None]:
    """A test as a check, in a folder of its own; whatever it raises says that it noticed something."""

    def check() -> None:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Path(folder), *arguments)
            except AssertionError:
                raise
            except (Exception, pytest.fail.Exception) as error:
                raise AssertionError(str(error)) from error

    return check


def nothing_held(_: Any) -> Any:
    """The file is saved after the look alone, as it was once."""
    return lambda self, session: None


def saved_without(_: Any) -> Any:
    """The file is saved before the look, but does not say that one comes."""
    return lambda self, session: session.prepare() and session.save(self._path)


def half_held(original: Any) -> Any:
    def write(self: Any, session: Any, hold: Hold | None) -> None:
        original(self, session, hold and Hold(hold.charge / 2, hold.purpose))

    return write


def epoch_later(_: Any) -> Any:
    """The hold is in the file, but the epoch that it is for only with the outcome."""

    def hold(self: Any, session: OnlineSession) -> None:
        if not self._held:
            self._write(session, Hold(session.rules.answer_charge, "question"))

    return hold


def never_used_up(original: Any) -> Any:
    """The group goes on after a fire, under the same hold."""

    def answer(self: Any, session: Any, query: Any, confidence: float) -> Any:
        found = original(self, session, query, confidence)
        self._held = True
        return found

    return answer


def only_if_it_fired(original: Any) -> Any:
    """A hold that waits for the outcome, and is written where there is something to pay."""

    def answer(self: Any, session: Any, query: Any, confidence: float) -> Any:
        self._hold = lambda session: None
        found = original(self, session, query, confidence)
        del self._hold
        if found.source == "data":
            self._hold(session)
        return found

    return answer


def never_settled(_: Any) -> Any:
    """The answers leave before the file has them."""
    return lambda self, session: None


def not_forgotten(original: Any) -> Any:
    """What failed stays in memory, and is saved as if it were whole."""

    def ask_all(self: Any, queries: Sequence[Any], confidence: float = 0.95) -> Any:
        session = self._running()
        try:
            return original(self, queries, confidence)
        except BaseException:
            with suppress(Exception):
                session.save(self._path)
            self._session = session
            raise

    return ask_all


def given_back(original: Any) -> Any:
    return lambda content: None if (content.get("hold") or {}).get("purpose") == "question" else original(content)


def opening_for_free(_: Any) -> Any:
    return lambda self, opening, hold: None


AT_THE_LOOK = test_when_the_data_are_looked_at_the_most_it_can_cost_is_in_the_file
FAILED = test_a_question_that_failed_is_paid_for_and_counts_as_a_fire

MUTANTS = [
    Mutant("saved after the look", instead(SessionFile, "_hold", nothing_held), by(AT_THE_LOOK, False, MANY)),
    Mutant("saved after the look, then failed", instead(SessionFile, "_hold", nothing_held), by(FAILED, False, MANY)),
    Mutant("saved, and nothing held", instead(SessionFile, "_hold", saved_without), by(AT_THE_LOOK, True, MANY)),
    Mutant("half is held", instead(SessionFile, "_write", half_held), by(AT_THE_LOOK, True, MANY)),
    Mutant("the epoch comes later", instead(SessionFile, "_hold", epoch_later), by(AT_THE_LOOK, True, PAY)),
    Mutant(
        "the group goes on after a fire",
        instead(SessionFile, "_answer", never_used_up),
        by(test_every_fire_has_a_hold_of_its_own),
    ),
    Mutant(
        "answers leave before the file has them",
        instead(SessionFile, "_settle", never_settled),
        by(test_answers_leave_only_after_the_file_has_them),
    ),
    Mutant("what failed is kept", instead(SessionFile, "ask_all", not_forgotten), by(FAILED, True, MANY)),
    Mutant("the hold is given back", instead(online_state, "held_in", given_back), by(FAILED, False, MANY)),
    Mutant(
        "a lost test is no fire",
        instead(WatchState, "after_a_fire", lambda _: lambda self: self),
        by(FAILED, False, MANY),
    ),
    Mutant(
        "the number of records is not held",
        instead(SessionFile, "_open", opening_for_free),
        by(test_the_total_is_held_before_it_is_drawn),
    ),
    Mutant(
        "the hold is for fires alone",
        instead(SessionFile, "_answer", only_if_it_fired),
        by(test_what_is_left_behind_does_not_depend_on_the_test, MANY),
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_broken_order_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


# ---- its register ----------------------------------------------------------------------------------------------------


def test_a_session_in_a_file_is_charged_in_the_register_once(tmp_path: Path) -> None:
    """Also if it dies before it has begun, and is started anew."""
    register = hedgerow.Register(tmp_path / "people.register", limit=hedgerow.PureDP(1.5))
    domain = hedgerow.Domain([hedgerow.IntegerRange("a", 0, 1)])
    people = [hedgerow.read_table(pa.table({"a": [0, 1, 1, 1] * 500}), domain) for _ in range(3)]
    online, budget = hedgerow.OnlinePMW(updates=2, threshold=0.2), hedgerow.PureDP(1.0)

    class KilledError(BaseException):
        pass

    def killed(step: str) -> None:
        if step == "held":
            raise KilledError

    with hedgerow.SessionFile(tmp_path / "s.session", reached=killed) as kept, pytest.raises(KilledError):
        kept.start(online, people[0], budget, register=register, name="weekly")
    assert [entry.name for entry in register.entries] == ["weekly"]
    with hedgerow.SessionFile(tmp_path / "s.session") as kept:
        kept.start(online, people[1], budget, register=register, name="weekly")
        assert register.knows(kept.notes)
    assert register.spent == 1.0
    with hedgerow.SessionFile(tmp_path / "other.session") as kept, pytest.raises(RegisterExceededError):
        kept.start(online, people[2], budget, register=register)
    assert not (tmp_path / "other.session").exists()


def test_sessions_in_files_warn_as_others_do(tmp_path: Path) -> None:
    domain = hedgerow.Domain([hedgerow.IntegerRange("a", 0, 1)])
    people = hedgerow.read_table(pa.table({"a": [0, 1, 1, 1] * 500}), domain)
    online = hedgerow.OnlinePMW(updates=2, threshold=0.2)
    with hedgerow.SessionFile(tmp_path / "one.session") as kept:
        kept.start(online, people, hedgerow.PureDP(1.0))
    with hedgerow.SessionFile(tmp_path / "two.session") as kept:
        with pytest.warns(UnregisteredWarning) as caught:
            kept.start(online, people, hedgerow.PureDP(1.0))
        assert caught[0].filename == __file__
    fresh = hedgerow.read_table(pa.table({"a": [0, 1, 1, 1] * 500}), domain)
    with hedgerow.SessionFile(tmp_path / "three.session") as kept, pytest.warns(WeakGuaranteeWarning):
        kept.start(online, fresh, hedgerow.PureDP(30.0))
