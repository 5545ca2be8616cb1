"""A first release: its share, what is held for it, and the session that starts from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow
from hedgerow import MWEM, OnlinePMW, OnlineSession
from hedgerow.algorithms import LOST, Hold
from hedgerow.algorithms.online_pmw import start
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError
from hedgerow.models import Markov
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, Curator, PureDP, SeededNoise
from hedgerow.queries import Workload
from hedgerow.release import Release
from hedgerow.service import SessionRepository, check_share, summary_of, usual_share
from hedgerow.service.sessions import first, repository
from hedgerow.service.sessions.first import USUAL_SHARE, first_part
from hedgerow.service.sessions.registering import check_registration
from tests.privacy.mutants import Mutant, killed
from tests.service.stack import (
    DOMAIN,
    REPLACE,
    AtWorker,
    at_worker,
    charges,
    ledger,
    registration,
    skewed,
    transcript,
)

BUDGETS: dict[str, Budget] = {
    "pure": PureDP(4.0),
    "pure, replace": PureDP(4.0, REPLACE),
    "zcdp": ZCDP(2.0),
    "gdp": GDP(2.0, REPLACE),
    "delta": ApproxDP(4.0, 1e-9),
}
TEXTS = ("a = 0", "b in (1, 2) and c = 0", "c <= 3", "a = 1 and b = 3", "b = 0", "a = 0 and b = 1 and c = 2")
FEW = OnlinePMW(updates=6, threshold=0.02)


def numbers(count: int, size: int) -> Domain:
    return Domain(IntegerRange(f"x{place}", 0, size - 1) for place in range(count))


# The share


@pytest.mark.parametrize(
    ("config", "domain", "share"),
    [
        (OnlinePMW(), DOMAIN, USUAL_SHARE),
        (OnlinePMW(), numbers(60, 9), USUAL_SHARE),
        (OnlinePMW(), numbers(61, 9), 0.0),
        (OnlinePMW(), numbers(1, 9), USUAL_SHARE),
        (OnlinePMW(), numbers(2, 1 << 17), 0.0),
        (OnlinePMW(alpha=0.1), DOMAIN, 0.0),
        (OnlinePMW(variant="4a"), DOMAIN, 0.0),
    ],
)
def test_the_share_follows_from_public_values(config: OnlinePMW, domain: Domain, share: float) -> None:
    assert usual_share(config, domain, PureDP(1.0)) == share


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0, float("nan")])
def test_a_share_is_a_part(share: float) -> None:
    with pytest.raises(ConfigError, match="share"):
        check_share(share, DOMAIN, PureDP(1.0))


def test_no_session_starts_from_two_releases(tmp_path: Path) -> None:
    table = skewed()
    release = MWEM(rounds=1).run(table, Workload.marginals(DOMAIN, 1), PureDP(0.5), noise=SeededNoise(0))
    release.save(tmp_path / "old.release")
    new = registration(budget=PureDP(4.0), first=0.25)
    new = replace(new, source={**new.source, "warm": "old.release"})
    with pytest.raises(ConfigError, match="not from both"):
        check_registration(new, tmp_path)


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_the_part_is_a_share_of_what_is_left(budget: Budget) -> None:
    part = first_part(budget, 0.25, 0.5 * budget.limit)
    assert part.limit == pytest.approx(0.125 * budget.limit)
    assert (part.regime, part.neighbours) == (budget.regime, budget.neighbours)


# The session


def begun(source: Any, budget: Budget, noise: SeededNoise) -> tuple[OnlineSession, Release]:
    """The same as a data set's session, by the library."""
    part = first_part(budget, 0.25, budget.limit)
    release = MWEM().run_with(Curator(source, part, noise=noise), Workload.marginals(source.domain, 2))
    return FEW.start(source, budget, noise=noise, warm=release), release


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_a_session_is_that_of_the_library(budget: Budget, tmp_path: Path) -> None:
    session, release = begun(skewed(), budget, SeededNoise(3))
    with at_worker(tmp_path, budget=budget, config=FEW, noise=SeededNoise(3), first=0.25) as here:
        for text in TEXTS:
            (told,), answer = here.ask(text), session.ask(text)
            assert (told.value, told.low, told.high, told.source) == (
                answer.value, answer.low, answer.high, answer.source
            )  # fmt: skip
        assert [each.event for each in ledger(here.store, here.data_set.id)] == list(session.release().events)
        earlier = [each for each in here.events() if each.event.earlier]
        assert len(earlier) == sum(event.charge > 0.0 for event in release.events)
        spent = sum(Fraction(each.event.charge) for each in earlier)
        assert 0.24 * budget.limit < spent <= Fraction(0.25) * Fraction(budget.limit)
        assert all(each.person is None for each in earlier)
        assert summary_of(here.store, here.data_set, here.bob)["learnt"]


def test_the_hypothesis_knows_pairs_before_anybody_asks(tmp_path: Path) -> None:
    source, texts = skewed(), ["a = 0 and b = 1", "b = 2 and c = 3", "a = 1 and c = 0", "a = 1", "c in (1, 2)"]
    with at_worker(tmp_path, source=source, config=FEW, first=0.25) as here:
        answers = here.ask(*texts)
    assert {each.source for each in answers} == {"hypothesis"}
    (tmp_path / "cold").mkdir()
    with at_worker(tmp_path / "cold", source=source, config=FEW) as here:
        assert "data" in {each.source for each in here.ask(*texts)}


# Room in the hypothesis


WIDE = numbers(6, 30)
"""Too many cells for a histogram: trees hold what is learnt."""


def wide() -> Any:
    columns = np.random.default_rng(0).integers(0, 30, (6, 2_000)) // np.arange(1, 7)[:, None]
    return hedgerow.read_table(pa.table(dict(zip(WIDE.names, columns, strict=True))), WIDE)


def test_what_the_hypothesis_could_not_learn_it_answers_by_itself(tmp_path: Path) -> None:
    """It was refused: the more budget, the more of a first release, and the more questions."""
    small = OnlinePMW(updates=6, threshold=0.02, largest_tree=1 << 15)
    large = " and ".join(f"{name} = 1" for name in WIDE.names[:4])
    with at_worker(tmp_path, source=wide(), budget=PureDP(1.0), config=small) as here:
        first, second, third = here.ask(large, "x0 = 1", large)
        assert [each.source for each in (first, third)] == ["hypothesis only"] * 2
        assert second.source in ("hypothesis", "data")
        assert (first.low, first.charged) == (None, 0.0)
        assert "the hypothesis would need 810,000 cells" in first.covers


def test_a_first_release_leaves_room_for_what_will_be_asked() -> None:
    most = first._mechanism(WIDE).largest_tree
    assert most <= OnlinePMW().largest_tree // 4
    release = first.first_release(Curator(wide(), PureDP(500.0), noise=SeededNoise(0)))
    assert isinstance(release.model, Markov)
    assert 2 * 30**2 < sum(tree.cells for tree in release.model.trees) <= most


# Deaths


class Killed(BaseException):
    """The process died here."""


def killed_at(step: str, folder: Path, budget: Budget) -> AtWorker:
    def reached(name: str) -> None:
        if name == step:
            raise Killed

    with at_worker(folder, budget=budget, config=FEW, first=0.25, reached=reached) as here, pytest.raises(Killed):
        here.ask("a = 0")
    return here


@pytest.mark.parametrize("step", ["held", "learnt", "looked"])
@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_what_a_first_release_can_cost_is_held_before_it(budget: Budget, step: str, tmp_path: Path) -> None:
    """The whole part, and the noisy number of records; lost where the process dies, and the rest is divided anew."""
    dead = killed_at(step, tmp_path, budget)
    with at_worker(tmp_path, budget=budget, config=FEW, first=0.25, join=dead) as here:
        hold = here.hold()
        assert hold is not None
        part, share = Fraction(first_part(budget, 0.25, budget.limit).limit), Fraction(FEW.total_share)
        most = part + share * (Fraction(budget.limit) - part)
        assert most <= hold
        assert hold == pytest.approx(float(most))
        here.worker.manage(lambda repository: repository.retry(here.ada.id))
        here.ask(*TEXTS)
        lost = [each.event.charge for each in here.events() if each.event.label == LOST]
        assert lost == [hold]
        left = Fraction(budget.limit) - Fraction(hold)
        earlier = [Fraction(each.event.charge) for each in here.events() if each.event.earlier]
        assert sum(earlier) <= Fraction(0.25) * left * (1 + Fraction(1, 2**40))
        assert charges(here.store, here.data_set.id) <= Fraction(budget.limit)
        assert transcript(here.store, here.data_set.id).begun


def test_nothing_is_looked_at_before_the_hold(tmp_path: Path) -> None:
    steps: list[str] = []
    source = skewed()

    class Watched:
        def __getattr__(self, name: str) -> Any:
            if name in ("marginals", "conjunctions", "total"):
                steps.append(name)
            return getattr(source, name)

    with at_worker(
        tmp_path, source=Watched(), budget=PureDP(4.0), config=FEW, first=0.25, reached=steps.append
    ) as here:
        here.ask("a = 0")
    assert steps.index("held") < min(steps.index(name) for name in ("marginals", "total") if name in steps)
    assert steps.index("held") < steps.index("learnt") < steps.index("looked")


# Planted bugs


def only_the_number_of_records(patch: pytest.MonkeyPatch) -> None:
    """The hold covers the number of records, and not the release."""
    right = SessionRepository._hold_opening

    def hold(self: SessionRepository, opening: Hold) -> None:
        right(self, replace(opening, charge=FEW.total_share * opening.charge))

    patch.setattr(SessionRepository, "_hold_opening", hold)


def nothing_charged(patch: pytest.MonkeyPatch) -> None:
    """The session starts from the release without its charges."""
    patch.setattr(repository, "earlier_events", lambda *_: ())
    patch.setattr(start, "check_charged", lambda *_: None)


def the_whole_budget_anew(patch: pytest.MonkeyPatch) -> None:
    """What died before is forgotten when the budget is divided."""
    patch.setattr(repository, "first_part", lambda budget, share, left: first_part(budget, share, budget.limit))


def dead(step: str) -> Callable[[], None]:
    def check() -> None:
        with TemporaryDirectory() as folder:
            test_what_a_first_release_can_cost_is_held_before_it(PureDP(4.0), step, Path(folder))

    return check


def as_in_the_library() -> None:
    with TemporaryDirectory() as folder:
        test_a_session_is_that_of_the_library(PureDP(4.0), Path(folder))


MUTANTS = (
    Mutant("a first release that is not held", only_the_number_of_records, dead("learnt")),
    Mutant("a first release that is not charged", nothing_charged, as_in_the_library),
    Mutant("a first release from a budget that is partly lost", the_whole_budget_anew, dead("held")),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
