"""Checks that the configurations of several algorithms make of their numbers."""

from typing import TypeGuard, get_args

from hedgerow.errors import ConfigError
from hedgerow.privacy import Regime
from hedgerow.queries import NoiseKind


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number; True and False are not.

    Example:
        >>> is_number(0.5), is_number(True), is_number("0.5")
        (True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: object) -> bool:
    """Whether a value is a whole number from 1.

    Example:
        >>> is_count(3), is_count(0), is_count(3.0), is_count(True)
        (True, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def check_count(name: str, value: object, remedy: str = "give a whole number from 1") -> None:
    """Refuse what is not a whole number from 1.

    Args:
        name: Name of the option.
        value: Value of the option.
        remedy: Advice for the user.

    Raises:
        ConfigError: It is something else.

    Example:
        >>> check_count("size", 0)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: size must be a whole number from 1, not 0
          Remedy: give a whole number from 1
    """
    if not is_count(value):
        raise ConfigError(f"{name} must be a whole number from 1, not {value!r}", remedy=remedy)


_LEAST = 1e-100
"""Smallest fraction: the square of a smaller one is 0."""


def check_fraction(name: str, value: object, remedy: str = "give a number between 0 and 1") -> None:
    """Refuse what is not a number between 0 and 1, both excluded.

    Args:
        name: Name of the option.
        value: Value of the option.
        remedy: Advice for the user.

    Raises:
        ConfigError: It is something else.

    Example:
        >>> check_fraction("beta", 1.0)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: beta must lie between 0 and 1, not 1.0
          Remedy: give a number between 0 and 1
    """
    if not (is_number(value) and _LEAST < value < 1.0):
        raise ConfigError(f"{name} must lie between 0 and 1, not {value!r}", remedy=remedy)


def check_choice(name: str, value: object, kind: object) -> None:
    """Refuse a value that a type does not name.

    Args:
        name: Name of the option.
        value: Value of the option.
        kind: Type of the option, a ``Literal``.

    Raises:
        ConfigError: It is something else.

    Example:
        >>> from typing import Literal
        >>> check_choice("step", "blunt", Literal["source", "sharp"])
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: step = 'blunt' is unknown
          Remedy: give 'source' or 'sharp'
    """
    if value not in (choices := get_args(kind)):
        raise ConfigError(f"{name} = {value!r} is unknown", remedy=f"give {' or '.join(map(repr, choices))}")


def noise_kind(noise: NoiseKind | str) -> NoiseKind:
    """A shape of noise, by its name too.

    Raises:
        ConfigError: There is none of that name.

    Example:
        >>> noise_kind("laplace")
        <NoiseKind.LAPLACE: 'laplace'>
    """
    try:
        return NoiseKind(noise)
    except ValueError as error:
        remedy = f"give {' or '.join(repr(kind.value) for kind in NoiseKind)}, or leave it out"
        raise ConfigError(f"unknown noise {noise!r}", remedy=remedy) from error


def check_noise(kind: NoiseKind | None, regime: Regime) -> None:
    """Refuse noise that a regime does not allow.

    Args:
        kind: Shape of the noise; None lets the regime choose.
        regime: Regime of the budget.

    Raises:
        ConfigError: It is Gaussian under pure differential privacy.

    Example:
        >>> check_noise(NoiseKind.GAUSSIAN, Regime.PURE)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: Gaussian noise is not purely private
          Remedy: use Laplace noise, or give a delta
    """
    if kind is NoiseKind.GAUSSIAN and regime is Regime.PURE:
        raise ConfigError("Gaussian noise is not purely private", remedy="use Laplace noise, or give a delta")


def check_shares(total: float, error: float, initial: float = 0.0) -> None:
    """Refuse shares of a budget that are out of range, or that leave nothing for the rounds.

    Args:
        total: Share for the noisy number of records.
        error: Share for the noisy error of the workload at the end; may be 0.
        initial: Share for the measurements before the first round.

    Raises:
        ConfigError: A number is out of its range, or their sum is 1 or more.

    Example:
        >>> check_shares(total=0.5, error=0.5)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: total_share = 0.5 and error_share = 0.5 leave nothing for the rounds
          Remedy: give a total_share above 0, and an error_share from 0 on, that sum to less than 1
    """
    numbers = all(map(is_number, (total, error, initial)))
    if numbers and 0.0 < total < 1.0 and 0.0 <= error < 1.0 and total + error + initial < 1.0:
        return
    beside = f" beside initial_share = {initial!r}" if initial else ""
    raise ConfigError(
        f"total_share = {total!r} and error_share = {error!r}{beside} leave nothing for the rounds",
        remedy="give a total_share above 0, and an error_share from 0 on, that sum to less than 1",
    )
