"""Operators, each against NumPy."""

import math

import numpy as np
import tvm
from tvm import te, tir

CASES = {
    "exp": (te.exp, np.exp, "float32"),
    "log": (te.log, np.log, "float64"),
    "tanh": (te.tanh, np.tanh, "float32"),
    "power": (lambda v: te.power(v, 2.5), lambda a: a**2.5, "float32"),
    "erf": (te.erf, np.vectorize(math.erf), "float32"),
    "floordiv": (lambda v: tir.floordiv(v - 4, 3), lambda a: (a - 4) // 3, "int32"),
    "truncmod": (lambda v: tir.truncmod(v - 4, 3), lambda a: np.fmod(a - 4, 3), "int32"),
    "cast": (lambda v: v.astype("int64"), lambda a: a.astype("int64"), "float32"),
    "select": (lambda v: tir.Select(v > 3, v, tir.const(0, "float32")), lambda a: np.where(a > 3, a, 0), "float32"),
    "shift": (lambda v: (v << 2) | 1, lambda a: (a << 2) | 1, "uint16"),
}


def computed(build, values):
    x = te.placeholder(values.shape, name="x", dtype=str(values.dtype))
    y = te.compute(values.shape, lambda i: build(x[i]), name="y")
    func = tvm.build(te.create_schedule(y.op), [x, y], "llvm")
    out = tvm.nd.empty(values.shape, y.dtype)
    func(tvm.nd.array(values), out)
    return out.numpy()


for name, (build, reference, dtype) in CASES.items():
    values = (np.arange(8) + 1).astype(dtype)
    result = computed(build, values)
    print(name, result.dtype, np.allclose(result, reference(values), rtol=1e-5))
