"""The Threefry generator: ``threefry_key``, ``threefry_generate``, ``threefry_split``.

How a key is laid out is told in :mod:`compiler.topi.random`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INTS
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, array_const
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import composite, public_function, register
from compiler.relay.operator import Array, RelationError, Types
from compiler.relay.ty import TensorType, TupleType
from compiler.topi import random as topi

NO_GRADIENT = {"gradient": "random bits are not a differentiable function of a key"}
KEY_TYPE = TensorType((topi.KEY_WORDS,), "uint64")
KEY_DOC = "The key, which must not be used again: a vector of 10 uint64."
_MASK = (1 << 64) - 1


class ThreefryGenerateAttrs(Attrs):
    out_shape: tuple[int, ...] = attr_field(INTS, "Shape of the numbers.")


def check_key(key: Type) -> None:
    """Check that an argument is a key."""
    data = tensor(key, "key")
    if data.dtype != KEY_TYPE.dtype or data.dims != KEY_TYPE.dims:
        raise RelationError(f"key must be {KEY_TYPE}, got {data}")


def _block(key: Array, counter: Array) -> Array:
    """Return the four numbers that the block function makes of words of a key and each row of counters."""
    words = [*key, reduce(lambda a, b: a ^ b, key, np.uint64(topi.PARITY))]
    a, b, c, d = (counter[:, j].copy() for j in range(4))
    for step in range(topi.ROUNDS):
        if step % 4 == 0:
            injected = [words[(step // 4 + j) % 5] for j in range(4)]
            a, b, c, d = a + injected[0], b + injected[1], c + injected[2], d + injected[3] + np.uint64(step // 4)
        first, second = topi.ROTATIONS[step % len(topi.ROTATIONS)]
        (a, b), (c, d) = _mix(a, b, first), _mix(c, d, second)
        b, d = d, b
    return np.stack([a, b, c, d], axis=1)


def _mix(a: Array, b: Array, rotation: int) -> tuple[Array, Array]:
    total = a + b
    return total, (total + b) ^ ((b << np.uint64(rotation)) | (b >> np.uint64(64 - rotation)))


def _split(key: Array) -> tuple[Array, Array]:
    left = key.copy()
    if left[8] == 0:
        left[:4] = _block(key[:4], key[None, 4:8])[0]
        left[4:] = [0, 0, 0, 0, topi.FIRST_STEP, 0]
    right = left.copy()
    right[4:6] |= left[8:]
    step = int(left[8])
    left[8:] = right[8:] = [step >> 1, topi.FIRST_STEP if step == 1 else 0]
    return left, right


def generated(key: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the key to go on with and random numbers of 64 bits."""
    count = int(np.prod(shape, dtype="int64"))
    key = key.copy()
    if int(key[7]) >= _MASK - count:
        key = _split(key)[1]
        key[6:8] = 0
    full = count // 4
    numbers = _block(key[:4], key[4:8] + np.arange(full, dtype="uint64")[:, None]).reshape(-1)
    if count % 4:
        last = key[4:8].copy()
        last[3:] += np.uint64(4 * full)
        numbers = np.concatenate([numbers, _block(key[:4], last[None])[0, : count % 4]])
    key[6] = 0
    key[7:8] += np.uint64(-(-count // 4) * 4)
    return key, numbers.reshape(shape)


def _generate_relation(types: Types, attrs: ThreefryGenerateAttrs) -> Type:
    """The key to go on with, and numbers of shape ``out_shape``, uint64."""
    check_key(types[0])
    return TupleType((KEY_TYPE, TensorType(attrs.out_shape, "uint64")))


_GENERATE = register(
    "random.threefry_generate",
    doc="Return the key to go on with, and random numbers of 64 bits.",
    inputs={"key": KEY_DOC},
    attrs=ThreefryGenerateAttrs,
    relation=_generate_relation,
    definition=topi.threefry_generate,
    reference=lambda attrs, key: generated(key, attrs.out_shape),
    references=('J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.',),
    waived=NO_GRADIENT,
)


@public_function(_GENERATE, shape="sequence of int: Shape of the numbers.")
def threefry_generate(key: Expr, shape: tuple[int, ...]) -> Call:
    """Return the key to go on with, and random numbers of 64 bits."""
    return _GENERATE.op(key, out_shape=shape)


def _split_relation(types: Types, attrs: Attrs) -> Type:
    """Two keys."""
    check_key(types[0])
    return TupleType((KEY_TYPE, KEY_TYPE))


threefry_split = register(
    "random.threefry_split",
    doc="Return two keys whose random numbers have nothing to do with each other.",
    inputs={"key": KEY_DOC},
    relation=_split_relation,
    definition=topi.threefry_split,
    reference=lambda attrs, key: _split(key),
    references=(
        'K. Claessen and M. H. Pałka, "Splittable pseudorandom number generators using cryptographic hashing", 2013.',
    ),
    waived=NO_GRADIENT,
)


@composite
def threefry_key(seed: int) -> Constant:
    """Return the key of a seed from 0 to 2**64 - 1: a vector of 10 uint64."""
    words: Any = np.zeros(topi.KEY_WORDS, "uint64")
    words[0], words[8] = seed, topi.FIRST_STEP
    return array_const(words)
