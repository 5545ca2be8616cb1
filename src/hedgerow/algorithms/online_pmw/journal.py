"""A session as the steps that it took, for keeping it in a database.

A session file is written again each time. A server that commits after every few questions writes only what is new: a
*step*. A `Transcript` puts the session together from its steps, to the same bits, in this process or in another one.

All that a step holds is public but for one value: ``state["watch"]`` is the SECRET noise of the running epoch's
threshold.
"""

import io
import json
import zlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from hedgerow.algorithms.online_pmw.answer import Basis, Known
from hedgerow.algorithms.online_pmw.rules import Rules
from hedgerow.algorithms.online_pmw.session import OnlineSession, resume_session
from hedgerow.algorithms.online_pmw.state import FAULTS, History, SessionState, hypothesis_from_dict, hypothesis_to_dict
from hedgerow.domain import Domain, domain_from_mapping
from hedgerow.errors import BudgetError, SessionError
from hedgerow.models import Hypothesis
from hedgerow.privacy import Event, NoiseSource, WatchState
from hedgerow.queries import LinearQuery, Measurable, Measurement, query_key
from hedgerow.release import BITS, VALUES, VECTORS, measurements_from_list, measurements_to_list

_FAULTS = (*FAULTS, zlib.error)


@dataclass(frozen=True)
class Finding:
    """A finding of a session about one query, as plain values.

    Attributes:
        entry: The query, and the threshold or the noise, as values that JSON can hold.
        measured: Whether it is a noisy answer; else the hypothesis was tested and found close.
        value: In counts; those of a group in order.
        vector: Values of an explicit query, packed; empty for conditions.
    """

    entry: Mapping[str, Any]
    measured: bool
    value: float | Sequence[float]
    vector: bytes = b""


@dataclass(frozen=True)
class Mark:
    """Progress of a session.

    Attributes:
        events: Events of the ledger.
        findings: Queries that something was found out about.
        measurements: Noisy answers among them.
    """

    events: int = 0
    findings: int = 0
    measurements: int = 0


@dataclass(frozen=True)
class Step:
    """The news of a session since its last step.

    Attributes:
        opening: Configuration, rules, budget, domain and number of records: fixed when the session begins, and in its
            first step alone.
        state: Counters, and the SECRET state of the running sparse vector; None if neither changed.
        events: New events of the ledger.
        findings: New findings, in order.
        model: The hypothesis, packed; None if it did not change.
    """

    opening: Mapping[str, Any] | None = None
    state: Mapping[str, Any] | None = None
    events: tuple[Event, ...] = ()
    findings: tuple[Finding, ...] = ()
    model: bytes | None = None


START = Mark()
"""Before the first step."""


def step_since(session: OnlineSession, mark: Mark, *, first: bool = False) -> Step:
    """Find what became new in a session since a mark. SECRET: its state holds the noise of the running threshold.

    Args:
        session: The session.
        mark: Progress of the keeper of the steps.
        first: Whether this is the session's first step, which holds its basis.
    """
    corrected = session.updates_made > mark.measurements and session.rules.step != "refit"  # a refit settles by itself
    return step_of(session.state(settled=first or corrected), since=mark, first=first)


def step_of(state: SessionState, *, since: Mark, first: bool) -> Step:
    """The same as `step_since`, for the state of a session."""
    basis, history, watch = state.basis, state.history, state.watch
    new = len(history.known) - since.findings
    measured = iter(history.measurements[since.measurements :])
    known = list(islice(reversed(history.known.values()), new))[::-1]
    corrected = len(history.measurements) > since.measurements
    return Step(
        opening=basis.to_dict(state.model.domain) if first else None,
        state={**history.counters(), "secure": basis.secure, "watch": None if watch is None else watch.to_dict()},
        events=state.events[since.events :],
        findings=tuple(_finding(each, measured) for each in known),
        model=_packed(state.model) if first or corrected else None,
    )


def finding_about(query: Measurable) -> Finding:
    """The finding to be kept of a query that was found close; its noisy answer would take as much room.

    Args:
        query: The query in canonical form, or a group of counts.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 60_000),))
        >>> finding_about(Conjunction.where(domain, {"a": range(1, 60_000)})).entry["target"]["codes"]
        [{'cuts': [1, 60000]}]
    """
    value = 0.0 if isinstance(query, LinearQuery) else (0.0,) * query.size
    return _finding(Known(query, value, 1.0), iter(()))


def _finding(known: Known, measured: Iterator[Measurement]) -> Finding:
    """The finding about a query: its noisy answer, the next of these, or the test that it passed."""
    is_measured = known.threshold is None
    entries, arrays = measurements_to_list([next(measured) if is_measured else known.as_measurement()])
    array = arrays.get(BITS, arrays.get(VECTORS))
    vector = b"" if array is None else zlib.compress(array.tobytes())
    return Finding(entries[0], is_measured, known.value, vector)


def _holds(finding: Finding, name: str) -> bool:
    """Whether the packed values are those of an array of measurements."""
    return (name == BITS) == bool(finding.entry["target"].get("bits", False))


def _measurements_of(findings: Sequence[Finding], domain: Domain) -> tuple[Measurement, ...]:
    """Read findings as measurements: noisy answers, and tests as `Known.as_measurement` writes them.

    Raises:
        KeyError, TypeError, ValueError, zlib.error: They are something else.
    """
    values = [np.atleast_1d(np.asarray(finding.value, dtype=np.float64)) for finding in findings]
    arrays = {VALUES: np.concatenate(values) if values else np.zeros(0)}
    for name, kind in ((VECTORS, np.float64), (BITS, np.uint8)):
        packed = [zlib.decompress(finding.vector) for finding in findings if finding.vector and _holds(finding, name)]
        arrays[name] = np.frombuffer(b"".join(packed), dtype=kind)
    return measurements_from_list([finding.entry for finding in findings], arrays, domain)


def _packed(model: Hypothesis) -> bytes:
    """A line of JSON, and the arrays that it names; equal models give equal bytes."""
    entry, arrays = hypothesis_to_dict(model)
    stream = io.BytesIO()
    stream.write(json.dumps({"entry": entry, "arrays": list(arrays)}).encode() + b"\n")
    for array in arrays.values():
        np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def _unpacked(packed: bytes, domain: Domain, total: float) -> Hypothesis:
    """Put the hypothesis of a step together again.

    Args:
        packed: The bytes in the step.
        domain: The domain.
        total: Mass, in counts.

    Raises:
        KeyError, TypeError, ValueError: They are something else.
        ModelTooLargeError: It does not fit into memory.
    """
    stream = io.BytesIO(packed)
    head = json.loads(stream.readline())
    arrays = {name: np.lib.format.read_array(stream, allow_pickle=False) for name in head["arrays"]}
    return hypothesis_from_dict(head["entry"], arrays, domain, total)


class Transcript:
    """All steps of a session so far; it puts the session together at any time.

    The session that it made last shares its lists with it: while that session goes on, the transcript stays up to date.
    Steps that others made are added; the session is then put together again.

    Args:
        domain: Domain of the private table.

    Attributes:
        mark: Progress of the transcript; findings of its session since the last step are not counted.

    Example:
        >>> import hedgerow
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1),))
        >>> table = hedgerow.read_table(pa.table({"a": [0, 1, 1, 1] * 5_000}), domain)
        >>> online = hedgerow.OnlinePMW(updates=5, threshold=0.05)
        >>> session = online.start(table, hedgerow.PureDP(1.0), noise=hedgerow.SeededNoise(1))
        >>> answer = session.ask("a = 1")
        >>> transcript = Transcript(domain)
        >>> transcript.add(step_since(session, START, first=True))
        >>> again = transcript.session(table, noise=hedgerow.SeededNoise(2))
        >>> again.ask("a = 1").value == answer.value, again.spent == session.spent
        (True, True)
    """

    def __init__(self, domain: Domain) -> None:
        """Begin with nothing."""
        self._domain = domain
        self._basis: Basis | None = None
        self._state: Mapping[str, Any] = {}
        self._events: list[Event] = []
        self._known: dict[Hashable, Known] = {}
        self._measurements: list[Measurement] = []
        self._model = b""
        self.mark = START

    @property
    def begun(self) -> bool:
        """Whether there is a session, and not only charges of attempts to begin one."""
        return self._basis is not None

    @property
    def rules(self) -> Rules | None:
        """The numbers that the session goes by; None before it has begun."""
        return None if self._basis is None else self._basis.rules

    @property
    def events(self) -> tuple[Event, ...]:
        """Events of the ledger that were added; the ledger of a session that goes on may hold more."""
        return tuple(self._events)

    def add(self, step: Step) -> None:
        """Apply a step committed by another process.

        Raises:
            SessionError: It is not one of a session over this domain.
        """
        try:
            self._learn(step.findings)
            self.follow(step)
        except _FAULTS as error:
            raise SessionError("the steps of this session do not fit together") from error

    def follow(self, step: Step) -> None:
        """Apply a step of the session that it made last, whose findings are here already.

        Raises:
            SessionError: It is not one of a session over this domain.
        """
        if step.opening is not None:
            if domain_from_mapping(step.opening["domain"]) != self._domain:
                raise SessionError("the session is about a table with another domain")
            self._basis = Basis.from_dict(step.opening)
        self._events += step.events
        self._state = self._state if step.state is None else step.state
        self._model = self._model if step.model is None else step.model
        self.mark = Mark(len(self._events), len(self._known), len(self._measurements))

    def state_after_a_fire(self) -> Mapping[str, Any]:
        """The state after a test whose outcome was lost; see `WatchState.after_a_fire`."""
        watch = self._state.get("watch")
        if watch is None:
            return self._state
        return {**self._state, "watch": WatchState.from_dict(watch).after_a_fire().to_dict()}

    def _learn(self, findings: Sequence[Finding]) -> None:
        for finding, measurement in zip(findings, _measurements_of(findings, self._domain), strict=True):
            known = Known.of_measurement(measurement)
            if finding.measured:
                known = replace(known, threshold=None)
                self._measurements.append(measurement)
            self._known[query_key(known.query)] = known

    def session(self, source: Any, *, noise: NoiseSource | None = None) -> OnlineSession:
        """Put the session together as it is after the last step.

        Args:
            source: The private table, as ``read_table`` gives it.
            noise: Source of noise; the secure one unless given.

        Raises:
            SessionError: There is none yet, its steps do not fit together, or the table has another domain.
            ModelTooLargeError: Its hypothesis does not fit into memory now.
        """
        if self._basis is None:
            raise SessionError("there is no session yet")
        self._known, self._measurements = dict(self._known), list(self._measurements)  # those of an older one stay
        if source.domain != self._domain:
            raise SessionError("the session is about a table with another domain")
        basis = replace(self._basis, secure=self._basis.secure and bool(self._state["secure"]))
        try:
            model = _unpacked(self._model, self._domain, basis.total)
            watch = self._state["watch"] and WatchState.from_dict(self._state["watch"])
            history = History.of(self._state, self._known, self._measurements)
            state = SessionState(basis, model, history, tuple(self._events), watch or None)
            state.check_paid()
        except (*_FAULTS, BudgetError) as error:
            raise SessionError("the steps of this session do not fit together") from error
        return resume_session(state, source, noise)
