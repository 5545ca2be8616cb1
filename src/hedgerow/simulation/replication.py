"""Replicates of a release: the same measurements with fresh noise, of the hypothesis or of tables drawn from it.

The parametric bootstrap of `errors`, kept in a form that statisticians compute with. For the population, a table of as
many records is drawn from the hypothesis, as the private one is taken to be drawn from its population; for the file,
the hypothesis itself stands for the table. Its answers to what was measured get fresh noise of the same law, and the
mechanism fits them again. So theta of the fit differs from theta of the hypothesis as that of the release differs from
the truth. Selections are those of the release, unless the whole mechanism runs again. It reads no private record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import overload

from hedgerow.algorithms.registry import made_by
from hedgerow.algorithms.shared import Algorithm, moments_of
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.models import Model
from hedgerow.queries import Measurement, answered
from hedgerow.release import (
    LinkedRelease,
    LinkedReplicates,
    Records,
    Release,
    Replicates,
    StoredModel,
    Target,
    model_to_dict,
)
from hedgerow.simulation.design import Design
from hedgerow.simulation.errors import (
    StepCallback,
    drawn_table,
    fresh_noise,
    redrawn,
    run_again,
    uneven_blocks,
)
from hedgerow.simulation.uneven import Uneven
from hedgerow.system import Seed, generator, in_slices, numbered, usable_cores

REPLICATES = 40
"""Replicates unless another number is asked for: an error is then known within a ninth."""


@overload
def replicate(
    release: Release,
    number: int = REPLICATES,
    *,
    target: Target = "population",
    files: bool | None = None,
    n: int | None = None,
    seed: Seed = None,
    rerun: bool = False,
    design: Design | None = None,
    progress: StepCallback | None = None,
) -> Replicates: ...


@overload
def replicate(
    release: LinkedRelease,
    number: int = REPLICATES,
    *,
    target: Target = "population",
    files: bool | None = None,
    n: int | None = None,
    seed: Seed = None,
    rerun: bool = False,
    design: Design | None = None,
    progress: StepCallback | None = None,
) -> LinkedReplicates: ...


def replicate(
    release: Release | LinkedRelease,
    number: int = REPLICATES,
    *,
    target: Target = "population",
    files: bool | None = None,
    n: int | None = None,
    seed: Seed = None,
    rerun: bool = False,
    design: Design | None = None,
    progress: StepCallback | None = None,
) -> Replicates | LinkedReplicates:
    """Synthetic records with replicates, from which standard errors of any statistic follow.

    Each replicate is what the mechanism might have released of such data: the same measurements with fresh noise,
    fitted again. It reads no private record and costs no budget. ``docs/replicates.md`` says how to use them.

    Args:
        release: The release; or those of linked tables, for replicates of all together, for the file alone.
        number: Number of replicates, at least 2.
        target: Whether standard errors are about the ``"population"`` that the private table is a random sample
            of, or about the ``"file"``, the table itself, for whose counts, sums and means `Release.answer` and
            `hedgerow.release.select_from` have proved intervals.
        files: Whether replicates are files of records of their own; False for weights of the same records. By
            default weights, unless they would rest on less than a quarter of the records.
        n: Number of records, of linked tables of parents; that of the release by default.
        seed: Seed of all that is drawn, for the same replicates again; fresh by default.
        rerun: Whether the whole mechanism runs again for each replicate, selections too, which takes much longer;
            it does anyway where it cannot fit other values of its measurements alone.
        design: The clusters and strata that a survey was drawn by, for its ``"population"``: clusters are drawn again,
            and what was measured of them is measured of these (theory.md section 21.4).
        progress: Called with the number of replicates that are made, their number, and what is made now.

    Raises:
        ConfigError: Fewer than 2 replicates; or the population is asked for where persons have several records, or
            weights, without a design; or a design does not fit the domain or the mechanism; or weights where this
            hypothesis has none; or the mechanism cannot be restored from the release.
        ModelTooLargeError: A hypothesis does not fit into memory.

    Example:
        >>> import hedgerow
        >>> import numpy as np
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 2) for name in "ab")
        >>> table = hedgerow.Table(domain, [np.arange(900) % 3, np.arange(900) // 300])
        >>> workload, budget = hedgerow.Workload.marginals(domain, 2), hedgerow.PureDP(1.0)
        >>> release = hedgerow.MWEM().run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> replicate(release, 5, seed=0).origin
        'each the same measurements (1) with fresh noise on a table drawn from the release, fitted again'
    """
    first = seed if isinstance(seed, int) else int(generator(seed).integers(2**62))
    made_as = partial(_replicates, number=number, target=target, files=files, rerun=rerun, design=design)
    if isinstance(release, Release):
        _check(release, number, target, n, design)
        records = release.sample(n, numbered(first, 0))
        return made_as(release, records, seed=first, tell=_telling(progress, number))
    _check(release.parents, number, target, n, design)
    if target == "population":
        raise ConfigError(
            "what children of one parent share was not measured, so their sampling errors are not known",
            remedy="ask for replicates of the files (target='file', --replicate-for file), and add the sampling "
            "variance of the parents with all children to their squared errors",
        )
    drawn, releases = release.drawn(n, numbered(first, 0)), release.releases
    tell = _telling(progress, len(releases) * number)
    seeds = numbered(first, 1).integers(2**62, size=len(releases)).tolist()
    pairs = zip(releases, drawn, seeds, strict=True)
    return LinkedReplicates.of(release, [made_as(each, records, seed=own, tell=tell) for each, records, own in pairs])


def _telling(progress: StepCallback | None, number: int) -> Callable[[], None]:
    """What tells that one more of so many replicates is made; at first that none is."""
    done = count()

    def tell() -> None:
        if progress is not None:
            over = next(done)
            progress(over, number, f"replicate {over + 1}" if over < number else "")

    tell()
    return tell


def _replicates(
    release: Release,
    records: Records,
    *,
    number: int,
    target: Target,
    files: bool | None,
    seed: int,
    rerun: bool,
    design: Design | None,
    tell: Callable[[], None],
) -> Replicates:
    """Replicates of a release, and of records of its hypothesis; see `replicate`."""
    made = release.provenance
    maker = _Maker.of(release, made_by(made.algorithm, made.parameters), target, seed, design)
    one = None if rerun else maker.refitted(1)
    if one is None and design is not None:
        message = "replicates of a design are fitted to what was measured, and this mechanism runs again as a whole"
        raise ConfigError(message, remedy="leave the design out, or rerun; or make the release by mwem")
    make = maker.run if one is None else maker.refitted
    runs = [maker.run(1) if one is None else one]
    tell()

    def slice_of(start: int, stop: int) -> list[Release]:
        found = list[Release]()
        for place in range(start, stop):
            run = make(place + 2)
            found += [] if run is None else [run]
            tell()
        return found

    for part in in_slices(slice_of, number - 1, usable_cores()):
        runs += part
    about = "a table drawn from the release" if target == "population" else "the hypothesis of the release"
    if design is not None:
        about = f"the release with other clusters ({design.clusters}) drawn"
    same = f"the same measurements ({len(release.measurements)}) with fresh noise on {about}, fitted again"
    origin = f"each {same}" if one is not None else f"each a whole run of the mechanism on {about}"
    return Replicates.of(
        release,
        records,
        runs,
        target=target,
        files=files,
        origin=origin,
        seed=int(numbered(seed, 0).integers(2**62)),
        clusters=None if design is None else design.clusters,
    )


def _check(release: Release, number: int, target: Target, n: int | None, design: Design | None) -> None:
    """Refuse what replicates cannot say.

    Raises:
        ConfigError: There are too few, or records are no random sample of a population.
    """
    if not isinstance(number, int) or number < 2:
        raise ConfigError(f"{number} replicates show no spread", remedy="give a number from 2 on, such as 40")
    if n is not None and n < 1:
        raise ConfigError(f"{n} records have no replicates", remedy="give a number of records from 1 on")
    if target not in ("population", "file"):
        raise ConfigError(f"replicates for {target!r}", remedy="give 'population' or 'file'")
    if design is not None:
        if target != "population":
            raise ConfigError("a design is about a population", remedy="leave it out, or ask for the population")
        design.stratum_of(release.domain)
    elif target == "population":
        check_population(release)


def check_population(release: Release) -> None:
    """Refuse what needs a simple random sample of a population.

    Raises:
        ConfigError: Persons have several records, or records weights.
    """
    persons = release.budget.neighbours.persons
    if persons is not None and persons.records != 1:
        how = "records have weights" if persons.weight is not None else "persons have several records"
        raise ConfigError(
            f"{how}, so the table is no simple random sample of a population, and the release does not tell its design",
            remedy="name the clusters it was drawn by (design=Design(clusters, strata), --clusters), or ask for "
            "replicates of the file (target='file', --replicate-for file) and add the variance of sampling yourself",
        )


@dataclass(frozen=True, eq=False)
class _Maker:
    """What makes the runs of replicates.

    Attributes:
        release: The release.
        algorithm: Its mechanism, as it was configured.
        target: What the runs are about.
        seed: Seed of all of them.
        moments: The moments that the hypothesis was fitted to.
        exact: Answers of the hypothesis to what was measured and to the moments, for fits of the file; else empty.
        uneven: The blocks inside which drawn records are uneven.
        design: The design of the survey, if its clusters are drawn again.
    """

    release: Release
    algorithm: Algorithm
    target: Target
    seed: int
    moments: list[Measurement]
    exact: list[Floats]
    uneven: Uneven | None
    design: Design | None

    @classmethod
    def of(cls, release: Release, algorithm: Algorithm, target: Target, seed: int, design: Design | None) -> _Maker:
        moments = moments_of(release)
        targets = [measured.target for measured in (*release.measurements, *moments)]
        exact = answered(targets, release.model) if target == "file" else []
        return cls(release, algorithm, target, seed, moments, exact, uneven_blocks(release), design)

    def refitted(self, number: int) -> Release | None:
        """The release with fresh noise; None where the mechanism cannot fit other values of its measurements alone."""
        release, rng = self.release, numbered(self.seed, 2 * number + 1)
        exact, total = self.exact, release.total
        measured = [*release.measurements, *self.moments]
        if self.design is not None:
            others = self.design.redrawn(release.model, numbered(self.seed, 2 * number))
            exact, total = answered([each.target for each in measured], others), others.total
        elif self.target == "population":
            drawn = drawn_table(release, self.uneven, self.seed, number)
            exact, total = answered([each.target for each in measured], drawn.records), drawn.records.total
        again = redrawn(measured, exact, rng)
        noisy, moments = again[: len(release.measurements)], again[len(release.measurements) :]
        for noise in release.count_noises[-1:]:
            total = max(1.0, total + float(fresh_noise(noise.kind, noise.scale, 1, rng)[0]))
        model = self.algorithm.refitted(release, noisy, total, moments)
        return None if model is None else self._stored(model, noisy)

    def run(self, number: int) -> Release:
        """A whole run: for the file on its records as the hypothesis has them."""
        release, seed = self.release, self.seed
        if self.target == "population":
            drawn = drawn_table(release, self.uneven, seed, number)
        else:
            drawn = drawn_table(release, None, seed, 0, "systematic")
        made = run_again(release, self.algorithm, drawn, numbered(seed, 2 * number + 1))
        return self._stored(made.held, made.measurements)

    def _stored(self, model: Model | StoredModel, measurements: Sequence[Measurement]) -> Release:
        """The release with another hypothesis, as small as in a file."""
        entry, arrays = model_to_dict(model)
        stored = StoredModel(self.release.domain, model.total, entry, arrays)
        return replace(self.release, model=stored, total=model.total, measurements=tuple(measurements))
