"""The test of a release's criteria, by a part of its budget that was set aside."""

from __future__ import annotations

from dataclasses import replace

from hedgerow.privacy import RUN_SELECTION, Curator
from hedgerow.release import Criteria, Release, Verdict, slack_of

CRITERION = "criterion"
"""Label of the events that pay for verdicts."""


def with_verdicts(curator: Curator, made: Release, criteria: Criteria, charge: float) -> Release:
    """The release with verdicts on its criteria, each told with noise for an equal part of a charge.

    Args:
        curator: The curator that the release was made with.
        made: The release.
        criteria: The criteria.
        charge: What they cost together, as the budget counts.

    Raises:
        BudgetExceededError: The budget does not cover it.
    """
    verdicts = list[Verdict]()
    chosen = (event.scale for event in curator.ledger.events if event.mechanism == RUN_SELECTION)
    tries = int(max(chosen, default=1.0))
    for each in criteria.criteria:
        workload, allowed = each.tested(made.model)
        answers = workload.answers(made.model)
        error = curator.error_of(workload, answers, charge / len(criteria.criteria), label=CRITERION)
        slack = slack_of(workload, made.total, error.unit)
        verdicts.append(Verdict(each, error, allowed / error.unit, slack, tries))
    return replace(made, events=curator.ledger.events, verdicts=tuple(verdicts))
