"""Processes that use a register at once, or die at it: ``python -m tests.privacy.register.child WHAT REGISTER``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import numpy as np

from hedgerow import MWEM
from hedgerow.errors import RegisterExceededError
from hedgerow.privacy import PureDP, Register
from hedgerow.privacy.register import file as register_file
from hedgerow.queries import Workload
from tests.privacy.tables import DenseCounts, binary


def die(*_: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly(DenseCounts):
    """A private table that kills who looks at it."""

    total = marginals = conjunctions = die


def main(what: str, path: str) -> None:
    register = Register(path)
    if what == "charge":  # as often as it goes, once somebody says so
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        made = 0
        for _ in range(20):
            try:
                register.charge(PureDP(0.125))
                made += 1
            except RegisterExceededError:
                break
        sys.stdout.write(str(made))
    elif what == "die before the run":
        domain = binary(2)
        MWEM().run(Deadly(domain, np.ones(4)), Workload.marginals(domain, 2), PureDP(0.5), register=register, name="x")
    elif what == "die in the charge":  # between the first line that is written and the second
        links = register_file.link
        register_file.link = lambda head, entry: links(head, entry) if entry["number"] == 2 else die()  # type: ignore[assignment]
        with register._file.adding() as (contents, new):
            for number in (2, 3):
                new.append({**contents.entries[0].to_dict(), "number": number})


if __name__ == "__main__":
    main(*sys.argv[1:])
