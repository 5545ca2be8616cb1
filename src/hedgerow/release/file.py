"""Releases as files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from hedgerow.domain import domain_from_mapping, domain_to_mapping
from hedgerow.errors import HedgerowError, ReleaseError
from hedgerow.privacy import Ledger, WorkloadError, budget_from_dict, check_answers_paid, check_limit
from hedgerow.queries import Positions, WeightSum, workload_from_dict, workload_to_dict
from hedgerow.release.container import Container, damaged, write_container
from hedgerow.release.content import StoredModel, measurements_from_list, measurements_streamed, model_to_dict
from hedgerow.release.criteria import Verdict
from hedgerow.release.provenance import Provenance
from hedgerow.release.release import Release

if TYPE_CHECKING:
    from hedgerow.system import SigningKey

_FAULTS = (AttributeError, KeyError, IndexError, OverflowError, TypeError, ValueError)


def save_release(release: Release, path: str | os.PathLike[str], sign: SigningKey | None = None) -> None:
    """Write a release to one file, in one step.

    Args:
        release: The release.
        path: Target; its folder must exist.
        sign: Private key for a signature; None for no signature.

    Raises:
        ReleaseError: The file cannot be written.
    """
    workload, workload_arrays = workload_to_dict(release.workload)
    measurements, measurement_arrays = measurements_streamed([*release.positions, *release.lost, *release.measurements])
    model, model_arrays = model_to_dict(release.held)
    ledger = Ledger.of(release.budget, release.events)
    content: dict[str, Any] = {
        "guarantee": release.guarantee(),
        "domain": domain_to_mapping(release.domain),
        "workload": workload,
        "budget": release.budget.to_dict(),
        "ledger": ledger.streamed(),
        "measurements": measurements,
        "error": None if release.error is None else release.error.to_dict(),
        "total": release.total,
        "model": model,
        "provenance": release.provenance.to_dict(),
    }
    if release.counted is not None:
        content["counted"] = release.counted
    if release.verdicts:
        content["criteria"] = [verdict.to_dict() for verdict in release.verdicts]
    arrays = {**workload_arrays, **measurement_arrays, **model_arrays}
    write_container(path, content, arrays, sign=None if sign is None else sign.sign)


def load_release(path: str | os.PathLike[str]) -> Release:
    """Read a release; the model is built when it is first used.

    Raises:
        ReleaseError: There is no such file, or it may not be read.
        DamagedReleaseError: It is not a release, is truncated, or was changed.
        ReleaseVersionError: It was written by a newer version.
    """
    container = Container.open(path)
    content, arrays = container.content, StoredArrays(container)
    try:
        return _release_of(content, arrays)
    except ReleaseError:
        raise
    except (HedgerowError, *_FAULTS) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise damaged(Path(path), f"its contents do not fit together: {reason}") from error


def _release_of(content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Release:
    domain = domain_from_mapping(content["domain"])
    ledger = Ledger.from_dict(content["ledger"])
    total = float(content["total"])
    budget = budget_from_dict(content["budget"])
    error = None if content["error"] is None else WorkloadError.from_dict(content["error"])
    measurements = measurements_from_list(content["measurements"], arrays, domain)
    check_limit(ledger, budget)
    verdicts = [Verdict.from_dict(each) for each in content.get("criteria", ())]
    check_answers_paid(ledger.events, measurements, budget.neighbours, error, [each.error for each in verdicts])
    return Release(
        model=StoredModel(domain, total, content["model"], arrays),
        workload=workload_from_dict(content["workload"], arrays, domain),
        budget=budget,
        events=ledger.events,
        measurements=tuple(m for m in measurements if not isinstance(m.target, Positions | WeightSum)),
        positions=tuple(m for m in measurements if isinstance(m.target, Positions)),
        lost=tuple(m for m in measurements if isinstance(m.target, WeightSum)),
        error=error,
        total=total,
        provenance=Provenance.from_dict(content["provenance"]),
        counted=None if content.get("counted") is None else float(content["counted"]),
        verdicts=tuple(verdicts),
    )


class StoredArrays(Mapping[str, NDArray[Any]]):
    """The arrays of a container, each read and checked when it is asked for."""

    def __init__(self, container: Container) -> None:
        """Keep the container; nothing is read yet."""
        self._container = container

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Read and check an array."""
        return self._container.array(name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._container.table)

    def __len__(self) -> int:
        """Number of arrays."""
        return len(self._container.table)
