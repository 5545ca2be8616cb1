"""Leases of data sets in PostgreSQL: taken, renewed, given up, run out; and what is written under one that was lost."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pytest

from hedgerow.errors import ElsewhereError, OutdatedError, StoreBusyError
from hedgerow.service import Leases, Store
from tests.engines.postgresql import postgresql_server
from tests.privacy.mutants import Mutant, killed
from tests.service.store.cases import HOLD, OPENING, answer, everything, opened

Opening = Callable[[], Store]
STEP = replace(OPENING, opening=None)


@pytest.fixture(name="another")
def stores_over_one_database(new_postgresql_database: str) -> Iterator[Opening]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(Store.open(new_postgresql_database)))


@pytest.fixture
def run_out(new_postgresql_database: str) -> Callable[[], None]:
    """Let the time of all leases pass."""
    return partial(pass_time, new_postgresql_database)


def pass_time(address: str) -> None:
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE leases SET expires = clock_timestamp() - interval '1 second'")


def leases(store: Store) -> Leases:
    assert store.leases is not None
    return store.leases


def left(store: Store, *, address: str) -> list[str]:
    """The store as a server's, and what it is told that it lost; it renews nothing by itself."""
    lost: list[str] = []
    leases(store)._address, leases(store)._lost = address, lost.append
    leases(store).look()
    return lost


@contextmanager
def refused(store: Store, data_set: int) -> Iterator[None]:
    """Be alone with a data set, and learn at the end that it was not so."""
    try:
        with store.alone(data_set, wait=1.0):
            yield
            store.hold(data_set, store.progress(data_set).version, HOLD)
    except OutdatedError:
        return
    pytest.fail("it was committed")


def test_a_commit_under_a_lease_that_ran_out_is_refused_though_nobody_took_it(
    another: Opening, run_out: Callable[[], None]
) -> None:
    store = another()
    ada, data_set = opened(store)
    with refused(store, data_set.id):
        version = store.hold(data_set.id, 1, HOLD)
        run_out()
        before = everything(store)
        for write in (
            lambda: store.settle(data_set.id, version, STEP, [answer(ada.id)]),
            lambda: store.forfeit(data_set.id, version, STEP, 0.4),
            lambda: store.hold(data_set.id, version, HOLD),
            lambda: store.make_room(data_set.id, version, 10),
        ):
            with pytest.raises(OutdatedError):
                write()
            assert everything(store) == before
    with store.alone(data_set.id, wait=1.0):
        assert store.forfeit(data_set.id, version, STEP, 0.4) == version + 1


def test_a_commit_under_a_lease_that_another_took_is_refused(another: Opening, run_out: Callable[[], None]) -> None:
    """The other one has not written yet: the version is as it was."""
    store, other = another(), another()
    _, data_set = opened(store)
    with refused(store, data_set.id):
        run_out()
        with other.alone(data_set.id, wait=1.0):
            with pytest.raises(OutdatedError):
                store.make_room(data_set.id, 1, 10)
            with pytest.raises(OutdatedError):
                store.hold(data_set.id, 1, HOLD)
            assert other.hold(data_set.id, 1, HOLD) == 2


def test_nobody_takes_a_lease_while_its_owner_commits(
    another: Opening, run_out: Callable[[], None], new_postgresql_database: str
) -> None:
    waited: list[float] = []

    def reached(step: str) -> None:
        if step == "hold written":
            with psycopg.connect(new_postgresql_database) as connection:
                connection.execute("SET lock_timeout = '100ms'")
                begun = time.monotonic()
                with pytest.raises(psycopg.errors.LockNotAvailable):
                    connection.execute("UPDATE leases SET expires = clock_timestamp()")
                waited.append(time.monotonic() - begun)

    with closing(Store.open(new_postgresql_database, reached=reached)) as store:
        _, data_set = opened(store)
        with store.alone(data_set.id, wait=1.0):
            assert store.hold(data_set.id, 1, HOLD) == 2
    assert len(waited) == 1


def test_servers_keep_leases_and_say_where_they_are(another: Opening, run_out: Callable[[], None]) -> None:
    one, two = another(), another()
    lost = [left(store, address=address) for store, address in ((one, "http://one"), (two, "http://two"))]
    with one.alone(1, "a", wait=1.0):
        pass
    with pytest.raises(ElsewhereError) as away, two.alone(1, "a", wait=5.0):
        pytest.fail("two at once")
    assert away.value.address == "http://one"
    assert isinstance(away.value, StoreBusyError)
    with pytest.raises(ElsewhereError):
        leases(two).claim("a")
    assert leases(one).elsewhere("a") is None
    assert leases(two).elsewhere("a") is not None
    assert leases(two).lives("http://one")
    run_out()
    leases(one).look()  # one that ran out is not renewed
    assert lost[0] == ["a"]
    leases(two).look()
    assert leases(two).elsewhere("a") is None
    with two.alone(1, "a", wait=1.0):
        pass
    leases(one).look()
    assert leases(one).elsewhere("a") is not None


def test_leases_of_a_process_that_is_gone_are_free_at_once(another: Opening, new_postgresql_database: str) -> None:
    gone, other = Store.open(new_postgresql_database), another()
    left(gone, address="http://gone")
    with gone.alone(1, "a", wait=1.0):
        pass
    gone.close()
    left(other, address="http://other")
    assert not leases(other).lives("http://gone")
    with other.alone(1, "a", wait=0.0):
        pass


def test_the_next_data_set_goes_to_the_server_with_fewest(another: Opening) -> None:
    one, two = another(), another()
    for store, address in ((one, "http://one"), (two, "http://two"), (one, "http://one")):
        left(store, address=address)
    with one.alone(1, "a", wait=1.0):
        pass
    with pytest.raises(ElsewhereError), one.alone(2, "b", wait=1.0):
        pytest.fail("the other one has none")
    with two.alone(2, "b", wait=1.0):
        pass
    leases(two).claim("c")  # whoever has fewer
    leases(one).look()
    assert leases(one).elsewhere("c") is not None


def test_a_server_that_comes_later_is_given_what_is_not_in_use(another: Opening) -> None:
    one, two = another(), another()
    lost = left(one, address="http://one")
    for number, unit in enumerate("abcd"):
        with one.alone(number, unit, wait=1.0):
            pass
    left(two, address="http://two")
    with one.alone(3, "d", wait=1.0), one.alone(2, "c", wait=1.0), one.alone(1, "b", wait=1.0):
        leases(one).look()
        assert lost == ["a"]  # the second is given up when nobody waits for its answers
    assert len(lost) == 2
    leases(two).look()
    assert [leases(two).elsewhere(unit) is None for unit in sorted(lost)] == [True, True]
    for unit in lost:
        leases(two).claim(unit)
    leases(one).look()
    assert len(lost) == 2


def test_threads_of_one_store_are_alone_one_after_the_other(another: Opening) -> None:
    store = another()
    left(store, address="http://one")
    with store.alone(1, "series visits", wait=1.0):
        with store.alone(2, "series visits", wait=0.0):  # another data set, under the same lease
            pass
        with pytest.raises(StoreBusyError), store.alone(1, "series visits", wait=0.05):
            pytest.fail("two at once")


def test_a_file_has_no_leases(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "store.db")) as store:
        assert store.leases is None


# ---- leases that are no leases ---------------------------------------------------------------------------------------


def a_lease_that_another_took_is_refused() -> None:
    """The test of a lease that another took, at a database of its own."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        Path(name).chmod(0o711)
        address = stack.enter_context(postgresql_server(Path(name)))

        def another() -> Store:
            return stack.enter_context(closing(Store.open(address)))

        try:
            test_a_commit_under_a_lease_that_another_took_is_refused(another, partial(pass_time, address))
        except pytest.fail.Exception as error:
            raise AssertionError(str(error)) from error


MUTANTS = [
    Mutant(
        "commits do not name their lease",
        lambda monkeypatch: monkeypatch.setattr(Leases, "fence", lambda *_: None),
        a_lease_that_another_took_is_refused,
    ),
    Mutant(
        "room for a model is made in that of another server",
        lambda monkeypatch: monkeypatch.setattr("hedgerow.service.store.sessions.check_version", lambda *_: None),
        a_lease_that_another_took_is_refused,
    ),
]


@pytest.mark.postgresql
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_leases_that_are_none_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("pg_ctl") is None:
        pytest.skip("PostgreSQL is not installed")
    killed(mutant, monkeypatch)
