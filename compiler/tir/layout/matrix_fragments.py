"""The mapping of matrix elements to the registers of a warp, for tensor core instructions.

References
----------
NVIDIA, "Parallel Thread Execution ISA", section "Warp Level Matrix Multiply-Accumulate Instructions": the figures of
the fragments of ``mma.m16n8k*`` and ``mma.m8n8k*``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from compiler.ir.expr.primexpr import PrimExpr

WARP = 32
"""Threads of a warp."""
GROUP = 8
"""Threads of four make a group, which has a row of a matrix; a warp has so many."""
_TILE = 4

_TYPES: Mapping[str, tuple[str, int]] = {
    "fp16": ("float16", 2),
    "float16": ("float16", 2),
    "bf16": ("bfloat16", 2),
    "tf32": ("float32", 1),
    "int8": ("int8", 4),
    "uint8": ("uint8", 4),
    "int4": ("int8", 8),
    "uint4": ("uint8", 8),
    "fp32": ("float32", 1),
    "float32": ("float32", 1),
    "int32": ("int32", 1),
    "fp64": ("float64", 1),
}
"""By the name of an operand's type: the data type that holds an element, and how many of them one register holds."""
NIBBLES = ("int4", "uint4")
"""Types of which a byte holds two numbers, the first one in its low bits."""

Number = TypeVar("Number", int, PrimExpr)


class MatrixProduct(NamedTuple):
    """What ``ptx_mma`` multiplies: ``m × k`` by ``k × n``."""

    m: int
    n: int
    k: int
    # the data types of the elements; those of 4 bits are in bytes
    a: str
    b: str
    c: str
    # how many neighbouring elements of an operand a thread has in one register
    a_row: int
    b_row: int


def operand_dtype(word: str) -> str:
    """Return the data type of an operand as an instruction names it, such as ``fp16``.

    That is ``tf32`` for numbers of 32 bits of which fewer are multiplied, and empty for a word that means none.
    """
    return word if word in ("tf32", *NIBBLES) else _TYPES.get(word, ("", 0))[0]


def matrix_product(form: str, a: str, b: str, c: str) -> MatrixProduct | None:
    """Return what an instruction multiplies by its words: extents, ``m16n8k16``, and types, ``fp16``, ``int8``.

    None of one whose fragments are not laid out by groups of four threads.
    """
    extents = [int(extent) for extent in re.findall(r"\d+", form)]
    if len(extents) != 3 or not {a, b, c} <= _TYPES.keys():
        return None
    (a_type, a_row), (b_type, b_row), (c_type, _) = (_TYPES[word] for word in (a, b, c))
    m, n, k = extents
    if m % GROUP or n != GROUP or k % (_TILE * a_row) or a_row != b_row:
        return None
    return MatrixProduct(m, n, k, a_type, b_type, c_type, a_row, b_row)


def fragment_element(lane: Number, number: Number, rows: int, row: int) -> tuple[Number, Number]:
    """Return which element of a matrix of 8 or 16 rows a thread of a warp has.

    The second operand of a product is laid out as the first one is, transposed.
    """
    halves = rows // GROUP
    register = number // row
    return (
        lane // _TILE + register % halves * GROUP,
        lane % _TILE * row + number % row + register // halves * (_TILE * row),
    )


def fragment_place(line: Number, column: Number, rows: int, row: int) -> tuple[Number, Number]:
    """Return which thread of a warp has an element of a matrix: the inverse of :func:`fragment_element`."""
    chunk = _TILE * row
    return (
        4 * (line % GROUP) + column % chunk // row,
        row * (rows // GROUP) * (column // chunk) + line // GROUP * row + column % row,
    )
