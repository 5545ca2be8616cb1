"""Compiled passes over packed binary attributes; nothing but kernels.

An attribute is a row of 64-bit words, one bit per record; what is counted is bits that are set.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hedgerow.arrays import Floats, Ints, Words
from hedgerow.system import kernel

TOGETHER = 4
"""So many attributes are compared with another one at once; matrices of words end in as many rows less one of zeros."""

_TILE = 512
_LEFT = 32

_SHORT_TILE = 128
"""1 KB of each attribute: a thousand of them stay in a core's second cache."""


def _count_of_set_bits(_typing: Any, word: Any) -> Any:
    """Number of bits of a word that are set: one machine instruction, and vectorised where the machine has it."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic("llvm.ctpop", [arguments[0].type]), arguments)

    return types.uint64(word), generate


_set_bits: Any = intrinsic(_count_of_set_bits)


@kernel()
def differing_pairs(words: Words, mask: Words, first: int, step: int, out: Ints) -> None:
    """``out[i, j]``, for i < j: records in which an odd number of attribute i, attribute j and the mask are 1.

    Runs of attributes i are taken from number ``first`` on in steps of ``step``; other cells may hold anything.
    """
    left = np.empty((_LEFT, _TILE), np.uint64)
    n_attributes = words.shape[0] - TOGETHER + 1
    for start in range(0, words.shape[1], _TILE):
        stop = min(words.shape[1], start + _TILE)
        for low in range(_LEFT * first, n_attributes, _LEFT * step):
            high = min(n_attributes, low + _LEFT)
            for i in range(low, high):
                for w in range(stop - start):
                    left[i - low, w] = words[i, start + w] ^ mask[start + w]
            for j in range(low, n_attributes, TOGETHER):
                right0, right1 = words[j, start:stop], words[j + 1, start:stop]
                right2, right3 = words[j + 2, start:stop], words[j + 3, start:stop]
                for i in range(low, high):
                    row = left[i - low]
                    count0 = count1 = count2 = count3 = np.uint64(0)
                    for w in range(right0.size):
                        word = row[w]
                        count0 += _set_bits(word ^ right0[w])
                        count1 += _set_bits(word ^ right1[w])
                        count2 += _set_bits(word ^ right2[w])
                        count3 += _set_bits(word ^ right3[w])
                    kept = 1 if start > 0 else 0
                    out[i, j] = kept * out[i, j] + np.int64(count0)
                    out[i, j + 1] = kept * out[i, j + 1] + np.int64(count1)
                    out[i, j + 2] = kept * out[i, j + 2] + np.int64(count2)
                    out[i, j + 3] = kept * out[i, j + 3] + np.int64(count3)


@kernel()
def add_upper(odd: Ints, n_attributes: int, n_records: int, weight: int, out: Floats) -> None:
    """Add ``weight * (n_records - 2 odd[i, j])`` for all i < j, row by row."""
    position = 0
    for i in range(n_attributes):
        for j in range(i + 1, n_attributes):
            out[position] += weight * (n_records - 2 * odd[i, j])
            position += 1


@kernel()
def add_listed(words: Words, sets: Ints, n_records: int, weight: int, out: Floats) -> None:
    """The same for listed sets, shape (sets, attributes); neighbours that differ in the last attribute share work."""
    length = sets.shape[1]
    together = np.empty(_SHORT_TILE, np.uint64)
    for start in range(0, words.shape[1], _SHORT_TILE):
        stop = min(words.shape[1], start + _SHORT_TILE)
        row = together[: stop - start]
        for s in range(len(sets)):
            same = s > 0
            for k in range(length - 1):
                same &= sets[s, k] == sets[s - 1, k]
            if not same:
                for w in range(row.size):
                    row[w] = 0
                for k in range(length - 1):
                    more = words[sets[s, k], start:stop]
                    for w in range(row.size):
                        row[w] ^= more[w]
            last = words[sets[s, length - 1], start:stop]
            count = np.uint64(0)
            for w in range(row.size):
                count += _set_bits(row[w] ^ last[w])
            out[s] -= 2 * weight * np.int64(count)
    for s in range(out.size):
        out[s] += weight * n_records
