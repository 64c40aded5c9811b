"""Definitions of random shapes, each with what NumPy says of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import compiler as tvm
from compiler import te, topi
from compiler.tir.statements.function import PrimFunc

Made = tuple[PrimFunc, Callable[..., Any]]
_SIZES = (1, 3, 5, 8, 12, 16, 17, 24, 32)


def _size(rng: random.Random) -> int:
    return rng.choice(_SIZES)


def product(rng: random.Random) -> Made:
    return matrices(*(_size(rng) for _ in range(3))), np.matmul


def matrices(n: int, m: int, length: int) -> PrimFunc:
    a, b, k = te.placeholder((n, length), name="A"), te.placeholder((length, m), name="B"), te.reduce_axis((0, length))
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def layer(rng: random.Random) -> Made:
    n, m, length = (_size(rng) for _ in range(3))
    a, b, k = te.placeholder((n, length), name="A"), te.placeholder((m, length), name="B"), te.reduce_axis((0, length))
    bias = te.placeholder((m,), name="bias")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    d = te.compute((n, m), lambda i, j: c[i, j] + bias[j], name="D")
    e = te.compute((n, m), lambda i, j: tvm.tir.max(d[i, j], tvm.tir.const(0, "float32")), name="E")
    return te.create_prim_func([a, b, bias, e]), lambda a, b, bias: np.maximum(a @ b.T + bias, 0)


def convolution(rng: random.Random) -> Made:
    inputs, outputs, height, width = rng.randint(1, 4), _size(rng), rng.randint(3, 9), rng.choice((4, 7, 16))
    a = te.placeholder((1, inputs, height, width), name="A")
    w = te.placeholder((outputs, inputs, 3, 3), name="W")
    return te.create_prim_func([a, w, topi.nn.conv2d_nchw(a, w, 1, 1, 1)]), _convolved


def _convolved(a: Any, w: Any) -> Any:
    wide = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), axis=(2, 3))
    return np.einsum("nchwxy,ocxy->nohw", windows, w)


def softmax(rng: random.Random) -> Made:
    a = te.placeholder((_size(rng), _size(rng)), name="A")

    def expected(a: Any) -> Any:
        powers = np.exp(a - a.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)

    return te.create_prim_func([a, topi.nn.softmax(a)]), expected


def row_sums(rng: random.Random) -> Made:
    a = te.placeholder((_size(rng), _size(rng), _size(rng)), name="A")
    return te.create_prim_func([a, topi.sum(a, axis=2)]), lambda a: a.sum(2)


WORKLOADS = {f.__name__: f for f in (product, layer, convolution, softmax, row_sums)}
