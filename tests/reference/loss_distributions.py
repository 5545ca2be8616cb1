"""What two other accountants say of a composition: dp-accounting of any laws, opake-accounting of Gaussian noise.

`epsilons` hands dp-accounting the two laws of each mechanism, outcome by outcome, and nothing else. It rounds every
loss to a grid, once up and once down, so that the true epsilon lies between what comes back.

`opake_epsilon` is another engine, in Rust, with another discretisation. Of discrete laws it knows none; it has Gaussian
noise, and an (epsilon, delta) whose loss is epsilon whatever comes out, which composes as epsilons and deltas add up.
Its figures are not rounded one way: where the exact curve is known they are within `OPAKE` of it, on either side.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec
from importlib.metadata import distribution
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the library warns on import of its own dependencies
    from dp_accounting.pld import privacy_loss_distribution as pld

STEP = 1e-3
"""Distance of the losses of the grid."""
OPAKE = 1e-6
"""How far opake-accounting is off, as a share of epsilon."""


@dataclass(frozen=True)
class Pair:
    """Two laws over the same outcomes: natural logarithms of their probabilities, minus infinity for none."""

    one: tuple[float, ...]
    other: tuple[float, ...]

    @classmethod
    def of(cls, one: ArrayLike, other: ArrayLike) -> Pair:
        first, second = (np.asarray(each, dtype=np.float64) for each in (one, other))
        assert first.shape == second.shape
        for each in (first, second):
            assert abs(float(np.exp(each).sum()) - 1.0) < 1e-9, "no law: its probabilities do not add up to 1"
        return cls(tuple(first.tolist()), tuple(second.tolist()))


@cache
def _distribution(pair: Pair, *, up: bool) -> Any:
    laws = (dict(enumerate(each)) for each in (pair.other, pair.one))
    return pld.from_two_probability_mass_functions(
        *laws, pessimistic_estimate=up, value_discretization_interval=STEP, symmetric=False
    )


@lru_cache(maxsize=512)
def _composed(pairs: tuple[tuple[Pair, int], ...], *, up: bool) -> Any:
    parts = [_distribution(pair, up=up).self_compose(times) for pair, times in pairs]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole


def epsilons(pairs: Sequence[tuple[Pair, int]], delta: float) -> tuple[float, float]:
    """Bounds on the least epsilon at which a composition is (epsilon, delta)-private, the pairs either way round.

    Args:
        pairs: The two laws of each mechanism, and how often it is used.
        delta: The delta.
    """
    low, high = (float(_composed(tuple(pairs), up=up).get_epsilon_for_delta(delta)) for up in (False, True))
    return low, high


def least_delta(pairs: Sequence[tuple[Pair, int]], epsilon: float) -> float:
    """A lower bound on the delta at which a composition is (epsilon, delta)-private."""
    return float(_composed(tuple(pairs), up=False).get_delta_for_epsilon(epsilon))


@cache
def _opake() -> Any:
    """The engine itself: on Python 3.11 and 3.12 the package around it cannot be imported (version 0.16.1)."""
    found = distribution("opake-accounting")
    (library,) = (
        file for file in found.files or () if file.name.startswith("opake_accounting.") and file.suffix != ".pyi"
    )
    spec = spec_from_file_location("opake_accounting", str(found.locate_file(library)))
    assert isinstance(spec, ModuleSpec)
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def opake_epsilon(delta: float, mus: Iterable[float] = (), pairs: Iterable[tuple[float, float]] = ()) -> float:
    """The epsilon that opake-accounting gives a composition.

    Args:
        delta: The delta.
        mus: Of Gaussian noise, its sensitivity divided by its sigma.
        pairs: Epsilons and deltas of other mechanisms.
    """
    engine = _opake()
    config = engine.DiscretizationConfig()
    whole = engine.identity_pld(config)
    for mu in mus:
        whole = whole.compose(engine.gaussian_pld(1.0 / mu, config))
    for epsilon, its_delta in pairs:
        whole = whole.compose(engine.eps_delta_pld(epsilon, its_delta, config))
    return float(whole.epsilon_at(delta))
