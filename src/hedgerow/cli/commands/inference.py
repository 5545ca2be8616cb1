"""Commands that infer from a release: ``regress`` and ``test``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.commands.released import ReleaseFile, Target, load_release
from hedgerow.cli.console import Output, showing_steps
from hedgerow.cli.declaring import Options, option

if TYPE_CHECKING:
    from hedgerow.inference import Regression, Tested
    from hedgerow.release import Release


class Family(StrEnum):
    """The law of an outcome."""

    LINEAR = "linear"
    LOGISTIC = "logistic"
    POISSON = "poisson"


class Kind(StrEnum):
    """What a test compares."""

    CHI_SQUARE = "chi-square"
    MEANS = "means"


class Source(StrEnum):
    """What coefficients and errors come from."""

    MOMENTS = "moments"
    REPLICATES = "replicates"


@dataclass(frozen=True)
class _Inferring(Options):
    """How errors are estimated.

    Attributes:
        confidence: Confidence of each interval.
        source: Take coefficients and errors from measured sums, or from replicates.
        replicate_for: Intervals for the population that the table is a random sample of, or for the table itself.
        replicates: Number of replicates that standard errors come from.
        seed: Make the same replicates again; harmless here.
    """

    confidence: float = 0.95
    source: Annotated[Source | None, option(show_default="moments where measurements tell them")] = None
    replicate_for: Target = Target.POPULATION
    replicates: Annotated[int, option(metavar="N", min=2)] = 40
    seed: int | None = None

    def arguments(self, update: Any) -> dict[str, Any]:
        """Arguments of the functions."""
        return {
            "target": self.replicate_for.value,
            "source": None if self.source is None else self.source.value,
            "replicates": self.replicates,
            "confidence": self.confidence,
            "seed": self.seed,
            "progress": update,
        }


def regress(
    *,
    release: ReleaseFile,
    formula: Annotated[
        str, typer.Argument(metavar="FORMULA", help="An outcome, a tilde and what explains it, as in R.")
    ],
    family: Annotated[Family, option(help="Least squares, or an outcome of two values, or of counts.")] = Family.LINEAR,
    inferring: _Inferring,
    shown: Output,
) -> None:
    r"""Fit a regression; errors, intervals and p-values include the noise of privacy. Costs no budget.

    Errors come from replicates ('hedgerow sample --replicates'). If a table behind the coefficients was never
    measured, there are no intervals, and the command prints a workload that asks for it. A formula can call functions
    of numpy, so treat a formula of others as code. Needs the extra 'regress'.

    Examples:
      hedgerow regress people.release "hours ~ age + C(race) + sex"
      hedgerow regress people.release "income ~ age * sex" --family logistic
      hedgerow regress people.release "children ~ age" --family poisson --json
      hedgerow regress people.release "hours ~ age" --replicate-for file --seed 1
      hedgerow regress people.release "hours ~ age + sex" --source moments
    """
    from hedgerow.inference import regress as run

    loaded = load_release(release)
    with showing_steps(shown, "replicate", note=f"making {inferring.replicates} replicates") as update:
        found = run(loaded, formula, family.value, **inferring.arguments(update))
    _tell(shown, loaded, found)


def test(
    *,
    release: ReleaseFile,
    columns: Annotated[tuple[str, str], typer.Argument(metavar="COLUMN COLUMN", help="Two columns or levels.")],
    kind: Annotated[
        Kind | None,
        option(help="Test the table of the two, or means of the numeric one.", show_default="means of numbers"),
    ] = None,
    confidence: Annotated[float, option(help="Confidence of each interval of an effect.")] = 0.95,
    replicates: Annotated[int, option(metavar="N", min=2, help="Number of replicates, for means.")] = 40,
    seed: Annotated[int | None, option(help="Draw the same again; harmless here.")] = None,
    shown: Output,
) -> None:
    r"""Test whether two columns are independent, allowing for the noise of privacy. Costs no budget.

    Two columns of labels: a chi-square test by their noisy table, and the log odds ratio where it has four cells. A
    numeric column and one of labels: differences of means, and an F test of all of them (needs the extra 'regress').

    Examples:
      hedgerow test people.release race income
      hedgerow test people.release sex hours --confidence 0.9
      hedgerow test people.release age.10 income
      hedgerow test people.release age children --kind chi-square --json
    """
    from hedgerow.inference import test as run

    loaded = load_release(release)
    with showing_steps(shown, "replicate", note="testing") as update:
        found = run(
            loaded,
            *columns,
            kind=None if kind is None else kind.value,
            confidence=confidence,
            replicates=replicates,
            seed=seed,
            progress=update,
        )
    _tell(shown, loaded, found)


def _tell(shown: Output, release: Release, found: Regression | Tested) -> None:
    shown.tell(found.title)
    rows = found.rows()
    if rows:
        shown.table(found.headings, rows, right=found.headings[1:])
    for note in found.notes:
        shown.tell(note)
    if release.provenance.stamp:
        shown.warn(release.provenance.stamp)
    shown.result(found.to_dict())
