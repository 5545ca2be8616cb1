"""The algorithms that make releases, by the names that people give them.

The one home of these names: ``--mechanism``, ``hedgerow compare`` and the documentation take them from here. Other
packages add mechanisms through entry points of the group ``hedgerow.mechanisms`` (docs/extending.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from hedgerow.algorithms.options import MechanismOption, options_of
from hedgerow.errors import ConfigError, PlugInError
from hedgerow.privacy import Regime
from hedgerow.queries import NoiseKind
from hedgerow.system import load_plug_in, plug_in_names

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm

_ALL = tuple(Regime)
_GROUP = "hedgerow.mechanisms"


@dataclass(frozen=True)
class Entry:
    """An algorithm that can be named.

    Attributes:
        name: Name in lower case, words joined by hyphens.
        summary: One sentence on what it does and when to take it.
        module: Module of its configuration, below ``hedgerow.algorithms``.
        configuration: Name of the class there; the class itself if it is a plug-in.
        fixed: Values of fields that this name stands for.
        regimes: Regimes of the budgets that it can be run under.

    Example:
        >>> list(entry("laplace").options)
        ['fit', 'by', 'shares', 'total_share', 'error_share']
    """

    name: str
    summary: str
    module: str
    configuration: str | type[Algorithm]
    fixed: tuple[tuple[str, Any], ...] = ()
    regimes: tuple[Regime, ...] = _ALL

    def make(self, options: Mapping[str, Any] | None = None) -> Algorithm:
        """The configured algorithm.

        Args:
            options: Values by the names of options; everything else keeps its default.

        Raises:
            ConfigError: It has no such option, or a value is out of its range.

        Example:
            >>> entry("mwem").make({"rounds": 12}).parameters()["rounds"]
            12
            >>> entry("laplace").make({"alpha": 0.1})
            Traceback (most recent call last):
                ...
            hedgerow.errors.ConfigError: laplace takes no option 'alpha'
              Remedy: leave it out; laplace takes fit, by, shares, total_share, error_share
        """
        given = dict(options or {})
        for name in given:
            self.option(name)
        return self._class()(**{**dict(self.fixed), **given})

    @cached_property
    def options(self) -> Mapping[str, MechanismOption]:
        """The fields of the configuration that a text can give, by name."""
        return {option.name: option for option in options_of(self._class(), dict(self.fixed))}

    def option(self, name: str) -> MechanismOption:
        """One of the options.

        Raises:
            ConfigError: There is none of that name.
        """
        if name not in self.options:
            takes = f"leave it out; {self.name} takes {', '.join(self.options) or 'none'}"
            raise ConfigError(f"{self.name} takes no option {name!r}{_hint(name, list(self.options))}", remedy=takes)
        return self.options[name]

    @property
    def source(self) -> str:
        """The publication that its module cites first; empty where it cites none."""
        text = " ".join((import_module(self._class().__module__).__doc__ or "").partition("\n\n")[2].split())
        cited = re.match(r"[A-Z]\. .*?\b(?:19|20)[0-9]{2}(?=[.;]| \()", text)
        return cited[0] if cited else ""

    @property
    def algorithm(self) -> str:
        """Name of the class of its configuration, by which a release names the algorithm that made it."""
        configuration = self.configuration
        return configuration if isinstance(configuration, str) else configuration.__name__

    def restore(self, parameters: Mapping[str, Any]) -> Algorithm:
        """The configuration that a release was made with.

        Args:
            parameters: Its fields as plain values, as `Algorithm.parameters` gives them; other names are passed over.

        Raises:
            ConfigError: A value cannot be restored, as an object of another package, or another version wrote it.

        Example:
            >>> from hedgerow import MWEM, Sweeps
            >>> config = MWEM(rounds=12, refit=Sweeps(4))
            >>> entry("mwem").restore(config.parameters()) == config
            True
        """
        kind = self._class()
        names = [field.name for field in fields(cast("Any", kind)) if field.init and field.name in parameters]
        objects = {name: self.options[name].objects.values() for name in names if name in self.options}
        kinds = {name: {each.__name__: each for each in found} for name, found in objects.items()}
        values = {name: _restored(parameters[name], kinds.get(name, {})) for name in names}
        kept = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
        algorithm = kind(**kept)
        told = algorithm.parameters()
        if lost := [name for name in names if told[name] != parameters[name]]:
            raise ConfigError(
                f"the configuration of {self.algorithm} holds what a release does not tell: {', '.join(lost)}",
                remedy="run the algorithm itself: hedgerow.simulate_errors(release, algorithm=...)",
            )
        return algorithm

    def _class(self) -> type[Algorithm]:
        configuration = self.configuration
        if isinstance(configuration, str):
            configuration = getattr(import_module(f"hedgerow.algorithms.{self.module}"), configuration)
        return cast("type[Algorithm]", configuration)


def _restored(value: Any, kinds: Mapping[str, type]) -> Any:
    """A plain value as the object that it was, where that is of one of some classes; else as it is."""
    kind = kinds.get(str(value.get("kind"))) if isinstance(value, Mapping) else None
    if kind is None:
        return value
    return kind(**{name: _restored(given, kinds) for name, given in value.items() if name != "kind"})


ENTRIES = (
    Entry(
        "mwem",
        "measures what it answers worst, round by round: the first choice for synthetic records",
        "mwem.mwem",
        "MWEM",
    ),
    Entry(
        "pmw",
        "as mwem, but stops as soon as a noisy answer shows that all are within a promised error",
        "offline_pmw.offline_pmw",
        "OfflinePMW",
    ),
    Entry(
        "dual-query",
        "draws queries that its records answer badly and adds records that answer them well: for very large domains",
        "dual_query.dual_query",
        "DualQuery",
    ),
    Entry(
        "small-db",
        "chooses the best of all databases of a few records: a yardstick of theory, for tiny domains",
        "small_db.small_db",
        "SmallDB",
    ),
    Entry(
        "laplace",
        "measures everything once with Laplace noise and fits a model to it: good for small workloads",
        "independent.independent_noise",
        "IndependentNoise",
        fixed=(("noise", NoiseKind.LAPLACE),),
    ),
    Entry(
        "gaussian",
        "the same with Gaussian noise, far smaller when much is measured; needs a delta or a rho",
        "independent.independent_noise",
        "IndependentNoise",
        fixed=(("noise", NoiseKind.GAUSSIAN),),
        regimes=(Regime.ZCDP, Regime.GDP),
    ),
    Entry(
        "fourier",
        "measures each parity that any marginal needs once: for workloads of many marginals of yes-or-no attributes",
        "independent.fourier",
        "FourierMeasurement",
    ),
)
"""The algorithms of this package, in the order in which they are listed."""
ONLINE = Entry(
    "online-pmw",
    "answers questions as they come, out of one budget: the mechanism of sessions",
    "online_pmw.online_pmw",
    "OnlinePMW",
    fixed=(("bounds", (0.0, 1.0)),),
)
"""The mechanism of sessions, which makes no release in one run."""
NAMES = tuple(entry.name for entry in ENTRIES)
"""Names of the algorithms of this package; `names` adds those of plug-ins."""


def names() -> list[str]:
    """Names of the algorithms of this package, then those of plug-ins, which are not imported.

    Raises:
        PlugInError: A plug-in has a name that is taken.

    Example:
        >>> names()[0]
        'mwem'
    """
    return [*NAMES, *plug_in_names(_GROUP, NAMES)]


def entries() -> tuple[Entry, ...]:
    """All algorithms, in the order of `names`.

    Raises:
        PlugInError: A plug-in cannot be loaded, or has a name that is taken.

    Example:
        >>> entries()[0].name
        'mwem'
    """
    return tuple(map(entry, names()))


def session_entry(name: str) -> Entry:
    """Look up a mechanism of sessions by its name.

    Raises:
        ConfigError: There is no such mechanism.

    Example:
        >>> session_entry("online-pmw").option("alpha").read("0.1")
        0.1
    """
    if name != ONLINE.name:
        raise ConfigError(f"no session runs the mechanism {name!r}", remedy=f"sessions run {ONLINE.name}")
    return ONLINE


def entry(name: str) -> Entry:
    """Look up an algorithm by its name.

    Raises:
        ConfigError: There is no such algorithm.
        PlugInError: It is a plug-in that cannot be loaded, or a plug-in has a name that is taken.

    Example:
        >>> entry("mwme")
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: there is no mechanism 'mwme'; did you mean 'mwem'?
          Remedy: the mechanisms are: mwem...
    """
    known = names()
    if name not in known:
        remedy = f"the mechanisms are: {', '.join(known)}"
        raise ConfigError(f"there is no mechanism {name!r}{_hint(name, known)}", remedy=remedy)
    return next((entry for entry in ENTRIES if entry.name == name), None) or _plugged(name)


def made_by(algorithm: str, parameters: Mapping[str, Any]) -> Algorithm:
    """The algorithm that a release names, as it was configured.

    Args:
        algorithm: Name of its class, as the release's provenance has it.
        parameters: Its configuration as plain values, from there too.

    Raises:
        ConfigError: No mechanism here has this name, or the values cannot be restored.

    Example:
        >>> from hedgerow import IndependentNoise
        >>> made_by("IndependentNoise", IndependentNoise(by="query").parameters()).by
        'query'
    """
    listed = next((entry for entry in entries() if entry.algorithm == algorithm), None)
    if listed is None:
        raise ConfigError(
            f"{algorithm} is no mechanism that makes a release in one run",
            remedy=f"take a release of one of these: {', '.join(names())}",
        )
    return listed.restore(parameters)


@cache
def _plugged(name: str) -> Entry:
    from hedgerow.algorithms.shared import Algorithm

    loaded = load_plug_in(_GROUP, name, Algorithm)
    described, formed = (loaded.__doc__ or "").strip(), bool(is_dataclass(loaded))
    if described.startswith(f"{loaded.__name__}("):  # a dataclass writes its signature where nothing is said
        described = ""
    if not (described and formed):
        message = f"the plug-in {name!r} of {loaded.__module__!r} is not a dataclass with a docstring"
        raise PlugInError(message, remedy="make it a frozen dataclass whose docstring begins with what it does")
    if loaded.run is not Algorithm.run:  # which charges registers, and hands the table to a curator
        message = f"the plug-in {name!r} of {loaded.__module__!r} overrides run(), which is given the private table"
        raise PlugInError(message, remedy="override run_with(), which is given a curator")
    summary = described.splitlines()[0].rstrip(".")
    return Entry(name, summary, loaded.__module__, loaded, regimes=loaded.regimes)


def _hint(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def parse(text: str) -> Algorithm:
    """The algorithm that a short text names, with its options.

    Args:
        text: See `read_options`.

    Raises:
        ConfigError: See `read_options`; or a value is out of its range.

    Example:
        >>> parse("mwem:rounds=30").parameters()["rounds"]
        30
    """
    found, options = read_options(text)
    return found.make(options)


def read_options(text: str, find: Callable[[str], Entry] = entry) -> tuple[Entry, dict[str, Any]]:
    """A mechanism and values of its options.

    Args:
        text: ``name``, or ``name:option=value,option=value``; colons may stand for the commas.
        find: Looks up a name: `entry`, or `session_entry`.

    Raises:
        ConfigError: The name or an option is unknown or there twice, or a value is none of its type.

    Example:
        >>> found, options = read_options("mwem: rounds=1e3, repeats=true")
        >>> found.name, options
        ('mwem', {'rounds': 1000, 'repeats': True})
    """
    name, _, given = text.partition(":")
    found, options = find(name.strip()), dict[str, Any]()
    for part in re.split("[:,]", given) if given.strip() else ():
        option, equals, value = (each.strip() for each in part.partition("="))
        if not equals:
            raise ConfigError(
                f"{part.strip()!r} in {text!r} is not an option",
                remedy=f"write options as NAME=VALUE, with commas between them; {found.name} takes "
                f"{', '.join(found.options) or 'none'}",
            )
        if option in options:
            raise ConfigError(f"{option!r} is there twice in {text!r}", remedy="give it once")
        options[option] = found.option(option).read(value)
    return found, options
