"""Shapes of noise, apart from the queries: naming one loads no array library."""

from enum import StrEnum


class NoiseKind(StrEnum):
    """Shape of the noise of a measurement.

    Example:
        >>> NoiseKind("laplace") is NoiseKind.LAPLACE
        True
    """

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
