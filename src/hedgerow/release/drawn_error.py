"""The error of a file of records beside that of the answers that its release gives.

Records and answers are both public, so the distance between them costs no budget: it is measured on records that are
drawn like the file's. By the triangle inequality, the mean error of the records differs from that of the answers by at
most this distance. So an interval for one gives an interval for the other with the same confidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.models import Empirical
from hedgerow.release.records import chunk_rows
from hedgerow.release.release import Release

_LOOKED_UP = 1 << 30
"""Records times candidates that are looked up, at most; more records are only nearer to the answers."""
_FEWEST = 1 << 10


@dataclass(frozen=True)
class DrawnError:
    """The distance of the answers of records from those of their release, over the candidates of its workload.

    Attributes:
        mean: The mean L1 distance over the candidates, in counts of the release's total.
        maximum: The largest.
        records: Number of records that it was measured on.
    """

    mean: float
    maximum: float
    records: int

    def to_dict(self, release: Release, confidence: float = 0.95) -> dict[str, float] | None:
        """The error of the records, in the units of ``summary_of``'s; None where that of the answers is not known.

        Args:
            release: Their release.
            confidence: Confidence of the interval for the mean, and of the bound on the largest error.
        """
        error = release.error
        if error is None or error.unit is None:
            return None
        low, high = error.mean_interval(confidence)
        mean, maximum = self.mean / error.unit, self.maximum / error.unit
        largest = error.maximum_bound(confidence) + maximum
        return {
            "added": mean,
            "measured_on": self.records,
            "mean_low": max(0.0, low - mean),
            "mean_high": high + mean,
            "maximum_bound": largest,
        }


def as_drawn(release: Release, n: int) -> Empirical:
    """Records of a release as a hypothesis of its total, which answers as a file of them does.

    Args:
        release: The release.
        n: Number of records of the file, at least 1. Of a large one a part is drawn, which answers no better.
    """
    rows = min(n, chunk_rows(release.domain), max(_FEWEST, _LOOKED_UP // release.workload.n_candidates))
    return Empirical(release.domain, release.stands_for, release.sample(rows, seed=0).codes)


def drawn_error(release: Release, drawn: Empirical) -> DrawnError:
    """The distance between the answers of a release and of its records.

    Args:
        release: The release.
        drawn: Its records, of ``as_drawn``.

    Example:
        >>> import hedgerow
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1),))
        >>> table = hedgerow.read_table(pa.table({"a": [0, 1, 1, 1] * 100}), domain)
        >>> workload = hedgerow.Workload.marginals(domain, 1)
        >>> release = hedgerow.MWEM().run(table, workload, hedgerow.PureDP(5.0), noise=hedgerow.SeededNoise(0))
        >>> [drawn_error(release, as_drawn(release, n)).mean < 2 * release.total / n for n in (10, 1000)]
        [True, True]
    """
    workload = release.workload
    errors = workload.candidate_errors(workload.answers(drawn) - workload.answers(release.hypothesis))
    return DrawnError(float(np.mean(errors)), float(np.max(errors)), len(drawn.codes))
