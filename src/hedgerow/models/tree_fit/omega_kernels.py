"""Compiled logarithms, exponentials and Wright omega functions of whole tables; nothing else lives here.

Loops over tables are written such that the compiler makes vector instructions of them, which it cannot of the library's
functions: twice to three times as fast, where a step needs several for each cell. Short tables are left to the library.
"""

import math
from typing import Any

from numba import types
from numba.extending import intrinsic

from hedgerow.arrays import Floats
from hedgerow.system import device_function, kernel

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_HALF = 0x3FE6A09E00000000
"""The bits of the square root of 1/2, from which on the mantissa of a logarithm counts."""
_L1, _L2, _L3, _L4 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
)
_L5, _L6, _L7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01
_ROUND = 6755399441055744.0
"""1.5 * 2**52: adding it rounds to a whole number, which then stands in the last bits."""
_ROUND_BITS = 0x4338000000000000
_LOG2_E = 1.4426950408889634
_LEAST = -708.0
_T3, _T4, _T5, _T6, _T7, _T8, _T9, _T10, _T11, _T12, _T13 = (1.0 / math.factorial(k) for k in range(3, 14))
"""Taylor's series of the exponential function, far enough for arguments up to ln(2) / 2."""


_SHORT = 24
"""Tables of fewer cells take longer by vectors."""


def _same_bits(source: Any, target: Any) -> Any:
    """A compiled function of one number to another type of as many bits; views of arrays compile far longer."""

    def typed(_: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, _: Any, numbers: Any) -> Any:
            return builder.bitcast(numbers[0], context.get_value_type(target))

        return target(source), code

    return intrinsic(typed)


_bits_of, _from_bits = _same_bits(types.float64, types.int64), _same_bits(types.int64, types.float64)


@kernel()
def logs(x: Floats, out: Floats) -> None:
    """Natural logarithms of positive numbers that are not denormal, to the last digit or the one before it.

    After Ng's ``log`` in FDLIBM (1993).
    """
    if x.size < _SHORT:
        for i in range(x.size):
            out[i] = math.log(x[i])
        return
    for i in range(x.size):
        bits = _bits_of(x[i])
        out[i] = _from_bits(bits - (((bits - _HALF) >> 52) << 52))
    for i in range(x.size):
        exponent = float((_bits_of(x[i]) - _HALF) >> 52)
        f = out[i] - 1.0
        s = f / (2.0 + f)
        z = s * s
        w = z * z
        rest = w * (_L2 + w * (_L4 + w * _L6)) + z * (_L1 + w * (_L3 + w * (_L5 + w * _L7)))
        half = 0.5 * f * f
        out[i] = exponent * _LN2_HIGH - ((half - (s * (half + rest) + exponent * _LN2_LOW)) - f)


@kernel()
def exps(x: Floats, out: Floats, room: Floats) -> None:
    """Exponentials of numbers up to 708, to the last digits; smaller ones than -708 count as that."""
    if x.size < _SHORT:
        for i in range(x.size):
            out[i] = math.exp(max(x[i], _LEAST))
        return
    for i in range(x.size):
        room[i] = max(x[i], _LEAST) * _LOG2_E + _ROUND
    for i in range(x.size):
        n = room[i] - _ROUND
        r = (max(x[i], _LEAST) - n * _LN2_HIGH) - n * _LN2_LOW
        p = _T13
        p = p * r + _T12
        p = p * r + _T11
        p = p * r + _T10
        p = p * r + _T9
        p = p * r + _T8
        p = p * r + _T7
        p = p * r + _T6
        p = p * r + _T5
        p = p * r + _T4
        p = p * r + _T3
        out[i] = ((p * r + 0.5) * r + 1.0) * r + 1.0
    for i in range(x.size):
        out[i] *= _from_bits((_bits_of(room[i]) - _ROUND_BITS + 1023) << 52)


@kernel()
def omega(x: float) -> float:
    """The Wright omega function of one number, as ``omegas``."""
    if x < -36.0:
        return math.exp(max(x, _LEAST))
    if x < -1.0:
        w = math.exp(x)
        w /= 1.0 + w
    elif x < 3.0:
        t = x - 1.0
        w = 1.0 + t * (0.5 + t * (0.0625 - t * 0.0052))
    else:
        log = math.log(x)
        w = x - log + log / x
    for _ in range(2):
        residual = x - w - math.log(w)
        after = 1.0 + w
        twice = 2.0 * after * (after + residual * (2.0 / 3.0))
        w += w * residual * (twice - residual) / (after * (twice - 2.0 * residual))
    return w


@kernel()
def omegas(x: Floats, w: Floats, logs_of: Floats, room: Floats) -> None:
    """The Wright omega function: the w with ``w + ln(w) = x``, to 1e-14; x below -708 counts as that.

    From a start with two digits, by two iterations of Fritsch, Shafer and Crowley (1973), each of which makes about
    four times as many.
    """
    if x.size < _SHORT:
        for i in range(x.size):
            w[i] = omega(x[i])
        return
    for i in range(x.size):
        logs_of[i] = min(x[i], 1.0)
    exps(logs_of, w, room)
    for i in range(x.size):
        room[i] = max(x[i], 1.0)
    logs(room, logs_of)
    for i in range(x.size):
        t = x[i] - 1.0
        low = w[i] / (1.0 + w[i])
        middle = 1.0 + t * (0.5 + t * (0.0625 - t * 0.0052))
        high = x[i] - logs_of[i] + logs_of[i] / room[i]
        w[i] = low if x[i] < -1.0 else (middle if x[i] < 3.0 else high)
    improve(x, w, logs_of)
    improve(x, w, logs_of)


@device_function()
def improve(x: Floats, w: Floats, logs_of: Floats) -> None:
    """One iteration towards ``w + ln(w) = x``."""
    logs(w, logs_of)
    for i in range(x.size):
        residual = x[i] - w[i] - logs_of[i]
        after = 1.0 + w[i]
        twice = 2.0 * after * (after + residual * (2.0 / 3.0))
        better = w[i] + w[i] * residual * (twice - residual) / (after * (twice - 2.0 * residual))
        w[i] = w[i] if x[i] < -36.0 else better


@device_function()
def shift(w: Floats, h: Floats) -> None:
    """Move from omega(x) to omega(x + h), by its series; the relative error is about ``h**4 / 24`` at most."""
    for i in range(w.size):
        share = 1.0 / (1.0 + w[i])
        second = share * share
        third = (1.0 - 2.0 * w[i]) * second * second
        w[i] += w[i] * share * h[i] * (1.0 + h[i] * (0.5 * second + h[i] * third / 6.0))


@device_function(fastmath={"reassoc"})
def mass_and_slope(w: Floats) -> tuple[float, float]:
    """The sum, and the sum of the derivatives."""
    total, slope = 0.0, 0.0
    for i in range(w.size):
        total += w[i]
        slope += w[i] / (1.0 + w[i])
    return total, slope
