"""The runs of a comparison, one after the other."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from itertools import product
from typing import Any, cast

from hedgerow.algorithms.independent import fourier, independent_noise as baselines
from hedgerow.algorithms.registry import names, parse
from hedgerow.algorithms.shared import Algorithm, check_known, open_curator
from hedgerow.algorithms.yardsticks import svd_bound
from hedgerow.comparison.exact import Yardstick
from hedgerow.comparison.journal import Key, journal_of
from hedgerow.comparison.outcome import Outcome, Setting, amount_text, common_kind, measure_of
from hedgerow.comparison.result import Comparison
from hedgerow.errors import ConfigError, HedgerowError, QueryError
from hedgerow.privacy import ApproxDP, Budget, Regime, SeededNoise, Subsampled, budget_for
from hedgerow.queries import Workload

_NOISY_ANSWERS = {"IndependentNoise": baselines.noisy_answers, "FourierMeasurement": fourier.noisy_answers}
"""Sources of the noisy answers to a whole workload, by the algorithm of a release."""


@dataclass(frozen=True)
class Step:
    """A run that is about to start.

    Attributes:
        done: Number of runs that are over, those of an earlier call included.
        runs: Number of all runs.
        mechanism: Name of the mechanism that is about to run.
        budget: Budget of the run.
        repeat: Number of the run, from 1.
    """

    done: int
    runs: int
    mechanism: str
    budget: Budget
    repeat: int

    @property
    def key(self) -> Key:
        """The run in the journal."""
        return self.mechanism, self.budget, self.repeat

    @property
    def text(self) -> str:
        """The run in a few words."""
        return f"{self.mechanism}, {amount_text(self.budget)}, run {self.repeat}"


Progress = Callable[[Step], None]
"""Called before every run."""


def compare(
    source: Any,  # a CountSource; that name lives in data/
    workload: Workload,
    budgets: Iterable[Budget],
    algorithms: Iterable[str] | Mapping[str, Algorithm],
    repeats: int = 5,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    path: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Comparison:
    """Run several algorithms on one table and compare their exact errors. NOT PRIVATE: for public or test data.

    Every run has its own budget and its own noise; the exact errors that come out are protected by nothing. What a
    mechanism cannot do is an outcome too: its reason is kept, and the others continue. The errors are of the released
    model, all candidates counting the same; records drawn from it add an error of their own.

    Args:
        source: The table, as ``read_table`` gives it.
        workload: Queries that the releases should answer well.
        budgets: Budgets of one kind: epsilons, epsilons with one delta, or rhos.
        algorithms: Names that the command line knows (``"mwem"``, ``"mwem:rounds=30"``), or configurations by names
            of your own.
        repeats: Number of runs of each with each budget.
        seed: Seed of the noise, to get the same figures again; secure noise if None.
        progress: Called before every run.
        path: A CSV file that every outcome is written to as soon as it is known.
        resume: Whether that file may hold outcomes of an earlier call with the same setting, which are not run again.

    Returns:
        The errors of all runs, those of an earlier call included.

    Raises:
        ConfigError: There is nothing to compare, the budgets differ in kind, a name is unknown, or the file holds
            outcomes of another setting.
        OSError: The file cannot be written.

    Example:
        >>> import hedgerow, pyarrow
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 3), hedgerow.IntegerRange("b", 0, 1)))
        >>> table = hedgerow.read_table(pyarrow.table({"a": [0, 1, 2, 2] * 200, "b": [0, 1] * 400}), domain)
        >>> workload = hedgerow.Workload.marginals(domain, 2)
        >>> budgets = [hedgerow.PureDP(0.1), hedgerow.PureDP(1.0)]
        >>> comparison = hedgerow.compare(table, workload, budgets, ["mwem", "laplace"], repeats=2, seed=0)
        >>> comparison.label, comparison.to_arrow().num_rows
        ('not private', ...)
    """
    named = _named(algorithms)
    if isinstance(budgets, Budget):
        raise ConfigError("expected a list of budgets, got one budget", remedy=f"give [{budgets!r}]")
    of_source = tuple(budget_for(budget, source) for budget in budgets)
    grid = Grid(source, workload, of_source, named, repeats, seed)
    journal = journal_of(path, grid.setting, resume=resume)
    for step in grid.steps(journal.known):
        if progress is not None:
            progress(step)
        journal.add(step.key, grid.run(step))
    return Comparison(grid.setting, grid.outcomes(journal.known), grid.references(), grid.bounds())


def _named(algorithms: Iterable[str] | Mapping[str, Algorithm]) -> dict[str, Algorithm]:
    if isinstance(algorithms, str):
        raise ConfigError(f"expected a list of mechanisms, got {algorithms!r}", remedy=f"give [{algorithms!r}]")
    if isinstance(algorithms, Mapping):
        named = dict(algorithms)
    else:
        named = {}
        texts: Iterable[object] = algorithms
        for text in texts:
            if not isinstance(text, str):
                kind = type(text).__name__
                remedy = f"give configurations by names of your own, as in {{'mine': {kind}(...)}}"
                raise ConfigError(f"expected the name of a mechanism, got a {kind}", remedy=remedy)
            named[text] = parse(text)
    if not named:
        raise ConfigError("no mechanism is named", remedy=f"name some of {', '.join(names())}")
    return named


@dataclass
class Grid:
    """All runs of a comparison.

    Attributes:
        source: The table.
        workload: Queries that the releases should answer well.
        budgets: Budgets of one kind.
        algorithms: Configurations by name.
        repeats: Number of runs of each with each budget.
        seed: Seed of the noise; None for secure noise.

    Raises:
        ConfigError: There is nothing to compare, or the budgets differ in kind.
    """

    source: Any
    workload: Workload
    budgets: tuple[Budget, ...]
    algorithms: Mapping[str, Algorithm]
    repeats: int
    seed: int | None

    def __post_init__(self) -> None:
        """Check what is asked, and read the exact shares of single attributes."""
        kind = common_kind(self.budgets)
        if self.repeats < 1:
            remedy = "give repeats of at least 1"
            raise ConfigError(f"expected at least one run of each mechanism, got {self.repeats}", remedy=remedy)
        self._yardstick = Yardstick(self.source, self.workload)
        records, measure = round(self._yardstick.records), measure_of(self.workload)
        self.setting = Setting(self.workload.spec, records, kind, self.seed, measure)

    def steps(self, known: Mapping[Key, Outcome]) -> Iterator[Step]:
        """The runs that are still to be made; the whole grid once before any of it is repeated.

        Args:
            known: Outcomes so far; it grows while the steps are taken.
        """
        cells = self._cells()
        for done, (name, budget, repeat) in enumerate(cells):
            before = (known.get((name, budget, earlier)) for earlier in range(1, repeat))
            if (name, budget, repeat) not in known and all(outcome is None or outcome.ran for outcome in before):
                yield Step(done, len(cells), name, budget, repeat)

    def outcomes(self, known: Mapping[Key, Outcome]) -> tuple[Outcome, ...]:
        """Those of the known outcomes, perhaps of an earlier call with other mechanisms, that belong to this grid."""
        return tuple(known[key] for key in self._cells() if key in known)

    def _cells(self) -> list[Key]:
        runs = product(range(1, self.repeats + 1), self.budgets, self.algorithms)
        return [(name, budget, repeat) for repeat, budget, name in runs]

    def run(self, step: Step) -> Outcome:
        """Run one mechanism, and measure how far off its release is."""
        algorithm = self.algorithms[step.mechanism]
        noise = None
        if self.seed is not None:
            # a seed of its own for every run, the same whatever else is in the grid
            text = f"{self.seed}/{step.mechanism}/{step.budget!r}/{step.repeat}"
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            algorithm, noise = _with_seed(algorithm, seed), SeededNoise(seed)
        started = time.perf_counter()
        try:
            algorithm.check(self.workload, step.budget.regime)
            check_known(self.workload.domain, step.budget, takes=algorithm.takes_known)
            samples = algorithm.takes_samples
            budget = algorithm.accounted(self.workload, step.budget)
            curator = open_curator(self.source, self.workload, budget, noise, samples=samples)
            release = algorithm.run_with(curator, self.workload)
        except HedgerowError as error:
            return Outcome(*step.key, {}, 0.0, reason=error.message)
        seconds = time.perf_counter() - started
        errors = self._yardstick.errors(self.workload.answers(release.model), release.total)
        noisy_answers = _NOISY_ANSWERS.get(release.provenance.algorithm)
        raw = None if noisy_answers is None else self._yardstick.errors(noisy_answers(release), release.total)
        return Outcome(*step.key, errors, seconds, raw=raw)

    def references(self) -> dict[str, dict[str, float]]:
        """Errors that need no mechanism, by the name of the guess."""
        return {"uniform": self._yardstick.uniform(), "independent attributes": self._yardstick.independent()}

    def bounds(self) -> dict[Budget, float]:
        """The least root mean square error of every matrix mechanism, as a share of the records, by budget.

        Empty where the singular values of the workload cannot be had from its structure.
        """
        bounds: dict[Budget, float] = {}
        for budget in self.budgets:
            if isinstance(budget, Subsampled):
                continue  # none is known for samples
            # Gaussian noise is smallest in GDP, which algorithms may count an (epsilon, delta) in
            sharpest = replace(budget, regime=Regime.GDP) if isinstance(budget, ApproxDP) else budget
            try:
                bounds[budget] = svd_bound(self.workload, sharpest).rmse / self.setting.records
            except QueryError:
                return {}
        return bounds


def _with_seed(algorithm: Algorithm, seed: int) -> Algorithm:
    """With its public randomness seeded too, if it draws some and that is not seeded yet."""
    config: Any = algorithm
    draws = is_dataclass(config) and getattr(config, "seed", 0) is None
    return cast("Algorithm", replace(config, seed=seed % 2**32)) if draws else algorithm
