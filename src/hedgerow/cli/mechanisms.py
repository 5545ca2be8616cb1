"""Options about mechanisms: which one, its settings, and public data that it starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from hedgerow.algorithms.registry import NAMES, ONLINE, Entry, entry, names, read_options, session_entry
from hedgerow.cli.declaring import Options, option
from hedgerow.errors import ConfigError

if TYPE_CHECKING:
    from hedgerow.algorithms.online_pmw import OnlinePMW
    from hedgerow.algorithms.shared import Algorithm, Prior
    from hedgerow.data import ReadOptions
    from hedgerow.domain import Domain

PriorFile = Annotated[
    Path | None,
    option(
        panel="Algorithm",
        metavar="FILE",
        help="Public data for mwem to start from, used as far as noisy answers agree with them: a table (.csv, .tsv, "
        ".parquet) with some of the columns, or an earlier release. They cost nothing, and must be PUBLIC: no record "
        "of DATA may be in the table.",
    ),
]


class OptimizeFor(StrEnum):
    """The values of ``--for``."""

    RECORDS = "records"
    ANSWERS = "answers"


def _known(text: str) -> str:
    return _found(text, entry)


def _known_to_plans(text: str) -> str:
    return _found(text, lambda name: ONLINE if name == ONLINE.name else entry(name))


def _found(text: str, find: Callable[[str], Entry]) -> str:
    try:
        read_options(text, find)
    except ConfigError as error:
        raise typer.BadParameter(f"{error.message}; {error.remedy}") from error
    return text


@dataclass(frozen=True)
class MechanismOptions(Options, panel="Algorithm"):
    """A mechanism and its settings.

    Attributes:
        rounds: Number of rounds of mwem, each of which selects a query and measures it with noise: chosen from public
            numbers (auto), by the theorem's bound, as long as noisy values show progress (adaptive; annealed, after all
            single attributes), or a number.
        optimize_for: What mwem optimizes when it chooses its rounds: the drawn records, or only the answers of the
            release.

    Example:
        >>> MechanismOptions(rounds="12").algorithm().parameters()["rounds"]
        12
    """

    mechanism: Annotated[
        str,
        option(
            metavar="NAME",
            callback=_known,
            autocompletion=names,
            help=f"Algorithm to run: {', '.join(NAMES)}, or a plug-in; with options, as in "
            "mwem:rounds=30,output=average. 'hedgerow mechanisms NAME' lists them.",
        ),
    ] = "mwem"
    rounds: Annotated[str | None, option(metavar="auto|annealed|bound|adaptive|N", show_default="auto")] = None
    optimize_for: Annotated[OptimizeFor | None, option("--for", show_default="records")] = None

    @property
    def name(self) -> str:
        """The mechanism without its options."""
        return self.mechanism.partition(":")[0]

    def algorithm(self, prior: Prior | None = None) -> Algorithm:
        """The configured algorithm.

        Args:
            prior: Public data to start from.

        Raises:
            typer.BadParameter: The mechanism does not take an option that was given, or the rounds are neither a number
                nor a known word.
            ConfigError: A number is out of its range.
        """
        chosen, written = read_options(self.mechanism)
        try:
            rounds = None if self.rounds is None else entry("mwem").option("rounds").read(self.rounds)
        except ConfigError as error:
            raise typer.BadParameter(f"{error.message}: {error.remedy}") from None
        values = {"rounds": rounds, "optimize_for": self.optimize_for and self.optimize_for.value}
        values |= {field.name: getattr(self, field.name) for field in fields(self) if field.name not in values}
        del values["mechanism"]
        takes = [_spelled(name) for name in values if name in chosen.options]
        settings = {name: value for name, value in values.items() if value is not None}
        for name in settings:
            if name not in chosen.options:
                allowed = " and ".join(takes) or "none of " + ", ".join(map(_spelled, values))
                raise typer.BadParameter(f"--mechanism {chosen.name} takes no {_spelled(name)}; it takes {allowed}")
            if name in written:
                raise typer.BadParameter(f"{_spelled(name)} is given beside {name} in --mechanism; leave one out")
        made = chosen.make(written | settings)
        started = with_prior(made, prior)
        if prior is not None and started is None:
            raise typer.BadParameter(f"--mechanism {chosen.name} takes no --prior; mwem does")
        return started or made


@dataclass(frozen=True)
class AnyMechanismOptions(MechanismOptions):
    """The same, with the settings of mechanisms other than mwem.

    Attributes:
        alpha: For pmw, dual-query and small-db: the error to aim at, as a share of the records. By default chosen from
            public numbers.
    """

    alpha: Annotated[float | None, option(metavar="SHARE")] = None


@dataclass(frozen=True)
class PlannedMechanismOptions(AnyMechanismOptions):
    """The same, or the mechanism of sessions.

    Attributes:
        mechanism: As of 'hedgerow synth', or online-pmw for a session of 'hedgerow ask' or of the server, as in
            online-pmw:updates=50,threshold=0.01: how accurate it is, what its questions and corrections take, and for
            how many there is room.
    """

    mechanism: Annotated[str, option(metavar="NAME", callback=_known_to_plans, autocompletion=names)] = "mwem"

    def session(self) -> OnlinePMW | None:
        """The configured session; None for a mechanism that makes a release.

        Raises:
            typer.BadParameter: An option is given that sessions do not take.
            ConfigError: A number is out of its range.
        """
        if self.name != ONLINE.name:
            return None
        if self.rounds is not None or self.optimize_for is not None:
            raise typer.BadParameter("--mechanism online-pmw takes neither --rounds nor --for")
        found, written = read_options(self.mechanism, session_entry)
        if self.alpha is not None and "alpha" in written:
            raise typer.BadParameter("--alpha is given beside alpha in --mechanism; leave one out")
        return cast("OnlinePMW", found.make(written | ({} if self.alpha is None else {"alpha": self.alpha})))


def prior_of(path: Path | None, domain: Domain, reading: ReadOptions) -> Prior | None:
    """The public data that ``--prior`` names.

    Args:
        path: A table, or a release; None for no prior.
        domain: Domain of the private table.
        reading: How the private table is read: a public one has its column of counts, or codes, too.

    Raises:
        DataError: The table cannot be read, or does not fit the domain.
        ReleaseError: The release cannot be read.
        ConfigError: There are no records.
    """
    if path is None:
        return None
    from hedgerow.algorithms.shared import Prior
    from hedgerow.data import TABLE_ENDINGS

    if path.name.lower().endswith(TABLE_ENDINGS):
        from hedgerow.data import read_public

        return Prior.of(read_public(path, domain, count_column=reading.count_column, coded=reading.coded))
    from hedgerow.release import Release

    return Prior.of(Release.load(path))


def _spelled(option: str) -> str:
    return "--for" if option == "optimize_for" else f"--{option}"


def with_prior(algorithm: Algorithm, prior: Prior | None) -> Algorithm | None:
    """The algorithm with a prior; None where there is none, or where it takes none."""
    from hedgerow.algorithms.mwem import MWEM

    return replace(algorithm, prior=prior) if prior is not None and isinstance(algorithm, MWEM) else None
