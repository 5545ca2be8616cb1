"""A session as the steps that it took, for keeping it in a database: each step is small, and all together are the session.

A saved session is one file that is written anew each time. A server that commits after every few questions writes only
what is new: a *step*. A `Transcript` puts the session together from its steps, to the same bits, in this process or in
another one.

What a step holds is public but for one value: ``state["watch"]`` is the SECRET noise of the running epoch's threshold.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from hedgerow.algorithms.online_answer import Known
from hedgerow.algorithms.online_session import WATCH, History, OnlineSession
from hedgerow.algorithms.online_state import (
    as_measurement,
    basis_from_dict,
    basis_to_dict,
    from_measurement,
    hypothesis_from_dict,
    hypothesis_to_dict,
)
from hedgerow.domain_file import domain_from_mapping
from hedgerow.errors import SessionError
from hedgerow.privacy.curator import Curator
from hedgerow.privacy.ledger import Event
from hedgerow.privacy.watch import WatchState
from hedgerow.queries.measurement import Measurement
from hedgerow.release.measurement_format import VALUES, VECTORS, measurements_from_list, measurements_to_list

if TYPE_CHECKING:
    from hedgerow.privacy.noise import NoiseSource


@final
@dataclass(frozen=True)
class Finding:
    """What a session found out about one query, as plain values.

    Attributes:
        entry: The query, and the threshold or the noise, as values that JSON can hold.
        measured: Whether it is a noisy answer; else the hypothesis was tested and found close.
        value: In counts.
        vector: Values of an explicit query, packed; empty for conditions.
    """

    entry: Mapping[str, Any]
    measured: bool
    value: float
    vector: bytes = b""


@final
@dataclass(frozen=True)
class Mark:
    """How far a session had come.

    Attributes:
        events: Events of the ledger.
        findings: Queries that something was found out about.
        measurements: Noisy answers among them.
    """

    events: int = 0
    findings: int = 0
    measurements: int = 0


@final
@dataclass(frozen=True)
class Step:
    """What became new in a session.

    Attributes:
        opening: Configuration, rules, budget, domain and number of records: fixed when the session begins, and in its
            first step alone.
        state: Counters, and the SECRET state of the running sparse vector; None if neither changed.
        events: New events of the ledger.
        findings: What was found out, in order.
        model: The hypothesis, packed; None if it did not change.
    """

    opening: Mapping[str, Any] | None = None
    state: Mapping[str, Any] | None = None
    events: tuple[Event, ...] = ()
    findings: tuple[Finding, ...] = ()
    model: bytes | None = None
