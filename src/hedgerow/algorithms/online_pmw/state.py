"""Sessions as files: what stands where in the container, and going on exactly where the session stopped.

The file is the custodian's: unlike a release it may hold a secret, the threshold noise of the running epoch, and is
written with mode 0600. Everything else in it is a function of the session's answers and of public parameters.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.algorithms.online_pmw.answer import Basis, Known
from hedgerow.algorithms.online_pmw.hold import Hold, hold_from_dict, hold_to_dict
from hedgerow.algorithms.online_pmw.hypothesis import put_together, taken_apart
from hedgerow.algorithms.online_pmw.online_pmw import OnlinePMW
from hedgerow.algorithms.online_pmw.rules import rules_from_dict
from hedgerow.algorithms.online_pmw.session import WATCH, History, OnlineSession
from hedgerow.domain import domain_from_mapping, domain_to_mapping
from hedgerow.errors import (
    DamagedReleaseError,
    DamagedSessionError,
    HedgerowError,
    ModelTooLargeError,
    ReleaseError,
    SessionError,
)
from hedgerow.models import Hypothesis, Potentials
from hedgerow.privacy.budgets.budget import budget_from_dict
from hedgerow.privacy.curator import Curator
from hedgerow.privacy.ledger.ledger import Event, Ledger
from hedgerow.privacy.ledger.paid_answers import check_answers_paid
from hedgerow.privacy.mechanisms.additive_noise import AdditiveNoise, GaussianNoise, LaplaceNoise
from hedgerow.privacy.watch import WatchState
from hedgerow.queries import LinearQuery, Measurement, NoiseKind, query_key
from hedgerow.release.container import Container, write_container
from hedgerow.release.content import TABLES, StoredModel, measurements_from_list, measurements_to_list, model_to_dict
from hedgerow.release.file import StoredArrays

if TYPE_CHECKING:
    from hedgerow.domain import Domain
    from hedgerow.privacy import NoiseSource

KIND = "session"
_START = "start_"
"""Before the names of the arrays that a start from trees of a release began with."""

_FAULTS = (AttributeError, KeyError, IndexError, OverflowError, TypeError, ValueError)


def save_session(
    path: str | os.PathLike[str],
    curator: Curator,
    basis: Basis,
    model: Hypothesis,
    history: History,
    *,
    watch: WatchState | None,
    notes: Mapping[str, Any],
    hold: Hold | None = None,
) -> None:
    """Write a session to one file that only its owner may read, in one step.

    Args:
        path: Target; its folder must exist.
        curator: Its ledger is written, nothing else of it.
        basis: What the session rests on.
        model: The hypothesis.
        history: What happened so far.
        watch: SECRET: the running epoch, or None to leave it out.
        notes: What its keeper wants to find again, as values that JSON can hold.
        hold: The most that the look at the data which comes next can cost; None if none comes.

    Raises:
        SessionError: The file cannot be written.
    """
    content, arrays = _public(curator, basis, model, history)
    kept = {
        "warning": "holds a secret: keep this file where the data are" if watch is not None else "",
        "watch": None if watch is None else watch.to_dict(),
        "hold": hold_to_dict(hold),
        "notes": dict(notes),
    }
    write_session(path, {**kept, **content}, arrays)


def write_session(path: str | os.PathLike[str], content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file of the kind of sessions, for its owner alone, in one step that outlasts a power cut.

    Raises:
        SessionError: The file cannot be written.
    """
    try:
        write_container(path, content, arrays, kind=KIND, private=True)
    except ReleaseError as error:
        raise SessionError(error.message, remedy=error.remedy) from error


def _public(
    curator: Curator, basis: Basis, model: Hypothesis, history: History
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Everything but the secret, as JSON values and arrays."""
    entry, arrays = hypothesis_to_dict(model)
    known = [known_as_measurement(each) for each in history.known.values()]
    measured, measured_arrays = measurements_to_list([*history.measurements, *known])
    ledger = Ledger(curator.budget.limit, curator.budget.unit, curator.ledger.events)
    content = {
        **basis_to_dict(basis, curator),
        "noise": curator.noise_source,  # as in the provenance of releases; nobody but an auditor reads it
        "ledger": ledger.to_dict(),
        "model": entry,
        "measurements": len(history.measurements),
        "known": len(known),
        "measured": measured,
        **counters_to_dict(history),
    }
    return content, {**arrays, **measured_arrays}


def restore_session(
    path: str | os.PathLike[str], source: Any, noise: NoiseSource | None
) -> tuple[OnlineSession, Event | None]:
    """Read a session and go on with it.

    Args:
        path: The file.
        source: The private table, which must be the same as before; only its domain can be checked.
        noise: Source of noise; the secure one unless given.

    Returns:
        The session; and what became of the hold of a process that died at a question, which its ledger has, if there
        was one.

    Raises:
        SessionError: There is no such file, it may not be read, the table has another domain, or the session had not
            begun when its process died.
        DamagedSessionError: It is not a session, is truncated, or was changed.
        ModelTooLargeError: Its hypothesis does not fit into memory now.
    """
    with explaining(path):
        return _session_of(Container.open(path, KIND), source, noise)


def table_of_session(path: str | os.PathLike[str]) -> tuple[Domain, dict[str, Any]]:
    """What a session file says about its table: the domain, and the notes that were kept with the session.

    Nothing private is read, and nothing is restored.

    Args:
        path: The file.

    Raises:
        SessionError: There is no such file, or it may not be read.
        DamagedSessionError: It is not a session, is truncated, or was changed.
    """
    with explaining(path):
        content = Container.open(path, KIND).content
        return domain_from_mapping(content["domain"]), dict(content["notes"])


@contextmanager
def explaining(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever a wrong file leads to into one of two errors."""
    try:
        yield
    except (SessionError, ModelTooLargeError):
        raise
    except DamagedReleaseError as error:
        raise DamagedSessionError(error.message, remedy=error.remedy) from error
    except ReleaseError as error:
        raise SessionError(error.message, remedy=error.remedy) from error
    except (HedgerowError, *_FAULTS) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DamagedSessionError(
            f"{Path(path)}: not a session file of hedgerow, or damaged (its contents do not fit together: {reason})",
            remedy="use the file as hedgerow wrote it",
        ) from error


def _session_of(container: Container, source: Any, noise: NoiseSource | None) -> tuple[OnlineSession, Event | None]:
    content, arrays = container.content, StoredArrays(container)
    if source.domain != domain_from_mapping(content["domain"]):
        raise SessionError(
            f"{container.path}: the session is about a table with another domain",
            remedy="go on with the table, the columns and the domain file that it was started with",
        )
    hold = held_in(content)
    if hold is not None and hold.purpose == "opening":
        raise SessionError(
            f"{container.path}: the session had not begun when its process died",
            remedy="start it anew with SessionFile.restore or 'hedgerow ask', out of what is left",
        )
    basis = basis_from_dict(content)
    watch = None if content["watch"] is None else WatchState.from_dict(content["watch"])
    events = Ledger.from_dict(content["ledger"], version=container.version).events
    lost = None
    if hold is not None:
        watch, lost = _forfeited(hold, basis, watch)
        events = (*events, lost)
    curator = Curator(source, basis.budget, noise=noise, events=events)
    model = hypothesis_from_dict(content["model"], arrays, source.domain, basis.total)
    measured = measurements_from_list(content["measured"], arrays, source.domain)
    check_answers_paid(events, measured[: int(content["measurements"])], basis.budget.neighbours)
    running = None if watch is None else curator.resume_watch(watch, label=WATCH)
    session = OnlineSession(curator, basis, model, _history_of(content, measured), running)
    session.notes.update(content["notes"])
    return session, lost


def held_in(content: Mapping[str, Any]) -> Hold | None:
    """What a session file holds; nothing in files that were written before there were holds in them.

    Raises:
        ConfigError, KeyError, TypeError, ValueError: It is something else.

    Example:
        >>> held_in({"hold": {"charge": 0.5, "purpose": "question"}}), held_in({})
        (Hold(charge=0.5, purpose='question'), None)
    """
    return hold_from_dict(content.get("hold"))


def _forfeited(hold: Hold, basis: Basis, watch: WatchState | None) -> tuple[WatchState, Event]:
    """The state after a question whose hold is forfeited, and the event that the hold becomes."""
    if watch is None or hold.charge != basis.rules.answer_charge:
        raise ValueError("what is held is not what a question costs")
    return watch.after_a_fire(), hold.lost(basis.budget, basis.rules)


def basis_to_dict(basis: Basis, curator: Curator) -> dict[str, Any]:
    """What a session rests on, as values that JSON can hold.

    Args:
        basis: Configuration, rules and number of records.
        curator: Knows the domain, and whether its noise protects.
    """
    return {
        "config": basis.config.parameters(),
        "rules": basis.rules.to_dict(),
        "budget": basis.budget.to_dict(),
        "domain": domain_to_mapping(curator.domain),
        "total": basis.total,
        "total_noise": _noise_to_dict(basis.total_noise),
        "secure": basis.secure and curator.secure,
    }


def basis_from_dict(content: Mapping[str, Any]) -> Basis:
    """Read what `basis_to_dict` wrote.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: It was something else.
    """
    return Basis(
        config=config_from_dict(content["config"]),
        budget=budget_from_dict(content["budget"]),
        rules=rules_from_dict(content["rules"]),
        total=float(content["total"]),
        total_noise=_noise_from_dict(content["total_noise"]),
        secure=bool(content["secure"]),
    )


def config_from_dict(parameters: Mapping[str, Any]) -> OnlinePMW:
    """Read what `OnlinePMW.parameters` gave.

    Raises:
        ConfigError: A number is out of its range.
        KeyError, TypeError: It was something else.

    Example:
        >>> config_from_dict(OnlinePMW(updates=12).parameters()).updates
        12
    """
    return OnlinePMW(**{**parameters, "bounds": tuple(parameters["bounds"])})


def hypothesis_to_dict(model: Hypothesis) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The form, the updates, and what a start from trees of a release began with."""
    form, updates, start = taken_apart(model)
    entry, arrays = model_to_dict(updates)
    begun, factors = model_to_dict(Potentials(start))
    named = {_START + name: table for name, table in factors.items()}
    return {**entry, "form": form, **({"start": begun} if start else {})}, {**arrays, **named}


def hypothesis_from_dict(
    entry: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], domain: Domain, total: float
) -> Hypothesis:
    """Read what `hypothesis_to_dict` wrote.

    Args:
        entry: Its JSON values.
        arrays: Its arrays.
        domain: The domain.
        total: Mass, in counts.

    Raises:
        KeyError, TypeError, ValueError: It was something else.
        ModelTooLargeError: It does not fit into memory.
    """
    updates, begun = _potentials(entry, arrays, domain, total), entry.get("start")
    factors = {} if begun is None else {TABLES: arrays[_START + TABLES]}
    start = {} if begun is None else _potentials(begun, factors, domain, total).tables
    return put_together(domain, total, entry.get("form", "histogram"), updates, start)


def _potentials(
    entry: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], domain: Domain, total: float
) -> Potentials:
    state = StoredModel(domain, total, entry, arrays).state()
    if not isinstance(state, Potentials):
        raise TypeError("the hypothesis of a session is a product of factors")
    return state


def _history_of(content: Mapping[str, Any], measured: Sequence[Measurement]) -> History:
    count = int(content["measurements"])
    if len(measured) != count + int(content["known"]):
        raise ValueError("the number of answers is another one")
    known = [known_from_measurement(each) for each in measured[count:]]
    return history_from_dict(content, {query_key(each.query): each for each in known}, list(measured[:count]))


def counters_to_dict(history: History) -> dict[str, Any]:
    """What a history counts, and whether the session is closed, as values that JSON can hold.

    Example:
        >>> counters_to_dict(History.fresh())
        {'tests': 0, 'epochs': 0, 'closed': '', 'sources': {}}
    """
    return {
        "tests": history.tests,
        "epochs": history.epochs,
        "closed": history.closed,
        "sources": dict(history.sources),
    }


def history_from_dict(
    counters: Mapping[str, Any], known: dict[Hashable, Known], measurements: list[Measurement]
) -> History:
    """Read what `counters_to_dict` wrote, and put it together with what was found out.

    Args:
        counters: The counters.
        known: What was found out, by the key of the query; shared with the history.
        measurements: The noisy answers among it, in order; shared with the history.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: It was something else.
    """
    return History(
        tests=int(counters["tests"]),
        epochs=int(counters["epochs"]),
        known=known,
        measurements=measurements,
        closed=str(counters["closed"]),
        sources={str(name): int(number) for name, number in counters["sources"].items()},
    )


def known_as_measurement(known: Known) -> Measurement:
    """What is known of a query in the format of measurements: its scale is the test's threshold, 0 without a test."""
    return Measurement(known.query, np.array([known.value]), NoiseKind.LAPLACE, known.threshold or 0.0)


def known_from_measurement(measured: Measurement) -> Known:
    """What `known_as_measurement` made a measurement of.

    Raises:
        TypeError: It is one of a whole marginal.
    """
    if not isinstance(measured.target, LinearQuery):
        raise TypeError("a session knows linear queries alone")
    return Known(measured.target, float(measured.values[0]), measured.scale or None)


def _noise_to_dict(noise: AdditiveNoise | None) -> dict[str, Any] | None:
    return None if noise is None else {"kind": noise.kind.value, "scale": noise.scale}


def _noise_from_dict(mapping: Mapping[str, Any] | None) -> AdditiveNoise | None:
    if mapping is None:
        return None
    scale = float(mapping["scale"])
    return LaplaceNoise(scale) if NoiseKind(mapping["kind"]) is NoiseKind.LAPLACE else GaussianNoise(scale)
