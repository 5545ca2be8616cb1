"""Names of array types, each for one type of element."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int32]
"""Positions in arrays that are short enough for four bytes."""
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
"""Bits, 64 to a word."""
