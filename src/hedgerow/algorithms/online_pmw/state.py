"""The state of a session between two questions, and the file that it is kept in.

`SessionState` is all that a session is: files are written from it here, steps for a database in `journal`, and a
session that is read from it continues exactly where it stopped. The file is the custodian's: unlike a release it may
hold a secret, the threshold noise of the running epoch, and is written with mode 0600. Everything else in it is a
function of the session's answers and of public parameters.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hedgerow.algorithms.online_pmw.answer import Basis, Known
from hedgerow.algorithms.online_pmw.hold import Hold
from hedgerow.algorithms.online_pmw.hypothesis import put_together, taken_apart
from hedgerow.domain import Domain, domain_from_mapping
from hedgerow.errors import (
    DamagedReleaseError,
    DamagedSessionError,
    HedgerowError,
    ModelTooLargeError,
    ReleaseError,
    SessionError,
)
from hedgerow.models import Hypothesis, Potentials
from hedgerow.privacy import Event, Ledger, WatchState, check_answers_paid
from hedgerow.queries import Measurement, query_key
from hedgerow.release import Container, StoredModel, measurements_from_list, measurements_to_list
from hedgerow.release.container import write_container
from hedgerow.release.content import TABLES, model_to_dict
from hedgerow.release.file import StoredArrays

KIND = "session"
_START = "start_"
"""Prefix of the names of the arrays that a start from trees of a release began with."""

FAULTS = (AttributeError, KeyError, IndexError, OverflowError, TypeError, ValueError)
"""Errors of reading plain values that are not what they should be."""


@dataclass
class History:
    """The history of a session, beside its hypothesis; all of it public.

    Attributes:
        tests: Number of queries that were tested.
        epochs: Number of threshold noises that were drawn.
        known: Findings, by the key of the query.
        measurements: The noisy answers, in order.
        closed: Reason why the data are not looked at any more; empty while they are.
        sources: Number of answers from each source.

    Example:
        >>> History().counters()
        {'tests': 0, 'epochs': 0, 'closed': '', 'sources': {}}
    """

    tests: int = 0
    epochs: int = 0
    known: dict[Hashable, Known] = field(default_factory=dict)
    measurements: list[Measurement] = field(default_factory=list)
    closed: str = ""
    sources: dict[str, int] = field(default_factory=dict)

    def counters(self) -> dict[str, Any]:
        """All but the findings, as values that JSON can hold."""
        return {"tests": self.tests, "epochs": self.epochs, "closed": self.closed, "sources": dict(self.sources)}

    @classmethod
    def of(cls, counters: Mapping[str, Any], known: dict[Hashable, Known], measurements: list[Measurement]) -> History:
        """Put counters together with findings and noisy answers, which are shared with the history.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: The counters are something else.
        """
        return cls(
            tests=int(counters["tests"]),
            epochs=int(counters["epochs"]),
            known=known,
            measurements=measurements,
            closed=str(counters["closed"]),
            sources={str(name): int(number) for name, number in counters["sources"].items()},
        )


@dataclass(frozen=True)
class SessionState:
    """All of a session between two questions.

    Attributes:
        basis: Configuration, budget, rules and number of records.
        model: The hypothesis, as it is put together when the session is restored.
        history: Counters, findings and noisy answers.
        events: Events of the ledger.
        watch: SECRET: the running epoch, with the noise of its threshold; None if there is none.
    """

    basis: Basis
    model: Hypothesis
    history: History
    events: tuple[Event, ...]
    watch: WatchState | None

    def check_paid(self) -> None:
        """Refuse noisy answers that the ledger does not pay for.

        Raises:
            BudgetError: One has no event.
        """
        check_answers_paid(self.events, self.history.measurements, self.basis.budget.neighbours)


# The file


def save_session(
    path: str | os.PathLike[str], state: SessionState, *, noise: str, notes: Mapping[str, Any], hold: Hold | None = None
) -> None:
    """Write a session to one file that only its owner may read, in one step.

    Args:
        path: Target; its folder must exist.
        state: The session. SECRET, if it has a running epoch.
        noise: Name of the noise source, as in the provenance of releases; no one but an auditor reads it.
        notes: Values for the session's keeper, which JSON can hold.
        hold: The most that the look at the data which comes next can cost; None if none comes.

    Raises:
        SessionError: The file cannot be written.
    """
    basis, history, watch = state.basis, state.history, state.watch
    entry, arrays = hypothesis_to_dict(state.model)
    known = [each.as_measurement() for each in history.known.values()]
    measured, measured_arrays = measurements_to_list([*history.measurements, *known])
    content = {
        "warning": "holds a secret: keep this file where the data are" if watch is not None else "",
        "watch": None if watch is None else watch.to_dict(),
        "hold": hold and asdict(hold),
        "notes": dict(notes),
        **basis.to_dict(state.model.domain),
        "noise": noise,
        "ledger": Ledger.of(basis.budget, state.events).to_dict(),
        "model": entry,
        "measurements": len(history.measurements),
        "known": len(known),
        "measured": measured,
        **history.counters(),
    }
    write_session(path, content, {**arrays, **measured_arrays})


def write_session(path: str | os.PathLike[str], content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file of the kind of sessions, for its owner alone, in one step that outlasts a power cut.

    Raises:
        SessionError: The file cannot be written.
    """
    try:
        write_container(path, content, arrays, kind=KIND, private=True)
    except ReleaseError as error:
        raise SessionError(error.message, remedy=error.remedy) from error


def read_session(path: str | os.PathLike[str], domain: Domain) -> tuple[SessionState, Mapping[str, Any], Event | None]:
    """Read a session from its file.

    Args:
        path: The file.
        domain: Domain of the private table.

    Returns:
        The session; its notes; and, if a process died at a question, the event that its hold became, which is the last
        of the session.

    Raises:
        SessionError: There is no such file, it may not be read, the table has another domain, or the session had not
            begun when its process died.
        DamagedSessionError: It is not a session, is truncated, or was changed.
        ModelTooLargeError: Its hypothesis does not fit into memory now.
    """
    with explaining(path):
        container = Container.open(path, KIND)
        content, arrays = container.content, StoredArrays(container)
        if domain != domain_from_mapping(content["domain"]):
            raise SessionError(
                f"{container.path}: the session is about a table with another domain",
                remedy="continue with the table, the columns and the domain file that it was started with",
            )
        hold = held_in(content)
        if hold is not None and hold.purpose == "opening":
            raise SessionError(
                f"{container.path}: the session had not begun when its process died",
                remedy="start it again with SessionFile.restore or 'hedgerow ask', with the rest of the budget",
            )
        basis = Basis.from_dict(content)
        watch = None if content["watch"] is None else WatchState.from_dict(content["watch"])
        events, lost = Ledger.from_dict(content["ledger"]).events, None
        if hold is not None:
            if watch is None or hold.charge != basis.rules.answer_charge:
                raise ValueError("the hold does not match the cost of a question")
            watch, lost = watch.after_a_fire(), hold.lost(basis.budget, basis.rules)
            events = (*events, lost)
        model = hypothesis_from_dict(content["model"], arrays, domain, basis.total)
        measured, count = measurements_from_list(content["measured"], arrays, domain), int(content["measurements"])
        if len(measured) != count + int(content["known"]):
            raise ValueError("the number of answers does not match")
        known = {query_key(each.query): each for each in map(Known.of_measurement, measured[count:])}
        state = SessionState(basis, model, History.of(content, known, list(measured[:count])), events, watch)
        state.check_paid()
        return state, content["notes"], lost


def table_of_session(path: str | os.PathLike[str]) -> tuple[Domain, dict[str, Any]]:
    """Read from a session file the domain of its table, and the notes that were kept with the session.

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
    """Turn every error that a wrong file leads to into one of two."""
    try:
        yield
    except (SessionError, ModelTooLargeError):
        raise
    except DamagedReleaseError as error:
        raise DamagedSessionError(error.message, remedy=error.remedy) from error
    except ReleaseError as error:
        raise SessionError(error.message, remedy=error.remedy) from error
    except (HedgerowError, *FAULTS) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DamagedSessionError(
            f"{Path(path)}: not a session file of hedgerow, or damaged (its contents do not fit together: {reason})",
            remedy="use the file as hedgerow wrote it",
        ) from error


def held_in(content: Mapping[str, Any]) -> Hold | None:
    """The hold in a session file, if there is one; files of the first version have none.

    Raises:
        ConfigError, KeyError, TypeError, ValueError: It is something else.

    Example:
        >>> held_in({"hold": {"charge": 0.5, "purpose": "question"}}), held_in({})
        (Hold(charge=0.5, purpose='question'), None)
    """
    hold = content.get("hold")
    return None if hold is None else Hold(float(hold["charge"]), hold["purpose"])


# Plain values, for files and steps


def hypothesis_to_dict(model: Hypothesis) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The form, the updates and, after a start from trees of a release, the factors it began with."""
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
