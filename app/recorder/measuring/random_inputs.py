"""Random inputs that server and browser generate identically from element positions.

Element ``i`` of argument ``a`` under the seed ``s`` comes from a 32-bit number, in arithmetic modulo 2**32::

    key = mix(s + (a + 1) * 0x9E3779B9)
    h = mix(i ^ key)

    mix(x): x ^= x >> 16; x *= 0x85EBCA6B; x ^= x >> 13; x *= 0xC2B2AE35; x ^= x >> 16

================  ================================
data type         value
================  ================================
float32, float64  ``0.5 + (h >> 9) * 2**-23``
float16           ``0.5 + (h >> 22) * 2**-10``
bool              ``h >> 31``
integers          ``h >> 29``, from 0 to 7
================  ================================

Floats are around 1, inside the domain of most functions, and exact in their types.  Those of an argument with a range
are ``low + (high - low) * fraction``, each operation rounded to float32.  ``static/js/webgpu/inputs.js`` is the same
generator for the page.

References
----------
``mix`` is the finaliser of MurmurHash3 by Austin Appleby, which is in the public domain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Words = np.ndarray[Any, np.dtype[np.uint32]]

GOLDEN = 0x9E3779B9
MASK = 0xFFFFFFFF


def random_arrays(shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str], seed: int = 0) -> list[Array]:
    """Return arrays of seeded values.

    Parameters
    ----------
    shapes : sequence of tuple of int
        Of each argument.
    """
    return [
        _values(_words(math.prod(shape), seed, position), dtype).reshape(shape)
        for position, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    ]


def in_range(values: Array, low: float, high: float) -> Array:
    """Return numbers of a range, of those of :func:`random_arrays`.

    Parameters
    ----------
    values : numpy.ndarray
        Of type float32.
    """
    made: Array = np.float32(low) + np.float32(high - low) * (values - np.float32(0.5))
    return made


def _words(count: int, seed: int, argument: int) -> Words:
    """Return the random number of each element of an argument."""
    key = _mixed(np.array([(seed + (argument + 1) * GOLDEN) & MASK], np.uint32))
    words = np.arange(count, dtype=np.uint32)
    words ^= key
    return _mixed(words)


def _mixed(words: Words) -> Words:
    """Scramble numbers in place."""
    words ^= words >> np.uint32(16)
    words *= np.uint32(0x85EBCA6B)
    words ^= words >> np.uint32(13)
    words *= np.uint32(0xC2B2AE35)
    words ^= words >> np.uint32(16)
    return words


def _values(words: Words, dtype: str) -> Array:
    """Return the elements that random numbers stand for."""
    if dtype.startswith("float"):
        bits = 10 if dtype == "float16" else 23
        fraction = (words >> np.uint32(32 - bits)).astype(np.float32)
        return (fraction * np.float32(2.0**-bits) + np.float32(0.5)).astype(dtype)
    return (words >> np.uint32(31 if dtype == "bool" else 29)).astype(dtype)
