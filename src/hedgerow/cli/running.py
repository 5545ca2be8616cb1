"""A run from the command line: the curator before its table, and the release that is saved before anything else.

A plan has lines about bins or values that are to be learnt.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.cli.console import Output, showing_progress
from hedgerow.cli.spending import accounted
from hedgerow.cli.warming import compiling_beside
from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    import typer

    from hedgerow.algorithms.shared import Algorithm, ProgressCallback
    from hedgerow.privacy import Budget, Curator, NoiseSource
    from hedgerow.queries import Workload
    from hedgerow.release import Release
    from hedgerow.runs import Opened
    from hedgerow.system import SigningKey


def signing_key(output: Output, path: Path | None) -> SigningKey | None:
    """The private key that ``--sign`` names, with a warning if others may read it.

    Raises:
        MissingExtraError: The library cryptography is not installed.
        SigningError: There is no such file, or it holds no private Ed25519 key.
    """
    if path is None:
        return None
    from hedgerow.system import SigningKey

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        key = SigningKey.read(path)
    for warning in caught:
        output.warn(str(warning.message))
    return key


_LONG = 600.0
"""Seconds of a run that is announced."""
_MANY, _EACH = 20_000, 400e-6
"""Candidates for which a plan takes seconds itself, and seconds that a run takes for each."""
_GUESS = 100_000.0
"""Records of a table of which nothing public is known."""


def prepare_run(ctx: typer.Context, output: Output, algorithm: Algorithm, workload: Workload, budget: Budget) -> None:
    """Refuse what cannot be run, and say what takes long, before a large table is read for nothing.

    Until the command is over, another process compiles what a first run needs late (`compiling_beside`).

    Args:
        ctx: Context of the command.
        output: Output of the command.
        algorithm: The mechanism; plans of MWEM tell their time.
        workload: Queries that the release should answer well.
        budget: Budget of the run.
    """
    from hedgerow.algorithms.mwem import MWEM
    from hedgerow.quantities import human_seconds
    from hedgerow.system import slowness

    ctx.with_resource(compiling_beside(algorithm, workload.domain))
    algorithm.check(workload, budget.regime)
    for warning in algorithm.warnings(workload):
        output.warn(warning)
    if not isinstance(algorithm, MWEM):
        return
    if workload.n_candidates <= _MANY:
        seconds = algorithm.plan(workload, budget, _GUESS).seconds
    else:
        seconds = _EACH * workload.n_candidates * slowness()
    if seconds > _LONG:
        output.warn(
            f"this takes about {human_seconds(seconds)} on one core of this machine; nothing is read or spent yet. "
            "Fewer columns (--columns) or smaller tables ('marginals:2<=10000') take less"
        )


def run_accounted(output: Output, algorithm: Algorithm, opened: Opened, noise: NoiseSource | None) -> Release:
    """Run an algorithm on what is left of the budget; if it stops, say what was spent."""

    @contextmanager
    def watching(curator: Curator) -> Iterator[ProgressCallback | None]:
        with accounted(output, curator), showing_progress(output) as progress:
            yield progress

    if not opened.runs:
        return opened.released(algorithm, noise, watching)
    output.note(f"runs of {len(opened.runs)} configurations: their number is not told, nor what those that fail say")
    with output.warning_if_it_stops(lambda: ({}, "the whole budget counts as spent: runs were made")):
        return opened.released(algorithm, noise)


def save_first(output: Output, release: Release, path: Path, key: SigningKey | None) -> None:
    """Save the release first: everything else can be made again from it, and it cannot."""
    try:
        release.save(path, sign=key)
    except (HedgerowError, OSError, KeyboardInterrupt):
        rescue = Path(tempfile.mkdtemp(prefix="hedgerow-")) / path.name
        release.save(rescue, sign=key)
        output.warn(f"{path} could not be written; the release is saved in {rescue}")
        raise


if TYPE_CHECKING:
    from hedgerow.cli.console import Output
    from hedgerow.domain import Domain, OpenDomain
    from hedgerow.privacy import Budget
    from hedgerow.runs import RunSpec


def learning_of(spec: RunSpec) -> tuple[list[tuple[str, str]], Budget]:
    """The lines of a plan about what is learnt and where in their bins records lie, and the budget that is left."""
    from hedgerow.algorithms.learning import (
        frequent_noise,
        learning_charges,
        learning_share,
        threshold_of,
    )
    from hedgerow.domain import Domain

    wanted, budget = spec.wanted, spec.budget
    targets = spec.targets(spec.asked.domain)
    positions = targets.share(spec.positions)
    of = ", ".join(dict.fromkeys(" * ".join(target.scope) for target in targets))
    line = [("positions", f"{positions:.0%} of the budget: sums inside bins of {of}")] if positions else []
    if spec.lost:
        line.append(
            ("weights", f"{spec.share_of_lost:.0%} of the budget: {', '.join(each.text for each in spec.lost)}")
        )
        positions += spec.share_of_lost
    line += _needs_of(spec)
    positions += sum(charge for _, charge in spec.needed_steps(spec.asked.domain, budget)) / budget.limit
    if isinstance(wanted, Domain):
        return line + _tested(spec, positions), _left_to_a_run(spec, positions)
    share = learning_share(wanted)
    charges = learning_charges(wanted, share * budget.limit)
    told = [
        f"{name} in {bins:,} bins, in {len(charges[name])} rounds at {charges[name][0]:.6g} {budget.unit}"
        for name, bins in wanted.bins.items()
    ]
    for name, most in wanted.values.items():
        noise = threshold_of(budget, wanted, name)
        told.append(
            f"{name} in up to {most:,} values, with noise of {noise.scale:.3g} counts: labels that fewer than about "
            f"{noise.threshold:,} records have become {wanted.fine[name].other!r}"
        )
    for name, most in wanted.listed.items():
        least = frequent_noise(budget, wanted, name)
        told.append(
            f"{name} in up to {most:,} of its listed values, those that more than about {least:,.0f} records have; the "
            f"others become {wanted.fine[name].other!r}"
        )
    lines = [("learn", f"{share:.0%} of the budget: {'; '.join(told)}")]
    return lines + line + _tested(spec, share + positions), _left_to_a_run(spec, share + positions)


def _left_to_a_run(spec: RunSpec, before: float) -> Budget:
    """What is left for a mechanism where a share was spent before it; its criteria are tested behind it."""
    from hedgerow.algorithms.learning import budget_after

    tested = 0.0 if spec.criteria is None else spec.criteria.share
    if spec.trials is None:
        return budget_after(spec.budget, before + tested) if before + tested else spec.budget
    each = _limit_of_a_run(spec.trials.tries, spec.budget.limit * (1.0 - before)) * (1.0 - tested)
    return budget_after(spec.budget, 1.0 - each / spec.budget.limit)


def _limit_of_a_run(tries: int, left: float) -> float:
    """The epsilon of each run among which one is selected."""
    from fractions import Fraction

    from hedgerow.privacy import RunSelection

    return RunSelection.of_rest(Fraction(left), tries)[0].limit


def _tested(spec: RunSpec, before: float) -> list[tuple[str, str]]:
    """Lines about the criteria, how well they will be told, and the choice among configurations."""
    from hedgerow.release.criteria import CONFIDENCE

    if spec.criteria is None:
        return []
    of, limit, tries = "the budget", spec.budget.limit, 1
    if spec.trials is not None:
        tries = spec.trials.tries
        of, limit = "each run", _limit_of_a_run(tries, spec.budget.limit * (1.0 - before))
    reach = spec.criteria.noise(spec.budget, limit).quantile(1.0 - (1.0 - CONFIDENCE) / tries)
    told = f"noise of at most {reach:,.0f} records on each error, with {CONFIDENCE:.0%} confidence"
    tests = f"{spec.criteria.share:.0%} of {of}; tests: {len(spec.criteria.criteria)}; {told}"
    return [("criteria", tests), *_tried(spec, limit)]


def _tried(spec: RunSpec, each: float) -> list[tuple[str, str]]:
    """A line about the choice among configurations, each run of which has so much."""
    if spec.trials is None:
        return []
    count = len(spec.trials.configurations)
    several = f"{count} configurations, drawn until one holds all criteria, at most {spec.trials.tries} in the mean"
    return [("try", f"{several}; each run has an epsilon of {each:.4g}, and what follows is planned for one")]


def _needs_of(spec: RunSpec) -> list[tuple[str, str]]:
    """A line for each question that must have an interval: what is measured for it, and what that costs."""
    from hedgerow.algorithms.learning import half_width
    from hedgerow.queries import Marginal
    from hedgerow.runs import workload_over

    domain, budget, lines = spec.asked.domain, spec.budget, list[tuple[str, str]]()
    needs = spec.needed(domain)
    charges = {target.text: charge for target, charge in spec.needed_steps(domain, budget)}
    before = workload_over(domain, spec.workload) if needs else spec.asked
    for need in needs:
        for target in need.targets or ():
            charge = charges[target.text]
            what = f"each cell of {target.text}" if isinstance(target, Marginal) else "the answer"
            within = f"{what} within {half_width(target, budget, charge):,.0f} records"
            known = "" if before.covers(target.scope) else "; no table of the workload tells it"
            cost = f"{100.0 * charge / budget.limit:.2g}% of the budget"
            lines.append(("" if lines else "needs", f"{need.text}: {within}, {cost}{known}"))
        if not need.targets:
            lines.append(("" if lines else "needs", f"{need.text}: the number of records, which every run knows"))
    return lines


def warn_of_learning(output: Output, wanted: Domain | OpenDomain, budget: Budget, total: float) -> None:
    """Warn of columns of which next to nothing can be learnt: one label at most can be in enough records.

    Args:
        output: Prints the warnings.
        wanted: The domain.
        budget: Budget of the whole release.
        total: Number of records that is known in public.
    """
    for name, (records, other) in _thresholds(wanted, budget).items():
        if 2 * records > total:
            output.warn(
                f"{name}: a label is learnt if more than about {records:,.0f} of the {total:,.0f} records have it, so "
                f"at most one is, and the others become {other!r}; list its values, or spend more"
            )


def tell_thresholds(output: Output, wanted: Domain | OpenDomain, budget: Budget) -> None:
    """Say before a run how many records a label needs to be learnt.

    Args:
        output: Prints the remarks.
        wanted: The domain.
        budget: Budget of the whole release.
    """
    columns: dict[tuple[str, str], list[str]] = {}
    for name, (records, other) in _thresholds(wanted, budget).items():
        columns.setdefault((f"{records:,.0f}", other), []).append(name)
    for (least, other), names in columns.items():
        output.note(f"labels of {', '.join(names)} that fewer than about {least} records have become {other!r}")


def _thresholds(wanted: Domain | OpenDomain, budget: Budget) -> dict[str, tuple[float, str]]:
    """About how many records a label needs to be learnt, and what others become, by column."""
    from hedgerow.algorithms.learning import frequent_noise, threshold_of
    from hedgerow.domain import Domain

    if isinstance(wanted, Domain):
        return {}
    least = {name: float(threshold_of(budget, wanted, name).threshold) for name in wanted.values}
    least |= {name: frequent_noise(budget, wanted, name) for name in wanted.listed}
    return {name: (records, str(wanted.fine[name].other)) for name, records in least.items()}
