"""``tvm.topi.random``: counter-based random numbers, the same on every machine.

A key is ten words of 64 bits: four that the block function is keyed with (0 to 3), the path of the splits that led to
it (4 and 5), a counter of the numbers that were generated (7), and the bit of the path that the next split decides (8,
and the highest bit of 9 once 64 are decided).  The block function makes four numbers of a key and words 4 to 7.

References
----------
J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011: Threefry-4x64 with 20 rounds.  As TVM
computes it, the second word of a mix is the rotated one XOR the sum with that word added twice, and the key is not
added behind the last round.
K. Claessen and M. H. Pałka, "Splittable pseudorandom number generators using cryptographic hashing", Haskell 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import pi
from typing import TYPE_CHECKING

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var, convert
from compiler.ir.extension import public_module
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.arrays.transform import reshape
from compiler.topi.compute import by_loops, compute
from compiler.topi.operands import Extent, constant, dims, product
from compiler.topi.scan import cumsum
from compiler.topi.tag import Tag

__all__ = ["multinomial", "normal", "threefry_generate", "threefry_split", "uniform"]
if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.topi.random", __all__)

KEY_WORDS = 10
PARITY = 0x1BD11BDAA9FC1A22
"""What the fifth word of a block's key has in common with those of all keys."""
ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
"""Bits by which the second word of each pair is rotated, by the round."""
ROUNDS = 20
FIRST_STEP = 1 << 63
"""The bit of the path that the first split decides."""
_DTYPE = "uint64"
_MAX = (1 << 64) - 1
_PATTERN = {"float32": ("uint32", 23, 127), "float64": ("uint64", 52, 1023)}
"""Of a data type: the unsigned one of its size, how many bits its fraction has, and the exponent of numbers from 1."""


def _word(value: int) -> PrimExpr:
    return tir.const(value, _DTYPE)


def _add_block(key: Sequence[PrimExpr], counter: Sequence[PrimExpr], out: BufferVar) -> None:
    """Emit the block function of four words of a key and four of a counter."""
    words = [*key, reduce(lambda a, b: a ^ b, key, _word(PARITY))]
    for j in range(4):
        out[j] = counter[j]
    places = [0, 1, 2, 3]
    for step in range(ROUNDS):
        if step % 4 == 0:
            for j, place in enumerate(places):
                out[place] = out[place] + words[(step // 4 + j) % 5] + _word(step // 4 if j == 3 else 0)
        for pair, rotation in enumerate(ROTATIONS[step % len(ROTATIONS)]):
            first, second = places[2 * pair], places[2 * pair + 1]
            out[first] = out[first] + out[second]
            rotated = (out[second] << _word(rotation)) | (out[second] >> _word(64 - rotation))
            out[second] = (out[first] + out[second]) ^ rotated
        places = [places[0], places[3], places[2], places[1]]  # the second and the fourth word change places


def _words(buffer: BufferVar, first: int) -> list[PrimExpr]:
    return [buffer[first + j] for j in range(4)]


def _add_copy(ib: IRBuilder, key: BufferVar) -> BufferVar:
    """Emit a copy of a key that can still be split: where all bits of its path are decided, it gets new words."""
    copy = ib.allocate(_DTYPE, KEY_WORDS, "key")
    for j in range(KEY_WORDS):
        copy[j] = key[j]
    with ib.if_scope(key[8].equal(_word(0))):
        block = ib.allocate(_DTYPE, 4, "new_words")
        _add_block(_words(key, 0), _words(key, 4), block)
        for j in range(KEY_WORDS):
            copy[j] = block[j] if j < 4 else _word(FIRST_STEP if j == 8 else 0)
    return copy


def _next_step(key: BufferVar) -> tuple[PrimExpr, PrimExpr]:
    """Return the words of a key that say which bit of the path the split after the next one decides."""
    return key[8] >> _word(1), tir.Select(key[8].equal(_word(1)), _word(FIRST_STEP), _word(0))


def _add_split(left: BufferVar, right: BufferVar, key: BufferVar) -> None:
    """Emit both keys that one splits into: they differ in one bit of the path."""
    steps = _next_step(key)
    for j in range(KEY_WORDS):
        left[j] = steps[j - 8] if j >= 8 else key[j]
        right[j] = steps[j - 8] if j >= 8 else key[j] | key[j + 4] if j in (4, 5) else key[j]


def threefry_split(gen: Tensor) -> list[Tensor]:
    """Return two keys, ``(10,)`` of uint64 as the one given, whose numbers have nothing to do with each other."""

    def loops(ib: IRBuilder, key: BufferVar, left: BufferVar, right: BufferVar) -> None:
        _add_split(left, right, _add_copy(ib, key))

    return by_loops([gen], [((KEY_WORDS,), _DTYPE)] * 2, loops, "threefry_split")


def _add_key_with_room(ib: IRBuilder, key: BufferVar, count: int) -> BufferVar:
    """Emit a copy of a key whose counter can count further numbers: a right part of the split if its own cannot."""
    copy = ib.allocate(_DTYPE, KEY_WORDS, "state")
    for j in range(KEY_WORDS):
        copy[j] = key[j]
    with ib.if_scope(key[7] >= _word(_MAX - count)):
        left = ib.allocate(_DTYPE, KEY_WORDS, "left")
        _add_split(left, copy, _add_copy(ib, key))
        copy[6] = copy[7] = _word(0)
    return copy


def threefry_generate(gen: Tensor, out_shape: Sequence[Extent]) -> list[Tensor]:
    """Return the key to go on with, and random numbers of 64 bits."""
    count = constant(product(out_shape), "threefry_generate")
    full, rest = divmod(count, 4)

    def loops(ib: IRBuilder, old_key: BufferVar, new_key: BufferVar, numbers: BufferVar) -> None:
        key = _add_key_with_room(ib, old_key, count)
        if full:
            with ib.for_range(0, full, "block") as block:
                out = ib.allocate(_DTYPE, 4, "out")
                _add_block(_words(key, 0), [w + block.astype(_DTYPE) for w in _words(key, 4)], out)
                for j in range(4):
                    numbers[block * 4 + j] = out[j]
        if rest:
            last = ib.allocate(_DTYPE, 4, "last")
            _add_block(_words(key, 0), [*_words(key, 4)[:3], key[7] + _word(4 * full)], last)
            for j in range(rest):
                numbers[4 * full + j] = last[j]
        generated = _word(4 * (full + bool(rest)))
        for j in range(KEY_WORDS):
            new_key[j] = _word(0) if j == 6 else key[j] + generated if j == 7 else key[j]

    new_key, numbers = by_loops([gen], [((KEY_WORDS,), _DTYPE), ((count,), _DTYPE)], loops, "threefry_generate")
    return [new_key, reshape(numbers, tuple(out_shape))]


def _from_zero_to_one(gen: Tensor, shape: Sequence[Extent], dtype: str) -> tuple[Tensor, Tensor]:
    """Return the key to go on with and numbers from 0 to before 1, whose fractions are the upper bits of words."""
    bits_type, fraction, exponent = _PATTERN[dtype]
    new_key, numbers = threefry_generate(gen, shape)
    unused = tir.const({"uint32": 32, "uint64": 64}[bits_type] - fraction, bits_type)

    def element(*i: Var) -> PrimExpr:
        bits = (numbers(*i).astype(bits_type) >> unused) | tir.const(exponent << fraction, bits_type)
        return tir.reinterpret(dtype, bits) - tir.const(1.0, dtype)

    return new_key, compute(tuple(shape), element, name="from_zero_to_one", tag=Tag.INJECTIVE)


def uniform(gen: Tensor, low: Tensor, high: Tensor, out_shape: Sequence[Extent], out_dtype: str) -> list[Tensor]:
    """Return the key to go on with, and numbers that are equally likely from ``low`` to below ``high``, two scalars."""
    new_key, numbers = _from_zero_to_one(gen, out_shape, out_dtype)

    def element(*i: Var) -> PrimExpr:
        return numbers(*i) * (high() - low()) + low()

    return [new_key, compute(tuple(out_shape), element, name="uniform", tag=Tag.INJECTIVE)]


def normal(gen: Tensor, mean: Tensor, scale: Tensor, out_shape: Sequence[Extent], out_dtype: str) -> list[Tensor]:
    """Return the key to go on with, and random numbers of a normal distribution; ``mean`` and ``scale`` are scalars.

    References
    ----------
    G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958.
    """
    one, minus_two, turn = (tir.const(v, out_dtype) for v in (1.0, -2.0, 2.0 * pi))
    new_key, pairs = _from_zero_to_one(gen, (2, *out_shape), out_dtype)

    def element(*i: Var) -> PrimExpr:
        radius = te.sqrt(minus_two * te.log(one - pairs(0, *i)))
        return radius * te.sin(turn * pairs(1, *i)) * scale() + mean()

    return [new_key, compute(tuple(out_shape), element, name="normal", tag=Tag.INJECTIVE)]


def multinomial(gen: Tensor, probs: Tensor, num_samples: int) -> list[Tensor]:
    """Return the key to go on with, and random indices, ``(..., num_samples)`` of int32.

    ``probs`` is ``(..., categories)``; negative ones count as zero, and each row is divided by its sum.
    """
    *rows, categories = dims(probs)
    dtype = probs.dtype
    positive = compute(dims(probs), lambda *i: te.max(probs(*i), tir.const(0, dtype)), "positive", Tag.INJECTIVE)
    k = te.reduce_axis((0, categories), name="k")
    total = compute(rows, lambda *i: te.sum(positive(*i, k.var), axis=k), "total", Tag.COMM_REDUCE)
    shares = compute(dims(probs), lambda *i: positive(*i) / total(*i[:-1]), "shares", Tag.INJECTIVE)
    reached = cumsum(shares, len(rows))
    new_key, draws = _from_zero_to_one(gen, (*rows, num_samples), dtype)
    c = te.reduce_axis((0, categories), name="c")

    def above(*i: Var) -> PrimExpr:
        below = reached(*i[:-1], c.var) <= draws(*i)
        return te.sum(below.astype("int32"), axis=c)

    first = compute((*rows, num_samples), above, name="first_above", tag=Tag.COMM_REDUCE)

    def element(*i: Var) -> PrimExpr:
        """The first category whose running sum is above the number; the first one where rounding leaves none."""
        return tir.Select(first(*i) < convert(categories).astype("int32"), first(*i), tir.const(0, "int32"))

    return [new_key, compute((*rows, num_samples), element, name="multinomial", tag=Tag.INJECTIVE)]
